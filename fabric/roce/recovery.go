// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Recovery is how a connection handles lost and out-of-order packets.
type Recovery string

// Kinds of loss recovery.
const (
	// GoBackN is that of RoCEv2 (InfiniBand Architecture, volume 1, reliable
	// connections): the receiver discards out-of-order packets and sends one NAK for
	// the expected packet. The sender retransmits from that packet on, at its full rate.
	// In the simulators of DCQCN and HPCC the receiver repeats the NAK after
	// NAKInterval, in case one was lost.
	GoBackN Recovery = "go-back-n"
	// SlowRestart is go-back-N as shipped in ConnectX adapters, with
	// roce_slow_restart_en set in their register ROCE_ACCL: after a retransmission a
	// flow continues slowly. NVIDIA does not document the rate. Here it is one packet
	// per round trip at first, and doubles until it reaches the old rate.
	SlowRestart Recovery = "slow-restart"
	// IRN is selective repeat (Mittal et al., SIGCOMM 2018): the receiver
	// keeps out-of-order packets, the sender retransmits the missing ones, and at most
	// a bandwidth-delay product is in flight.
	IRN Recovery = "irn"
	// OutOfOrder is that of adapters for adaptive routing, which place data in
	// memory in any order (ConnectX-5 and later, "Out-of-Order Data
	// Placement"): no packet is discarded, and the receiver sends a NAK for a packet
	// only after it has been missing for ReorderWait while later ones arrived.
	OutOfOrder Recovery = "out-of-order"
	// TCP is that of the simulator which the authors of Hermes and RLB extend
	// (ns3-load-balance: TcpResequenceBuffer under TcpSocketBase): the receiver holds
	// early packets for ReorderWait, or until it has 64 KB of them. After that, each
	// triggers a duplicate acknowledgement. After DupAcks of these the sender
	// retransmits the missing packet and halves its rate.
	TCP Recovery = "tcp"
)

// Recoveries are all kinds of loss recovery.
var Recoveries = []Recovery{GoBackN, SlowRestart, IRN, OutOfOrder, TCP}

func (r Recovery) check() error {
	var names []string
	for _, k := range Recoveries {
		if r == k {
			return nil
		}
		names = append(names, string(k))
	}
	return fmt.Errorf("recovery is %q%s, must be one of %s", r, diag.DidYouMean(string(r), names), strings.Join(names, ", "))
}

// keeps reports whether the receiver keeps out-of-order packets. Its
// acknowledgements then carry the number of the packet that caused them.
func (r Recovery) keeps() bool { return r == IRN || r == OutOfOrder || r == TCP }

// sackLen is the length of that number, which follows the AETH.
const sackLen = 4

// reorderWait returns the time for which a packet must be missing before the
// receiver reports it. The time of OutOfOrder is longer than pauses last.
func (c *Config) reorderWait() vtime.Time {
	switch {
	case c.ReorderWait > 0:
		return c.ReorderWait
	case c.Recovery == TCP:
		return 50 * vtime.Microsecond
	}
	return 2 * vtime.Millisecond
}

// tcpHeld is the number of bytes up to which a TCP receiver holds early
// packets.
const tcpHeld = 64_000

// bitmap is a set of packets from a first number on.
type bitmap struct {
	words []uint64 // bit n at n modulo their number
}

// has reports whether n, which is at least first, is in a set whose members are
// at least first.
func (b *bitmap) has(n, first int64) bool {
	if n>>6-first>>6 >= int64(len(b.words)) {
		return false // its word belongs to a lower number
	}
	return b.words[n>>6&int64(len(b.words)-1)]&(1<<(n&63)) != 0
}

// set adds n, which is at least first, to a set whose members are at least
// first.
func (b *bitmap) set(n, first int64) {
	for need := n>>6 - first>>6 + 1; need > int64(len(b.words)); {
		bigger := bitmap{make([]uint64, max(2*len(b.words), 1))}
		for i := range int64(len(b.words)) {
			w := first>>6 + i
			bigger.words[w&int64(len(bigger.words)-1)] = b.words[w&int64(len(b.words)-1)]
		}
		b.words = bigger.words
	}
	b.words[n>>6&int64(len(b.words)-1)] |= 1 << (n & 63)
}

// clear removes n.
func (b *bitmap) clear(n int64) {
	if len(b.words) > 0 {
		b.words[n>>6&int64(len(b.words)-1)] &^= 1 << (n & 63)
	}
}

// repeater is the sender's state of a recovery that retransmits only missing
// packets. A packet below limit that has not arrived is considered lost. It is
// retransmitted once per recovery. If it is still missing then, it waits for
// the next recovery or the timeout.
type repeater struct {
	highest    int64 // one past the highest packet that has arrived
	on         bool  // the recovery is one of these
	recovering bool
	count      int32 // packets above una that have arrived
	repeat     int64 // next packet that may have to be retransmitted
	limit      int64
	until      int64  // the recovery ends when this packet is acknowledged
	arrived    bitmap // packets above una that have arrived
}

// lost returns the next packet to be retransmitted, or -1.
func (r *repeater) lost(una int64) int64 {
	if !r.recovering {
		return -1
	}
	r.repeat = max(r.repeat, una)
	for ; r.repeat < r.limit; r.repeat++ {
		if !r.arrived.has(r.repeat, una) {
			return r.repeat
		}
	}
	return -1
}

// advance removes packets that were acknowledged up to una.
func (r *repeater) advance(from, una int64) {
	for n := from; n < min(una, r.highest); n++ {
		if r.arrived.has(n, from) {
			r.arrived.clear(n)
			r.count--
		}
	}
	if r.recovering && una > r.until {
		r.recovering = false
	}
}

// enter begins a recovery unless one is active. Retransmissions of an earlier
// one are still in flight.
func (r *repeater) enter(high int64) {
	if !r.recovering {
		r.recovering, r.until = true, high-1
	}
}

// again begins a recovery that repeats the retransmissions of an earlier one.
func (r *repeater) again(una, high, limit int64) {
	r.recovering = false
	r.enter(high)
	r.repeat, r.limit = una, limit
}

// selective handles the acknowledgement of an out-of-order packet.
func (s *sender) selective(now vtime.Time, nak bool, behind []byte) {
	if len(behind) < sackLen {
		return
	}
	n := s.una + ahead(binary.BigEndian.Uint32(behind)-s.psn, s.una)
	r := &s.sel
	if n < s.una || n >= s.high {
		return
	}
	if !r.arrived.has(n, s.una) {
		r.arrived.set(n, s.una)
		r.count++
		r.highest = max(r.highest, n+1)
	}
	switch s.h.cfg.Recovery {
	case IRN:
		if nak {
			s.cause = Selective
			r.limit = max(r.limit, r.highest)
			r.enter(s.high)
		}
	case OutOfOrder:
		if nak {
			s.cause = Selective
			r.again(s.una, s.high, n)
		}
	case TCP:
		// A packet is lost if this many later ones have arrived (RFC 6675).
		dup := int64(s.h.cfg.DupAcks)
		r.limit = max(r.limit, r.highest-dup)
		if !r.recovering && int64(r.count) >= dup {
			s.cause = Selective
			r.enter(s.high)
			s.slower(now, s.Rate/2)
		}
	}
}

// rewind continues from the first unacknowledged packet.
func (s *sender) rewind(now vtime.Time) {
	s.next = s.una
	if s.h.cfg.Recovery == SlowRestart && s.una < s.high {
		s.slowStart(now, 1)
	}
}

// slower makes congestion control continue from a lower rate.
func (s *sender) slower(now vtime.Time, rate vtime.Rate) {
	old := s.Rate
	s.ctl.Restart(now, max(min(rate, s.Rate), s.h.kit.Lowest))
	s.repace(old)
}

// timeout returns the retransmission timeout: IRN's is shorter when so few
// packets are in flight that only a timeout can detect their loss.
func (s *sender) timeout() vtime.Time {
	cfg := s.h.cfg
	if cfg.Recovery == IRN && s.high-s.una <= int64(cfg.RTOLowPackets) && cfg.RTOLow > 0 {
		return cfg.RTOLow
	}
	return cfg.RTO
}

// hole is a receiver's state of the expected packet while later ones have
// arrived.
type hole struct {
	since    vtime.Time
	mark     int32 // one past the last packet that had arrived then
	set      bool  // an event is scheduled
	reported bool  // TCP: duplicate acknowledgements are sent immediately
}

// keep stores a packet that is d ahead of the expected one, and acknowledges
// it.
func (r *receiver) keep(now vtime.Time, d int64, cause uint32, echo bool, telemetry []byte) {
	n := r.expected + d
	if n < r.total && !r.early.has(n, r.expected) {
		r.early.set(n, r.expected)
		r.held++
		r.highest = max(r.highest, n+1)
		if r.held == 1 {
			r.openHole(now)
		}
	}
	switch r.h.cfg.Recovery {
	case IRN:
		r.ack(now, packet.SyndromeNAKPSNSequence, r.expected, cause, echo, telemetry)
	case OutOfOrder:
		r.ack(now, packet.SyndromeACK, r.expected-1, cause, echo, telemetry)
	case TCP:
		switch {
		case r.hole.reported:
			r.ack(now, packet.SyndromeACK, r.expected-1, cause, echo, telemetry)
		case int(r.held)*r.h.cfg.MTU >= tcpHeld:
			r.release(now)
		}
	}
}

// openHole begins the wait for the expected packet.
func (r *receiver) openHole(now vtime.Time) {
	if r.h.cfg.Recovery == IRN {
		return // no wait
	}
	o := &r.hole
	o.since, o.mark, o.reported = now, int32(r.highest), false
	if !o.set {
		o.set = true
		r.h.net.At(now+r.h.cfg.reorderWait(), (*holeTimer)(r), 0)
	}
}

// holeTimer is the event for a packet that may have been missing too long.
type holeTimer receiver

// Fire implements vtime.Event.
func (t *holeTimer) Fire(now vtime.Time, _ uint64) {
	r := (*receiver)(t)
	o, wait := &r.hole, r.h.cfg.reorderWait()
	o.set = false
	if r.held == 0 || o.reported {
		return
	}
	if due := o.since + wait; now < due {
		o.set = true
		r.h.net.At(due, t, 0)
		return
	}
	if r.h.cfg.Recovery == TCP {
		r.release(now)
		return
	}
	r.ack(now, packet.SyndromeNAKPSNSequence, r.expected, (r.psn+uint32(o.mark-1))&0xffffff, false, nil)
	r.openHole(now)
}

// release makes a TCP receiver acknowledge all held packets.
func (r *receiver) release(now vtime.Time) {
	r.hole.reported = true
	for n := r.expected + 1; n < r.highest; n++ {
		if r.early.has(n, r.expected) {
			r.ack(now, packet.SyndromeACK, r.expected-1, (r.psn+uint32(n))&0xffffff, false, nil)
		}
	}
}
