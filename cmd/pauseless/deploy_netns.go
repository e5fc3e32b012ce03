// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/netns"
	"github.com/spf13/cobra"
)

func newDeployNetnsCmd() *cobra.Command {
	d := &deployment{}
	var down, detach, dry bool
	cmd := &cobra.Command{
		Use:   "netns TOPOLOGY --switch softswitch|bmv2 --profile NAME | --p4 FILE",
		Short: "Build a topology of network namespaces and veth pairs, as root",
		Long: `Build the network, load the program into its switches, write their entries and
restore them until Ctrl-C; then remove the network. With --detach the network stays
up in the background. --down removes a network, named by its name or its topology
file, also after a crash.

Each host is a namespace NETWORK-HOST with the topology's IP and MAC addresses, and
with static neighbour entries, so traffic starts without ARP. The interfaces of
switches (l1-eth3) are in the namespace of this machine: capture them with any tool,
or with pauseless deploy capture.

With --p4 the switches run your own program, with the entries of --entries. Files of
p4lang's tutorials and of p4-utils work unchanged: their addresses, programs and
entries are used (unless --p4 and --entries name others), and hosts execute the
commands in the files, as root in their namespaces. Such networks are not slower than
their topology, but links are at most as fast as this machine.`,
		Example: `  sudo pauseless deploy netns fabric.yaml --switch bmv2 --profile rlb-drill
  sudo pauseless deploy netns pod-topo/topology.json --p4 basic.p4
  sudo pauseless deploy netns p4app.json --switch bmv2
  sudo ip netns exec fabric-h1 iperf3 -s -D
  sudo ip netns exec fabric-h8 iperf3 -c 10.0.0.1
  sudo pauseless deploy netns --down fabric
  pauseless deploy netns fabric.yaml --profile drill --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if down {
				return takeDown(cmd, args)
			}
			if err := d.read(cmd, args); err != nil {
				return err
			}
			if dry {
				return d.dryRun(cmd)
			}
			if detach { // the network comes up, also if its output is not read
				signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
			} else {
				defer untilGone(cmd)()
			}
			return d.runNetns(cmd, detach)
		},
	}
	d.flags(cmd)
	cmd.Flags().StringVar(&d.prefix, "prefix", "", "`TEXT`: begins the names of the switches' interfaces")
	cmd.Flags().BoolVar(&down, "down", false, "remove a network, by its name or its topology file")
	cmd.Flags().BoolVar(&detach, "detach", false, "leave the network running in the background")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print what would be built and written, and build nothing; needs no root")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "down")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "detach")
	return cmd
}

func takeDown(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageErrorf(cmd, "give the name of a network; `pauseless deploy list` shows them")
	}
	name := args[0]
	if info, err := os.Stat(name); filepath.Ext(name) != "" || err == nil && info.Mode().IsRegular() {
		t, err := networkOf(name)
		if err != nil {
			return err
		}
		name = networkName(t.Name, name)
	}
	if err := netns.Down(name); err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "network %s is down\n", name)
	return nil
}

func newDeployListCmd() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the networks that are up, or were left behind by a crash",
		Example: `  pauseless deploy list`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			names, err := netns.List()
			for _, n := range names {
				fmt.Fprintln(cmd.OutOrStdout(), n)
			}
			return err
		},
	}
}

func (d *deployment) runNetns(cmd *cobra.Command, detach bool) error {
	ctx, errs := cmd.Context(), cmd.ErrOrStderr()
	recirculation, pps := d.lab.RecirculationPort()
	n, err := netns.Up(ctx, netns.Config{
		Name: d.name, Plan: d.lab.Plan, QueuePackets: d.lab.QueuePackets(), Recirculation: recirculation, RecirculationPPS: pps,
		Program: func(s *local.Switch) (string, []string, error) {
			return d.lab.Command(s, filepath.Join(netns.RunDir, d.name))
		},
		Relay:    d.lab.RelayCommand,
		Progress: func(text string) { fmt.Fprintf(errs, "  %s\n", text) },
	})
	if err != nil {
		return err
	}
	err = d.note(cmd)
	if err == nil {
		err = d.control(cmd, n, detach)
	}
	if err != nil {
		return errors.Join(err, n.Down())
	}
	return nil
}

// control runs the controller that configures the switches: in this process
// until Ctrl-C or, with detach, in a process of its own.
func (d *deployment) control(cmd *cobra.Command, n *netns.Network, detach bool) error {
	ctx, out, errs := cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr()
	desired, err := d.lab.Desired()
	if err != nil {
		return err
	}
	f, err := controlplane.Open(ctx, d.lab.Targets(), controlplane.Options{
		Policy: controlplane.AdoptOrphans,
		Event:  func(e controlplane.Event) { fmt.Fprintf(errs, "  %s\n", e) },
	})
	if err != nil {
		return err
	}
	defer f.Close()
	k := controlplane.NewKeeper(f, 0)
	for name, state := range desired {
		if err := k.Set(name, state); err != nil {
			return err
		}
	}
	keeping, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.Run(keeping)
	}()
	defer func() { stop(); <-done }()
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := k.AwaitKept(wait); err != nil {
		return err
	}
	once := d.once(desired)
	if once {
		stop()
		<-done
		f.Close()
	}
	if err := n.HostCommands(ctx, func(text string) { fmt.Fprintln(errs, text) }); err != nil {
		return err
	}
	if err := n.RunScripts(); err != nil {
		return err
	}
	d.describe(cmd)
	if detach && once {
		return nil
	}
	if detach {
		stop()
		<-done
		f.Close()
		return n.StartController(d.controllerCommand())
	}
	fmt.Fprintf(out, "\nCtrl-C removes it.\n")
	<-ctx.Done()
	stop()
	<-done
	f.Close()
	return n.Down()
}

// once reports whether the switches are configured once, and then left to controllers of
// one's own: with a p4app.json, as p4-utils does it, and with a program without entries.
func (d *deployment) once(desired map[string]controlplane.Desired) bool {
	if !d.lab.Program.Own() {
		return false
	}
	for _, s := range desired {
		if len(s.Entities) > 0 {
			return d.net.App.File != ""
		}
	}
	return true
}

// controllerCommand returns the command and arguments of a controller process.
func (d *deployment) controllerCommand() (string, []string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	file, err := filepath.Abs(d.file)
	if err != nil {
		return "", nil, err
	}
	return self, d.applyArgs(file, "--keep"), nil
}

// applyArgs returns the arguments of pauseless that configure all switches.
func (d *deployment) applyArgs(file string, more ...string) []string {
	args := []string{"ctl", "apply", file, "--scale", fmt.Sprint(d.lab.Plan.Scale)}
	if d.profile != "" {
		args = append(args, "--profile", d.profile)
	}
	args = append(args, d.own.args()...)
	for _, s := range d.lab.Plan.Switches {
		args = append(args, "--addr", s.Name+"="+s.GRPC)
		if s.Thrift != "" {
			args = append(args, "--thrift", s.Name+"="+s.Thrift)
		}
	}
	return append(args, more...)
}

// scale describes the scale, and what is not as in the topology.
func (d *deployment) scale() string {
	return strings.TrimSpace(d.lab.Plan.ScaleText() + "\n" + d.lab.Differences())
}

// dryRun prints what the network would have: what describe prints, links, entries and the
// commands of hosts.
func (d *deployment) dryRun(cmd *cobra.Command) error {
	if err := netns.CheckName(d.name); err != nil {
		return err
	}
	desired, err := d.lab.Desired()
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	d.tables(cmd)
	fmt.Fprintln(out)
	plan := d.lab.Plan
	at := make(map[topo.End]string) // interfaces
	for _, h := range plan.Hosts {
		for _, a := range h.Adapters() {
			at[topo.End{Node: a.Node, Port: 1}] = netns.Namespace(d.name, h.Name) + ":" + a.Interface
		}
	}
	for _, s := range plan.Switches {
		for _, port := range s.Ports {
			at[topo.End{Node: s.Node, Port: port.Number}] = port.Interface
			if port.CPU != "" {
				at[topo.End{Node: plan.Topology.Nodes[s.Node].Ports[port.Number-1].Peer, Port: 1}] = port.CPU
			}
		}
	}
	p := newPrinter(out, false)
	links := p.table("", inTable("link"), inTable("rate"), inTable("delay"), inTable("made of"))
	for i, l := range plan.Scaled.Links {
		delay, made := l.Delay.String(), "a veth pair"
		if at[l.A] == "" || at[l.B] == "" {
			continue // a port that nothing uses
		}
		if i < len(plan.Cables) {
			made = fmt.Sprintf("two veth pairs with a relay between %s and %s", plan.Cables[i].Interfaces[0], plan.Cables[i].Interfaces[1])
		} else {
			delay = "this machine's"
		}
		links.add(at[l.A]+" - "+at[l.B], l.Rate.String(), delay, made)
	}
	links.end()
	fmt.Fprintln(out)
	for _, s := range d.lab.Plan.Switches {
		fmt.Fprintf(out, "%s: %d entries\n", s.Name, len(desired[s.Name].Entities))
	}
	for _, h := range d.lab.Plan.Hosts {
		for _, c := range h.Commands {
			fmt.Fprintf(out, "%s executes, as root: %s\n", h.Name, c)
		}
	}
	for _, c := range d.lab.Plan.Scripts {
		fmt.Fprintf(out, "this machine executes, as root: %s\n", c)
	}
	fmt.Fprintln(out, "\nNothing is built: --dry-run.")
	return nil
}

// tables prints the hosts and switches.
func (d *deployment) tables(cmd *cobra.Command) {
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "network %s: %d switches (%s) run %s\n%s\n\n", d.name, len(d.lab.Plan.Switches), d.lab.Plan.Kind, d.lab.Program.Name, d.scale())
	p := newPrinter(out, false)
	hosts := p.table("", inTable("host"), inTable("address"), inTable("namespace"), inTable("at"))
	for _, h := range d.lab.Plan.Hosts {
		for k, a := range h.Adapters() {
			name, addr := h.Name, "-"
			if a.Addr.IsValid() {
				addr = a.Addr.Addr().String()
			}
			if k > 0 {
				name = a.Interface + " of " + name
			}
			hosts.add(name, addr, netns.Namespace(d.name, h.Name), a.Switch)
		}
	}
	for _, s := range d.lab.Plan.Switches {
		for _, port := range s.Ports {
			if port.CPU != "" {
				hosts.add("CPU of "+s.Name, "-", "-", port.CPU)
			}
		}
	}
	hosts.end()
	fmt.Fprintln(out)
	switches := p.table("", inTable("switch"), inTable("P4Runtime"), inTable("Thrift"), inTable("log"))
	for _, s := range d.lab.Plan.Switches {
		switches.add(s.Name, s.GRPC, s.Thrift, filepath.Join(netns.RunDir, d.name, s.Name+".log"))
	}
	switches.end()
}

// describe prints the hosts and switches, and commands to start with.
func (d *deployment) describe(cmd *cobra.Command) {
	d.tables(cmd)
	out := cmd.OutOrStdout()
	first, last := d.lab.Plan.Hosts[0], d.lab.Plan.Hosts[len(d.lab.Plan.Hosts)-1]
	ports := d.lab.Plan.Switches[0].Ports
	show := "registers"
	if d.lab.Program.Own() { // which may have none
		show = "tables"
	}
	fmt.Fprintf(out, "\ntry: ip netns exec %s ping %s\n     pauseless ctl --network %s %s\n     pauseless deploy capture %s\n",
		netns.Namespace(d.name, first.Name), last.Addr.Addr(), d.name, show, ports[len(ports)-1].Interface)
}
