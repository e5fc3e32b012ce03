// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/real/netns"
	"github.com/spf13/cobra"
)

func newCtlCmd() *cobra.Command {
	c := &ctl{}
	cmd := &cobra.Command{
		Use:   "ctl",
		Short: "Control running switches: tables, registers, packets, pipelines",
		Long: `Control P4Runtime servers: pauseless switch, BMv2's simple_switch_grpc, Stratum.
Name them by --addr, once for each switch, by a topology file with addresses, or by
the name of a network that pauseless deploy has built. All clients may read; only
the primary controller, the one with the highest election id, may write.

An entry is one line of text, with names instead of ids:

  route dst_addr=10.0.1.0/24 -> to_port(port=3)
  acl prio 10 proto=17 dport=4791..4799 src=10.0.0.0/8 -> drop()
  route default -> drop()
  multicast 1 -> 1, 2, 3
  clone 5 -> 510 truncate 64`,
		Example: `  pauseless ctl --addr 127.0.0.1:9559 registers egress_qlen
  pauseless ctl --addr l1=127.0.0.1:9559 --addr l2=127.0.0.1:9560 tables
  pauseless ctl --topology fabric.yaml watch egress_qlen --every 1s
  pauseless ctl --addr 127.0.0.1:9559 entries add 'route dst_addr=10.0.1.0/24 -> to_port(port=3)'
  pauseless ctl --addr 127.0.0.1:9559 --thrift 127.0.0.1:9090 registers egress_qlen   # BMv2`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f := cmd.PersistentFlags()
	f.StringArrayVar(&c.addrs, "addr", nil, "`[NAME=]HOST:PORT[/DEVICE]`: P4Runtime server of a switch; the default device is 1 (repeatable)")
	f.StringArrayVar(&c.thrift, "thrift", nil, "`[NAME=]HOST:PORT`: BMv2's Thrift server; without names in the order of the switches (repeatable)")
	f.StringVar(&c.network, "network", "", "`NAME`: network that pauseless deploy netns has built on this machine")
	f.StringVar(&c.topology, "topology", "", "`FILE`: topology with the switches' addresses")
	f.StringSliceVar(&c.only, "switch", nil, "`NAME`: use only these switches (repeatable)")
	f.StringVar(&c.election, "election-id", "1", "`ID`: election id for writing, a number or HIGH:LOW as in 1:5")
	f.BoolVar(&c.takeOver, "take-over", false, "for writing, become the primary even if another controller is the primary")
	f.StringVarP(&c.output, "output", "o", "table", "`FORM`: table or json")
	f.DurationVar(&c.timeout, "timeout", 10*time.Second, "time limit of each call, as in 500ms")
	f.StringVar(&c.ca, "tls-ca", "", "`FILE`: use TLS and trust the certificates in this PEM file")
	f.StringVar(&c.cert, "tls-cert", "", "`FILE`: client certificate, PEM")
	f.StringVar(&c.key, "tls-key", "", "`FILE`: private key of the certificate, PEM")
	cmd.RegisterFlagCompletionFunc("switch", c.completeSwitches)
	cmd.RegisterFlagCompletionFunc("network", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		up, _ := netns.List()
		return up, cobra.ShellCompDirectiveNoFileComp
	})
	cmd.MarkPersistentFlagFilename("topology", "yaml", "yml")
	cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(
		newCtlApplyCmd(c),
		newCtlTablesCmd(c),
		newCtlEntriesCmd(c),
		newCtlRegistersCmd(c),
		newCtlCountersCmd(c),
		newCtlMetersCmd(c),
		newCtlWatchCmd(c),
		newCtlDigestsCmd(c),
		newCtlPacketOutCmd(c),
		newCtlPacketInCmd(c),
		newCtlAlertsCmd(c),
		newCtlPipelineCmd(c),
		newCtlPortsCmd(c),
		newCtlQueuesCmd(c),
		newCtlShellCmd(c),
	)
	return cmd
}

// ctl has the flags that all verbs of ctl share: the switches, and how to print.
type ctl struct {
	addrs, thrift, only []string
	topology, network   string
	election            string
	takeOver            bool
	output              string
	timeout             time.Duration
	ca, cert, key       string

	net *topo.Topology // from --topology, or nil
}

// targets returns the switches that the command line names.
func (c *ctl) targets(cmd *cobra.Command) ([]controlplane.Target, error) {
	id, err := controlplane.ParseElectionID(c.election)
	if err != nil {
		return nil, usageErrorf(cmd, "--election-id: %v", err)
	}
	var all []controlplane.Target
	for _, a := range c.addrs {
		t, err := parseTarget(a)
		if err != nil {
			return nil, usageErrorf(cmd, "--addr: %v", err)
		}
		all = append(all, t)
	}
	switch {
	case c.network != "" && (len(all) > 0 || c.topology != "" || len(c.thrift) > 0):
		return nil, usageErrorf(cmd, "--network contains the switches' addresses; leave out --addr, --topology and --thrift")
	case c.network != "":
		var file string
		if all, file, err = deployedTargets(c.network); err != nil {
			return nil, err
		}
		c.net, _ = networkOf(file) // for names; the file may be gone
		if c.net != nil && c.net.Name == "" {
			c.net.Name = c.network
		}
	case c.topology != "":
		if c.net, err = networkOf(c.topology); err != nil {
			return nil, err
		}
		all = c.place(all)
		if len(all) == 0 {
			return nil, fmt.Errorf("%s contains no addresses of switches; add addresses: {l1: \"127.0.0.1:9559\", …}, or use --addr", c.topology)
		}
	}
	if len(all) == 0 {
		return nil, usageErrorf(cmd, "which switch? give --addr HOST:PORT, --topology FILE, or --network NAME")
	}
	if err := c.placeThrift(cmd, all); err != nil {
		return nil, err
	}
	conf, err := c.tls()
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range all {
		t := &all[i]
		t.ElectionID, t.TLS = id, conf
		if t.Name == "" {
			t.Name = t.Addr
		}
		names = append(names, t.Name)
	}
	if len(c.only) == 0 {
		return all, nil
	}
	var some []controlplane.Target
	for _, name := range c.only {
		found := false
		for _, t := range all {
			if t.Name == name {
				some = append(some, t)
				found = true
			}
		}
		if !found {
			return nil, usageErrorf(cmd, "--switch: no switch is called %q%s", name, diag.OneOf(name, names))
		}
	}
	return some, nil
}

// placeThrift assigns Thrift servers to switches: by name if the address has
// one, otherwise in the order of the switches.
func (c *ctl) placeThrift(cmd *cobra.Command, all []controlplane.Target) error {
	if len(c.thrift) > len(all) {
		return usageErrorf(cmd, "%d --thrift addresses for %d switches; give at most one for each switch", len(c.thrift), len(all))
	}
	for i, text := range c.thrift {
		name, addr, named := strings.Cut(text, "=")
		if !named {
			all[i].Thrift = text
			continue
		}
		at := slices.IndexFunc(all, func(t controlplane.Target) bool { return t.Name == name })
		if at < 0 {
			return usageErrorf(cmd, "--thrift: no switch is called %q%s", name, likeTarget(name, all))
		}
		all[at].Thrift = addr
	}
	return nil
}

// place appends the switches of the topology that have an address to those of
// the command line. For a switch that both name, the address of the command
// line is used.
func (c *ctl) place(given []controlplane.Target) []controlplane.Target {
	all := given
	for _, i := range c.net.Switches() {
		n := &c.net.Nodes[i]
		at := slices.IndexFunc(given, func(t controlplane.Target) bool { return t.Name == n.Name })
		switch {
		case at >= 0 && !strings.Contains(c.addrs[at], "/"):
			all[at].DeviceID = n.DeviceID
		case at < 0 && n.Address != "":
			all = append(all, controlplane.Target{Name: n.Name, Addr: n.Address, DeviceID: n.DeviceID})
		}
	}
	return all
}

// likeTarget is diag.OneOf for the names of switches.
func likeTarget(name string, known []controlplane.Target) string {
	var names []string
	for _, t := range known {
		names = append(names, cmp.Or(t.Name, t.Addr))
	}
	return diag.OneOf(name, names)
}

// parseTarget reads [NAME=]HOST:PORT[/DEVICE].
func parseTarget(text string) (controlplane.Target, error) {
	t := controlplane.Target{DeviceID: 1}
	if name, rest, ok := strings.Cut(text, "="); ok {
		t.Name, text = name, rest
	}
	if strings.HasPrefix(text, "unix:") {
		return t, fmt.Errorf("%q is a Unix socket, and P4Runtime uses TCP: write HOST:PORT", text)
	}
	addr, device, ok := strings.Cut(text, "/")
	if ok {
		id, err := strconv.ParseUint(device, 0, 64)
		if err != nil {
			return t, fmt.Errorf("device %q is not a number", device)
		}
		t.DeviceID = id
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return t, fmt.Errorf("%q is not HOST:PORT", addr)
	}
	if host == "" {
		addr = "127.0.0.1:" + port
	}
	t.Addr = addr
	return t, nil
}

func (c *ctl) tls() (*tls.Config, error) {
	if c.ca == "" && c.cert == "" && c.key == "" {
		return nil, nil
	}
	return infile.ClientTLS(c.ca, c.cert, c.key)
}

// say returns a function that prints events to standard error.
func (c *ctl) say(cmd *cobra.Command) func(controlplane.Event) {
	var mu sync.Mutex
	return func(e controlplane.Event) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(cmd.ErrOrStderr(), "pauseless: %s\n", e)
	}
}

// forReading opens sessions that take no part in elections.
func (c *ctl) forReading(cmd *cobra.Command) (*controlplane.Fabric, error) {
	targets, err := c.targets(cmd)
	if err != nil {
		return nil, err
	}
	return controlplane.Open(cmd.Context(), targets, controlplane.Options{ReadOnly: true, Timeout: c.timeout, Event: c.say(cmd)})
}

// reading runs do with sessions that only read, and with a printer.
func (c *ctl) reading(cmd *cobra.Command, do func(*printer, *controlplane.Fabric) error) error {
	p, err := c.printer(cmd)
	if err != nil {
		return err
	}
	f, err := c.forReading(cmd)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(p, f)
}

// forWriting opens sessions as the primary. If a switch has no primary, the
// session raises its election id as far as needed. If it has one, the session
// does so only with --take-over.
func (c *ctl) forWriting(cmd *cobra.Command) (*controlplane.Fabric, error) {
	targets, err := c.targets(cmd)
	if err != nil {
		return nil, err
	}
	return c.openForWriting(cmd, targets)
}

func (c *ctl) openForWriting(cmd *cobra.Command, targets []controlplane.Target) (*controlplane.Fabric, error) {
	options := controlplane.Options{Policy: controlplane.AdoptOrphans, Timeout: c.timeout, Event: func(e controlplane.Event) {
		switch e.Kind {
		case controlplane.Connected, controlplane.Primary, controlplane.Orphaned:
		default:
			c.say(cmd)(e)
		}
	}}
	if c.takeOver {
		options.Policy = controlplane.TakeOver
	}
	f, err := controlplane.Open(cmd.Context(), targets, options)
	var np *controlplane.NotPrimaryError
	if errors.As(err, &np) && np.CanTakeOver() {
		err = fmt.Errorf("%w (use --take-over for that)", err)
	}
	return f, err
}

// writeEach runs do for all switches at the same time, as their primary.
func (c *ctl) writeEach(cmd *cobra.Command, do func(context.Context, *controlplane.Session) error) error {
	f, err := c.forWriting(cmd)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Each(cmd.Context(), do)
}

// listen is writeEach for verbs that print what switches send. It ends at
// Ctrl-C or, unless times is 0, after that number of records. It calls ready
// once it is connected to all switches.
func (c *ctl) listen(cmd *cobra.Command, times int, ready func() error, do func(context.Context, *printer, *controlplane.Session) error) error {
	p, err := c.printer(cmd)
	if err != nil {
		return err
	}
	f, err := c.forWriting(cmd)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := ready(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	p.stopAfter(times, cancel)
	err = f.Each(ctx, func(ctx context.Context, s *controlplane.Session) error { return do(ctx, p, s) })
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// one returns the only switch of a fabric, or a usage error if there are more.
func (c *ctl) one(cmd *cobra.Command, f *controlplane.Fabric) (*controlplane.Session, error) {
	if n := len(f.Sessions()); n != 1 {
		return nil, usageErrorf(cmd, "this verb works on one switch, not %d; choose one with --switch NAME", n)
	}
	return f.Sessions()[0], nil
}

// namer returns a function that names the coordinates of a switch's register
// cells after the nodes of the topology. It is nil without a topology.
func (c *ctl) namer(name string) register.Namer {
	if c.net == nil {
		return nil
	}
	n := c.net.NodeByName(name)
	return func(dim string, i int) string {
		switch dim {
		case "port":
			if n != nil && i >= 1 && i <= len(n.Ports) {
				return fmt.Sprintf("%d (to %s)", i, c.net.Nodes[n.Ports[i-1].Peer].Name)
			}
		case "path":
			if via := uplink(c.net, n, i); via != "" {
				return fmt.Sprintf("%d (via %s)", i, via)
			}
		case "leaf":
			for j := range c.net.Nodes {
				if x := &c.net.Nodes[j]; x.Kind == topo.Switch && x.Leaf == i {
					return x.Name
				}
			}
		}
		return ""
	}
}

// uplink returns the first switch on path i of a leaf: paths are numbered like
// the leaf's ports to other switches. It returns "" for other switches, where
// the numbers of paths depend on the destination.
func uplink(t *topo.Topology, n *topo.Node, i int) string {
	if n == nil || n.Leaf < 0 {
		return ""
	}
	for _, p := range n.Ports {
		if peer := &t.Nodes[p.Peer]; peer.Kind == topo.Switch {
			if i == 0 {
				return peer.Name
			}
			i--
		}
	}
	return ""
}

// complete offers for shell completion the names that list finds on the first
// switch, except those that are on the command line already. It offers none if
// no switch answers.
func (c *ctl) complete(list func(context.Context, *controlplane.Session) ([]string, error)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		targets, err := c.targets(cmd)
		if err != nil {
			return nil, none
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		s, err := controlplane.Connect(ctx, targets[0], controlplane.Options{ReadOnly: true, Timeout: time.Second, Event: func(controlplane.Event) {}})
		if err != nil {
			return nil, none
		}
		defer s.Close()
		names, err := list(ctx, s)
		if err != nil {
			return nil, none
		}
		return slices.DeleteFunc(names, func(n string) bool { return slices.Contains(args, n) }), none
	}
}

// completeOne is complete for verbs of which only the first argument is a name.
func (c *ctl) completeOne(list func(context.Context, *controlplane.Session) ([]string, error)) cobra.CompletionFunc {
	many := c.complete(list)
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return many(cmd, args, typed)
	}
}

// names returns a function that lists the names that pick finds in a switch's
// program.
func names(pick func(*schema.Schema) []string) func(context.Context, *controlplane.Session) ([]string, error) {
	return func(ctx context.Context, s *controlplane.Session) ([]string, error) {
		sch, err := s.LoadSchema(ctx)
		if err != nil {
			return nil, err
		}
		return pick(sch), nil
	}
}

func registerNames(sch *schema.Schema) (list []string) {
	for _, r := range sch.Registers {
		list = append(list, r.Name)
	}
	return list
}

func counterNames(sch *schema.Schema) (list []string) {
	for _, x := range sch.Counters {
		list = append(list, x.Name)
	}
	for _, t := range sch.Tables {
		if t.DirectCounter {
			list = append(list, t.Name)
		}
	}
	return list
}

func meterNames(sch *schema.Schema) (list []string) {
	for _, m := range sch.Meters {
		list = append(list, m.Name)
	}
	return list
}

func tableNames(sch *schema.Schema) (list []string) {
	for _, t := range sch.Tables {
		list = append(list, t.Name)
	}
	return list
}

func digestNames(sch *schema.Schema) (list []string) {
	for _, d := range sch.Digests {
		list = append(list, d.Name)
	}
	return list
}

// entryStarts are the first words that a line of an entry may have.
func entryStarts(sch *schema.Schema) (list []string) {
	for _, t := range sch.Tables {
		if !t.Const {
			list = append(list, t.Name)
		}
	}
	return append(list, "multicast", "clone", "member", "group", "meter", "digest")
}

// completeSwitches offers the names of the switches on the command line and in
// the topology.
func (c *ctl) completeSwitches(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	c.only = nil
	targets, _ := c.targets(cmd)
	var list []string
	for _, t := range targets {
		list = append(list, t.Name)
	}
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completeProfiles offers the built-in profiles, and files.
func completeProfiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return gen.Names(), cobra.ShellCompDirectiveDefault
}
