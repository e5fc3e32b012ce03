// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pauseless/pauseless/softswitch/p4rtserver"
)

// stranger is a client on a connection of its own, which has no stream.
func (x *bench) stranger() *bench {
	x.Helper()
	conn, err := grpc.NewClient(x.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		x.Fatal(err)
	}
	x.Cleanup(func() { conn.Close() })
	y := *x
	y.client = p4v1.NewP4RuntimeClient(conn)
	return &y
}

// wildcards read everything of every kind.
func (x *bench) wildcards() []proto.Message {
	return []proto.Message{&p4v1.TableEntry{CounterData: &p4v1.CounterData{}, MeterConfig: &p4v1.MeterConfig{}}, &p4v1.ActionProfileMember{}, &p4v1.ActionProfileGroup{},
		&p4v1.CounterEntry{}, &p4v1.MeterEntry{}, &p4v1.DirectCounterEntry{TableEntry: &p4v1.TableEntry{}}, &p4v1.DirectMeterEntry{TableEntry: &p4v1.TableEntry{}},
		&p4v1.RegisterEntry{}, &p4v1.ValueSetEntry{}, &p4v1.MulticastGroupEntry{}, &p4v1.CloneSessionEntry{}, &p4v1.DigestEntry{},
		x.defaultEntry("t_lpm", nil), x.defaultEntry("t_keyless", nil)}
}

// sorted is a read's answer in an order of its own.
func sorted(list []*p4v1.Entity) []byte {
	var parts [][]byte
	for _, e := range list {
		parts = append(parts, marshal(e))
	}
	slices.SortFunc(parts, bytes.Compare)
	return bytes.Join(parts, []byte{0xff})
}

// changes is a batch that deletes, changes and adds entities of every kind, beside those
// of whole, and the batch that restores them.
func (x *bench) changes(rng *rand.Rand, whole []*p4v1.Update, many int) (there, back []*p4v1.Update) {
	for _, u := range whole {
		e := u.Entity
		switch {
		case u.Type == p4v1.Update_INSERT && e.GetActionProfileMember() == nil && e.GetActionProfileGroup() == nil && rng.IntN(2) == 0:
			there = append(there, &p4v1.Update{Type: p4v1.Update_DELETE, Entity: e})
			back = append(back, u)
		case u.Type == p4v1.Update_INSERT && e.GetTableEntry().GetAction().GetAction() != nil:
			change := proto.Clone(e).(*p4v1.Entity)
			change.GetTableEntry().Action.GetAction().Params[0].Value = short(rng.Uint64N(256))
			there = append(there, &p4v1.Update{Type: p4v1.Update_MODIFY, Entity: change})
			back = append(back, &p4v1.Update{Type: p4v1.Update_MODIFY, Entity: e})
		}
	}
	for i := range uint64(many) {
		if rng.IntN(2) == 0 {
			there = append(there, remove(x.entry("t_left", nil, exact(1, i))))
			back = append(back, insert(x.entry("t_left", x.call("mark", i&0xff), exact(1, i))))
		} else {
			there = append(there, modify(x.entry("t_left", x.call("mark", (i+1)&0xff), exact(1, i))))
			back = append(back, modify(x.entry("t_left", x.call("mark", i&0xff), exact(1, i))))
		}
		if i%3 == 0 { // in the place of one that was removed
			there = append(there, insert(x.entry("t_left", x.call("mark", 9), exact(1, i+1<<20))))
			back = append([]*p4v1.Update{remove(x.entry("t_left", nil, exact(1, i+1<<20)))}, back...)
		}
	}
	there = append(there, modify(&p4v1.RegisterEntry{RegisterId: x.id("narrow"), Index: index(1), Data: bits(77)}),
		modify(&p4v1.RegisterEntry{RegisterId: x.id("narrow"), Data: bits(78)}), modify(&p4v1.RegisterEntry{RegisterId: x.id("narrow"), Index: index(2), Data: bits(79)}),
		modify(&p4v1.CounterEntry{CounterId: x.id("by_port"), Data: &p4v1.CounterData{PacketCount: 5}}),
		modify(&p4v1.MeterEntry{MeterId: x.id("shared_police"), Index: index(1), Config: &p4v1.MeterConfig{Cir: 1e6, Cburst: 10, Pir: 1e6, Pburst: 10}}),
		modify(&p4v1.ValueSetEntry{ValueSetId: x.id("kinds")}),
		insert(&p4v1.MulticastGroupEntry{MulticastGroupId: 99, Replicas: replicas(1)}),
		modify(x.defaultEntry("t_lpm", x.call("mark", 200))),
		insert(x.member("profile", 3, 3)), remove(x.member("profile", 3, 3)), insert(x.member("profile", 4, 4)))
	back = append(back, modify(&p4v1.RegisterEntry{RegisterId: x.id("narrow"), Data: bits(0)}),
		modify(&p4v1.CounterEntry{CounterId: x.id("by_port"), Data: &p4v1.CounterData{}}), modify(&p4v1.MeterEntry{MeterId: x.id("shared_police")}),
		modify(&p4v1.ValueSetEntry{ValueSetId: x.id("kinds"), Members: members(200, 201)}),
		remove(&p4v1.MulticastGroupEntry{MulticastGroupId: 99}), modify(x.defaultEntry("t_lpm", nil)), remove(x.member("profile", 4, 4)))
	return there, back
}

// A read sees a write completely or not at all (13.4), and the write does not wait for it:
// each write here happens between two pieces of a read of everything, which could not go on
// while the write waited.
func TestAReadSeesAWriteCompletelyOrNotAtAll(t *testing.T) {
	const many = 3000
	var between func()
	options := soft
	options.Share = 1
	options.ReadPiece = func() {
		if between != nil {
			between()
		}
	}
	x := newBench(t, startSoft(t, options), false)
	y := x.stranger()
	for i := range uint64(3) {
		x.write(insert(x.member("selector", uint32(i+10), i))) // fails with one-shot entries
	}
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var whole []*p4v1.Update
		for _, u := range x.whole(rng) {
			if e := u.Entity.GetTableEntry(); e.GetTableId() != x.id("t_select") && u.Entity.GetRegisterEntry() == nil {
				whole = append(whole, u)
			}
		}
		var large []*p4v1.Update
		for i := range uint64(many) {
			large = append(large, insert(x.entry("t_left", x.call("mark", i&0xff), exact(1, i))))
		}
		if seed == 0 {
			x.must(slices.Concat(whole, large)...)
			x.must(modify(&p4v1.ValueSetEntry{ValueSetId: x.id("kinds"), Members: members(200, 201)}))
		} else {
			whole = nil
		}
		want := sorted(y.got(x.wildcards()...))
		there, back := x.changes(rng, whole, many)
		at, pieces := int(seed*4), 0
		between = func() {
			if pieces++; pieces == at+1 {
				x.must(there...)
			}
		}
		got := sorted(y.got(x.wildcards()...))
		between = nil
		if !bytes.Equal(got, want) {
			t.Errorf("seed %d: a write after piece %d of %d is seen by the read", seed, at+1, pieces)
		}
		if pieces < many/1024+12 || pieces <= at {
			t.Fatalf("the read has %d pieces", pieces)
		}
		if bytes.Equal(sorted(y.got(x.wildcards()...)), want) {
			t.Errorf("seed %d: the write changed nothing", seed)
		}
		slices.Reverse(there)
		x.must(back...)
		if !bytes.Equal(sorted(y.got(x.wildcards()...)), want) {
			t.Fatalf("seed %d: the test does not restore what it changed", seed)
		}
	}
}

// Reads that began at different times each see the state of their beginning.
func TestOverlappingReads(t *testing.T) {
	const many = 2500
	turns := make(chan chan struct{}, 2)
	var pieces atomic.Int32
	options := soft
	options.ReadPiece = func() {
		if pieces.Add(1) <= 2 { // the first piece of each
			wait := make(chan struct{})
			turns <- wait
			<-wait
		}
	}
	x := newBench(t, startSoft(t, options), false)
	batch := func(typ p4v1.Update_Type, v uint64) {
		var list []*p4v1.Update
		for i := range uint64(many) {
			list = append(list, change(typ, x.entry("t_left", x.call("mark", v), exact(1, i))))
		}
		x.must(list...)
	}
	batch(p4v1.Update_INSERT, 0)
	results := make([][]*p4v1.Entity, 2)
	var work sync.WaitGroup
	var waits []chan struct{}
	for n, y := range []*bench{x.stranger(), x} { // whose calls do not wait for each other
		work.Go(func() { results[n], _ = y.read(&p4v1.TableEntry{TableId: x.id("t_left")}) })
		waits = append(waits, <-turns)
		if n == 0 {
			batch(p4v1.Update_MODIFY, 1)
		}
	}
	close(waits[1])
	close(waits[0])
	work.Wait()
	for n, list := range results {
		if len(list) != many {
			t.Errorf("read %d has %d entries", n, len(list))
		}
		for _, e := range list {
			if v := e.GetTableEntry().Action.GetAction().Params[0].Value[0]; int(v) != n {
				t.Fatalf("read %d has an entry of write %d", n, v)
			}
		}
	}
}

// A read during which writes change more than its share of the memory ends with an
// error, and the writes do not.
func TestAReadThatCannotBeKept(t *testing.T) {
	const many = 12_000
	var between func()
	options := p4rtserver.Options{Memory: 64 << 20, ReadPiece: func() {
		if between != nil {
			between()
		}
	}}
	x := newBench(t, startSoft(t, options), false)
	y := x.stranger()
	var there, change []*p4v1.Update
	for i := range uint64(many) {
		there = append(there, insert(x.entry("t_left", x.call("mark", 0), exact(1, i))))
		change = append(change, modify(x.entry("t_left", x.call("mark", 1), exact(1, i))))
	}
	x.must(there...)
	first := true
	between = func() {
		if first {
			first = false
			x.must(change...)
		}
	}
	_, err := y.read(&p4v1.TableEntry{TableId: x.id("t_left")})
	between = nil
	if status.Code(err) != codes.Aborted || !strings.Contains(err.Error(), "read again") {
		t.Errorf("the read ended with %v, want Aborted and what to do", err)
	}
	if got := y.got(&p4v1.TableEntry{TableId: x.id("t_left")}); len(got) != many {
		t.Errorf("the next read has %d entries", len(got))
	}
}

// Reads that are large, many, slow or fruitless, by ten clients, do not stop the writes
// of the primary. The longest wait is logged.
func TestStrangersDoNotStopThePrimary(t *testing.T) {
	entries, writes := 20_000, 20
	if testing.Short() {
		entries, writes = 3000, 5
	}
	x := newBench(t, startSoft(t, p4rtserver.Options{Memory: 512_000_000}), false)
	var batch []*p4v1.Update
	for i := range entries {
		batch = append(batch, insert(x.entry("t_left", x.call("mark", 1), exact(1, uint64(i)))))
	}
	x.must(batch...)
	ctx, stop := context.WithCancel(x.ctx)
	nothing := &p4v1.TableEntry{TableId: x.id("t_left"), Metadata: []byte("none has it")}
	requests := [][]*p4v1.Entity{
		slices.Repeat([]*p4v1.Entity{entity(nothing)}, 15_000),           // finds nothing
		slices.Repeat([]*p4v1.Entity{entity(&p4v1.TableEntry{})}, 2000),  // more than may be answered
		{entity(&p4v1.TableEntry{CounterData: &p4v1.CounterData{}})},     // under the switch's lock
		slices.Repeat([]*p4v1.Entity{entity(&p4v1.RegisterEntry{})}, 50), // not received
	}
	var work sync.WaitGroup
	var reads atomic.Int64
	began := make(chan struct{}, 1000)
	for n := range 10 {
		y := x.stranger()
		work.Go(func() {
			for ctx.Err() == nil {
				q := &p4v1.ReadRequest{DeviceId: deviceID, Entities: requests[n%len(requests)]}
				stream, err := y.client.Read(ctx, q)
				select {
				case began <- struct{}{}:
				default:
				}
				reads.Add(1)
				for err == nil && n%len(requests) != 3 {
					_, err = stream.Recv()
				}
				if err != nil && !errors.Is(err, io.EOF) {
					select { // refused: not at once again
					case <-ctx.Done():
					case <-time.After(10 * time.Millisecond):
					}
				}
			}
		})
	}
	for range 10 {
		<-began
	}
	var took []time.Duration
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i := range writes {
		limited, cancel := context.WithTimeout(x.ctx, patience)
		begin := time.Now()
		_, err := x.client.Write(limited, &p4v1.WriteRequest{DeviceId: deviceID, ElectionId: uint128(x.election), Updates: []*p4v1.Update{
			modify(x.entry("t_left", x.call("mark", uint64(i)), exact(1, uint64(i))))}})
		took = append(took, time.Since(begin))
		cancel()
		if err != nil {
			t.Fatalf("write %d: %v", i, err)
		}
		<-tick.C
	}
	stop()
	work.Wait()
	slices.Sort(took)
	t.Logf("the longest of %d writes took %v beside ten hostile clients, which began %d reads; the median took %v", writes, slices.Max(took), reads.Load(), took[len(took)/2])
}

// receiver is the stream of a read whose answers nobody looks at.
type receiver struct {
	grpc.ServerStream
	ctx context.Context
}

func (r receiver) Context() context.Context      { return r.ctx }
func (r receiver) Send(*p4v1.ReadResponse) error { return nil }

// A read that is cancelled ends with the piece that it has begun, and one of too many
// elements is refused.
func TestReadsEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	pieces := 0
	options := soft
	options.ReadPiece = func() {
		if pieces++; pieces == 3 {
			cancel()
		}
	}
	x := newBench(t, startSoft(t, options), false)
	many := slices.Repeat([]*p4v1.Entity{entity(&p4v1.TableEntry{TableId: x.id("t_left")})}, 20_000)
	if err := x.server.Read(&p4v1.ReadRequest{DeviceId: deviceID, Entities: many}, receiver{ctx: ctx}); status.Code(err) != codes.Canceled {
		t.Errorf("the cancelled read ended with %v", err)
	}
	if pieces > 4 {
		t.Errorf("the cancelled read went on for %d pieces", pieces-3)
	}
	err := x.server.Read(&p4v1.ReadRequest{DeviceId: deviceID, Entities: slices.Repeat([]*p4v1.Entity{{}}, 1<<16+1)}, receiver{ctx: t.Context()})
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "send several reads") {
		t.Errorf("a read of 65,537 elements: %v", err)
	}
}
