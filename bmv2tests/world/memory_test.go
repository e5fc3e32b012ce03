// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/simnet"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
)

// Large messages of clients without permissions, as many as they can begin at once, are
// decoded one after the other in bounded memory. The primary can write meanwhile.
func TestLargeMessagesTakeTurns(t *testing.T) {
	need.Time(t, "it decodes 10 MB, under the race detector for half a minute")
	const memory, strangers = 64 << 20, 32
	p, err := program()
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		w := &world{pipeline: p, net: simnet.New(rand.New(rand.NewPCG(1, 1)))}
		sw, err := softswitch.New(softswitch.Config{Name: "s1", DeviceID: 1, Ports: []softswitch.Port{{Number: 1}, {Number: 2}}})
		if err != nil {
			t.Fatal(err)
		}
		m := &machine{w: w, name: "s1", began: time.Now(), sw: sw}
		sw.Attach(m)
		var before runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var most atomic.Uint64
		g, err := p4rtserver.New(sw, p4rtserver.Options{Memory: memory}).GRPC(p4rtserver.GRPCConfig{Wrap: func(_ any, call func() (any, error)) (any, error) {
			runtime.GC()
			var now runtime.MemStats
			runtime.ReadMemStats(&now) // the message has been decoded
			most.Store(max(most.Load(), now.HeapAlloc))
			return call()
		}})
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan struct{})
		l, err := w.net.Listen("s1")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			defer close(served)
			g.Serve(l)
		}()
		s, err := controlplane.Connect(t.Context(), controlplane.Target{Name: "s1", Addr: "s1", DeviceID: 1}, controlplane.Options{Dial: w.net.Dialer("c1"), Event: func(controlplane.Event) {}})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SetPipeline(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		large := &p4v1.WriteRequest{DeviceId: 1, ElectionId: &p4v1.Uint128{Low: 7}}
		for range 8_000 { // 300 KB, 5 MB when it is decoded
			large.Updates = append(large.Updates, controlplane.Insert(w.entry("kept", 1, 1)))
		}
		done := make(chan error, strangers)
		for range strangers {
			go func() {
				conn, err := grpc.NewClient("passthrough:///s1", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(w.net.Dialer("stranger")))
				if err != nil {
					done <- err
					return
				}
				defer conn.Close()
				_, err = p4v1.NewP4RuntimeClient(conn).Write(context.Background(), large)
				done <- err
			}()
		}
		for i := range 10 {
			if err := s.Write(t.Context(), []*p4v1.Update{controlplane.Insert(w.entry("kept", 100+i, 1))}); err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		}
		refused := map[codes.Code]int{}
		for range strangers {
			refused[status.Code(<-done)]++
		}
		if refused[codes.PermissionDenied] == 0 || refused[codes.PermissionDenied]+refused[codes.ResourceExhausted] != strangers {
			t.Errorf("strangers are told %v", refused)
		}
		// Waiting messages are in memory undecoded, and in the network.
		if took := int64(most.Load() - before.HeapAlloc); took > memory {
			t.Errorf("%d MB were in use", took>>20)
		}
		s.Close()
		g.Stop()
		<-served
	})
}
