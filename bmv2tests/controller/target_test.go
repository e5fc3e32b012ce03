// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/simnet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
	"github.com/pauseless/pauseless/softswitch/stf/simpleswitch"

	"google.golang.org/grpc"
)

// target is a running switch.
type target struct {
	controlplane.Target
	net   *simnet.Network  // its network; nil: the machine's
	kill  func()           // like kill -9
	start func(testing.TB) // again, at the same addresses, empty
}

// dial connects to an address of the network that the switch is in.
func (sw *target) dial(ctx context.Context, addr string) (net.Conn, error) {
	if sw.net != nil {
		return sw.net.Dialer("c1")(ctx, addr)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}

// listen accepts connections at an address, at any port if it is empty.
func (sw *target) listen(addr string) (net.Listener, error) {
	if sw.net != nil {
		return sw.net.Listen(addr)
	}
	return net.Listen("tcp", cmp.Or(addr, "127.0.0.1:0"))
}

// eachTarget runs a test on every available kind of switch. Ours runs with its
// controllers under a clock that advances only when all goroutines wait.
func eachTarget(t *testing.T, do func(*testing.T, *target)) {
	t.Run("softswitch", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { do(t, startSoft(t, simnet.New(rand.New(rand.NewPCG(1, 1))))) })
	})
	t.Run("bmv2", func(t *testing.T) { do(t, startBMv2(t)) })
}

// startBMv2 starts simple_switch_grpc without interfaces, on the loopback
// interface, and stops it when the test ends.
func startBMv2(t *testing.T) *target {
	t.Helper()
	program := need.Tool(t, "BMV2", "simple_switch_grpc")
	b, err := simpleswitch.Start(context.Background(), program, nil)
	if err != nil {
		t.Fatal(err)
	}
	sw := &target{Target: controlplane.Target{Name: "b1", Addr: b.P4Runtime, DeviceID: 1, Thrift: b.Thrift}}
	sw.kill = func() { b.Stop() }
	sw.start = func(t testing.TB) {
		t.Helper()
		again, err := b.Again()
		if err != nil {
			t.Fatal(err)
		}
		b = again
	}
	t.Cleanup(func() { b.Close() })
	return sw
}

// program compiles testdata/everything.p4.
func program(t testing.TB) controlplane.Pipeline {
	t.Helper()
	r, list := compiler.Compile(compiler.Options{File: "testdata/everything.p4"})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return controlplane.Pipeline{P4Info: r.P4Info, Config: bmv2json.Encode(r.Program)}
}

// startSoft starts our own switch, without links, as a node of a network.
func startSoft(t testing.TB, network *simnet.Network) *target {
	t.Helper()
	sw := &target{Target: controlplane.Target{Name: "b1", DeviceID: 1}, net: network}
	sw.start = func(t testing.TB) {
		t.Helper()
		l, err := sw.listen(sw.Addr)
		if err != nil {
			t.Fatal(err)
		}
		sw.Addr = l.Addr().String()
		soft, err := softswitch.New(softswitch.Config{Name: "b1", DeviceID: 1, Ports: []softswitch.Port{{Number: 1}, {Number: 2}, {Number: 3}}})
		if err != nil {
			t.Fatal(err)
		}
		soft.Attach(&wall{begun: time.Now(), sw: soft})
		g := grpc.NewServer(grpc.MaxRecvMsgSize(64 << 20))
		p4rtserver.New(soft, p4rtserver.Options{}).Register(g)
		go g.Serve(l)
		sw.kill = g.Stop
	}
	sw.start(t)
	t.Cleanup(func() { sw.kill() })
	return sw
}

// wall is a network in wall time whose links end nowhere.
type wall struct {
	begun time.Time
	sw    *softswitch.Switch
	pool  packet.Pool
}

func (w *wall) Now() vtime.Time {
	return vtime.Time(time.Since(w.begun).Nanoseconds()) * vtime.Nanosecond
}

func (w *wall) At(t vtime.Time, ev vtime.Event, arg uint64) {
	time.AfterFunc(time.Duration((t - w.Now()).Nanoseconds()), func() {
		w.sw.Lock()
		defer w.sw.Unlock()
		ev.Fire(w.Now(), arg)
	})
}

func (w *wall) Send(_ int, f *packet.Frame, _ vtime.Time) { w.pool.Put(f) }

func (w *wall) Frames() *packet.Pool { return &w.pool }
