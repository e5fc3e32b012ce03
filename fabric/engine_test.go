// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// recorder is a switch that records its events and answers each frame, while
// the lifetime in the frame's byte lasts, on a port that depends on it.
type recorder struct {
	net   Network
	ports int
	skip  int // number of the first ports, which lead to hosts
	end   []vtime.Time
	log   strings.Builder
	keep  bool
	hash  uint64
	n     int

	fetched int
}

// Fetch implements Fetcher.
func (r *recorder) Fetch(int) { r.fetched++ }

func newRecorder(n *topo.Node, net Network) *recorder {
	return &recorder{net: net, ports: len(n.Ports), end: make([]vtime.Time, len(n.Ports))}
}

func (r *recorder) note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if r.keep {
		r.log.WriteString(line + "\n")
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%x %s", r.hash, line)
	r.hash = h.Sum64()
	r.n++
}

func (r *recorder) Receive(port int, f *packet.Frame) {
	r.note("%v port %d frame %d", r.net.Now(), port, f.Data[0])
	if f.Data[0] == 0 {
		r.net.Frames().Put(f)
		return
	}
	if r.n%4 == 0 {
		f.Data[0]--
	}
	// Some later, by a timer, others immediately.
	if r.n%3 == 0 {
		r.net.At(r.net.Now()+vtime.Time(r.n%7), r, uint64(f.Data[0]))
		r.net.Frames().Put(f)
		return
	}
	r.send(f)
}

func (r *recorder) Fire(now vtime.Time, arg uint64) {
	r.note("%v timer %d", now, arg)
	f := r.net.Frames().Get()
	f.Data = append(f.Data, byte(arg))
	r.send(f)
}

func (r *recorder) send(f *packet.Frame) {
	p := r.skip + r.n%(r.ports-r.skip)
	r.end[p] = max(r.end[p], r.net.Now()) + 3
	r.net.Send(p+1, f, r.end[p])
}

const ring = `graph: {rate: 40Gbps, delay: 100ps, switches: [{name: a}, {name: b}, {name: c}, {name: d}],
  hosts: [{name: x, on: a}], links: [{a: a, b: b}, {a: b, b: c}, {a: c, b: d}, {a: d, b: a}, {a: a, b: c, delay: 170ps}]}`

// storm builds a fabric of recorders in which many frames bounce.
func storm(t *testing.T, text string, life, threads int) (*Fabric, []*recorder) {
	t.Helper()
	net, err := topo.Parse("ring.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var rs []*recorder
	f, err := New(Config{Topology: net, Hosts: roce.Papers.Defaults(), Threads: threads,
		Switch: func(n *topo.Node, net Network) (Node, error) {
			r := newRecorder(n, net)
			if n.Name == "a" {
				r.skip = 1
			}
			rs = append(rs, r)
			for i := range 20 {
				net.At(vtime.Time(i*n.ID), r, uint64(life+i%50))
			}
			return r, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	f.engine.crew.least = 8
	t.Cleanup(func() {
		fetched := 0
		for _, r := range rs {
			fetched += r.fetched
		}
		if c := &f.engine.crew; fetched > 0 && c.busy > 0 || fetched == 0 && c.busy == 0 && c.size == 1 {
			t.Errorf("%d threads, memory fetched ahead for groups of %d events: %d times", c.size, c.busy, fetched)
		}
	})
	return f, rs
}

func TestSameEventsForAnyThreadsAndSlices(t *testing.T) {
	var want []uint64
	counts, slicesOf := []int{1, 2, 3, 5}, []vtime.Time{vtime.Never, 1, 37, 100, 1000}
	if testing.Short() {
		counts, slicesOf = []int{1, 3}, []vtime.Time{vtime.Never, 37}
	}
	for _, threads := range counts {
		for _, slice := range slicesOf {
			f, rs := storm(t, ring, 200, threads)
			if slice == 37 {
				f.engine.crew.busy = 0 // fetch, which changes nothing
			}
			const end = 30_000
			for f.Now() < end {
				if err := f.RunUntil(context.Background(), min(f.Now()+min(slice, end), end)); err != nil {
					t.Fatal(err)
				}
			}
			var got []uint64
			events := 0
			for _, r := range rs {
				got = append(got, r.hash)
				events += r.n
			}
			if c := &f.engine.crew; events < 10_000 || c.size > 1 && slice > 1 && c.windows < 100 {
				t.Fatalf("only %d events, %d windows of several threads", events, c.windows)
			}
			if want == nil {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("%d threads, slices of %v: other events than with one thread", threads, slice)
			}
		}
	}
}

// Helpers of a run go on in the next one, or end if there is none for a while. The
// clock of the bubble moves only when all other goroutines have ended or sleep.
func TestHelpersGoOnOrEndBetweenRuns(t *testing.T) {
	rest := func() { time.Sleep(time.Nanosecond) }
	var want []uint64
	for _, threads := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			f, rs := storm(t, ring, 200, threads)
			for i := 0; f.Now() < 30_000; i++ {
				if err := f.RunUntil(context.Background(), f.Now()+500); err != nil {
					t.Fatal(err)
				}
				if i%3 > 0 {
					continue
				}
				rest()
				for _, h := range f.engine.crew.helpers {
					if s := h.state.Load(); s != ended {
						t.Fatalf("after run %d a helper is in state %d", i, s)
					}
				}
			}
			c := &f.engine.crew
			if c.size > 1 && c.windows < 100 {
				t.Fatalf("%d threads shared %d windows", c.size, c.windows)
			}
			if c.size > 1 {
				rest()
				c.start()
				for _, h := range c.helpers {
					if h.state.Load() == ended {
						t.Error("a helper that had ended was not started again")
					}
				}
				c.stop()
			}
			var got []uint64
			for _, r := range rs {
				got = append(got, r.hash)
			}
			if want == nil {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("%d threads: other events than with one thread", threads)
			}
		})
	}
}

// Switches of two sides, and hosts, that send to one another.
const square = `graph: {rate: 40Gbps, delay: 100ps, switches: [{name: a}, {name: b}, {name: c}, {name: d}],
  hosts: [{name: x, on: a}, {name: y, on: a}, {name: z, on: c}], links: [{a: a, b: b}, {a: b, b: c, delay: 170ps}, {a: c, b: d}, {a: d, b: a, delay: 7ns}]}`

func TestSameEventsForOneSideAndTwo(t *testing.T) {
	const end = 60_000
	var want []uint64
	for _, sides := range []int{1, 2} {
		for _, threads := range []int{1, 2} {
			for _, slice := range []vtime.Time{end, 137, 1037} {
				f, rs := storm(t, square, 20, threads)
				if slice == 137 {
					f.engine.crew.busy = 0
				}
				f.engine.crew.sides = f.oneSide()
				if sides == 2 {
					f.engine.crew.sides = f.twoSides()
				}
				for _, r := range rs {
					r.skip = 0
				}
				for _, name := range []string{"x", "y", "z"} {
					n := f.topo.NodeByName(name)
					r := newRecorder(n, f.engine.nodes[n.ID])
					f.engine.nodes[n.ID].impl = r
					for i := range 100 {
						f.engine.nodes[n.ID].At(vtime.Time(97*i), r, 20)
					}
					if name == "x" { // after a quiet period
						f.engine.nodes[n.ID].At(end-10_000, r, 60)
					}
					rs = append(rs, r)
				}
				for f.Now() < end {
					if err := f.RunUntil(context.Background(), min(f.Now()+slice, end)); err != nil {
						t.Fatal(err)
					}
				}
				var got []uint64
				for _, r := range rs {
					got = append(got, r.hash)
					if r.n < 100 {
						t.Fatalf("a node handled only %d events", r.n)
					}
				}
				if want == nil {
					want = got
				} else if !slices.Equal(got, want) {
					t.Errorf("%d sides, %d threads, slices of %v: other events", sides, threads, slice)
				}
			}
		}
	}
}

// sink is a switch that only records.
type sink struct{ recorder }

func (s *sink) Receive(port int, f *packet.Frame) {
	s.note("%v port %d frame %d", s.net.Now(), port, f.Data[0])
	s.net.Frames().Put(f)
}

func (s *sink) Fire(now vtime.Time, arg uint64) {
	s.note("%v timer %d", now, arg)
	if arg == 1 {
		s.net.At(now, s, 3)
	}
}

// pitcher sends given frames at an event.
type pitcher struct {
	net  Network
	send []byte
}

func (p *pitcher) Receive(int, *packet.Frame) {}

func (p *pitcher) Fire(now vtime.Time, _ uint64) {
	for _, b := range p.send {
		f := p.net.Frames().Get()
		f.Data = append(f.Data, b)
		p.net.Send(1, f, now)
	}
}

func TestOneInstantHasTimersThenFramesByPort(t *testing.T) {
	net, err := topo.Parse("star.yaml", []byte(`graph: {rate: 40Gbps, delay: 100ps, switches: [{name: hub}, {name: b}, {name: c}, {name: d}],
  hosts: [{name: x, on: b}], links: [{a: b, b: hub}, {a: c, b: hub}, {a: d, b: hub}]}`))
	if err != nil {
		t.Fatal(err)
	}
	var hub *sink
	f, err := New(Config{Topology: net, Hosts: roce.Papers.Defaults(),
		Switch: func(n *topo.Node, net Network) (Node, error) {
			if n.Name == "hub" {
				hub = &sink{*newRecorder(n, net)}
				hub.keep = true
				net.At(100, hub, 1)
				net.At(100, hub, 2)
				return hub, nil
			}
			p := &pitcher{net: net, send: []byte{n.Name[0], n.Name[0] + 100}}
			net.At(0, p, 0)
			return p, nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	// Node b has its host on port 1.
	f.engine.nodes[net.NodeByName("b").ID].out[0] = f.engine.nodes[net.NodeByName("b").ID].out[1]
	if err := f.RunUntil(context.Background(), vtime.Microsecond); err != nil {
		t.Fatal(err)
	}
	const want = `100ps timer 1
100ps timer 2
100ps timer 3
100ps port 1 frame 98
100ps port 1 frame 198
100ps port 2 frame 99
100ps port 2 frame 199
100ps port 3 frame 100
100ps port 3 frame 200
`
	if got := hub.log.String(); got != want {
		t.Errorf("events were\n%swant\n%s", got, want)
	}
}

func TestRunUntilHandlesEventsUpToAndAtItsTime(t *testing.T) {
	f, rs := storm(t, ring, 200, 1)
	rs[1].keep = true
	if err := f.RunUntil(context.Background(), 30); err != nil {
		t.Fatal(err)
	}
	if f.Now() != 30 || rs[1].net.Now() != 30 {
		t.Errorf("it is %v for the fabric and %v for a node, want 30ps", f.Now(), rs[1].net.Now())
	}
	if log := rs[1].log.String(); !strings.Contains(log, "30ps timer") || strings.Contains(log, "32ps") {
		t.Errorf("events were\n%s", log)
	}
}

func TestCancelledRunStopsAndMayGoOn(t *testing.T) {
	f, rs := storm(t, ring, 200, 2)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.RunUntil(ctx, 30_000); err != nil {
		// the context is checked every 256 windows
		if f.Now() >= 30_000 {
			t.Errorf("stopped at %v", f.Now())
		}
	} else {
		t.Error("the run did not stop")
	}
	if err := f.RunUntil(context.Background(), 30_000); err != nil {
		t.Fatal(err)
	}
	whole, ws := storm(t, ring, 200, 1)
	if err := whole.RunUntil(context.Background(), 30_000); err != nil {
		t.Fatal(err)
	}
	for i := range rs {
		if rs[i].hash != ws[i].hash {
			t.Errorf("node %d: an interrupted run differs", i)
		}
	}
}

func TestLateOrOverlappingFramesAreBugs(t *testing.T) {
	f, rs := storm(t, ring, 200, 1)
	_ = f
	mustPanic := func(what string, do func()) {
		t.Helper()
		defer func() {
			if r := recover(); r == nil || !strings.HasPrefix(fmt.Sprint(r), "BUG: ") {
				t.Errorf("%s: recovered %v", what, r)
			}
		}()
		do()
	}
	frame := func() *packet.Frame { return &packet.Frame{Data: []byte{0}} }
	rs[0].net.Send(1, frame(), 10)
	rs[0].end[0] = 10
	mustPanic("a frame that ends before the last one", func() { rs[0].net.Send(1, frame(), 9) })
	if err := f.RunUntil(context.Background(), 5); err != nil {
		t.Fatal(err)
	}
	mustPanic("an event in the past", func() { rs[0].net.At(4, rs[0], 0) })
	mustPanic("a frame in the past", func() { rs[0].net.Send(2, frame(), 4) })
}

// The reserve returns all its frames, and does not allocate while it fills and
// empties around the boundary of one of its pools.
func TestReserveKeepsFramesWithoutGrowing(t *testing.T) {
	var r reserve
	var p packet.Pool
	give := func(n int) {
		var frames []*packet.Frame
		for range n {
			frames = append(frames, p.Get())
		}
		for _, f := range frames {
			p.Put(f)
		}
		r.level(&p)
	}
	total := 0
	for total < 3*reservePool {
		before := p.Len()
		give(500)
		total += 500 - before
	}
	if p.Len() != poolKeep {
		t.Fatalf("a pool keeps %d frames, want %d", p.Len(), poolKeep)
	}
	got := p.Len()
	for {
		var empty packet.Pool
		r.level(&empty)
		if empty.Len() == 0 {
			break
		}
		got += empty.Len()
	}
	if got != total {
		t.Errorf("the reserve gave %d frames back of %d", got, total)
	}

	r.level(&p) // the first pool of the reserve is empty now
	full, empty := packet.NewPool(200), packet.NewPool(200)
	for range 200 {
		full.Put(&packet.Frame{})
	}
	for range reservePool - poolFill {
		p.Put(&packet.Frame{})
	}
	r.level(&p)
	if n := testing.AllocsPerRun(100, func() {
		r.level(&full) // 136 frames, beyond the end of the first pool
		r.level(&empty)
		r.level(&empty)
		full.Take(&empty, empty.Len())
		r.level(&empty)
		full.Take(&empty, empty.Len())
		r.level(&empty)
		full.Take(&empty, empty.Len())
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Memory for a pipe begins at a line of the cache if its size is a number of lines.
func TestPipeTakesWholeLines(t *testing.T) {
	if size := unsafe.Sizeof(pipe{}); size%64 != 0 {
		t.Errorf("a pipe takes %d bytes, want a multiple of 64: change its last field", size)
	}
}

// Parcels return through the depot from nodes that only receive to those that only
// send, so that a run in which frames go one way takes no more and more memory.
func TestParcelsReturn(t *testing.T) {
	const keep = 5
	var d depot
	var from, to parcels
	made := 0
	for range 1000 {
		if to.n < keep/2 && d.any.Load() {
			d.level(&to, keep)
		}
		if to.n == 0 {
			made++
		}
		from.put(to.get())
		if from.n > 2*keep {
			d.level(&from, keep)
		}
	}
	if made > 4*keep {
		t.Errorf("%d parcels were made to send 1000, of which a node keeps %d", made, keep)
	}
	if all := from.n + to.n + d.n; all != made {
		t.Errorf("there are %d parcels of %d", all, made)
	}
}
