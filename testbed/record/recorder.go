// SPDX-License-Identifier: Apache-2.0

package record

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"net/netip"
	"slices"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// Recorder follows a run in virtual time. It is a scenario.Follower, and its
// Store may be read at any time.
type Recorder struct {
	results *fabric.Results // nil before the end
	Store
	topo  *topo.Topology
	ch    channels
	taps  []*tap
	bytes []uint64 // by channel, at the previous sample
	last  vtime.Time
	looks int
	flows map[flowKey]int32
	regs  []string // names of Run.Registers
	seen  []seen   // by node
	// events is the fabric's count of events at the previous sample, latest that
	// sample.
	events uint64
	latest measured
	unused []byte // use of links without traffic
	// causes returns why links were paused so far; nil: the run is not explained. It is
	// called again after half as many samples as until then, since it looks at all pauses.
	causes    func() *result.Causes
	explainAt int

	scratch struct {
		events []Event
		paths  []int32
	}
	// found caches results of flowOf.
	found [4096]foundFlow
}

// measured is an element of Run.Use, Queues and Values.
type measured struct {
	use    []byte
	queues []int64
	values []uint64
}

// seen is the last reading of a switch's registers.
type seen struct {
	state  *interp.State      // of the program that has the registers
	regs   []*interp.Register // by Recorder.regs; nil if there is none
	values []uint64
}

// Every is the time between the first samples.
const Every = 50 * vtime.Microsecond

// New returns a recorder of a run that is about to begin.
func New(s scenario.Start, limits Limits) *Recorder {
	t := s.Topology
	net := result.NewNetwork(t)
	r := &Recorder{
		topo: t, ch: channelsOf(net, func(i int) int { return len(t.Nodes[i].Ports) }),
		bytes: make([]uint64, 2*len(t.Links)), unused: make([]byte, 2*len(t.Links)), flows: make(map[flowKey]int32), seen: make([]seen, len(t.Nodes)),
	}
	r.limits, r.causes, r.explainAt = limits, s.Causes, firstCauses
	r.run = Run{
		Scenario: s.Scenario, Arm: s.Case, Seed: s.Seed, Network: net, EveryNS: Every.Nanoseconds(), Live: true,
		TNS: []int64{}, Use: [][]byte{}, Queues: [][]int64{}, Values: [][]uint64{}, Paths: [][]int32{}, Events: []Event{}, Flows: []Flow{}, Registers: []Register{},
	}
	for i := range s.Flows {
		r.flow(&s.Flows[i])
	}
	for _, m := range s.Program.Manifest.Registers {
		counts := m.Unit == "packets" || m.Unit == "messages" || m.Unit == "paths"
		if counts && len(m.Index) == 1 && m.Index[0].Size <= mostCells {
			r.run.Registers = append(r.run.Registers, Register{m.Name, m.Unit})
			r.regs = append(r.regs, m.Name)
		}
	}
	return r
}

// flow adds a flow. The order of calls is that of the fabric's flows.
func (r *Recorder) flow(f *fabric.Flow) {
	i := len(r.run.Flows)
	port := f.Port
	if port == 0 {
		port = fabric.DefaultPort(i)
	}
	key := newFlowKey(r.topo.Nodes[f.Src].IP, r.topo.Nodes[f.Dst].IP, port)
	r.flows[key] = int32(i)
	*r.slot(key) = foundFlow{} // it may have an earlier flow with this key
	r.run.Flows = append(r.run.Flows, Flow{f.Src, f.Dst, f.Size, f.Start.Nanoseconds(), 0})
}

// mostCells is the size of the largest register arrays that are recorded.
const mostCells = 256

var _ scenario.Follower = (*Recorder)(nil)

// Tap implements scenario.Follower.
func (r *Recorder) Tap(n *topo.Node) fabric.Tap {
	t := &tap{in: r.ch.in[n.ID], out: r.ch.out[n.ID], epoch: epochStep}
	for i := range n.Ports {
		t.rates = append(t.rates, r.topo.Links[n.Ports[i].Link].Rate)
	}
	for len(r.taps) <= n.ID {
		r.taps = append(r.taps, nil)
	}
	r.taps[n.ID] = t
	return t
}

// Next implements scenario.Follower.
func (r *Recorder) Next() vtime.Time { return r.last + vtime.Time(r.run.EveryNS)*vtime.Nanosecond }

// Look implements scenario.Follower: it takes a sample.
func (r *Recorder) Look(lab *virtual.Lab) {
	now := lab.Fabric.Now()
	if now <= r.last {
		return
	}
	r.mu.Lock()
	for i := len(r.run.Flows); i < lab.Fabric.Flows(); i++ { // open traffic adds flows during the run
		f := lab.Fabric.Flow(i)
		r.flow(&f.Flow)
	}
	r.mu.Unlock()
	var events []Event
	var left int64
	paths := []int32{}
	if n := lab.Fabric.Events(); n != r.events || r.looks == 0 {
		r.events = n
		r.latest = measured{r.use(lab.Fabric, now-r.last), r.queues(lab), r.values(lab)}
		events, paths, left = r.drain()
	} else {
		// No event since the previous sample. Samples may share lists, which do
		// not change.
		r.latest.use, r.latest.values = r.unused, []uint64{}
	}
	r.looks++
	if r.looks%pathLooks == 0 {
		for _, t := range r.taps {
			if t != nil {
				t.epoch += epochStep
			}
		}
	}
	var why *result.Causes
	if r.causes != nil && r.looks >= r.explainAt {
		why, r.explainAt = r.causes(), r.looks+r.looks/2
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if why != nil {
		r.run.Causes = why
	}
	r.run.Left += left
	r.addEvents(events)
	r.add(now.Nanoseconds(), r.latest.use, r.latest.queues, r.latest.values, paths)
	r.last = now
}

// firstCauses is the number of samples before causes are first recorded.
const firstCauses = 8

// End implements scenario.Follower: it records the outcomes of the flows.
func (r *Recorder) End(results *fabric.Results) {
	var why *result.Causes
	if r.causes != nil {
		why = r.causes()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	flows := slices.Clone(r.run.Flows) // snapshots refer to the old list
	for i := range min(len(flows), len(results.Flows)) {
		flows[i].StartNS, flows[i].FCTNS = results.Flows[i].Start.Nanoseconds(), results.Flows[i].FCT.Nanoseconds()
	}
	r.run.Flows, r.run.Live, r.run.Causes, r.results = flows, false, why, results
}

// Results returns the results of the run, or nil before its end.
func (r *Recorder) Results() *fabric.Results {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.results
}

// use returns the use of each channel.
func (r *Recorder) use(f *fabric.Fabric, d vtime.Time) []byte {
	use := make([]byte, len(r.bytes))
	for i := range r.topo.Links {
		for end := range 2 {
			c := 2*i + end
			if n := f.Sent(i, end).Bytes; n != r.bytes[c] {
				use[c] = share(n-r.bytes[c], r.topo.Links[i].Rate, d)
				r.bytes[c] = n
			}
		}
	}
	return use
}

// queues returns the egress queues that are not empty, by channel.
func (r *Recorder) queues(lab *virtual.Lab) []int64 {
	type queue struct{ channel, bytes int64 }
	var found []queue
	for _, id := range r.topo.Switches() {
		sw := lab.Switch(id)
		sw.Lock()
		for p := range r.topo.Nodes[id].Ports {
			if n := sw.QueueBytes(p + 1); n > 0 {
				found = append(found, queue{int64(r.ch.out[id][p]), n})
			}
		}
		sw.Unlock()
	}
	slices.SortFunc(found, func(a, b queue) int { return cmp.Compare(a.channel, b.channel) })
	out := []int64{}
	for _, q := range found {
		out = append(out, q.channel, q.bytes)
	}
	return out
}

// values returns the registers that changed.
func (r *Recorder) values(lab *virtual.Lab) []uint64 {
	out := []uint64{}
	for _, id := range r.topo.Switches() {
		sw := lab.Switch(id)
		sw.Lock()
		s := &r.seen[id]
		if state := sw.State(); state != s.state || s.values == nil {
			s.find(state, r.regs)
		}
		for i, reg := range s.regs {
			v := sum(reg, r.run.Registers[i].Unit == "paths")
			if v != s.values[i] {
				s.values[i] = v
				out = append(out, uint64(id), uint64(i), v)
			}
		}
		sw.Unlock()
	}
	return out
}

// find looks up registers in a program's state, which is nil without a program.
func (s *seen) find(state *interp.State, names []string) {
	s.state, s.regs = state, make([]*interp.Register, len(names))
	if s.values == nil {
		s.values = make([]uint64, len(names))
	}
	if state == nil {
		return
	}
	for _, reg := range state.Registers {
		if i := slices.Index(names, reg.Info.Name); i >= 0 {
			s.regs[i] = reg
		}
	}
}

// sum adds up a register's cells, or counts the bits that are set in them.
func sum(reg *interp.Register, count bool) (v uint64) {
	if reg == nil {
		return 0
	}
	for i := range reg.Info.Size {
		for _, limb := range reg.Cell(i) {
			if count {
				limb = uint64(bits.OnesCount64(limb))
			}
			v += limb
		}
	}
	return v
}

// drain empties the taps. It returns events in order of time, which are valid
// until the next call, the paths of flows, and the number of omitted events.
func (r *Recorder) drain() (events []Event, paths []int32, left int64) {
	events, paths = r.scratch.events[:0], r.scratch.paths[:0]
	for _, t := range r.taps {
		if t == nil {
			continue
		}
		events = append(events, t.events...)
		for _, h := range t.hops {
			if flow, ok := r.flowOf(h.key); ok {
				paths = append(paths, flow, h.channel)
			}
		}
		left += t.left
		t.events, t.hops, t.left = t.events[:0], t.hops[:0], 0
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a[0], b[0]) })
	r.scratch.events, r.scratch.paths = events, paths
	return events, append([]int32{}, paths...), left
}

// flowOf returns the flow with a key.
func (r *Recorder) flowOf(key flowKey) (flow int32, ok bool) {
	f := r.slot(key)
	if !f.some || f.key != key {
		if flow, ok = r.flows[key]; !ok {
			return 0, false
		}
		*f = foundFlow{key, flow, true}
	}
	return f.flow, true
}

// foundFlow is a result of flowOf.
type foundFlow struct {
	key  flowKey
	flow int32
	some bool
}

// slot returns the slot of a key in the cache.
func (r *Recorder) slot(key flowKey) *foundFlow {
	return &r.found[(key.addresses*0x9e3779b97f4a7c15^uint64(key.port)<<52)>>52]
}

// pathLooks is the number of samples in which a flow is recorded once per
// channel.
const pathLooks = 4

// epochStep makes hashes of different epochs differ: 2^32 divided by the golden
// ratio.
const epochStep = 0x9e3779b1

// flowKey identifies the flow of a packet.
type flowKey struct {
	addresses uint64 // IPv4's source and destination
	port      uint16 // UDP source
}

func newFlowKey(src, dst netip.Addr, port uint16) flowKey {
	a, b := src.As4(), dst.As4()
	return flowKey{uint64(be.Uint32(a[:]))<<32 | uint64(be.Uint32(b[:])), port}
}

// tap observes the frames that arrive at a node. Between two samples it keeps at
// most tapEvents events and tapHops hops.
type tap struct {
	in, out []int // channels, by port
	rates   []vtime.Rate
	events  []Event
	hops    []hop
	left    int64
	ipAt    int    // offset of the last IPv4 header behind other headers
	epoch   uint32 // number of the epoch of pathLooks samples, times epochStep
	// recent has hashes of flow, port and epoch that were recorded. An evicted
	// one is recorded again, which does no harm. It is small to cause few cache
	// misses.
	recent [256]uint32
}

// hop is a flow of which a packet arrived on a channel.
type hop struct {
	key     flowKey
	channel int32
}

// ackLen is the length in bytes up to which frames are not recorded:
// acknowledgements, half of all frames.
const ackLen = 78

// Limits of a tap between two samples.
const (
	tapEvents = 4096
	tapHops   = 512
)

var be = binary.BigEndian

// Arrive implements fabric.Tap. It is most of the cost of recording.
func (t *tap) Arrive(now vtime.Time, port int, f *packet.Frame) {
	d := f.Data
	if len(d) < 36 {
		return
	}
	if d := (*[36]byte)(d); d[12] == 0x08 && d[13] == 0x00 {
		if f.Len() > ackLen {
			t.flow(port, be.Uint64(d[26:34]), be.Uint16(d[34:36]))
		}
		return
	}
	t.other(now, port, f)
}

// flow records a flow by its addresses and source port.
func (t *tap) flow(port int, addresses uint64, sport uint16) {
	hash := (addresses*0x9e3779b97f4a7c15 ^ uint64(sport)<<32 ^ uint64(port)) * 0x9e3779b97f4a7c15
	slot, tag := &t.recent[hash>>56], uint32(hash>>24)^t.epoch
	if *slot != tag {
		*slot = tag
		t.hop(port, flowKey{addresses, sport})
	}
}

// hop records that a packet of a flow arrived by a port.
func (t *tap) hop(port int, key flowKey) {
	if len(t.hops) < tapHops {
		t.hops = append(t.hops, hop{key, int32(t.in[port-1])})
	}
}

// other records frames with other headers than IPv4 after Ethernet's.
func (t *tap) other(now vtime.Time, port int, f *packet.Frame) {
	d := f.Data
	switch be.Uint16(d[12:]) {
	case 0x8808:
		t.pfc(now, port, d)
		return
	case packet.EtherTypeLocal:
		if d[14] != packet.KindTag {
			t.message(now, port, d)
			return
		}
	case packet.EtherTypeFabric:
	default:
		return
	}
	if f.Len() <= ackLen {
		return
	}
	if at := t.ipv4(d, f.Len()); at > 0 {
		t.flow(port, be.Uint64(d[at+12:]), be.Uint16(d[at+20:]))
	}
}

// ipv4 returns the offset of the IPv4 header behind headers of the program, whose
// length varies: its protocol is UDP and its length that of the frame's rest. It
// returns -1 if there is none.
func (t *tap) ipv4(d []byte, length int) int {
	is := func(at int) bool {
		return at+22 <= len(d) && d[at] == 0x45 && d[at+9] == 17 && int(be.Uint16(d[at+2:])) == length-at
	}
	if t.ipAt > 0 && is(t.ipAt) {
		return t.ipAt
	}
	for at := 16; at+22 <= len(d) && at < 80; at++ {
		if is(at) {
			t.ipAt = at
			return at
		}
	}
	return -1
}

func (t *tap) note(e Event) {
	if len(t.events) < tapEvents {
		t.events = append(t.events, e)
	} else {
		t.left++
	}
}

// pfc records each enabled class of a PFC frame.
func (t *tap) pfc(now vtime.Time, port int, d []byte) {
	pfc := packet.AsPFC(d)
	if pfc == nil {
		return
	}
	for c := range packet.Classes {
		if pfc.Enabled()&(1<<c) == 0 {
			continue
		}
		until := int64(0)
		if q := pfc.Quanta(c); q > 0 {
			until = (now + packet.PauseTime(q, t.rates[port-1])).Nanoseconds()
		}
		t.note(Event{now.Nanoseconds(), int64(Pause), int64(t.out[port-1]), int64(c), until})
	}
}

// message records a message of a switch: a warning, a kick-out or another.
func (t *tap) message(now vtime.Time, port int, d []byte) {
	e := Event{now.Nanoseconds(), int64(Message), int64(t.in[port-1]), int64(d[14]), 0}
	switch d[14] {
	case packet.KindWarning:
		e[1], e[3], e[4] = int64(Warning), int64(d[16]), int64(d[15])
	case packet.KindKickOut:
		e[1], e[3] = int64(KickOut), int64(d[15])
	}
	t.note(e)
}
