// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/need"

	"google.golang.org/protobuf/proto"
)

// keep runs a Keeper for one switch until the test, or stop, ends it.
func keep(t *testing.T, sw *target, target controlplane.Target, o controlplane.Options, audit time.Duration) (k *controlplane.Keeper, f *controlplane.Fabric, stop func()) {
	t.Helper()
	if o.Event == nil {
		o.Event = func(e controlplane.Event) { t.Log(e) }
	}
	o.Dial = sw.dial
	f, err := controlplane.StartAll([]controlplane.Target{target}, o)
	if err != nil {
		t.Fatal(err)
	}
	k = controlplane.NewKeeper(f, audit)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
		f.Close()
	}
	t.Cleanup(stop)
	return k, f, stop
}

func awaitKept(t *testing.T, k *controlplane.Keeper) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := k.AwaitKept(ctx); err != nil {
		t.Fatal(err)
	}
}

// difference is the list of updates that another controller would make.
func difference(t *testing.T, sw *target, d controlplane.Desired) *controlplane.Change {
	t.Helper()
	c, err := plan(t, sw, d)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func plan(t *testing.T, sw *target, d controlplane.Desired) (*controlplane.Change, error) {
	s, err := controlplane.Connect(t.Context(), sw.Target, controlplane.Options{ReadOnly: true, Dial: sw.dial})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.Plan(t.Context(), d)
}

// log collects the events of the controller.
type log struct {
	mu  sync.Mutex
	all []controlplane.Event
}

func (l *log) options(t *testing.T) controlplane.Options {
	return controlplane.Options{Event: func(e controlplane.Event) {
		t.Log(e)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, e)
	}}
}

// count returns the number of events of a kind that contain a text.
func (l *log) count(kind controlplane.EventKind, text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.all {
		if e.Kind == kind && strings.Contains(e.Text, text) {
			n++
		}
	}
	return n
}

// await waits until n events of a kind contain a text.
func (l *log) await(t *testing.T, kind controlplane.EventKind, text string, n int) {
	t.Helper()
	until(t, func() bool { return l.count(kind, text) >= n }, func() string { return fmt.Sprintf("nobody said %q (%v)", text, kind) })
}

// patience is the time after which a test fails. On our own switch it is virtual
// time of a synctest bubble, and no test depends on the load of the machine.
const patience = need.Patience

func until(t *testing.T, ok func() bool, otherwise func() string) {
	t.Helper()
	if !need.Poll(ok) {
		t.Fatal(otherwise())
	}
}

// every waits, and returns false when ctx is done.
func every(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// asDesired waits until another controller would make no update.
func asDesired(t *testing.T, sw *target, d controlplane.Desired) {
	t.Helper()
	var c *controlplane.Change
	var err error
	until(t, func() bool { c, err = plan(t, sw, d); return err == nil && c.Empty() }, func() string { return fmt.Sprintf("left to do: %v, %v", c, err) })
}

// The switch is killed and restarted during writes and while packets pass.
func TestARestartedSwitchGetsItsDesiredState(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		said := &log{}
		k, f, _ := keep(t, sw, sw.Target, said.options(t), -1)
		p := program(t)
		var states []controlplane.Desired
		for i := range 50 {
			states = append(states, state(t, p, 100+i))
		}
		ctx, stop := context.WithCancel(t.Context())
		var load sync.WaitGroup
		defer load.Wait()
		defer stop()
		load.Go(func() {
			for i := 0; every(ctx, time.Millisecond); i = (i + 1) % len(states) {
				k.Set(sw.Name, states[i])
			}
		})
		load.Go(func() {
			s := f.Session(sw.Name)
			for every(ctx, time.Millisecond) {
				s.PacketOut(ctx, marked("10.9.0.1"), map[string]string{"egress_port": "0"})
			}
		})
		for i := range 2 {
			// Not "pipeline pushed": the answer of BMv2 may be lost, and then the pipeline
			// is set when the controller checks again.
			said.await(t, controlplane.Reconciled, "this controller became primary", i+1)
			said.await(t, controlplane.Reconciled, "the desired state changed", 1)
			sw.kill()
			said.await(t, controlplane.Lost, "lost the connection to "+sw.Addr, i+1)
			sw.start(t)
			said.await(t, controlplane.Connected, "connected to "+sw.Addr+" again after", i+1)
		}
		stop()
		load.Wait()
		d := states[20]
		k.Set(sw.Name, d)
		asDesired(t, sw, d)
	})
}

// A controller is killed between two batches: the other one continues there.
func TestAControllerKilledBetweenBatchesLosesNothing(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		d := state(t, program(t), 300)
		net, first := through(t, sw)
		first.ElectionID.Low = 5
		o := (&log{}).options(t)
		o.Batch = 20
		k1, f1, stop := keep(t, sw, first, o, -1)
		if err := f1.Sessions()[0].AwaitPrimary(t.Context()); err != nil {
			t.Fatal(err)
		}
		second, said := sw.Target, &log{}
		second.ElectionID.Low = 2
		o = said.options(t)
		o.Policy = controlplane.Standby
		k2, _, _ := keep(t, sw, second, o, -1)
		k2.Set(sw.Name, d)
		said.await(t, controlplane.Backup, "standing by: the primary has election id 5", 1)
		net.cutAfter(pipelineBytes(d) + 8000) // after the program and some of the entries
		k1.Set(sw.Name, d)
		until(t, func() bool { return net.broken() > 0 }, func() string { return "the first wrote nothing" })
		stop()
		awaitKept(t, k2)
		if said.count(controlplane.Primary, "this controller is the primary") == 0 {
			t.Error("the second does not say that it took over")
		}
		if c := difference(t, sw, d); !c.Empty() {
			t.Errorf("left to do: %v", c)
		}
	})
}

func pipelineBytes(d controlplane.Desired) int {
	return len(d.Pipeline.Config) + proto.Size(d.Pipeline.P4Info)
}

// The connection is slow, and breaks at any byte.
func TestACutAndDelayedConnectionLosesNothing(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		said := &log{}
		net, far := through(t, sw)
		net.slow(10 * time.Millisecond)
		o := said.options(t)
		o.Batch = 50
		k, _, _ := keep(t, sw, far, o, -1)
		routes := 200
		d := state(t, program(t), routes)
		k.Set(sw.Name, d)
		awaitKept(t, k)
		for i, bytes := range []int{1, 100, 2000, 4001} {
			net.cutAfter(bytes)
			routes += 100
			d = state(t, program(t), routes)
			k.Set(sw.Name, d)
			until(t, func() bool { return net.broken() > i }, func() string { return "the connection holds" })
			asDesired(t, sw, d)
		}
		net.cut()
		said.await(t, controlplane.Lost, "trying again in", 5)
		said.await(t, controlplane.Connected, "again after", 5)
		awaitKept(t, k)
		if n := said.count(controlplane.Reconciled, "pipeline pushed"); n != 1 {
			t.Errorf("the program was pushed %d times", n)
		}
	})
}

// Two controllers have different desired states. That of the higher election id is
// established. The other controller reports this, does nothing, and establishes
// its own state when it is alone.
func TestTwoControllersWithDifferentDesiredStates(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		low, high := sw.Target, sw.Target
		low.ElectionID.Low, high.ElectionID.Low = 1, 2
		said1, said2 := &log{}, &log{}
		o := said1.options(t)
		o.Policy = controlplane.Standby
		k1, _, _ := keep(t, sw, low, o, 5*time.Millisecond)
		d1, d2 := state(t, program(t), 30), state(t, program(t), 60)
		k1.Set(sw.Name, d1)
		awaitKept(t, k1)
		k2, _, stop := keep(t, sw, high, said2.options(t), 5*time.Millisecond)
		k2.Set(sw.Name, d2)
		awaitKept(t, k2)
		said1.await(t, controlplane.Backup, "standing by: the primary has election id 2", 1)
		before := said2.count(controlplane.Foreign, "")
		time.Sleep(50 * time.Millisecond) // ten audits of each
		if n := said2.count(controlplane.Foreign, ""); n != before {
			t.Errorf("the lower one wrote %d times", n-before)
		}
		if c := difference(t, sw, d2); !c.Empty() {
			t.Errorf("left to do: %v", c)
		}
		stop()
		asDesired(t, sw, d1)
		said1.await(t, controlplane.Primary, "this controller is the primary", 2)
	})
}

// Digests arrive faster than they are read: lost ones are counted and reported,
// and no others are missing.
func TestSlowReaderIsNotifiedOfDroppedDigests(t *testing.T) {
	need.Time(t, "6000 packets, one by one")
	const sent = 6000
	eachTarget(t, func(t *testing.T, sw *target) {
		said := &log{}
		o := said.options(t)
		o.Dial = sw.dial
		s, err := controlplane.Connect(t.Context(), sw.Target, o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		// Every message is a list of its own: more lists than the queue holds.
		d := state(t, program(t), 0)
		e, err := mustSchema(t, d).ParseEntity("digest alert_t timeout 0s list 1 ack 10s")
		if err != nil {
			t.Fatal(err)
		}
		for i := range d.Entities {
			if d.Entities[i].GetDigestEntry() != nil {
				d.Entities[i] = e
			}
		}
		if _, err := s.Apply(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
		defer cancel()
		digests := s.Digests(ctx)
		send := func(i int) {
			if err := s.PacketOut(ctx, marked(fmt.Sprintf("10.9.%d.%d", i>>8, i&255)), map[string]string{"egress_port": "0"}); err != nil {
				t.Fatal(err)
			}
		}
		// The switch has a queue for the controller too. The test keeps it short by
		// waiting for the copies of the packets, which pass the same queue.
		var copies atomic.Int64
		packets := s.Packets(ctx)
		go func() {
			for range packets {
				copies.Add(1)
			}
		}()
		for i := range sent {
			send(i)
			if i%200 == 199 {
				// BMv2 does not guarantee delivery: its queue for the controller drops
				// messages when it is full, 1 to 6 of 1000 here. Messages that have not
				// arrived after a while without any are lost.
				last, since := copies.Load(), time.Now()
				until(t, func() bool {
					if n := copies.Load(); n != last {
						last, since = n, time.Now()
					}
					return last > int64(i) || sw.Thrift != "" && time.Since(since) > time.Second
				}, func() string { return fmt.Sprintf("%d of %d copies came back", copies.Load(), i) })
			}
		}
		// The reader starts when all have been sent. The last list has the number of
		// lists that it has missed.
		seen := make(map[string]bool)
		for d := range digests {
			src := d.Fields[1].Text
			if src == "10.10.0.0" {
				break
			}
			if seen[src] = true; len(seen) == 4000 {
				if err := s.PacketOut(ctx, marked("10.10.0.0"), map[string]string{"egress_port": "0"}); err != nil {
					t.Fatal(err)
				}
			}
		}
		lost := func() (sum int) {
			said.mu.Lock()
			defer said.mu.Unlock()
			for _, e := range said.all {
				if n := 0; e.Kind == controlplane.Dropped {
					fmt.Sscanf(e.Text, "%d digest lists dropped", &n)
					sum += n
				}
			}
			return sum
		}
		// BMv2 may have dropped a packet before its program, without a message.
		until(t, func() bool {
			all := len(seen) + lost()
			return all == sent || sw.Thrift != "" && all < sent && all >= int(copies.Load())
		}, func() string {
			return fmt.Sprintf("%d of %d messages seen, %d said to be lost", len(seen), sent, lost())
		})
		if lost() == 0 || !s.IsPrimary() {
			t.Errorf("%d lost, primary: %v", lost(), s.IsPrimary())
		}
	})
}

// A table is too small for the desired entries: this is reported with a remedy,
// and all other entries are written.
func TestAFullTableIsReportedAndOtherEntriesAreWritten(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		said := &log{}
		k, _, _ := keep(t, sw, sw.Target, said.options(t), -1)
		var many []string
		for i := range 6 {
			many = append(many, fmt.Sprintf("neighbour mac=%d vlan=1 -> forward(1)", i))
		}
		k.Set(sw.Name, state(t, program(t), 50, many...))
		said.await(t, controlplane.NotAsDesired, "3 of ", 1) // four places, one of them taken
		said.await(t, controlplane.NotAsDesired, "neighbour holds 4 entries: write fewer, or increase its size in the program", 1)
		d := state(t, program(t), 50, many[:3]...)
		if c := difference(t, sw, d); c.Plan.Len() > 6 {
			t.Errorf("more is missing than what had no room: %v", c)
		}
		k.Set(sw.Name, d)
		asDesired(t, sw, d)
	})
}

// The switch runs another program than the desired one, or refuses the desired
// one.
func TestAWrongPipelineIsReplacedOrNamed(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		said := &log{}
		low := sw.Target
		o := said.options(t)
		o.Policy = controlplane.Standby
		// Without audits, of which one could replace the program before the takeover does.
		k, _, _ := keep(t, sw, low, o, -1)
		d := state(t, program(t), 20)
		k.Set(sw.Name, d)
		awaitKept(t, k)
		// Another controller loads another program, and disconnects.
		high := sw.Target
		high.ElectionID.Low = 9
		s := connect(t, sw, high, controlplane.Options{})
		other := d.Pipeline
		other.P4Info = proto.CloneOf(other.P4Info)
		other.P4Info.Registers = other.P4Info.Registers[:1]
		if err := s.SetPipeline(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ReadRegister(t.Context(), "Warned"); err == nil || !strings.Contains(err.Error(), `no register is called "Warned"`) {
			t.Errorf("a register of another program: %v", err)
		}
		s.Close()
		said.await(t, controlplane.Reconciled, "pipeline pushed", 2)
		asDesired(t, sw, d)
		// An invalid program.
		bad := d
		bad.Pipeline.Config = []byte(`{"not": "a program"`)
		k.Set(sw.Name, bad)
		said.await(t, controlplane.NotAsDesired, "push the pipeline: ", 1)
		k.Set(sw.Name, d)
		if sw.Thrift != "" {
			said.await(t, controlplane.NotAsDesired, "BMv2 stays in this state after it has refused a program: restart the switch", 1)
			sw.kill()
			sw.start(t)
		}
		asDesired(t, sw, d)
	})
}

func mustSchema(t *testing.T, d controlplane.Desired) *schema.Schema {
	t.Helper()
	sch, err := schema.New(d.Pipeline.P4Info)
	if err != nil {
		t.Fatal(err)
	}
	return sch
}

func TestAStandbyTakesOverWithNoEntryLost(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		first := sw.Target
		first.ElectionID.Low = 5
		k1, _, stop := keep(t, sw, first, controlplane.Options{}, -1)
		d := state(t, program(t), 100)
		k1.Set(sw.Name, d)
		awaitKept(t, k1)
		second := sw.Target
		second.ElectionID.Low = 2
		k2, f2, _ := keep(t, sw, second, controlplane.Options{Policy: controlplane.Standby}, -1)
		k2.Set(sw.Name, d)
		stop()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := f2.Sessions()[0].AwaitPrimary(ctx); err != nil {
			t.Fatal(err)
		}
		t.Logf("primary after %v", time.Since(began))
		awaitKept(t, k2)
		t.Logf("reconciled after %v", time.Since(began))
		if c := difference(t, sw, d); !c.Empty() {
			t.Errorf("left to do: %v", c)
		}
	})
}

func TestAForeignWriteIsUndone(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		first := sw.Target
		first.ElectionID.Low = 1
		said := &log{}
		o := said.options(t)
		o.Policy = controlplane.Standby
		k, _, _ := keep(t, sw, first, o, 50*time.Millisecond)
		d := state(t, program(t), 50)
		k.Set(sw.Name, d)
		awaitKept(t, k)
		said.await(t, controlplane.Reconciled, "pipeline pushed", 1)
		// Another controller becomes primary, writes, and disconnects.
		second := sw.Target
		second.ElectionID.Low = 9
		s := connect(t, sw, second, controlplane.Options{})
		if err := s.SetPipeline(t.Context(), d.Pipeline); err != nil {
			t.Fatal(err)
		}
		if c := difference(t, sw, d); c.Empty() {
			t.Error("nothing is to be put back: the test is about nothing")
		}
		s.Close()
		said.await(t, controlplane.Reconciled, "this controller became primary", 2)
		asDesired(t, sw, d)
	})
}
