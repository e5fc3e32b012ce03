// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane/p4rttest"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infocheck/infochecktest"
	"github.com/pauseless/pauseless/internal/packet"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func program(t testing.TB) *schema.Schema {
	t.Helper()
	s, err := schema.New(p4rttest.Program())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lines are entities in printed form.
var lines = []string{
	"Forward hdr.ipv4.dst=10.0.1.0/24 -> forward(port=3)",
	"Forward default -> drop()",
	"Forward default",
	"Forward hdr.ipv4.dst=10.0.0.1/32",
	"neighbour hdr.ethernet.dst=02:00:00:00:00:01 meta.vlan=7 -> rewrite(mac=02:00:00:00:00:ff, port=511)",
	"acl prio 10 -> drop()",
	"acl prio 10 hdr.ipv4.src=10.0.0.0/8 hdr.ipv4.proto=17 hdr.udp.dport=4791..4799 meta.flags=5&&&0x1f -> drop()",
	"acl prio 1 hdr.ipv4.src=10.0.0.1 -> forward(port=0)",
	"acl prio 1 hdr.ipv4.src=10.0.0.0&&&255.0.0.255 -> forward(port=0)",
	"paths meta.leaf=3 -> member 7",
	"paths meta.leaf=3 -> group 2",
	"paths meta.leaf=3 -> {forward(port=1), forward(port=2) weight 3}",
	"paths meta.leaf=3 -> {forward(port=1) watch 1, forward(port=2) weight 3 watch 300}",
	"paths meta.leaf=3 -> group 2 timeout 5s",
	"member spread 7 -> forward(port=2)",
	"group spread 2 -> 7, 8 weight 3",
	"group spread 2 size 4 -> 7",
	"group spread 2 -> 7 watch 0, 8 weight 3 watch 511, 9",
	"multicast 1 -> 1, 2/5, 3",
	"multicast 1 -> 1 backup 2 backup 3/7, 4/1 backup 5",
	"clone 5 -> 510 truncate 64",
	"clone 5 -> 510 backup 1 cos 3 truncate 64",
	"clone 6 -> 1, 2 cos 3",
	"register Readqlen[3] = 77",
	"register Readqlen[3]",
	"counter rx[0] = 12 packets 3400 bytes",
	"meter police[7] = cir 1000 burst 10 pir 2000 burst 20",
	"meter police[7] = cir 1000 burst 10 pir 1000 burst 10 excess 40",
	"digest alert_t timeout 1ms list 10 ack 10ms",
	"digest alert_t",
}

func TestParseInvertsFormat(t *testing.T) {
	s := program(t)
	for _, line := range lines {
		e, err := s.ParseEntity(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if got := s.FormatEntity(e); got != line {
			t.Errorf("read and printed:\n got %s\nwant %s", got, line)
		}
	}
}

func TestValuesAreReadInAnyNotation(t *testing.T) {
	s := program(t)
	for in, want := range map[string]string{
		"Forward dst=0x0a000100/24 -> forward(0b11)":                       lines[0],
		"ingress.Forward dst=10.0.1.77/24 -> ingress.forward(3)":           lines[0],
		"Forward dst=10.0.0.1":                                             lines[3],
		"Forward dst=*   ->   drop  # all":                                 "Forward -> drop()",
		"Forward dst=10.0.0.0/0 -> drop":                                   "Forward -> drop()",
		"acl dport=80..80 prio 0x2 src=* proto=* -> drop":                  "acl prio 2 hdr.udp.dport=80..80 -> drop()",
		"acl dport=80 prio 2 flags=0&&&0 -> drop()":                        "acl prio 2 hdr.udp.dport=80..80 -> drop()",
		"acl dport=0..65535 prio 2 -> drop()":                              "acl prio 2 -> drop()",
		"acl src=10.1.2.3/8 prio 2 -> drop()":                              "acl prio 2 hdr.ipv4.src=10.0.0.0/8 -> drop()",
		"acl flags=0b1_0101/3 prio 2 -> drop()":                            "acl prio 2 meta.flags=0&&&0x1c0 -> drop()",
		"neighbour vlan=1 dst=1 -> rewrite(port=1, mac=00:00:00:00:00:02)": "neighbour hdr.ethernet.dst=00:00:00:00:00:01 meta.vlan=1 -> rewrite(mac=00:00:00:00:00:02, port=1)",
	} {
		e, err := s.ParseEntity(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
		} else if got := s.FormatEntity(e); got != want {
			t.Errorf("%s:\n got %s\nwant %s", in, got, want)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	s := program(t)
	for in, want := range map[string]string{
		"":                                     "expected the name of a table",
		"Forwrd dst=1 -> drop()":               `no table is called "Forwrd" (did you mean "Forward"?)`,
		"Forward dts=1 -> drop()":              `table Forward has no match field "dts"; it has: hdr.ipv4.dst`,
		"Forward dst=1 -> dorp()":              `table Forward has no action "dorp" (did you mean "drop"?)`,
		"Forward dst=1 -> forward(prt=1)":      `action forward has no parameter "prt" (did you mean "port"?)`,
		"Forward dst=1 -> forward()":           "parameter port is missing",
		"Forward dst=1 -> forward(512)":        "port: 512 needs 10 bits, the field has 9",
		"Forward dst=1 -> forward(1, 2)":       "action forward takes no more than 1 argument",
		"Forward dst=1 -> forward(-1)":         `"-1" is not a number from 0 up`,
		"Forward dst=1..2 -> drop":             "field hdr.ipv4.dst is matched lpm, which has no ranges",
		"Forward dst=1&&&1 -> drop":            "which has no masks",
		"Forward dst=1/33 -> drop":             "a prefix of 33 is too long",
		"Forward dst=1 dst=2 -> drop":          "field hdr.ipv4.dst is given twice",
		"Forward dst=10.0.0.256 -> drop":       "neither an IP nor a MAC address",
		"Forward prio 3 dst=1 -> drop":         "its entries have no priority",
		"Forward default prio 3 -> drop":       "the default entry has neither match nor priority",
		"neighbour dst=1 -> drop":              `table neighbour has no action "drop"; it has: forward, rewrite`,
		"neighbour dst=1 -> forward(1)":        "exact field meta.vlan is missing",
		"neighbour dst=* vlan=1 -> forward(1)": "matched exactly; give a value instead of *",
		"neighbour default -> forward(1)":      "the program fixes its default action",
		"acl dport=2..1 prio 1 -> drop":        "the range 2..1 is empty",
		"acl dport=2 -> drop":                  "need a priority above 0",
		"acl proto=1/2 prio 1 -> drop":         "matched optional, which has no prefixes",
		"fixed kind=1 -> drop":                 "table fixed is constant",
		"paths leaf=1 -> 7":                    "expected member N, group N or",
		"multicast x -> 1":                     `"x" is not a number`,
		"clone 1 -> a":                         `"a" is not a port`,
		"register Readqlen[8] = 1":             "Readqlen has 8 cells, numbered from 0; there is no Readqlen[8]",
		"register Readqlen[0] = 0x80000":       "needs 20 bits, the field has 19",
		"register Pair[0] = 1":                 "not a single number",
		"meter police[0] = cir 1":              `expected "burst", not the end of the line`,
		"group spread 2 -> 7 watch":            "expected port to watch, not the end of the line",
		"multicast 1 -> 1 backup":              "expected a port, not the end of the line",
		"multicast 1 -> 1 backup x":            `"x" is not a port or PORT/INSTANCE`,
		"digest alert_t timeout 5":             "is not a time such as 10ms",
		`Forward dst="1 -> drop`:               "column 13: string is not closed",
		"Forward dst=1 -> drop() drop":         `unexpected "drop" at the end`,
		"Forward dst=1 -> drop(":               "action drop takes no more than 0 arguments",

		"meter police[0] = cir 1 burst 1 pir 1 burst 1 excess x": `excess burst: "x" is not a number`,
	} {
		_, err := s.ParseEntity(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", in, err, want)
		}
	}
}

func TestEntriesFromGoValues(t *testing.T) {
	s := program(t)
	for want, e := range map[string]schema.Entry{
		lines[0]: {Table: "Forward", Action: "forward", Args: []schema.Arg{{Name: "port", Value: 3}},
			Match: []schema.Match{schema.Prefix("dst", netip.MustParseAddr("10.0.1.9"), 24)}},
		lines[4]: {Table: "neighbour", Action: "rewrite",
			Match: []schema.Match{schema.Eq("vlan", 7), schema.Eq("dst", packet.MAC{2, 0, 0, 0, 0, 1})},
			Args:  []schema.Arg{{Name: "port", Value: uint16(511)}, {Name: "mac", Value: "02:00:00:00:00:ff"}}},
		lines[6]: {Table: "acl", Action: "drop", Priority: 10, Match: []schema.Match{
			schema.Mask("src", netip.MustParseAddr("10.9.9.9"), []byte{255, 0, 0, 0}), schema.Eq("proto", uint8(17)),
			schema.Between("dport", 4791, 4799), schema.Mask("flags", 0xff5, 0x1f)}},
		lines[1]: {Table: "Forward", Default: true, Action: "drop"},
	} {
		if want == lines[6] {
			e.Match[3] = schema.Mask("flags", 0x1e5, 0x1f)
		}
		got, err := s.Entry(e)
		if err != nil {
			t.Errorf("%s: %v", want, err)
		} else if text := s.FormatEntity(got); text != want {
			t.Errorf("got %s\nwant %s", text, want)
		}
	}
	if _, err := s.Entry(schema.Entry{Table: "Forward", Match: []schema.Match{schema.Eq("dst", -1)}, Action: "drop"}); err == nil {
		t.Error("a negative value is taken")
	}
}

// Examples of the specification's section on byte strings.
func TestByteStringsAreCanonical(t *testing.T) {
	for _, c := range []struct {
		v    uint64
		want []byte
	}{{0, []byte{0}}, {99, []byte{0x63}}, {12388, []byte{0x30, 0x64}}, {1 << 63, []byte{0x80, 0, 0, 0, 0, 0, 0, 0}}} {
		if got := schema.Uint(c.v); !bytes.Equal(got, c.want) {
			t.Errorf("%d is % x, want % x", c.v, got, c.want)
		}
		if v, ok := schema.ToUint(append([]byte{0, 0}, c.want...)); !ok || v != c.v {
			t.Errorf("% x reads as %d", c.want, v)
		}
	}
}

func TestAmbiguousNamesAreRefusedWithTheChoices(t *testing.T) {
	s, err := schema.New(parseInfo(t, `
		actions { preamble { id: 0x01000001 name: "a.drop" alias: "a.drop" } }
		actions { preamble { id: 0x01000002 name: "b.drop" alias: "b.drop" } }
		actions { preamble { id: 0x01000003 name: "go" alias: "go" } }`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Action("drop"); err == nil || !strings.Contains(err.Error(), `"drop" names more than one action: a.drop, b.drop`) {
		t.Errorf("got %v", err)
	}
	if a, err := s.Action("b.drop"); err != nil || a.ID != 0x01000002 {
		t.Errorf("got %v, %v", a, err)
	}
	if _, err := s.Table("x"); err == nil || !strings.Contains(err.Error(), "the program has none") {
		t.Errorf("got %v", err)
	}
}

func TestContradictionsInAP4Info(t *testing.T) {
	for text, want := range map[string]string{
		`actions { preamble { id: 1 name: "a" } } actions { preamble { id: 1 name: "b" } }`:              "id 0x1 is given to both a and b",
		`actions { preamble { id: 1 name: "a" } } actions { preamble { id: 2 name: "a" } }`:              "two of the kind action are called a",
		`actions { preamble { name: "a" } }`:                                                             "without name or id",
		`tables { preamble { id: 1 name: "t" } action_refs { id: 9 } }`:                                  "table t refers to action 0x9",
		`tables { preamble { id: 1 name: "t" } implementation_id: 9 }`:                                   "table t refers to action profile 0x9",
		`actions { preamble { id: 1 name: "a" } params { id: 1 name: "p" bitwidth: -1 } }`:               "p is -1 bits wide",
		`registers { preamble { id: 1 name: "r" annotations: "@index(\"a,b\")" } }`:                      "dimension b in \"a,b\" needs a size",
		`registers { preamble { id: 1 name: "r" annotations: "@index(\"a:0\")" } }`:                      "not a number above 0",
		`digests { preamble { id: 1 name: "d" } type_spec { struct { name: "none" } } }`:                 "struct none is not in the type information",
		`tables { preamble { id: 1 name: "t" } match_fields { id: 1 name: "f" other_match_type: "x" } }`: "of a kind that this controller does not know",
		`digests { preamble { id: 1 name: "d" } type_spec { struct { name: "s" } } }
		 type_info { structs { key: "s" value { members { name: "m" type_spec { struct { name: "s" } } } } } }`: "struct s contains itself: s has s",
	} {
		if _, err := schema.New(parseInfo(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n got %v\nwant %s", text, err, want)
		}
	}
	if _, err := schema.New(nil); err == nil {
		t.Error("nil is taken")
	}
}

// A hostile server cannot stop a controller by the types of its P4Info.
func TestHostileP4Infos(t *testing.T) {
	for _, c := range infochecktest.Cases(p4rttest.Program()) {
		if _, err := schema.New(c.Info); err == nil || !strings.Contains(err.Error(), c.Want) {
			t.Errorf("%s:\n got %.300v\nwant %s", c.Name, err, c.Want)
		}
	}
}

// Names of a peer are printed without what changes a terminal or begins a line.
func TestNamesArePrintable(t *testing.T) {
	s, err := schema.New(parseInfo(t, `
		tables { preamble { id: 0x02000001 name: "I.a\n  forged  9  9" alias: "\033]0;owned\007" } match_fields { id: 1 name: "f\033[31m" bitwidth: 8 match_type: EXACT } action_refs { id: 0x01000001 } }
		actions { preamble { id: 0x01000001 name: "go\r" } params { id: 1 name: "p\302\233" bitwidth: 8 } }
		registers { preamble { id: 0x16000001 name: "r\n" annotations: "@unit(\"\033us\")" } type_spec { bitstring { bit { bitwidth: 8 } } } size: 4 }
		digests { preamble { id: 0x17000001 name: "d\t" } type_spec { struct { name: "s\n" } } }
		type_info { structs { key: "s\n" value { members { name: "m\n" type_spec { bitstring { bit { bitwidth: 8 } } } } } } }`))
	if err != nil {
		t.Fatal(err)
	}
	entry := &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{TableId: 0x02000001,
		Match:  []*p4v1.FieldMatch{{FieldId: 1, FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: []byte{1}}}}},
		Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: 0x01000001, Params: []*p4v1.Action_Param{{ParamId: 1, Value: []byte{2}}}}}},
	}}}
	texts := []string{s.FormatEntity(entry), s.Tables[0].Name, s.Tables[0].Full, s.Registers[0].Name, s.Registers[0].Unit, s.Digests[0].Name, s.Digests[0].Fields[0].Name, s.Name(0x16000001)}
	for _, text := range texts {
		if diag.Printable(text) != text {
			t.Errorf("%q is not printable", text)
		}
	}
	if want := `\x1b]0;owned\a f\x1b[31m=1 -> go\r(p\u009b=2)`; texts[0] != want {
		t.Errorf("the entry is printed as %q, want %q", texts[0], want)
	}
	if _, err := s.Table(s.Tables[0].Name); err != nil {
		t.Error(err)
	}
}

func TestDimensionsSplitAnIndex(t *testing.T) {
	r, err := program(t).Register("Warned")
	if err != nil {
		t.Fatal(err)
	}
	if at := schema.Split(r.Index, 5); len(at) != 2 || at[0] != 2 || at[1] != 1 || r.Unit != "us" {
		t.Errorf("cell 5 of %v is %v", r.Index, at)
	}
}

func parseInfo(t testing.TB, text string) *p4configv1.P4Info {
	t.Helper()
	info := &p4configv1.P4Info{}
	if err := prototext.Unmarshal([]byte(text), info); err != nil {
		t.Fatal(err)
	}
	return info
}

// Any text gives an error, or an entity whose printed form parses to the same
// entity.
func FuzzParseEntity(f *testing.F) {
	for _, line := range lines {
		f.Add(line)
	}
	s := program(f)
	f.Fuzz(func(t *testing.T, line string) {
		e, err := s.ParseEntity(line)
		if (e == nil) == (err == nil) {
			t.Fatalf("%q: entity %v and error %v", line, e, err)
		}
		if err != nil {
			return
		}
		text := s.FormatEntity(e)
		again, err := s.ParseEntity(text)
		if err != nil {
			t.Fatalf("%q prints as %q, which is refused: %v", line, text, err)
		}
		if !proto.Equal(e, again) {
			t.Fatalf("%q prints as %q, which is something else:\n%v\n%v", line, text, e, again)
		}
	})
}

// Any entity from a switch can be printed without stopping the controller.
func FuzzFormatEntity(f *testing.F) {
	s := program(f)
	for _, line := range lines {
		e, err := s.ParseEntity(line)
		if err != nil {
			f.Fatal(err)
		}
		b, err := proto.Marshal(e)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e p4v1.Entity
		if proto.Unmarshal(b, &e) == nil {
			s.FormatEntity(&e)
		}
	})
}

func BenchmarkParseEntity(b *testing.B) {
	s := program(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.ParseEntity(lines[0]); err != nil {
			b.Fatal(err)
		}
	}
}
