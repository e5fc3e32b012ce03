// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/pcap"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/spf13/cobra"
)

func newCtlDigestsCmd(c *ctl) *cobra.Command {
	var times int
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "digests [NAME…]",
		Short: "Print the messages that the data plane sends",
		Long: `Enable the program's digests if they are disabled, and print each message as it
comes, until Ctrl-C. Switches send digests to the primary
controller only.`,
		Example: `  pauseless ctl --addr :9559 digests
  pauseless ctl --addr :9559 digests fault_t -o json`,
		ValidArgsFunction: c.complete(names(digestNames)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.listen(cmd, times, func() error { return nil }, func(ctx context.Context, p *printer, s *controlplane.Session) error {
				return printDigests(ctx, p, s, args, timeout)
			})
		},
	}
	cmd.Flags().IntVar(&times, "times", 0, "stop after this many messages (default: never)")
	cmd.Flags().DurationVar(&timeout, "delay", 10*time.Millisecond, "how long a switch may collect messages of a digest that is not enabled yet")
	return cmd
}

func printDigests(ctx context.Context, p *printer, s *controlplane.Session, names []string, delay time.Duration) error {
	sch, err := s.LoadSchema(ctx)
	if err != nil {
		return err
	}
	wanted := make(map[string]bool)
	for _, n := range names {
		d, err := sch.Digest(n)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name(), err)
		}
		wanted[d.Name] = true
	}
	if len(sch.Digests) == 0 {
		return fmt.Errorf("%s: the program sends no digests", s.Name())
	}
	in := s.Digests(ctx)
	for _, d := range sch.Digests {
		if len(wanted) == 0 || wanted[d.Name] {
			if err := switchOn(ctx, s, d, delay); err != nil {
				return err
			}
		}
	}
	list := p.stream(both("switch"), both("digest"), both("fields"))
	for d := range in {
		if len(wanted) > 0 && !wanted[d.Name] {
			continue
		}
		if err := list.add(s.Name(), d.Name, fieldsOf(d)); err != nil {
			return err
		}
	}
	return nil
}

func fieldsOf(d controlplane.Digest) (list pairs) {
	for _, f := range d.Fields {
		list = append(list, [2]string{f.Name, f.Text})
	}
	return list
}

// digestText prints a digest as "fault_t leaf=2 path=1".
func digestText(d controlplane.Digest) string {
	return strings.TrimRight(d.Name+" "+fieldsOf(d).String(), " ")
}

// switchOn enables a digest on a switch, unless it is enabled already.
func switchOn(ctx context.Context, s *controlplane.Session, d *schema.Digest, delay time.Duration) error {
	err := s.Write(ctx, []*p4v1.Update{controlplane.Insert(&p4v1.Entity{Entity: &p4v1.Entity_DigestEntry{DigestEntry: &p4v1.DigestEntry{
		DigestId: d.ID,
		Config:   &p4v1.DigestEntry_Config{MaxTimeoutNs: delay.Nanoseconds(), MaxListSize: 100, AckTimeoutNs: delay.Nanoseconds()},
	}}})})
	var we *controlplane.WriteError
	if errors.As(err, &we) && we.AllExist() {
		return nil
	}
	return err
}

func newCtlPacketOutCmd(c *ctl) *cobra.Command {
	var hexText, file string
	cmd := &cobra.Command{
		Use:   "packet-out [FIELD=VALUE…]",
		Short: "Send packets out of a switch",
		Long: `Let a switch send a packet as if the controller were one of its ports. FIELDs are
those of the program's packet_out header. The packet is --hex in hexadecimal, or
all packets of a --pcap file are sent; one of the two is required.`,
		Example: `  pauseless ctl --addr :9559 packet-out egress_port=3 --hex 'ffffffffffff 020000000001 0806'
  pauseless ctl --addr :9559 packet-out egress_port=3 --pcap frames.pcap`,
		RunE: func(cmd *cobra.Command, args []string) error {
			metadata := make(map[string]string)
			for _, a := range args {
				k, v, ok := strings.Cut(a, "=")
				if !ok {
					return usageErrorf(cmd, "%q is not FIELD=VALUE", a)
				}
				metadata[k] = v
			}
			packets, err := packetsFrom(cmd, hexText, file)
			if err != nil {
				return err
			}
			f, err := c.forWriting(cmd)
			if err != nil {
				return err
			}
			defer f.Close()
			s, err := c.one(cmd, f)
			if err != nil {
				return err
			}
			for _, p := range packets {
				if err := s.PacketOut(cmd.Context(), p, metadata); err != nil {
					return err
				}
			}
			// An answer to a call shows that the switch has read the stream up to
			// there. Only then may the stream be closed.
			_, err = s.Cookie(cmd.Context())
			return err
		},
	}
	cmd.Flags().StringVar(&hexText, "hex", "", "`DIGITS`: the packet in hexadecimal; blanks do not matter")
	cmd.Flags().StringVar(&file, "pcap", "", "`FILE`: send the packets of this pcap file")
	cmd.MarkFlagFilename("pcap")
	return cmd
}

func packetsFrom(cmd *cobra.Command, hexText, file string) ([][]byte, error) {
	switch {
	case (hexText == "") == (file == ""):
		return nil, usageErrorf(cmd, "give the packet with --hex or --pcap")
	case hexText != "":
		b, err := hex.DecodeString(strings.Join(strings.Fields(hexText), ""))
		if err != nil || len(b) == 0 {
			return nil, usageErrorf(cmd, "--hex: %q is not hexadecimal", hexText)
		}
		return [][]byte{b}, nil
	}
	frames, _, err := readPcap(file)
	return frames, err
}

func newCtlPacketInCmd(c *ctl) *cobra.Command {
	var times int
	var file string
	cmd := &cobra.Command{
		Use:   "packet-in",
		Short: "Print the packets that switches send to the controller",
		Long:  `Print packets as they come, until Ctrl-C, or write them to a pcap file. Switches send them to the primary controller only.`,
		Example: `  pauseless ctl --addr :9559 packet-in --times 10
  pauseless ctl --addr :9559 packet-in --pcap controller.pcap`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var out *os.File
			var writer *pcap.Writer
			open := func() (err error) {
				if file == "" {
					return nil
				}
				if out, err = outfile.Stream(file); err == nil {
					writer, err = pcap.NewWriter(out)
				}
				return err
			}
			defer func() {
				if out != nil {
					out.Close()
				}
			}()
			return c.listen(cmd, times, open, func(ctx context.Context, p *printer, s *controlplane.Session) error {
				return printPackets(ctx, p, s, writer)
			})
		},
	}
	cmd.Flags().IntVar(&times, "times", 0, "stop after this many packets (default: never)")
	cmd.Flags().StringVar(&file, "pcap", "", "`FILE`: write the packets to this pcap file instead")
	cmd.MarkFlagFilename("pcap")
	return cmd
}

// printPackets prints packets as they come, or writes them to a pcap file.
func printPackets(ctx context.Context, p *printer, s *controlplane.Session, file *pcap.Writer) error {
	sch, err := s.LoadSchema(ctx)
	if err != nil {
		return err
	}
	list := p.stream(both("switch"), both("metadata"), inTable("length"), inTable("packet"), inJSON("packet"))
	for in := range s.Packets(ctx) {
		metadata := make(map[string]string)
		for _, m := range sch.PacketIn {
			if v, ok := in.Metadata[m.Name]; ok {
				metadata[m.Name] = m.Print(v)
			}
		}
		n := len(in.Payload)
		if file != nil {
			err = p.write(func() error { return file.Write(time.Now(), in.Payload, 0) })
		} else {
			err = list.add(s.Name(), sortedPairs(metadata), fmt.Sprintf("%d bytes", n), hex.EncodeToString(in.Payload[:min(n, 64)]), hex.EncodeToString(in.Payload))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func newCtlAlertsCmd(c *ctl) *cobra.Command {
	var times int
	cmd := &cobra.Command{
		Use:   "alerts",
		Short: "Print lost connections, changes of the primary and digests, as they happen",
		Long: `Watch all switches and print, until Ctrl-C, lost and restored
connections, changes of the primary controller, and digests of the data plane. It
never becomes the primary, and does not affect other controllers. Switches
without roles, such as BMv2, send digests to the primary only: ctl apply --keep
prints those.`,
		Example: `  pauseless ctl --topology fabric.yaml alerts
  pauseless ctl --topology fabric.yaml alerts -o json >> alerts.jsonl`,
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
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			p.stopAfter(times, cancel)
			list := p.stream(inTable("time"), inTable("event"), inJSON("time"), inJSON("switch"), inJSON("alert"), inJSON("text"))
			print := func(e controlplane.Event) {
				now := time.Now()
				list.add(now.Format("15:04:05.000"), e.String(), now.UTC().Format(time.RFC3339Nano), e.Switch, e.Kind.String(), e.Text)
			}
			known := make(map[string]func(), len(targets))
			first := make(map[string]<-chan struct{}, len(targets))
			for _, t := range targets {
				ch := make(chan struct{})
				known[t.Name], first[t.Name] = sync.OnceFunc(func() { close(ch) }), ch
			}
			observe := func(e controlplane.Event) {
				print(e)
				if e.Kind == controlplane.Orphaned || e.Kind == controlplane.Backup {
					known[e.Switch]()
				}
			}
			f, err := controlplane.StartAll(targets, controlplane.Options{Policy: controlplane.Observe, Timeout: c.timeout, Event: observe})
			if err != nil {
				return err
			}
			defer f.Close()
			// A switch sends digests to the primary of every role. This session has
			// a role of its own, and the lowest election id in case the switch
			// ignores roles.
			for i := range targets {
				targets[i].Role = fmt.Sprintf("alerts-%d", os.Getpid())
				targets[i].ElectionID = controlplane.ElectionID{Low: 1}
			}
			listeners, err := controlplane.StartAll(targets, controlplane.Options{Timeout: c.timeout, Event: func(controlplane.Event) {}})
			if err != nil {
				return err
			}
			defer listeners.Close()
			var wg sync.WaitGroup
			for _, s := range listeners.Sessions() {
				wg.Go(func() {
					// Digests come after the connection and the primary, which the other
					// session reports.
					select {
					case <-first[s.Name()]:
					case <-time.After(c.timeout):
					case <-ctx.Done():
					}
					reportDigests(ctx, s, print)
				})
			}
			<-ctx.Done()
			wg.Wait()
			return nil
		},
	}
	cmd.Flags().IntVar(&times, "times", 0, "stop after this many alerts (default: never)")
	return cmd
}

// reportDigests calls report with the digests of a switch. It returns at once if
// the switch sends digests to the primary only.
func reportDigests(ctx context.Context, s *controlplane.Session, report func(controlplane.Event)) {
	if s.AwaitPrimary(ctx) != nil {
		return
	}
	for d := range s.Digests(ctx) {
		report(controlplane.Event{Switch: s.Name(), Kind: controlplane.Alert, Text: "digest " + digestText(d)})
	}
}
