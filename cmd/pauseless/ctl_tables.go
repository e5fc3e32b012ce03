// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
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
		Long: `List the tables of a program with their match fields and actions, or the entries
of some tables. An action's parameters are listed with their widths in bits.`,
		Example: `  pauseless ctl --addr :9559 tables
  pauseless ctl --addr :9559 tables Forward
  pauseless ctl --addr :9559 tables Forward -o json`,
		ValidArgsFunction: c.complete(names(tableNames)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reading(cmd, func(p *printer, f *controlplane.Fabric) error {
				if len(args) == 0 {
					return listTables(cmd.Context(), p, f)
				}
				for _, s := range f.Sessions() {
					for _, name := range args {
						if err := printTable(cmd.Context(), p, s, name); err != nil {
							return err
						}
					}
				}
				return nil
			})
		},
	}
}

// listTables prints a record per table, with the number of its entries.
func listTables(ctx context.Context, p *printer, f *controlplane.Fabric) error {
	list := p.table("", both("switch"), both("table"), both("match"), both("entries"), both("size"), inJSON("actions"), inTable("actions"))
	for _, s := range f.Sessions() {
		sch, err := s.LoadSchema(ctx)
		if err != nil {
			return err
		}
		entries := make(map[uint32]int)
		got, err := s.Read(ctx, &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{}}})
		if err != nil {
			return err
		}
		for _, e := range got {
			entries[e.GetTableEntry().GetTableId()]++
		}
		for _, t := range sch.Tables {
			var match, actions, signatures []string
			for _, m := range t.Fields {
				match = append(match, m.Name+":"+m.Match.String())
			}
			for _, a := range t.Actions {
				actions, signatures = append(actions, a.Name), append(signatures, signature(a))
			}
			if err := list.add(s.Name(), t.Name, match, entries[t.ID], t.Size, actions, signatures); err != nil {
				return err
			}
		}
	}
	list.end()
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
	// A switch returns an error if it has no default entry or does not return
	// it. The other entries are printed in any case.
	if def, err := query(true); err == nil && len(def) > 0 && def[0].GetTableEntry().GetAction() != nil {
		got = append(got, def[0])
	}
	var out []*p4v1.TableEntry
	for _, e := range got {
		out = append(out, e.GetTableEntry())
	}
	return out, nil
}

// printTable prints a record per entry. Tables have a column per match field;
// in JSON they are one object, and "entry" is the line that entries add takes.
func printTable(ctx context.Context, p *printer, s *controlplane.Session, name string) error {
	sch, err := s.LoadSchema(ctx)
	if err != nil {
		return err
	}
	t, err := sch.Table(name)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name(), err)
	}
	entries, err := readTable(ctx, s, t)
	if err != nil {
		return err
	}
	columns := []column{inJSON("switch"), inJSON("table"), inJSON("match"), inJSON("entry"), inJSON("default"), inJSON("action"), inJSON("params")}
	for _, f := range t.Fields {
		columns = append(columns, inTable(f.Name))
	}
	priority := column{"", "priority"}
	if t.NeedsPriority() {
		priority.head = "prio"
	}
	columns = append(columns, priority, inTable("action"))
	n := 0
	for _, e := range entries {
		if !e.IsDefaultAction {
			n++
		}
	}
	list := p.table(fmt.Sprintf("%s %s: %d of %d entries", s.Name(), t.Name, n, t.Size), columns...)
	for _, e := range entries {
		line := sch.FormatEntity(&p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: e}})
		match := make(map[string]string)
		var cells []any
		for _, f := range t.Fields {
			m := matchOf(e, f.ID)
			if m != nil {
				match[f.Name] = f.FormatMatch(m)
			}
			if e.IsDefaultAction {
				cells = append(cells, "default")
			} else {
				cells = append(cells, f.FormatMatch(m))
			}
		}
		var isDefault, prio any
		if e.IsDefaultAction {
			isDefault = true
		}
		if e.Priority != 0 {
			prio = e.Priority
		}
		action, params := actionOf(sch, e)
		_, does, _ := strings.Cut(line, " -> ")
		fields := append([]any{s.Name(), t.Name, match, line, isDefault, action, params}, cells...)
		if err := list.add(append(fields, prio, does)...); err != nil {
			return err
		}
	}
	list.end()
	var actions []string
	for _, a := range t.Actions {
		actions = append(actions, signature(a))
	}
	if p.json {
		return nil
	}
	return p.write(func() error {
		_, err := fmt.Fprintln(p.w, "  actions: "+strings.Join(actions, ", "))
		return err
	})
}

// signature returns an action with the width of each parameter, as in
// "to_port(port:9)".
func signature(a *schema.Action) string {
	var params []string
	for _, f := range a.Params {
		width := "text"
		if f.Bits > 0 {
			width = fmt.Sprint(f.Bits)
		}
		params = append(params, f.Name+":"+width)
	}
	return a.Name + "(" + strings.Join(params, ", ") + ")"
}

func matchOf(e *p4v1.TableEntry, field uint32) *p4v1.FieldMatch {
	for _, m := range e.Match {
		if m.FieldId == field {
			return m
		}
	}
	return nil
}

// actionOf returns the name and parameters of an entry's action. Both are nil if
// the entry refers to a member or a group.
func actionOf(sch *schema.Schema, e *p4v1.TableEntry) (name, params any) {
	a := e.GetAction().GetAction()
	if a == nil {
		return nil, nil
	}
	values := make(map[string]string)
	if def := schema.ByID[schema.Action](sch, a.ActionId); def != nil {
		for _, p := range def.Params {
			for _, arg := range a.Params {
				if arg.ParamId == p.ID {
					values[p.Name] = p.Print(arg.Value)
				}
			}
		}
	}
	return sch.Name(a.ActionId), values
}
