// SPDX-License-Identifier: Apache-2.0

package tofino

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// Report compares programs.
type Report struct {
	Compiler   string
	Programs   []*Program
	Increments []Increment
}

// Increment is the difference between a program and the one that it builds on.
type Increment struct {
	Program, Base string
	Stages        int
	Percent       [resources]float64 // of the total; below zero if the program uses less
}

// TableI is table I of the RLB paper: the resources of its authors' programs in
// percent, where RLB is an addition to another scheme. Its "ALU Instruction" is
// compared with the instructions of stateful ALUs, of which each ALU has four.
// The shares in the table are not multiples of one instruction or one ALU.
var TableI = []Paper{
	{"Presto", map[Resource]float64{Crossbar: 2.19, HashBits: 3.28, Gateways: 2.92, SRAM: 2.16, VLIW: 1.74, Instruction: 3.21}},
	{"DRILL", map[Resource]float64{Crossbar: 4.24, HashBits: 4.05, Gateways: 3.13, SRAM: 3.74, VLIW: 2.52, Instruction: 5.16}},
	{"LetFlow", map[Resource]float64{Crossbar: 4.82, HashBits: 5.67, Gateways: 2.96, SRAM: 3.33, VLIW: 2.34, Instruction: 5.2}},
	{"RLB (additional)", map[Resource]float64{Crossbar: 5.31, HashBits: 3.65, Gateways: 3.22, SRAM: 3.59, VLIW: 2.88, Instruction: 6.19}},
}

// Paper is a row of a paper's table, in percent.
type Paper struct {
	Name    string
	Percent map[Resource]float64
}

// NewReport compares each program with the one that base returns for it, or with
// none if base returns "".
func NewReport(programs []*Program, base func(program string) string) *Report {
	r := &Report{Programs: programs}
	by := make(map[string]*Program)
	for _, p := range programs {
		by[p.Name] = p
		r.Compiler = p.Compiler
	}
	for _, p := range programs {
		b := by[base(p.Name)]
		if b == nil {
			continue
		}
		inc := Increment{Program: p.Name, Base: b.Name, Stages: p.Stages - b.Stages}
		for k := range resources {
			inc.Percent[k] = p.Total.Percent(k) - b.Total.Percent(k)
		}
		r.Increments = append(r.Increments, inc)
	}
	return r
}

// WriteText prints the report as tables.
func (r *Report) WriteText(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := func(first string) {
		fmt.Fprintf(tw, "%s\tstages\t", first)
		for k := range resources {
			fmt.Fprintf(tw, "%s\t", k)
		}
		fmt.Fprintln(tw)
	}
	head("program")
	for _, p := range r.Programs {
		fmt.Fprintf(tw, "%s\t%d of %d\t", p.Name, p.Stages, p.Of)
		for k := range resources {
			fmt.Fprintf(tw, "%d (%.1f%%)\t", p.Total.Used[k], p.Total.Percent(k))
		}
		fmt.Fprintln(tw)
	}
	if len(r.Increments) > 0 {
		fmt.Fprintln(tw)
		head("added")
		for _, i := range r.Increments {
			fmt.Fprintf(tw, "%s over %s\t%+d\t", i.Program, i.Base, i.Stages)
			for k := range resources {
				fmt.Fprintf(tw, "%+.2f%%\t", i.Percent[k])
			}
			fmt.Fprintln(tw)
		}
		for _, p := range TableI {
			fmt.Fprintf(tw, "RLB paper, table I: %s\t\t", p.Name)
			for k := range resources {
				if v, ok := p.Percent[k]; ok {
					fmt.Fprintf(tw, "%+.2f%%\t", v)
				} else {
					fmt.Fprint(tw, "\t")
				}
			}
			fmt.Fprintln(tw)
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nCompiled with %s.\n", r.Compiler)
	return err
}

// Row is a program in JSON.
type Row struct {
	Program  string             `json:"program"`
	Compiler string             `json:"compiler"`
	Base     string             `json:"base,omitempty"`
	Stages   int                `json:"stages"`
	Of       int                `json:"stages_available"`
	Used     map[string]int     `json:"used"`
	Percent  map[string]float64 `json:"percent"`
	Added    map[string]float64 `json:"percent_added,omitempty"` // to the base
}

// Rows returns the report as data.
func (r *Report) Rows() []Row {
	rows := make([]Row, 0, len(r.Programs))
	for _, p := range r.Programs {
		row := Row{Program: p.Name, Compiler: p.Compiler, Stages: p.Stages, Of: p.Of,
			Used: make(map[string]int), Percent: make(map[string]float64)}
		for k := range resources {
			row.Used[k.String()] = p.Total.Used[k]
			row.Percent[k.String()] = round(p.Total.Percent(k))
		}
		for _, i := range r.Increments {
			if i.Program == p.Name {
				row.Base, row.Added = i.Base, make(map[string]float64)
				for k := range resources {
					row.Added[k.String()] = round(i.Percent[k])
				}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

func round(x float64) float64 { return float64(int(x*100+0.5*sign(x))) / 100 }

func sign(x float64) float64 {
	if x < 0 {
		return -1
	}
	return 1
}
