// SPDX-License-Identifier: Apache-2.0

// Package relay carries frames between pairs of network interfaces with the delay,
// rate and loss of a link, where the kernel has no netem. A frame leaves when its
// last bit would have arrived: after those before it, the time that the link's rate
// takes for its bytes, and the link's delay. The relay reorders nothing, discards
// only what the configured loss and faults discard, and reports how late it was.
//
// The time at which a frame arrives is the kernel's. So a relay that waits for a
// processor delays a frame only if it wakes up after the frame is due.
package relay

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/packet"
)

// Config describes the links that a relay carries.
type Config struct {
	Cables []Cable `json:"cables"`
	// Control is the path of the Unix socket at which the relay takes a Request.
	Control string `json:"control"`
	Seed    uint64 `json:"seed"` // of the random numbers of losses
}

// Cable is a link: two interfaces, which the relay reads and writes.
type Cable struct {
	Interfaces [2]string     `json:"interfaces"`
	Delay      time.Duration `json:"delay_ns"` // one way
	Rate       int64         `json:"rate_bps"` // each way; zero: no time per byte
	Overhead   int           `json:"overhead"` // bytes on the link besides the frame
	Loss       float64       `json:"loss"`     // probability that a frame is lost
}

// ReadConfig reads the file of a Config.
func ReadConfig(name string) (*Config, error) {
	text, err := infile.Read(name)
	if err != nil {
		return nil, err
	}
	var c Config
	if err := infile.JSON(text, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(c.Cables) == 0 {
		return nil, fmt.Errorf("%s: it has no cables: expected {\"cables\": [{\"interfaces\": [\"A\", \"B\"]}]}", name)
	}
	taken := make(map[string]int)
	for i, k := range c.Cables {
		if k.Delay < 0 || k.Rate < 0 || k.Overhead < 0 || k.Loss < 0 || k.Loss > 1 || k.Interfaces[0] == "" || k.Interfaces[1] == "" {
			return nil, fmt.Errorf("%s: cable %d: delay, rate and overhead are at least 0, loss is from 0 to 1, and there are two interfaces", name, i+1)
		}
		for _, port := range k.Interfaces {
			if other := taken[port]; other > 0 {
				return nil, fmt.Errorf("%s: cable %d: interface %s is at cable %d already: frames would go in a circle", name, i+1, port, other)
			}
			taken[port] = i + 1
		}
	}
	return &c, nil
}

// Fault is a time in which one direction of a cable loses frames.
type Fault struct {
	Cable int       `json:"cable"` // index in Config.Cables
	To    int       `json:"to"`    // the end, 0 or 1, that the frames are for
	From  time.Time `json:"from"`
	Until time.Time `json:"until,omitzero"` // zero: without end
	Loss  float64   `json:"loss"`           // probability; 1: the link is down in this direction, or a black hole
	// Pairs are source and destination IPv4 addresses of the frames that the fault is
	// about; none: all frames.
	Pairs [][2]string `json:"pairs,omitempty"`
}

// Request is sent to the control socket as a line of JSON. It replaces the faults,
// unless Faults is null. The answer is a line with Stats.
type Request struct {
	Faults []Fault `json:"faults"`
}

// Stats says what a relay has done since its start.
type Stats struct {
	Frames uint64 `json:"frames"` // carried
	Lost   uint64 `json:"lost"`   // by the loss of links and by faults
	Missed uint64 `json:"missed"` // that the kernel dropped before the relay read them, or could not send
	// How long after its time a frame left: the longest, the 99th percentile (up to
	// 19 % too long), and the mean.
	LateMax  time.Duration `json:"late_max_ns"`
	LateP99  time.Duration `json:"late_p99_ns"`
	LateMean time.Duration `json:"late_mean_ns"`
	// Share is the greatest lateness divided by the delay of the link.
	Share float64 `json:"late_share"`
	Error string  `json:"error,omitempty"` // why the request was refused
}

// carried is a frame under way.
type carried struct {
	due  time.Time
	seq  uint64
	data []byte
	wire *wire
}

// queue is a heap of frames by the time at which they leave.
type queue []*carried

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	if q[i].due.Equal(q[j].due) {
		return q[i].seq < q[j].seq
	}
	return q[i].due.Before(q[j].due)
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(*carried)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	f := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return f
}

// wire is one direction of a cable.
type wire struct {
	cable, to int
	delay     time.Duration
	rate      int64
	overhead  int
	loss      float64
	free      time.Time // when the last bit so far has left
	last      time.Time // due time of the last frame
}

// carrier decides when and whether frames leave. It reads no clock.
type carrier struct {
	wires  []*wire // two per cable: to end 0, to end 1
	queue  queue
	seq    uint64
	rng    *rand.Rand
	faults []Fault
	idle   []*carried
	stats  Stats
	lates  [lateBins]uint64
	sum    time.Duration
}

func newCarrier(c *Config) *carrier {
	r := &carrier{rng: rand.New(rand.NewPCG(c.Seed, 0x72656c6179))}
	for i, k := range c.Cables {
		for to := range 2 {
			r.wires = append(r.wires, &wire{cable: i, to: to, delay: k.Delay, rate: k.Rate, overhead: k.Overhead, loss: k.Loss})
		}
	}
	return r
}

// arrive takes a frame that arrived at a time, and copies it.
func (r *carrier) arrive(w *wire, at time.Time, data []byte) {
	begin := at
	if w.free.After(begin) {
		begin = w.free
	}
	if w.rate > 0 {
		w.free = begin.Add(time.Duration(int64(len(data)+w.overhead) * 8 * int64(time.Second) / w.rate))
	} else {
		w.free = begin
	}
	if r.loses(w, at, data) {
		r.stats.Lost++
		return
	}
	due := w.free.Add(w.delay)
	if due.Before(w.last) { // the kernel's times may go back
		due = w.last
	}
	w.last = due
	var f *carried
	if n := len(r.idle); n > 0 {
		f, r.idle = r.idle[n-1], r.idle[:n-1]
	} else {
		f = new(carried)
	}
	r.seq++
	f.due, f.seq, f.wire, f.data = due, r.seq, w, append(f.data[:0], data...)
	heap.Push(&r.queue, f)
}

// loses decides whether the link loses a frame.
func (r *carrier) loses(w *wire, at time.Time, data []byte) bool {
	if w.loss > 0 && r.rng.Float64() < w.loss {
		return true
	}
	for i := range r.faults {
		f := &r.faults[i]
		if f.Cable != w.cable || f.To != w.to || at.Before(f.From) || !f.Until.IsZero() && !at.Before(f.Until) || !f.about(data) {
			continue
		}
		if f.Loss >= 1 || r.rng.Float64() < f.Loss {
			return true
		}
	}
	return false
}

// about reports whether a fault is about a frame.
func (f *Fault) about(data []byte) bool {
	if len(f.Pairs) == 0 {
		return true
	}
	ip := packet.FindIPv4(data)
	if ip == nil {
		return false
	}
	src, dst := ip.Src().String(), ip.Dst().String()
	for _, p := range f.Pairs {
		if p[0] == src && p[1] == dst {
			return true
		}
	}
	return false
}

// next returns the time at which the next frame leaves; ok is false if there is none.
func (r *carrier) next() (at time.Time, ok bool) {
	if len(r.queue) == 0 {
		return time.Time{}, false
	}
	return r.queue[0].due, true
}

// leave calls send with every frame that is due, in order.
func (r *carrier) leave(now time.Time, send func(w *wire, data []byte) bool) {
	for len(r.queue) > 0 && !r.queue[0].due.After(now) {
		f := heap.Pop(&r.queue).(*carried)
		if send(f.wire, f.data) {
			r.stats.Frames++
			r.late(f.wire, now.Sub(f.due))
		} else {
			r.stats.Missed++
		}
		r.idle = append(r.idle, f)
	}
}

// Lateness is counted in bins of 2^(1/4), from 1 µs.
const (
	perOctave = 4
	lateBins  = 26 * perOctave // up to a minute
)

func (r *carrier) late(w *wire, by time.Duration) {
	r.sum += by
	r.stats.LateMax = max(r.stats.LateMax, by)
	if w.delay > 0 {
		r.stats.Share = max(r.stats.Share, float64(by)/float64(w.delay))
	}
	bin := 0
	for upTo := float64(time.Microsecond); bin < lateBins-1 && float64(by) > upTo; bin++ {
		upTo *= binWidth
	}
	r.lates[bin]++
}

const binWidth = 1.189207115 // 2^(1/4)

// report returns the statistics so far.
func (r *carrier) report() Stats {
	s := r.stats
	if s.Frames == 0 {
		return s
	}
	s.LateMean = r.sum / time.Duration(s.Frames)
	upTo, seen := float64(time.Microsecond), uint64(0)
	for _, n := range r.lates {
		if seen += n; seen*100 >= s.Frames*99 {
			break
		}
		upTo *= binWidth
	}
	s.LateP99 = min(time.Duration(upTo), s.LateMax)
	return s
}

// check returns an error if a fault is not one of the relay's cables.
func (r *carrier) check(faults []Fault) error {
	for i, f := range faults {
		switch {
		case f.Cable < 0 || 2*f.Cable >= len(r.wires) || f.To < 0 || f.To > 1:
			return fmt.Errorf("fault %d: there is no end %d of a cable %d", i+1, f.To, f.Cable)
		case !(f.Loss >= 0 && f.Loss <= 1):
			return fmt.Errorf("fault %d: loss is %g, must be a probability from 0 to 1", i+1, f.Loss)
		}
	}
	return nil
}
