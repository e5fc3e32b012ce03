// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

// The terms of the sum: two frames in the buffer, one on the link in the opposite
// direction, the PFC frame, and twice the cable.
func TestHeadroomIsTheSumOfItsTerms(t *testing.T) {
	h := Headroom{Rate: 100 * vtime.Gbps, Delay: vtime.Microsecond, Frame: 4058, Overhead: EthernetOverhead}
	const cable = 25_000 // 2 µs at 100 Gb/s
	want := vtime.Size(2*4058 + (4058 + 24) + 84 + cable + 1)
	if got := h.Size(); got != want {
		t.Errorf("headroom is %d, want %d", got, want)
	}
	// Headers are in the buffer with both frames, and on the link in the opposite direction.
	h.Added = 20
	if got := h.Size(); got != want+3*20 {
		t.Errorf("with 20 bytes of headers it is %d, want %d", got, want+3*20)
	}
	// Messages wait beside the frame.
	h.Copies = 1
	if got := h.Size(); got != want+3*20+4078 {
		t.Errorf("with a copy it is %d, want %d", got, want+3*20+4078)
	}
	// 394 quanta of 64 bytes.
	h = Headroom{Rate: 100 * vtime.Gbps, Delay: vtime.Microsecond, Frame: 4058, Overhead: EthernetOverhead, Response: ResponseTime(100 * vtime.Gbps)}
	if got := h.Size(); got != want+394*64 {
		t.Errorf("with the standard's response time it is %d, want %d", got, want+394*64)
	}
}

// In cells of 80 bytes, frames of 81 bytes take 160, and 105 on the link.
func TestHeadroomInCellsIsThatOfFramesThatFillThemLeast(t *testing.T) {
	h := Headroom{Rate: 100 * vtime.Gbps, Delay: vtime.Microsecond, Frame: 1518, Overhead: EthernetOverhead, Cell: 80}
	link := 25_000 + 1518 + 24 + 84
	want := vtime.Size(2*160 + (link*160+104)/105 + 1)
	if got := h.Size(); got != want {
		t.Errorf("headroom is %d, want %d", got, want)
	}
}

// Simulators' frames are longer in the buffer than on the link. Then small frames
// fill the buffer faster than large ones.
func TestHeadroomOfFramesThatAreLongerThanOnTheLink(t *testing.T) {
	long := Headroom{Rate: 100 * vtime.Gbps, Delay: 10 * vtime.Microsecond, Frame: 1058, Overhead: -10}
	link := int64(250_000 + 1058 - 10 + 84)
	want := vtime.Size(2*59 + (link*59+48)/49 + 1)
	if got := long.Size(); got != want {
		t.Errorf("headroom is %d, want %d", got, want)
	}
}

func TestHeadroomGrowsWithEachTerm(t *testing.T) {
	base := Headroom{Rate: 100 * vtime.Gbps, Delay: vtime.Microsecond, Frame: 1518, Overhead: EthernetOverhead}
	for name, change := range map[string]func(*Headroom){
		"rate": func(h *Headroom) { h.Rate *= 2 }, "delay": func(h *Headroom) { h.Delay *= 2 }, "response": func(h *Headroom) { h.Response++; h.Response *= 1000 },
		"frame": func(h *Headroom) { h.Frame++ }, "added": func(h *Headroom) { h.Added++ }, "copies": func(h *Headroom) { h.Copies++ }, "cell": func(h *Headroom) { h.Cell = 80 },
	} {
		h := base
		change(&h)
		if h.Size() <= base.Size() {
			t.Errorf("%s: %d, not more than %d", name, h.Size(), base.Size())
		}
	}
}

// The rows of SONiC's table, and rates between two of them.
func TestResponseTime(t *testing.T) {
	for _, c := range []struct {
		rate  vtime.Rate
		bytes int64
	}{
		{100 * vtime.Mbps, 64}, {vtime.Gbps, 128}, {10 * vtime.Gbps, 4288}, {25 * vtime.Gbps, 5120}, {40 * vtime.Gbps, 7552}, {50 * vtime.Gbps, 9408},
		{100 * vtime.Gbps, 25216}, {200 * vtime.Gbps, 28992}, {400 * vtime.Gbps, 57920}, {800 * vtime.Gbps, 57920}, {5 * vtime.Gbps, 4288}, {1600 * vtime.Gbps, 57920},
	} {
		if got := c.rate.Bytes(ResponseTime(c.rate)); got != c.bytes {
			t.Errorf("%v: %d bytes arrive during the response, want %d", c.rate, got, c.bytes)
		}
	}
	if d := CableDelay(198); d != vtime.Microsecond {
		t.Errorf("198 m take %v", d)
	}
}

// A link with Ethernet's standard frames needs the same headroom whatever smaller
// frames hosts of the default MTU send: 3 frames of 1600 bytes with preambles, a PFC frame and the cable.
func TestHeadroomForStandardFrames(t *testing.T) {
	l := &Link{Rate: 40 * vtime.Gbps, Delay: 2 * vtime.Microsecond}
	for _, f := range []Frames{{}, {Largest: 314, Overhead: 24, Standard: true}, {Largest: 1058, Added: 20, Overhead: 24, Copies: 1, Standard: true}} {
		n := &Topology{Frames: f}
		if h := n.HeadroomFor(l); h != 20_000+3*1600+84+1 {
			t.Errorf("%+v: headroom is %d", f, h)
		}
		n.Switch.PFC.Headroom = 5
		if h := n.HeadroomFor(l); h != 5 {
			t.Errorf("%+v: headroom is %d, want the configured 5", f, h)
		}
		if r := n.DefaultResume(); r != 3200 {
			t.Errorf("%+v: resume is %d", f, r)
		}
	}
	for _, frame := range []int{314, 1058, 9058} {
		n := &Topology{Frames: Frames{Largest: frame, Overhead: 24}}
		if h := n.HeadroomFor(l); h != vtime.Size(20_000+3*frame+24+84+1) {
			t.Errorf("headroom for frames of %d bytes is %d", frame, h)
		}
	}
}
