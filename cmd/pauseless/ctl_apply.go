// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/intent"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/spf13/cobra"
)

// apply is the verb that configures a network for its topology file.
type apply struct {
	*ctl
	profile                string
	own                    ownProgram
	info, config, manifest string
	dryRun, diff           bool
	keep, standby          bool
	audit                  time.Duration
	scale                  int64
	numbers                []string // PORT=NUMBER: the target's numbers of ports
}

func newCtlApplyCmd(c *ctl) *cobra.Command {
	a := &apply{ctl: c}
	cmd := &cobra.Command{
		Use:   "apply TOPOLOGY --profile NAME | --p4 FILE",
		Short: "Configure switches for a topology file",
		Long: `Compute from the topology what each switch needs (forwarding, paths, leaf ids,
clone sessions, multicast groups, thresholds), compare it with the state of the
switch, and write the difference: first additions, then deletions. Running it again
changes nothing. The addresses of switches are in the topology file, or in
--addr NAME=HOST:PORT.

The program is generated from a profile, or is your own: --p4 with --entries, or
--p4info with --config and --manifest. --number maps the topology's ports to the ports
of a Tofino with Stratum. With --thrift the switches are BMv2s, and the program is
compiled for BMv2: times in µs, depths in packets, flow control by the program.

With --keep the controller continues to run, and configures switches again when they
restart, when another controller has written, and when the topology file changes. With
--keep --standby it waits until there is no primary controller.`,
		Example: `  pauseless ctl apply fabric.yaml --profile rlb-drill --dry-run
  pauseless ctl apply fabric.yaml --profile rlb-drill
  pauseless ctl apply fabric.yaml --profile rlb-drill --keep --election-id 10
  pauseless ctl apply fabric.yaml --profile rlb-drill --keep --standby --election-id 5`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf(cmd, "expected one topology file, found %d arguments", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, args[0]) },
	}
	cmd.ValidArgsFunction = cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt)
	f := cmd.Flags()
	f.StringVar(&a.profile, "profile", "", "`NAME`: built-in profile, or its file")
	a.own.flags(cmd)
	f.StringVar(&a.info, "p4info", "", "`FILE`: P4Info of your own program")
	f.StringVar(&a.config, "config", "", "`FILE`: device configuration of the program of --p4info, for instance BMv2 JSON")
	f.StringVar(&a.manifest, "manifest", "", "`FILE`: manifest of the program of --p4info")
	f.StringArrayVar(&a.numbers, "number", nil, "`PORT=NUMBER`: with a program for Tofino, the chip's number of a port of the topology (repeatable)")
	f.BoolVar(&a.dryRun, "dry-run", false, "print what would be written, as a diff, and write nothing")
	f.BoolVar(&a.diff, "diff", false, "print what is written, as a diff")
	f.BoolVar(&a.keep, "keep", false, "keep running, and restore the desired state when it is lost")
	f.BoolVar(&a.standby, "standby", false, "with --keep: wait until there is no other primary controller")
	f.Int64Var(&a.scale, "scale", 1, "factor by which the network runs slower than the topology; deploy prints that of its networks")
	f.DurationVar(&a.audit, "audit", 10*time.Second, "with --keep: time between two searches for entries that others have written")
	cmd.RegisterFlagCompletionFunc("profile", completeProfiles)
	return cmd
}

func (a *apply) run(cmd *cobra.Command, file string) error {
	p, err := a.printer(cmd)
	if err != nil {
		return err
	}
	if a.topology != "" || a.network != "" {
		return usageErrorf(cmd, "the topology is the argument; leave --topology and --network out")
	}
	if a.scale < 1 || a.scale > topo.MaxScale {
		return usageErrorf(cmd, "--scale is %d, must be from 1 to %d", a.scale, int64(topo.MaxScale))
	}
	if a.standby && !a.keep {
		return usageErrorf(cmd, "--standby needs --keep")
	}
	a.topology = file
	var text []byte
	if a.keep {
		// Read the text for later comparisons before the one that is used now:
		// in the other order, a change in between would be missed.
		if text, err = infile.Read(file); err != nil {
			return err
		}
	}
	targets, err := a.switches(cmd, file)
	if err != nil {
		return err
	}
	desired, err := a.desired(cmd, targets)
	if err != nil {
		return err
	}
	switch {
	case a.keep:
		return a.runKeeper(cmd, file, text, targets, desired)
	case a.dryRun:
		f, err := controlplane.Open(cmd.Context(), targets, controlplane.Options{ReadOnly: true, Timeout: a.timeout, Event: a.say(cmd)})
		if err != nil {
			return err
		}
		defer f.Close()
		return a.each(cmd.Context(), p, f, true, func(ctx context.Context, s *controlplane.Session) (*controlplane.Change, error) {
			return s.Plan(ctx, desired[s.Name()])
		})
	}
	f, err := a.openForWriting(cmd, targets)
	if err != nil {
		return err
	}
	defer f.Close()
	return a.each(cmd.Context(), p, f, a.diff, func(ctx context.Context, s *controlplane.Session) (*controlplane.Change, error) {
		return s.Apply(ctx, desired[s.Name()])
	})
}

// switches returns the switches of the topology file that have an address.
func (a *apply) switches(cmd *cobra.Command, file string) ([]controlplane.Target, error) {
	targets, err := a.targets(cmd)
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		if n := a.net.NodeByName(t.Name); n == nil || n.Kind != topo.Switch {
			return nil, usageErrorf(cmd, "--addr: %s has no switch called %q; write NAME=HOST:PORT", file, t.Name)
		}
	}
	return targets, nil
}

// desired computes the desired state of all targets, by name.
func (a *apply) desired(cmd *cobra.Command, targets []controlplane.Target) (map[string]controlplane.Desired, error) {
	bmv2 := false
	for _, t := range targets {
		// A switch with a Thrift server is BMv2.
		bmv2 = bmv2 || t.Thrift != ""
	}
	if a.info == "" && a.config == "" && a.manifest == "" && a.own.given(a.net, a.profile) {
		return a.desiredOwn(cmd, targets)
	}
	pipeline, m, err := a.program(cmd, bmv2)
	if err != nil {
		return nil, err
	}
	numbered, err := a.portNumbers(cmd)
	if err != nil {
		return nil, err
	}
	out := make(map[string]controlplane.Desired)
	for _, t := range targets {
		options := intent.Options{Scale: a.scale, NoCloneClass: t.Thrift != "", Port: numbered}
		entities, err := intent.Build(a.net, a.net.NodeByName(t.Name).ID, m, pipeline.P4Info, options)
		if err != nil {
			return nil, err
		}
		out[t.Name] = controlplane.Desired{Pipeline: pipeline, Entities: entities}
	}
	return out, nil
}

// desiredOwn is desired for a program that is compiled here.
func (a *apply) desiredOwn(cmd *cobra.Command, targets []controlplane.Target) (map[string]controlplane.Desired, error) {
	prog, net, err := a.own.build(cmd, a.net, a.profile)
	if err != nil {
		return nil, err
	}
	entities, err := prog.Entities(net, intent.Options{Scale: a.scale})
	if err != nil {
		return nil, err
	}
	out := make(map[string]controlplane.Desired)
	for _, t := range targets {
		node := net.NodeByName(t.Name).ID
		list, err := entities(node)
		if err != nil {
			return nil, err
		}
		out[t.Name] = controlplane.Desired{Pipeline: prog.Of(node).Pipeline(), Entities: list}
	}
	return out, nil
}

// portNumbers returns a function from a port of the topology to its number at
// the target. It is nil if all numbers are the same.
func (a *apply) portNumbers(cmd *cobra.Command) (func(int) int, error) {
	numbers := make(map[int]int)
	for _, text := range a.numbers {
		port, number, ok := strings.Cut(text, "=")
		p, err := strconv.ParseUint(port, 10, 9)
		n, err2 := strconv.ParseUint(number, 10, 9)
		if !ok || err != nil || err2 != nil {
			return nil, usageErrorf(cmd, "--number: %q is not PORT=NUMBER", text)
		}
		numbers[int(p)] = int(n)
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	return func(p int) int {
		if n, ok := numbers[p]; ok {
			return n
		}
		return p
	}, nil
}

// program returns the program to run and its manifest.
func (a *apply) program(cmd *cobra.Command, bmv2 bool) (controlplane.Pipeline, *manifest.Manifest, error) {
	own := a.info != "" || a.config != "" || a.manifest != ""
	switch {
	case own && a.profile != "":
		return controlplane.Pipeline{}, nil, usageErrorf(cmd, "give --profile, or --p4info, --config and --manifest, not both")
	case own && (a.info == "" || a.config == "" || a.manifest == ""):
		return controlplane.Pipeline{}, nil, usageErrorf(cmd, "your own program needs all of --p4info, --config and --manifest")
	case own:
		p, err := readPipeline(a.info, a.config)
		if err != nil {
			return p, nil, err
		}
		text, err := infile.Read(a.manifest)
		if err != nil {
			return p, nil, err
		}
		m, err := manifest.Read(a.manifest, text)
		return p, m, err
	case a.profile == "":
		return controlplane.Pipeline{}, nil, usageErrorf(cmd, "which program? give --profile NAME, or --p4 FILE for one of your own; `pauseless gen --list` shows the names")
	}
	p, err := program.Load(a.profile)
	if err != nil {
		return controlplane.Pipeline{}, nil, err
	}
	kind := local.SoftSwitch
	if bmv2 {
		kind = local.BMv2
	}
	built, err := local.Build(p, a.net, kind, a.scale)
	if err != nil {
		return controlplane.Pipeline{}, nil, err
	}
	return built.Pipeline(), built.Manifest, nil
}

// each runs do for all switches at once and prints the results in the order of
// the switches.
func (a *apply) each(ctx context.Context, p *printer, f *controlplane.Fabric, diff bool, do func(context.Context, *controlplane.Session) (*controlplane.Change, error)) error {
	changes := make(map[string]*controlplane.Change)
	var mu sync.Mutex
	err := f.Each(ctx, func(ctx context.Context, s *controlplane.Session) error {
		c, err := do(ctx, s)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			changes[s.Name()] = c
		}
		return err
	})
	list := p.stream(inJSON("switch"), inJSON("push"), inJSON("insert"), inJSON("modify"), inJSON("delete"))
	same := 0
	for _, s := range f.Sessions() {
		c := changes[s.Name()]
		if c == nil {
			continue
		}
		insert, modify, del := c.Plan.Counts()
		if err := list.add(s.Name(), c.Push, insert, modify, del); err != nil {
			return err
		}
		if c.Empty() {
			same++
			continue
		}
		text := c.String()
		if a.dryRun {
			text = strings.Replace(text, "pushed", "to be pushed", 1) + ", if applied"
		}
		fmt.Fprintf(p.text, "%s: %s\n", s.Name(), text)
		if diff {
			if err := c.Plan.Print(p.text, c.Schema, "  "); err != nil {
				return err
			}
		}
	}
	all := len(f.Sessions())
	switch {
	case same < all && err == nil && !a.dryRun:
		fmt.Fprintf(p.text, "%d of %d switches are as desired, %d of them were already\n", all, all, same)
	default:
		fmt.Fprintf(p.text, "%d of %d switches are as desired already\n", same, all)
	}
	return err
}

// runKeeper keeps the switches in their desired state until the command is
// interrupted, and follows changes of the topology file. Last is the text of the
// file that desired was computed from.
func (a *apply) runKeeper(cmd *cobra.Command, file string, last []byte, targets []controlplane.Target, desired map[string]controlplane.Desired) error {
	policy := controlplane.AdoptOrphans
	switch {
	case a.standby:
		policy = controlplane.Standby
	case a.takeOver:
		policy = controlplane.TakeOver
	}
	say := a.say(cmd)
	f, err := controlplane.StartAll(targets, controlplane.Options{Policy: policy, Timeout: a.timeout, Event: say})
	if err != nil {
		return err
	}
	defer f.Close()
	k := controlplane.NewKeeper(f, a.audit)
	k.Digest = func(s *controlplane.Session, d controlplane.Digest) {
		say(controlplane.Event{Switch: s.Name(), Kind: controlplane.Alert, Text: "digest " + digestText(d)})
	}
	for name, d := range desired {
		if err := k.Set(name, d); err != nil {
			return err
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.Run(cmd.Context())
	}()
	tick := time.NewTicker(fileInterval)
	defer tick.Stop()
	for {
		select {
		case <-cmd.Context().Done():
			<-done
			return nil
		case <-tick.C:
		}
		text, err := infile.Read(file)
		if err != nil || string(text) == string(last) {
			continue // an editor may be saving it now
		}
		last = text
		if targets, err = a.reread(cmd, file, targets, f, k); err != nil {
			say(controlplane.Event{Switch: file, Kind: controlplane.NotAsDesired, Text: fmt.Sprintf("the changed file is not used: %v", err)})
			continue
		}
		say(controlplane.Event{Switch: file, Kind: controlplane.Reconciled, Text: "the file has changed; the switches follow"})
	}
}

// fileInterval is the interval at which --keep reads the topology file.
const fileInterval = time.Second

// reread follows a changed topology file. It connects to switches that the file
// adds, releases those that it no longer has, and reconnects to those whose
// address has changed. It returns the switches to keep from now on; if the file is
// not used, they are the same as before.
func (a *apply) reread(cmd *cobra.Command, file string, before []controlplane.Target, f *controlplane.Fabric, k *controlplane.Keeper) ([]controlplane.Target, error) {
	old := a.net
	targets, err := a.switches(cmd, file)
	var desired map[string]controlplane.Desired
	if err == nil {
		desired, err = a.desired(cmd, targets)
	}
	if err != nil {
		a.net = old
		return before, err
	}
	say := a.say(cmd)
	for _, t := range before {
		i := slices.IndexFunc(targets, func(n controlplane.Target) bool { return n.Name == t.Name })
		if i >= 0 {
			n := targets[i]
			if n.TLS = t.TLS; n == t { // a configuration is read anew each time
				continue
			}
		}
		if i < 0 {
			say(controlplane.Event{Switch: t.Name, Kind: controlplane.NotAsDesired, Text: "is no longer in the file; it keeps its state, and is not checked any more"})
		}
		k.Leave(t.Name)
		f.Remove(t.Name)
	}
	for _, t := range targets {
		if f.Session(t.Name) == nil {
			s, err := f.Add(t)
			if err != nil {
				return targets, err
			}
			k.Take(s)
		}
		if err := k.Set(t.Name, desired[t.Name]); err != nil {
			return targets, err
		}
	}
	return targets, nil
}
