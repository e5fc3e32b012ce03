// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	stdnet "net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/p4rttest"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/simnet"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// events collects the events that a program reports to its operator.
type events struct {
	mu   sync.Mutex
	list []controlplane.Event
}

func (e *events) add(ev controlplane.Event) {
	e.mu.Lock()
	e.list = append(e.list, ev)
	e.mu.Unlock()
}

func (e *events) texts() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for _, ev := range e.list {
		out = append(out, ev.String())
	}
	return out
}

func (e *events) count(kind controlplane.EventKind) (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.list {
		if ev.Kind == kind {
			n++
		}
	}
	return n
}

// await waits for n events of a kind.
func (e *events) await(t *testing.T, kind controlplane.EventKind, n int) controlplane.Event {
	t.Helper()
	eventually(t, func() bool { return e.count(kind) >= n }, func() string {
		return fmt.Sprintf("want %d events %q, have:\n%s", n, kind, strings.Join(e.texts(), "\n"))
	})
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range e.list {
		if ev.Kind == kind {
			if n--; n == 0 {
				return ev
			}
		}
	}
	panic("BUG: counted but not found")
}

// bubble runs a test under a clock that advances only when all goroutines wait,
// with its own network: the result does not depend on the load of the machine.
func bubble(t *testing.T, test func(*testing.T, *simnet.Network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, simnet.New(rand.New(rand.NewPCG(1, 1)))) })
}

func eventually(t *testing.T, ok func() bool, what func() string) {
	t.Helper()
	if !need.Poll(ok) {
		t.Fatal(what())
	}
}

func options(net *simnet.Network, ev *events) controlplane.Options {
	return controlplane.Options{Dial: net.Dialer("c1"), Event: ev.add, MinBackoff: time.Millisecond, MaxBackoff: 20 * time.Millisecond}
}

func target(s *p4rttest.Server, election uint64) controlplane.Target {
	return controlplane.Target{Name: "l1", Addr: s.Addr(), DeviceID: 1, ElectionID: controlplane.ElectionID{Low: election}}
}

func connect(t *testing.T, s *p4rttest.Server, election uint64, o controlplane.Options) *controlplane.Session {
	t.Helper()
	sess, err := controlplane.Connect(t.Context(), target(s, election), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sess.Close() })
	return sess
}

func pipeline() controlplane.Pipeline {
	return controlplane.Pipeline{P4Info: p4rttest.Program(), Config: []byte(`{"program":"test"}`)}
}

func entities(t testing.TB, s *controlplane.Session, lines ...string) []*p4v1.Entity {
	t.Helper()
	var out []*p4v1.Entity
	for _, l := range lines {
		e, err := s.Schema().ParseEntity(l)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func inserts(list []*p4v1.Entity) []*p4v1.Update {
	var out []*p4v1.Update
	for _, e := range list {
		out = append(out, controlplane.Insert(e))
	}
	return out
}

func TestAControllerPushesWritesAndReads(t *testing.T) {
	for _, bmv2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("bmv2=%v", bmv2), func(t *testing.T) {
			bubble(t, func(t *testing.T, net *simnet.Network) {
				ctx := t.Context()
				srv := p4rttest.Start(t, &p4rttest.Server{Net: net, BMv2: bmv2})
				s := connect(t, srv, 1, options(net, &events{}))
				if _, err := s.FetchPipeline(ctx); !errors.Is(err, controlplane.ErrNoPipeline) {
					t.Errorf("before a pipeline is pushed: %v", err)
				}
				if _, err := s.Read(ctx, &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{}}}); !errors.Is(err, controlplane.ErrNoPipeline) {
					t.Errorf("reading before a pipeline is pushed: %v", err)
				}
				if err := s.VerifyPipeline(ctx, pipeline()); err != nil {
					t.Fatal(err)
				}
				for _, want := range []bool{true, false} {
					if pushed, err := s.EnsurePipeline(ctx, pipeline()); err != nil || pushed != want {
						t.Fatalf("pushed %v, %v", pushed, err)
					}
				}
				lines := []string{"Forward hdr.ipv4.dst=10.0.1.0/24 -> forward(port=3)", "multicast 1 -> 1, 2", "clone 5 -> 510"}
				if err := s.Write(ctx, inserts(entities(t, s, lines...))); err != nil {
					t.Fatal(err)
				}
				got, err := s.Read(ctx, entities(t, s, "multicast 1 ->")...)
				if err != nil || len(got) != 1 || s.Schema().FormatEntity(got[0]) != lines[1] {
					t.Errorf("read %v, %v", got, err)
				}
				p, err := s.FetchPipeline(ctx)
				if err != nil || p.Cookie != pipeline().ID() || string(p.Config) != `{"program":"test"}` {
					t.Errorf("fetched %v, %v", p, err)
				}
			})
		})
	}
}

// A program without tables and actions runs like any other: a controller finds it and
// writes clone sessions.
func TestAPipelineWithoutEntities(t *testing.T) {
	for name, info := range map[string]*p4configv1.P4Info{"with its architecture": {PkgInfo: &p4configv1.PkgInfo{Arch: "v1model"}}, "empty": {}} {
		for _, cookie := range []*p4v1.ForwardingPipelineConfig_Cookie{nil, {Cookie: 7}} {
			t.Run(fmt.Sprintf("%s, %v", name, cookie), func(t *testing.T) {
				bubble(t, func(t *testing.T, net *simnet.Network) {
					srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
					s := connect(t, srv, 1, options(net, &events{}))
					srv.Load(&p4v1.ForwardingPipelineConfig{P4Info: info, P4DeviceConfig: []byte("{}"), Cookie: cookie})
					if _, err := s.LoadSchema(t.Context()); err != nil {
						t.Fatal(err)
					}
					if p, err := s.FetchPipeline(t.Context()); err != nil || string(p.Config) != "{}" {
						t.Errorf("fetched %v, %v", p, err)
					}
					if err := s.Write(t.Context(), inserts(entities(t, s, "clone 5 -> 510"))); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

func TestEachFailedUpdateIsNamed(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		ctx := t.Context()
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		o := options(net, &events{})
		o.Batch = 2
		s := connect(t, srv, 1, o)
		if err := s.SetPipeline(ctx, pipeline()); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for i := range 6 {
			lines = append(lines, fmt.Sprintf("neighbour dst=%d vlan=1 -> forward(%d)", i, i))
		}
		err := s.Write(ctx, inserts(entities(t, s, lines...)))
		var we *controlplane.WriteError
		if !errors.As(err, &we) || len(we.Failed) != 2 || we.Total != 6 || we.Failed[0].Index != 4 {
			t.Fatalf("got %v", err)
		}
		want := "l1: 2 of 6 updates failed\n" +
			"  insert neighbour hdr.ethernet.dst=00:00:00:00:00:04 meta.vlan=1 -> forward(port=4): table is full; neighbour holds 4 entries: write fewer, or increase its size in the program (ResourceExhausted)\n" +
			"  insert neighbour hdr.ethernet.dst=00:00:00:00:00:05 meta.vlan=1 -> forward(port=5): table is full; neighbour holds 4 entries: write fewer, or increase its size in the program (ResourceExhausted)"
		if err.Error() != want {
			t.Errorf("got:\n%v\nwant:\n%s", err, want)
		}
		if b, _ := srv.Writes(); b != 3 {
			t.Errorf("%d batches, want 3 of two", b)
		}
	})
}

func TestARegisterIsReadAsOneArray(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		ctx := t.Context()
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		s := connect(t, srv, 1, options(net, &events{}))
		if err := s.SetPipeline(ctx, pipeline()); err != nil {
			t.Fatal(err)
		}
		if err := s.WriteRegister(ctx, "Readqlen", 2, 3, 77); err != nil {
			t.Fatal(err)
		}
		a, err := s.ReadRegister(ctx, "ingress.Readqlen")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a.Values, []uint64{0, 0, 77, 77, 0, 0, 0, 0}) || a.Unit != "packets" || a.Bits != 19 || a.Label(2, nil) != "port=2" {
			t.Errorf("got %+v", a)
		}
		if err := s.ResetRegister(ctx, "Readqlen"); err != nil {
			t.Fatal(err)
		}
		if a, _ = s.ReadRegister(ctx, "Readqlen"); !slices.Equal(a.Values, make([]uint64, 8)) {
			t.Errorf("after a reset: %v", a.Values)
		}
		// Of a struct the first member counts.
		if err := s.WriteRegister(ctx, "Pair", 0, 0, 5); err != nil {
			t.Fatal(err)
		}
		if a, err = s.ReadRegister(ctx, "Pair"); err != nil || a.Values[0] != 5 {
			t.Errorf("a pair reads %v, %v; want 5", a.Values, err)
		}
		for _, c := range []struct {
			err  error
			want string
		}{
			{s.WriteRegister(ctx, "Readqlen", 8, 8, 1), "Readqlen has cells 0 to 7"},
			{s.WriteRegister(ctx, "Readqlen", 0, 0, 1<<19), "cells of 19 bits; 524288 does not fit"},
			{s.WriteRegister(ctx, "Redqlen", 0, 0, 1), `no register is called "Redqlen" (did you mean "Readqlen"?)`},
			{s.WriteRegister(ctx, "Pair", 0, 0, 1<<48), "does not fit"},
		} {
			if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
				t.Errorf("got %v, want %q", c.err, c.want)
			}
		}
	})
}

func TestReadRegisterErrorNamesThrift(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net, BMv2: true})
		s := connect(t, srv, 1, options(net, &events{}))
		if err := s.SetPipeline(t.Context(), pipeline()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.ReadRegister(t.Context(), "Readqlen"); err == nil || !strings.Contains(err.Error(), "give the address of its Thrift server") {
			t.Errorf("got %v", err)
		}
	})
}

func TestLowerElectionIDIsAnError(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		connect(t, srv, 5, options(net, &events{}))
		_, err := controlplane.Connect(t.Context(), target(srv, 3), options(net, &events{}))
		var np *controlplane.NotPrimaryError
		if !errors.As(err, &np) || np.Orphan {
			t.Fatalf("got %v", err)
		}
		if want := "l1: not primary: another controller is, with election id 5, above our 3; stop it, or take over with an election id from 6 up"; err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		_, err = controlplane.Connect(t.Context(), target(srv, 5), options(net, &events{}))
		if err == nil || !strings.Contains(err.Error(), "election id 5 is refused (Election id already exists") {
			t.Errorf("same id: %v", err)
		}
		// A session that may raise its ID evades; others learn the primary.
		o := options(net, &events{})
		o.Policy = controlplane.AdoptOrphans
		_, err = controlplane.Connect(t.Context(), target(srv, 5), o)
		if want := "l1: not primary: another controller is, with election id 5, which is also our 5; stop it, or take over with an election id from 6 up"; err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
		o.Policy = controlplane.TakeOver
		s, err := controlplane.Connect(t.Context(), target(srv, 5), o)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if id := s.ElectionID(); !s.IsPrimary() || id.Low != 6 {
			t.Errorf("primary %v, with election id %v", s.IsPrimary(), id)
		}
	})
}

// No controller can have a higher id than all ones. If its owner is connected, others
// report that; if not, they may use the same id (specification, Client Arbitration
// and Controller Replication).
func TestTheHighestElectionID(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		highest := target(srv, math.MaxUint64)
		highest.ElectionID.High = math.MaxUint64
		owner, err := controlplane.Connect(t.Context(), highest, options(net, &events{}))
		if err != nil {
			t.Fatal(err)
		}
		for _, policy := range []controlplane.Policy{controlplane.MustWin, controlplane.AdoptOrphans, controlplane.TakeOver} {
			o := options(net, &events{})
			o.Policy = policy
			_, err := controlplane.Connect(t.Context(), target(srv, 5), o)
			want := "l1: not primary: another controller is, with election id 18446744073709551615:18446744073709551615, above our 5; stop it, since no election id is higher"
			if err == nil || err.Error() != want {
				t.Errorf("policy %d: got  %v\nwant %s", policy, err, want)
			}
			if policy == controlplane.MustWin {
				continue
			}
			_, err = controlplane.Connect(t.Context(), highest, o)
			if want := "which is also our 18446744073709551615:18446744073709551615; stop it, since no election id is higher"; err == nil || !strings.HasSuffix(err.Error(), want) {
				t.Errorf("policy %d, the same id: got  %v\nwant %s", policy, err, want)
			}
		}
		owner.Close()
		for _, policy := range []controlplane.Policy{controlplane.AdoptOrphans, controlplane.TakeOver, controlplane.Standby} {
			o := options(net, &events{})
			o.Policy = policy
			s, err := controlplane.Connect(t.Context(), target(srv, 5), o)
			if err == nil {
				err = s.AwaitPrimary(t.Context())
			}
			if err != nil || s.ElectionID() != highest.ElectionID {
				t.Errorf("policy %d, without a primary: %v", policy, err)
			}
			if s != nil {
				s.Close()
			}
		}
	})
}

func TestPreemptedControllerCannotWrite(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		ctx := t.Context()
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		ev := &events{}
		old := connect(t, srv, 1, options(net, ev))
		if err := old.SetPipeline(ctx, pipeline()); err != nil {
			t.Fatal(err)
		}
		connect(t, srv, 2, options(net, &events{}))
		ev.await(t, controlplane.Backup, 1)
		err := old.Write(ctx, inserts(entities(t, old, "multicast 1 -> 1")))
		var np *controlplane.NotPrimaryError
		if !errors.As(err, &np) || np.Highest.Low != 2 {
			t.Errorf("got %v", err)
		}
	})
}

func TestLostSwitchIsReportedAndRetriedWithBackoff(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		ctx := t.Context()
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		ev := &events{}
		s := connect(t, srv, 1, options(net, ev))
		if err := s.SetPipeline(ctx, pipeline()); err != nil {
			t.Fatal(err)
		}
		srv.Stop()
		lost := ev.await(t, controlplane.Lost, 1)
		if !strings.HasPrefix(lost.String(), "l1: lost the connection to "+srv.Addr()+": ") || !strings.HasSuffix(lost.Text, "trying again in 1ms") {
			t.Errorf("lost: %s", lost)
		}
		retry := ev.await(t, controlplane.Retrying, 3)
		if !strings.Contains(retry.Text, "connection refused") || !strings.HasSuffix(retry.Text, "trying again in 8ms") {
			t.Errorf("third attempt: %s", retry)
		}
		var gone *controlplane.NotConnectedError
		if err := s.SetPipeline(ctx, pipeline()); !errors.As(err, &gone) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("writing meanwhile: %v", err)
		}
		srv.Restart(t, false)
		ev.await(t, controlplane.Primary, 2)
		if c := ev.await(t, controlplane.Connected, 2); !strings.Contains(c.Text, "again after") {
			t.Errorf("connected: %s", c)
		}
		if err := s.SetPipeline(ctx, pipeline()); err != nil {
			t.Error(err)
		}
	})
}

func TestNoServerIsAnErrorAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		srv.Stop()
		for _, o := range []controlplane.Options{{Dial: net.Dialer("c1")}, {Dial: net.Dialer("c1"), ReadOnly: true}} {
			o.Event = (&events{}).add
			_, err := controlplane.Connect(t.Context(), target(srv, 1), o)
			var gone *controlplane.NotConnectedError
			if !errors.As(err, &gone) || !strings.HasPrefix(err.Error(), "l1: cannot reach "+srv.Addr()+": ") || !strings.HasSuffix(err.Error(), "connection refused; is a P4Runtime server running there?") {
				t.Errorf("read-only %v: %v", o.ReadOnly, err)
			}
		}
	})
}

func TestAWrongDeviceIDIsFatal(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net, DeviceID: 7})
		_, err := controlplane.Connect(t.Context(), target(srv, 1), options(net, &events{}))
		if err == nil || !strings.Contains(err.Error(), "has no device 1 (no device 1 (NotFound)); a topology") {
			t.Errorf("got %v", err)
		}
	})
}

func TestUnresponsiveSwitchIsDisconnected(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		ev := &events{}
		o := options(net, ev)
		o.Probe = 10 * time.Millisecond
		o.Timeout = 100 * time.Millisecond
		connect(t, srv, 1, o)
		srv.Hang(true)
		if e := ev.await(t, controlplane.Lost, 1); !strings.Contains(e.Text, "no answer for 30ms: the switch does not answer any more") {
			t.Errorf("got %s", e)
		}
		srv.Hang(false)
		ev.await(t, controlplane.Primary, 2)
	})
}

func TestControllerRetriesAStaleElectionID(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		ev := &events{}
		s := connect(t, srv, 4, options(net, ev))
		release := srv.Hold(4)
		srv.Cut()
		if e := ev.await(t, controlplane.Retrying, 1); !strings.HasPrefix(e.Text, "election id 4 is in use: by our last connection, if the switch has not detected its end yet, or by another controller; trying again in ") {
			t.Errorf("got %s", e)
		}
		release()
		ev.await(t, controlplane.Primary, 2)
		if !s.IsPrimary() {
			t.Error("not the primary again")
		}
	})
}

func TestASilentServerIsAnErrorInTime(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		srv.Hang(true)
		o := options(net, &events{})
		o.Timeout = 50 * time.Millisecond
		_, err := controlplane.Connect(t.Context(), target(srv, 1), o)
		if err == nil || !strings.Contains(err.Error(), "no answer from") && !strings.Contains(err.Error(), "does not answer") {
			t.Errorf("got %v", err)
		}
	})
}

func TestTimeoutOfACallIsReported(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		o := options(net, &events{})
		o.Timeout = 200 * time.Millisecond
		o.Probe = -1
		s := connect(t, srv, 1, o)
		srv.Delay(10 * time.Second)
		err := s.SetPipeline(t.Context(), pipeline())
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "l1: push the pipeline: no answer from") {
			t.Errorf("got %v", err)
		}
	})
}

func TestAStandbyTakesOverWhenThePrimaryDies(t *testing.T) {
	for _, bmv2 := range []bool{false, true} {
		t.Run(fmt.Sprintf("bmv2=%v", bmv2), func(t *testing.T) {
			bubble(t, func(t *testing.T, net *simnet.Network) {
				ctx := t.Context()
				srv := p4rttest.Start(t, &p4rttest.Server{Net: net, BMv2: bmv2})
				first := connect(t, srv, 9, options(net, &events{}))
				if err := first.SetPipeline(ctx, pipeline()); err != nil {
					t.Fatal(err)
				}
				ev := &events{}
				o := options(net, ev)
				o.Policy = controlplane.Standby
				second := connect(t, srv, 2, o)
				if second.IsPrimary() {
					t.Fatal("the standby is primary at once")
				}
				first.Close()
				began := time.Now()
				if err := second.AwaitPrimary(ctx); err != nil {
					t.Fatal(err)
				}
				t.Logf("took over within %v", time.Since(began))
				if _, err := second.LoadSchema(ctx); err != nil {
					t.Fatal(err)
				}
				if err := second.Write(ctx, inserts(entities(t, second, "multicast 1 -> 1"))); err != nil {
					t.Error(err)
				}
				if !bmv2 && second.ElectionID() != (controlplane.ElectionID{High: 1, Low: 2}) {
					t.Errorf("took over with %v", second.ElectionID())
				}
			})
		})
	}
}

func TestOfManyStandbysOneTakesOver(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		first := connect(t, srv, 100, options(net, &events{}))
		var rest []*controlplane.Session
		for i := range 8 {
			o := options(net, &events{})
			o.Policy = controlplane.Standby
			rest = append(rest, connect(t, srv, uint64(i+1), o))
		}
		for len(rest) > 1 {
			first.Close()
			i := -1
			eventually(t, func() bool { i = winner(rest); return i >= 0 }, func() string { return "no one, or more than one, took over" })
			first = rest[i]
			rest = slices.Delete(rest, i, i+1)
		}
	})
}

// winner returns the index of the session that is primary while no other
// session is primary or has an election ID as high, or -1. It reads the state
// of each session once: a standby may still outbid the new primary, and for a
// short time there is no primary.
func winner(list []*controlplane.Session) int {
	at := -1
	var id controlplane.ElectionID
	for i, s := range list {
		if s.IsPrimary() {
			if at >= 0 {
				return -1
			}
			at, id = i, s.ElectionID()
		}
	}
	for i, s := range list {
		if at >= 0 && i != at && s.ElectionID().Compare(id) >= 0 {
			return -1
		}
	}
	return at
}

func TestObserverIsNotifiedOfThePrimary(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		ev := &events{}
		o := options(net, ev)
		o.Policy = controlplane.Observe
		s := connect(t, srv, 9, o)
		if e := ev.await(t, controlplane.Orphaned, 1); !strings.HasPrefix(e.Text, "there is no primary controller") {
			t.Errorf("got %s", e)
		}
		first := connect(t, srv, 1, options(net, &events{}))
		if e := ev.await(t, controlplane.Backup, 1); e.Text != "the controller with election id 1 is the primary" {
			t.Errorf("got %s", e)
		}
		connect(t, srv, 5, options(net, &events{}))
		if e := ev.await(t, controlplane.Backup, 2); e.Text != "the controller with election id 5 is the primary" {
			t.Errorf("got %s", e)
		}
		first.Close()
		if s.IsPrimary() {
			t.Error("the observer is primary")
		}
		// BMv2 treats a session with a role or without an ID as ID 0, so another
		// session preempts it.
		b := p4rttest.Start(t, &p4rttest.Server{Net: net, BMv2: true})
		connect(t, b, 9, o)
		if s := connect(t, b, 1, options(net, &events{})); !s.IsPrimary() {
			t.Error("the observer prevents another primary")
		}
	})
}

func TestEachRoleHasItsPrimary(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		connect(t, srv, 5, options(net, &events{}))
		at := target(srv, 1)
		at.Role = "listener"
		s, err := controlplane.Connect(t.Context(), at, options(net, &events{}))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if !s.IsPrimary() {
			t.Error("not the primary of its role")
		}
		b := p4rttest.Start(t, &p4rttest.Server{Net: net, BMv2: true})
		at.Addr, at.Role = b.Addr(), "listener"
		if _, err := controlplane.Connect(t.Context(), at, options(net, &events{})); err == nil || err.Error() != "l1: the switch does not support roles: it sends packets and digests to the primary controller only" {
			t.Errorf("got %v", err)
		}
		connect(t, b, 1, options(net, &events{})) // its ID is free again
	})
}

func TestPacketsAndDigestsReachTheController(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		ctx := t.Context()
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		s := connect(t, srv, 1, options(net, &events{}))
		if err := s.SetPipeline(ctx, pipeline()); err != nil {
			t.Fatal(err)
		}
		packets, digests := s.Packets(ctx), s.Digests(ctx)
		srv.SendPacket(&p4v1.PacketIn{Payload: []byte("hello"), Metadata: []*p4v1.PacketMetadata{{MetadataId: 1, Value: []byte{3}}}})
		for p := range packets {
			if string(p.Payload) != "hello" || string(p.Metadata["ingress_port"]) != "\x03" {
				t.Errorf("got %v", p)
			}
			break
		}
		bits := func(b ...byte) *p4v1.P4Data { return &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: b}} }
		srv.SendDigest(&p4v1.DigestList{DigestId: 385875969, ListId: 9, Data: []*p4v1.P4Data{
			{Data: &p4v1.P4Data_Struct{Struct: &p4v1.P4StructLike{Members: []*p4v1.P4Data{bits(2), bits(10, 0, 0, 1)}}}},
			{Data: &p4v1.P4Data_Struct{Struct: &p4v1.P4StructLike{Members: []*p4v1.P4Data{bits(3), bits(10, 0, 0, 2)}}}},
		}})
		srv.SendDigest(&p4v1.DigestList{DigestId: 385875969, ListId: 10, Data: []*p4v1.P4Data{bits(7)}})
		n := 0
		for d := range digests {
			if n++; n == 3 { // of the second list: the first has been taken whole
				break
			}
			if d.Name != "alert_t" || d.Uint("port") != uint64(n+1) || d.Fields[1].Text != fmt.Sprintf("10.0.0.%d", n) {
				t.Errorf("got %+v", d)
			}
		}
		eventually(t, func() bool { return len(srv.Acks()) == 1 && srv.Acks()[0].ListId == 9 }, func() string { return fmt.Sprint(srv.Acks()) })
		if err := s.PacketOut(ctx, []byte("out"), map[string]string{"egress_port": "4"}); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool { return len(srv.PacketsOut()) == 1 }, func() string { return "no packet went out" })
		if p := srv.PacketsOut()[0]; string(p.Payload) != "out" || len(p.Metadata) != 2 || string(p.Metadata[0].Value) != "\x04" {
			t.Errorf("sent %v", p)
		}
		if err := s.PacketOut(ctx, nil, map[string]string{"egres_port": "4"}); err == nil || !strings.Contains(err.Error(), `no field "egres_port"; it has: [egress_port _pad]`) {
			t.Errorf("got %v", err)
		}
	})
}

// A slow switch receives all updates although the controller disconnects at
// once.
func TestCloseLosesNoUpdates(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		s := connect(t, srv, 1, options(net, &events{}))
		if err := s.SetPipeline(t.Context(), pipeline()); err != nil {
			t.Fatal(err)
		}
		srv.Delay(50 * time.Millisecond)
		if err := s.PacketOut(t.Context(), []byte("out"), map[string]string{"egress_port": "4"}); err != nil {
			t.Fatal(err)
		}
		s.Close()
		if n := len(srv.PacketsOut()); n != 1 {
			t.Errorf("%d packets went out, want 1", n)
		}
	})
}

// Close ends although a message waits for a switch that has stopped reading: it waited
// for that message, without a limit.
func TestCloseDoesNotWaitForASwitchThatDoesNotRead(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		o := options(net, &events{})
		o.Probe = -1
		s := connect(t, srv, 1, o)
		if err := s.SetPipeline(t.Context(), pipeline()); err != nil {
			t.Fatal(err)
		}
		srv.Delay(time.Minute)
		sent := 0
		go func() {
			for s.PacketOut(t.Context(), make([]byte, 100_000), map[string]string{"egress_port": "4"}) == nil {
				sent++
			}
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		before := sent
		time.Sleep(10 * time.Second)
		if synctest.Wait(); sent != before {
			t.Fatalf("the switch has taken %d packets", sent-before)
		}
		begun := time.Now()
		s.Close()
		if took := time.Since(begun); took > time.Second {
			t.Errorf("Close took %v", took)
		}
		srv.Delay(0)
	})
}

func TestSlowReaderIsNotifiedOfDroppedDigests(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		ev := &events{}
		s := connect(t, srv, 1, options(net, ev))
		if err := s.SetPipeline(t.Context(), pipeline()); err != nil {
			t.Fatal(err)
		}
		digests := s.Digests(t.Context())
		for i := range 10000 {
			srv.SendDigest(&p4v1.DigestList{DigestId: 385875969, ListId: uint64(i), Data: []*p4v1.P4Data{{}}})
		}
		e := ev.await(t, controlplane.Dropped, 1)
		if !strings.HasPrefix(e.Text, "4096 digest lists dropped and not acknowledged: they arrive faster than the program reads them") {
			t.Errorf("got %s", e)
		}
		n := 0
		for range digests {
			if n++; n == 4000 {
				break
			}
		}
		if !s.IsPrimary() {
			t.Error("the session did not survive")
		}
	})
}

func TestAFabricReportsEverySwitchThatFails(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		a, b := p4rttest.Start(t, &p4rttest.Server{Net: net}), p4rttest.Start(t, &p4rttest.Server{Net: net})
		targets := []controlplane.Target{{Name: "l1", Addr: a.Addr(), DeviceID: 1}, {Name: "l2", Addr: b.Addr(), DeviceID: 1}}
		f, err := controlplane.Open(t.Context(), targets, options(net, &events{}))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if f.Session("l2") != f.Sessions()[1] || f.Session("l3") != nil {
			t.Error("sessions are not found by name")
		}
		err = f.Each(t.Context(), func(ctx context.Context, s *controlplane.Session) error { return fmt.Errorf("%s: no", s.Name()) })
		if err == nil || err.Error() != "l1: no\nl2: no" {
			t.Errorf("got %v", err)
		}
		b.Stop()
		if _, err := controlplane.Open(t.Context(), targets, options(net, &events{})); err == nil || !strings.Contains(err.Error(), "l2: cannot reach") {
			t.Errorf("got %v", err)
		}
		if _, err := controlplane.StartAll([]controlplane.Target{targets[0], targets[0]}, options(net, &events{})); err == nil || !strings.Contains(err.Error(), "two switches are called l1") {
			t.Errorf("got %v", err)
		}
	})
}

// A second session to a switch is not opened, so none has to be closed.
func TestASwitchIsAddedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		o := options(net, &events{})
		dial, dials := o.Dial, atomic.Int32{}
		o.Dial = func(ctx context.Context, addr string) (stdnet.Conn, error) {
			dials.Add(1)
			return dial(ctx, addr)
		}
		f, err := controlplane.Open(t.Context(), []controlplane.Target{target(srv, 5)}, o)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.Add(target(srv, 6)); err == nil || err.Error() != "two switches are called l1" {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		if n := dials.Load(); n != 1 {
			t.Errorf("%d connections, want 1", n)
		}
	})
}

func TestElectionIDs(t *testing.T) {
	for text, want := range map[string]controlplane.ElectionID{"5": {Low: 5}, "1:2": {High: 1, Low: 2}, "0x10": {Low: 16}} {
		if got, err := controlplane.ParseElectionID(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "a", "1:", "-1", "0:0"} {
		if _, err := controlplane.ParseElectionID(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// A switch that answers a read without an end stops no controller: with entities, with
// bytes, or with time.
func TestEndlessAnswersEnd(t *testing.T) {
	large := &p4v1.Entity{Entity: &p4v1.Entity_RegisterEntry{RegisterEntry: &p4v1.RegisterEntry{Data: &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: make([]byte, 1<<20)}}}}}
	for name, c := range map[string]struct {
		answer *p4v1.ReadResponse
		pause  time.Duration
		want   string
	}{
		"entities": {&p4v1.ReadResponse{Entities: slices.Repeat([]*p4v1.Entity{{}}, 1_000_000)}, 0, "the answer has more than 4000000 entities or 256 MB"},
		"bytes":    {&p4v1.ReadResponse{Entities: slices.Repeat([]*p4v1.Entity{large}, 2)}, 0, "the answer has more than 4000000 entities or 256 MB"},
		"time":     {&p4v1.ReadResponse{}, 9 * time.Second, "no answer from"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, net *simnet.Network) {
				srv := p4rttest.Start(t, &p4rttest.Server{Net: net, Endless: c.answer, Pause: c.pause})
				o := options(net, &events{})
				o.Probe = -1
				s := connect(t, srv, 1, o)
				begun := time.Now()
				all, err := s.Read(t.Context(), &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{}}})
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%d entities, %v", len(all), err)
				}
				if took := time.Since(begun); took > 11*time.Minute { // of the bubble
					t.Errorf("it took %v", took)
				}
			})
		})
	}
}
