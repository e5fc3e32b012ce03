// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
	"github.com/pauseless/pauseless/softswitch/port"
	"github.com/pauseless/pauseless/softswitch/solo"
)

// wall is our switch in wall time, with a cable in each of ports 1 and 2.
type wall struct {
	*target
	in, out port.Link
}

func startWall(t testing.TB) *wall {
	t.Helper()
	sw, err := softswitch.New(softswitch.Config{Name: "s1", DeviceID: deviceID, Ports: []softswitch.Port{{Number: 1}, {Number: 2}, {Number: 3}, {Number: 4}}})
	if err != nil {
		t.Fatal(err)
	}
	a, in := port.Pipe()
	b, out := port.Pipe()
	runner := port.NewRunner(sw, map[int]port.Link{1: a, 2: b})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, err := p4rtserver.New(sw, p4rtserver.Options{}).GRPC(p4rtserver.GRPCConfig{})
	if err != nil {
		t.Fatal(err)
	}
	go g.Serve(l)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	t.Cleanup(func() {
		g.Stop()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &wall{&target{addr: l.Addr().String(), soft: sw}, in, out}
}

// traffic sends packets into port 1 until it is stopped, and calls got with each
// packet that port 2 sends. It counts them.
func (w *wall) traffic(t testing.TB, next func(n int) []byte, got func([]byte)) (came *atomic.Int64, stop func() int) {
	t.Helper()
	var done atomic.Bool
	came = new(atomic.Int64)
	var both sync.WaitGroup
	both.Go(func() {
		const window = 512 // packets under way: the cables hold more
		for n := 0; !done.Load(); {
			if int64(n)-came.Load() > window {
				runtime.Gosched()
				continue
			}
			var frames []*packet.Frame
			for range 32 {
				frames = append(frames, &packet.Frame{Data: next(n)})
				n++
			}
			if err := w.in.Write(frames); err != nil {
				return
			}
		}
	})
	both.Go(func() {
		for {
			b := port.NewBatch()
			if err := w.out.Read(b); err != nil {
				if !errors.Is(err, net.ErrClosed) {
					t.Error(err)
				}
				return
			}
			for i := range b.Len() {
				got(b.Frame(i))
			}
			came.Add(int64(b.Len()))
		}
	})
	end := func() {
		done.Store(true)
		w.out.Close()
		both.Wait()
	}
	t.Cleanup(end)
	return came, func() int {
		end()
		return int(came.Load())
	}
}

// atLeast waits until n packets have arrived.
func atLeast(t testing.TB, n int64, came *atomic.Int64) {
	t.Helper()
	if !need.Poll(func() bool { return came.Load() >= n }) {
		t.Fatalf("%d packets have come, want %d", came.Load(), n)
	}
}

// A batch that is atomic for the data plane writes 64 entries in each of two
// tables. Each packet records its result in both: always of the same batch, and never
// of an earlier batch than that of the packet before it.
func TestNoPacketSeesHalfABatch(t *testing.T) {
	w := startWall(t)
	x := newBench(t, w.target, false)
	const entries = 64
	batches := 60
	if testing.Short() {
		batches = 20
	}
	batch := func(typ p4v1.Update_Type, v uint64) []*p4v1.Update {
		var list []*p4v1.Update
		for a := range uint64(entries) {
			list = append(list, change(typ, x.entry("t_left", x.call("mark", v), exact(1, a))), change(typ, x.entry("t_right", x.call("mark_c", v), exact(1, a))))
		}
		return list
	}
	x.must(batch(p4v1.Update_INSERT, 0)...)
	latest := 0
	rng := rand.New(rand.NewPCG(1, 1))
	came, stop := w.traffic(t, func(int) []byte { return body(17, uint32(rng.IntN(entries)), 0, 99) }, func(p []byte) {
		left, right := int(p[markAt]), int(p[cAt])
		if left != right {
			t.Errorf("a packet found %d and %d", left, right)
		}
		if left < latest {
			t.Errorf("a packet found %d after one that found %d", left, latest)
		}
		latest = left
	})
	for v := range uint64(batches) {
		if err := x.writeAs(p4v1.WriteRequest_DATAPLANE_ATOMIC, batch(p4v1.Update_MODIFY, v+1)...); err != nil {
			t.Fatal(err)
		}
		atLeast(t, came.Load()+1, came) // packets between any two
	}
	stop()
}

// Writers, readers and traffic run at the same time for SOAK seconds (two if it is
// not set). It is a test for the race detector: make soak.
func TestConcurrentWritesReadsAndTraffic(t *testing.T) {
	seconds := 2
	if s := os.Getenv("SOAK"); s != "" {
		var err error
		if seconds, err = strconv.Atoi(s); err != nil {
			t.Fatalf("SOAK=%s is no number of seconds", s)
		}
	}
	w := startWall(t)
	x := newBench(t, w.target, false)
	x.must(insert(&p4v1.DigestEntry{DigestId: x.id("alert_t"), Config: &p4v1.DigestEntry_Config{MaxListSize: 10, MaxTimeoutNs: 1e6, AckTimeoutNs: 1e6}}),
		insert(x.member("selector", 1, 1)), insert(x.group(1, 1)), insert(x.indirect("t_select", 1, 0, 1)),
		insert(&p4v1.MulticastGroupEntry{MulticastGroupId: 7, Replicas: replicas(2, 3)}), insert(&p4v1.CloneSessionEntry{SessionId: 5, Replicas: replicas(2)}))
	end := time.Now().Add(time.Duration(seconds) * time.Second)
	var work sync.WaitGroup
	var writes, reads atomic.Int64
	for n := range uint64(3) { // each with entries of its own
		work.Go(func() {
			rng := rand.New(rand.NewPCG(n, 2))
			for first := true; first || time.Now().Before(end); first = false {
				a := n<<16 | rng.Uint64N(50)
				err := x.write(
					insert(x.entry("t_left", x.call("mark", a&0xff), exact(1, a))), modify(x.entry("t_left", x.call("mark", 3), exact(1, a))),
					insert(x.ternaryEntry(int32(a%99+1), 1, ternary(1, a, 0xffffffff))), remove(x.ternaryEntry(int32(a%99+1), 1, ternary(1, a, 0xffffffff))),
					modify(&p4v1.RegisterEntry{RegisterId: x.id("narrow"), Index: index(int64(n)), Data: bits(a)}),
					modify(&p4v1.CounterEntry{CounterId: x.id("by_port"), Index: index(int64(n)), Data: &p4v1.CounterData{PacketCount: int64(a)}}),
					modify(&p4v1.MeterEntry{MeterId: x.id("shared_police"), Index: index(int64(n)), Config: &p4v1.MeterConfig{Cir: 1e6, Cburst: 10, Pir: 1e6, Pburst: 10}}),
					modify(x.member("selector", 1, a&0xff)), modify(&p4v1.ValueSetEntry{ValueSetId: x.id("kinds"), Members: members(200 + n)}),
					modify(&p4v1.MulticastGroupEntry{MulticastGroupId: 7, Replicas: replicas(2)}),
					remove(x.entry("t_left", nil, exact(1, a))))
				if err != nil {
					t.Errorf("%v %v", err, details(err))
					return
				}
				writes.Add(1)
			}
		})
	}
	for range 2 {
		work.Go(func() {
			for first := true; first || time.Now().Before(end); first = false {
				if _, err := x.read(&p4v1.TableEntry{CounterData: &p4v1.CounterData{}}, &p4v1.CounterEntry{}, &p4v1.MeterEntry{CounterData: &p4v1.MeterCounterData{}}, &p4v1.RegisterEntry{},
					&p4v1.ActionProfileMember{}, &p4v1.ActionProfileGroup{}, &p4v1.ValueSetEntry{}, &p4v1.MulticastGroupEntry{}, &p4v1.CloneSessionEntry{}, &p4v1.DigestEntry{}); err != nil {
					t.Errorf("%v %v", err, details(err))
					return
				}
				reads.Add(1)
			}
		})
	}
	work.Go(func() { // the controller's stream
		for time.Now().Before(end) {
			x.say(x.session, packetOut(2, 1, body(17, 1, 0, 0)))
			select {
			case m := <-x.messages:
				if d := m.GetDigest(); d != nil {
					x.say(x.session, &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_DigestAck{DigestAck: &p4v1.DigestListAck{DigestId: d.DigestId, ListId: d.ListId}}})
				}
			case <-time.After(time.Millisecond):
			}
		}
	})
	work.Go(func() { // links, and programs
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for n := 0; time.Now().Before(end); n++ {
			w.soft.Lock()
			w.soft.LinkChanged(3, n%2 == 0)
			w.soft.Unlock()
			<-tick.C
		}
	})
	kinds := []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 17, 200}
	came, stop := w.traffic(t, func(n int) []byte { return body(kinds[n%len(kinds)], uint32(n)%64, 7, 0) }, func([]byte) {})
	work.Wait()
	atLeast(t, 1, came)
	packets := stop()
	t.Logf("%d writes of 11 updates, %d reads of everything, %d packets in %d s", writes.Load(), reads.Load(), packets, seconds)
}

// With a million exact entries the process uses less than 1 GiB.
func TestAMillionEntriesFit(t *testing.T) {
	if testing.Short() {
		return // it takes seconds, and the race detector finds nothing more
	}
	cfg, err := config()
	if err != nil {
		t.Fatal(err)
	}
	sw, err := softswitch.New(softswitch.Config{DeviceID: deviceID, Ports: []softswitch.Port{{Number: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	prog, err := softswitch.Compile("clauses.json", cfg.P4DeviceConfig)
	if err != nil {
		t.Fatal(err)
	}
	solo.New(sw)
	sw.Load(prog)
	state := sw.State()
	for _, table := range state.Tables {
		if table.Info.Name != "Ingress_.t_left" {
			continue
		}
		action := slices.IndexFunc(table.Info.Actions, func(a int) bool { return prog.Actions[a].Name == "Ingress_.mark" })
		for a := range uint64(1_000_000) {
			m := table.Info.Match([]interp.FieldMatch{{Value: []uint64{a}}}, 0)
			if _, err := table.Insert(&m, table.Info.Actions[action], []uint64{a & 0xff}); err != nil {
				t.Fatal(err)
			}
		}
	}
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	if mem.HeapInuse > 1<<30 {
		t.Errorf("a million entries take %d MiB", mem.HeapInuse>>20)
	}
	t.Logf("a million entries: %d MiB of heap in use", mem.HeapInuse>>20)
	runtime.KeepAlive(state)
}

// Measures how many entries per second a controller writes in batches of 1000, over
// loopback gRPC, while packets are looked up in the table.
func BenchmarkWrites(b *testing.B) {
	w := startWall(b)
	x := newBench(b, w.target, false)
	table, mark := x.id("t_left"), x.id("mark")
	const size = 1000
	batch := func(n int) *p4v1.WriteRequest {
		r := &p4v1.WriteRequest{DeviceId: deviceID, ElectionId: uint128(x.election)}
		for i := range size {
			a := uint64(n*size+i) % 1_000_000
			r.Updates = append(r.Updates, insert(&p4v1.TableEntry{TableId: table, Match: []*p4v1.FieldMatch{exact(1, a)},
				Action: action(&p4v1.Action{ActionId: mark, Params: []*p4v1.Action_Param{{ParamId: 1, Value: []byte{byte(a)}}}})}))
		}
		return r
	}
	if b.N > 1000 {
		b.Fatal("a million entries are all there is room for: -benchtime 1000x at most")
	}
	var batches []*p4v1.WriteRequest
	for n := range b.N {
		batches = append(batches, batch(n))
	}
	_, stop := w.traffic(b, func(n int) []byte { return body(17, uint32(n), 0, 0) }, func([]byte) {})
	begun := time.Now()
	for _, r := range batches {
		if _, err := x.client.Write(x.ctx, r); err != nil {
			b.Fatal(err)
		}
	}
	took := time.Since(begun).Seconds()
	packets := stop()
	b.ReportMetric(float64(b.N*size)/took, "entries/s")
	b.ReportMetric(float64(packets)/took, "packets/s")
	b.ReportMetric(0, "ns/op")
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	b.ReportMetric(float64(mem.HeapInuse>>20), "MiB")
}
