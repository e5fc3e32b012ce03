// SPDX-License-Identifier: Apache-2.0

package interp

// Profile is an action profile: members are actions to which entries of several
// tables refer, and groups are sets of members of which a selector chooses one
// per packet.
type Profile struct {
	Info    *ProfileInfo
	Members map[uint32]*Member
	Groups  map[uint32]*Group
	own     []*Group // of single entries
	sweepAt int      // length of own at which unused groups are removed
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
	// Random selects members at random instead of by the profile's selector.
	Random bool
	// Users counts the entries that refer to the group.
	Users   int
	profile *Profile // of a group that belongs to one entry
	listed  bool     // is in profile.own
	// live are the members that can be selected. upTo has the running sum of the
	// weights; nil if each is one. Memory is proportional to the number of members,
	// whatever their weights.
	live []*Member
	upTo []uint64
}

// GroupMember is a member of a group with its weight.
type GroupMember struct {
	Member *Member
	Weight int
	// Down excludes the member: the link of its watch port is down.
	Down bool
	// Watch is the watch port, or −1. Owner is for the control plane.
	Watch int
	Owner any
}

func newProfile(info *ProfileInfo) *Profile {
	return &Profile{Info: info, Members: map[uint32]*Member{}, Groups: map[uint32]*Group{}}
}

// Choose updates live and upTo after the members changed.
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

// slots returns the sum of the weights of the live members.
func (g *Group) slots() uint64 {
	if n := len(g.upTo); n > 0 {
		return g.upTo[n-1]
	}
	return uint64(len(g.live))
}

// pick returns the member for a number below slots. In the order of the
// members, each has as many numbers as its weight.
func (g *Group) pick(slot uint64) *Member {
	if g.upTo == nil {
		return g.live[slot]
	}
	lo, hi := 0, len(g.upTo)-1 // the first member whose running sum is above slot
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

// Use counts an entry that refers to the group; −1 removes one.
func (g *Group) Use(by int) {
	g.Users += by
	p := g.profile
	if p == nil || by < 0 || g.listed {
		return
	}
	g.listed = true
	if len(p.own) >= p.sweepAt { // remove groups that no entry refers to
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
