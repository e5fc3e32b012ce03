// SPDX-License-Identifier: Apache-2.0

package judge

import "github.com/pauseless/pauseless/bmv2tests/model"

// The header between leaves: round-trip times as RLB's section V measures
// them, CONGA's feedback, PLB's load.

// rttShift says that each sample counts an eighth in the average.
const rttShift = 3

// learn is what the destination leaf takes from the header. It reports false
// for a packet that ends here.
func (s *Switch) learn(p *pkt) bool {
	h := p.fabric
	if h.srcLeaf >= int64(s.Leaves) {
		return !(s.PLB && h.probe == 1)
	}
	if s.RTT && h.stamped {
		s.echoPath[h.srcLeaf] = int(h.path)
		s.echoAge[h.srcLeaf] = mod32(p.now - h.stamp)
		s.echoLoad[h.srcLeaf] = h.load
	}
	if s.RTT && h.echoed {
		i := s.at(h.srcLeaf, int(h.echoPath))
		s.note("round-trip time")
		s.rtt[i].Sample(0, mod32(p.now-h.echo), rttShift)
		s.rttAt[i] = p.now
		s.util[i], s.active[i] = h.echoLoad, true
	}
	if s.CONGA {
		if i := s.at(h.srcLeaf, int(h.path)); s.fromLeaf[i] != h.congestion {
			s.fromLeaf[i], s.changed[i] = h.congestion, true
		}
		if h.fedPath != 0 {
			s.toLeaf[s.at(h.srcLeaf, int(h.fedPath-1))] = model.CongestionEntry{Metric: h.fedValue, At: p.now}
		}
	}
	return !(s.PLB && h.probe == 1)
}

// mod32 is a difference of times on a clock of 32 bits.
func mod32(t Time) Time { return t & (1<<32 - 1) }

// encapsulate is what the source leaf writes: a stamp on one packet per path
// and interval, the echo that waits for a ride, CONGA's feedback, what PLB's
// path may cost. Unless it carries something for every packet, a header with
// nothing to say is left out.
func (s *Switch) encapsulate(p *pkt) {
	h := &fabric{srcLeaf: s.cfg.Leaf, path: int64(p.path), dstLeaf: p.leaf, tolerable: p.tolerable}
	i := s.at(p.leaf, p.path)
	if s.RTT && mod32(p.now-s.stampedAt[i]) >= s.cfg.RTTInterval {
		s.note("stamp")
		h.stamped, h.stamp = true, mod32(p.now)
		s.stampedAt[i] = p.now
	}
	if s.RTT && s.echoPath[p.leaf] >= 0 {
		h.echoed, h.echoPath = true, int64(s.echoPath[p.leaf])
		h.echo = mod32(p.now - s.echoAge[p.leaf])
		h.echoLoad = s.echoLoad[p.leaf]
		s.echoPath[p.leaf] = -1
	}
	if s.CONGA {
		first := s.at(p.leaf, 0)
		fed := model.Feedback(s.fedPath[p.leaf], s.changed[first:first+s.PathCells], p.paths)
		s.fedPath[p.leaf], s.changed[first+fed] = fed, false
		h.fedPath, h.fedValue = int64(fed+1), s.fromLeaf[first+fed]
	}
	if s.EveryPacket || h.stamped || h.echoed {
		p.fabric = h
	}
}
