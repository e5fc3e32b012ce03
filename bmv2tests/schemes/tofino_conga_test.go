// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
)

// congas are the profiles with CONGA, and with -short one of each kind.
func congas() []string {
	if testing.Short() {
		return []string{"conga", "rlb-conga"}
	}
	return []string{"conga", "rlb-conga", "rlb-adaptive-conga"}
}

// congestion inserts CONGA's header before the IP header, after RLB's part of it if
// there is one: from leaf 1 on path 1.
func (d *dut) congestion(f []byte, met, path, value byte) []byte {
	h := []byte{0x08, 0x00, 0, 1, 1}
	if d.manifest.Has("rlb") {
		h = append(h, make([]byte, 10)...)
	}
	return behindEthernet(f, packet.EtherTypeFabric, append(h, met, path+1, value))
}

// Feedback reaches its leaf with all headers that RLB adds, and is sent for one path
// after the other.
func TestCONGAOnTofinoFeedsBack(t *testing.T) {
	t.Parallel()
	for _, profile := range congas() {
		t.Run(profile, func(t *testing.T) {
			d, _ := loadTofino(t, profile, leafSpine(3), "l1", nil)
			d.passesAs(4, 1, d.congestion(down, 5, 2, 6), down)
			d.want(6, "congestion_to", 1, 2)
			d.want(5, "congestion_from", 1, 1)
			d.passesAs(4, 1, d.congestion(down, 4, 0xff, 7), down) // no feedback
			d.want(6, "congestion_to", 1, 2)
			d.want(4, "congestion_from", 1, 1)
			for _, path := range []byte{1, 2, 0, 1} {
				_, out := d.through(1, data)
				h := fabric(out)
				if h == nil {
					t.Fatal("no header")
				}
				n := len(out) - len(data)
				want := []byte{0, path + 1, 0}
				if path == 1 {
					want[2] = 4
				}
				if be16(h) != packet.EtherTypeIPv4 || be16(h[2:]) != 0 || !slices.Equal(h[n-3:n], want) || !slices.Equal(h[n:], data[packet.EthernetLen:]) {
					t.Errorf("header % x, want it to end in % x", h[:n], want)
				}
			}
			d.send(2, d.congestion(data, 0, 0, 3)) // not from a host
			if out := d.sent(); len(out) != 0 {
				t.Errorf("came out: %v", out)
			}
		})
	}
}

// A switch writes the load of its link into the header if it is higher than the
// value there: eighths of the capacity in the last full window of 2^17 ns.
func TestCONGAOnTofinoMarksTheLoadOfLinks(t *testing.T) {
	t.Parallel()
	for _, profile := range congas() {
		t.Run(profile, func(t *testing.T) {
			d, sw := loadTofino(t, profile, leafSpine(3), "s1", nil)
			for met, want := range []byte{4, 4, 4, 4, 4, 5, 6, 7} {
				sw.pair(d, "link_load", 40*(1<<17)/8*9/16, d.now()>>17-1, 1) // 4.5 eighths of 40 Gb/s
				d.passesAs(2, 1, d.congestion(down, byte(met), 0, 0), d.congestion(down, want, 0, 0))
			}
		})
	}
}

// A flowlet takes the better one of a random path and the best path so far. Old
// feedback counts as no congestion.
func TestCONGAOnTofinoTakesTheBestKnownPath(t *testing.T) {
	t.Parallel()
	for _, profile := range congas() {
		t.Run(profile, func(t *testing.T) {
			d, sw := loadTofino(t, profile, leafSpine(4), "l1", map[string]string{"conga.gap": "0s", "conga.age": "500ms"})
			fed := func(ago uint32) {
				for path, congestion := range []uint32{5, 4, 2, 4} {
					sw.pair(d, "congestion_to", congestion, d.now()-ago, 1, path)
				}
			}
			fed(0)
			sw.pair(d, "congestion_best", 2, 2, 1, 3)
			if got := uplinks(d, times(8, data)...); distinct(got) != 1 || got[0] != 5 {
				t.Errorf("took ports %v, the best is 5", got)
			}
			sw.pair(d, "congestion_best", 5, 0, 1, 3) // found by one packet in four
			uplinks(d, times(40, data)...)
			if got := uplinks(d, times(8, data)...); distinct(got) != 1 || got[0] != 5 {
				t.Errorf("took ports %v, 5 should have been found", got)
			}
			fed(500_000_001)
			if got := uplinks(d, times(20, data)...); distinct(got) != 4 {
				t.Errorf("took ports %v, but nothing is known any more", got)
			}
			if profile == "conga" {
				return // with one path the route is to_port
			}
			ways(d, "h3", 1, ", hash_shift=8")
			if got := uplinks(d, times(8, data)...); distinct(got) != 1 || got[0] != 3 {
				t.Errorf("took ports %v, but 3 is the only one", got)
			}
		})
	}
}

// A flowlet keeps its path, and returns to it when a warning ends.
func TestRLBOverCONGAOnTofinoReturnsToThePathOfItsFlowlet(t *testing.T) {
	t.Parallel()
	d, sw := loadTofino(t, "rlb-conga", leafSpine(4), "l1", map[string]string{"conga.gap": "1s"})
	first := uplinks(d, data)[0]
	next := uint32(first-2) % 4
	for path := range uint32(4) { // the random path is worse than the best one
		congestion := uint32(5)
		if path == next {
			congestion = 0
		}
		sw.pair(d, "congestion_to", congestion, d.now(), 1, int(path))
	}
	sw.pair(d, "congestion_best", 0, next, 1, 3)
	sw.warn(d, "warned", 0x80>>(first-3), 1)
	if got := uplinks(d, data)[0]; got != int(next)+3 {
		t.Errorf("warned of port %d, took %d, want the best", first, got)
	}
	sw.pair(d, "warned", 0, 0, 1)
	if got := uplinks(d, times(4, data)...); distinct(got) != 1 || got[0] != first {
		t.Errorf("continued on %v, its flowlet has port %d", got, first)
	}
}
