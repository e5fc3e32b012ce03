// SPDX-License-Identifier: Apache-2.0

package tna

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/table"
)

// digits is the packet whose first nine bytes are 123456789, the input of the CRC
// catalogue's check values.
const digits = "31 32333435 36373839 0000 00"

// Every CRC has the check value of the CRC catalogue (Cook, Catalogue of
// parametrised CRC algorithms), those that a hash has by its name and others.
func TestHashesHaveTheCatalogueChecks(t *testing.T) {
	for _, c := range []struct {
		name, algorithm, polynomial string // of HashAlgorithm_t, arguments of CRCPolynomial
		width                       int
		check                       uint64
	}{
		{"CRC-8/SMBUS", "CRC8", "", 8, 0xf4},
		{"CRC-16/ARC", "CRC16", "", 16, 0xbb3d},
		{"CRC-32/ISO-HDLC", "CRC32", "", 32, 0xcbf43926},
		{"CRC-64/ECMA-182", "CRC64", "", 64, 0x6c40df5f0b497347},
		{"CRC-3/GSM", "CUSTOM", "3, false, false, false, 0, 7", 3, 0x4},
		{"CRC-5/USB", "CUSTOM", "0x05, true, false, false, 0x1f, 0x1f", 5, 0x19},
		{"CRC-6/G-704", "CUSTOM", "0x03, true, false, false, 0, 0", 6, 0x06},
		{"CRC-7/MMC", "CUSTOM", "0x09, false, false, false, 0, 0", 7, 0x75},
		{"CRC-8/MAXIM-DOW", "CUSTOM", "0x31, true, false, false, 0, 0", 8, 0xa1},
		{"CRC-8/ROHC", "CUSTOM", "0x07, true, false, false, 0xff, 0", 8, 0xd0},
		{"CRC-10/ATM", "CUSTOM", "0x233, false, false, false, 0, 0", 10, 0x199},
		{"CRC-11/FLEXRAY", "CUSTOM", "0x385, false, false, false, 0x01a, 0", 11, 0x5a3},
		{"CRC-14/DARC", "CUSTOM", "0x0805, true, false, false, 0, 0", 14, 0x082d},
		{"CRC-15/CAN", "CUSTOM", "0x4599, false, false, false, 0, 0", 15, 0x059e},
		{"CRC-16/XMODEM", "CUSTOM", "0x1021, false, false, false, 0, 0", 16, 0x31c3},
		{"CRC-16/IBM-3740", "CUSTOM", "0x1021, false, false, false, 0xffff, 0", 16, 0x29b1},
		{"CRC-16/KERMIT", "CUSTOM", "0x1021, true, false, false, 0, 0", 16, 0x2189},
		{"CRC-16/RIELLO", "CUSTOM", "0x1021, true, false, false, 0xb2aa, 0", 16, 0x63d0},
		{"CRC-16/DNP", "CUSTOM", "0x3d65, true, false, false, 0, 0xffff", 16, 0xea82},
		{"CRC-17/CAN-FD", "CUSTOM", "0x1685b, false, false, false, 0, 0", 17, 0x04f03},
		{"CRC-24/OPENPGP", "CUSTOM", "0x864cfb, false, false, false, 0xb704ce, 0", 24, 0x21cf02},
		{"CRC-31/PHILIPS", "CUSTOM", "0x04c11db7, false, false, false, 0x7fffffff, 0x7fffffff", 31, 0x0ce9e46c},
		{"CRC-32/BZIP2", "CUSTOM", "0x04c11db7, false, false, false, 0xffffffff, 0xffffffff", 32, 0xfc891918},
		{"CRC-32/ISCSI", "CUSTOM", "0x1edc6f41, true, false, false, 0xffffffff, 0xffffffff", 32, 0xe3069283},
		{"CRC-32/CKSUM", "CUSTOM", "0x04c11db7, false, false, false, 0, 0xffffffff", 32, 0x765e7680},
		{"CRC-32/JAMCRC", "CUSTOM", "0x04c11db7, true, false, false, 0xffffffff, 0", 32, 0x340bc6d9},
		{"CRC-32/XFER", "CUSTOM", "0x000000af, false, false, false, 0, 0", 32, 0xbd0be338},
		{"CRC-40/GSM", "CUSTOM", "0x0004820009, false, false, false, 0, 0xffffffffff", 40, 0xd4164fc646},
		{"CRC-64/XZ", "CUSTOM", "0x42f0e1eba9ea3693, true, false, false, 0xffffffffffffffff, 0xffffffffffffffff", 64, 0x995dc9bbdf1939fa},
		{"CRC-64/GO-ISO", "CUSTOM", "0x1b, true, false, false, 0xffffffffffffffff, 0xffffffffffffffff", 64, 0xb90956c775a41001},
		{"CRC-64/WE", "CUSTOM", "0x42f0e1eba9ea3693, false, false, false, 0xffffffffffffffff, 0xffffffffffffffff", 64, 0x62ec59e3f1a4f00a},
	} {
		t.Run(c.name, func(t *testing.T) {
			hash, poly := "HashAlgorithm_t."+c.algorithm, ""
			if c.polynomial != "" {
				poly = fmt.Sprintf("CRCPolynomial<bit<%d>>(%s) poly; ", c.width, c.polynomial)
				hash += ", poly"
			}
			r := newRig(t, (&construct{
				locals: fmt.Sprintf("%sHash<bit<64>>(%s) h; Hash<bit<%d>>(%s) part;", poly, hash, max(c.width-1, 1), hash),
				apply: "bit<64> all = h.get({ hdr.h.op, hdr.h.x, hdr.h.y }); hdr.h.z = (bit<16>) part.get({ hdr.h.op, hdr.h.x, hdr.h.y });" +
					" hdr.h.x = all[63:32]; hdr.h.y = all[31:0];"}).program(t))
			part := c.check & (1<<max(c.width-1, 1) - 1) & 0xffff
			r.expect(digits, fmt.Sprintf("31 %016x %04x 00", c.check, part))
		})
	}
}

// A CRC that is extended is repeated in a wider hash. Without, zeros are before it.
func TestExtendedCRC(t *testing.T) {
	r := newRig(t, (&construct{
		locals: "CRCPolynomial<bit<16>>(0x8005, true, false, true, 0, 0) twice; CRCPolynomial<bit<16>>(0x8005, true, false, false, 0, 0) once; " +
			"Hash<bit<28>>(HashAlgorithm_t.CUSTOM, twice) a; Hash<bit<28>>(HashAlgorithm_t.CUSTOM, once) b;",
		apply: "bit<28> all = a.get({ hdr.h.op, hdr.h.x, hdr.h.y }); hdr.h.y = (bit<32>) b.get({ hdr.h.op, hdr.h.x, hdr.h.y }); hdr.h.x = (bit<32>) all;"}).program(t))
	r.expect(digits, "31 0b3dbb3d 0000bb3d 0000 00")
}

// An input that is not whole bytes has zeros before it.
func TestHashOfPartsOfBytes(t *testing.T) {
	r := newRig(t, (&construct{locals: "Hash<bit<16>>(HashAlgorithm_t.CRC16) h; Hash<bit<16>>(HashAlgorithm_t.CRC16) full;",
		apply: "bit<16> part = h.get({ hdr.h.x[2:0], hdr.h.op }); hdr.h.z = full.get({ 5w0, hdr.h.x[2:0], hdr.h.op }); hdr.h.y = (bit<32>) part;"}).program(t))
	b := r.pass(unhex(t, "12 00000005 00000000 0000 00"))
	if got, want := binary.BigEndian.Uint32(b[5:]), uint32(binary.BigEndian.Uint16(b[9:])); got != want || want == 0 {
		t.Errorf("the hash of 11 bits is %04x, that of 16 with zeros before them %04x", got, want)
	}
}

// A random hash is a function of its input, and takes many values.
func TestRandomHash(t *testing.T) {
	r := newRig(t, (&construct{locals: "Hash<bit<8>>(HashAlgorithm_t.RANDOM) h;", apply: "hdr.h.w = h.get({ hdr.h.x });"}).program(t))
	seen := map[byte]bool{}
	for i := range byte(100) {
		in := []byte{0, 0, 0, 0, i, 0, 0, 0, 0, 0, 0, 0}
		a, b := r.pass(in)[11], r.pass(in)[11]
		if a != b {
			t.Fatalf("the hash of %d is %d, then %d", i, a, b)
		}
		seen[a] = true
	}
	if len(seen) < 50 {
		t.Errorf("100 inputs have %d hashes of 8 bits", len(seen))
	}
}

// The fields of a pair can be exchanged, and only those.
func TestSymmetricHash(t *testing.T) {
	for _, algorithm := range []string{"CRC32", "XOR32", "CRC64"} {
		r := newRig(t, (&construct{locals: "@symmetric(\"hdr.h.x\", \"hdr.h.y\") @symmetric(\"hdr.h.op\", \"hdr.h.w\") Hash<bit<32>>(HashAlgorithm_t." + algorithm + ") h;",
			apply: "hdr.h.y = h.get({ hdr.h.op, hdr.h.x, hdr.h.y, hdr.h.z, hdr.h.w });"}).program(t))
		hash := func(s string) uint32 { return binary.BigEndian.Uint32(r.pass(unhex(t, s))[5:]) }
		base := hash("07 12345678 9abcdef1 0102 17")
		for s, same := range map[string]bool{
			"07 9abcdef1 12345678 0102 17": true, "17 12345678 9abcdef1 0102 07": true, "17 9abcdef1 12345678 0102 07": true,
			"07 12345678 9abcdef1 0103 17": false, "07 12345679 9abcdef1 0102 17": false, "07 12345678 9abcdef1 0102 16": false,
		} {
			if got := hash(s); (got == base) != same {
				t.Errorf("%s: the hash of %s is %08x, that of the base %08x", algorithm, s, got, base)
			}
		}
	}
}

// meterOf returns a meter of the switch by its name.
func (r *rig) meterOf(name string, i int) *interp.Meter {
	r.Helper()
	for _, m := range r.sw.State().Meters {
		if m.Info.Name == name {
			return &m.Cells[i]
		}
	}
	r.Fatalf("no meter %s", name)
	return nil
}

// tableOf returns a table of the switch by its name.
func (r *rig) tableOf(name string) *interp.Table {
	r.Helper()
	for _, t := range r.sw.State().Tables {
		if t.Info.Name == name {
			return t
		}
	}
	r.Fatalf("no table %s", name)
	return nil
}

// slow are rates with which only the bursts count in a test.
func slow(committed, peak int64) interp.MeterRates {
	return interp.MeterRates{CIR: 1, CBurst: committed, PIR: 1, PBurst: peak}
}

// A meter of packets is a two-rate three-colour marker, colour-aware if the packet's
// colour is given. The index selects the meter; without rates a packet keeps its
// colour.
func TestMeter(t *testing.T) {
	r := newRig(t, (&construct{
		locals: "Meter<bit<8>>(4, MeterType_t.PACKETS) blind; Meter<bit<8>>(4, MeterType_t.PACKETS) aware;",
		apply:  "if (hdr.h.op == 0) { hdr.h.w = blind.execute(hdr.h.w); } else { hdr.h.w = aware.execute(index = hdr.h.w, color = (MeterColor_t) hdr.h.x[7:0]); }"}).program(t))
	r.meterOf("Ingress.blind", 2).Configure(slow(2, 4), 0)
	r.meterOf("Ingress.aware", 1).Configure(slow(2, 5), 0)
	in := func(op, colour, index int) string {
		return fmt.Sprintf("%02x %08x 00000000 0000 %02x", op, colour, index)
	}
	for i, c := range []struct{ op, colour, index, want int }{
		{0, 0, 2, 0}, {0, 0, 2, 0}, {0, 0, 2, 1}, {0, 0, 2, 1}, {0, 0, 2, 3}, // blind
		{0, 0, 3, 0},               // another
		{1, 3, 1, 3}, {1, 3, 1, 3}, // what is red stays red and takes nothing
		{1, 1, 1, 1}, {1, 0, 1, 0}, {1, 0, 1, 0}, {1, 0, 1, 1}, {1, 1, 1, 1}, {1, 0, 1, 3},
		{1, 0, 0, 0}, {1, 1, 0, 1}, {1, 3, 0, 3}, // without rates
		{0, 0, 9, 0}, // beyond the end
	} {
		r.Logf("packet %d", i)
		r.expect(in(c.op, c.colour, c.index), fmt.Sprintf("%02x %08x 00000000 0000 %02x", c.op, c.colour, c.want))
	}
	colours := r.meterOf("Ingress.blind", 2).Colors
	if colours[0].Packets != 2 || colours[1].Packets != 2 || colours[2].Packets != 1 {
		t.Errorf("the meter counts %v", colours)
	}
}

// A meter of bytes meters a packet's bytes without those that are subtracted. Its
// declaration can give the colours other values. The buckets fill with time.
func TestMeterOfBytes(t *testing.T) {
	r := newRig(t, (&construct{
		locals: "Meter<bit<1>>(2, MeterType_t.BYTES, 9, 8, 7) m;",
		apply:  "if (hdr.h.op == 0) { hdr.h.w = m.execute(0); } else if (hdr.h.op == 1) { hdr.h.w = m.execute(index = 0, adjust_byte_count = 10); } else { hdr.h.w = m.execute(0, MeterColor_t.GREEN, 200); }"}).program(t))
	m := r.meterOf("Ingress.m", 0)
	m.Configure(interp.MeterRates{CIR: 1000, CBurst: 14, PIR: 1000, PBurst: 26}, r.sw.Now())
	r.expect(
		"00 00000000 00000000 0000 00", "00 00000000 00000000 0000 07", // 12 bytes: 2 of 14 remain
		"01 00000000 00000000 0000 00", "01 00000000 00000000 0000 07", // 2 bytes
		"00 00000000 00000000 0000 00", "00 00000000 00000000 0000 08", // the peak bucket is empty now
		"01 00000000 00000000 0000 00", "01 00000000 00000000 0000 09",
		"02 00000000 00000000 0000 00", "02 00000000 00000000 0000 07") // nothing to meter
	r.net.RunUntil(r.net.Now() + 13*vtime.Millisecond) // 13 bytes
	r.expect("00 00000000 00000000 0000 00", "00 00000000 00000000 0000 07",
		"00 00000000 00000000 0000 00", "00 00000000 00000000 0000 09")
	if m.Colors[0].Bytes != 12+2+0+12 || m.Colors[1].Bytes != 12 {
		t.Errorf("the meter counts %v", m.Colors)
	}
}

// Each entry of a table has a meter. Where no entry matches, that of the default
// entry is executed, if the action does.
func TestDirectMeter(t *testing.T) {
	r := newRig(t, (&construct{
		locals: "DirectMeter(MeterType_t.PACKETS) m; action a() { hdr.h.w = m.execute(); } action b() { hdr.h.w = 0x77; } action c() { hdr.h.w = m.execute(color = MeterColor_t.YELLOW); } " +
			"table t { key = { hdr.h.op : exact; } actions = { a; b; c; } default_action = b(); meters = m; const entries = { 1 : a(); 2 : c(); 3 : b(); } }",
		apply: "t.apply();"}).program(t))
	tab := r.tableOf("Ingress.t")
	for id := range uint32(2) {
		tab.Extend(id).Meter.Configure(slow(1, 2), 0)
	}
	r.expect(
		"01 00000000 00000000 0000 00", "01 00000000 00000000 0000 00",
		"01 00000000 00000000 0000 00", "01 00000000 00000000 0000 01",
		"01 00000000 00000000 0000 00", "01 00000000 00000000 0000 03",
		"02 00000000 00000000 0000 00", "02 00000000 00000000 0000 01",
		"02 00000000 00000000 0000 00", "02 00000000 00000000 0000 01",
		"02 00000000 00000000 0000 00", "02 00000000 00000000 0000 03",
		"03 00000000 00000000 0000 00", "03 00000000 00000000 0000 77",
		"04 00000000 00000000 0000 00", "04 00000000 00000000 0000 77")
	if n := tab.Entry(2).Ext.Meter.Colors[0].Packets; n != 0 {
		t.Errorf("the meter of an entry whose action does not execute it counts %d packets", n)
	}
}

// A direct counter counts for the entries whose actions count, without the bytes
// that are subtracted.
func TestDirectCounter(t *testing.T) {
	r := newRig(t, (&construct{
		locals: "DirectCounter<bit<32>>(CounterType_t.PACKETS_AND_BYTES) k; action a() { k.count(); } action b() { hdr.h.w = 1; } action c() { k.count(4); } " +
			"action d() { if (hdr.h.w == 5) { k.count(adjust_byte_count = 100); } } " +
			"table t { key = { hdr.h.op : exact; } actions = { a; b; c; d; } default_action = b(); counters = k; const entries = { 1 : a(); 2 : b(); 3 : c(); 4 : d(); } }",
		apply: "t.apply();"}).program(t))
	for _, s := range []string{"01", "02", "03", "03", "04", "09"} {
		r.pass(unhex(t, s+"00000000 00000000 0000 00"))
	}
	r.pass(unhex(t, "0400000000 00000000 0000 05"))
	tab := r.tableOf("Ingress.t")
	for id, want := range []interp.Counter{{Packets: 1, Bytes: 12}, {}, {Packets: 2, Bytes: 16}, {Packets: 1}} {
		if got := tab.Entry(uint32(id)).Ext.Counter; got != want {
			t.Errorf("entry %d counts %+v, want %+v", id, got, want)
		}
	}
	if got := tab.Default().Ext.Counter; got != (interp.Counter{}) {
		t.Errorf("the default entry counts %+v", got)
	}
}

// An indirect counter subtracts bytes, too.
func TestCounterAdjusts(t *testing.T) {
	r := newRig(t, (&construct{locals: "Counter<bit<32>, bit<8>>(8, CounterType_t.PACKETS_AND_BYTES) k;", apply: "k.count(3); k.count(4, 2); k.count(5, hdr.h.x);"}).program(t))
	r.pass(unhex(t, "00 00000007 00000000 0000 00"))
	cells := r.sw.State().Counters[0].Cells
	if cells[3].Bytes != 12 || cells[4].Bytes != 10 || cells[5].Bytes != 5 || cells[5].Packets != 1 {
		t.Errorf("counted %v", cells)
	}
}

// Each entry of a table has a cell, which begins with the register's initial value,
// also after another entry was deleted.
func TestDirectRegister(t *testing.T) {
	r := newRig(t, (&construct{
		locals: "DirectRegister<pair_t>({ 5, 7 }) reg; DirectRegisterAction<pair_t, bit<32>>(reg) act = { void apply(inout pair_t v, out bit<32> rv) { v.lo = v.lo + 1; v.hi = v.hi + hdr.h.y; rv = v.hi; } }; " +
			"action a() { hdr.h.x = act.execute(); } " +
			"table t { key = { hdr.h.op : exact; } actions = { a; } default_action = a(); registers = reg; size = 4; }",
		apply: "t.apply();"}).program(t))
	tab := r.tableOf("Ingress.t")
	insert := func(key uint64) uint32 {
		t.Helper()
		id, err := tab.Insert(&table.Match{Value: []uint64{key}}, tab.Info.Actions[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	one := insert(1)
	insert(2)
	r.expect(
		"01 00000000 00000001 0000 00", "01 00000008 00000001 0000 00",
		"01 00000000 00000001 0000 00", "01 00000009 00000001 0000 00",
		"02 00000000 00000010 0000 00", "02 00000017 00000010 0000 00",
		"09 00000000 00000002 0000 00", "09 00000009 00000002 0000 00", // of the default entry
		"09 00000000 00000002 0000 00", "09 0000000b 00000002 0000 00")
	tab.Delete(one)
	insert(3)
	r.expect("03 00000000 00000001 0000 00", "03 00000008 00000001 0000 00",
		"02 00000000 00000001 0000 00", "02 00000018 00000001 0000 00")
}

// A direct register that no table names has the cells of the table whose action
// uses it, or one cell outside of actions, as with p4c.
func TestDirectRegisterOfNoTable(t *testing.T) {
	action := func(name, reg string) string {
		return "DirectRegister<bit<32>>(3) " + reg + "; DirectRegisterAction<bit<32>, bit<32>>(" + reg + ") " + name + " = { void apply(inout bit<32> v, out bit<32> rv) { v = v + 1; rv = v; } }; "
	}
	r := newRig(t, (&construct{
		locals: action("one", "q") + action("two", "r") + "action a() { hdr.h.x = one.execute(); } table t { key = { hdr.h.op : exact; } actions = { a; } default_action = a(); const entries = { 1 : a(); 2 : a(); } }",
		apply:  "t.apply(); hdr.h.y = two.execute();"}).program(t))
	r.expect("01 00000000 00000000 0000 00", "01 00000004 00000004 0000 00",
		"02 00000000 00000000 0000 00", "02 00000004 00000005 0000 00",
		"01 00000000 00000000 0000 00", "01 00000005 00000006 0000 00")
}

// A RegisterParam has its initial value until the controller writes it.
func TestRegisterParam(t *testing.T) {
	r := newRig(t, (&construct{
		locals: "RegisterParam<bit<32>>(100) step; " + register + ", out bit<32> rv) { if (v < step.read()) { v = v + step.read(); } rv = v; } };",
		apply:  "hdr.h.x = act.execute(0);"}).program(t))
	r.expect("00 00000000 00000000 0000 00", "00 0000006b 00000000 0000 00",
		"00 00000000 00000000 0000 00", "00 0000006b 00000000 0000 00")
	for _, reg := range r.sw.State().Registers {
		if reg.Info.Name == "Ingress.step" {
			reg.Cell(0)[0] = 1000
		}
	}
	r.expect("00 00000000 00000000 0000 00", "00 00000453 00000000 0000 00")
}

// execute_log uses the cells one after another. A predicate is one bit of four.
func TestLogAndPredicate(t *testing.T) {
	r := newRig(t, (&construct{
		locals: "Register<bit<32>, bit<8>>(3) r; RegisterAction<bit<32>, bit<8>, bit<8>>(r) act = { void apply(inout bit<32> v, out bit<8> rv) { v = hdr.h.x; rv = this.predicate(hdr.h.x == 1, hdr.h.y == 1); } };",
		apply:  "hdr.h.w = act.execute_log();"}).program(t))
	r.expect("00 00000000 00000000 0000 00", "00 00000000 00000000 0000 01",
		"00 00000001 00000000 0000 00", "00 00000001 00000000 0000 02",
		"00 00000002 00000001 0000 00", "00 00000002 00000001 0000 04",
		"00 00000001 00000001 0000 00", "00 00000001 00000001 0000 08")
	for _, reg := range r.sw.State().Registers {
		if reg.Info.Name == "Ingress.r" {
			if a, b, c := reg.Cell(0)[0], reg.Cell(1)[0], reg.Cell(2)[0]; a != 1 || b != 1 || c != 2 {
				t.Errorf("the log has %d, %d, %d", a, b, c)
			}
		}
	}
}

// A math unit approximates its function: four bits of the operand count, or three
// where its square root is taken, and eight of the result.
func TestMathUnit(t *testing.T) {
	for op, f := range map[string]func(x float64) float64{
		"MathOp_t.MUL, 3":        func(x float64) float64 { return 3 * x },
		"MathOp_t.MUL, 1, 10":    func(x float64) float64 { return x / 10 },
		"MathOp_t.SQR, 1":        func(x float64) float64 { return x * x },
		"MathOp_t.SQRT, 1":       math.Sqrt,
		"MathOp_t.SQRT, 50":      func(x float64) float64 { return 50 * math.Sqrt(x) },
		"MathOp_t.DIV, 100000":   func(x float64) float64 { return 100000 / x },
		"MathOp_t.RSQRT, 9000":   func(x float64) float64 { return 9000 / math.Sqrt(x) },
		"MathOp_t.RSQR, 1 << 30": func(x float64) float64 { return (1 << 30) / (x * x) },
	} {
		r := newRig(t, (&construct{
			locals: "Register<bit<32>, bit<1>>(1) r; MathUnit<bit<32>>(" + op + ") unit; RegisterAction<bit<32>, bit<1>, bit<32>>(r) act = { void apply(inout bit<32> v, out bit<32> rv) { v = unit.execute(hdr.h.x); rv = v; } };",
			apply:  "hdr.h.y = act.execute(0);"}).program(t))
		for _, x := range []uint32{1, 2, 3, 7, 8, 9, 100, 127, 128, 1000, 4095, 20000, 60000} {
			b := r.pass(append(binary.BigEndian.AppendUint32([]byte{0}, x), make([]byte, 7)...))
			got, want := float64(binary.BigEndian.Uint32(b[5:])), f(float64(x))
			if got > want*1.15+1 || got < want*0.77-1 {
				t.Errorf("%s of %d: got %v, want about %v", op, x, got, want)
			}
		}
	}
	// Values of its own: those of 15 to 0, the operand as it is.
	r := newRig(t, (&construct{
		locals: "Register<bit<32>, bit<1>>(1) r; MathUnit<bit<32>>(true, 0, -2, { 15, 14, 13, 12, 11, 10, 9, 8, 0, 0, 0, 0, 0, 0, 0, 68 }) unit; RegisterAction<bit<32>, bit<1>, bit<32>>(r) act = { void apply(inout bit<32> v, out bit<32> rv) { v = unit.execute(hdr.h.x); rv = v; } };",
		apply:  "hdr.h.y = act.execute(0);"}).program(t))
	r.expect("00 00000000 00000000 0000 00", "00 00000000 00000011 0000 00", // 68 / 4
		"00 00000001 00000000 0000 00", "00 00000001 00000002 0000 00", // 8 / 4
		"00 00000002 00000000 0000 00", "00 00000002 00000001 0000 00") // 8 / 4 / 2
}

// Functions of numbers, sizes and the validity of intrinsic metadata.
func TestFunctionsOfTNA(t *testing.T) {
	r := newRig(t, (&construct{apply: "funnel_shift_right(hdr.h.x, hdr.h.y, hdr.h.x, 8); " +
		"hdr.h.z = (bit<16>) sizeInBits(hdr.h); hdr.h.w = (bit<8>) sizeInBytes(hdr.g); if (hdr.h.op == 1) { invalidate(tm.ucast_egress_port); } else if (!is_validated(tm.ucast_egress_port) || is_validated(tm.mcast_grp_a) || is_validated(hdr.g.a) || !is_validated(hdr.h.x)) { hdr.h.w = 0xff; }"}).program(t))
	r.expect("00 11223344 55667788 0000 00", "00 88112233 55667788 0060 04",
		"01 11223344 55667788 0000 00", "")
}

// A copy, a packet that passes ingress again and a digest whose instance has a type
// are made for the packets of this type.
func TestTypes(t *testing.T) {
	c := construct{
		apply:   "if (intrinsic.resubmit_flag == 1) { hdr.h.w = 9; } else { deparser.resubmit_type = (bit<3>) hdr.h.x; } deparser.mirror_type = (bit<3>) hdr.h.y;",
		deparse: "m1.emit(1); m2.emit<g_t>(1, { 1, 2 }); again.emit();"}
	r := newRig(t, c.programWith(t, macros{"SENT": "Mirror(1) m1; Mirror(2) m2; Resubmit(3) again;"}))
	r.expect("00 00000000 00000000 0000 00", "00 00000000 00000000 0000 00",
		"00 00000003 00000000 0000 00", "00 00000003 00000000 0000 09",
		"00 00000002 00000000 0000 00", "00 00000002 00000000 0000 00")
	for kind, want := range map[byte]uint64{1: 1, 2: 1, 3: 0} {
		before := r.sw.Stats().Cloned
		r.sw.SetSession(1, []softswitch.Replica{{Port: 3}}, 0, 0)
		r.sent = nil
		r.net.Inject(1, []byte{0, 0, 0, 0, 0, 0, 0, 0, kind, 0, 0, 0}, 0)
		r.net.Run()
		if got := r.sw.Stats().Cloned - before; got != want {
			t.Errorf("packets of mirror type %d are copied %d times, want %d", kind, got, want)
		}
	}
}

// A ParserCounter counts the steps of a parser. What is beyond its maximum is an
// error of the parser.
func TestParserCounter(t *testing.T) {
	c := construct{
		state: "ctr.set(hdr.h.w, 32, 2, 3, 1); transition skip;",
		apply: "hdr.h.x = (bit<32>) parsed.parser_err; hdr.h.z = meta.n;"}
	r := newRig(t, c.programWith(t, macros{
		"PARSER": "ParserCounter() ctr; ParserPriority() prio;",
		"STATES": "state skip { prio.set(3); ctr.decrement(1); meta.n = meta.n + 1; transition select(ctr.is_zero(), ctr.is_negative()) { (true, _) : accept; (_, true) : reject; default : skip; } }"}))
	// ((w rotated right by 2) & 15) + 1 steps
	r.expect("00 00000000 00000000 0000 00", "00 00000000 00000000 0001 00",
		"00 00000000 00000000 0000 04", "00 00000000 00000000 0002 04",
		"00 00000000 00000000 0000 1f", "00 00000000 00000000 0008 1f",
		"00 00000000 00000000 0000 02", "00 00000000 00000000 0001 02",
		"00 00000000 00000000 0000 21", "00 00000004 00000000 0000 21") // CTR_RANGE
}

// subtract_all_and_deposit subtracts the headers that follow.
func TestResidualChecksum(t *testing.T) {
	c := construct{
		state: "c.add({ hdr.h.x, hdr.h.y }); c.subtract_all_and_deposit(meta.n); transition more;",
		apply: "hdr.h.z = meta.n;"}
	r := newRig(t, c.programWith(t, macros{"PARSER": "Checksum() c;"}))
	r.expect("00 00010002 00030004 0000 00 0005 0001", "00 00010002 00030004 0004 00 0005 0001") // 1+2+3+4-5-1
}

// Filters pass samples on, and random early detection drops nothing, because a
// P4Runtime controller cannot configure them. Tables in parts match like others.
func TestWithoutEffect(t *testing.T) {
	r := newRig(t, (&construct{
		locals: "Lpf<bit<8>, bit<4>>(16) lpf; DirectLpf<bit<8>>() direct; Wred<bit<8>, bit<4>>(16, 5, 6) wred; Alpm(number_partitions = 1024) alpm; Atcam(16) atcam; " +
			"action a(bit<16> z) { hdr.h.z = z; hdr.h.y = (bit<32>) direct.execute(hdr.h.w); } action none() { } " +
			"table t { key = { hdr.h.x : lpm; } actions = { a; none; } default_action = none(); filters = direct; alpm = alpm; const entries = { 0x0a000000 &&& 0xff000000 : a(1); 0x0a0b0000 &&& 0xffff0000 : a(2); } } " +
			"table u { key = { hdr.h.op : atcam_partition_index; hdr.h.x : ternary; } actions = { none; @defaultonly NoAction; } implementation = atcam; const entries = { (1, 0x0a000000 &&& 0xff000000) : none(); } }",
		apply: "bit<8> w = lpf.execute(hdr.h.w, 3); t.apply(); if (u.apply().hit) { hdr.h.w = wred.execute(w, 3); }"}).program(t))
	r.expect("01 0a0b0c0d 00000000 0000 42", "01 0a0b0c0d 00000042 0002 06",
		"02 0a0c0c0d 00000000 0000 42", "02 0a0c0c0d 00000042 0001 42",
		"01 0b0c0c0d 00000000 0000 42", "01 0b0c0c0d 00000000 0000 42")
}

// The headers of the packet generator and of PTP have the chip's sizes.
func TestSizesOfHeaders(t *testing.T) {
	c := construct{apply: "gen_t p; p.t.setValid(); hdr.h.x = (bit<8>) sizeInBytes(p.t) ++ (bit<8>) sizeInBytes(p.d) ++ (bit<8>) sizeInBytes(p.r) ++ (bit<8>) sizeInBytes(p.p);" +
		"MeterColor_t red = MeterColor_t.RED; ReplicationId_t rid = 1; L2ExclusionId_t x2 = 0; p.t.packet_id = 5; hdr.h.z = p.t.packet_id + rid; hdr.h.w = (bit<8>) red + (bit<8>) x2;"}
	types := "struct gen_t { pktgen_timer_header_t t; pktgen_port_down_header_t d; pktgen_recirc_header_t r; ptp_metadata_t p; }"
	newRig(t, c.programWith(t, macros{"TYPES": types})).expect("00 00000000 00000000 0000 00", "00 06060608 00000000 0006 03")
}
