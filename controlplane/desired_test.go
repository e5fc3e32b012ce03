// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/p4rttest"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/simnet"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// desired is a state with every kind of entity, including n routes.
func desired(t testing.TB, n int, more ...string) controlplane.Desired {
	t.Helper()
	lines := []string{
		"Forward default -> forward(port=9)",
		"acl prio 10 proto=17 dport=4791..4799 -> drop()",
		"member spread 7 -> forward(port=2)",
		"member spread 8 -> forward(port=3)",
		"group spread 2 size 4 -> 7 watch 2, 8 weight 3",
		"paths leaf=3 -> group 2",
		"multicast 1 -> 1, 2, 3",
		"clone 5 -> 510 backup 4 truncate 64",
		"meter police[3] = cir 1000 burst 10 pir 2000 burst 20",
		"digest alert_t timeout 1ms list 10 ack 10ms",
	}
	for i := range n {
		lines = append(lines, fmt.Sprintf("Forward dst=10.%d.%d.0/24 -> forward(port=%d)", i>>8, i&255, i%8))
	}
	sch, err := schema.New(p4rttest.Program())
	if err != nil {
		t.Fatal(err)
	}
	d := controlplane.Desired{Pipeline: pipeline()}
	for _, l := range append(lines, more...) {
		e, err := sch.ParseEntity(l)
		if err != nil {
			t.Fatal(err)
		}
		d.Entities = append(d.Entities, e)
	}
	return d
}

// holds checks that a switch has exactly the desired state.
func holds(srv *p4rttest.Server, d controlplane.Desired) error {
	have := srv.Entities()
	for _, e := range d.Entities {
		got := have[schema.Key(e)]
		if got == nil || !schema.Equal(got, e) {
			return fmt.Errorf("want %v, have %v", e, got)
		}
		delete(have, schema.Key(e))
	}
	for _, e := range have {
		if e.GetRegisterEntry() == nil {
			return fmt.Errorf("%v was not wanted", e)
		}
	}
	return nil
}

func TestApplyingTwiceChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		ctx := t.Context()
		for _, bmv2 := range []bool{false, true} {
			srv := p4rttest.Start(t, &p4rttest.Server{Net: net, BMv2: bmv2})
			s := connect(t, srv, 1, options(net, &events{}))
			d := desired(t, 100)
			if !bmv2 {
				d = desired(t, 100, "register Readqlen[2] = 7", "register Readqlen[3] = 7", "register Warned[0] = 1")
			}
			c, err := s.Apply(ctx, d)
			if err != nil {
				t.Fatal(err)
			}
			want := "pipeline pushed, 108 added, 2 changed"
			if !bmv2 {
				want = "pipeline pushed, 108 added, 5 changed"
			}
			if c.String() != want {
				t.Errorf("first time: %v, want %s", c, want)
			}
			if err := holds(srv, d); err != nil {
				t.Error(err)
			}
			_, before := srv.Writes()
			if c, err = s.Apply(ctx, d); err != nil || !c.Empty() || c.String() != "nothing to do" {
				t.Errorf("second time: %v, %v", c, err)
			}
			if _, after := srv.Writes(); after != before {
				t.Errorf("%d updates were sent for nothing", after-before)
			}
		}
	})
}

func TestAChangeWritesOnlyTheDifference(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		ctx := t.Context()
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		s := connect(t, srv, 1, options(net, &events{}))
		if _, err := s.Apply(ctx, desired(t, 100)); err != nil {
			t.Fatal(err)
		}
		d := desired(t, 102)
		d.Entities = slices.Delete(d.Entities, 20, 22) // two routes go, two come
		d.Entities[6] = desired(t, 0, "multicast 1 -> 3, 2").Entities[10]
		_, before := srv.Writes()
		c, err := s.Apply(ctx, d)
		if err != nil {
			t.Fatal(err)
		}
		if _, after := srv.Writes(); c.String() != "2 added, 1 changed, 2 removed" || after-before != 5 {
			t.Errorf("%v, in %d updates", c, after-before)
		}
		if err := holds(srv, d); err != nil {
			t.Error(err)
		}
		var b strings.Builder
		c.Plan.Print(&b, c.Schema, "  ")
		want := `  - multicast 1 -> 1, 2, 3
  + multicast 1 -> 3, 2
  - Forward hdr.ipv4.dst=10.0.10.0/24 -> forward(port=2)
  - Forward hdr.ipv4.dst=10.0.11.0/24 -> forward(port=3)
  + Forward hdr.ipv4.dst=10.0.100.0/24 -> forward(port=4)
  + Forward hdr.ipv4.dst=10.0.101.0/24 -> forward(port=5)
`
		if sorted(b.String()) != sorted(want) {
			t.Errorf("plan:\n%swant:\n%s", b.String(), want)
		}
	})
}

func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestAPlanIsMadeWithoutWriting(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		o := options(net, &events{})
		o.ReadOnly = true
		s := connect(t, srv, 1, o)
		c, err := s.Plan(t.Context(), desired(t, 3))
		if err != nil || !c.Push || c.Empty() {
			t.Errorf("%v, %v", c, err)
		}
		if len(srv.Entities()) != 0 {
			t.Error("the plan was carried out")
		}
		if _, err := s.Apply(t.Context(), desired(t, 3)); err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("got %v", err)
		}
	})
}

func TestAFullTableMakesRoomBeforeItGrows(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		ctx := t.Context()
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		s := connect(t, srv, 1, options(net, &events{}))
		neighbours := func(first int) []string {
			var lines []string
			for i := range 4 { // its size
				lines = append(lines, fmt.Sprintf("neighbour dst=%d vlan=1 -> forward(1)", first+i))
			}
			return lines
		}
		if _, err := s.Apply(ctx, desired(t, 0, neighbours(0)...)); err != nil {
			t.Fatal(err)
		}
		d := desired(t, 0, neighbours(2)...)
		if _, err := s.Apply(ctx, d); err != nil {
			t.Fatal(err)
		}
		if err := holds(srv, d); err != nil {
			t.Error(err)
		}
		// The failed entity is named, and the others are written.
		_, err := s.Apply(ctx, desired(t, 5, append(neighbours(2), "neighbour dst=9 vlan=9 -> forward(1)")...))
		if err == nil || !strings.Contains(err.Error(), "1 of 6 updates failed\n  insert neighbour hdr.ethernet.dst=00:00:00:00:00:09 meta.vlan=9 -> forward(port=1): table is full") {
			t.Errorf("got %v", err)
		}
		if err := holds(srv, desired(t, 5, neighbours(2)...)); err != nil {
			t.Error(err)
		}
	})
}

func TestWantingTheSameTwiceIsAnErrorOnlyIfItDiffers(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		s := connect(t, srv, 1, options(net, &events{}))
		if _, err := s.Apply(t.Context(), desired(t, 1, "multicast 1 -> 3, 1, 2")); err != nil {
			t.Error(err)
		}
		_, err := s.Apply(t.Context(), desired(t, 1, "multicast 1 -> 3"))
		if err == nil || err.Error() != "l1: two different entities with the same key:\n  multicast 1 -> 1, 2, 3\n  multicast 1 -> 3" {
			t.Errorf("got %v", err)
		}
	})
}

func TestUndesiredDefaultEntryIsReset(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		ctx := t.Context()
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		s := connect(t, srv, 1, options(net, &events{}))
		d := desired(t, 0)
		if _, err := s.Apply(ctx, d); err != nil {
			t.Fatal(err)
		}
		d.Entities = d.Entities[1:]
		if c, err := s.Apply(ctx, d); err != nil || c.String() != "1 changed" {
			t.Errorf("%v, %v", c, err)
		}
		if err := holds(srv, d); err != nil {
			t.Error(err)
		}
	})
}

// keep runs a Keeper over a session until the end of the test.
func keep(t *testing.T, srv *p4rttest.Server, election uint64, o controlplane.Options, audit time.Duration) (*controlplane.Keeper, *controlplane.Fabric, func()) {
	t.Helper()
	f, err := controlplane.StartAll([]controlplane.Target{target(srv, election)}, o)
	if err != nil {
		t.Fatal(err)
	}
	k := controlplane.NewKeeper(f, audit)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.Run(ctx)
	}()
	stop := func() {
		cancel()
		<-done
		f.Close()
	}
	t.Cleanup(stop)
	return k, f, stop
}

func set(t *testing.T, k *controlplane.Keeper, d controlplane.Desired) {
	t.Helper()
	if err := k.Set("l1", d); err != nil {
		t.Fatal(err)
	}
	awaitKept(t, k)
}

func awaitKept(t *testing.T, k *controlplane.Keeper) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), need.Patience)
	defer cancel()
	if err := k.AwaitKept(ctx); err != nil {
		t.Fatal(err)
	}
}

func eventuallyHolds(t *testing.T, srv *p4rttest.Server, d controlplane.Desired) {
	t.Helper()
	eventually(t, func() bool { return holds(srv, d) == nil }, func() string { return holds(srv, d).Error() })
}

// A keeper that is primary but has no desired state waits for one. Before, it
// retried without a pause.
func TestKeeperWithoutDesiredStateWaits(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		ev := &events{}
		keep(t, srv, 1, options(net, ev), time.Second)
		ev.await(t, controlplane.Primary, 1) // never, if a session does not wait
	})
}

func TestKeeperRestoresARestartedSwitch(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		ev := &events{}
		k, _, _ := keep(t, srv, 1, options(net, ev), -1)
		d := desired(t, 500)
		set(t, k, d)
		for range 3 {
			srv.Stop()
			srv.Restart(t, false)
			eventuallyHolds(t, srv, d)
		}
		if e := ev.await(t, controlplane.Reconciled, 2); e.Text != "as desired: pipeline pushed, 508 added, 2 changed (this controller became primary)" {
			t.Errorf("got %s", e)
		}
	})
}

func TestKeeperWritesOnlyChangesAfterALostConnection(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		ev := &events{}
		k, _, _ := keep(t, srv, 1, options(net, ev), -1)
		d := desired(t, 500)
		set(t, k, d)
		_, before := srv.Writes()
		srv.Cut()
		ev.await(t, controlplane.Primary, 2)
		srv.Cut()
		ev.await(t, controlplane.Primary, 3)
		set(t, k, desired(t, 501))
		if _, after := srv.Writes(); after-before != 1 {
			t.Errorf("%d updates, want the one that is new", after-before)
		}
	})
}

func TestKeeperRevertsForeignWritesAndReportsThem(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		ev := &events{}
		k, _, _ := keep(t, srv, 1, options(net, ev), time.Millisecond)
		d := desired(t, 50)
		set(t, k, d)
		srv.Remove(d.Entities[12])
		srv.Put(desired(t, 60).Entities[65])
		srv.Put(desired(t, 0, "multicast 1 -> 9").Entities[10])
		eventuallyHolds(t, srv, d)
		if e := ev.await(t, controlplane.Foreign, 1); !strings.HasPrefix(e.Text, "another controller has written to the switch; desired state restored: ") {
			t.Errorf("got %s", e)
		}
		// Another pipeline is a foreign write, too.
		other := p4rttest.Program()
		other.Tables = other.Tables[:1]
		srv.Load(&p4v1.ForwardingPipelineConfig{P4Info: other})
		eventuallyHolds(t, srv, d)
	})
}

func TestKeeperContinuesAfterAFailover(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		o := options(net, &events{})
		o.Batch = 50
		first, fabric, stop := keep(t, srv, 5, o, -1)
		ev := &events{}
		o = options(net, ev)
		o.Policy = controlplane.Standby
		second, _, _ := keep(t, srv, 2, o, -1)
		ev.await(t, controlplane.Backup, 1)
		eventually(t, fabric.Session("l1").IsPrimary, func() string { return "the first is not primary" })
		d := desired(t, 900)
		second.Set("l1", d)
		died := make(chan struct{})
		srv.AfterWrite(func(batch int) {
			if batch == 5 {
				close(died)
			}
		})
		first.Set("l1", d)
		<-died
		stop()
		awaitKept(t, second)
		if err := holds(srv, d); err != nil {
			t.Error(err)
		}
	})
}

// The desired state of a standby changes while it waits. When it takes over, it
// applies the last one only: it removed what the others had added since, and added it
// again.
func TestStandbyTakesOverWithTheLatestState(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		first, _, stop := keep(t, srv, 5, options(net, &events{}), -1)
		set(t, first, desired(t, 3))
		ev := &events{}
		o := options(net, ev)
		o.Policy = controlplane.Standby
		fabric, err := controlplane.StartAll([]controlplane.Target{target(srv, 2)}, o)
		if err != nil {
			t.Fatal(err)
		}
		defer fabric.Close()
		second := controlplane.NewKeeper(fabric, -1)
		if err := second.Set("l1", desired(t, 3)); err != nil { // before it runs, as ctl apply does
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- second.Run(ctx) }()
		defer func() { cancel(); <-done }()
		ev.await(t, controlplane.Backup, 1)
		synctest.Wait()
		d := desired(t, 9)
		if err := second.Set("l1", d); err != nil {
			t.Fatal(err)
		}
		set(t, first, d)
		_, before := srv.Writes()
		stop()
		awaitKept(t, second)
		if _, after := srv.Writes(); after != before || !fabric.Session("l1").IsPrimary() {
			t.Errorf("%d updates although nothing has changed: %v", after-before, ev.texts())
		}
		if err := holds(srv, d); err != nil {
			t.Error(err)
		}
	})
}

func TestKeeperRetriesAfterAConnectionBreaksBetweenBatches(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		o := options(net, &events{})
		o.Batch = 10
		k, _, _ := keep(t, srv, 1, o, -1)
		srv.FailWriteAfter(7)
		d := desired(t, 300)
		set(t, k, d)
		if err := holds(srv, d); err != nil {
			t.Error(err)
		}
	})
}

func TestKeeperReportsAnErrorOnce(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		ev := &events{}
		k, _, _ := keep(t, srv, 1, options(net, ev), -1)
		d := desired(t, 0)
		for i := range 5 {
			d.Entities = append(d.Entities, desired(t, 0, fmt.Sprintf("neighbour dst=%d vlan=1 -> forward(1)", i)).Entities[10])
		}
		k.Set("l1", d)
		e := ev.await(t, controlplane.NotAsDesired, 1)
		if !strings.Contains(e.Text, "not as desired: 1 of ") || !strings.Contains(e.Text, "table is full") {
			t.Errorf("got %s", e)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if err := k.AwaitKept(ctx); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "table is full") {
			t.Errorf("got %v", err)
		}
		set(t, k, desired(t, 3))
		if err := k.Set("l9", d); err == nil || err.Error() != "no switch is called l9" {
			t.Errorf("got %v", err)
		}
	})
}

func TestTwoControllersThatFightSettleOnTheHigher(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		low, high := &events{}, &events{}
		o := options(net, low)
		o.Policy = controlplane.Standby
		k1, _, _ := keep(t, srv, 1, o, time.Millisecond)
		o.Event = high.add
		k2, f2, _ := keep(t, srv, 2, o, time.Millisecond)
		k1.Set("l1", desired(t, 10))
		d := desired(t, 20)
		k2.Set("l1", d)
		eventually(t, func() bool { return f2.Session("l1").IsPrimary() }, func() string { return strings.Join(high.texts(), "\n") })
		eventuallyHolds(t, srv, d)
		_, before := srv.Writes()
		time.Sleep(20 * time.Millisecond) // audits by the primary
		if _, after := srv.Writes(); after != before {
			t.Errorf("%d updates while both hold still", after-before)
		}
	})
}

func TestSwitchesComeAndGoWhileTheOthersAreKept(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		a, b := p4rttest.Start(t, &p4rttest.Server{Net: net}), p4rttest.Start(t, &p4rttest.Server{Net: net})
		ev := &events{}
		k, f, stop := keep(t, a, 1, options(net, ev), time.Millisecond)
		d := desired(t, 20)
		set(t, k, d)
		second := target(b, 1)
		second.Name = "l2"
		s, err := f.Add(second)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Add(second); err == nil || err.Error() != "two switches are called l2" {
			t.Errorf("added twice: %v", err)
		}
		k.Take(s)
		if err := k.Set("l2", d); err != nil {
			t.Fatal(err)
		}
		awaitKept(t, k)
		if err := holds(b, d); err != nil {
			t.Error(err)
		}
		k.Leave("l1")
		f.Remove("l1")
		f.Remove("l1")
		if len(f.Sessions()) != 1 || f.Session("l1") != nil || f.Session("l2") != s {
			t.Errorf("%d sessions", len(f.Sessions()))
		}
		a.Remove(d.Entities[12])
		b.Remove(d.Entities[12])
		eventuallyHolds(t, b, d)
		if holds(a, d) == nil {
			t.Error("what was left is still looked after")
		}
		if err := k.Set("l1", d); err == nil {
			t.Error("something is wanted of what was left")
		}
		stop()
		k.Take(s) // too late, and without harm
		k.Leave("l2")
	})
}

func TestKeeperDeliversDigests(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		srv := p4rttest.Start(t, &p4rttest.Server{Net: net})
		f, err := controlplane.StartAll([]controlplane.Target{target(srv, 1)}, options(net, &events{}))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		k := controlplane.NewKeeper(f, -1)
		told := make(chan controlplane.Digest, 100)
		k.Digest = func(s *controlplane.Session, d controlplane.Digest) { told <- d }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			k.Run(ctx)
		}()
		defer func() { cancel(); <-done }()
		k.Set("l1", desired(t, 1))
		awaitKept(t, k)
		bits := func(b ...byte) *p4v1.P4Data { return &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: b}} }
		srv.SendDigest(&p4v1.DigestList{DigestId: 385875969, ListId: 4, Data: []*p4v1.P4Data{
			{Data: &p4v1.P4Data_Struct{Struct: &p4v1.P4StructLike{Members: []*p4v1.P4Data{bits(2), bits(10, 0, 0, 1)}}}},
		}})
		if d := <-told; d.Name != "alert_t" || d.Uint("port") != 2 {
			t.Errorf("got %+v", d)
		}
		eventually(t, func() bool { return len(srv.Acks()) == 1 }, func() string { return "not acknowledged" })
	})
}
