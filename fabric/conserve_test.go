// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"context"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/fabric/fabrictest"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// leaky is a switch that loses or creates a frame.
type leaky struct {
	*fabrictest.Switch
	net    Network
	change func(n int, f *packet.Frame) []*packet.Frame
	n      int
}

func (l *leaky) Receive(port int, f *packet.Frame) {
	l.n++
	for _, f := range l.change(l.n, f) {
		l.Switch.Receive(port, f)
	}
}

// A frame that is lost without being counted, or created without a source, ends
// the run with an error that names the place.
func TestMissingFramesEndTheRun(t *testing.T) {
	for name, c := range map[string]struct {
		change func(n int, f *packet.Frame) []*packet.Frame
		want   string
	}{
		"sound": {func(_ int, f *packet.Frame) []*packet.Frame { return []*packet.Frame{f} }, ""},
		"forgotten": {func(n int, f *packet.Frame) []*packet.Frame {
			if n == 100 {
				return nil
			}
			return []*packet.Frame{f}
		}, "1 frames are missing in l1"},
		"made up": {func(n int, f *packet.Frame) []*packet.Frame {
			if n == 100 {
				g := *f
				g.Data = append([]byte(nil), f.Data...)
				return []*packet.Frame{f, &g}
			}
			return []*packet.Frame{f}
		}, "-1 frames are missing in l1"},
	} {
		net, err := topo.Parse("t.yaml", []byte(pairOfLeaves))
		if err != nil {
			t.Fatal(err)
		}
		f, err := New(Config{Topology: net, Hosts: roce.Papers.Defaults(), Switch: func(n *topo.Node, w Network) (Node, error) {
			s := fabrictest.New(net, n, w, fabrictest.Config{Overhead: 24, Buffer: 9e6, XOFF: 256e3, Resume: 2e3, Headroom: 3, Seed: 1})
			if n.Name == "l1" {
				return &leaky{Switch: s, net: w, change: c.change}, nil
			}
			return s, nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		h := net.Hosts()
		if err := f.AddFlows([]Flow{{Src: h[0], Dst: h[4], Size: 1e6, Class: 3}, {Src: h[1], Dst: h[4], Size: 1e6, Class: 3}}); err != nil {
			t.Fatal(err)
		}
		for f.Now() < vtime.Millisecond && err == nil {
			err = f.RunUntil(context.Background(), f.Now()+17*vtime.Microsecond)
		}
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// An error of a link's counters names the link and the port.
func TestWrongCountsOfLinksAreFound(t *testing.T) {
	b := newBed(t, pairOfLeaves)
	b.add(b.flow("h1", "h5", 100_000, 0))
	b.until(10 * vtime.Microsecond)
	for _, n := range b.engine.nodes { // conserve has checked them: make it check again
		n.checked--
	}
	b.engine.checked--
	p := b.pipes[0][0]
	p.taken.Bytes++
	if err := b.conserve(); err == nil || !strings.Contains(err.Error(), "bytes on port 1") {
		t.Errorf("a byte too many: %v", err)
	}
	p.taken.Bytes--
	p.sent.Frames++
	if err := b.conserve(); err == nil || !strings.Contains(err.Error(), "frames on port 1") {
		t.Errorf("a frame too many: %v", err)
	}
	p.sent.Frames--
	b.engine.nodes[b.net.NodeByName("h5").ID].received++
	if err := b.conserve(); err == nil || !strings.Contains(err.Error(), "h5 received") {
		t.Errorf("a frame that no link brought: %v", err)
	}
	b.engine.nodes[b.net.NodeByName("h5").ID].received--
	if err := b.conserve(); err != nil {
		t.Error(err)
	}
}
