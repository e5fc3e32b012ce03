// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/controlplane/schema"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/spf13/cobra"
)

func newCtlCountersCmd(c *ctl) *cobra.Command {
	names := c.complete(func(ctx context.Context, s *controlplane.Session) ([]string, error) {
		sch, err := s.LoadSchema(ctx)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, x := range sch.Counters {
			names = append(names, x.Name)
		}
		for _, t := range sch.Tables {
			if t.DirectCounter {
				names = append(names, t.Name)
			}
		}
		return names, nil
	})
	var all bool
	cmd := &cobra.Command{
		Use:   "counters [NAME…]",
		Short: "List counters, or read them by name",
		Long: `Counters reads counter arrays, and the direct counters of tables by the name of
the table. Of arrays with more than 32 cells only those that are not 0 are
shown, unless --all is given.`,
		Example: `  pauseless ctl --addr :50001 counters
  pauseless ctl --addr :50001 counters rx
  pauseless ctl --addr :50001 counters reset rx`,
		ValidArgsFunction: names,
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
				return c.listCounters(cmd, f, asJSON)
			}
			for _, s := range f.Sessions() {
				for _, name := range args {
					if err := c.printCounter(cmd, s, name, asJSON, all); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "show cells that are 0, too")
	cmd.AddCommand(&cobra.Command{
		Use: "reset NAME…", Short: "Set all cells of counters to 0",
		Example:           `  pauseless ctl --addr :50001 counters reset rx`,
		ValidArgsFunction: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageErrorf(cmd, "which counter?")
			}
			f, err := c.forWriting(cmd)
			if err != nil {
				return err
			}
			defer f.Close()
			return f.Each(cmd.Context(), func(ctx context.Context, s *controlplane.Session) error {
				for _, name := range args {
					if err := resetCounter(ctx, s, name); err != nil {
						return err
					}
				}
				return nil
			})
		},
	})
	return cmd
}

func (c *ctl) listCounters(cmd *cobra.Command, f *controlplane.Fabric, asJSON bool) error {
	g := grid{head: []string{"switch", "counter", "cells", "unit"}}
	for _, s := range f.Sessions() {
		sch, err := s.LoadSchema(cmd.Context())
		if err != nil {
			return err
		}
		add := func(name, cells, unit string) error {
			g.add(s.Name(), name, cells, unit)
			if !asJSON {
				return nil
			}
			return printJSON(cmd.OutOrStdout(), map[string]any{"switch": s.Name(), "counter": name, "cells": cells, "unit": unit})
		}
		for _, x := range sch.Counters {
			if err := add(x.Name, strconv.FormatInt(x.Size, 10), x.Unit); err != nil {
				return err
			}
		}
		for _, t := range sch.Tables {
			if t.DirectCounter {
				if err := add(t.Name, "one per entry", ""); err != nil {
					return err
				}
			}
		}
	}
	if !asJSON {
		g.print(cmd.OutOrStdout(), "")
	}
	return nil
}

func (c *ctl) printCounter(cmd *cobra.Command, s *controlplane.Session, name string, asJSON, all bool) error {
	sch, err := s.LoadSchema(cmd.Context())
	if err != nil {
		return err
	}
	def, err := sch.Counter(name)
	if err != nil {
		if t, tableErr := sch.Table(name); tableErr == nil && t.DirectCounter {
			return c.printDirectCounter(cmd, s, t, asJSON)
		}
		return fmt.Errorf("%s: %w", s.Name(), err)
	}
	got, err := s.Read(cmd.Context(), &p4v1.Entity{Entity: &p4v1.Entity_CounterEntry{CounterEntry: &p4v1.CounterEntry{CounterId: def.ID}}})
	if err != nil {
		return err
	}
	slices.SortFunc(got, func(a, b *p4v1.Entity) int {
		return int(a.GetCounterEntry().GetIndex().GetIndex() - b.GetCounterEntry().GetIndex().GetIndex())
	})
	g := grid{head: []string{"index", "packets", "bytes"}}
	if len(def.Index) > 0 {
		g.head = append(g.head, "of")
	}
	hidden := 0
	for _, e := range got {
		x := e.GetCounterEntry()
		i := int(x.GetIndex().GetIndex())
		packets, bytes := x.GetData().GetPacketCount(), x.GetData().GetByteCount()
		if asJSON {
			if err := printJSON(cmd.OutOrStdout(), map[string]any{"switch": s.Name(), "counter": def.Name, "index": i, "packets": packets, "bytes": bytes}); err != nil {
				return err
			}
			continue
		}
		if packets == 0 && bytes == 0 && !all && len(got) > fewCells {
			hidden++
			continue
		}
		row := []string{strconv.Itoa(i), strconv.FormatInt(packets, 10), strconv.FormatInt(bytes, 10)}
		if len(def.Index) > 0 {
			row = append(row, register.Array{Index: def.Index}.Label(i, c.namer(s.Name())))
		}
		g.add(row...)
	}
	if asJSON {
		return nil
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", s.Name(), def.Name)
	g.print(cmd.OutOrStdout(), "  ")
	if hidden > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "  %d cells are 0\n", hidden)
	}
	return nil
}

// printDirectCounter prints a table's entries with how often each was hit.
func (c *ctl) printDirectCounter(cmd *cobra.Command, s *controlplane.Session, t *schema.Table, asJSON bool) error {
	got, err := s.Read(cmd.Context(), &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{TableId: t.ID, CounterData: &p4v1.CounterData{}}}})
	if err != nil {
		return err
	}
	g := grid{head: []string{"packets", "bytes", "entry"}}
	for _, e := range got {
		te := e.GetTableEntry()
		text := s.Schema().FormatEntity(e)
		d := te.GetCounterData()
		g.add(strconv.FormatInt(d.GetPacketCount(), 10), strconv.FormatInt(d.GetByteCount(), 10), text)
		if asJSON {
			err := printJSON(cmd.OutOrStdout(), map[string]any{"switch": s.Name(), "table": t.Name, "entry": text, "packets": d.GetPacketCount(), "bytes": d.GetByteCount()})
			if err != nil {
				return err
			}
		}
	}
	if asJSON {
		return nil
	}
	slices.SortFunc(g.rows, func(a, b []string) int { return slices.Compare(a[2:], b[2:]) })
	fmt.Fprintf(cmd.OutOrStdout(), "%s %s\n", s.Name(), t.Name)
	g.print(cmd.OutOrStdout(), "  ")
	return nil
}

func resetCounter(ctx context.Context, s *controlplane.Session, name string) error {
	sch, err := s.LoadSchema(ctx)
	if err != nil {
		return err
	}
	def, err := sch.Counter(name)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name(), err)
	}
	// One by one: BMv2 does not know wildcard writes of counters.
	var updates []*p4v1.Update
	for i := range def.Size {
		updates = append(updates, controlplane.Modify(&p4v1.Entity{Entity: &p4v1.Entity_CounterEntry{CounterEntry: &p4v1.CounterEntry{
			CounterId: def.ID, Index: &p4v1.Index{Index: i}, Data: &p4v1.CounterData{},
		}}}))
	}
	return s.Write(ctx, updates)
}

func newCtlMetersCmd(c *ctl) *cobra.Command {
	return &cobra.Command{
		Use:   "meters [NAME…]",
		Short: "List meters, or read their rates by name",
		Long: `Meters reads the rates of meter arrays. Rates are set as entries:

  pauseless ctl --addr :50001 entries modify 'meter police[3] = cir 1000 burst 10 pir 2000 burst 20'`,
		Example: `  pauseless ctl --addr :50001 meters
  pauseless ctl --addr :50001 meters police`,
		ValidArgsFunction: c.complete(func(ctx context.Context, s *controlplane.Session) ([]string, error) {
			sch, err := s.LoadSchema(ctx)
			if err != nil {
				return nil, err
			}
			var names []string
			for _, x := range sch.Meters {
				names = append(names, x.Name)
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
			list := grid{head: []string{"switch", "meter", "cells", "unit"}}
			for _, s := range f.Sessions() {
				sch, err := s.LoadSchema(cmd.Context())
				if err != nil {
					return err
				}
				for _, name := range args {
					if err := c.printMeter(cmd, s, name, asJSON); err != nil {
						return err
					}
				}
				if len(args) > 0 {
					continue
				}
				for _, m := range sch.Meters {
					list.add(s.Name(), m.Name, strconv.FormatInt(m.Size, 10), m.Unit)
					if asJSON {
						if err := printJSON(cmd.OutOrStdout(), map[string]any{"switch": s.Name(), "meter": m.Name, "cells": m.Size, "unit": m.Unit}); err != nil {
							return err
						}
					}
				}
			}
			if len(args) == 0 && !asJSON {
				list.print(cmd.OutOrStdout(), "")
			}
			return nil
		},
	}
}

func (c *ctl) printMeter(cmd *cobra.Command, s *controlplane.Session, name string, asJSON bool) error {
	sch := s.Schema()
	def, err := sch.Meter(name)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name(), err)
	}
	got, err := s.Read(cmd.Context(), &p4v1.Entity{Entity: &p4v1.Entity_MeterEntry{MeterEntry: &p4v1.MeterEntry{MeterId: def.ID}}})
	if err != nil {
		return err
	}
	slices.SortFunc(got, func(a, b *p4v1.Entity) int {
		return int(a.GetMeterEntry().GetIndex().GetIndex() - b.GetMeterEntry().GetIndex().GetIndex())
	})
	g := grid{head: []string{"index", "cir", "burst", "pir", "burst", "of"}}
	unset := def.Size
	for _, e := range got {
		m := e.GetMeterEntry()
		conf := m.Config
		if conf == nil {
			continue
		}
		unset--
		i := int(m.GetIndex().GetIndex())
		if asJSON {
			err := printJSON(cmd.OutOrStdout(), map[string]any{"switch": s.Name(), "meter": def.Name, "index": i,
				"cir": conf.Cir, "cburst": conf.Cburst, "pir": conf.Pir, "pburst": conf.Pburst})
			if err != nil {
				return err
			}
			continue
		}
		num := func(v int64) string { return strconv.FormatInt(v, 10) }
		g.add(strconv.Itoa(i), num(conf.Cir), num(conf.Cburst), num(conf.Pir), num(conf.Pburst), register.Array{Index: def.Index}.Label(i, c.namer(s.Name())))
	}
	if asJSON {
		return nil
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s %s [%s/s]\n", s.Name(), def.Name, def.Unit)
	if len(g.rows) > 0 {
		g.print(cmd.OutOrStdout(), "  ")
	}
	if unset > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "  %d cells have no rates: they colour everything green\n", unset)
	}
	return nil
}
