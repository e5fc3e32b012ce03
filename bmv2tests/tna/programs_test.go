// SPDX-License-Identifier: Apache-2.0

package tna

import (
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A construct is a small program, made of testdata/construct.p4, with packets.
type construct struct {
	name                          string
	locals, apply, state, deparse string
	// packets are pairs of an input and an output packet in hexadecimal, "" for none.
	// Headers are op x y z w, as in 01 00000002 00000003 0004 05.
	packets []string
}

// macros are further parts of a construct's program, by the macros' names in
// testdata/construct.p4.
type macros map[string]string

// register declares a register and a RegisterAction of it.
const register = "Register<bit<32>, bit<8>>(4, 7) r; RegisterAction<bit<32>, bit<8>, bit<32>>(r) act = { void apply(inout bit<32> v"

var constructs = []construct{
	{"addition wraps and saturates", "", "hdr.h.x = hdr.h.x + hdr.h.y; hdr.h.y = hdr.h.y |+| 0xffffffff; hdr.h.w = hdr.h.w |-| 7;", "", "", []string{
		"00 fffffffe 00000003 0000 05", "00 00000001 ffffffff 0000 00",
		"00 00000001 00000000 0000 08", "00 00000001 ffffffff 0000 01"}},
	{"slices, casts and concatenation", "", "hdr.h.x[15:8] = hdr.h.w; hdr.h.y = hdr.h.op ++ hdr.h.z ++ hdr.h.w; hdr.h.z = (bit<16>) hdr.h.x[31:28];", "", "", []string{
		"12 a1b2c3d4 00000000 5678 9a", "12 a1b29ad4 1256789a 000a 9a"}},
	{"signed numbers", "", "if ((int<32>) hdr.h.x < 0) { hdr.h.w = 1; } hdr.h.y = (bit<32>) ((int<32>) hdr.h.y >> 4);", "", "", []string{
		"00 80000000 fffffff0 0000 00", "00 80000000 ffffffff 0000 01",
		"00 7fffffff 00000100 0000 00", "00 7fffffff 00000010 0000 00"}},
	{"the smaller and the larger", "", "hdr.h.x = min(hdr.h.x, hdr.h.y); hdr.h.z = max(hdr.h.z, 16);", "", "", []string{
		"00 00000005 00000009 0003 00", "00 00000005 00000009 0010 00",
		"00 0000000b 00000009 0023 00", "00 00000009 00000009 0023 00"}},
	{"a register counts", register + ", out bit<32> rv) { v = v + hdr.h.x; rv = v; } };", "hdr.h.y = act.execute(hdr.h.op);", "", "", []string{
		"01 00000001 00000000 0000 00", "01 00000001 00000008 0000 00",
		"01 00000002 00000000 0000 00", "01 00000002 0000000a 0000 00",
		"02 00000001 00000000 0000 00", "02 00000001 00000008 0000 00"}},
	{"the result goes to an operand", register + ", out bit<32> rv) { v = meta.m; rv = v; } }; action gain() { meta.m = hdr.h.x |-| hdr.h.y; }",
		"gain(); if (hdr.h.op == 1) { meta.m = act.execute(hdr.h.w); } hdr.h.y = meta.m;", "", "", []string{
			"01 00000005 00000002 0000 00", "01 00000005 00000003 0000 00"}},
	{"what was before comes out", register + ", out bit<32> rv) { rv = v; v = hdr.h.x; } };", "hdr.h.y = act.execute(0);", "", "", []string{
		"00 00000001 00000000 0000 00", "00 00000001 00000007 0000 00",
		"00 00000002 00000000 0000 00", "00 00000002 00000001 0000 00"}},
	{"beyond the end of a register", register + ", out bit<32> rv) { v = v + 1; rv = v; } };", "hdr.h.y = act.execute(hdr.h.op);", "", "", []string{
		"04 00000000 00000000 0000 00", "04 00000000 00000001 0000 00",
		"04 00000000 00000000 0000 00", "04 00000000 00000001 0000 00",
		"03 00000000 00000000 0000 00", "03 00000000 00000008 0000 00"}},
	{"a RegisterAction chooses", register + ", out bit<32> rv) { if ((int<32>) (v - hdr.h.x) <= 0) { v = hdr.h.x; rv = 1; } else { v = v |-| 100; } } };", "hdr.h.y = act.execute(0);", "", "", []string{
		"00 00000064 00000000 0000 00", "00 00000064 00000001 0000 00", // 7 < 100
		"00 00000032 00000009 0000 00", "00 00000032 00000000 0000 00", // 100 > 50; now 0
		"00 ffffffff 00000009 0000 00", "00 ffffffff 00000000 0000 00", // 0 > -1
		"00 00000000 00000009 0000 00", "00 00000000 00000001 0000 00"}},
	{"a pair", "Register<pair_t, bit<8>>(4, { 1, 2 }) q; RegisterAction<pair_t, bit<8>, bit<32>>(q) act = { void apply(inout pair_t v, out bit<32> rv) { rv = v.hi; v.hi = v.lo; v.lo = hdr.h.x; } };",
		"hdr.h.y = act.execute(3);", "", "", []string{
			"00 000000aa 00000000 0000 00", "00 000000aa 00000002 0000 00",
			"00 000000bb 00000000 0000 00", "00 000000bb 00000001 0000 00",
			"00 000000cc 00000000 0000 00", "00 000000cc 000000aa 0000 00"}},
	{"a pair of bytes", "Register<small_t, bit<8>>(4) q; RegisterAction<small_t, bit<8>, bit<8>>(q) act = { void apply(inout small_t v, out bit<8> rv) { v.one = v.one + 200; v.two = v.one; rv = v.two; } };",
		"hdr.h.w = act.execute(3);", "", "", []string{
			"00 00000000 00000000 0000 00", "00 00000000 00000000 0000 c8",
			"00 00000000 00000000 0000 00", "00 00000000 00000000 0000 90"}},
	{"two RegisterActions on two ways", "Register<bit<8>, bit<1>>(2) r; RegisterAction<bit<8>, bit<1>, bit<8>>(r) set = { void apply(inout bit<8> v) { v = hdr.h.w; } }; " +
		"RegisterAction<bit<8>, bit<1>, bit<8>>(r) get = { void apply(inout bit<8> v, out bit<8> rv) { rv = v; } };",
		"if (hdr.h.op == 0) { set.execute(1); } else { hdr.h.w = get.execute(1); }", "", "", []string{
			"00 00000000 00000000 0000 42", "00 00000000 00000000 0000 42",
			"01 00000000 00000000 0000 00", "01 00000000 00000000 0000 42"}},
	{"a register in an action", register + ", out bit<32> rv) { v = v + 1; rv = v; } }; action count(bit<8> i) { hdr.h.x = act.execute(i); } " +
		"table t { key = { hdr.h.op : exact; } actions = { count; NoAction; } const entries = { 5 : count(2); 6 : count(3); } }", "t.apply();", "", "", []string{
		"05 00000000 00000000 0000 00", "05 00000008 00000000 0000 00",
		"05 00000000 00000000 0000 00", "05 00000009 00000000 0000 00",
		"06 00000000 00000000 0000 00", "06 00000008 00000000 0000 00",
		"07 00000000 00000000 0000 00", "07 00000000 00000000 0000 00"}},
	{"hashes that arrange bits", "Hash<bit<9>>(HashAlgorithm_t.IDENTITY) id; Hash<bit<16>>(HashAlgorithm_t.XOR16) x16;",
		"hdr.h.z = x16.get({ hdr.h.x, hdr.h.y }); hdr.h.x = (bit<32>) id.get({ hdr.h.op, hdr.h.w[2:0] });", "", "", []string{
			"ff 12345678 9abcdef0 0000 05", "ff 000001fd 9abcdef0 0000 05"}},
	{"a key of several kinds", "action is(bit<8> w) { hdr.h.w = w; } table t { key = { hdr.h.op : exact; hdr.h.z : ternary; hdr.h.y : range; } actions = { is; NoAction; } " +
		"const entries = { (1, 0x100 &&& 0xff00, _) : is(1); (1, _, 10 .. 20) : is(2); (1, _, _) : is(3); } }", "if (t.apply().miss) { hdr.h.w = 9; }", "", "", []string{
		"01 00000000 00000000 0123 00", "01 00000000 00000000 0123 01",
		"01 00000000 00000014 0223 00", "01 00000000 00000014 0223 02",
		"01 00000000 00000015 0223 00", "01 00000000 00000015 0223 03",
		"02 00000000 00000015 0223 00", "02 00000000 00000015 0223 09"}},
	{"longest prefix, and what an action was", "action a() { hdr.h.w = 1; } action b() { hdr.h.w = 2; } table t { key = { hdr.h.x : lpm; } actions = { a; b; NoAction; } " +
		"const entries = { 0x0a000000 &&& 0xff000000 : a(); 0x0a0b0000 &&& 0xffff0000 : b(); } }", "switch (t.apply().action_run) { b: { hdr.h.z = 7; } default: { hdr.h.z = 8; } }", "", "", []string{
		"00 0a010203 00000000 0000 00", "00 0a010203 00000000 0008 01",
		"00 0a0b0203 00000000 0000 00", "00 0a0b0203 00000000 0007 02",
		"00 0b0b0203 00000000 0000 00", "00 0b0b0203 00000000 0008 00"}},
	{"headers come and go", "", "if (hdr.h.op == 1) { hdr.first.setValid(); hdr.first = { 1, 2 }; hdr.h.setInvalid(); }", "", "", []string{
		"01 00000000 00000000 0000 00", "0001 0002",
		"02 00000000 00000000 0000 00", "02 00000000 00000000 0000 00"}},
	{"the parser looks ahead and chooses", "", "if (hdr.g.isValid()) { hdr.h.z = hdr.g.b; } hdr.h.x = meta.m;",
		"meta.m = packet.lookahead<bit<32>>(); transition select(hdr.h.op, hdr.h.w) { (0x10 &&& 0xf0, _): more; (_, 3 .. 5): more; default: accept; }", "", []string{
			"10 00000000 00000000 0000 00 0011 2233", "10 00112233 00000000 2233 00 0011 2233",
			"20 00000000 00000000 0000 04 0011 2233", "20 00112233 00000000 2233 04 0011 2233",
			"20 00000000 00000000 0000 06 0011 2233", "20 00112233 00000000 0000 06 0011 2233"}},
	{"what is passed over goes", "", "", "packet.advance(16); transition more;", "", []string{
		"00 00000000 00000000 0000 00 0011 2233 4455", "00 00000000 00000000 0000 00 2233 4455"}},
	{"what is rejected goes", "", "", "transition select(hdr.h.op) { 1: accept; 2: reject; }", "", []string{
		"01 00000000 00000000 0000 00", "01 00000000 00000000 0000 00",
		"02 00000000 00000000 0000 00", "",
		"03 00000000 00000000 0000 00", ""}},
	{"drop_ctl", "", "if (hdr.h.op == 1) { deparser.drop_ctl = 1; }", "", "", []string{
		"01 00000000 00000000 0000 00", "",
		"00 00000000 00000000 0000 00", "00 00000000 00000000 0000 00"}},
	{"a checksum", "", "if (hdr.h.op == 1) { meta.sure = true; }", "", "if (meta.sure) { hdr.h.z = checksum.update({ hdr.h.x, hdr.h.y }); }", []string{
		"01 00010002 0003fff0 0000 00", "01 00010002 0003fff0 0009 00",
		"00 00010002 0003fff0 0000 00", "00 00010002 0003fff0 0000 00"}},
	{"a checksum step by step", "Checksum() c;", "c.add({ hdr.h.x, hdr.h.y, hdr.h.z }); if (c.verify()) { hdr.h.w = 1; } hdr.h.z = c.get();", "", "", []string{
		"00 00010002 0003fff0 0009 00", "00 00010002 0003fff0 ffff 01",
		"00 00010002 0003fff0 000a 00", "00 00010002 0003fff0 0001 00"}},
	{"a checksum of what is changed", "Checksum() c;", "c.subtract({ hdr.h.z, hdr.h.x }); hdr.h.x = 0x12345678; meta.n = c.get();", "", "hdr.h.z = checksum.update({ hdr.h.x, meta.n });", []string{
		"00 00010002 0003fff0 0009 00", "00 12345678 0003fff0 975f 00"}},
	{"zero as ones", "", "", "", "hdr.h.z = checksum.update({ hdr.h.x }, true);", []string{
		"00 fffe0001 00000000 0000 00", "00 fffe0001 00000000 ffff 00",
		"00 fffe0002 00000000 0000 00", "00 fffe0002 00000000 fffe 00"}},
	{"bools and bits", "", "bool b = hdr.h.op == 1 || hdr.h.w != 0; meta.sure = b && hdr.h.x == 0; meta.flag = (bit<1>) meta.sure; hdr.h.z = (bit<16>) meta.flag;", "", "", []string{
		"01 00000000 00000000 0000 00", "01 00000000 00000000 0001 00",
		"00 00000000 00000000 0000 01", "00 00000000 00000000 0001 01",
		"01 00000001 00000000 0000 00", "01 00000001 00000000 0000 00"}},
	{"nothing remains from packet to packet", "", "if (hdr.h.op == 1) { meta.m = 5; meta.n = 6; } else { hdr.h.x = meta.m; hdr.h.z = meta.n; }", "", "", []string{
		"01 00000000 00000000 0000 00", "01 00000000 00000000 0000 00",
		"00 00000009 00000000 0009 00", "00 00000000 00000000 0000 00"}},
}

// program writes a construct's program into a file.
func (c *construct) program(t *testing.T) string { return c.programWith(t, nil) }

// programWith is program with further parts.
func (c *construct) programWith(t *testing.T, more macros) string {
	t.Helper()
	text, err := os.ReadFile("testdata/construct.p4")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range []struct{ name, text string }{{"LOCALS", c.locals}, {"APPLY", c.apply}, {"STATE", c.state}, {"DEPARSE", c.deparse}} {
		if m.text != "" {
			fmt.Fprintf(&b, "#define %s %s\n", m.name, m.text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(more)) {
		fmt.Fprintf(&b, "#define %s %s\n", name, more[name])
	}
	file := filepath.Join(t.TempDir(), "t.p4")
	if err := os.WriteFile(file, append([]byte(b.String()), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func unhex(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// pass injects a packet and returns the packet that port 2 sends, nil for none.
func (r *rig) pass(b []byte) []byte {
	r.Helper()
	r.sent = nil
	r.net.Inject(1, b, 0)
	r.net.Run()
	if len(r.sent) == 0 {
		return nil
	}
	if len(r.sent) > 1 || r.sent[0].port != 2 {
		r.Fatalf("sent %v", r.sent)
	}
	return r.sent[0].data
}

// expect injects packets and compares what leaves, as in construct.packets.
func (r *rig) expect(packets ...string) {
	r.Helper()
	for i := 0; i < len(packets); i += 2 {
		want := unhex(r.T, packets[i+1])
		if got := r.pass(unhex(r.T, packets[i])); hex.EncodeToString(got) != hex.EncodeToString(want) {
			r.Errorf("packet %d, %s: got %x, want %x", i/2+1, packets[i], got, want)
		}
	}
}

func TestConstructs(t *testing.T) {
	for _, c := range constructs {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, c.program(t))
			r.expect(c.packets...)
		})
	}
}

// A CRC is computed over the bytes and truncated to the width of the hash.
func TestHashIsCRC(t *testing.T) {
	c := construct{locals: "Hash<bit<32>>(HashAlgorithm_t.CRC32) h; Hash<bit<12>>(HashAlgorithm_t.CRC32) low;",
		apply: "bit<12> part = low.get({ hdr.h.op, hdr.h.x, hdr.h.z }); hdr.h.y = h.get({ hdr.h.op, hdr.h.x, hdr.h.z }); hdr.h.z = (bit<16>) part;"}
	r := newRig(t, c.program(t))
	for _, in := range []string{"01 02030405 00000000 0607 08", "ff ffffffff 00000000 ffff 00"} {
		b := unhex(t, in)
		sum := crc32.ChecksumIEEE([]byte{b[0], b[1], b[2], b[3], b[4], b[9], b[10]})
		want := fmt.Sprintf("%x%08x%04x%x", b[:5], sum, sum&0xfff, b[11:])
		if got := hex.EncodeToString(r.pass(b)); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// Random numbers have their declared width, and take all its values.
func TestRandomNumbers(t *testing.T) {
	c := construct{locals: "Random<bit<3>>() dice;", apply: "hdr.h.x = (bit<32>) dice.get();"}
	r := newRig(t, c.program(t))
	seen := map[byte]int{}
	for range 200 {
		b := r.pass(make([]byte, 12))
		if b[1]|b[2]|b[3] != 0 || b[4] > 7 {
			t.Fatalf("got %x", b)
		}
		seen[b[4]]++
	}
	if len(seen) != 8 {
		t.Errorf("of 200 numbers of 3 bits there are %v", seen)
	}
}
