// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/p4rttest"
	"github.com/pauseless/pauseless/internal/simnet"
)

// Many switches are put in order at once, and stay so when half of them
// restart. (bmv2tests/controller does it with real ones, and more.)
func TestManySwitchesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, net *simnet.Network) {
		n, routes := 40, 200
		if testing.Short() {
			n = 10
		}
		var targets []controlplane.Target
		var servers []*p4rttest.Server
		for i := range n {
			s := p4rttest.Start(t, &p4rttest.Server{Net: net})
			servers = append(servers, s)
			targets = append(targets, controlplane.Target{Name: fmt.Sprintf("s%d", i), Addr: s.Addr(), DeviceID: 1})
		}
		f, err := controlplane.StartAll(targets, controlplane.Options{Dial: net.Dialer("c1"), Event: (&events{}).add, Probe: time.Minute, MinBackoff: time.Millisecond, MaxBackoff: 20 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		k := controlplane.NewKeeper(f, -1)
		d := desired(t, routes)
		began := time.Now()
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
		awaitKept(t, k)
		t.Logf("%d switches with %d entries each as desired after %v", n, len(d.Entities), time.Since(began))
		for i := 0; i < n; i += 2 {
			servers[i].Stop()
			servers[i].Restart(t, false)
		}
		began = time.Now()
		for _, s := range servers {
			eventuallyHolds(t, s, d)
		}
		t.Logf("half of them again after %v", time.Since(began))
	})
}
