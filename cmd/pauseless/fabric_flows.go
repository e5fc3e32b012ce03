// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/workload"
)

func newFabricFlowsCmd() *cobra.Command {
	var hosts, out string
	var idle time.Duration
	cmd := &cobra.Command{
		Use:   "flows CAPTURE.pcap",
		Short: "Write the RoCEv2 flows of a capture as a CSV file, for a scenario to repeat",
		Long: `Write the RoCEv2 flows of a capture (libpcap's format; the first 64 bytes of each frame
are enough) as a CSV file, which a scenario repeats with "traffic: [trace: {file: FILE}]".
Capture where each data packet passes once, for instance at the leaves' host ports.
What one queue pair sends to another is a flow. Packets that are sent again count again.`,
		Example: `  pauseless fabric flows sample.pcap >flows.csv
  pauseless fabric flows sample.pcap --hosts hosts.txt --idle 1ms --out flows.csv`,
		Args: oneArg("the name of a capture"),
		RunE: func(cmd *cobra.Command, args []string) error {
			var names map[netip.Addr]string
			if hosts != "" {
				text, err := infile.Read(hosts)
				if err != nil {
					return err
				}
				if names, err = hostNames(hosts, text); err != nil {
					return err
				}
			}
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer f.Close()
			c, err := workload.ReadCapture(bufio.NewReader(infile.Limit(f, args[0], infile.Data)), vtime.Time(idle.Nanoseconds())*vtime.Nanosecond)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if len(c.Flows) == 0 {
				return fmt.Errorf("%s: none of its %d frames is a RoCEv2 packet with data (IPv4, UDP port 4791)", args[0], c.Others)
			}
			var text bytes.Buffer
			if err := c.WriteCSV(&text, names); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "%d flows of %d data packets; %d other frames\n", len(c.Flows), c.Packets, c.Others)
			if out != "" {
				return outfile.Write(out, text.Bytes(), 0o666)
			}
			_, err = cmd.OutOrStdout().Write(text.Bytes())
			return err
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&hosts, "hosts", "", "`FILE`: lines of an address and a host's name (default: h1, h2, … in the order of addresses)")
	fl.StringVar(&out, "out", "", "`FILE`: write the flows there")
	fl.DurationVar(&idle, "idle", 0, "a queue pair that sent nothing for this time begins another flow (default: never)")
	return cmd
}

// hostNames reads lines of an address and a name.
func hostNames(file string, text []byte) (map[netip.Addr]string, error) {
	names := make(map[netip.Addr]string)
	line := 0
	for l := range strings.Lines(string(text)) {
		line++
		words := strings.Fields(l)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		addr, err := netip.ParseAddr(words[0])
		if err != nil || len(words) != 2 || names[addr] != "" {
			return nil, fmt.Errorf("%s:%d: expected an address and the name of its host, as in %q, each address once", file, line, "10.0.0.1 h1")
		}
		names[addr] = words[1]
	}
	return names, nil
}
