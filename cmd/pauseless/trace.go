// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/trace"
	"github.com/spf13/cobra"
)

func newTraceCmd() *cobra.Command {
	var name, flow, arm, output, replay string
	var seed uint64
	cmd := &cobra.Command{
		Use:   "trace SCENARIO.yaml",
		Short: "Follow one packet through the network: why was it dropped?",
		Long: `Run a case of a scenario and print what happened to one packet: the parser states
and headers, the keys of tables, the entries that it hit or, if it missed, the nearest
ones, actions with their values, the lines of P4, queues and pauses, copies, the headers
that changed, and where it ended. Notes point out what looks like a mistake.

The packet is one of a series of packets, or of a flow by its number. The program runs
step by step then, with the same results.`,
		Example: `  pauseless trace mine.yaml
  pauseless trace mine.yaml --packet greeting:3
  pauseless trace mine.yaml --flow 1:20 --arm drill --seed 2
  pauseless trace mine.yaml -o json
  pauseless trace mine.yaml --record packet.rec && pauseless live packet.rec`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf(cmd, "name one scenario file")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := wanted(cmd, name, flow)
			if err != nil {
				return err
			}
			if err := checkFiles(args, replay); err != nil {
				return err
			}
			if output != "text" && output != "json" {
				return usageErrorf(cmd, "--output is %q, expected text or json", output)
			}
			s, err := scenario.Read(args[0])
			if err != nil {
				return err
			}
			if w.Flow == 0 && w.Series == "" && len(s.Packets) == 0 {
				w.Flow = 1
			}
			c := s.Cases()[0]
			if arm != "" {
				i := slices.IndexFunc(s.Cases(), func(c *scenario.Case) bool { return c.Arm == arm || c.String() == arm })
				if i < 0 {
					var names, settings []string
					for _, c := range s.Cases() {
						names, settings = append(names, c.Arm), append(settings, c.String())
					}
					like := diag.DidYouMean(arm, append(names, settings...))
					if like == "" {
						like = "; there are: " + strings.Join(settings, "; ")
					}
					return usageErrorf(cmd, "--arm: no variant is called %q%s", arm, like)
				}
				c = s.Cases()[i]
			}
			if seed == 0 {
				seed = s.Seeds[0]
			}
			prog, err := c.Build(new(program.Cache))
			if err != nil {
				return err
			}
			warn(cmd, prog)
			t := trace.New(w)
			o := scenario.Options{Trace: t, Event: func(controlplane.Event) {}}
			var rec recording
			if replay != "" {
				o.Follow = rec.follow
			}
			_, err = c.Run(cmd.Context(), prog, seed, o)
			err = errors.Join(err, rec.traced(replay, t))
			show := t.Print
			if output == "json" {
				show = t.WriteJSON
			}
			return errors.Join(show(cmd.OutOrStdout()), err)
		},
	}
	f := cmd.Flags()
	f.StringVar(&name, "packet", "", "`NAME`: packet of a series, NAME or NAME:N with its number from 1 (default: the first one of the first series)")
	f.StringVar(&flow, "flow", "", "`N`: packet of flow N, or N:K for its K-th packet")
	f.StringVarP(&output, "output", "o", "text", "`FORM`: what to print: text, or json: one object a step, with its time in ns, node, branch and text")
	f.StringVar(&replay, "record", "", "`FILE`: write a recording for pauseless live, whose map shows the packet's steps where you click")
	f.StringVar(&arm, "arm", "", "`NAME`: variant, or variant and setting as results name it (default: the first)")
	f.Uint64Var(&seed, "seed", 0, "`N`: seed (default: the first of the scenario)")
	return cmd
}

// wanted returns the packet that flags name.
func wanted(cmd *cobra.Command, name, flow string) (w trace.Want, err error) {
	w.Packet = 1
	text, flag := name, "--packet"
	if flow != "" {
		text, flag = flow, "--flow"
		if name != "" {
			return w, usageErrorf(cmd, "give --packet or --flow, not both")
		}
	}
	first, number, ok := strings.Cut(text, ":")
	if ok {
		if w.Packet, err = strconv.Atoi(number); err != nil || w.Packet < 1 {
			return w, usageErrorf(cmd, "%s: %q is not the number of a packet", flag, number)
		}
	}
	if flow == "" {
		w.Series = first
		return w, nil
	}
	if w.Flow, err = strconv.Atoi(first); err != nil || w.Flow < 1 {
		return w, usageErrorf(cmd, "--flow: %q is not the number of a flow", first)
	}
	return w, nil
}
