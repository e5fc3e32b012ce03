// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/workload"
)

// Measure is the length of the window in which measured flows start: a time, or a
// number of flows.
type Measure struct {
	Time  vtime.Time
	Flows int
}

// Given reports whether m is not zero.
func (m Measure) Given() bool { return m.Time > 0 || m.Flows > 0 }

// UnmarshalText reads "20ms" or "5000 flows".
func (m *Measure) UnmarshalText(text []byte) error {
	s := string(text)
	if n, ok := strings.CutSuffix(s, "flows"); ok {
		k, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(n), "_", ""))
		if err != nil || k < 1 {
			return fmt.Errorf("measure %q: write a time or a number of flows, as in \"20ms\" or \"5000 flows\"", s)
		}
		*m = Measure{Flows: k}
		return nil
	}
	t, err := vtime.ParseTime(s)
	if err != nil || t <= 0 {
		return fmt.Errorf("measure %q: write a time or a number of flows, as in \"20ms\" or \"5000 flows\"", s)
	}
	*m = Measure{Time: t}
	return nil
}

// window is the time in which measured flows start: from, but not until.
type window struct{ from, until vtime.Time }

func (w window) has(t vtime.Time) bool { return w.from <= t && t < w.until }

// traffic adds the flows of a run to the fabric.
type traffic struct {
	c      *Case
	seed   uint64
	window window
	flows  []fabric.Flow // flows generated so far, in order of their start
	known  vtime.Time    // time until which they are generated; Never means all
	added  int           // number of flows added to the fabric
	fed    vtime.Time    // time until which they have been added
	ends   bool          // there is a last flow
}

// feedEvery is the time between two additions to the flows of a run with open
// traffic.
const feedEvery = vtime.Millisecond

// newTraffic determines the window of a run. For a case that is not open, it
// generates all flows, and the window has no end.
func (c *Case) newTraffic(seed uint64) (*traffic, error) {
	tr := &traffic{c: c, seed: seed, window: window{0, vtime.Never}, ends: !c.Open() || workload.Ends(c.Traffic)}
	if !c.Open() {
		var err error
		tr.flows, err = c.Flows(seed)
		tr.flows = c.present(tr.flows)
		tr.known = vtime.Never
		return tr, err
	}
	tr.window.from = c.Warmup
	if c.Measure.Time > 0 {
		tr.window.until = c.Warmup + c.Measure.Time
		return tr, tr.know(tr.window.until)
	}
	for horizon := c.Warmup + vtime.Millisecond; ; horizon *= 2 {
		if err := tr.know(horizon); err != nil {
			return nil, err
		}
		n := 0
		for i := range tr.flows {
			f := &tr.flows[i]
			if f.Start >= c.Warmup && c.measured(f) {
				if n++; n == c.Measure.Flows {
					tr.window.until = f.Start + 1
					return tr, nil
				}
			}
		}
		if horizon > c.Until {
			return nil, fmt.Errorf("only %d of the %d flows of measure start before until, %v; increase until or the load", n, c.Measure.Flows, c.Until)
		}
	}
}

// know generates the flows that start before a time.
func (tr *traffic) know(until vtime.Time) error {
	flows, err := workload.GenerateUntil(tr.c.Traffic, tr.c.net, tr.seed, until)
	if err != nil {
		return err
	}
	flows = tr.c.present(flows)
	if len(flows) < len(tr.flows) {
		panic("BUG: more time, fewer flows")
	}
	tr.flows, tr.known = flows, until
	return nil
}

// feed adds the next flows to the fabric, and returns the time of the next call.
// These times do not depend on how a run is observed, so flows always get the same
// numbers and starts.
func (tr *traffic) feed(f *fabric.Fabric) (vtime.Time, error) {
	if !tr.c.Open() {
		tr.added = len(tr.flows)
		return vtime.Never, f.AddFlows(tr.flows)
	}
	tr.fed += feedEvery
	if tr.fed > tr.known {
		if err := tr.know(2 * tr.fed); err != nil {
			return 0, err
		}
	}
	n := tr.added
	for n < len(tr.flows) && tr.flows[n].Start < tr.fed {
		n++
	}
	err := f.AddFlows(tr.flows[tr.added:n])
	tr.added = n
	return tr.fed, err
}

// measured returns the numbers of the measured flows among those with the given
// numbers.
func (tr *traffic) measured(from, until int) (ids []int) {
	for i := from; i < until; i++ {
		if f := &tr.flows[i]; tr.window.has(f.Start) && tr.c.measured(f) {
			ids = append(ids, i)
		}
	}
	return ids
}

// try generates some of the traffic, to check that it can be generated.
func (c *Case) try(seed uint64) error {
	_, err := c.someFlows(seed)
	return err
}

// someFlows returns the first flows of a seed: all of traffic that ends.
func (c *Case) someFlows(seed uint64) ([]fabric.Flow, error) {
	if !c.Open() {
		return c.Flows(seed)
	}
	return workload.GenerateUntil(c.Traffic, c.net, seed, min(c.Warmup+vtime.Millisecond, c.Until))
}
