// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/netns"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/spf13/cobra"
)

func newDeployCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "deploy",
		Short: "Build a network of real processes on this machine",
		Long: `Build a topology on this machine: hosts are network namespaces with
ordinary Linux stacks, switches are processes (pauseless switch, or BMv2's
simple_switch_grpc), links are veth pairs, and a controller keeps the switches
in their desired state. The network runs slower than the topology, by a factor
that is printed.

A topology is a file as in docs/reference/topology.md, the network of a scenario,
a p4app.json of p4-utils or a topology.json of p4lang's tutorials. The program is
that of a profile, or with --p4 one of your own.

Every command needs root, except list, mininet --script and netns --dry-run.`,
		Example: `  sudo pauseless deploy netns fabric.yaml --switch bmv2 --profile rlb-drill
  sudo ip netns exec fabric-h1 ping 10.0.1.1
  sudo pauseless deploy netns --down fabric
  sudo pauseless deploy netns topology.json --p4 basic.p4
  pauseless deploy mininet fabric.yaml --switch bmv2 --profile drill --dir out`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDeployNetnsCmd(), newDeployMininetCmd(), newDeployRunCmd(), newDeployListCmd(), newDeployCaptureCmd(), newDeployReplayCmd(), newDeployRelayCmd(), newDeployTaskCmd(), newDeployFaultCmd())
	return cmd
}

// deployment has the flags and the plan that both deployers share.
type deployment struct {
	kind    string
	profile string
	own     ownProgram
	trace   bool
	name    string
	pps     int
	prefix  string
	grpc    int
	thrift  int
	links   string
	bmv2    string // simple_switch_grpc, or its folder

	file string // of the topology
	net  *topo.Topology
	lab  *local.Lab
}

// flags adds the flags of a network and of the program that it runs.
func (d *deployment) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.profile, "profile", "", "`NAME`: built-in profile, or its file")
	cmd.RegisterFlagCompletionFunc("profile", completeProfiles)
	d.own.flags(cmd)
	cmd.Flags().BoolVar(&d.trace, "trace", false, "switches write what happens to each packet to SWITCH.trace, next to their logs or the script; they are slower then")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		if down, err := cmd.Flags().GetBool("down"); err == nil && down {
			up, _ := netns.List()
			return up, cobra.ShellCompDirectiveDefault
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
	d.networkFlags(cmd)
}

func (d *deployment) networkFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&d.kind, "switch", "softswitch", "`KIND`: softswitch or bmv2")
	f.StringVar(&d.name, "name", "", "`NAME`: name of the network (default: the topology's)")
	f.IntVar(&d.pps, "pps", 0, "packets per second of the slowest host link, which sets the scale (default: 1000 for bmv2, 10000 for softswitch)")
	f.IntVar(&d.grpc, "grpc", 9559, "`PORT`: first TCP port for P4Runtime servers")
	f.IntVar(&d.thrift, "thrift-port", 9090, "`PORT`: first TCP port for BMv2's Thrift servers")
	f.StringVar(&d.links, "links", "relay", "`KIND`: relay: links with the topology's delay, slower by the scale; veth: with this machine's")
	f.StringVar(&d.bmv2, "bmv2", os.Getenv("BMV2"), "`FILE`: simple_switch_grpc, or its folder (default: $BMV2, or PATH)")
	cmd.RegisterFlagCompletionFunc("switch", cobra.FixedCompletions([]string{"softswitch", "bmv2"}, cobra.ShellCompDirectiveNoFileComp))
}

// read reads the topology, plans the network and compiles the program.
func (d *deployment) read(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageErrorf(cmd, "expected one topology file, found %d arguments", len(args))
	}
	kind, err := d.switchKind(cmd)
	if err != nil {
		return err
	}
	d.file = args[0]
	if d.net, err = networkOf(d.file); err != nil {
		return err
	}
	if d.name == "" {
		d.name = networkName(d.net.Name, d.file)
	}
	o, err := d.options(cmd, kind)
	if err != nil {
		return err
	}
	var own *program.Program
	switch {
	case d.own.given(d.net, d.profile):
		if own, d.net, err = d.own.build(cmd, d.net, d.profile); err != nil {
			return err
		}
		o.Own = true
	case d.profile == "":
		return usageErrorf(cmd, "which program? give --profile NAME, or --p4 FILE for one of your own; `pauseless gen --list` shows the names")
	}
	plan, err := local.New(d.net, o)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if own != nil {
		left, err := plan.App(self)
		if err != nil {
			return err
		}
		for _, text := range left {
			fmt.Fprintln(cmd.ErrOrStderr(), "warning:", text)
		}
	}
	if own != nil && kind == local.BMv2 {
		differences, err := own.OnBMv2(d.net)
		if err != nil {
			return err
		}
		for _, text := range differences {
			fmt.Fprintln(cmd.ErrOrStderr(), "warning:", text)
		}
	}
	if d.trace && kind == local.BMv2 {
		return usageErrorf(cmd, "--trace is of the softswitch; BMv2 has its own log")
	}
	d.lab = &local.Lab{Plan: plan, Trace: d.trace, Pauseless: self}
	if kind == local.BMv2 {
		if d.lab.SimpleSwitch, err = local.FindSimpleSwitch(d.bmv2); err != nil {
			return err
		}
	}
	if own != nil {
		d.lab.Program = own
		return nil
	}
	p, err := program.Load(d.profile)
	if err != nil {
		return err
	}
	d.lab.Program, err = local.Build(p, d.net, kind, plan.Scale)
	return err
}

// networkOf reads a topology file, or the network of a scenario.
func networkOf(file string) (*topo.Topology, error) {
	text, err := infile.Read(file)
	if err != nil {
		return nil, err
	}
	if !aScenario.Match(text) {
		return topo.Read(file)
	}
	s, err := scenario.Read(file)
	if err != nil {
		return nil, err
	}
	return s.Cases()[0].Net(), nil
}

// aScenario matches a key that scenarios have and topologies do not.
var aScenario = regexp.MustCompile(`(?m)^(network|traffic|profiles?|arms) *:`)

// options returns the options of the plan that the flags give.
func (d *deployment) options(cmd *cobra.Command, kind local.Kind) (local.Options, error) {
	if d.links != "relay" && d.links != "veth" {
		return local.Options{}, usageErrorf(cmd, "--links is relay or veth, not %q", d.links)
	}
	return local.Options{Kind: kind, PacketRate: d.pps, GRPC: d.grpc, Thrift: d.thrift, Prefix: d.prefix, Direct: d.links == "veth"}, nil
}

func (d *deployment) switchKind(cmd *cobra.Command) (local.Kind, error) {
	kind := local.Kind(d.kind)
	if kind != local.BMv2 && kind != local.SoftSwitch {
		return "", usageErrorf(cmd, "--switch is softswitch or bmv2, not %q", d.kind)
	}
	return kind, nil
}

// untilGone ends the command's context also when its output is no longer read, or its
// terminal is closed, so that it removes what it has built. It returns the end of this.
func untilGone(cmd *cobra.Command) func() {
	ends := []os.Signal{syscall.SIGPIPE}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), ends...)
	cmd.SetContext(ctx)
	return stop
}

// networkName returns the topology's name or, if it has none, its file's.
func networkName(name, file string) string {
	if name == "" {
		name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	name = strings.ToLower(name)
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, name)
}
