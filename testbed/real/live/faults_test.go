// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strings"
	"testing"
	"time"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// A fault of the topology's time becomes one of the slower network, at every end of a
// cable that it is about.
func TestFaultsOfCables(t *testing.T) {
	net, err := topo.Parse("t.yaml", []byte("leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 1, rate: 40Gbps, delay: 2us}"))
	if err != nil {
		t.Fatal(err)
	}
	epoch := time.Unix(1000, 0)
	got, err := Faults(net, []fabric.Fault{
		{Link: "l1-s1", From: 10 * vtime.Microsecond, Until: 30 * vtime.Microsecond, Down: true},
		{Node: "s2", Loss: 1, Pairs: []string{"h1-h2"}},
		{Link: "l2-s1", Loss: 0.5, Corrupt: 0.5},
	}, epoch, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2+2+2 {
		t.Fatalf("%d faults: %+v", len(got), got)
	}
	name := func(end topo.End) string { return net.Nodes[end.Node].Name }
	for i, f := range got {
		l := net.Links[f.Cable]
		to, from := l.A, l.B
		if f.To == 1 {
			to, from = from, to
		}
		switch {
		case i < 2:
			if pair := name(to) + name(from); pair != "l1s1" && pair != "s1l1" || f.Loss != 1 || f.From.Sub(epoch) != 10*time.Millisecond || f.Until.Sub(epoch) != 30*time.Millisecond {
				t.Errorf("down: %+v, to %s from %s", f, name(to), name(from))
			}
		case i < 4:
			if name(to) != "s2" || len(f.Pairs) != 1 || f.Pairs[0] != [2]string{"10.0.0.1", "10.0.1.1"} || !f.Until.IsZero() {
				t.Errorf("black hole: %+v, to %s", f, name(to))
			}
		case f.Loss != 0.75:
			t.Errorf("lost or damaged: %+v, want 0.75", f)
		}
	}
	for want, f := range map[string]fabric.Fault{
		"fault 1: a storm is for virtual time": {Storm: "h1"},
		"fault 1: does nothing":                {Link: "l1-s1"},
	} {
		if _, err := Faults(net, []fabric.Fault{f}, epoch, 1000); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", f, err, want)
		}
	}
}

// What hosts on interfaces cannot do is refused before a network is built.
func TestScenariosThatRealNetworksCannotRun(t *testing.T) {
	const start = "name: p\nnetwork: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}}\nuntil: 5ms\n"
	const incast = "traffic:\n- incast: {degree: 3, size: 20KB, to: h1}\n"
	for _, c := range []struct {
		text   string
		direct bool
		want   string
	}{
		{start + "profiles: [ecmp]\n" + incast, false, ""},
		{start + "profiles: [ecmp]\nfaults: [{link: l1-s1, down: true}]\n" + incast, false, ""},
		{start + "profiles: [ecmp]\nfaults: [{link: l1-s1, down: true}]\n" + incast, true, "links of veth pairs have no faults"},
		{start + "profiles: [ecmp]\nfaults: [{storm: h2}]\n" + incast, false, "a storm is for virtual time"},
		{start + "profiles: [ecmp@tna]\n" + incast, false, "programs for Tofino run in virtual time only"},
		{start + "profiles: [ecmp]\nmeasure: 100us\ntraffic:\n- poisson: {sizes: imc10, load: 0.2}\n", false, "measure and warmup are for virtual time"},
		{start + "profiles: [ecmp]\ntraffic:\n- collective: {kind: all_reduce, size: 100KB, ranks: 4}\n", false, "collectives and jobs are for virtual time"},
	} {
		s, err := scenario.Parse("p.yaml", []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		err = possible(s.Cases()[0], Options{Local: local.Options{Direct: c.direct}})
		if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q:\n%s", err, c.want, c.text)
		}
	}
}
