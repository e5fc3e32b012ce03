// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/real/live"
	"github.com/pauseless/pauseless/testbed/real/netns"
	"github.com/pauseless/pauseless/testbed/real/relay"
)

// newDeployRelayCmd is the program that the other verbs and Mininet's scripts start.
func newDeployRelayCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "relay FILE",
		Short: "Carry frames between interfaces with a delay, until it is stopped",
		Long: `Carry frames between pairs of interfaces; other commands and Mininet's scripts
start this. The frames pass between pairs of interfaces with the delay, rate and loss that the JSON file gives,
and takes faults at its control socket.`,
		Example: "  sudo pauseless deploy relay /run/pauseless/fabric/relay.json",
		Hidden:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf(cmd, "expected one file, found %d arguments", len(args))
			}
			c, err := relay.ReadConfig(args[0])
			if err != nil {
				return err
			}
			return relay.Run(cmd.Context(), c, func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) })
		},
	}
}

func newDeployFaultCmd() *cobra.Command {
	var down, none bool
	var loss float64
	var pairs []string
	var length time.Duration
	cmd := &cobra.Command{
		Use:   "fault NETWORK [LINK|SWITCH]",
		Short: "Make a link or switch of a network lose frames, as root",
		Long: `Make a link (l1-s1, or l1:5 for the one on a port) lose frames, in both
directions: all of them with --down, or some with --loss. A switch loses the frames
that it receives, without counting them; with --pair only those from one host to
another, which is a black hole. It replaces earlier faults; --none ends them, and
prints what the links have carried.`,
		Example: `  sudo pauseless deploy fault fabric l1-s1 --down --for 10s
  sudo pauseless deploy fault fabric s1 --loss 0.01
  sudo pauseless deploy fault fabric s1 --loss 1 --pair h1-h5
  sudo pauseless deploy fault fabric --none`,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case none && len(args) == 1 && !down && loss == 0:
			case !none && len(args) == 2 && (down || loss > 0):
			default:
				return usageErrorf(cmd, "expected a network and a link or switch with --down or --loss, or a network and --none")
			}
			n, err := readDeployed(args[0])
			if err != nil {
				return err
			}
			q := relay.Request{Faults: []relay.Fault{}}
			if !none {
				t, err := networkOf(n.Topology)
				if err != nil {
					return err
				}
				ft := fabric.Fault{Down: down, Loss: loss, Pairs: pairs}
				if node := t.NodeByName(args[1]); node != nil && node.Kind == topo.Switch {
					ft.Node = args[1]
				} else {
					ft.Link = args[1]
				}
				if length > 0 {
					ft.Until = vtime.Time(cmp.Or(length.Nanoseconds()/max(n.Scale, 1), 1)) * vtime.Nanosecond
				}
				if q.Faults, err = live.Faults(t, []fabric.Fault{ft}, time.Now(), max(n.Scale, 1)); err != nil {
					return usageErrorf(cmd, "%v", err)
				}
			}
			s, err := relay.Ask(netns.Control(args[0]), q)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d frames carried, %d lost by links and faults, %d missed; at most %v late (99%% at most %v)\n",
				s.Frames, s.Lost, s.Missed, s.LateMax.Round(time.Microsecond), s.LateP99.Round(time.Microsecond))
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&down, "down", false, "the link carries no frames")
	f.Float64Var(&loss, "loss", 0, "`PROBABILITY`: probability that a frame is lost, from 0 to 1 (default 0)")
	f.StringArrayVar(&pairs, "pair", nil, "`SRC-DST`: only frames from one host to another (repeatable)")
	f.DurationVar(&length, "for", 0, "how long it lasts (default: until it is replaced)")
	f.BoolVar(&none, "none", false, "end all faults")
	return cmd
}
