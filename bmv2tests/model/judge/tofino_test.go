// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/gen"
)

// smallTofino is small, in powers of two as an index of a Tofino's program is.
func smallTofino(t *testing.T, name string) *gen.Profile {
	p := small(t, name)
	p.Sizes.Ports, p.Sizes.Leaves = 16, 8
	return p
}

// newTofino returns the judge of a program, in which from is replaced by to.
func newTofino(t *testing.T, p *gen.Profile, from, to string) *TofinoJudge {
	t.Helper()
	out, err := gen.Generate(p, "tna")
	if err != nil {
		t.Fatal(err)
	}
	text := string(out.P4)
	if !strings.Contains(text, from) {
		t.Fatalf("the program does not have %q", from)
	}
	r, list := compiler.Compile(compiler.Options{File: p.Name + ".p4", Source: []byte(strings.ReplaceAll(text, from, to))})
	if r.Program == nil {
		t.Fatal(list.Err())
	}
	prog, err := Load(p.Name, r.Program)
	if err != nil {
		t.Fatal(err)
	}
	j, err := NewTofinoJudge(tofinoFeatures(p), prog)
	if err != nil {
		t.Fatal(err)
	}
	j.Others = otherWindow(t, p, out.Manifest)
	for name, at := range map[string]*uint32{"LOOK_INTERVAL": &j.Times.look, "WINDOW": &j.Times.window, "HOLD": &j.Times.hold} {
		if m := regexp.MustCompile("const time_t " + name + " = ([0-9]+);").FindStringSubmatch(text); m != nil {
			n, err := strconv.ParseUint(m[1], 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			*at = uint32(n)
		}
	}
	j.Counters = out.Manifest.Counters
	if j.f.QCN {
		for name, at := range map[string]*int64{"qcn.equilibrium": &j.Generated.Qeq, "qcn.weight": &j.Generated.W, "qcn.sample": &j.Generated.Base} {
			v, err := out.Manifest.Value(name, p.Network)
			if err != nil {
				t.Fatal(err)
			}
			*at = int64(v)
		}
	}
	if j.f.Adaptive {
		pass, err := out.Manifest.Value("rlb.pass_time", p.Network)
		if err != nil {
			t.Fatal(err)
		}
		j.Times.pass, j.Times.mtu = uint32(pass), uint(bits.Len(uint(p.Network.MTU-1)))
	}
	return j
}

// TestProfilesOnTofino takes all profiles that can be generated for it.
func TestProfilesOnTofino(t *testing.T) {
	cases := count(300, 100_000)
	for _, name := range gen.Names() {
		p := smallTofino(t, name)
		if _, err := gen.Generate(p, "tna"); err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newTofino(t, p, "", "")
			cases := cases
			if j.f.RLB && cases < 1000 {
				cases /= 3 // of tables and registers many
			}
			for n := range cases {
				if diff := j.Run(1, uint64(n)); diff != "" {
					t.Fatalf("case %d: %s", n, diff)
				}
			}
			t.Logf("%d cases, %d steps, %v", cases, j.Steps, j.Seen)
		})
	}
}

// A program with a mistake in its rule does not pass.
func TestMistakesOnTofinoAreSeen(t *testing.T) {
	for i, m := range []struct{ profile, from, to string }{
		{"ecmp", "meta.flow_hash[15:8]", "meta.flow_hash[14:7]"},
		{"ecmp", "(2, 86 .. 170)", "(2, 86 .. 150)"},
		{"ecmp", "meta.depth |-| meta.above_kmax", "meta.depth - meta.above_kmax"},
		{"presto", "bytes > meta.cell_room", "bytes >= meta.cell_room"},
		{"presto", "path >= meta.last", "path > meta.last"},
		{"presto", "hdr.ipv4.total_len + 14", "hdr.ipv4.total_len"},
		{"letflow", "(last - meta.gap_start) <= 0", "(last - meta.gap_start) < 0"},
		{"letflow", "if (path > meta.last)", "if (path >= meta.last)"},
		{"drill", "meta.shorter < best.qlen", "meta.shorter <= best.qlen"},
		{"drill", "min(meta.qlen_a, meta.qlen_b)", "max(meta.qlen_a, meta.qlen_b)"},
		{"drill", "[2:0], meta.last_path }", "[2:0], 2w3 }"},
		{"drill", "meta.now - last > FEEDBACK_INTERVAL", "meta.now - last >= FEEDBACK_INTERVAL"},
		{"clb", "meta.rank <= best.rank", "meta.rank < best.rank"},
		{"clb", "hdr.feedback.qlen |-| meta.before", "hdr.feedback.qlen - meta.before"},
		{"clb", "0xc0000000", "0x80000000"},
		{"clb", "asked_of.get({ meta.last_path", "asked_of.get({ 2w3"},
		{"clb", "reported_of.get({ hdr.feedback.last[1:0]", "reported_of.get({ 2w3"},
		{"conga", "meta.congestion <= best.congestion", "meta.congestion < best.congestion"},
		{"conga", "(path.fed_at - meta.when) >= 0", "(path.fed_at - meta.when) > 0"},
		{"conga", "path >= hdr.bridge.last_path", "path > hdr.bridge.last_path"},
		{"conga", "hdr.fabric.fed_path - 1", "hdr.fabric.fed_path"},
		{"conga", "max(hdr.fabric.congestion, meta.level)", "meta.level"},
		{"conga", "140 .. 4095", "141 .. 4095"},
		{"conga", "meta.now >> 17", "meta.now >> 16"},
		{"conga", "best_of.get({ meta.leaf[2:0], meta.last_path", "best_of.get({ meta.leaf[2:0], 2w3"},
		{"hermes", "hdr.tag.upper_path", "hdr.tag.path"},
		{"hermes", "(3, 1, 3) : take_wish(3)", "(2, 1, 3) : take_wish(3)"},
		{"pcn", "meta.held |-| HELD", "meta.held"},
		{"pcn", "meta.depth != 0", "meta.depth != 1"},
		{"pbfs", "meta.recent << 3", "meta.recent << 2"},
		{"pbfs", "meta.capacity |-| meta.window_qlen", "meta.capacity"},
		{"pbfs", "meta.now >> 13", "meta.now >> 12"},
		{"qcn", "meta.sampled_bytes + meta.sampled_growth", "meta.sampled_bytes"},
		{"qcn", "left |-| meta.nearer", "left"},
		{"qcn", "meta.growth |-| meta.equilibrium", "meta.growth - meta.equilibrium"},
		{"qcn", "hdr.bth.opcode < OPCODE_ACK", "hdr.bth.opcode <= OPCODE_ACK"},
		{"hpcc", "meta.tx_bytes[26:23]", "meta.tx_bytes[27:24]"},
		{"hpcc", "meta.path_id ^ switch_id", "switch_id"},
		{"plb", "meta.rank <= best.rank", "meta.rank < best.rank"},
		{"plb", " || best.path > meta.rank", ""},
		{"plb", "0x400000ff - meta.load", "0x40000000"},
		{"plb", "meta.rtt <= other.rtt", "meta.rtt >= other.rtt"},
		{"plb", "meta.other_rtt |-| meta.rtt", "meta.other_rtt"},
		{"plb", "meta.drawn != meta.chosen", "meta.drawn == meta.chosen"},
		{"plb", "meta.now - queue.last > REST", "meta.now - queue.last >= REST"},
		{"plb", "meta.now - queue.since > SILENCE", "meta.now - queue.since >= SILENCE"},
		{"plb", "delay > meta.tolerable", "delay >= meta.tolerable"},
		{"plb", "meta.held_for |-| HELD", "meta.held_for"},
		{"plb", "meta.waited >> 3", "meta.waited >> 2"},
		{"plb", "max(meta.expected, meta.average)", "meta.expected"},
		// What the judge found.
		{"plb", "!hdr.fabric.isValid() && !hdr.kick.isValid()", "!hdr.fabric.isValid()"},
		{"plb", "meta.sends == 1 && hdr.bridge.kind == INTERNAL_PACKET", "meta.sends == 1"},
		{"rlb-ecmp", "queue.bytes = meta.amount", "queue.bytes = queue.bytes"},
		{"rlb-ecmp", "report = sum.bytes", "report = 0 - (bit<32>) hdr.bridge.length"},
		{"rlb-ecmp", "warn_at - meta.qlen", "xoff - meta.qlen"},
		{"rlb-ecmp", "(true, 0, _, _) : NoAction()", "(true, 1, _, _) : NoAction()"},
		{"rlb-drill", "meta.now - heard.since <= HOLD", "meta.now - heard.since <= WINDOW"},
		{"rlb-drill", "meta.now - heard.since > WINDOW", "meta.now - heard.since > HOLD"},
		{"rlb-drill", "meta.now - heard.since > HOLD", "meta.now - heard.since > WINDOW"},
		{"rlb-drill", "(1, 0, _) : forward_other()", "(1, 0, _) : forward_direct()"},
		{"rlb-drill", "meta.passes + 1", "meta.passes"},
		{"rlb-pbfs", "hdr.ipv4.dscp[0:0] == 1 && meta.session == 0", "hdr.ipv4.dscp[0:0] == 1"},
		{"rlb-letflow", "hdr.fabric.echo + slow", "hdr.fabric.echo"},
		{"rlb-presto", "meta.now - meta.age", "meta.now"},
		{"rlb-conga", "meta.fed_path + 1", "meta.fed_path"},
		{"rlb-conga", "look.execute(looked.get({ meta.leaf[2:0], meta.drawn", "look.execute(looked.get({ meta.leaf[2:0], meta.path"},
		{"rlb-hermes", "hdr.fabric.ether_type = hdr.tag.ether_type", "hdr.ethernet.ether_type = hdr.tag.ether_type"},
		{"rlb-adaptive-hermes", "worth - meta.waited", "worth"},
		{"rlb-adaptive-letflow", "last.window == meta.fault_window", "last.window != meta.fault_window"},
		{"rlb-adaptive-presto", "average - meta.passes", "average - meta.passes - 1"},
		{"rlb-adaptive-conga", "count.packets + 1", "count.packets + 2"},
		{"qcn", "left > meta.sampled_bytes", "left >= meta.sampled_bytes"},
		{"qcn", "(0, 65 .. 128)", "(0, 66 .. 128)"},
		{"qcn", "OPCODE_ACK = 0x11", "OPCODE_ACK = 0x10"},
		{"hpcc", "meta.tx_bytes[22:7]", "meta.tx_bytes[21:6]"},
		{"hpcc", "(1, 4) : fill_in_4()", "(1, 4) : fill_in_3()"},
		// What the judge found of RLB: departures that are told to who has
		// forgotten the queue, queues below zero, and a budget of none.
		{"rlb-ecmp", " && meta.now - sum.told_at <= FORGET", ""},
		{"rlb-adaptive-ecmp", "FORGET && (int<32>) meta.amount >= 0", "FORGET"},
		{"rlb-adaptive-drill", "(int<32>) meta.room >> ", "meta.room >> "},
		{"rlb-adaptive-ecmp", "0x80000000 &&& 0x80000000) : forward_direct()", "0x80000000 &&& 0x80000000) : forward_later()"},
	} {
		if testing.Short() && i%8 != 0 {
			continue
		}
		t.Run(m.profile+" "+m.from, func(t *testing.T) {
			t.Parallel()
			j := newTofino(t, smallTofino(t, m.profile), m.from, m.to)
			for n := range uint64(3000) {
				if j.Run(1, n) != "" {
					return
				}
			}
			t.Errorf("3000 cases pass with %q", m.to)
		})
	}
}
