// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/pcap"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/real/netns"

	"github.com/spf13/cobra"
)

func newDeployCaptureCmd() *cobra.Command {
	var file, host string
	var times int
	var length time.Duration
	cmd := &cobra.Command{
		Use:   "capture INTERFACE",
		Short: "Print or save the frames on a link, as root",
		Long: `Print the frames on an interface of a switch, or of a host with --host, until
Ctrl-C; or write them to a pcap file, which Wireshark dissects as RoCEv2
and PFC.`,
		Example: `  sudo pauseless deploy capture l1-eth3
  sudo pauseless deploy capture l1-eth3 --write l1-s1.pcap --for 10s
  sudo pauseless deploy capture eth0 --host fabric-h1`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf(cmd, "expected one interface, found %d arguments", len(args))
			}
			s, err := netns.Open(host, args[0])
			if err != nil {
				return err
			}
			defer s.Close()
			ctx := cmd.Context()
			if length > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, length)
				defer cancel()
			}
			out := cmd.OutOrStdout()
			write := func(c netns.Captured) error {
				direction := "in "
				if c.Out {
					direction = "out"
				}
				_, err := fmt.Fprintf(out, "%s %s %s\n", c.Time.Format("15:04:05.000000"), direction, frameText(c.Data))
				return err
			}
			if file != "" {
				f, err := outfile.Stream(file)
				if err != nil {
					return err
				}
				defer f.Close()
				if write, err = pcapWriter(f); err != nil {
					return err
				}
			}
			n := 0
			var failed error
			err = s.Each(ctx, func(c netns.Captured) bool {
				failed = write(c)
				n++
				return failed == nil && n != times
			})
			if file != "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "%d frames in %s\n", n, file)
			}
			return errors.Join(err, failed)
		},
	}
	cmd.Flags().StringVarP(&file, "write", "w", "", "`FILE`: pcap file to write")
	cmd.Flags().StringVar(&host, "host", "", "`NAMESPACE`: capture in the namespace of a host")
	cmd.Flags().IntVar(&times, "times", 0, "stop after this many frames (default: never)")
	cmd.Flags().DurationVar(&length, "for", 0, "stop after this time, as in 10s (default: never)")
	cmd.MarkFlagFilename("write")
	return cmd
}

func pcapWriter(w io.Writer) (func(netns.Captured) error, error) {
	p, err := pcap.NewWriter(w)
	return func(c netns.Captured) error { return p.Write(c.Time, c.Data, 0) }, err
}

// frameText describes a frame in a line: its kind, source and destination.
func frameText(b []byte) string {
	if p := packet.AsPFC(b); p != nil {
		return "PFC " + pauseText(p)
	}
	eth := packet.AsEthernet(b)
	if eth == nil {
		return fmt.Sprintf("%d bytes", len(b))
	}
	ip := packet.FindIPv4(b)
	if ip == nil {
		return fmt.Sprintf("%v > %v type %#04x, %d bytes", eth.Src(), eth.Dst(), eth.EtherType(), len(b))
	}
	text := fmt.Sprintf("%v > %v dscp %d ecn %d, %d bytes", ip.Src(), ip.Dst(), ip.DSCP(), ip.ECN(), len(b))
	if ip.Protocol() != packet.ProtoUDP {
		return fmt.Sprintf("protocol %d %s", ip.Protocol(), text)
	}
	udp := packet.AsUDP(ip.Payload())
	if udp == nil || udp.DstPort() != packet.PortRoCEv2 {
		return "UDP " + text
	}
	bth := packet.AsBTH(udp.Payload())
	if bth == nil {
		return "UDP " + text
	}
	return fmt.Sprintf("RoCEv2 %v qp %d psn %d %s", bth.Opcode(), bth.DestQP(), bth.PSN(), text)
}

func pauseText(p packet.PFC) string {
	text := ""
	for class := range packet.Classes {
		if p.Enabled()&(1<<class) == 0 {
			continue
		}
		if text != "" {
			text += ", "
		}
		if q := p.Quanta(class); q > 0 {
			text += fmt.Sprintf("PAUSE class %d for %d quanta", class, q)
		} else {
			text += fmt.Sprintf("RESUME class %d", class)
		}
	}
	return text
}

func newDeployReplayCmd() *cobra.Command {
	var pps float64
	var slow float64
	var loops int
	cmd := &cobra.Command{
		Use:   "replay HOST-NAMESPACE PCAP",
		Short: "Send the frames of a pcap file from a host, as root",
		Long: `Send the frames of a pcap file out of a host's interface: at a steady
rate with --pps, or with the gaps that they have in the file, --slow times longer.
Frames are not changed: they need addresses of the network's hosts.`,
		Example: `  sudo pauseless deploy replay fabric-h1 trace.pcap --pps 1000
  sudo pauseless deploy replay fabric-h1 trace.pcap --slow 5000`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageErrorf(cmd, "expected a host's namespace and a pcap file, found %d arguments", len(args))
			}
			if pps > 0 && pps < 1e-6 || slow <= 0 || slow > topo.MaxScale || loops < 1 {
				return usageErrorf(cmd, "--pps must be 0 or at least 1e-6, --slow above 0 and at most %d, --loops at least 1", int64(topo.MaxScale))
			}
			frames, times, err := readPcap(args[1])
			if err != nil {
				return err
			}
			s, err := netns.Open(args[0], "eth0")
			if err != nil {
				return err
			}
			defer s.Close()
			sent, err := replay(cmd.Context(), s, frames, times, pps, slow, loops)
			fmt.Fprintf(cmd.OutOrStdout(), "%d frames sent\n", sent)
			return err
		},
	}
	cmd.Flags().Float64Var(&pps, "pps", 0, "frames per second (default: the gaps of the file)")
	cmd.Flags().Float64Var(&slow, "slow", 1, "factor by which gaps are longer than in the file")
	cmd.Flags().IntVar(&loops, "loops", 1, "how often to send the file")
	return cmd
}

// readPcap returns the frames of a file, and the time of each after the first.
func readPcap(name string) (frames [][]byte, after []time.Duration, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	r, err := pcap.NewReader(infile.Limit(f, name, infile.Data))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", name, err)
	}
	var first time.Time
	for {
		frame, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: frame %d: %w", name, len(frames)+1, err)
		}
		if len(frames) == 0 {
			first = frame.At
		}
		frames = append(frames, bytes.Clone(frame.Data))
		after = append(after, max(0, frame.At.Sub(first)))
	}
	if len(frames) == 0 {
		return nil, nil, fmt.Errorf("%s has no frames", name)
	}
	return frames, after, nil
}

// replay sends the frames of a capture through a socket, loops times, and returns how many
// it sent. Frame i is sent at the i-th time after the beginning of its loop, times slow; if
// pps is not 0, so many frames a second are sent instead.
func replay(ctx context.Context, s *netns.Socket, frames [][]byte, after []time.Duration, pps, slow float64, loops int) (sent int, err error) {
	for range loops {
		begun := time.Now()
		for i, f := range frames {
			due := float64(after[i]) * slow
			if pps > 0 {
				due = float64(i) / pps * float64(time.Second)
			}
			select {
			case <-ctx.Done():
				return sent, nil
			case <-time.After(time.Until(begun.Add(time.Duration(min(due, float64(longest)))))):
			}
			if err := s.Send(f); err != nil {
				return sent, err
			}
			sent++
		}
	}
	return sent, nil
}
