// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/schema"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/spf13/cobra"
)

func newCtlTablesCmd(c *ctl) *cobra.Command {
	return &cobra.Command{
		Use:   "tables [NAME…]",
		Short: "List tables, or their entries",
		Example: `  pauseless ctl --addr :50001 tables
  pauseless ctl --addr :50001 tables Forward
  pauseless ctl --addr :50001 tables Forward -o json`,
		ValidArgsFunction: c.complete(func(ctx context.Context, s *controlplane.Session) ([]string, error) {
			sch, err := s.LoadSchema(ctx)
			if err != nil {
				return nil, err
			}
			var names []string
			for _, t := range sch.Tables {
				names = append(names, t.Name)
			}
			return names, nil
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			asJSON, err := c.asJSON(cmd)
			if err != nil {
				return err
			}
			f, err := c.forReading(cmd)
			if err != nil {
				return err
			}
			defer f.Close()
			if len(args) == 0 {
				return c.listTables(cmd, f, asJSON)
			}
			for _, s := range f.Sessions() {
				for _, name := range args {
					if err := c.printTable(cmd, s, name, asJSON); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
}

// listTables prints one row per table, with how full it is.
func (c *ctl) listTables(cmd *cobra.Command, f *controlplane.Fabric, asJSON bool) error {
	g := grid{head: []string{"switch", "table", "match", "entries", "size", "actions"}}
	for _, s := range f.Sessions() {
		sch, err := s.LoadSchema(cmd.Context())
		if err != nil {
			return err
		}
		entries := make(map[uint32]int)
		got, err := s.Read(cmd.Context(), &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{}}})
		if err != nil {
			return err
		}
		for _, e := range got {
			entries[e.GetTableEntry().GetTableId()]++
		}
		for _, t := range sch.Tables {
			var match, actions []string
			for _, m := range t.Fields {
				match = append(match, m.Name+":"+m.Match.String())
			}
			for _, a := range t.Actions {
				actions = append(actions, a.Name)
			}
			if asJSON {
				err := printJSON(cmd.OutOrStdout(), map[string]any{
					"switch": s.Name(), "table": t.Name, "match": match, "entries": entries[t.ID], "size": t.Size, "actions": actions,
				})
				if err != nil {
					return err
				}
			}
			g.add(s.Name(), t.Name, strings.Join(match, " "), strconv.Itoa(entries[t.ID]), strconv.FormatInt(t.Size, 10), strings.Join(actions, " "))
		}
	}
	if !asJSON {
		g.print(cmd.OutOrStdout(), "")
	}
	return nil
}

// readTable returns a table's entries in a stable order, the default entry
// last.
func readTable(ctx context.Context, s *controlplane.Session, t *schema.Table) ([]*p4v1.TableEntry, error) {
	query := func(isDefault bool) ([]*p4v1.Entity, error) {
		return s.Read(ctx, &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{TableId: t.ID, IsDefaultAction: isDefault}}})
	}
	got, err := query(false)
	if err != nil {
		return nil, err
	}
	sch := s.Schema()
	slices.SortStableFunc(got, func(a, b *p4v1.Entity) int {
		if d := b.GetTableEntry().GetPriority() - a.GetTableEntry().GetPriority(); d != 0 {
			return int(d)
		}
		return strings.Compare(sch.FormatEntity(a), sch.FormatEntity(b))
	})
	// A switch that does not tell the default entry, or has none, says so with
	// an error: the entries are worth printing without it.
	if def, err := query(true); err == nil && len(def) > 0 && def[0].GetTableEntry().GetAction() != nil {
		got = append(got, def[0])
	}
	var out []*p4v1.TableEntry
	for _, e := range got {
		out = append(out, e.GetTableEntry())
	}
	return out, nil
}

func (c *ctl) printTable(cmd *cobra.Command, s *controlplane.Session, name string, asJSON bool) error {
	sch, err := s.LoadSchema(cmd.Context())
	if err != nil {
		return err
	}
	t, err := sch.Table(name)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name(), err)
	}
	entries, err := readTable(cmd.Context(), s, t)
	if err != nil {
		return err
	}
	g := grid{}
	for _, f := range t.Fields {
		g.head = append(g.head, f.Name)
	}
	prio := t.NeedsPriority()
	if prio {
		g.head = append(g.head, "prio")
	}
	g.head = append(g.head, "action")
	n := 0
	for _, e := range entries {
		if asJSON {
			if err := printJSON(cmd.OutOrStdout(), entryJSON(s.Name(), sch, t, e)); err != nil {
				return err
			}
			continue
		}
		var row []string
		for _, f := range t.Fields {
			switch {
			case e.IsDefaultAction:
				row = append(row, "default")
			default:
				row = append(row, f.FormatMatch(matchOf(e, f.ID)))
			}
		}
		if prio {
			text := ""
			if !e.IsDefaultAction {
				text = strconv.Itoa(int(e.Priority))
			}
			row = append(row, text)
		}
		if !e.IsDefaultAction {
			n++
		}
		g.add(append(row, actionText(sch, e))...)
	}
	if asJSON {
		return nil
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s %s: %d of %d entries\n", s.Name(), t.Name, n, t.Size)
	if len(g.rows) > 0 {
		g.print(cmd.OutOrStdout(), "  ")
	}
	return nil
}

func matchOf(e *p4v1.TableEntry, field uint32) *p4v1.FieldMatch {
	for _, m := range e.Match {
		if m.FieldId == field {
			return m
		}
	}
	return nil
}

// actionText prints what an entry does.
func actionText(sch *schema.Schema, e *p4v1.TableEntry) string {
	line := sch.FormatEntity(&p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: e}})
	_, action, ok := strings.Cut(line, " -> ")
	if !ok {
		return ""
	}
	return action
}

// entryJSON is an entry as programs read it; "entry" is the line that
// entries add takes.
func entryJSON(name string, sch *schema.Schema, t *schema.Table, e *p4v1.TableEntry) map[string]any {
	match := make(map[string]string)
	for _, f := range t.Fields {
		if m := matchOf(e, f.ID); m != nil {
			match[f.Name] = f.FormatMatch(m)
		}
	}
	out := map[string]any{
		"switch": name, "table": t.Name, "match": match,
		"entry": sch.FormatEntity(&p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: e}}),
	}
	if e.Priority != 0 {
		out["priority"] = e.Priority
	}
	if e.IsDefaultAction {
		out["default"] = true
	}
	if a := e.GetAction().GetAction(); a != nil {
		out["action"] = sch.Name(a.ActionId)
		params := make(map[string]string)
		if def := schema.ByID[schema.Action](sch, a.ActionId); def != nil {
			for _, p := range def.Params {
				for _, arg := range a.Params {
					if arg.ParamId == p.ID {
						params[p.Name] = p.Print(arg.Value)
					}
				}
			}
		}
		out["params"] = params
	}
	return out
}
