// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// loadQCN loads QCN with ports at 40 Gb/s, so that packets queue up. The target queue
// is ten packets of 14 cells, and feedback is at its maximum from five times that on.
func loadQCN(t *testing.T) (*dut, *tofino) {
	t.Helper()
	sw := new(tofino)
	sw.rate = 40 * vtime.Gbps
	return load(t, sw, "qcn", leafSpine(2), "l1", map[string]string{"qcn.equilibrium": "11200B", "qcn.sample": "80KB"}), sw
}

// On Tofino a sample is a departing packet, and its queue length is that when it
// leaves.
func TestQCNOnTofinoNotifiesTheSenderOfTheCongestionOfItsQueue(t *testing.T) {
	t.Parallel()
	f := roce{src: "h1", dst: "h2", sport: 5000}.bytes()
	const cells = 14 * 80
	for _, c := range []struct {
		name     string
		q        int    // packets behind the sample
		before   uint64 // queue length at the last sample
		feedback uint8
	}{
		{"as long as it should be", 10, 10 * cells, 0},
		{"too long by a step", 11, 11 * cells, 1},
		{"short, but growing", 5, 0, 6},
		{"long, but shrinking fast", 20, 25 * cells, 0},
		{"long, and shrinking", 20, 21 * cells, 10},
		{"as congested as it can be", 60, 60 * cells, 63},
		{"and more", 200, 0, 63},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, sw := loadQCN(t)
			d.set("qcn_qlen", c.before, 2, 3)
			d.set("qcn_left", uint64(len(f))+1, 2, 3) // the second packet
			sw.burst(1, slices.Repeat([][]byte{f}, c.q+2)...)
			out := sw.sent()
			if got := from(out, 2); len(got) != c.q+2 || slices.ContainsFunc(got, func(g []byte) bool { return !slices.Equal(g, f) }) {
				t.Fatalf("%d packets came out, or others", len(got))
			}
			if period := 80_000 / (int(c.feedback)/8 + 1); c.q*len(f) < period*84/100 { // no other sample was taken
				d.want(uint64(c.q*cells), "qcn_qlen", 2, 3)
				if left := int(d.get("qcn_left", 2, 3)) + c.q*len(f); left < period*84/100 || left > period*116/100 {
					t.Errorf("next sample in %d bytes, want about %d", left, period)
				}
			}
			cards := from(out, 1)
			if c.feedback == 0 {
				if len(cards) > 0 {
					t.Errorf("notified: %v", cards)
				}
				return
			}
			if len(cards) == 0 {
				t.Fatal("no notification")
			}
			// A part of the packet follows as padding.
			const n = packet.EthernetLen + packet.IPv4Len + packet.UDPLen + packet.CNPLen + 4
			if len(cards[0]) < n || len(cards[0]) > 120 {
				t.Fatal(dump(cards[0]))
			}
			checkFeedback(t, cards[0][:n], c.feedback)
			if got, want := binary.LittleEndian.Uint32(cards[0][n-4:]), icrc(cards[0][packet.EthernetLen:n-4]); got != want {
				t.Errorf("ICRC is %#x, want %#x", got, want)
			}
		})
	}
}

// icrc is the invariant CRC of a RoCEv2 packet from IP on: fields that change in the
// network are replaced by ones.
func icrc(b []byte) uint32 {
	b = slices.Concat([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, b)
	for _, at := range []int{1, 8, 10, 11, 26, 27, 32} { // DSCP, TTL, checksums, the byte behind P_Key
		b[8+at] = 0xff
	}
	return crc32.ChecksumIEEE(b)
}

func TestQCNOnTofinoTakesSamplesByBytes(t *testing.T) {
	t.Parallel()
	d, sw := loadQCN(t)
	f := roce{src: "h1", dst: "h2", sport: 5000}.bytes()
	d.set("qcn_left", 2*uint64(len(f))+1, 2, 3)
	for left := range 2 {
		d.passes(1, 2, f)
		d.want(uint64((1-left)*len(f)+1), "qcn_left", 2, 3)
	}
	// The growth of the queue counts as arrived bytes, which do not count again when they
	// leave.
	d.set("qcn_left", 50_000, 2, 3)
	sw.burst(1, slices.Repeat([][]byte{f}, 12)...) // one leaves at once, ten remain after the next one
	sw.sent()
	d.want(uint64(50_000-12*len(f)-10*14*80), "qcn_left", 2, 3)
	d.set("qcn_qlen", 7, 2, 3)
	d.set("qcn_left", uint64(len(f)), 2, 3)
	d.passes(1, 2, f) // the sample, with an empty queue
	d.want(0, "qcn_qlen", 2, 3)
	// Periods vary.
	var periods []uint64
	for range 20 {
		d.set("qcn_left", 0, 2, 3)
		d.passes(1, 2, f)
		periods = append(periods, d.get("qcn_left", 2, 3))
	}
	slices.Sort(periods)
	if periods[0] < 68_000 || periods[19] > 92_000 || periods[19]-periods[0] < 10_000 {
		t.Errorf("periods are from %d to %d bytes", periods[0], periods[19])
	}
	// Packets other than data are counted and sampled, but no sender is notified.
	ack := slices.Clone(f)
	ack[packet.EthernetLen+packet.IPv4Len+packet.UDPLen] = byte(packet.OpAcknowledge)
	d.set("qcn_left", uint64(len(f))+1, 2, 3)
	d.set("qcn_qlen", 12*14*80, 2, 3)
	sw.burst(1, slices.Repeat([][]byte{ack}, 14)...)
	if out := sw.sent(); len(from(out, 2)) != 14 || len(from(out, 1)) != 0 {
		t.Errorf("came out: %v", out)
	}
	d.want(12*14*80, "qcn_qlen", 2, 3)
	if left := d.get("qcn_left", 2, 3); left < 68_000-uint64(12*len(f)) || left > 92_000-uint64(12*len(f)) {
		t.Errorf("next sample in %d bytes", left)
	}
}

// Periods have the maximum length where the copy of a sample does not pass.
func TestQCNOnTofinoWithoutReturningCopiesTakesFewSamples(t *testing.T) {
	t.Parallel()
	d, sw := loadQCN(t)
	sw.sw.Lock()
	sw.sw.DeleteSession(1)
	sw.sw.Unlock()
	f := roce{src: "h1", dst: "h2", sport: 5000}.bytes()
	d.set("qcn_left", 0, 2, 3)
	d.passes(1, 2, f)
	d.want(92_000, "qcn_left", 2, 3)
}
