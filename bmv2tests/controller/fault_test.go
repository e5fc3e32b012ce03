// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane"
)

// keep runs a Keeper for one switch until the test, or stop, ends it.
func keep(t *testing.T, target controlplane.Target, o controlplane.Options, audit time.Duration) (k *controlplane.Keeper, f *controlplane.Fabric, stop func()) {
	t.Helper()
	if o.Event == nil {
		o.Event = func(e controlplane.Event) { t.Log(e) }
	}
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
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := k.AwaitKept(ctx); err != nil {
		t.Fatal(err)
	}
}

// difference is what another controller would have to do.
func difference(t *testing.T, target controlplane.Target, d controlplane.Desired) *controlplane.Change {
	t.Helper()
	s, err := controlplane.Connect(t.Context(), target, controlplane.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c, err := s.Plan(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAKilledSwitchIsPutInOrderWhenItIsBack(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		reconciled := make(chan struct{}, 16)
		o := controlplane.Options{Event: func(e controlplane.Event) {
			t.Log(e)
			if e.Kind == controlplane.Reconciled {
				reconciled <- struct{}{}
			}
		}}
		k, _, _ := keep(t, sw.Target, o, -1)
		d := state(t, program(t), 100)
		if err := k.Set(sw.Name, d); err != nil {
			t.Fatal(err)
		}
		awaitKept(t, k)
		<-reconciled
		sw.kill()
		sw.start(t)
		select {
		case <-reconciled:
		case <-time.After(30 * time.Second):
			t.Fatal("nothing was reconciled")
		}
		if c := difference(t, sw.Target, d); !c.Empty() {
			t.Errorf("left to do: %v", c)
		}
	})
}

func TestAStandbyTakesOverWithNoEntryLost(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		first := sw.Target
		first.ElectionID.Low = 5
		k1, _, stop := keep(t, first, controlplane.Options{}, -1)
		d := state(t, program(t), 100)
		k1.Set(sw.Name, d)
		awaitKept(t, k1)
		second := sw.Target
		second.ElectionID.Low = 2
		k2, f2, _ := keep(t, second, controlplane.Options{Policy: controlplane.Standby}, -1)
		k2.Set(sw.Name, d)
		stop()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		if err := f2.Sessions()[0].AwaitPrimary(ctx); err != nil {
			t.Fatal(err)
		}
		t.Logf("primary after %v", time.Since(began))
		awaitKept(t, k2)
		t.Logf("reconciled after %v", time.Since(began))
		if c := difference(t, sw.Target, d); !c.Empty() {
			t.Errorf("left to do: %v", c)
		}
	})
}

func TestAForeignWriteIsUndone(t *testing.T) {
	eachTarget(t, func(t *testing.T, sw *target) {
		foreign := make(chan struct{}, 16)
		first := sw.Target
		first.ElectionID.Low = 1
		o := controlplane.Options{Policy: controlplane.Standby, Event: func(e controlplane.Event) {
			t.Log(e)
			if e.Kind == controlplane.Reconciled {
				foreign <- struct{}{}
			}
		}}
		k, _, _ := keep(t, first, o, 50*time.Millisecond)
		d := state(t, program(t), 50)
		k.Set(sw.Name, d)
		awaitKept(t, k)
		<-foreign
		// Someone overrules the keeper, writes, and leaves.
		second := sw.Target
		second.ElectionID.Low = 9
		s := connect(t, second, controlplane.Options{})
		if err := s.SetPipeline(t.Context(), d.Pipeline); err != nil {
			t.Fatal(err)
		}
		s.Close()
		select {
		case <-foreign:
		case <-time.After(30 * time.Second):
			t.Fatal("nothing was put back")
		}
		if c := difference(t, sw.Target, d); !c.Empty() {
			t.Errorf("left to do: %v", c)
		}
	})
}
