// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/intent"
	bmv2client "github.com/pauseless/pauseless/internal/bmv2"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/softswitch/stf/simpleswitch"
)

// bmv2 is simple_switch_grpc. Frames go in and out over its dataplane
// service, so that no interfaces and no privileges are needed.
type bmv2 struct {
	t      testing.TB
	binary string
	sw     *simpleswitch.Switch
	thrift *bmv2client.Client
	out    []frame
}

// oneBMv2 allows one BMv2 at a time, as it runs in real time.
var oneBMv2 sync.Mutex

func newBMv2(t *testing.T) *bmv2 {
	t.Helper()
	b := &bmv2{t: t, binary: need.Tool(t, "BMV2", "simple_switch_grpc")}
	oneBMv2.Lock()
	t.Cleanup(oneBMv2.Unlock)
	return b
}

func (b *bmv2) options() intent.Options { return intent.Options{NoCloneClass: true} }

func (b *bmv2) arch() string { return "v1model" }

func (b *bmv2) start(t testing.TB, _ int) controlplane.Target {
	t.Helper()
	sw, err := simpleswitch.Start(context.Background(), b.binary, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sw.Close() })
	b.sw = sw
	if b.thrift, err = bmv2client.Dial(sw.Thrift, bmv2client.Timeout); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.thrift.Close() })
	return controlplane.Target{Name: "dut", Addr: sw.P4Runtime, DeviceID: 1, Thrift: sw.Thrift}
}

func (b *bmv2) send(port int, data []byte) {
	frames, err := b.sw.Send(simpleswitch.Frame{Port: port, Data: data})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range frames {
		b.out = append(b.out, frame{f.Port, f.Data})
	}
}

func (b *bmv2) sent() []frame {
	out := b.out
	b.out = nil
	return inOrder(out)
}

func (b *bmv2) now() uint32 {
	us, err := b.thrift.Elapsed(context.Background())
	if err != nil {
		b.t.Fatal(err)
	}
	return uint32(us)
}

func (b *bmv2) wait(us int) { time.Sleep(time.Duration(us) * time.Microsecond) }
