// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"math"
	"slices"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Estimator computes the completion times of flows in an otherwise empty
// network.
type Estimator struct {
	t     *topo.Topology
	cfg   *roce.Config
	kit   *cc.Kit
	paths *topo.Paths
	// global is the longest base round trip, if hosts use that of the network.
	global vtime.Time
}

// NewEstimator returns an estimator for a network and its hosts.
func NewEstimator(t *topo.Topology, hosts *roce.Config) (*Estimator, error) {
	kit, err := hosts.CC.Kit(vtime.Gbps) // the result does not depend on the rate
	if err != nil {
		return nil, err
	}
	e := &Estimator{t: t, cfg: hosts, kit: kit, paths: t.Paths()}
	if hosts.NetworkRTT() {
		e.global = e.LongestRTT()
	}
	return e, nil
}

// Estimate is the estimate for a flow in an otherwise empty network.
type Estimate struct {
	FCT     vtime.Time // until the last acknowledgement is received
	Arrival vtime.Time // until the last byte is received
	BaseRTT vtime.Time // of one full packet; the longest in the network if hosts use that
	Rate    vtime.Rate // of the slowest link on the path
	// Switches is the number of switches on the path.
	Switches int
	// Paths is the number of next hops at the source's leaf and at the next switch;
	// zero on the way down.
	Paths [2]int
}

// Flow returns the estimate for a flow, or false if there is no path.
func (e *Estimator) Flow(fl *Flow) (Estimate, bool) {
	path := e.path(fl.Src, fl.Dst)
	if path == nil {
		return Estimate{}, false
	}
	est := Estimate{Paths: e.choices(path, fl), Switches: len(path) - 1}
	l := e.lone(path, fl, est.Paths)
	_, est.Arrival = l.arrival(fl.Size)
	est.FCT, est.BaseRTT, est.Rate = l.time(fl.Size), e.global, l.rate
	if e.global == 0 {
		est.BaseRTT = l.time(l.mtu)
	}
	return est, true
}

// choices returns the number of next hops upwards at the first two switches of
// a path.
func (e *Estimator) choices(path []*topo.Link, fl *Flow) (n [2]int) {
	node := fl.Src
	for i := range n {
		if len(path) < i+3 {
			break
		}
		node ^= path[i].A.Node ^ path[i].B.Node
		up := path[i+1].A.Node ^ path[i+1].B.Node ^ node
		if e.t.Nodes[up].Tier <= e.t.Nodes[node].Tier {
			break
		}
		n[i] = e.paths.To(fl.Dst).NextHops(node)
	}
	return n
}

// path returns the links between two hosts, in order.
func (e *Estimator) path(src, dst int) []*topo.Link {
	return e.paths.To(dst).From(src)
}

// LongestRTT returns the longest base round trip of a full packet between two hosts.
// Of hosts with equal links to one leaf it considers only the first, and the second as a
// receiver for it.
func (e *Estimator) LongestRTT() vtime.Time {
	if e.global != 0 {
		return e.global
	}
	type kind struct {
		leaf  int
		rate  vtime.Rate
		delay vtime.Time
	}
	seen := make(map[kind]int) // the first host
	second := make(map[int]int)
	var hosts []int
	for _, h := range e.t.Hosts() {
		l := &e.t.Links[e.t.Nodes[h].Ports[0].Link]
		k := kind{e.t.Nodes[h].Leaf, l.Rate, l.Delay}
		first, ok := seen[k]
		if !ok {
			seen[k] = h
			hosts = append(hosts, h)
		} else if _, ok := second[first]; !ok {
			second[first] = h
		}
	}
	var longest vtime.Time
	try := func(src, dst int) {
		if est, ok := e.Flow(&Flow{Src: src, Dst: dst, Size: 1}); ok {
			longest = max(longest, est.BaseRTT)
		}
	}
	for _, dst := range hosts {
		for _, src := range hosts {
			if src != dst {
				try(src, dst)
			}
		}
		if other, ok := second[dst]; ok {
			try(dst, other)
		}
	}
	return longest
}

// lone is a flow without competing flows.
type lone struct {
	path     []*topo.Link
	mtu      int64
	data     int // bytes of a packet on the link in addition to its payload
	ack      int // bytes of an acknowledgement on the link
	ackEvery int
	rate     vtime.Rate // of the slowest link
}

func (e *Estimator) lone(path []*topo.Link, fl *Flow, choices [2]int) lone {
	data, ack := e.cfg.Sizes(e.kit, &roce.Flow{Coflow: uint16(fl.Coflow), Paths: choices})
	o := e.cfg.Overhead
	l := lone{path, int64(e.cfg.MTU), data + o, ack + o, e.cfg.AckEvery, math.MaxInt64}
	if e.cfg.Transport == roce.UET {
		l.ackEvery = math.MaxInt // that of the last packet is the last one
	}
	for _, link := range path {
		l.rate = min(l.rate, link.Rate)
	}
	return l
}

// time returns the time from the start of a flow of size bytes until its last
// acknowledgement is received. Packets are stored and forwarded at every switch
// without processing time, and follow one another at the rate of the slowest
// link so far. The same holds for the last two acknowledgements: that of a
// short last packet may have to wait for the previous one.
func (l *lone) time(size int64) vtime.Time {
	before, last := l.arrival(size)
	for _, link := range slices.Backward(l.path) {
		tx := link.Rate.TxTime(l.ack)
		if before >= 0 {
			last = max(last, before+tx)
			before += tx + link.Delay
		}
		last += tx + link.Delay
	}
	return last
}

// arrival returns the times from the start of a flow until its last packet but one has
// arrived, if that is acknowledged, otherwise -1, and its last one.
func (l *lone) arrival(size int64) (before, last vtime.Time) {
	packets := (size + l.mtu - 1) / l.mtu
	full := int(l.mtu) + l.data
	final := int(size-(packets-1)*l.mtu) + l.data
	// Arrival times of the first, the last but one and the last packet at the
	// current node.
	var first vtime.Time
	var slowest vtime.Time // full packet on a link so far
	for _, link := range l.path {
		tx := link.Rate.TxTime(full)
		slowest = max(slowest, tx)
		if packets > 1 {
			left := first + tx + vtime.Time(packets-2)*slowest
			last = max(last, left)
			before = left + link.Delay
		}
		last += link.Rate.TxTime(final) + link.Delay
		first += tx + link.Delay
	}
	if packets == 1 || (packets-1)%int64(l.ackEvery) != 0 {
		before = -1 // it has no acknowledgement
	}
	return before, last
}
