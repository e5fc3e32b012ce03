// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"net"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/intent"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
	"google.golang.org/grpc"
)

// soft is pauseless switch, in virtual time.
type soft struct {
	sw     *softswitch.Switch
	at     vtime.Time
	events vtime.Queue
	out    []frame
	pool   packet.Pool
	units  softswitch.Units // those of BMv2 if not set
	silent bool             // sent frames are discarded
	rate   vtime.Rate       // of the ports; 0: frames are sent without delay
	pfc    softswitch.PFC   // obeyed and sent if set
	plain  bool             // the program is not optimised
}

func (s *soft) Now() vtime.Time         { return s.at }
func (s *soft) Frames() *packet.Pool    { return &s.pool }
func (s *soft) options() intent.Options { return intent.Options{} }
func (s *soft) arch() string            { return "v1model" }

func (s *soft) At(t vtime.Time, ev vtime.Event, arg uint64) { s.events.Push(t, ev, arg) }

func (s *soft) Send(port int, f *packet.Frame, _ vtime.Time) {
	if !s.silent {
		s.out = append(s.out, frame{port, append(slices.Clone(f.Data), make([]byte, f.Elided)...)})
	}
	s.pool.Put(f)
}

func (s *soft) start(t testing.TB, ports int) controlplane.Target {
	t.Helper()
	return s.startWith(t, ports, softswitch.DefaultRecircPort)
}

// startWith starts a switch with a port for recirculation.
func (s *soft) startWith(t testing.TB, ports, recirculation int) controlplane.Target {
	t.Helper()
	cfg := softswitch.Config{Name: "dut", DeviceID: 1, Seed: 1, Units: s.units, PFC: s.pfc}
	for p := 1; p <= ports; p++ {
		cfg.Ports = append(cfg.Ports, softswitch.Port{Number: p, Rate: s.rate})
	}
	cfg.Ports = append(cfg.Ports, softswitch.Port{Number: recirculation, Internal: true})
	sw, err := softswitch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.sw = sw
	sw.Attach(s)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	p4rtserver.New(sw, p4rtserver.Options{Compile: interp.Options{Plain: s.plain}}).Register(server)
	go server.Serve(l)
	t.Cleanup(server.Stop)
	return controlplane.Target{Name: "dut", Addr: l.Addr().String(), DeviceID: 1}
}

func (s *soft) send(port int, data []byte) { s.burst(port, data) }

// burst is send for several frames that arrive at once.
func (s *soft) burst(port int, frames ...[]byte) {
	s.sw.Lock()
	defer s.sw.Unlock()
	for _, data := range frames {
		f := s.pool.Get()
		f.Data = append(f.Data, data...)
		s.sw.Receive(port, f)
	}
	s.drain()
	s.at += vtime.Millisecond
}

// drain runs until there are no more events.
func (s *soft) drain() {
	for s.events.Next() < vtime.Never {
		at, ev, arg := s.events.Pop()
		s.at = max(s.at, at)
		ev.Fire(at, arg)
	}
}

func (s *soft) sent() []frame {
	out := s.out
	s.out = nil
	return inOrder(out)
}

func (s *soft) now() uint32 { return uint32(s.at / vtime.Microsecond) }

func (s *soft) wait(us int) {
	s.sw.Lock()
	defer s.sw.Unlock()
	s.at += vtime.Time(us) * vtime.Microsecond
}
