// SPDX-License-Identifier: Apache-2.0

// Package controller tests package controlplane against real servers: BMv2's
// simple_switch_grpc where it is installed, and our own switch.
package controller

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/schema"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

func connect(t *testing.T, sw *target, target controlplane.Target, o controlplane.Options) *controlplane.Session {
	t.Helper()
	o.Event, o.Dial = func(e controlplane.Event) { t.Log(e) }, sw.dial
	s, err := controlplane.Connect(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// state has at least one entity of each kind.
func state(t *testing.T, p controlplane.Pipeline, routes int, more ...string) controlplane.Desired {
	t.Helper()
	sch, err := schema.New(p.P4Info)
	if err != nil {
		t.Fatal(err)
	}
	lines := []string{
		"Forward default -> forward(port=7)",
		"neighbour mac=02:00:00:00:00:01 vlan=0 -> rewrite(mac=02:00:00:00:00:ff, port=2)",
		"acl prio 10 src=10.0.0.0/8 proto=17 length=40..1500 flags=1&&&1 -> drop()",
		"acl prio 3 -> NoAction()",
		"member spread 7 -> forward(port=2)",
		"member spread 8 -> forward(port=3)",
		"group spread 2 size 4 -> 7, 8 weight 3",
		"paths leaf=3 -> group 2",
		"paths leaf=4 -> member 7",
		"multicast 1 -> 1, 2, 3/5",
		"clone 5 -> 510",
		"meter police[3] = cir 1000 burst 100 pir 2000 burst 200",
		"digest alert_t timeout 1ms list 10 ack 10ms",
		"register Readqlen[2] = 7",
		"register Readqlen[3] = 7",
		"register Warned[5] = 4000000000",
	}
	for i := range routes {
		lines = append(lines, fmt.Sprintf("Forward dst=10.%d.%d.0/24 -> forward(port=%d)", i>>8, i&255, i%8))
	}
	d := controlplane.Desired{Pipeline: p}
	for _, l := range append(lines, more...) {
		e, err := sch.ParseEntity(l)
		if err != nil {
			t.Fatal(err)
		}
		d.Entities = append(d.Entities, e)
	}
	return d
}

func TestApplyingTwiceChangesNothing(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		ctx := t.Context()
		s := connect(t, sw, sw.Target, controlplane.Options{})
		d := state(t, program(t), 200)
		c, err := s.Apply(ctx, d)
		if err != nil {
			t.Fatal(err)
		}
		if want := "pipeline pushed, 211 added, 5 changed"; c.String() != want {
			t.Errorf("first: %v, want %s", c, want)
		}
		for _, what := range []string{"second", "by another controller"} {
			if c, err = s.Apply(ctx, d); err != nil {
				t.Fatal(err)
			}
			if !c.Empty() {
				var b strings.Builder
				c.Plan.Print(&b, c.Schema, "")
				t.Errorf("%s: %v\n%s", what, c, b.String())
			}
			s.Close()
			s = connect(t, sw, sw.Target, controlplane.Options{})
		}
		// All entities change, and change back.
		other := state(t, program(t), 0)
		other.Entities = other.Entities[:0]
		if c, err = s.Apply(ctx, other); err != nil || c.Push {
			t.Fatal(c, err)
		}
		if c, err = s.Apply(ctx, other); err != nil || !c.Empty() {
			t.Errorf("emptied twice: %v, %v", c, err)
		}
		if c, err = s.Apply(ctx, d); err != nil || c.String() != "211 added, 1 changed" {
			t.Errorf("filled again: %v, %v", c, err)
		}
	})
}

func TestRegistersOverP4RuntimeOrThrift(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		ctx := t.Context()
		s := connect(t, sw, sw.Target, controlplane.Options{})
		if err := s.SetPipeline(ctx, program(t)); err != nil {
			t.Fatal(err)
		}
		store, err := s.Registers(ctx)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("registers over %s", store.Backend())
		if err := s.WriteRegister(ctx, "Warned", 2, 4, 1<<32-1); err != nil {
			t.Fatal(err)
		}
		a, err := s.ReadRegister(ctx, "Warned")
		if err != nil || !slices.Equal(a.Values, []uint64{0, 0, 1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 0, 0, 0}) || a.Unit != "us" {
			t.Errorf("got %+v, %v", a, err)
		}
		if err := s.ResetRegister(ctx, "Warned"); err != nil {
			t.Fatal(err)
		}
		if a, err = s.ReadRegister(ctx, "Warned"); err != nil || !slices.Equal(a.Values, make([]uint64, 8)) {
			t.Errorf("after a reset: %v, %v", a.Values, err)
		}
	})
}

func TestMistakesAreNamedByEverySwitch(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		ctx := t.Context()
		s := connect(t, sw, sw.Target, controlplane.Options{})
		if err := s.SetPipeline(ctx, program(t)); err != nil {
			t.Fatal(err)
		}
		var updates []*p4v1.Update
		for i := range 6 {
			e, err := s.Schema().ParseEntity(fmt.Sprintf("neighbour mac=%d vlan=1 -> forward(1)", i))
			if err != nil {
				t.Fatal(err)
			}
			updates = append(updates, controlplane.Insert(e))
		}
		err := s.Write(ctx, updates)
		if err == nil || !strings.Contains(err.Error(), "2 of 6 updates failed\n  insert neighbour mac=00:00:00:00:00:04 vlan=1 -> forward(port=1): ") {
			t.Errorf("a full table: %v", err)
		}
		err = s.Write(ctx, updates[:1])
		if err == nil || !strings.Contains(err.Error(), "1 of 1 updates failed") {
			t.Errorf("an entry twice: %v", err)
		}
		e, err := s.Schema().ParseEntity("clone 7 -> 1 truncate 64")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Write(ctx, []*p4v1.Update{controlplane.Insert(e)}); err != nil && !strings.Contains(err.Error(), "support neither truncation nor class of service") {
			t.Errorf("a truncated clone: %v", err)
		}
		if _, err := controlplane.Connect(ctx, sw.Target, controlplane.Options{Dial: sw.dial}); err == nil || !strings.Contains(err.Error(), "election id 1 is refused") {
			t.Errorf("election id twice: %v", err)
		}
		high := sw.Target
		high.ElectionID.Low = 9
		connect(t, sw, high, controlplane.Options{})
		if err := s.SetPipeline(ctx, program(t)); err == nil || !strings.Contains(err.Error(), "not primary: another controller is, with election id 9, above our 1") {
			t.Errorf("overruled: %v", err)
		}
	})
}

// The command line and a running controller have the same election id by default:
// ctl reports which controller is primary, and can become primary itself.
func TestTwoControllersWithOneElectionID(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		ctx := t.Context()
		target := sw.Target
		target.ElectionID.Low = 1
		inCharge := connect(t, sw, target, controlplane.Options{Policy: controlplane.AdoptOrphans})
		d := state(t, program(t), 3)
		if _, err := inCharge.Apply(ctx, d); err != nil {
			t.Fatal(err)
		}
		quiet := controlplane.Options{Policy: controlplane.AdoptOrphans, Dial: sw.dial, Event: func(controlplane.Event) {}}
		_, err := controlplane.Connect(ctx, target, quiet)
		if err == nil || !strings.Contains(err.Error(), "not primary: another controller is, with election id 1, which is also our 1") {
			t.Errorf("got %v", err)
		}
		if !inCharge.IsPrimary() {
			t.Error("asking made the controller lose the switch")
		}
		s := connect(t, sw, target, controlplane.Options{Policy: controlplane.TakeOver})
		if c, err := s.Apply(ctx, state(t, d.Pipeline, 4)); err != nil || c.String() != "1 added" {
			t.Errorf("%v, %v", c, err)
		}
	})
}
