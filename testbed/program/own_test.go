// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/program"
)

const ownText = `#include <v1model.p4>
struct headers { }
struct meta_t { }
parser P(packet_in p, out headers h, inout meta_t m, inout standard_metadata_t s) { state start { transition accept; } }
control MyVerify(inout headers h, inout meta_t m) { apply { } }
control MyIngress(inout headers h, inout meta_t m, inout standard_metadata_t s) {
    action forward(bit<9> port) { s.egress_spec = port; }
    table route { key = { s.ingress_port: exact; } actions = { forward; } }
    apply { route.apply(); }
}
control MyEgress(inout headers h, inout meta_t m, inout standard_metadata_t s) { apply { } }
control MyChecksum(inout headers h, inout meta_t m) { apply { } }
control MyDeparser(packet_out p, in headers h) { apply { } }
V1Switch(P(), MyVerify(), MyIngress(), MyEgress(), MyChecksum(), MyDeparser()) main;
`

// A controller that is started with another path to the same program finds its pipeline on
// the switches: it would empty the tables by pushing it again.
func TestAPipelineIsTheSameByEachPathToItsProgram(t *testing.T) {
	net, err := topo.Parse("net.yaml", []byte("leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}\n"))
	if err != nil {
		t.Fatal(err)
	}
	id := func(name, text string) uint64 {
		t.Helper()
		s, err := program.Flags([]string{name}, nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Build(net, program.Files{Resolve: func(name string) string { return name }, Read: func(string) ([]byte, error) { return []byte(text), nil }})
		if err != nil {
			t.Fatal(err)
		}
		return p.Pipeline().ID()
	}
	want := id("own.p4", ownText)
	for _, name := range []string{"/home/me/own.p4", "../own.p4", "./own.p4"} {
		if got := id(name, ownText); got != want {
			t.Errorf("%s: cookie %#x, and %#x of own.p4", name, got, want)
		}
	}
	if id("own.p4", ownText+"// other\n") != want {
		t.Error("a comment changes the pipeline")
	}
	if id("own.p4", "// one more line\n"+ownText) == want {
		t.Error("lines that move do not change the pipeline, whose JSON has them")
	}
}

// A program whose prefixes BMv2 misreads is known before it runs there.
func TestPrefixesThatBMv2Misreads(t *testing.T) {
	net, err := topo.Parse("net.yaml", []byte("leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := program.Flags([]string{"own.p4"}, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for kinds, want := range map[string]int{
		"s.ingress_port: exact;": 0, "s.ingress_port: lpm;": 1, "s.ingress_port: ternary;": 0,
		"s.egress_spec: exact; s.priority: lpm;": 1, "s.packet_length: lpm;": 0, "s.mcast_grp: lpm;": 0, "s.ingress_port ++ s.egress_spec: lpm @name(\"both\");": 1,
	} {
		text := strings.Replace(ownText, "s.ingress_port: exact;", kinds, 1)
		p, err := s.Build(net, program.Files{Resolve: func(name string) string { return name }, Read: func(string) ([]byte, error) { return []byte(text), nil }})
		if err != nil {
			t.Fatal(err)
		}
		list, err := p.OnBMv2(net)
		if err != nil || len(list) != want || want > 0 && !strings.Contains(list[0], "table MyIngress.route: BMv2 misreads prefixes of key ") {
			t.Errorf("%s: %q, %v", kinds, list, err)
		}
	}
}

// Entries of a table that the program does not apply are errors, with the warning that
// tells why.
func TestEntriesOfATableThatIsNotApplied(t *testing.T) {
	net, err := topo.Parse("net.yaml", []byte("leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := program.Flags([]string{"own.p4"}, []string{"own.txt"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"own.p4": strings.Replace(ownText, "route.apply();", "", 1), "own.txt": "route s.ingress_port=1 -> forward(2)\n"}
	_, err = s.Build(net, program.Files{Resolve: func(name string) string { return name }, Read: func(name string) ([]byte, error) { return []byte(texts[name]), nil }})
	for _, want := range []string{`own.txt:1: no table is called "route"`, "own.p4:8:11: warning: table route is never used"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
