// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// sample is the capture of the tutorial.
func sample(t testing.TB) []byte {
	t.Helper()
	f, err := os.Open("../../docs/tutorials/sample.pcap.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFlowsOfACapture(t *testing.T) {
	read := func(idle vtime.Time) *Capture {
		c, err := ReadCapture(bytes.NewReader(sample(t)), idle)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := read(0)
	if c.Packets != 668 || c.Others != 39 {
		t.Errorf("%d data packets and %d other frames, want 668 and 39", c.Packets, c.Others)
	}
	var text strings.Builder
	if err := c.WriteCSV(&text, nil); err != nil {
		t.Fatal(err)
	}
	const want = "src,dst,bytes,start\nh1,h5,307200,0.000us\nh2,h5,204800,10.000us\nh3,h6,40960,35.000us\nh7,h4,122880,60.000us\nh8,h1,8192,90.000us\n"
	if text.String() != want {
		t.Errorf("flows are\n%swant\n%s", text.String(), want)
	}
	if n := len(read(vtime.Nanosecond).Flows); n != c.Packets {
		t.Errorf("with less idle time than between packets: %d flows, want %d", n, c.Packets)
	}
	err := c.WriteCSV(&text, map[netip.Addr]string{netip.MustParseAddr("10.0.0.1"): "a"})
	if err == nil || !strings.Contains(err.Error(), `add a line "10.0.0.5 NAME"`) {
		t.Errorf("a host without a name: %v", err)
	}
	if _, err := ReadCapture(strings.NewReader("no capture"), 0); err == nil {
		t.Error("no error for another file")
	}
}

// Flows have data and begin within the capture, whatever lengths and times its frames have.
func FuzzCapture(f *testing.F) {
	text := sample(f)
	const file, frame = 24, 16 // bytes of the headers
	with := func(at int, value ...byte) {
		copyOf := slices.Clone(text[:400])
		copy(copyOf[at:], value)
		f.Add(copyOf)
	}
	second := file + frame + int(binary.LittleEndian.Uint32(text[file+8:]))
	with(0, text[0])
	with(file+frame+packet.EthernetLen+2, 0, 0)  // total length
	with(file+frame+packet.EthernetLen+2, 0, 41) // of less than its headers
	with(second, 0, 0, 0, 0)                     // before the first
	with(second, 255, 255, 255, 255)             // 136 years after 1970
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ReadCapture(strings.NewReader(string(text)), 0)
		if err != nil {
			return
		}
		for i, flow := range c.Flows {
			if flow.Bytes <= 0 || flow.Start < 0 {
				t.Errorf("flow %d has %d bytes and begins at %v", i, flow.Bytes, flow.Start)
			}
		}
		if err := c.WriteCSV(&strings.Builder{}, nil); err != nil {
			t.Error(err)
		}
	})
}
