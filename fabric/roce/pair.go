// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"encoding/binary"

	"github.com/pauseless/pauseless/internal/packet"
)

// turns are the messages of a host in one direction, by index. The messages of a queue
// pair are a list; the number of the queue pair is that of the first one.
type turns []turn

// turn is the place of a message in its queue pair. Neighbours are indices: its own if
// there is none.
type turn struct {
	psn, total    uint32 // of packet 0; packets
	before, after uint32
	last, recent  uint32 // of the first message: the last one, and the one found last
}

// add adds a message: of a queue pair of its own if first is its index.
func (t *turns) add(psn uint32, total int64, first uint32) {
	n := uint32(len(*t))
	m := turn{psn: psn, total: uint32(total), before: n, after: n, last: n, recent: n}
	if first != n {
		m.before = (*t)[first].last
		(*t)[m.before].after, (*t)[first].last = n, n
	}
	*t = append(*t, m)
}

// find returns the index of the message that a packet of the queue pair belongs to.
func (t turns) find(first, psn uint32) uint32 {
	for i := t[first].recent; ; {
		m := &t[i]
		switch d := ahead(psn-m.psn, 0); {
		case d < 0 && m.before != i:
			i = m.before
		case d >= int64(m.total) && m.after != i:
			i = m.after
		default:
			t[first].recent = i
			return i
		}
	}
}

// answered returns the sequence number of the packet that caused an acknowledgement: an
// acknowledgement of nothing has the number of the message before.
func (h *Host) answered(bth packet.BTH, aeth packet.AETH) uint32 {
	if h.cfg.Recovery.keeps() && len(aeth) >= packet.AETHLen+sackLen {
		return binary.BigEndian.Uint32(aeth[packet.AETHLen:])
	}
	return bth.PSN()
}

// current returns the message of a queue pair that began last of those that have not
// ended: its rate is what a notification about the queue pair is for.
func (h *Host) current(first *sender) *sender {
	if !first.many {
		return first
	}
	for i := h.out[first.index()].recent; ; i = h.out[i].after {
		s := h.senders[i]
		if s.ctl == nil && s.ended == 0 {
			return first // the message before was the last to begin
		}
		if s.ctl != nil || first.ctl == nil {
			first = s
		}
		if h.out[i].after == i {
			return first
		}
	}
}
