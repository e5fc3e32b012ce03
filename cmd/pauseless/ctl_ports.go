// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/bmv2"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/record"
	"github.com/spf13/cobra"
)

func newCtlPortsCmd(c *ctl) *cobra.Command {
	var metrics []string
	cmd := &cobra.Command{
		Use:   "ports",
		Short: "List ports: where they lead, and whether they are up",
		Long: `List the switches' ports. P4Runtime does not describe ports: their peers
and rates come from the topology file, their state from the metrics of pauseless
switch --http, or with their interfaces from BMv2's Thrift server. Give --topology,
--metrics or --thrift.`,
		Example: `  pauseless ctl --topology fabric.yaml ports
  pauseless ctl --addr :9559 ports --metrics :9880     # pauseless switch --http :9880
  pauseless ctl --addr :9559 --thrift :9090 ports      # BMv2`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := c.printer(cmd)
			if err != nil {
				return err
			}
			targets, err := c.targets(cmd)
			if err != nil {
				return err
			}
			pages, err := placeMetrics(cmd, metrics, targets)
			if err != nil {
				return err
			}
			list := p.table("", both("switch"), both("port"), both("to"), both("rate"), both("interface"), both("state"))
			for _, t := range targets {
				if err := c.addPorts(cmd.Context(), list, t, pages[t.Name]); err != nil {
					return fmt.Errorf("%s: %w", t.Name, err)
				}
			}
			list.end()
			return nil
		},
	}
	cmd.Flags().StringArrayVar(&metrics, "metrics", nil, "`[NAME=]HOST:PORT`: pauseless switch --http; without names in the order of the switches (repeatable)")
	return cmd
}

// placeMetrics returns the addresses of metrics by the switches' names.
func placeMetrics(cmd *cobra.Command, given []string, targets []controlplane.Target) (map[string]string, error) {
	if len(given) > len(targets) {
		return nil, usageErrorf(cmd, "%d --metrics addresses for %d switches; give at most one for each switch", len(given), len(targets))
	}
	pages := make(map[string]string)
	for i, text := range given {
		name, addr, named := strings.Cut(text, "=")
		if !named {
			name, addr = targets[i].Name, text
		}
		if !slices.ContainsFunc(targets, func(t controlplane.Target) bool { return t.Name == name }) {
			return nil, usageErrorf(cmd, "--metrics: no switch is called %q%s", name, likeTarget(name, targets))
		}
		pages[name] = addr
	}
	return pages, nil
}

// addPorts adds the ports of a switch to a list. The address of its metrics may be
// empty.
func (c *ctl) addPorts(ctx context.Context, list *records, t controlplane.Target, metrics string) error {
	live := make(map[int]bmv2.Port)
	last := 0
	if t.Thrift != "" {
		client, err := bmv2.Dial(t.Thrift, bmv2.Timeout)
		if err != nil {
			return err
		}
		defer client.Close()
		ports, err := client.Ports(ctx)
		if err != nil {
			return err
		}
		for _, p := range ports {
			live[p.Number] = p
			last = max(last, p.Number)
		}
	}
	if metrics != "" {
		up, err := (&record.Metrics{Addr: metrics, Timeout: c.timeout}).Up(ctx)
		if err != nil {
			return err
		}
		for n, up := range up {
			live[n] = bmv2.Port{Number: n, Up: up}
			last = max(last, n)
		}
	}
	var wired []topo.Port // port 1 and so on, by the topology
	if c.net != nil {
		if n := c.net.NodeByName(t.Name); n != nil {
			wired = n.Ports
			last = max(last, len(wired))
		}
	} else if t.Thrift == "" && metrics == "" {
		return fmt.Errorf("P4Runtime does not describe ports: give --topology FILE, --metrics HOST:PORT of pauseless switch --http, or BMv2's --thrift HOST:PORT")
	}
	for i := 0; i <= last; i++ {
		to, rate, state := "", "", ""
		known := i >= 1 && i <= len(wired)
		if known {
			p := wired[i-1]
			to, rate = fmt.Sprintf("%s port %d", c.net.Nodes[p.Peer].Name, p.PeerPort), c.net.Links[p.Link].Rate.String()
		}
		p, ok := live[i]
		switch {
		case ok && p.Up:
			state = "up"
		case ok:
			state = "down"
		}
		if known || ok {
			if err := list.add(t.Name, strconv.Itoa(i), to, rate, p.Interface, state); err != nil {
				return err
			}
		}
	}
	return nil
}

func newCtlQueuesCmd(c *ctl) *cobra.Command {
	var port, priority, depth int
	var rate int64
	cmd := &cobra.Command{
		Use:   "queues [--port N] [--priority N] --rate PPS | --depth PACKETS",
		Short: "Set the rates and depths of BMv2's egress queues",
		Long: `Set the rate of BMv2's egress queues in packets per second, and their
depth in packets: of one port and priority, of all priorities of a port, or of
all ports. BMv2 drops packets that do not fit without counting them.`,
		Example: `  pauseless ctl --addr :9559 --thrift :9090 queues --rate 1000 --depth 10000
  pauseless ctl --addr :9559 --thrift :9090 queues --port 3 --rate 2000`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			setRate, setDepth := cmd.Flags().Changed("rate"), cmd.Flags().Changed("depth")
			if !setRate && !setDepth {
				return usageErrorf(cmd, "give --rate or --depth")
			}
			if priority > 7 || priority != bmv2.All && port == bmv2.All {
				return usageErrorf(cmd, "the priorities of a port are 0 to 7")
			}
			targets, err := c.targets(cmd)
			if err != nil {
				return err
			}
			for _, t := range targets {
				if t.Thrift == "" {
					return fmt.Errorf("%s: P4Runtime has no queues; BMv2's Thrift server has: give --thrift HOST:PORT", t.Name)
				}
				if err := setQueues(cmd, t.Thrift, bmv2.Queue{Port: port, Priority: priority}, setRate, rate, setDepth, depth); err != nil {
					return fmt.Errorf("%s: %w", t.Name, err)
				}
			}
			return nil
		},
	}
	cmd.Flags().IntVar(&port, "port", bmv2.All, "`NUMBER`: port; -1 is all")
	cmd.Flags().IntVar(&priority, "priority", bmv2.All, "queue of the port, from 0 to 7; -1 is all")
	cmd.Flags().Int64Var(&rate, "rate", 0, "rate of a queue in packets per second; 0 is as fast as possible (default: unchanged)")
	cmd.Flags().IntVar(&depth, "depth", 0, "depth of a queue in packets (default: unchanged)")
	return cmd
}

func setQueues(cmd *cobra.Command, addr string, q bmv2.Queue, setRate bool, rate int64, setDepth bool, depth int) error {
	client, err := bmv2.Dial(addr, bmv2.Timeout)
	if err != nil {
		return err
	}
	defer client.Close()
	if setRate {
		if err := client.SetQueueRate(cmd.Context(), q, rate); err != nil {
			return err
		}
	}
	if setDepth {
		return client.SetQueueDepth(cmd.Context(), q, depth)
	}
	return nil
}
