// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Incast is a repeated pattern in which many hosts send to one at the same time.
type Incast struct {
	Degree int `yaml:"degree" limits:"1.."` // number of senders
	// Least makes the number of senders random: evenly from this to Degree.
	Least int        `yaml:"least" limits:"0.."`
	Size  vtime.Size `yaml:"size"`               // of each sender's flow; or sizes or total
	Sizes string     `yaml:"sizes"`              // a distribution's name or file, from which each flow's size is drawn
	Total vtime.Size `yaml:"total"`              // of all flows of an incast together
	From  Hosts      `yaml:"from"`               // senders are drawn from these, other than the receiver
	To    Hosts      `yaml:"to"`                 // the receiver is drawn from these
	Start vtime.Time `yaml:"start"`              // of the first incast
	Times int        `yaml:"times" limits:"0.."` // zero means once
	// Interval is the time from one incast to the next; with Random it is the
	// mean of an exponential distribution.
	Interval vtime.Time `yaml:"interval"`
	Random   bool       `yaml:"random"`
	// Jitter is the time over which the senders' starts are distributed evenly.
	Jitter vtime.Time `yaml:"jitter"`

	open  Open
	sizes *Distribution
}

func (in *Incast) ends() bool { return in.Times > 0 || in.Interval == 0 }

func (in *Incast) check(t *topo.Topology, _ bool) (string, error) {
	from, key, err := in.From.pickFor(t, "from")
	if err != nil {
		return key, err
	}
	if _, key, err = in.To.pickFor(t, "to"); err != nil {
		return key, err
	}
	given := 0
	for _, is := range []bool{in.Size > 0, in.Total > 0, in.Sizes != ""} {
		if is {
			given++
		}
	}
	switch {
	case in.Degree < 1 || in.Degree >= len(from)+1:
		return "degree", fmt.Errorf("degree is %d, must be from 1 to the %d hosts of from", in.Degree, len(from))
	case in.Least < 0 || in.Least > in.Degree:
		return "least", fmt.Errorf("least is %d, must be from 1 to degree, which is %d", in.Least, in.Degree)
	case given != 1 || in.Size < 0 || in.Total < 0:
		return "", fmt.Errorf("give exactly one of size, of each answer, total, of all answers, and sizes, from which each is drawn")
	case in.Total > 0 && int64(in.Total) < int64(in.Degree):
		return "total", fmt.Errorf("total must be at least one byte for each sender")
	}
	if in.Sizes != "" {
		if in.sizes, err = load(in.open, in.Sizes); err != nil {
			return "sizes", err
		}
	}
	to, _ := in.To.pick(t)
	for _, d := range to {
		if n := len(without(from, d)); in.Degree > n {
			return "degree", fmt.Errorf("degree is %d, but only %d hosts can send to %s", in.Degree, n, t.Nodes[d].Name)
		}
	}
	return checkRepeats(in.Start, in.Times, in.Interval, in.Jitter, in.Degree)
}

func checkRepeats(start vtime.Time, times int, interval, jitter vtime.Time, flows int) (string, error) {
	switch {
	case start < 0:
		return "start", fmt.Errorf("start is %v, must not be negative", start)
	case jitter < 0:
		return "jitter", fmt.Errorf("jitter is %v, must not be negative", jitter)
	case interval < 0:
		return "interval", fmt.Errorf("interval is %v, must not be negative", interval)
	case times < 0 || times > maxFlows/flows:
		return "times", fmt.Errorf("times is %d, must be from 1 to %d", times, maxFlows/flows)
	case times > 1 && (interval == 0 || interval > vtime.Never/4/vtime.Time(times)):
		return "interval", fmt.Errorf("interval is missing or too long")
	}
	return "", nil
}

func (in *Incast) flows(g *gen) {
	from, _ := in.From.pick(g.t)
	to, _ := in.To.pick(g.t)
	at := in.Start
	for i := 0; g.again(i, at, in.Times, in.Interval); i++ {
		if i > 0 {
			at += g.interval(in.Interval, in.Random)
		}
		g.base.Wave = i
		dst := to[g.rng.IntN(len(to))]
		senders := without(from, dst)
		g.rng.Shuffle(len(senders), func(i, j int) { senders[i], senders[j] = senders[j], senders[i] })
		if in.Least > 0 {
			senders = senders[:in.Least+g.rng.IntN(in.Degree-in.Least+1)]
		} else {
			senders = senders[:in.Degree]
		}
		for k, src := range senders {
			size := int64(in.Size)
			switch n := int64(len(senders)); {
			case in.sizes != nil:
				size = in.sizes.Quantile(g.rng.Float64())
			case size == 0:
				// If total is not divisible, the first answers have one byte more.
				size = int64(in.Total) / n
				if int64(k) < int64(in.Total)%n {
					size++
				}
			}
			g.add(src, dst, size, at+g.jitter(in.Jitter))
		}
	}
}

// again reports whether a part that has repeated i times, the last time at at,
// repeats once more.
func (g *gen) again(i int, at vtime.Time, times int, interval vtime.Time) bool {
	if g.until > 0 && at >= g.until || len(g.out) > maxFlows {
		return false
	}
	return i < max(times, 1) || g.until > 0 && times == 0 && interval > 0
}

func (g *gen) interval(d vtime.Time, random bool) vtime.Time {
	if random {
		return g.exponential(float64(d))
	}
	return d
}

func (g *gen) jitter(d vtime.Time) vtime.Time {
	if d == 0 {
		return 0
	}
	return vtime.Time(g.rng.Int64N(int64(d)))
}

func without(ids []int, id int) []int {
	var rest []int
	for _, i := range ids {
		if i != id {
			rest = append(rest, i)
		}
	}
	return rest
}

// Burst is a repeated pattern in which every sender starts flows at the same time.
type Burst struct {
	From     Hosts      `yaml:"from"`               // senders
	To       Hosts      `yaml:"to"`                 // flows go to these in turn
	Flows    int        `yaml:"flows" limits:"0.."` // of each sender, each time; zero means one
	Size     vtime.Size `yaml:"size"`               // of each flow
	Start    vtime.Time `yaml:"start"`              // of the first burst
	Times    int        `yaml:"times" limits:"0.."` // zero means once
	Interval vtime.Time `yaml:"interval"`           // from one burst to the next; with Random, its mean
	Random   bool       `yaml:"random"`             // exponential intervals
	Jitter   vtime.Time `yaml:"jitter"`             // time over which the flows' starts are distributed evenly
}

func (b *Burst) ends() bool { return b.Times > 0 || b.Interval == 0 }

func (b *Burst) check(t *topo.Topology, _ bool) (string, error) {
	from, key, err := b.From.pickFor(t, "from")
	if err != nil {
		return key, err
	}
	to, key, err := b.To.pickFor(t, "to")
	if err != nil {
		return key, err
	}
	switch {
	case len(to) == 1 && len(without(from, to[0])) == 0:
		return "to", fmt.Errorf("%s would send to itself", t.Nodes[to[0]].Name)
	case b.Flows < 0 || b.Flows > maxFlows/len(from):
		return "flows", fmt.Errorf("flows is %d, must be from 1 to %d", b.Flows, maxFlows/len(from))
	case b.Size < 1:
		return "size", fmt.Errorf("size of the flows is missing")
	}
	return checkRepeats(b.Start, b.Times, b.Interval, b.Jitter, max(b.Flows, 1)*len(from))
}

func (b *Burst) flows(g *gen) {
	from, _ := b.From.pick(g.t)
	to, _ := b.To.pick(g.t)
	at, next := b.Start, 0
	for i := 0; g.again(i, at, b.Times, b.Interval); i++ {
		if i > 0 {
			at += g.interval(b.Interval, b.Random)
		}
		g.base.Wave = i
		for _, src := range from {
			targets := without(to, src)
			if len(targets) == 0 {
				continue
			}
			for range max(b.Flows, 1) {
				g.add(src, targets[next%len(targets)], int64(b.Size), at+g.jitter(b.Jitter))
				next++
			}
		}
	}
}

// Long is flows that last until the end of a run: the i-th sender sends to the
// i-th receiver.
type Long struct {
	From  Hosts      `yaml:"from"`               // senders, each paired with one of To
	To    Hosts      `yaml:"to"`                 // receivers
	Flows int        `yaml:"flows" limits:"0.."` // per pair; zero means one
	Size  vtime.Size `yaml:"size"`               // zero means more than will ever be sent
	Start vtime.Time `yaml:"start"`              // of all flows
}

// endless is a size that no run sends completely: 8 GB.
const endless = 8 * vtime.GB

func (l *Long) ends() bool { return true }

func (l *Long) check(t *topo.Topology, _ bool) (string, error) {
	from, key, err := l.From.pickFor(t, "from")
	if err != nil {
		return key, err
	}
	to, key, err := l.To.pickFor(t, "to")
	if err != nil {
		return key, err
	}
	for i, src := range from {
		if src == to[i%len(to)] {
			return "to", fmt.Errorf("%s would send to itself", t.Nodes[src].Name)
		}
	}
	switch {
	case l.Flows < 0 || l.Flows > maxFlows/len(from):
		return "flows", fmt.Errorf("flows is %d, must be from 1 to %d", l.Flows, maxFlows/len(from))
	case l.Size < 0 || l.Start < 0:
		return "", fmt.Errorf("size and start must not be negative")
	}
	return "", nil
}

func (l *Long) flows(g *gen) {
	from, _ := l.From.pick(g.t)
	to, _ := l.To.pick(g.t)
	size := l.Size
	if size == 0 {
		size = endless
	}
	for i, src := range from {
		for range max(l.Flows, 1) {
			g.add(src, to[i%len(to)], int64(size), l.Start)
		}
	}
}
