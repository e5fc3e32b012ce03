// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"encoding/binary"

	"github.com/pauseless/pauseless/internal/vtime"
)

// sackLen is what IRN's acknowledgements have behind the AETH: the number of
// the packet that caused them.
const sackLen = 4

// bitmap is a set of packets from a first one on.
type bitmap struct {
	words []uint64 // bit n at n modulo their number
}

func (b *bitmap) has(n int64) bool {
	if len(b.words) == 0 {
		return false
	}
	return b.words[n>>6&int64(len(b.words)-1)]&(1<<(n&63)) != 0
}

// set adds n, which is at least first, of a set without members before first.
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

// clear takes n out.
func (b *bitmap) clear(n int64) {
	if len(b.words) > 0 {
		b.words[n>>6&int64(len(b.words)-1)] &^= 1 << (n & 63)
	}
}

// irnSender is the sending end of IRN (section 3.1 of the paper). Whatever is
// below a packet that has arrived out of order, and has not arrived itself, is
// taken to be lost. It is repeated once; what is still missing after that
// waits for the timeout.
type irnSender struct {
	sacked     bitmap // packets above una that have arrived
	highest    int64  // one past the highest of them; on a timeout, at least past una
	recovering bool
	until      int64 // recovery is over when this packet is acknowledged
	repeat     int64 // next packet that may have to be repeated
}

// lost returns the next packet to be repeated, or -1.
func (i *irnSender) lost(una int64) int64 {
	if !i.recovering {
		return -1
	}
	i.repeat = max(i.repeat, una)
	for ; i.repeat < i.highest; i.repeat++ {
		if !i.sacked.has(i.repeat) {
			return i.repeat
		}
	}
	return -1
}

// advance forgets packets that are acknowledged up to una.
func (i *irnSender) advance(from, una int64) {
	for n := from; n < min(una, i.highest); n++ {
		i.sacked.clear(n)
	}
	if i.recovering && una > i.until {
		i.recovering = false
	}
}

// enter begins a recovery, if none is on. What an earlier one has repeated is
// still on its way.
func (i *irnSender) enter(high int64) {
	if !i.recovering {
		i.recovering, i.until = true, high-1
	}
}

// selective handles IRN's part of a negative acknowledgement.
func (s *sender) selective(behind []byte) {
	if len(behind) < sackLen {
		return
	}
	n := s.una + ahead(binary.BigEndian.Uint32(behind)&0xffffff, s.una)
	i := s.irn
	if n < s.una || n >= s.high {
		return
	}
	i.sacked.set(n, s.una)
	i.highest = max(i.highest, n+1)
	i.enter(s.high)
}

// timeout returns how long the sender waits for an acknowledgement: IRN waits
// less when so few packets are in flight that their loss could not show in any
// other way.
func (s *sender) timeout() vtime.Time {
	cfg := s.h.cfg
	if s.irn != nil && s.high-s.una <= int64(cfg.RTOLowPackets) && cfg.RTOLow > 0 {
		return cfg.RTOLow
	}
	return cfg.RTO
}
