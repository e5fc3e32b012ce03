// SPDX-License-Identifier: Apache-2.0

package semantics

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pauseless/pauseless/bmv2tests/semantics/evaluator"
	"github.com/pauseless/pauseless/bmv2tests/semantics/generate"
	"github.com/pauseless/pauseless/bmv2tests/semantics/shrink"
	"github.com/pauseless/pauseless/compiler/p4c"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/softswitch/stf"
)

var (
	programs  = flag.Int("programs", 0, "how many programs to run; 0 is what CI runs")
	firstSeed = flag.Uint64("seed", 1, "seed of the first of them")
	show      = flag.Bool("show", false, "print each program and its packets")
)

// check returns how a case fails: "" if our compiler and switch do as the
// evaluator says, or if it says nothing.
func check(c generate.Case) (kind string, err error) {
	p, err := Compile(c)
	if r := (Refused{}); errors.As(err, &r) {
		return refusal(r), err
	}
	e, err := Evaluate(c)
	if err != nil {
		return "evaluator", err
	}
	if err := e.Run(p, nil); err != nil {
		if strings.Contains(err.Error(), "[stf-expect]") {
			return "difference", err
		}
		return "switch", err
	}
	if e.Packets == 0 {
		return "unspecified", nil
	}
	return "", nil
}

// refusal is "target" if a program is refused for what the target cannot do.
func refusal(r Refused) string {
	for _, d := range r.List {
		if d.Severity == diag.Error && d.Code != "target" && d.Code != "unsupported" {
			return "refused"
		}
	}
	return "target"
}

// TestPrograms runs random programs. One that shows a difference is reduced.
func TestPrograms(t *testing.T) {
	n := *programs
	if n == 0 {
		n = 150
	}
	begun := time.Now()
	var next, refused, unspecified atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n) && !(t.Failed() && *programs == 0); i = next.Add(1) {
				seed := *firstSeed + uint64(i) - 1
				c := generate.New(seed)
				kind, err := check(c)
				if *show {
					e, _ := Evaluate(c)
					t.Logf("seed %d\n%s\n%s", seed, c.Text, e.Script)
				}
				switch kind {
				case "":
				case "unspecified":
					unspecified.Add(1)
				case "target":
					refused.Add(1)
				default:
					report(t, seed, c, kind, err, check)
				}
				if i%10000 == 0 {
					t.Logf("%d programs in %v", i, time.Since(begun).Round(time.Second))
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d programs from seed %d: %d are refused for the target, for %d the specification leaves all packets open", n, *firstSeed, refused.Load(), unspecified.Load())
	if r := refused.Load() + unspecified.Load(); r > 2+int64(n)/20 {
		t.Errorf("%d of %d programs test nothing", r, n)
	}
}

// report reduces a case and prints it.
func report(t *testing.T, seed uint64, c generate.Case, kind string, err error, check func(generate.Case) (string, error)) {
	t.Helper()
	small := shrink.Reduce(c, func(c generate.Case) bool {
		k, _ := check(c)
		return k == kind
	})
	_, smallErr := check(small)
	script := ""
	if e, err := Evaluate(small); err == nil {
		script = e.Script
	}
	t.Errorf("seed %d: %s: %v\nreduced from %d to %d bytes:\n%s\n%s\n%v", seed, kind, err, len(c.Text), len(small.Text), small.Text, script, smallErr)
}

// TestOnSimpleSwitch runs programs on simple_switch_grpc: with our JSON, which must
// do as the evaluator says, and with that of p4c where it compiles the program. The
// differences of p4c are counted and shown. With -programs 10 it runs one, and reduces it
// if it differs.
func TestOnSimpleSwitch(t *testing.T) {
	binary := need.Tool(t, "BMV2", "simple_switch_grpc")
	_, noP4C := p4c.Find()
	if noP4C != nil {
		t.Logf("SKIP: %v", noP4C)
	}
	n := *programs / 10
	if n == 0 {
		n = 10
	}
	begun := time.Now()
	var next, compared, byP4C, differ atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		all.Go(func() {
			for i := next.Add(1); i <= int64(n); i = next.Add(1) {
				seed := *firstSeed + uint64(i) - 1
				c := generate.New(seed)
				onSwitch := func(c generate.Case) (string, error) { return checkBMv2(c, binary) }
				switch kind, err := onSwitch(c); kind {
				case "":
				case "not compared":
					continue
				default:
					t.Errorf("seed %d: %s: %v", seed, kind, err)
					if n == 1 { // a switch for each of some thousand programs
						report(t, seed, c, kind, err, onSwitch)
					}
				}
				if n := compared.Add(1); n%500 == 0 {
					t.Logf("%d programs in %v", n, time.Since(begun).Round(time.Second))
				}
				if noP4C != nil {
					continue
				}
				if compiled, err := byP4Cs(t, c, binary); compiled {
					byP4C.Add(1)
					if err != nil {
						differ.Add(1)
						t.Logf("seed %d, with the JSON of p4c: %v", seed, err)
					}
				}
			}
		})
	}
	all.Wait()
	t.Logf("%d programs on simple_switch_grpc; p4c compiles %d of them, of which %d differ from the specification", compared.Load(), byP4C.Load(), differ.Load())
}

// checkBMv2 is check on simple_switch_grpc. The kind is "not compared" if there is
// nothing to compare.
func checkBMv2(c generate.Case, binary string) (kind string, err error) {
	p, err := Compile(c)
	if err != nil {
		return "not compared", err
	}
	if len(p.UnalignedPrefixes()) > 0 {
		return "not compared", nil // see TestBMv2MisreadsPrefixes
	}
	e, err := Evaluate(c)
	if err != nil {
		return "not compared", err
	}
	if err = e.RunBMv2(p, binary); err == nil {
		return "", nil
	}
	if strings.Contains(err.Error(), "[stf-expect]") {
		return "difference", err
	}
	return "switch", err
}

// byP4Cs runs a case with the JSON of p4c, if it compiles it.
func byP4Cs(t *testing.T, c generate.Case, binary string) (compiled bool, err error) {
	file := filepath.Join(t.TempDir(), "case.p4")
	if err := os.WriteFile(file, []byte(c.Text), 0o666); err != nil {
		t.Error(err)
		return false, nil
	}
	r, err := p4c.Compile(context.Background(), p4c.Options{File: file})
	if err != nil {
		t.Error(err)
		return false, nil
	}
	if r.List.HasErrors() {
		return false, nil
	}
	p, err := bmv2json.Decode("case.json", r.JSON)
	if err != nil {
		t.Error(err)
		return false, nil
	}
	e, err := Evaluate(c)
	if err != nil {
		t.Error(err)
		return false, nil
	}
	return true, e.RunBMv2(p, binary)
}

// BMv2 takes the bits that fill the bytes of a key for a part of a prefix
// (behavioral-model#1331). Programs with such keys are not compared. If this fails
// because BMv2 has been mended, UnalignedPrefixes and its warnings can go.
func TestBMv2MisreadsPrefixes(t *testing.T) {
	binary := need.Tool(t, "BMV2", "simple_switch_grpc")
	program := func(width int, entries string) *bmv2json.Program {
		t.Helper()
		p, err := Compile(generate.Case{Text: fmt.Sprintf(`
#include <core.p4>
#include <v1model.p4>
header h_t { bit<%d> a; bit<%d> z; bit<8> r; }
struct headers { h_t h; }
struct metadata { }
parser P(packet_in p, out headers hdr, inout metadata m, inout standard_metadata_t sm) {
    state start { p.extract(hdr.h); transition accept; }
}
control I(inout headers hdr, inout metadata m, inout standard_metadata_t sm) {
    action set(bit<8> r) { hdr.h.r = r; }
    table t {
        key = { hdr.h.a: lpm; }
        actions = { set; }
        default_action = set(9);
        %s
    }
    apply { t.apply(); sm.egress_spec = 2; }
}
control X(inout headers hdr, inout metadata m, inout standard_metadata_t sm) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
control V(inout headers hdr, inout metadata m) { apply { } }
control C(inout headers hdr, inout metadata m) { apply { } }
V1Switch(P(), V(), I(), X(), C(), D()) main;
`, width, 24-width, entries)})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	const constant = "const entries = { 0x%x &&& 0x%x: set(1); }"
	for _, c := range []struct {
		name, entries, script string
		width                 int
		differs               bool
	}{
		{"8 bits, constant", fmt.Sprintf(constant, 0x80, 0xc0), "packet 1 80000000\nexpect 2 80000001$\npacket 1 00000000\nexpect 2 00000009$\n", 8, false},
		{"8 bits", "", "add I.t hdr.h.a:0x80/2 set(r:1)\npacket 1 80000000\nexpect 2 80000001$\npacket 1 00000000\nexpect 2 00000009$\n", 8, false},
		{"13 bits, constant", fmt.Sprintf(constant, 0x1400, 0x1c00), "packet 1 A0000000\nexpect 2 A0000001$\npacket 1 00000000\nexpect 2 00000009$\n", 13, true},
		{"13 bits", "", "add I.t hdr.h.a:0x1400/3 set(r:1)\npacket 1 A0000000\nexpect 2 A0000001$\npacket 1 00000000\nexpect 2 00000009$\n", 13, true},
	} {
		p := program(c.width, c.entries)
		if len(p.UnalignedPrefixes()) > 0 != c.differs {
			t.Errorf("%s: %q", c.name, p.UnalignedPrefixes())
		}
		s, err := stf.Parse("case.stf", []byte(c.script))
		if err != nil {
			t.Fatal(err)
		}
		if err := stf.Run(p, s, stf.Options{}); err != nil {
			t.Errorf("%s, on our switch: %v", c.name, err)
		}
		if err := stf.RunBMv2(t.Context(), p, s, binary); (err != nil) != c.differs || err != nil && !strings.Contains(err.Error(), "got  00000001") {
			t.Errorf("%s, on BMv2: %v", c.name, err)
		}
	}
}

// A program is reduced to what matters: here, a saturating addition.
func TestReduce(t *testing.T) {
	adds := func(c generate.Case) bool {
		p, err := evaluator.Parse("case.p4", c.Text)
		if err != nil || !strings.Contains(c.Text, "|+|") || len(c.Packets) == 0 {
			return false
		}
		_, err = p.Run(inPort, c.Packets[0])
		return err == nil
	}
	for seed := uint64(1); ; seed++ {
		c := generate.New(seed)
		if !adds(c) {
			continue
		}
		if small := shrink.Reduce(c, adds); len(small.Text) > 1300 || len(small.Packets) != 1 || len(small.Entries) > 0 {
			t.Errorf("seed %d is reduced to %d bytes, %d packets and %d entries:\n%s", seed, len(small.Text), len(small.Packets), len(small.Entries), small.Text)
		}
		return
	}
}

// A packet whose course the specification leaves open is not sent to the switch, so
// that it must leave no trace in registers either (seed 5020711).
func TestOpenPacketsLeaveNoTrace(t *testing.T) {
	c := generate.New(5020711)
	if kind, err := check(c); kind != "" {
		t.Errorf("%s: %v", kind, err)
	}
	p, err := evaluator.Parse("case.p4", `
#include <core.p4>
#include <v1model.p4>
header h_t { bit<8> a; bit<8> b; }
struct headers { h_t h; h_t x; }
struct metadata { }
parser P(packet_in p, out headers hdr, inout metadata m, inout standard_metadata_t sm) {
    state start { p.extract(hdr.h); transition accept; }
}
control I(inout headers hdr, inout metadata m, inout standard_metadata_t sm) {
    register<bit<8>>(1) reg;
    apply {
        reg.read(hdr.h.b, 0);
        reg.write(0, hdr.h.a);
        if (hdr.h.a == 7 && hdr.x.a == 1) { hdr.h.b = 9; } // x is invalid
    }
}
control X(inout headers hdr, inout metadata m, inout standard_metadata_t sm) { apply { } }
control D(packet_out p, in headers hdr) { apply { p.emit(hdr); } }
control V(inout headers hdr, inout metadata m) { apply { } }
control C(inout headers hdr, inout metadata m) { apply { } }
V1Switch(P(), V(), I(), X(), C(), D()) main;
`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(inPort, []byte{7, 0}); !errors.As(err, new(*evaluator.Unspecified)) {
		t.Fatalf("an invalid header is read: %v", err)
	}
	for i, want := range []string{"0500", "0605"} {
		sent, err := p.Run(inPort, []byte{byte(5 + i), 0})
		if err != nil || len(sent) != 1 || digits(sent[0]) != want {
			t.Errorf("packet %d: %v, %v, want %s", i, sent, err, want)
		}
	}
}
