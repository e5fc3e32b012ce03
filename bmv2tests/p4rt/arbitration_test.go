// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
)

// bid returns an arbitration update for a role.
func bid(role string, id *p4v1.Uint128) *p4v1.MasterArbitrationUpdate {
	u := &p4v1.MasterArbitrationUpdate{DeviceId: deviceID, ElectionId: id}
	if role != "" {
		u.Role = &p4v1.Role{Name: role}
	}
	return u
}

// A write, or a new pipeline, that a primary has begun ends before another controller is
// told that it is primary: also if the first one's stream has ended meanwhile, and if
// several bid in turn. Other roles do not wait for it.
func TestHandoverDuringAWrite(t *testing.T) {
	change := map[string]func(x *bench) error{
		"write": func(x *bench) error {
			_, err := x.client.Write(x.ctx, &p4v1.WriteRequest{DeviceId: deviceID, ElectionId: uint128(x.election), Updates: []*p4v1.Update{insert(x.exactEntry(1, 1))}})
			return err
		},
		"pipeline": func(x *bench) error {
			return x.setPipeline(p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, x.config)
		},
	}
	for name, do := range change {
		for _, how := range []string{"bids", "bids after the primary has gone", "two bid"} {
			t.Run(name+", "+how, func(t *testing.T) {
				x := newBench(t, startSoft(t, soft), false)
				backup := x.openAs(bid("", nil))
				x.arbitration(backup)
				// The switch's lock stops the change in the middle. If it has not begun when the
				// others bid, it is refused: then try again.
				for wait := 20 * time.Millisecond; ; wait *= 2 {
					release := x.soft.Hold()
					done := make(chan error, 1)
					go func() { done <- do(x) }()
					time.Sleep(wait)
					old := x.session
					if how == "bids after the primary has gone" {
						old.stream.CloseSend()
						x.standing(backup, codes.NotFound, old.election)
					}
					first := x.open(old.election + 1)
					second := (*session)(nil)
					if how == "two bid" {
						for x.arbitration(backup).ElectionId.GetLow() != first.election { // the first has bidden
						}
						second = x.open(old.election + 2)
					}
					other := x.openAs(bid(fmt.Sprint("other", old.election), uint128(1)))
					if a := x.arbitration(other); a.Status.GetCode() != 0 {
						t.Errorf("the primary of another role is told %v", a)
					}
					told := func(s *session) bool { return s != nil && len(s.messages) > 0 }
					time.Sleep(50 * time.Millisecond)
					early := told(first) || told(second)
					release()
					err := <-done
					last := first
					if second != nil {
						for x.arbitration(first).Status.GetCode() != int32(codes.AlreadyExists) { // superseded
						}
						last = second
					}
					x.standing(last, codes.OK, last.election)
					x.session = last
					if status.Code(err) == codes.PermissionDenied && wait < patience/4 {
						for len(backup.messages) > 0 {
							<-backup.messages
						}
						continue
					}
					if err != nil {
						t.Errorf("the %s that has begun: %v", name, err)
					}
					if early {
						t.Error("a controller was notified before the change ended")
					}
					break
				}
			})
		}
	}
}

// Random controllers of several roles come, bid with ids from 0 to 2^128-1, step down and
// go. After each step the writes of exactly those are accepted that are primary by the
// rules of section 5.
func TestArbitrationByItsModel(t *testing.T) {
	steps := 400
	if testing.Short() {
		steps = 150
	}
	x := newBench(t, startSoft(t, p4rtserver.Options{Share: 1}), false)
	ids := []*p4v1.Uint128{nil, {}, {Low: 1}, {Low: 2}, {Low: math.MaxUint64}, {High: 1}, {High: 1, Low: math.MaxUint64}, {High: math.MaxUint64}, {High: math.MaxUint64, Low: math.MaxUint64 - 1}, {High: math.MaxUint64, Low: math.MaxUint64}}
	type peer struct {
		s       *session
		role    string
		id      int // in ids
		primary bool
	}
	var peers []*peer
	highest := map[string]int{}
	r := rand.New(rand.NewPCG(7, 7))
	told := func(p *peer) *p4v1.MasterArbitrationUpdate {
		for {
			a := x.arbitration(p.s)
			// The last message of several is the answer: those of others' steps come before.
			if len(p.s.messages) == 0 {
				return a
			}
		}
	}
	primary := func(role string) *peer {
		for _, p := range peers {
			if p.role == role && p.primary {
				return p
			}
		}
		return nil
	}
	resolve := func(p *peer, id int) { // the rules
		p.id = id
		old := primary(p.role)
		if id == 0 || id < highest[p.role] {
			p.primary = false
			return
		}
		if old != nil {
			old.primary = false
		}
		highest[p.role], p.primary = id, true
	}
	used := func(role string, id int, by *peer) bool {
		return id > 0 && slices.ContainsFunc(peers, func(p *peer) bool { return p != by && p.role == role && p.id == id })
	}
	for step := range steps {
		role, id := []string{"a", "b", "c"}[r.IntN(3)], r.IntN(len(ids))
		if step < steps/2 {
			id = min(id, 1+step/20) // ids grow, or most are too low
		}
		switch k := r.IntN(4); {
		case k == 0 || len(peers) == 0:
			p := &peer{role: role}
			p.s = x.openAs(bid(role, ids[id]))
			if used(role, id, p) {
				x.refused(p.s, codes.InvalidArgument)
				continue
			}
			peers = append(peers, p)
			resolve(p, id)
			told(p)
		case k == 1 && len(peers) > 4:
			i := r.IntN(len(peers))
			p := peers[i]
			p.s.stream.CloseSend()
			<-p.s.ended
			peers = slices.Delete(peers, i, i+1)
			// The role is forgotten if no controller had an id.
			if highest[p.role] == 0 && !slices.ContainsFunc(peers, func(q *peer) bool { return q.role == p.role }) {
				delete(highest, p.role)
			}
		default:
			p := peers[r.IntN(len(peers))]
			if used(p.role, id, p) {
				continue
			}
			for len(p.s.messages) > 0 {
				<-p.s.messages
			}
			resolve(p, id)
			x.ask(p.s, bid(p.role, ids[id]))
			a := told(p)
			want := codes.OK
			switch q := primary(p.role); {
			case q == nil:
				want = codes.NotFound
			case q != p:
				want = codes.AlreadyExists
			}
			if a.Status.GetCode() != int32(want) || highest[p.role] > 0 && (a.ElectionId.GetHigh() != ids[highest[p.role]].High || a.ElectionId.GetLow() != ids[highest[p.role]].Low) {
				t.Fatalf("step %d: told %v, want %v and id %v", step, a, want, ids[highest[p.role]])
			}
		}
		for _, of := range []string{"a", "b", "c"} {
			q := primary(of)
			for id, e := range ids {
				if of != role && (q == nil || q.id != id) {
					continue
				}
				_, err := x.client.Write(x.ctx, &p4v1.WriteRequest{DeviceId: deviceID, Role: of, ElectionId: e})
				if is := q != nil && q.id == id; (err == nil) != is {
					t.Fatalf("step %d: a write of role %s with id %v: %v; primary: %v", step, of, e, err, is)
				}
			}
		}
	}
}

// hugeConfig is a role configuration with as many names as fit.
func hugeConfig(t testing.TB) *anypb.Any {
	names := make([]any, 7000)
	for i := range names {
		names[i] = fmt.Sprintf("\x1b%d", i)
	}
	st, err := structpb.NewStruct(map[string]any{"entities": names, "packet_in": true})
	if err != nil {
		t.Fatal(err)
	}
	a, err := anypb.New(st)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What the switch logs, and answers, does not grow with what a controller writes in its
// role, and a controller that repeats its bid fills no log.
func TestRoleConfigsAreBounded(t *testing.T) {
	var mu sync.Mutex
	var text bytes.Buffer
	options := p4rtserver.Options{Share: 1, Logger: slog.New(slog.NewTextHandler(writer(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return text.Write(b)
	}), &slog.HandlerOptions{Level: slog.LevelDebug}))}
	x := newBench(t, startSoft(t, options), false)
	u := bid("big", uint128(1))
	u.Role.Config = hugeConfig(t)
	s := x.openAs(u)
	for range 20 {
		x.arbitration(s)
		x.ask(s, u)
	}
	x.arbitration(s)
	s.stream.CloseSend()
	<-s.ended
	mu.Lock()
	if n := text.Len(); n > 20_000 || strings.Contains(text.String(), "\x1b") {
		t.Errorf("the log has %d bytes", n)
	}
	mu.Unlock()
	nested := &structpb.Value{Kind: &structpb.Value_NullValue{}}
	for range 1000 {
		nested = structpb.NewListValue(&structpb.ListValue{Values: []*structpb.Value{nested}})
	}
	deep, err := anypb.New(&structpb.Struct{Fields: map[string]*structpb.Value{"entities": nested}})
	if err != nil {
		t.Fatal(err)
	}
	long, err := anypb.New(&structpb.Struct{Fields: map[string]*structpb.Value{strings.Repeat("k", 60_000): nil}})
	if err != nil {
		t.Fatal(err)
	}
	for _, config := range []*anypb.Any{
		{TypeUrl: strings.Repeat("u", 60_000)}, {TypeUrl: "type.googleapis.com/google.protobuf.Struct", Value: []byte{0xff}},
		{TypeUrl: "type.googleapis.com/google.protobuf.Struct", Value: bytes.Repeat([]byte{0x0a, 0x00}, 30_000)},
		{Value: make([]byte, 1<<16)}, deep, long, {},
	} {
		u := bid("bad", uint128(1))
		u.Role.Config = config
		s := x.openAs(u)
		select {
		case <-s.messages:
			t.Errorf("role.config of type %.20q and %d bytes is accepted", config.TypeUrl, len(config.Value))
		case err := <-s.ended:
			if status.Code(err) != codes.InvalidArgument || len(err.Error()) > 2000 {
				t.Errorf("role.config of type %.20q: %.200v, %d bytes", config.TypeUrl, err, len(err.Error()))
			}
		case <-time.After(patience):
			t.Fatal("no answer")
		}
	}
	x.must(insert(x.exactEntry(1, 1)))
}

type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// Controllers of many roles that bid, hand over, flood their streams and read nothing stop
// neither the writes of a primary, nor packets, nor the arbitration of others.
func TestHostileStreamsDoNotStopThePrimary(t *testing.T) {
	writes := 20
	if testing.Short() {
		writes = 5
	}
	x := newBench(t, startSoft(t, p4rtserver.Options{Memory: 512_000_000}), false)
	x.must(insert(x.exactEntry(1, 1)), insert(&p4v1.DigestEntry{DigestId: x.id("alert_t"), Config: &p4v1.DigestEntry_Config{MaxListSize: 1, AckTimeoutNs: math.MaxInt64}}))
	ctx, stop := context.WithCancel(x.ctx)
	config := hugeConfig(t)
	var messages atomic.Int64
	send := func(stream p4v1.P4Runtime_StreamChannelClient, m *p4v1.StreamMessageRequest) bool {
		messages.Add(1)
		return stream.Send(m) == nil && ctx.Err() == nil
	}
	arbitration := func(u *p4v1.MasterArbitrationUpdate) *p4v1.StreamMessageRequest {
		return &p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: u}}
	}
	attacks := []func(c p4v1.P4RuntimeClient, n int){
		func(c p4v1.P4RuntimeClient, n int) { // many roles with huge configurations, whose streams end
			u := bid(fmt.Sprint("churn", n%200), uint128(uint64(n)+1))
			u.Role.Config = config
			if stream, err := c.StreamChannel(ctx); err == nil && send(stream, arbitration(u)) {
				stream.Recv()
				stream.CloseSend()
			}
		},
		func(c p4v1.P4RuntimeClient, n int) { // handovers in a role, up to the largest id
			stream, err := c.StreamChannel(ctx)
			for i := uint64(0); err == nil && i < 1000; i++ {
				if !send(stream, arbitration(bid("contested", &p4v1.Uint128{High: math.MaxUint64 - uint64(n%2), Low: i}))) {
					return
				}
			}
		},
		func(c p4v1.P4RuntimeClient, n int) { // the primary of its own role sends all kinds of messages
			stream, err := c.StreamChannel(ctx)
			if err != nil || !send(stream, arbitration(bid(fmt.Sprint("flood", n%10), uint128(uint64(n)+1)))) {
				return
			}
			stream.Recv()
			for i := range 3000 {
				m := []*p4v1.StreamMessageRequest{{}, packetOut(3, 0, make([]byte, 1000)), {Update: &p4v1.StreamMessageRequest_DigestAck{DigestAck: &p4v1.DigestListAck{DigestId: x.id("alert_t"), ListId: uint64(i)}}},
					{Update: &p4v1.StreamMessageRequest_Other{Other: &anypb.Any{TypeUrl: "x", Value: make([]byte, 10_000)}}}, {Update: &p4v1.StreamMessageRequest_Packet{}}, {Update: &p4v1.StreamMessageRequest_DigestAck{}}}[i%6]
				if !send(stream, m) {
					return
				}
			}
		},
		func(c p4v1.P4RuntimeClient, n int) { // a stream that says nothing, or the wrong device
			stream, err := c.StreamChannel(ctx)
			if err == nil && n%2 == 0 && send(stream, arbitration(&p4v1.MasterArbitrationUpdate{DeviceId: uint64(n), ElectionId: uint128(1)})) {
				stream.Recv()
			}
		},
	}
	var work sync.WaitGroup
	for n := range 12 {
		work.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				y := x.stranger()
				attacks[n%len(attacks)](y.client, i*12+n)
				select {
				case <-ctx.Done():
				case <-time.After(time.Millisecond):
				}
			}
		})
	}
	if !need.Poll(func() bool { return messages.Load() >= 1000 }) {
		t.Fatalf("%d messages have come, want 1000", messages.Load())
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var took, packets []time.Duration
	for i := range writes {
		begin := time.Now()
		x.must(modify(x.exactEntry(1, uint64(i%200+1))))
		took = append(took, time.Since(begin))
		begin = time.Now()
		x.marks(i%200+1, body(1, 1, 0, 0))
		packets = append(packets, time.Since(begin))
		<-tick.C
	}
	begin := time.Now()
	s := x.openAs(bid("late", uint128(1)))
	if a := x.arbitration(s); a.Status.GetCode() != 0 {
		t.Errorf("the primary of another role is told %v", a)
	}
	arbitrated := time.Since(begin)
	stop()
	work.Wait()
	t.Logf("beside twelve clients that sent %d messages, the longest of %d writes took %v, the longest packet %v, an arbitration %v", messages.Load(), writes, slices.Max(took), slices.Max(packets), arbitrated)
	if most := max(slices.Max(took), slices.Max(packets), arbitrated); most > 20*time.Second {
		t.Errorf("the primary waited for %v", most)
	}
}
