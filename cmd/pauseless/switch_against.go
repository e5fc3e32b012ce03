// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/internal/bmv2"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/softswitch/bench"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/port"
	"github.com/pauseless/pauseless/softswitch/stf/simpleswitch"
)

const (
	againstPackets = 200_000
	againstSize    = 128 // bytes of a packet
	pcapHeader     = 24  // bytes before all in a file
	pcapRecord     = 16  // bytes before each
	stdioBuffer    = 4096
)

// benchAgainst sends a file of packets through this switch and through
// simple_switch.
func benchAgainst(cmd *cobra.Command, dir string) error {
	binary, err := bmv2.Find(dir, "simple_switch")
	if err != nil {
		return err
	}
	c := bench.Cases()[0]
	r, err := compileBench(c)
	if err != nil {
		return err
	}
	p, err := interp.Compile(r.Program, interp.Options{})
	if err != nil {
		return err
	}
	b, err := bench.New(c, p)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "pauseless-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	ours, theirs := filepath.Join(tmp, "ours"), filepath.Join(tmp, "theirs")
	in := filepath.Join(tmp, "theirs1_in.pcap") // as simple_switch calls it
	if err := writePackets(in, b); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	mine, err := rateOfOurs(cmd.Context(), b, in, ours)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "this switch    %9.0f packets/s %8.2f µs of processor time for each\n", mine.rate, mine.cpu)
	other, err := rateOfBMv2(cmd.Context(), binary, bmv2json.Encode(r.Program), b, theirs)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "simple_switch  %9.0f packets/s %8.2f µs of processor time for each\n", other.rate, other.cpu)
	fmt.Fprintf(out, "ratio          %9.1f           %8.1f\n", mine.rate/other.rate, other.cpu/mine.cpu)
	for n := 1; n <= bench.Ports; n++ {
		if err := samePackets(fmt.Sprint(ours, n, "_out.pcap"), fmt.Sprint(theirs, n, "_out.pcap")); err != nil {
			return err
		}
	}
	return nil
}

// writePackets writes the input of both switches.
func writePackets(name string, b *bench.Bench) error {
	f, err := outfile.Stream(name)
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(f, 1<<20)
	w := pcapgo.NewWriter(buf)
	err = w.WriteFileHeader(1<<16, layers.LinkTypeEthernet)
	data := make([]byte, againstSize)
	for i := 0; i < againstPackets && err == nil; i++ {
		copy(data, b.Packet(i))
		err = w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(0, 0), CaptureLength: len(data), Length: len(data)}, data)
	}
	return errors.Join(err, buf.Flush(), f.Close())
}

// speed is packets a second, and µs of processor time for each.
type speed struct{ rate, cpu float64 }

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rateOfOurs opens files, forwards, writes files: all of it counts.
func rateOfOurs(ctx context.Context, b *bench.Bench, in, out string) (speed, error) {
	start, cpu := time.Now(), cpuTime()
	links := map[int]port.Link{}
	for n := 1; n <= bench.Ports; n++ {
		from := ""
		if n == 1 {
			from = in
		}
		l, err := port.OpenPcap(from, fmt.Sprint(out, n, "_out.pcap"))
		if err != nil {
			return speed{}, err
		}
		links[n] = l
	}
	if err := port.NewRunner(b.Switch, links).Run(ctx); err != nil && !errors.Is(err, port.ErrDone) {
		return speed{}, err
	}
	used := cpuTime() - cpu
	return speed{againstPackets / time.Since(start).Seconds(), used.Seconds() * 1e6 / againstPackets}, b.Lost()
}

// rateOfBMv2 watches the files that simple_switch writes: its rate is that
// from the first bytes there to the last, which leaves its start out.
func rateOfBMv2(ctx context.Context, binary string, json []byte, b *bench.Bench, out string) (speed, error) {
	links := make([]string, bench.Ports)
	for i := range links {
		name := fmt.Sprint(out, i+1)
		links[i] = fmt.Sprintf("%d@%s", i+1, name)
		if i > 0 { // one without packets
			if err := copyHead(name+"_in.pcap", out+"1_in.pcap"); err != nil {
				return speed{}, err
			}
		}
	}
	sw, err := simpleswitch.StartFiles(ctx, binary, json, links...)
	if err != nil {
		return speed{}, err
	}
	defer sw.Close()
	if err := sw.SetQueues(10 * againstPackets); err != nil {
		return speed{}, err
	}
	if err := sw.Copy(b.Switch.State()); err != nil {
		return speed{}, err
	}
	size := func() (n int64) {
		for i := range links {
			if st, err := os.Stat(fmt.Sprint(out, i+1, "_out.pcap")); err == nil {
				n += st.Size()
			}
		}
		return n
	}
	const all = againstPackets * (againstSize + pcapRecord)
	var first time.Time
	var before int64
	var cpu time.Duration
	for deadline := time.Now().Add(2 * time.Minute); ; {
		n, now := size(), time.Now()
		if first.IsZero() && n > bench.Ports*stdioBuffer {
			first, before = now, n
			if cpu, err = sw.CPU(); err != nil {
				return speed{}, err
			}
		}
		if n >= all-bench.Ports*stdioBuffer { // the last bytes wait for the end
			used, err := sw.CPU()
			packets := float64(n-before) / (againstSize + pcapRecord)
			return speed{packets / now.Sub(first).Seconds(), (used - cpu).Seconds() * 1e6 / packets}, err
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return speed{}, ctx.Err()
		}
		if now.After(deadline) {
			return speed{}, fmt.Errorf("simple_switch has written %d of %d bytes", n, all)
		}
	}
}

// copyHead copies the header of a pcap file.
func copyHead(to, from string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return outfile.Write(to, data[:pcapHeader], 0o600)
}

// samePackets checks that what simple_switch has written so far is what this
// switch wrote.
func samePackets(ours, theirs string) error {
	a, err := os.ReadFile(ours)
	if err != nil {
		return err
	}
	b, err := os.ReadFile(theirs)
	if err != nil {
		return err
	}
	const record = pcapRecord + againstSize
	for at, n := pcapHeader, 0; at+record <= len(b); at, n = at+record, n+1 {
		if at+record > len(a) || !bytes.Equal(a[at+pcapRecord:at+record], b[at+pcapRecord:at+record]) {
			return fmt.Errorf("the switches did not do the same: packet %d of %s", n, filepath.Base(theirs))
		}
	}
	if len(a)-len(b) > bench.Ports*stdioBuffer { // what rateOfBMv2 does not wait for
		return fmt.Errorf("the switches did not do the same: %s has %d bytes, %s %d", filepath.Base(ours), len(a), filepath.Base(theirs), len(b))
	}
	return nil
}
