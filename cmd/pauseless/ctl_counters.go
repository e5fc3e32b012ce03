// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/controlplane/schema"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/spf13/cobra"
)

func newCtlCountersCmd(c *ctl) *cobra.Command {
	complete := c.complete(names(counterNames))
	var all bool
	cmd := &cobra.Command{
		Use:   "counters [NAME…]",
		Short: "List counters, or read them by name",
		Long: `Read counter arrays, and the direct counters of tables by the name of
the table. Of an array with more than 32 cells, only those that are not 0 are
shown; --all shows all.`,
		Example: `  pauseless ctl --addr :9559 counters
  pauseless ctl --addr :9559 counters rx
  pauseless ctl --addr :9559 counters reset rx`,
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reading(cmd, func(p *printer, f *controlplane.Fabric) error {
				if len(args) == 0 {
					return listCounters(cmd.Context(), p, f)
				}
				for _, s := range f.Sessions() {
					for _, name := range args {
						if err := c.printCounter(cmd.Context(), p, s, name, all); err != nil {
							return err
						}
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "also show cells that are 0")
	cmd.AddCommand(&cobra.Command{
		Use: "reset NAME…", Short: "Set all cells of counters to 0",
		Example:           `  pauseless ctl --addr :9559 counters reset rx`,
		ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageErrorf(cmd, "give the name of a counter; `pauseless ctl counters` lists them")
			}
			return c.writeEach(cmd, func(ctx context.Context, s *controlplane.Session) error {
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

func listCounters(ctx context.Context, p *printer, f *controlplane.Fabric) error {
	list := p.table("", both("switch"), both("counter"), both("cells"), both("unit"))
	for _, s := range f.Sessions() {
		sch, err := s.LoadSchema(ctx)
		if err != nil {
			return err
		}
		for _, x := range sch.Counters {
			if err := list.add(s.Name(), x.Name, strconv.FormatInt(x.Size, 10), x.Unit); err != nil {
				return err
			}
		}
		for _, t := range sch.Tables {
			if t.DirectCounter {
				if err := list.add(s.Name(), t.Name, "one per entry", ""); err != nil {
					return err
				}
			}
		}
	}
	list.end()
	return nil
}

func (c *ctl) printCounter(ctx context.Context, p *printer, s *controlplane.Session, name string, all bool) error {
	sch, err := s.LoadSchema(ctx)
	if err != nil {
		return err
	}
	def, err := sch.Counter(name)
	if err != nil {
		if t, tableErr := sch.Table(name); tableErr == nil && t.DirectCounter {
			return printDirectCounter(ctx, p, s, t)
		}
		return fmt.Errorf("%s: %w", s.Name(), err)
	}
	got, err := s.Read(ctx, &p4v1.Entity{Entity: &p4v1.Entity_CounterEntry{CounterEntry: &p4v1.CounterEntry{CounterId: def.ID}}})
	if err != nil {
		return err
	}
	slices.SortFunc(got, func(a, b *p4v1.Entity) int {
		return int(a.GetCounterEntry().GetIndex().GetIndex() - b.GetCounterEntry().GetIndex().GetIndex())
	})
	columns := []column{inJSON("switch"), inJSON("counter"), both("index"), both("packets"), both("bytes"), {}}
	if len(def.Index) > 0 {
		columns[5] = inTable("of")
	}
	list := p.table(s.Name()+" "+def.Name, columns...)
	hidden := 0
	for _, e := range got {
		x := e.GetCounterEntry()
		i := int(x.GetIndex().GetIndex())
		packets, bytes := x.GetData().GetPacketCount(), x.GetData().GetByteCount()
		if packets == 0 && bytes == 0 && !all && !p.json && len(got) > fewCells {
			hidden++
			continue
		}
		if err := list.add(s.Name(), def.Name, i, packets, bytes, c.label(s, def.Index, i)); err != nil {
			return err
		}
	}
	list.end(zeros(hidden))
	return nil
}

// label returns the name of cell i of an array.
func (c *ctl) label(s *controlplane.Session, index []schema.Dim, i int) string {
	return register.Array{Index: index}.Label(i, c.namer(s.Name()))
}

// zeros returns a note about cells that are not shown, or "" if there are none.
func zeros(hidden int) string {
	if hidden == 0 {
		return ""
	}
	return fmt.Sprintf("%d cells are 0", hidden)
}

// printDirectCounter prints a table's entries with the packets and bytes that
// hit each.
func printDirectCounter(ctx context.Context, p *printer, s *controlplane.Session, t *schema.Table) error {
	got, err := s.Read(ctx, &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{TableId: t.ID, CounterData: &p4v1.CounterData{}}}})
	if err != nil {
		return err
	}
	type hits struct {
		entry string
		*p4v1.CounterData
	}
	var entries []hits
	for _, e := range got {
		entries = append(entries, hits{s.Schema().FormatEntity(e), e.GetTableEntry().GetCounterData()})
	}
	slices.SortFunc(entries, func(a, b hits) int { return strings.Compare(a.entry, b.entry) })
	list := p.table(s.Name()+" "+t.Name, inJSON("switch"), inJSON("table"), both("packets"), both("bytes"), both("entry"))
	for _, e := range entries {
		if err := list.add(s.Name(), t.Name, e.GetPacketCount(), e.GetByteCount(), e.entry); err != nil {
			return err
		}
	}
	list.end()
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
	// One cell at a time: BMv2 has no wildcard writes of counters.
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
		Long: `Read the rates and bursts of meter arrays: committed (cir), peak (pir), and the
excess burst, which only meters of a single rate have. The unit is bytes per second
and bytes, or packets per second and packets, as the program declares the meter.
Rates are set as entries:

  pauseless ctl --addr :9559 entries modify 'meter police[3] = cir 1000 burst 10 pir 2000 burst 20'`,
		Example: `  pauseless ctl --addr :9559 meters
  pauseless ctl --addr :9559 meters police`,
		ValidArgsFunction: c.complete(names(meterNames)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.reading(cmd, func(p *printer, f *controlplane.Fabric) error {
				if len(args) == 0 {
					return listMeters(cmd.Context(), p, f)
				}
				for _, s := range f.Sessions() {
					for _, name := range args {
						if err := c.printMeter(cmd.Context(), p, s, name); err != nil {
							return err
						}
					}
				}
				return nil
			})
		},
	}
}

func listMeters(ctx context.Context, p *printer, f *controlplane.Fabric) error {
	list := p.table("", both("switch"), both("meter"), both("cells"), both("unit"))
	for _, s := range f.Sessions() {
		sch, err := s.LoadSchema(ctx)
		if err != nil {
			return err
		}
		for _, m := range sch.Meters {
			if err := list.add(s.Name(), m.Name, m.Size, m.Unit); err != nil {
				return err
			}
		}
	}
	list.end()
	return nil
}

func (c *ctl) printMeter(ctx context.Context, p *printer, s *controlplane.Session, name string) error {
	sch, err := s.LoadSchema(ctx)
	if err != nil {
		return err
	}
	def, err := sch.Meter(name)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name(), err)
	}
	got, err := s.Read(ctx, &p4v1.Entity{Entity: &p4v1.Entity_MeterEntry{MeterEntry: &p4v1.MeterEntry{MeterId: def.ID}}})
	if err != nil {
		return err
	}
	slices.SortFunc(got, func(a, b *p4v1.Entity) int {
		return int(a.GetMeterEntry().GetIndex().GetIndex() - b.GetMeterEntry().GetIndex().GetIndex())
	})
	list := p.table(fmt.Sprintf("%s %s [%s/s]", s.Name(), def.Name, def.Unit), inJSON("switch"), inJSON("meter"), both("index"),
		both("cir"), column{"burst", "cburst"}, both("pir"), column{"burst", "pburst"}, column{"excess", "eburst"}, inTable("of"))
	unset := def.Size
	for _, e := range got {
		m := e.GetMeterEntry()
		if m.Config == nil {
			continue
		}
		unset--
		i := int(m.GetIndex().GetIndex())
		if err := list.add(s.Name(), def.Name, i, m.Config.Cir, m.Config.Cburst, m.Config.Pir, m.Config.Pburst, m.Config.Eburst, c.label(s, def.Index, i)); err != nil {
			return err
		}
	}
	note := ""
	if unset > 0 {
		note = fmt.Sprintf("%d cells have no rates: they mark every packet green", unset)
	}
	list.end(note)
	return nil
}
