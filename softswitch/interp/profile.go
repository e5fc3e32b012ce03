// SPDX-License-Identifier: Apache-2.0

package interp

// Profile is an action profile: actions that entries of several tables refer
// to as members, and groups of members of which a selector picks one for each
// packet.
type Profile struct {
	Info    *ProfileInfo
	Members map[uint32]*Member
	Groups  map[uint32]*Group
	own     []*Group // of single entries
	sweepAt int      // length of own at which it is swept
}

// Member is an action with its arguments.
type Member struct {
	ID     uint32
	Action int
	Args   []uint64
	// Users counts the entries and groups that refer to the member.
	Users int
}

// Group is a set of members to choose from.
type Group struct {
	ID      uint32
	Members []GroupMember
	MaxSize int
	// Random picks members at random rather than by the profile's selector.
	Random bool
	// Users counts the entries that refer to the group.
	Users   int
	profile *Profile // of a group that belongs to one entry
	listed  bool     // is in profile.own
	// live are the members that may be chosen. upTo has, by member, the sum of
	// the weights as far as it; nil where each weighs one. Memory is in
	// proportion to the members, whatever they weigh.
	live []*Member
	upTo []uint64
}

// GroupMember is a member's place in a group.
type GroupMember struct {
	Member *Member
	Weight int
	// Down takes the member out of the choice: the port it watches has no link.
	Down bool
	// Watch is that port, or −1; Owner is for the control plane.
	Watch int
	Owner any
}

func newProfile(info *ProfileInfo) *Profile {
	return &Profile{Info: info, Members: map[uint32]*Member{}, Groups: map[uint32]*Group{}}
}

// Choose prepares the choice among the members, after they changed.
func (g *Group) Choose() {
	g.live, g.upTo = g.live[:0:0], nil
	alike := true
	for _, m := range g.Members {
		if !m.Down && m.Weight > 0 {
			g.live = append(g.live, m.Member)
			alike = alike && m.Weight == 1
		}
	}
	if alike {
		return
	}
	g.upTo = make([]uint64, 0, len(g.live))
	sum := uint64(0)
	for _, m := range g.Members {
		if !m.Down && m.Weight > 0 {
			sum += uint64(m.Weight)
			g.upTo = append(g.upTo, sum)
		}
	}
}

// slots returns the sum of the weights: that many numbers pick a member.
func (g *Group) slots() uint64 {
	if n := len(g.upTo); n > 0 {
		return g.upTo[n-1]
	}
	return uint64(len(g.live))
}

// pick returns the member that a number less than slots picks. Each has as
// many of them as it weighs, in the order of the members.
func (g *Group) pick(slot uint64) *Member {
	if g.upTo == nil {
		return g.live[slot]
	}
	lo, hi := 0, len(g.upTo)-1 // the first member whose sum is above slot
	for lo < hi {
		if mid := (lo + hi) / 2; g.upTo[mid] > slot {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return g.live[lo]
}

// NewGroup returns a group that belongs to one entry.
func (p *Profile) NewGroup() *Group { return &Group{profile: p} }

// Use counts an entry that refers to the group, or, with −1, one that does no
// longer.
func (g *Group) Use(by int) {
	g.Users += by
	p := g.profile
	if p == nil || by < 0 || g.listed {
		return
	}
	g.listed = true
	if len(p.own) >= p.sweepAt { // forget those that no entry refers to
		live := p.own[:0]
		for _, h := range p.own {
			if h.listed = h.Users > 0; h.listed {
				live = append(live, h)
			}
		}
		clear(p.own[len(live):])
		p.own = live
		p.sweepAt = 2*len(live) + 64
	}
	p.own = append(p.own, g)
}

// EachGroup calls f with every group, those of single entries included.
func (p *Profile) EachGroup(f func(*Group)) {
	for _, g := range p.Groups {
		f(g)
	}
	for _, g := range p.own {
		f(g)
	}
}
