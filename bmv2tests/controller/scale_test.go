// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane"
)

// racing is whether the race detector is enabled. With it the test below would
// take a minute or two, and find nothing more.
var racing bool

// Hundreds of our own switches run on one machine with their controller, each with
// a program and a thousand entries.
func TestTwoHundredSwitchesWithAThousandEntries(t *testing.T) {
	n, routes := 200, 1000
	if testing.Short() || racing {
		n, routes = 10, 100
	}
	var targets []controlplane.Target
	for i := range n {
		sw := startSoft(t, nil)
		sw.Name = fmt.Sprintf("s%d", i)
		targets = append(targets, sw.Target)
	}
	d := state(t, program(t), routes)
	began := time.Now()
	f, err := controlplane.StartAll(targets, controlplane.Options{
		Probe: -1, Timeout: patience, // a busy machine is not a failure
		Event: func(controlplane.Event) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	k := controlplane.NewKeeper(f, -1)
	for _, target := range targets {
		if err := k.Set(target.Name, d); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.Run(ctx)
	}()
	defer func() { cancel(); <-done }()
	wait, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	if err := k.AwaitKept(wait); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d switches with %d entries each as desired after %v", n, len(d.Entities), time.Since(began))
	began = time.Now()
	err = f.Each(t.Context(), func(ctx context.Context, s *controlplane.Session) error {
		c, err := s.Apply(ctx, d)
		if err == nil && !c.Empty() {
			err = fmt.Errorf("%s: %v left to do", s.Name(), c)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("nothing left to do, seen after %v", time.Since(began))
}
