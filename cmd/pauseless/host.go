// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/netns"
	"github.com/pauseless/pauseless/testbed/real/wire"
	"github.com/pauseless/pauseless/testbed/workload"
)

// hostFlags are the flags of `host`.
type hostFlags struct {
	network                      string
	topology, name, iface, flows string
	algorithm, recovery          string
	mtu                          int
	scale, epoch                 int64
	limit, linger                time.Duration
	output                       string
}

func newHostCmd() *cobra.Command {
	f := hostFlags{}
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Run a RoCEv2 host on a real interface",
		Long: `Run one host of a topology on an interface of this machine, in real time, with
the same packets, acknowledgements and congestion control as in the simulated
fabric. Any switch may be at the other end. All hosts get the same flow file; each
executes its own part of it, as sender and as receiver.

With --scale the clock runs slower, so that software switches can replace a
network with 40 Gb/s links: rates, delays and times are given as in the topology,
and scaled down on the interface. The flow file is CSV. Its first line names the
columns: src, dst, bytes, start and, optionally, class, port and coflow.

With --network, which names a network of deploy netns, the topology, the scale and
the interface are known, and the host runs in its namespace. As root.

Give all hosts the same --epoch, a few seconds ahead. Until a host runs, the
kernel of its machine answers RoCEv2 packets with ICMP port unreachable, except
in the namespaces of deploy netns.`,
		Example: `  pauseless host --network demo --name h1 --flows flows.csv
  ip netns exec demo-h1 pauseless host --topology fabric.yaml --name h1 --interface eth0 --scale 5000 --flows flows.csv --epoch $(( $(date +%s%N) + 3000000000 ))`,
		Args: noArgs,
	}
	fl := cmd.Flags()
	fl.StringVar(&f.network, "network", "", "`NAME`: network of deploy netns, instead of --topology, --interface and --scale")
	fl.StringVar(&f.topology, "topology", "", "`FILE`: topology (required without --network)")
	fl.StringVar(&f.name, "name", "", "`NAME`: host of the topology (required)")
	fl.StringVar(&f.iface, "interface", "", "`INTERFACE`: interface to use (required without --network)")
	fl.StringVar(&f.flows, "flows", "", "`FILE`: flows, the same file for all hosts (required)")
	fl.StringVar(&f.algorithm, "cc", "dcqcn", "`NAME`: congestion control: "+strings.Join(cc.Algorithms(), ", "))
	fl.StringVar(&f.recovery, "recovery", string(roce.GoBackN), "`NAME`: handling of lost and early packets: go-back-n, slow-restart, irn, out-of-order or tcp")
	fl.IntVar(&f.mtu, "mtu", 0, "payload bytes of a full packet, the same for all hosts (default: what the interface's MTU leaves)")
	fl.Int64Var(&f.scale, "scale", 1, "factor by which the interface is slower than the topology")
	fl.Int64Var(&f.epoch, "epoch", 0, "real time at which flows' time 0 is, in Unix nanoseconds, the same for all hosts (default: now)")
	fl.DurationVar(&f.limit, "for", 0, "stop after this real time even if flows are left (default: never)")
	fl.DurationVar(&f.linger, "linger", 0, "after the last flow, answer retransmissions for this real time (default for a receiver: the retransmission timeout plus one second)")
	fl.StringVarP(&f.output, "output", "o", "table", "`FORM`: what to print: table or json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.run(cmd) }
	return cmd
}

func (f *hostFlags) run(cmd *cobra.Command) error {
	open := func() (wire.Port, error) { return wire.Open(f.iface) }
	if f.network != "" {
		for _, flag := range []string{"topology", "interface", "scale"} {
			if cmd.Flag(flag).Changed {
				return usageErrorf(cmd, "--network already sets --%s: leave one of the two out", flag)
			}
		}
		n, err := readDeployed(f.network)
		if err != nil {
			return err
		}
		f.topology, f.scale, f.iface = n.Topology, max(n.Scale, 1), local.HostInterface
		open = func() (port wire.Port, err error) {
			err = netns.Within(netns.Namespace(f.network, f.name), func() error {
				port, err = wire.Open(f.iface)
				return err
			})
			return port, err
		}
	}
	for _, flag := range []string{"topology", "name", "interface", "flows"} {
		if cmd.Flag(flag).Value.String() == "" {
			if flag == "topology" {
				return usageErrorf(cmd, "--topology is missing, or --network")
			}
			return usageErrorf(cmd, "--%s is missing", flag)
		}
	}
	if f.output != "table" && f.output != "json" {
		return usageErrorf(cmd, "--output is %q, expected table or json", f.output)
	}
	cfg, err := f.config()
	if err != nil {
		return err
	}
	if away := time.Until(cfg.Epoch); f.epoch > 0 && away.Abs() > time.Minute {
		when := "is %v away"
		if away < 0 {
			when = "was %v ago"
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "pauseless: --epoch "+when+": if that is not intended, check the clocks of both machines\n", away.Abs().Round(time.Second))
	}
	port, err := open()
	if err != nil {
		return err
	}
	defer port.Close()
	ctx := cmd.Context()
	if f.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.limit)
		defer cancel()
	}
	r, err := wire.Run(ctx, *cfg, port)
	if r != nil {
		write := r.WriteTable
		if f.output == "json" {
			write = r.WriteJSON
		}
		if werr := write(cmd.OutOrStdout()); err == nil {
			err = werr
		}
		if err == nil && r.Partial {
			err = fmt.Errorf("%s: stopped before all flows were done", f.name)
		}
	}
	return err
}

// config reads the files that the flags name.
func (f *hostFlags) config() (*wire.Config, error) {
	t, err := networkOf(f.topology)
	if err != nil {
		return nil, err
	}
	n := t.NodeByName(f.name)
	if n == nil || n.Kind != topo.Host {
		var names []string
		for _, id := range t.Hosts() {
			names = append(names, t.Nodes[id].Name)
		}
		return nil, fmt.Errorf("--name: %s has no host %q%s", f.topology, f.name, diag.OneOf(f.name, names))
	}
	flows, err := workload.ReadTrace(f.flows, t)
	if err != nil {
		return nil, err
	}
	cfg := &wire.Config{
		Topology: t, Host: n.ID, Hosts: roce.Defaults(), Flows: flows, Scale: f.scale, Epoch: time.Now(), Linger: f.linger,
	}
	cfg.Hosts.MTU = cmp.Or(f.mtu, roce.Defaults().MTU) // checked below
	cfg.Hosts.CC.Algorithm = f.algorithm
	cfg.Hosts.Recovery = roce.Recovery(f.recovery)
	if f.epoch > 0 {
		if away := time.Until(time.Unix(0, f.epoch)); away.Abs() > longest {
			return nil, fmt.Errorf("--epoch is %v away: give a time within %v of now, in Unix nanoseconds", away.Abs().Round(time.Hour), longest)
		}
		// From here on, times are those of the monotonic clock.
		cfg.Epoch = time.Now().Add(time.Until(time.Unix(0, f.epoch)))
	}
	if path, err := cfg.Hosts.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	cfg.Hosts.MTU = f.mtu
	return cfg, nil
}
