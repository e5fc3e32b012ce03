// SPDX-License-Identifier: Apache-2.0

package trace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/trace"
)

// run traces a packet of a program that a change has been made to, and returns the text.
func run(t *testing.T, old, new, entries, more string, w trace.Want) (string, *result.Run) {
	t.Helper()
	data, err := os.ReadFile("../scenario/testdata/hosts.p4")
	if err != nil {
		t.Fatal(err)
	}
	p4 := string(data)
	olds, news := strings.Split(old, "|"), strings.Split(new, "|")
	for i := range olds {
		if !strings.Contains(p4, olds[i]) {
			t.Fatalf("the program has no %q", olds[i])
		}
		p4 = strings.Replace(p4, olds[i], news[i], 1)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"a.p4": p4, "e.txt": entries} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text := `
name: t
program: {p4: a.p4, entries: e.txt}
until: 10ms
` + more
	if !strings.Contains(more, "network:") {
		text += "network: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}}\n"
	}
	if !strings.Contains(more, "packets:") {
		text += "packets: [{name: p, from: h1, to: h3, udp: {destination: 9}, text: P4 is cool}]\n"
	}
	s, err := scenario.ParseIn("t.yaml", []byte(text), dir, scenario.Paper, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cases()[0]
	prog, err := c.Build(new2())
	if err != nil {
		t.Fatal(err)
	}
	tr := trace.New(w)
	r, err := c.Run(t.Context(), prog, 1, scenario.Options{Trace: tr, Event: func(controlplane.Event) {}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := tr.Print(&b); err != nil {
		t.Fatal(err)
	}
	return prog.Warnings().Error() + "\n" + b.String(), r
}

func new2() *program.Cache { return new(program.Cache) }

var first = trace.Want{Packet: 1}

func has(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the trace lacks %q:\n%s", w, text)
			return
		}
	}
}

func TestTraceFollowsAPacket(t *testing.T) {
	text, r := run(t, "", "", "# none\n", "", first)
	has(t, text, "l1, ", "from h1", "parser state start", "extract eth: dst=02:00:00:00:00:02", "extract ip: vihl=69", "table I.route", "hit (10.0.1.1/32): h.ip.dst=10.0.1.1 → I.forward(port=3, mac=",
		"to port 3, queue 0, behind 0 packets", "changed ip: ttl 64 → 63", "s1, ", "h3, ", "received: 60 bytes", "a.p4:")
	if r.Metrics["packets_received"] != 1 {
		t.Error("the packet did not arrive")
	}
}

func TestTraceOfAFlow(t *testing.T) {
	text, _ := run(t, "", "", "# none\n", "packets: []\ntraffic: [{incast: {degree: 1, size: 6KB, to: h3}}]\n", trace.Want{Flow: 1, Packet: 2})
	has(t, text, "table I.route", "received: 19")
}

// The mistakes of beginners and what the trace says about them.
func TestMistakes(t *testing.T) {
	noEntries := [2]string{`@entries("hosts")`, ""}
	const group = "multicast 1 -> 1, 2\n"
	for _, c := range []struct {
		name, old, new, entries, more string
		want                          []string // of the trace, after what the compiler says
	}{
		{"egress_spec", "s.egress_spec = port; ", "", "", "", []string{"to port 0, which the switch does not have: nothing in ingress has set egress_spec (ports: 1, 2, 3)", "dropped: the switch has no port 0"}},
		{"egress_spec of 0", "s.egress_spec = port; ", "s.egress_spec = 0; ", "", "", []string{"to port 0, which the switch does not have (ports: 1, 2, 3)"}},
		{"emit", "p.emit(h.ip); ", "", "", "", []string{"header ip is valid, and the deparser does not emit it: it is lost"}},
		{"checksum", "update_checksum(h.ip.isValid()", "update_checksum(false", "", "", []string{"note: the IPv4 checksum was right on arrival and is wrong now"}},
		{"TTL as it was", "h.ip.ttl = h.ip.ttl - 1;", "h.eth.dst = mac ^ 1;", "", "", []string{"note: the packet has another Ethernet destination and the TTL with which it arrived: a router decrements the TTL"}},
		{"TTL", "", "", "", "packets: [{from: h1, to: h3, ipv4: {ttl: 1}}]\n", []string{"note: the packet leaves with TTL 0"}},
		{"TTL below 0", "", "", "", "packets: [{from: h1, to: h3, ipv4: {ttl: 0}}]\n", []string{"note: the packet arrived with TTL 0 and leaves with TTL 255"}},
		{"byte order", noEntries[0], noEntries[1], "route h.ip.dst=1.1.0.10/32 -> forward(port=1, mac=0)\n", "", []string{"miss: h.ip.dst=10.0.1.1", "the entry has 1.1.0.10/32, which is the same with its bytes in the other order"}},
		{"not applied", "route.apply();", "", "", "", []string{"table route is never used", "nothing in ingress has set egress_spec"}},
		{"no default", noEntries[0] + "\n    table route { key = { h.ip.dst: lpm; } actions = { forward; drop; } default_action = drop(); }", "table route { key = { h.ip.dst: lpm; } actions = { forward; drop; @defaultonly NoAction; } }", "route h.ip.dst=10.0.0.1 -> drop()\n", "", []string{"miss: h.ip.dst=10.0.1.1", "nearest of 1: h.ip.dst is 10.0.1.1, the entry has 10.0.0.1/32 → I.drop()", "a miss does nothing: the default action is NoAction"}},
		{"group", "s.egress_spec = port; ", "s.mcast_grp = 5; ", group, "", []string{"to multicast group 5: there is no such group (groups: 1)", "dropped: empty multicast group"}},
		// The spine and the second leaf send it to each other.
		{"loop", noEntries[0] + "|h.ip.ttl = h.ip.ttl - 1;", "|h.ip.ttl = h.ip.ttl - 1; if (h.ip.ttl == 0) { mark_to_drop(s); }",
			"route h.ip.dst=10.9.9.9/32 -> forward(port=2, mac=0)\n",
			"network: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 10Gbps, delay: 1us}}\npackets: [{from: h1, to: h2, ipv4: {destination: 10.9.9.9, ttl: 5}}]\n", []string{"(note: visit 2 of this switch: a loop)", "dropped: the program drops it in ingress"}},
		{"never set", "struct meta_t { }|key = { h.ip.dst: lpm; }|" + noEntries[0], "struct meta_t { bit<8> tenant; }|key = { m.tenant: exact; }|", "# none\n", "", []string{"m.tenant is 0: nothing in the program sets it"}},
		{"egress_port", "s.egress_spec = port; ", "s.egress_port = port; ", "", "", []string{"warning: an assignment to egress_port does not send the packet there", "nothing in ingress has set egress_spec"}},
		{"egress_spec in egress", "control E(inout headers h, inout meta_t m, inout standard_metadata_t s) { apply { } }", "control E(inout headers h, inout meta_t m, inout standard_metadata_t s) { apply { if (h.ip.ttl == 9) { s.egress_spec = 511; } s.egress_spec = 2; } }", "", "",
			[]string{"warning: an assignment to egress_spec in egress changes no port"}},
		{"emitted in another order", "p.emit(h.eth); p.emit(h.ip);", "p.emit(h.ip); p.emit(h.eth);", "", "", []string{"note: the deparser emits header ip before eth, which arrived in the other order"}},
		{"no setValid", "struct headers { |s.egress_spec = port; |p.emit(h.ip);", "header tun_t { bit<16> id; } struct headers { tun_t tun; |h.tun.id = 5; s.egress_spec = port; |p.emit(h.tun); p.emit(h.ip);", "", "",
			[]string{"note: header tun is not valid: what is assigned to it is lost (setValid comes first)"}},
		{"a field of a header that is not valid", "struct headers { |route.apply();", "header tun_t { bit<16> id; } struct headers { tun_t[2] tun; |if (h.tun[1].id == 5) { route.apply(); } else if (h.tun[0].isValid() && h.tun[0].id == 3) { drop(); }", "", "",
			[]string{"is false\n      note: header tun[1] is not valid: its fields have no values"}},
		{"UDP checksum", "s.egress_spec = port; ", "s.egress_spec = port; h.ip.src = 7; ", "", "", []string{"note: the UDP checksum was right on arrival and is wrong now"}},
		{"queue depth in ingress", "apply { if (h.ip.isValid()) { route.apply(); } }", "apply { if (s.enq_qdepth > 5) { drop(); } else { route.apply(); } }", "", "", []string{"warning: enq_qdepth is 0 in ingress: it has a value in egress"}},
		{"dropped, and then sent", "route.apply();", "drop(); route.apply();", "", "", []string{"note: the program has marked the packet to be dropped, and then set egress_spec: it is not dropped"}},
		{"never set, in an assignment", "struct meta_t { }|s.egress_spec = port; ", "struct meta_t { bit<9> to; }|s.egress_spec = m.to; ", "", "", []string{"the metadata's to is 0: nothing in the program sets it", "to port 0, which the switch does not have"}},
		{"never set, in a condition", "struct meta_t { }|route.apply();", "struct meta_t { bit<8> tenant; }|if (m.tenant == 5) { route.apply(); }", "", "", []string{"is false", "the metadata's tenant is 0: nothing in the program sets it"}},
		{"set in egress, in a condition", "struct meta_t { }|route.apply();|control E(inout headers h, inout meta_t m, inout standard_metadata_t s) { apply { } }", "struct meta_t { bit<8> tenant; }|if (m.tenant == 5) { route.apply(); }|control E(inout headers h, inout meta_t m, inout standard_metadata_t s) { apply { m.tenant = 5; } }", "", "", []string{"is false", "the metadata's tenant is 0: only egress sets it, which is after ingress"}},
		{"set in egress, in a key", "struct meta_t { }|key = { h.ip.dst: lpm; }|" + noEntries[0] + "|control E(inout headers h, inout meta_t m, inout standard_metadata_t s) { apply { } }", "struct meta_t { bit<8> tenant; }|key = { m.tenant: exact; }||control E(inout headers h, inout meta_t m, inout standard_metadata_t s) { apply { m.tenant = 5; } }", "# none\n", "", []string{"m.tenant is 0: only egress sets it, which is after ingress"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, _ := run(t, c.old, c.new, c.entries, c.more, first)
			has(t, text, c.want...)
		})
	}
}

// A header that the deparser does not emit is not also a wrong checksum.
func TestALostHeaderHasNoChecksum(t *testing.T) {
	if text, _ := run(t, "p.emit(h.ip); ", "", "", "", first); strings.Contains(text, "checksum was right") {
		t.Error(text)
	}
	// Nor is an IPv4 header behind another Ethernet type, and a header whose validity is asked
	// in the same condition is not read.
	text, _ := run(t, "struct headers { |s.egress_spec = port; |p.emit(h.ip);|route.apply();",
		"header tun_t { bit<16> id; } struct headers { tun_t tun; |h.tun.setValid(); h.tun.id = 5; h.eth.type = 0x1212; s.egress_spec = port; |p.emit(h.tun); p.emit(h.ip);|if (h.tun.isValid() && h.tun.id == 3) { drop(); } else { route.apply(); }", "", "", first)
	if has(t, text, "added header tun"); strings.Contains(text, "note: ") {
		t.Error(text)
	}
}

// Fields have the names of the P4 text, and addresses are written as such.
func TestFieldsAreWrittenAsInTheProgram(t *testing.T) {
	text, _ := run(t, "struct meta_t { }|s.egress_spec = port; ", "struct meta_t { bit<48> who; }|m.who = h.eth.dst; s.egress_spec = port; ", "", "", first)
	has(t, text, "metadata.who = 02:00:00:00:00:02", "eth.dst = 02:00:00", "update checksum ip.sum")
}

// What the compiler computes before a statement has no name in the P4 text: the statement is
// shown once, with the values.
func TestValuesInAStatement(t *testing.T) {
	text, _ := run(t, "action drop()|s.egress_spec = port; ", "register<bit<32>>(8) r; action drop()|r.write((bit<32>)port, (bit<32>)h.ip.ttl + 1); s.egress_spec = port; ", "", "", first)
	first, _, _ := strings.Cut(text, "to port")
	has(t, first, "a value in it = 3\n", "a value in it = 65\n")
	if strings.Contains(first, " tmp") || strings.Count(first, "r.write(") != 1 {
		t.Error(first)
	}
}

// A clone and multicast copies are followed, each to its end.
func TestTraceOfCopies(t *testing.T) {
	text, r := run(t, "s.egress_spec = port; ", "s.mcast_grp = 1; ", "multicast 1 -> 1, 2\n", "", first)
	has(t, text, "to multicast group 1: port 1 (instance 0), port 2 (instance 0)", "copy 1 is made", "h2, ", "h1, ")
	if r.Metrics["packets_received"] < 2 {
		t.Error("fewer than two copies arrived")
	}
}
