// SPDX-License-Identifier: Apache-2.0

package judge

import "github.com/pauseless/pauseless/bmv2tests/model"

// sojournShift says that each sojourn counts an eighth in the average.
const sojournShift = 3

// plb is Algorithm 2 of PLB for a packet at its source leaf.
func (s *Switch) plb(p *pkt) model.Path {
	i := s.flow(p)
	f := s.flowletOf(p)
	paths := make([]model.PLBPath, p.paths)
	for q := range paths {
		k := s.at(p.leaf, q)
		paths[q] = model.PLBPath{RTT: s.rtt[k].Latest, Util: s.util[k], Active: s.active[k]}
	}
	newFlow := !f.Active(p.now, s.cfg.FlowletGap)
	f.Last = p.now
	if newFlow || model.Reroutes(false, paths[f.Path], s.cfg.RTTLow, s.cfg.Full) {
		from := int(s.rng.below(int64(p.paths)))
		if !newFlow {
			s.note("flow moved")
		}
		f.Valid, f.Path = true, model.Reroute(paths, from, s.cfg.RTTLow, s.cfg.Full)
		s.tolerable[i] = model.Tolerable(paths, f.Path)
	}
	p.tolerable = s.tolerable[i]
	return f.Path
}

// meetPause is lines 3 to 5 and 9 to 11 of Algorithm 1.
func (s *Switch) meetPause(p *pkt) {
	i := s.out(p)
	byteTime, priced := s.cfg.PauseByteTime[p.outPort]
	if p.fabric == nil || !priced || !s.pausedUntil[i].Paused(p.now) {
		return
	}
	tpd := model.TPD(s.qOut[i], model.Ratio{Num: byteTime, Den: 1024}) // line 3
	switch h := p.fabric; {
	case s.sojourn[i].Waits(h.tolerable, tpd): // line 5
		s.note("wait")
		p.waits = true // line 6
	case p.paths > 1 && s.cfg.Leaf >= 0: // its source leaf is here
		s.note("kick-out")
		s.active[s.at(p.leaf, p.path)] = false // line 11
	case p.ip != nil: // the message goes to its source address
		// Tell the source leaf, but not for every packet: at most once in a while
		// of a path, which is known by a hash.
		k := crc16([]byte{byte(h.srcLeaf >> 8), byte(h.srcLeaf), byte(h.dstLeaf >> 8), byte(h.dstLeaf), byte(h.path)}) & 1023
		if mod32(p.now-s.told[k]) >= s.cfg.TellAgain && p.request(&message{kind: kickMessage, path: int(h.path), to: h.dstLeaf}) {
			s.note("kick-out told")
			s.told[k] = p.now
		}
	}
}

// crc16 is CRC-16/ARC.
func crc16(b []byte) uint16 {
	var c uint16
	for _, x := range b {
		c ^= uint16(x)
		for range 8 {
			if c&1 != 0 {
				c = c>>1 ^ 0xa001
			} else {
				c >>= 1
			}
		}
	}
	return c
}

// probe has a path measured that no packet was stamped on for long: a path
// that was kicked out stays so "until its RTT and link utilization are
// updated". Each interval the next path has its turn.
func (s *Switch) probe(p *pkt) {
	if p.fabric == nil || p.paths < 2 || s.cfg.Leaf < 0 || mod32(p.now-s.probedAt[p.leaf]) < s.cfg.ProbeInterval {
		return
	}
	s.probedAt[p.leaf] = p.now
	path := model.InTurn(s.probed[p.leaf], p.paths)
	s.probed[p.leaf] = path
	i := s.at(p.leaf, path)
	if mod32(p.now-s.stampedAt[i]) >= s.cfg.ProbeInterval && p.request(&message{kind: probeMessage, path: path, from: s.cfg.Leaf, to: p.leaf}) {
		s.note("probe")
		s.stampedAt[i] = p.now
	}
}
