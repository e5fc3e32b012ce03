// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/metrics"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// A poller records queues and counters from the switches' registers over
// P4Runtime. An error names a switch that does not answer; the others are
// recorded.
func TestRegistersArePolled(t *testing.T) {
	ctx := context.Background()
	s, err := scenario.Parse("incast.yaml", []byte(incast))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cases()[0]
	prog, err := program.Build(c.Loaded())
	if err != nil {
		t.Fatal(err)
	}
	hosts := roce.Papers.Defaults()
	hosts.CC.Algorithm = "dcqcn"
	lab, err := virtual.Open(ctx, virtual.Config{Topology: c.Net(), Program: prog, Hosts: hosts, Paths: map[string]int{"h8": 1}, Seed: 1, Event: func(controlplane.Event) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer lab.Close()
	control, err := lab.Control(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPoller(ctx, c.Net(), control, PollOptions{Every: time.Second, Limits: DefaultLimits})
	if err != nil {
		t.Fatal(err)
	}
	flows, err := c.Flows(1)
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Fabric.AddFlows(flows); err != nil {
		t.Fatal(err)
	}
	if err := p.Look(ctx); err != nil {
		t.Fatal(err)
	}
	if err := lab.Fabric.RunUntil(ctx, 1050*vtime.Microsecond); err != nil {
		t.Fatal(err)
	}
	if err := p.Look(ctx); err != nil {
		t.Fatal(err)
	}
	run, _ := p.Snapshot()
	if err := run.check(); err != nil {
		t.Fatal(err)
	}
	if len(run.TNS) != 2 || len(run.Queues[0]) != 0 || len(run.Queues[1]) == 0 {
		t.Fatalf("queues %v, values %v of %v", run.Queues, run.Values, p.have)
	}
	// The queues agree with the traffic manager's counts by ingress port, except
	// for packets that are being sent.
	for k := 0; k < len(run.Queues[1]); k += 2 {
		ch, n := run.Queues[1][k], run.Queues[1][k+1]
		l := run.Network.Links[ch/2]
		node, port := l.B, l.BP
		if ch%2 == 1 {
			node, port = l.A, l.AP
		}
		if c.Net().Nodes[node].Kind != topo.Switch {
			continue
		}
		sw := lab.Switch(node)
		sw.Lock()
		stats := sw.Port(port)
		sw.Unlock()
		var real int64
		for _, k := range stats.Class {
			real += k.IngressBytes
		}
		if max(real-n, n-real) > 5000 {
			t.Errorf("%s port %d: recorded %d bytes, want %d", c.Net().Nodes[node].Name, port, n, real)
		}
	}
	control.Sessions()[0].Close()
	short, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if err := p.Look(short); err == nil {
		t.Error("no error for a switch that does not answer")
	}
	if run, _ := p.Snapshot(); len(run.TNS) != 3 {
		t.Error("the other switches are not recorded")
	}
}

// A poller records the use of links, paused times and queues from the switches'
// metrics: those of the sender, or the receiver's if the sender is a host.
func TestMetricsArePolled(t *testing.T) {
	ctx := context.Background()
	s, err := scenario.Parse("incast.yaml", []byte(incast))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cases()[0]
	prog, err := program.Build(c.Loaded())
	if err != nil {
		t.Fatal(err)
	}
	lab, err := virtual.Open(ctx, virtual.Config{Topology: c.Net(), Program: prog, Hosts: roce.Papers.Defaults(), Paths: map[string]int{"h8": 1}, Seed: 1, Event: func(controlplane.Event) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer lab.Close()
	o := PollOptions{Every: 100 * time.Microsecond, Limits: DefaultLimits, Counters: make(map[string]Counters)}
	for _, id := range c.Net().Switches() {
		reg := prometheus.NewRegistry()
		reg.MustRegister(metrics.NewSwitch(lab.Switch(id)))
		srv := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
		defer srv.Close()
		o.Counters[c.Net().Nodes[id].Name] = &Metrics{srv.Listener.Addr().String(), time.Minute}
	}
	control, err := lab.Control(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPoller(ctx, c.Net(), control, o)
	if err != nil {
		t.Fatal(err)
	}
	p.now = func() time.Duration { return time.Duration(lab.Fabric.Now().Nanoseconds()) }
	flows, err := c.Flows(1)
	if err == nil {
		err = lab.Fabric.AddFlows(flows)
	}
	if err != nil {
		t.Fatal(err)
	}
	const steps = 40
	sent := make([][]uint64, steps+1)
	for step := range steps + 1 {
		if err := lab.Fabric.RunUntil(ctx, vtime.Time(step)*100*vtime.Microsecond); err != nil {
			t.Fatal(err)
		}
		if err := p.Look(ctx); err != nil {
			t.Fatal(err)
		}
		for l := range c.Net().Links {
			for end := range 2 {
				sent[step] = append(sent[step], lab.Fabric.Sent(l, end).Bytes)
			}
		}
	}
	run, _ := p.Snapshot()
	if err := run.check(); err != nil {
		t.Fatal(err)
	}
	if len(run.TNS) != steps+1 || !strings.Contains(run.Note, "are from the switches' metrics") {
		t.Errorf("%d samples, %q", len(run.TNS), run.Note)
	}
	// A host's use is what its switch has received, and only the link counts PFC
	// frames: allow a difference of a tenth of the rate.
	for i := 1; i <= steps; i++ {
		for ch := range run.Use[i] {
			want := share(sent[i][ch]-sent[i-1][ch], c.Net().Links[ch/2].Rate, 100*vtime.Microsecond)
			if d := int(run.Use[i][ch]) - int(want); d > 26 || d < -26 {
				t.Errorf("at step %d channel %d is used by %d of 255, want %d", i, ch, run.Use[i][ch], want)
			}
		}
	}
	// The paused time of each channel agrees with the switches' statistics.
	paused := make(map[int64]int64)
	for _, s := range run.Pauses(run.TNS[steps]) {
		paused[s.Channel] += s.EndNS - s.StartNS
	}
	some := false
	for _, id := range c.Net().Switches() {
		sw := lab.Switch(id)
		for port := range c.Net().Nodes[id].Ports {
			sw.Lock()
			stats := sw.Port(port + 1)
			sw.Unlock()
			for class, k := range stats.Class {
				for ch, want := range map[int]vtime.Time{p.ch.out[id][port]: k.PausedTime, p.ch.in[id][port]: k.PausingTime} {
					if want == 0 {
						continue
					}
					some = true
					got := paused[int64(ch)]
					// Both ends may be switches, and only the sender's is recorded. The
					// ends differ by the link's delay of 2 us, twice if a reading splits
					// the PAUSE.
					if d := got - want.Nanoseconds(); d > steps*4000 || d < -steps*4000 {
						t.Errorf("channel %d, class %d, was paused for %d ns, want %d", ch, class, got, want.Nanoseconds())
					}
				}
			}
		}
	}
	if !some {
		t.Error("no link was paused")
	}
}

// A page without a switch's metrics is an error that names the right address.
func TestOtherPagesAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"go_goroutines 7\n": "no metrics of a switch's ports", "softswitch_queue_bytes{port=\"99\",class=\"3\"} 1\n": "no metrics of a switch's ports",
		"softswitch_queue_bytes{port=1} x\n{{": "no metrics of a switch's ports", "404": "404 Not Found; give the address of `pauseless switch --http HOST:PORT`",
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if text == "404" {
				http.NotFound(w, r)
				return
			}
			io.WriteString(w, text)
		}))
		if _, err := (&Metrics{srv.Listener.Addr().String(), time.Minute}).Read(t.Context(), 4); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		srv.Close()
	}
}

// The register of a program that emulates PFC shows the paused peers, which
// BMv2 has no counters of.
func TestRegisterShowsPausedPeers(t *testing.T) {
	topology, err := topo.Parse("net.yaml", []byte("name: net\nleaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 40Gbps, delay: 2us}\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := &Poller{topo: topology, o: PollOptions{Every: time.Second}}
	p.ch = channelsOf(result.NewNetwork(topology), func(i int) int { return len(topology.Nodes[i].Ports) })
	l1 := topology.NodeByName("l1")
	values := make([]uint64, 64*8)
	values[2*8+3] = 4711 // class 3 of port 2
	l := &look{now: 5}
	p.pausing(l1.ID, register.Array{Name: "x.pausing_since", Values: values, Index: []schema.Dim{{Name: "port", Size: 64}, {Name: "priority", Size: 8}}}, l)
	want := []Event{{5, int64(Pause), int64(p.ch.in[l1.ID][1]), 3, 5 + int64(time.Second)}}
	if !slices.Equal(l.events, want) {
		t.Errorf("events are %v, want %v", l.events, want)
	}
}

func TestInterfacesCountBytes(t *testing.T) {
	root := t.TempDir()
	for name, n := range map[string]string{"l1-eth1/statistics/rx_bytes": "7\n", "l1-eth1/statistics/tx_bytes": "9\n"} {
		file := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(n), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := (&Interfaces{[]string{"l1-eth1"}, root}).Read(t.Context(), 1)
	if err != nil || got[0].Sent != 9 || got[0].Received != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := (&Interfaces{[]string{"l9-eth9"}, root}).Read(t.Context(), 1); err == nil {
		t.Error("no error for an interface that does not exist")
	}
}

// The map of real switches has the registers that carry each scheme.
func TestRegistersOfSchemesAreOnTheMap(t *testing.T) {
	for profile, want := range map[string][]string{
		"rlb-drill": {"warnings_sent", "reroutes", "recirculations"}, "clb": {"clb_qlen"}, "plb": {"sojourn", "pause_seen"},
		"pcn": {"pause_seen"}, "pbfs": {"postcards", "slot_marked"},
	} {
		p, err := gen.Builtin(profile)
		if err != nil {
			t.Fatal(err)
		}
		if err := program.ForBMv2(p); err != nil {
			t.Fatal(err)
		}
		prog, err := program.Build(p)
		if err != nil {
			t.Fatal(err)
		}
		names, err := schema.New(prog.P4Info)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range want {
			r, err := names.Register(name)
			if err != nil {
				t.Fatal(err)
			}
			if !counted(r) {
				t.Errorf("%s of %s is not on the map: %+v", name, profile, r)
			}
		}
		if r, err := names.Register("ingress_qlen"); err != nil || counted(r) {
			t.Errorf("ingress_qlen of %s is a number of the map, not a queue: %v", profile, err)
		}
	}
}
