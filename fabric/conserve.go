// SPDX-License-Identifier: Apache-2.0

package fabric

import "fmt"

// A Holder is a node that can count the frames that it holds in queues or
// recirculation.
type Holder interface {
	HeldFrames() int
}

// conserve checks that no frame was lost without a counted cause and none was
// created without a source, whenever RunUntil returns, for nodes that have
// handled events since the last check and for their links:
//
//   - on each link direction, frames and bytes sent = lost + damaged + still
//     with the sender's side + ever on the receiver's;
//   - at each node, frames that were ever on the receiver's side of its links =
//     frames it received + those that are still there;
//   - in each node that is a Holder, frames it received + those it made, less
//     those it consumed or dropped = frames it sent + those it holds.
//
// The node's pool counts the frames that are made and consumed. An error names
// the place. It is an error of this program or of a node, not of the
// experiment.
func (f *Fabric) conserve() error {
	if f.engine.checked == f.engine.events {
		return nil // nothing has happened
	}
	for id, pipes := range f.pipes {
		l := &f.topo.Links[id]
		if f.engine.nodes[l.A.Node].quiet() && f.engine.nodes[l.B.Node].quiet() {
			continue
		}
		for dir, p := range pipes {
			from := l.A
			if dir == 1 {
				from = l.B
			}
			box, sent := p.boxed(), p.sent
			if frames := p.taken.Frames + sent.Lost + sent.Corrupt + box.Frames; sent.Frames != frames {
				return fmt.Errorf("BUG: %s sent %d frames on port %d by %v, but the other end got %d, %d were lost, %d damaged and %d are on their way",
					f.topo.Nodes[from.Node].Name, sent.Frames, from.Port, f.Now(), p.taken.Frames, sent.Lost, sent.Corrupt, box.Frames)
			}
			if bytes := p.taken.Bytes + p.lostBytes + box.Bytes; sent.Bytes != bytes {
				return fmt.Errorf("BUG: %s sent %d bytes on port %d by %v, but the other end got %d, %d were lost or damaged and %d are on their way",
					f.topo.Nodes[from.Node].Name, sent.Bytes, from.Port, f.Now(), p.taken.Bytes, p.lostBytes, box.Bytes)
			}
		}
	}
	for i, n := range f.engine.nodes {
		if n.quiet() {
			continue
		}
		var came int64
		for _, p := range n.in {
			came += int64(p.taken.Frames) - int64(p.left())
		}
		if came != int64(n.received) {
			return fmt.Errorf("BUG: %s received %d frames by %v, but its links brought %d", f.topo.Nodes[i].Name, n.received, f.Now(), came)
		}
		h, ok := n.impl.(Holder)
		if !ok {
			continue
		}
		var sent int64
		for _, p := range n.out {
			sent += int64(p.sent.Frames - p.sent.Lost - p.sent.Corrupt)
		}
		held := int64(h.HeldFrames())
		if missing := int64(n.received) + n.pool.Out() - sent - held; missing != 0 {
			return fmt.Errorf("BUG: %d frames are missing in %s at %v: %d were received, %d more were created than consumed, %d were sent and %d are held",
				missing, f.topo.Nodes[i].Name, f.Now(), n.received, n.pool.Out(), sent, held)
		}
	}
	for _, n := range f.engine.nodes {
		n.checked = n.handled
	}
	f.engine.checked = f.engine.events
	return nil
}

// Frames returns the number of frames that exist: in hosts and switches, and on links.
func (f *Fabric) Frames() (n int64) {
	for i, node := range f.engine.nodes {
		if f.isNode(i) {
			n += node.pool.Out()
		}
	}
	return n
}

// quiet reports whether the node has handled no event since the last check. An
// earlier error would persist, and new frames are counted when they are
// handled.
func (n *node) quiet() bool { return n.checked == n.handled }

// boxed counts the frames that the receiver has not taken.
func (p *pipe) boxed() (c LinkCount) {
	for _, box := range p.box {
		for list := box.first; list != nil; list = list.next {
			c.Frames += uint64(list.n)
			for _, m := range list.messages[:list.n] {
				c.Bytes += uint64(m.f.Len())
			}
		}
	}
	return c
}

// left counts the frames that the receiver has taken and that have not arrived.
func (p *pipe) left() int {
	n := -p.head
	for c := p.waiting.first; c != nil; c = c.next {
		n += c.n
	}
	return n
}
