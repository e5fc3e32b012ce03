// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"github.com/pauseless/pauseless/internal/bmv2"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/port"
	"github.com/pauseless/pauseless/softswitch/stf/simpleswitch"
)

const (
	againstPackets = 200_000
	againstSize    = 128 // bytes of a packet
	pcapHeader     = 24  // bytes at the start of a file
	pcapRecord     = 16  // bytes before each packet
	stdioBuffer    = 4096
)

// BenchmarkAgainstBMv2 sends the same packets through this switch and through
// simple_switch, from pcap files to pcap files, with the same JSON and entries,
// and compares the output.
func BenchmarkAgainstBMv2(b *testing.B) {
	binary, err := bmv2.Find("", "simple_switch")
	need.No(b, err)
	c := cases()[0]
	r := compileCase(b, c)
	p, err := interp.Compile(r.Program, interp.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := newBench(c, p)
		if err != nil {
			b.Fatal(err)
		}
		dir := b.TempDir()
		ours, theirs := filepath.Join(dir, "ours"), filepath.Join(dir, "theirs")
		in := filepath.Join(dir, "theirs1_in.pcap") // the name that simple_switch expects
		if err := writePackets(in, s); err != nil {
			b.Fatal(err)
		}
		mine, err := rateOfOurs(b.Context(), s, in, ours)
		if err != nil {
			b.Fatal(err)
		}
		other, err := rateOfBMv2(b.Context(), binary, bmv2json.Encode(r.Program), s, theirs)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(mine.rate, "packets/s")
		b.ReportMetric(other.rate, "BMv2-packets/s")
		b.ReportMetric(mine.rate/other.rate, "times-BMv2")
		b.ReportMetric(mine.cpu, "CPU-µs/packet")
		b.ReportMetric(other.cpu, "BMv2-CPU-µs/packet")
		for n := 1; n <= Ports; n++ {
			if err := samePackets(fmt.Sprint(ours, n, "_out.pcap"), fmt.Sprint(theirs, n, "_out.pcap")); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// writePackets writes the input file of both switches.
func writePackets(name string, b *Bench) error {
	f, err := os.Create(name)
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

// speed is the packets per second, and the µs of processor time per packet.
type speed struct{ rate, cpu float64 }

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// rateOfOurs measures this switch, including opening and writing the files.
func rateOfOurs(ctx context.Context, b *Bench, in, out string) (speed, error) {
	start, cpu := time.Now(), cpuTime()
	links := map[int]port.Link{}
	for n := 1; n <= Ports; n++ {
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

// rateOfBMv2 watches the files that simple_switch writes. The rate is measured
// from the first bytes in them to the last, which excludes its start.
func rateOfBMv2(ctx context.Context, binary string, json []byte, b *Bench, out string) (speed, error) {
	links := make([]string, Ports)
	for i := range links {
		name := fmt.Sprint(out, i+1)
		links[i] = fmt.Sprintf("%d@%s", i+1, name)
		if i > 0 { // an input file without packets
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
		if first.IsZero() && n > Ports*stdioBuffer {
			first, before = now, n
			if cpu, err = sw.CPU(); err != nil {
				return speed{}, err
			}
		}
		if n >= all-Ports*stdioBuffer { // the last bytes are written when the process ends
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
	return os.WriteFile(to, data[:pcapHeader], 0o600)
}

// samePackets checks that simple_switch has written the same packets so far as
// this switch.
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
	if len(a)-len(b) > Ports*stdioBuffer { // rateOfBMv2 does not wait for the rest
		return fmt.Errorf("the switches did not do the same: %s has %d bytes, %s %d", filepath.Base(ours), len(a), filepath.Base(theirs), len(b))
	}
	return nil
}
