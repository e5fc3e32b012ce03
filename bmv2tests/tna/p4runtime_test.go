// SPDX-License-Identifier: Apache-2.0

package tna

import (
	"net"
	"slices"
	"testing"
	"time"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
)

// Over P4Runtime a pair is a struct, of which our controller accesses the first field.
// Cells start with the program's values.
func TestPairsOverP4Runtime(t *testing.T) {
	const file, firstOf = "testdata/registers.p4", 6
	r := newRig(t, file)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g, err := p4rtserver.New(r.sw, p4rtserver.Options{}).GRPC(p4rtserver.GRPCConfig{})
	if err != nil {
		t.Fatal(err)
	}
	go g.Serve(l)
	t.Cleanup(g.Stop)
	ctx := t.Context()
	f, err := controlplane.Open(ctx, []controlplane.Target{{Name: "s1", Addr: l.Addr().String(), DeviceID: r.sw.Config().DeviceID}}, controlplane.Options{Probe: -1, Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	s := f.Sessions()[0]
	res, list := compiler.Compile(compiler.Options{File: file})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.SetPipeline(ctx, controlplane.Pipeline{P4Info: res.P4Info, Config: bmv2json.Encode(res.Program)}); err != nil {
		t.Fatal(err)
	}
	const pair = "Ingress.ask.pair"
	if err := s.WriteRegister(ctx, pair, 2, 2, 41); err != nil {
		t.Fatal(err)
	}
	a, err := s.ReadRegister(ctx, pair)
	if err != nil || !slices.Equal(a.Values, []uint64{7, 7, 41, 7, 7, 7, 7, 7}) {
		t.Errorf("the registers read %v, %v", a.Values, err)
	}
	r.sw.Lock()
	defer r.sw.Unlock()
	if got, _ := r.ask(firstOf, 2, 0, 0); got != 41 {
		t.Errorf("a packet finds %d, want 41", got)
	}
}
