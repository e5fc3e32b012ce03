// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// tofinoSwitches has the flags of the verbs that read running Tofino switches.
type tofinoSwitches struct {
	addrs          []string
	manifest       string
	output         string
	device, client uint32
	timeout        time.Duration

	registers map[string]*manifest.Register // of the manifest, by name
	open      []openTofino
}

// openTofino is a switch with a connection.
type openTofino struct {
	name    string
	client  *bfrt.Client
	program string // that runs, or ""
}

func (t *tofinoSwitches) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringArrayVar(&t.addrs, "addr", nil, "`[NAME=]HOST:PORT`: BF Runtime server of a switch (required; repeatable)")
	f.StringVarP(&t.output, "output", "o", "table", "`FORM`: table or json")
	f.Uint32Var(&t.device, "device", 0, "number of the device of the server (default 0)")
	f.Uint32Var(&t.client, "client", 2, "number of this client, unique among the clients of a device")
	f.DurationVar(&t.timeout, "timeout", 10*time.Second, "time limit of each reading")
	cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
}

// registerFlags adds the flags of verbs about registers.
func (t *tofinoSwitches) registerFlags(cmd *cobra.Command) {
	t.flags(cmd)
	cmd.Flags().StringVar(&t.manifest, "manifest", "", "`FILE`: manifest of the program, with the units and indices of its registers")
}

// with connects to the switches and calls do.
func (t *tofinoSwitches) with(cmd *cobra.Command, do func(ctx context.Context, p *printer) error) error {
	p, err := (&ctl{output: t.output}).printer(cmd)
	if err != nil {
		return err
	}
	if len(t.addrs) == 0 {
		return usageErrorf(cmd, "give the address of a switch's BF Runtime server, --addr HOST:PORT; its port is 50052 unless the driver has another")
	}
	if err := t.readManifest(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), t.timeout)
	defer cancel()
	defer func() {
		for _, s := range t.open {
			s.client.Close()
		}
		t.open = nil
	}()
	for _, text := range t.addrs {
		target, err := parseTarget(text)
		if err != nil {
			return usageErrorf(cmd, "--addr: %v", err)
		}
		s := openTofino{name: target.Name}
		if s.name == "" {
			s.name = target.Addr
		}
		if s.client, err = bfrt.Dial(ctx, target.Addr, bfrt.Options{DeviceID: t.device, ClientID: t.client}); err != nil {
			if target.Name == "" { // the error has the address
				return err
			}
			return fmt.Errorf("%s: %w", s.name, err)
		}
		t.open = append(t.open, s)
		if t.open[len(t.open)-1].program, err = s.client.Open(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return do(ctx, p)
}

func (t *tofinoSwitches) readManifest() error {
	t.registers = make(map[string]*manifest.Register)
	if t.manifest == "" {
		return nil
	}
	text, err := infile.Read(t.manifest)
	if err != nil {
		return err
	}
	m, err := manifest.Read(t.manifest, text)
	if err != nil {
		return err
	}
	for i := range m.Registers {
		t.registers[m.Registers[i].Name] = &m.Registers[i]
	}
	return nil
}

func newTofinoPortsCmd() *cobra.Command {
	t := new(tofinoSwitches)
	cmd := &cobra.Command{
		Use:   "ports --addr [NAME=]HOST:PORT",
		Short: "List the ports of Tofino switches: rate, PFC, pauses",
		Long: `List the ports that are set up on Tofino switches, over BF Runtime: their position
on the front panel, number on the chip, pipeline, rate, error correction and state;
for which classes they send and obey PFC; for how many microseconds the peer has
paused each class, and they the peer; frames dropped because a buffer was full.
Counters are read from the chip. A controller may be connected at the same time.`,
		Example: `  pauseless tofino ports --addr l1=10.1.0.1:50052
  pauseless tofino ports --addr 10.1.0.1:50052 -o json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return t.with(cmd, func(ctx context.Context, p *printer) error { return t.printPorts(ctx, p, nil) })
		},
	}
	t.flags(cmd)
	return cmd
}

// printPorts prints the ports of all switches, with the time of the reading in JSON if
// at is not nil.
func (t *tofinoSwitches) printPorts(ctx context.Context, p *printer, at any) error {
	list := p.table("", both("switch"), both("port"), both("number"), both("pipeline"), both("rate"), both("fec"), both("state"),
		column{"sends PFC", "sends_pfc"}, column{"obeys PFC", "obeys_pfc"}, column{"paused µs", "paused_us"}, column{"pausing µs", "pausing_us"},
		column{"PFC in", "pfc_in"}, column{"PFC out", "pfc_out"}, both("dropped"), inJSON("frames_in"), inJSON("frames_out"), inJSON("time"))
	for _, s := range t.open {
		ports, err := s.client.PortStates(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		for _, x := range ports {
			state := "down"
			switch {
			case !x.Enabled:
				state = "disabled"
			case x.Up:
				state = "up"
			}
			panel := "internal"
			if x.Panel.Port > 0 {
				panel = fmt.Sprintf("%d/%d", x.Panel.Port, x.Panel.Channel)
			}
			if err := list.add(s.name, panel, x.Port, x.Port/manifest.TofinoPipePorts, x.Speed, x.FEC, state, classList(x.Sends), classList(x.Obeys),
				microseconds(x.Paused), microseconds(x.Pausing), x.Received, x.Sent, x.Dropped, x.FramesIn, x.FramesOut, at); err != nil {
				return err
			}
		}
	}
	list.end()
	return nil
}

// classList returns the classes of a map of PFC, as in "3 4".
func classList(set uint8) []string {
	list := []string{}
	for i := range 8 {
		if set>>i&1 == 1 {
			list = append(list, strconv.Itoa(i))
		}
	}
	return list
}

// microseconds has the times of the classes that were paused.
type microseconds [8]uint64

func (m microseconds) String() string {
	var words []string
	for class, us := range m {
		if us > 0 {
			words = append(words, fmt.Sprintf("%d:%d", class, us))
		}
	}
	return strings.Join(words, " ")
}

func newTofinoRegistersCmd() *cobra.Command {
	t := new(tofinoSwitches)
	var all bool
	cmd := &cobra.Command{
		Use:   "registers --addr [NAME=]HOST:PORT [NAME[INDEX]…]",
		Short: "List the register arrays of Tofino switches, read or write them",
		Long: `List the register arrays of the program that runs on Tofino switches, or read them
from the chip, over BF Runtime: each pipeline has its own values. Of an array with
more than 32 cells, only those that are not 0 are shown; --all shows all, and so does
-o json. With --manifest, units and indices are shown. A controller may be connected
at the same time.`,
		Example: `  pauseless tofino registers --addr l1=10.1.0.1:50052
  pauseless tofino registers --addr l1=10.1.0.1:50052 --manifest out/drill/drill.manifest.json drill_best
  pauseless tofino registers --addr l1=10.1.0.1:50052 'drill_best[0..7]' -o json
  pauseless tofino registers set --addr l1=10.1.0.1:50052 'drill_best[3]' qlen=0 path=1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ranges, err := cellRanges(cmd, args)
			if err != nil {
				return err
			}
			return t.with(cmd, func(ctx context.Context, p *printer) error {
				if len(ranges) == 0 {
					return t.list(p)
				}
				return t.printRegisters(ctx, p, ranges, all, nil)
			})
		},
	}
	t.registerFlags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "also show cells that are 0")
	cmd.AddCommand(newTofinoSetCmd())
	return cmd
}

func newTofinoSetCmd() *cobra.Command {
	t := new(tofinoSwitches)
	var pipe int
	cmd := &cobra.Command{
		Use:   "set --addr [NAME=]HOST:PORT NAME[INDEX] VALUE | FIELD=VALUE…",
		Short: "Write a cell of a register array, a range of cells as NAME[3..7], or all as NAME",
		Long: `Write a cell of a register array, a range of cells, or all of them, in one pipeline
or in all. A cell of two fields is written with both.`,
		Example: `  pauseless tofino registers set --addr l1=10.1.0.1:50052 'queue_told_at[3]' 0 --pipe 1
  pauseless tofino registers set --addr l1=10.1.0.1:50052 'drill_best[3]' qlen=0 path=1`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usageErrorf(cmd, "expected NAME[INDEX] and VALUE, or FIELD=VALUE for each field")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := parseCells(args[0])
			if err != nil {
				return usageErrorf(cmd, "%v", err)
			}
			values, err := parseFields(args[1:])
			if err != nil {
				return usageErrorf(cmd, "%v", err)
			}
			to := uint32(bfrt.PipeAll)
			if cmd.Flags().Changed("pipe") {
				list, err := pipelines([]uint{uint(pipe)})
				if err != nil {
					return usageErrorf(cmd, "--pipe: %v", err)
				}
				to = list[0]
			}
			return t.with(cmd, func(ctx context.Context, _ *printer) error {
				for _, s := range t.open {
					if err := s.set(ctx, to, r, values); err != nil {
						return fmt.Errorf("%s: %w", s.name, err)
					}
				}
				return nil
			})
		},
	}
	t.flags(cmd)
	cmd.Flags().IntVar(&pipe, "pipe", 0, "write only the pipeline of this number (default: all)")
	return cmd
}

// pipelines returns the numbers of pipelines. Those of the largest Tofino are 0 to 7, and
// greater ones would address others, or all.
func pipelines(list []uint) ([]uint32, error) {
	var scope []uint32
	for _, p := range list {
		if p > 7 {
			return nil, fmt.Errorf("there is no pipeline %d", p)
		}
		scope = append(scope, uint32(p))
	}
	return scope, nil
}

// parseFields reads VALUE or FIELD=VALUE….
func parseFields(args []string) (map[string]uint64, error) {
	values := make(map[string]uint64)
	for _, a := range args {
		field, text, ok := strings.Cut(a, "=")
		if !ok {
			field, text = "f1", a // the compiler's name of the only field
		}
		v, err := strconv.ParseUint(text, 0, 64)
		if err != nil || !ok && len(args) > 1 {
			return nil, fmt.Errorf("%q is neither a number of up to 64 bits nor FIELD=VALUE", a)
		}
		values[field] = v
	}
	return values, nil
}

func (s *openTofino) set(ctx context.Context, pipe uint32, r cellRange, values map[string]uint64) error {
	def, err := s.register(r)
	if err != nil {
		return err
	}
	first, last := r.first, r.last
	if first < 0 {
		first, last = 0, def.Size-1
	}
	return s.client.SetCells(ctx, pipe, def, first, last, values)
}

// register finds the array of a range.
func (s *openTofino) register(r cellRange) (bfrt.Register, error) {
	if s.program == "" {
		return bfrt.Register{}, fmt.Errorf("no program runs; `pauseless tofino apply` loads one")
	}
	def, err := s.client.Info().Register(r.name)
	switch {
	case err != nil:
		return def, fmt.Errorf("%w; `pauseless tofino registers` lists those of program %s", err, s.program)
	case def.Size > 0 && r.last >= def.Size:
		return def, fmt.Errorf("%s has cells 0 to %d", r.name, def.Size-1)
	}
	return def, nil
}

// list prints the register arrays.
func (t *tofinoSwitches) list(p *printer) error {
	list := p.table("", both("switch"), both("program"), both("register"), both("cells"), both("fields"), both("unit"), both("index"))
	for _, s := range t.open {
		if s.program == "" {
			return fmt.Errorf("%s: no program runs; `pauseless tofino apply` loads one", s.name)
		}
		for _, r := range s.client.Info().Registers() {
			var fields []string
			for _, f := range r.Fields {
				fields = append(fields, fmt.Sprintf("%s:%d", f.Name, f.Bits()))
			}
			var unit, index any // only a manifest has them
			if m := t.registers[r.Name]; m != nil {
				var dims []string
				for _, d := range m.Index {
					dims = append(dims, d.Name)
				}
				unit, index = m.Unit, dims
			}
			if err := list.add(s.name, s.program, r.Name, r.Size, fields, unit, index); err != nil {
				return err
			}
		}
	}
	list.end()
	return nil
}

// printRegisters reads and prints ranges of register arrays: in JSON as a record for each
// pipeline and field, in tables with a column for each.
func (t *tofinoSwitches) printRegisters(ctx context.Context, p *printer, ranges []cellRange, all bool, at any) error {
	for _, s := range t.open {
		for _, r := range ranges {
			def, err := s.register(r)
			var values [][][]uint64
			if err == nil {
				values, err = s.client.Cells(ctx, def, r.first, r.last)
			}
			if err == nil {
				err = t.printCells(p, s.name, def, values, r, all, at)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return nil
}

func (t *tofinoSwitches) printCells(p *printer, name string, def bfrt.Register, values [][][]uint64, r cellRange, all bool, at any) error {
	array := register.Array{Name: def.Name}
	var unit any
	if m := t.registers[def.Name]; m != nil {
		array.Unit, unit = m.Unit, m.Unit
		for _, d := range m.Index {
			array.Index = append(array.Index, schema.Dim{Name: d.Name, Size: d.Size})
		}
	}
	first := max(r.first, 0)
	title := name + " " + def.Name
	if array.Unit != "" {
		title += " [" + array.Unit + "]"
	}
	columns := []column{inTable("index")}
	records := p.stream(inJSON("switch"), inJSON("register"), inJSON("pipe"), inJSON("field"), inJSON("unit"), inJSON("first"), inJSON("values"), inJSON("time"))
	for pipe, fields := range values {
		for i, v := range fields {
			if err := records.add(name, def.Name, pipe, def.Fields[i].Name, unit, first, v, at); err != nil {
				return err
			}
			head := fmt.Sprintf("pipe %d", pipe)
			if len(fields) > 1 {
				head += " " + def.Fields[i].Name
			}
			columns = append(columns, inTable(head))
		}
	}
	if p.json || len(values) == 0 {
		return nil
	}
	if len(array.Index) > 0 {
		columns = append(columns, inTable("of"))
	}
	cells := p.table(title, columns...)
	hidden := 0
	show := all || r.first >= 0 || len(values[0][0]) <= fewCells
	for i := range values[0][0] {
		row := []any{first + i}
		zero := true
		for _, fields := range values {
			for _, v := range fields {
				row = append(row, v[i])
				zero = zero && v[i] == 0
			}
		}
		if zero && !show {
			hidden++
			continue
		}
		if len(array.Index) > 0 {
			row = append(row, array.Label(first+i, nil))
		}
		if err := cells.add(row...); err != nil {
			return err
		}
	}
	cells.end(zeros(hidden))
	return nil
}

func newTofinoWatchCmd() *cobra.Command {
	t := new(tofinoSwitches)
	var every time.Duration
	var times int
	var ports bool
	cmd := &cobra.Command{
		Use:   "watch --addr [NAME=]HOST:PORT NAME[INDEX]… | --ports",
		Short: "Read registers or port counters of Tofino switches periodically",
		Long: `Read registers of Tofino switches at a steady pace, or with --ports the counters of
their ports, with the pauses. On a terminal each reading is a table. Otherwise, or
with -o json, it is a line of JSON for each port, or for each pipeline and field of
a register. If a switch does not answer, watch prints an error and continues.`,
		Example: `  pauseless tofino watch --addr l1=10.1.0.1:50052 drill_best --every 1s
  pauseless tofino watch --addr l1=10.1.0.1:50052 --ports --every 100ms > pauses.jsonl`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ranges, err := cellRanges(cmd, args)
			switch {
			case err != nil:
				return err
			case ports == (len(args) > 0):
				return usageErrorf(cmd, "give the name of a register, or --ports; `pauseless tofino registers` lists them")
			case every == 0:
				return usageErrorf(cmd, "--every must be above 0")
			}
			return t.with(cmd, func(_ context.Context, p *printer) error {
				out, ok := cmd.OutOrStdout().(*os.File)
				if !ok || !term.IsTerminal(int(out.Fd())) {
					p = newPrinter(cmd.OutOrStdout(), true)
				}
				return t.watch(cmd, p, every, times, func(ctx context.Context, at any) error {
					if ports {
						return t.printPorts(ctx, p, at)
					}
					return t.printRegisters(ctx, p, ranges, false, at)
				})
			})
		},
	}
	t.registerFlags(cmd)
	cmd.Flags().DurationVar(&every, "every", time.Second, "time between readings")
	cmd.Flags().IntVar(&times, "times", 0, "stop after this many readings (default: never)")
	cmd.Flags().BoolVar(&ports, "ports", false, "read the counters of ports instead of registers")
	return cmd
}

// watch calls read at a steady pace, until the command ends. The first error ends it:
// an unknown name would be one at each reading.
func (t *tofinoSwitches) watch(cmd *cobra.Command, p *printer, every time.Duration, times int, read func(ctx context.Context, at any) error) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; times == 0 || n < times; n++ {
		if n > 0 {
			select {
			case <-cmd.Context().Done():
				return nil
			case <-tick.C:
			}
		}
		now := time.Now()
		if !p.json {
			fmt.Fprintf(p.text, "%s\n", now.Format("15:04:05.000"))
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), t.timeout)
		err := read(ctx, now.UTC().Format("2006-01-02T15:04:05.000Z"))
		cancel()
		switch {
		case cmd.Context().Err() != nil:
			return nil
		case err != nil && n == 0:
			return err
		case err != nil:
			fmt.Fprintf(cmd.ErrOrStderr(), "pauseless: %v; reading again in %v\n", err, every)
		}
	}
	return nil
}
