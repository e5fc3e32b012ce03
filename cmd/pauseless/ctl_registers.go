// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/spf13/cobra"
)

func newCtlRegistersCmd(c *ctl) *cobra.Command {
	known := names(registerNames)
	var all bool
	get := func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.listRegisters(cmd)
		}
		return c.getRegisters(cmd, args, all)
	}
	cmd := &cobra.Command{
		Use:   "registers [NAME[INDEX]…]",
		Short: "List register arrays, or read them by name",
		Long: `Read register arrays, each in one call. Of an array with more than 32
cells, only those that are not 0 are shown; --all shows all, and so does -o json.
BMv2 has registers at its Thrift server only: add --thrift HOST:PORT.`,
		Example: `  pauseless ctl --addr :9559 registers
  pauseless ctl --addr :9559 registers egress_qlen
  pauseless ctl --addr :9559 registers 'egress_qlen[3]' -o json
  pauseless ctl --addr :9559 registers set 'egress_qlen[3]' 200`,
		ValidArgsFunction: c.complete(known),
		RunE:              get,
	}
	cmd.Flags().BoolVar(&all, "all", false, "also show cells that are 0")
	getCmd := &cobra.Command{
		Use: "get NAME[INDEX]…", Short: "Read register arrays, or one cell",
		Example:           `  pauseless ctl --addr :9559 registers get egress_qlen`,
		ValidArgsFunction: c.complete(known), RunE: get,
	}
	getCmd.Flags().BoolVar(&all, "all", false, "also show cells that are 0")
	set := &cobra.Command{
		Use: "set NAME[INDEX] VALUE", Short: "Write a cell, a range of cells as NAME[3..7], or all as NAME",
		Example:           `  pauseless ctl --addr :9559 registers set 'egress_qlen[3]' 200`,
		ValidArgsFunction: c.completeOne(known),
		RunE:              c.setRegister,
	}
	reset := &cobra.Command{
		Use: "reset NAME…", Short: "Set all cells to their initial value, 0",
		Example:           `  pauseless ctl --addr :9559 registers reset egress_qlen`,
		ValidArgsFunction: c.complete(known),
		RunE:              c.resetRegisters,
	}
	cmd.AddCommand(getCmd, set, reset)
	return cmd
}

func (c *ctl) listRegisters(cmd *cobra.Command) error {
	return c.reading(cmd, func(p *printer, f *controlplane.Fabric) error {
		list := p.table("", both("switch"), both("register"), both("cells"), both("bits"), both("unit"), inTable("index"), inJSON("index"))
		for _, s := range f.Sessions() {
			sch, err := s.LoadSchema(cmd.Context())
			if err != nil {
				return err
			}
			for _, r := range sch.Registers {
				var dims []string
				for _, d := range r.Index {
					dims = append(dims, d.Name)
				}
				if err := list.add(s.Name(), r.Name, r.Size, r.Bits, r.Unit, strings.Join(dims, ", "), dims); err != nil {
					return err
				}
			}
		}
		list.end()
		return nil
	})
}

// cellRange is NAME, NAME[3] or NAME[3..7].
type cellRange struct {
	name        string
	first, last int // -1 means all
}

func parseCells(text string) (cellRange, error) {
	name, index, ok := strings.Cut(text, "[")
	r := cellRange{name: name, first: -1, last: -1}
	if !ok {
		return r, nil
	}
	index, ok = strings.CutSuffix(index, "]")
	low, high, isRange := strings.Cut(index, "..")
	if !isRange {
		high = low
	}
	first, err1 := strconv.Atoi(low)
	last, err2 := strconv.Atoi(high)
	if !ok || err1 != nil || err2 != nil || first < 0 || last < first {
		return r, fmt.Errorf("%q is not NAME, NAME[3] or NAME[3..7]", text)
	}
	r.first, r.last = first, last
	return r, nil
}

// cellRanges parses the arguments of a command.
func cellRanges(cmd *cobra.Command, args []string) ([]cellRange, error) {
	var ranges []cellRange
	for _, a := range args {
		r, err := parseCells(a)
		if err != nil {
			return nil, usageErrorf(cmd, "%v", err)
		}
		ranges = append(ranges, r)
	}
	return ranges, nil
}

func (c *ctl) getRegisters(cmd *cobra.Command, args []string, all bool) error {
	ranges, err := cellRanges(cmd, args)
	if err != nil {
		return err
	}
	return c.reading(cmd, func(p *printer, f *controlplane.Fabric) error {
		arrays, err := readArrays(cmd.Context(), f, ranges)
		if err != nil {
			return err
		}
		for _, s := range f.Sessions() {
			for i, a := range arrays[s.Name()] {
				if err := c.printArray(p, s.Name(), a, ranges[i], all, nil); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// readArrays reads the arrays of the ranges from all switches at once.
func readArrays(ctx context.Context, f *controlplane.Fabric, ranges []cellRange) (map[string][]register.Array, error) {
	perSwitch := make([][]register.Array, len(f.Sessions()))
	index := make(map[*controlplane.Session]int)
	for i, s := range f.Sessions() {
		index[s] = i
	}
	err := f.Each(ctx, func(ctx context.Context, s *controlplane.Session) error {
		for _, r := range ranges {
			a, err := s.ReadRegister(ctx, r.name)
			if err == nil && r.last >= len(a.Values) {
				err = fmt.Errorf("%s: %s has cells 0 to %d", s.Name(), a.Name, len(a.Values)-1)
			}
			if err != nil {
				return err
			}
			perSwitch[index[s]] = append(perSwitch[index[s]], a)
		}
		return nil
	})
	out := make(map[string][]register.Array)
	for s, i := range index {
		out[s.Name()] = perSwitch[i]
	}
	return out, err
}

const fewCells = 32 // of arrays with at most so many cells, all are shown

// printArray prints the cells of a range of an array: in JSON as one record, with
// the time of the reading if at is not nil; in tables as a line each.
func (c *ctl) printArray(p *printer, name string, a register.Array, r cellRange, all bool, at any) error {
	first, last := 0, len(a.Values)-1
	if r.first >= 0 {
		first, last = r.first, r.last
	}
	array := p.stream(inJSON("switch"), inJSON("register"), inJSON("unit"), inJSON("first"), inJSON("values"), inJSON("index"), inJSON("time"))
	if err := array.add(name, a.Name, a.Unit, first, a.Values[first:last+1], dimensions(a), at); err != nil || p.json {
		return err
	}
	title := name + " " + a.Name
	if a.Unit != "" {
		title += " [" + a.Unit + "]"
	}
	columns := []column{inTable("index"), inTable("value"), {}, {}}
	if len(a.Index) > 0 {
		columns[2] = inTable("of")
	}
	if a.Unit == "path" || a.Unit == "paths" {
		columns[3] = inTable(a.Unit)
	}
	cells := p.table(title, columns...)
	show := all || r.first >= 0 || len(a.Values) <= fewCells
	hidden := 0
	for i := first; i <= last; i++ {
		if a.Values[i] == 0 && !show {
			hidden++
		} else if err := cells.add(i, a.Values[i], a.Label(i, c.namer(name)), a.Meaning(i, c.namer(name))); err != nil {
			return err
		}
	}
	cells.end(zeros(hidden))
	return nil
}

// dimensions returns the dimensions of an array's index, or nil if it has none.
func dimensions(a register.Array) any {
	if len(a.Index) == 0 {
		return nil
	}
	index := make([]map[string]any, len(a.Index))
	rest := len(a.Values)
	for i := len(a.Index) - 1; i >= 0; i-- {
		size := a.Index[i].Size
		if size == 0 { // 0 means as many as fit
			size = rest
		}
		rest /= size
		index[i] = map[string]any{"name": a.Index[i].Name, "size": size}
	}
	return index
}

func (c *ctl) setRegister(cmd *cobra.Command, args []string) error {
	if len(args) != 2 {
		return usageErrorf(cmd, "expected NAME[INDEX] and VALUE, found %d arguments", len(args))
	}
	r, err := parseCells(args[0])
	if err != nil {
		return usageErrorf(cmd, "%v", err)
	}
	value, err := strconv.ParseUint(args[1], 0, 64)
	if err != nil {
		return usageErrorf(cmd, "value %q is not a number of up to 64 bits", args[1])
	}
	return c.writeEach(cmd, func(ctx context.Context, s *controlplane.Session) error {
		def, err := findRegister(ctx, s, r.name)
		if err != nil {
			return err
		}
		first, last := r.first, r.last
		if first < 0 {
			first, last = 0, def.Size-1
		}
		return s.WriteRegister(ctx, r.name, first, last, value)
	})
}

func findRegister(ctx context.Context, s *controlplane.Session, name string) (*schema.Register, error) {
	sch, err := s.LoadSchema(ctx)
	if err != nil {
		return nil, err
	}
	r, err := sch.Register(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name(), err)
	}
	return r, nil
}

func (c *ctl) resetRegisters(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageErrorf(cmd, "give the name of a register; `pauseless ctl registers` lists them")
	}
	return c.writeEach(cmd, func(ctx context.Context, s *controlplane.Session) error {
		for _, name := range args {
			if err := s.ResetRegister(ctx, name); err != nil {
				return err
			}
		}
		return nil
	})
}
