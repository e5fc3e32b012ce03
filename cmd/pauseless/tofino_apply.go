// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/bfrt/fit"
	"github.com/pauseless/pauseless/controlplane/intent"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/spf13/cobra"
)

// tofinoApply is the verb that configures Tofino switches for a topology file,
// over BF Runtime.
type tofinoApply struct {
	addrs, panel         []string
	pipes                []uint
	dryRun, diff, tables bool
	device, client       uint32
	timeout, rtt         time.Duration

	net      *topo.Topology
	program  *bfrt.Program
	schema   *schema.Schema
	manifest *manifest.Manifest
	ports    map[int]bfrt.Panel
}

func newTofinoApplyCmd() *cobra.Command {
	a := new(tofinoApply)
	cmd := &cobra.Command{
		Use:   "apply TOPOLOGY FOLDER --addr NAME=HOST:PORT",
		Short: "Configure Tofino switches for a topology, over BF Runtime",
		Long: `Configure Tofino switches for a topology, over BF Runtime: load the program in
FOLDER, which "pauseless tofino build" wrote, unless it runs already; set up the
ports with the rates of their links and with PFC for the lossless class; and write
table entries, multicast groups and mirror sessions, as "ctl apply" does over
P4Runtime. It reads the state of the switch and writes the difference: running it
again changes nothing.

Port N of a switch in the topology is port N of the front panel, channel 0,
unless --panel changes it; the number of the port on the chip is read from the
switch. With --tables, ports and PFC are not changed.

Before it writes anything, it checks that the program can work on this switch in this
network; an error states what must change: where ports must be, what the
headroom lacks, which messages exceed a port. It prints what hosts must do, and the
base round-trip time, which --rtt replaces by a measured one. Afterwards it reads what
it wrote.`,
		Example: `  pauseless tofino build -o out rlb-drill
  pauseless tofino apply fabric.yaml out/rlb-drill --addr l1=10.1.0.1:50052 --dry-run
  pauseless tofino apply fabric.yaml out/rlb-drill --addr l1=10.1.0.1:50052 --panel 1=9/0 --panel 2=9/1
  pauseless tofino apply fabric.yaml out/rlb-drill --addr l1=10.1.0.1:50052 --rtt 11us`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 || len(a.addrs) == 0 {
				return usageErrorf(cmd, "expected a topology file, the folder of a compiled program, and --addr NAME=HOST:PORT")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, args[0], args[1]) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&a.addrs, "addr", nil, "`NAME=HOST:PORT`: a switch of the topology and its BF Runtime server (required; repeatable)")
	f.StringArrayVar(&a.panel, "panel", nil, "`PORT=CONNECTOR/CHANNEL`: position of a port on the front panel (repeatable)")
	f.UintSliceVar(&a.pipes, "pipes", []uint{0, 1}, "pipelines that run the program")
	f.DurationVar(&a.rtt, "rtt", 0, "base round-trip time between two leaves, measured without load (default: that of the topology, without latencies of switches)")
	f.BoolVar(&a.dryRun, "dry-run", false, "print what would be written, as a diff, and write nothing")
	f.BoolVar(&a.diff, "diff", false, "print what is written, as a diff")
	f.BoolVar(&a.tables, "tables", false, "leave ports and PFC as they are")
	f.Uint32Var(&a.device, "device", 0, "number of the device of the server (default 0)")
	f.Uint32Var(&a.client, "client", 1, "number of this client, unique among the clients of a device")
	f.DurationVar(&a.timeout, "timeout", time.Minute, "time limit for each switch, as in 30s")
	return cmd
}

func (a *tofinoApply) run(cmd *cobra.Command, topology, dir string) error {
	if err := a.read(cmd, topology, dir); err != nil {
		return err
	}
	var targets []controlplane.Target
	for _, text := range a.addrs {
		t, err := parseTarget(text)
		if err != nil {
			return usageErrorf(cmd, "--addr: %v", err)
		}
		if n := a.net.NodeByName(t.Name); n == nil || n.Kind != topo.Switch {
			return usageErrorf(cmd, "--addr: %s has no switch called %q; write NAME=HOST:PORT", topology, t.Name)
		}
		targets = append(targets, t)
	}
	for _, t := range targets {
		if err := a.apply(cmd, t); err != nil {
			if strings.HasPrefix(err.Error(), "switch "+t.Name+": ") {
				return err
			}
			return fmt.Errorf("switch %s: %w", t.Name, err)
		}
	}
	return nil
}

// read reads the topology and the compiled program.
func (a *tofinoApply) read(cmd *cobra.Command, topology, dir string) error {
	var err error
	if a.ports, err = parsePanel(a.panel); err != nil {
		return usageErrorf(cmd, "--panel: %v", err)
	}
	if a.net, err = networkOf(topology); err != nil {
		return err
	}
	scope, err := pipelines(a.pipes)
	if err != nil {
		return usageErrorf(cmd, "--pipes: %v", err)
	}
	name := filepath.Base(filepath.Clean(dir))
	if a.program, err = bfrt.ReadProgram(name, dir, scope...); err != nil {
		return err
	}
	info, err := readP4Info(filepath.Join(dir, "p4info.txtpb"))
	if err != nil {
		return err
	}
	if a.schema, err = schema.New(info); err != nil {
		return err
	}
	file := filepath.Join(dir, name+".manifest.json")
	text, err := infile.Read(file)
	if err != nil {
		return err
	}
	if a.manifest, err = manifest.Read(file, text); err != nil {
		return err
	}
	if a.manifest.Target != "tna" {
		return fmt.Errorf("%s: the program is for %s, not for Tofino", file, a.manifest.Target)
	}
	return nil
}

// parsePanel reads PORT=CONNECTOR/CHANNEL.
func parsePanel(list []string) (map[int]bfrt.Panel, error) {
	ports := make(map[int]bfrt.Panel)
	for _, text := range list {
		port, at, ok := strings.Cut(text, "=")
		connector, channel, ok2 := strings.Cut(at, "/")
		var n [3]int
		for i, s := range []string{port, connector, channel} {
			v, err := strconv.ParseUint(s, 10, 16)
			ok = ok && err == nil
			n[i] = int(v)
		}
		if !ok || !ok2 {
			return nil, fmt.Errorf("%q is not PORT=CONNECTOR/CHANNEL, as in 1=9/0", text)
		}
		ports[n[0]] = bfrt.Panel{Port: n[1], Channel: n[2]}
	}
	return ports, nil
}

// apply gives one switch its desired state or, with dryRun, prints the changes.
func (a *tofinoApply) apply(cmd *cobra.Command, t controlplane.Target) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), a.timeout)
	defer cancel()
	c, err := bfrt.Dial(ctx, t.Addr, bfrt.Options{DeviceID: a.device, ClientID: a.client})
	if err != nil {
		return err
	}
	defer c.Close()
	out := cmd.OutOrStdout()
	running, err := c.Open(ctx)
	if err != nil {
		return err
	}
	if running != a.program.Name { // the device's own tables are the same
		err = c.Assume(ctx, a.program)
	}
	if err != nil {
		return err
	}
	n := a.net.NodeByName(t.Name)
	fits, err := a.fits(ctx, c, n)
	if err != nil {
		return err
	}
	for _, line := range fits.Report() {
		fmt.Fprintf(out, "%s: %s\n", t.Name, line)
	}
	desired, err := a.desired(ctx, c, n, fits.Ports)
	if err := errors.Join(fits.Check(), err); err != nil {
		return err
	}
	pushed := ""
	switch {
	case a.dryRun:
	case running != a.program.Name:
		if err := c.Load(ctx, a.program); err != nil {
			return err
		}
		pushed = "program pushed, "
		if desired, err = a.desired(ctx, c, n, fits.Ports); err != nil {
			return err
		}
	default:
		if err := c.Bind(ctx, a.program.Name); err != nil {
			return err
		}
	}
	do := c.Apply
	if a.dryRun {
		do = c.Plan
	}
	changes, err := do(ctx, desired)
	if err != nil {
		return err
	}
	if a.dryRun && running != a.program.Name {
		fmt.Fprintf(out, "%s: program %s to be pushed\n", t.Name, a.program.Name)
	}
	switch {
	case len(changes) == 0:
		fmt.Fprintf(out, "%s: %sas desired already\n", t.Name, pushed)
	case a.dryRun:
		fmt.Fprintf(out, "%s: %d entries to be written\n", t.Name, len(changes))
	default:
		fmt.Fprintf(out, "%s: %s%d entries written\n", t.Name, pushed, len(changes))
	}
	if a.dryRun || a.diff {
		return bfrt.Print(out, changes, "  ")
	}
	return nil
}

// fits describes a switch that is to run the program.
func (a *tofinoApply) fits(ctx context.Context, c *bfrt.Client, n *topo.Node) (*fit.Switch, error) {
	s := &fit.Switch{Net: a.net, Node: n, Program: a.manifest, Pipes: a.program.Pipes, Panel: a.ports, RTT: a.measured()}
	var err error
	if s.Channels, err = c.Channels(ctx); err != nil {
		return nil, err
	}
	s.Ports, err = bfrt.PortMap(n, a.ports, s.Channels)
	return s, err
}

func (a *tofinoApply) measured() vtime.Time {
	return vtime.Time(a.rtt.Nanoseconds()) * vtime.Nanosecond
}

// desired returns the desired state of a switch.
func (a *tofinoApply) desired(ctx context.Context, c *bfrt.Client, n *topo.Node, numbers map[int]int) ([]bfrt.Wanted, error) {
	var list []bfrt.Wanted
	var err error
	if !a.tables {
		if list, err = c.Network(ctx, a.net, n.ID, manifest.LosslessClass, numbers); err != nil {
			return nil, err
		}
	}
	entities, err := intent.Build(a.net, n.ID, a.manifest, a.schema.Info, intent.Options{RTT: a.measured(), Port: func(p int) int { return numbers[p] }})
	if err != nil {
		return nil, err
	}
	entries, err := bfrt.Entries(a.schema, entities)
	return append(list, entries...), err
}
