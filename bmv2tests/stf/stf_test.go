// SPDX-License-Identifier: Apache-2.0

// Package stf has our own switch tests in p4c's format, a program and a script for
// every construct of v1model that is visible from outside. They run on our switch
// with our compiler's JSON and, if it is available, on simple_switch_grpc, whose
// behaviour is the expected one.
package stf

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/softswitch/stf"
)

// compile compiles a program of testdata.
func compile(t *testing.T, file string) *bmv2json.Program {
	t.Helper()
	r, list := compiler.Compile(compiler.Options{File: file})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return r.Program
}

// differences are the scripts, by name, that fail on simple_switch_grpc.
var differences = map[string]string{
	"state-signed": "a signed field that is set to a number between its greatest and its mask keeps that number (Field::export_bytes)",
	"union-pop":    "pop and push of a stack of unions leave the members of the elements that were moved from valid",
}

// eachProgram runs f with every script of testdata and the program that has
// its name, up to a hyphen.
func eachProgram(t *testing.T, f func(t *testing.T, p *bmv2json.Program, s *stf.Script)) {
	files, err := filepath.Glob("testdata/*.stf")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".stf")
		t.Run(filepath.Base(name), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s, err := stf.Parse(file, text)
			if err != nil {
				t.Fatal(err)
			}
			program, _, _ := strings.Cut(name, "-")
			f(t, compile(t, program+".p4"), s)
		})
	}
}

func TestOnOurSwitch(t *testing.T) {
	eachProgram(t, func(t *testing.T, p *bmv2json.Program, s *stf.Script) {
		if err := stf.Run(p, s, stf.Options{}); err != nil {
			t.Error(err)
		}
		// The same script with the program compiled for tracing.
		lines := 0
		if err := stf.Run(p, s, stf.Options{Trace: func(string) { lines++ }}); err != nil || lines == 0 {
			t.Errorf("with a trace of %d lines: %v", lines, err)
		}
	})
}

func TestOnSimpleSwitch(t *testing.T) {
	binary := need.Tool(t, "BMV2", "simple_switch_grpc")
	eachProgram(t, func(t *testing.T, p *bmv2json.Program, s *stf.Script) {
		t.Parallel()
		why := differences[strings.TrimSuffix(filepath.Base(s.Name), ".stf")]
		switch err := stf.RunBMv2(context.Background(), p, s, binary); {
		case why == "" && err != nil:
			t.Error(err)
		case why != "" && err == nil:
			t.Errorf("passes, although %s", why)
		}
	})
}

// one runs a script on log.p4 and returns what the program logged, the trace
// and the error.
func one(t *testing.T, script string) (log, trace []string, err error) {
	t.Helper()
	s, err := stf.Parse("test.stf", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	err = stf.Run(compile(t, "testdata/log.p4"), s, stf.Options{
		Log:   func(l string) { log = append(log, l) },
		Trace: func(l string) { trace = append(trace, l) },
	})
	return log, trace, err
}

func TestMessagesAreFormatted(t *testing.T) {
	log, _, err := one(t, "packet 1 05 FF 010000000000000000\nexpect 2")
	want := []string{"plain", "a=5 b=-1 c=18446744073709551616 valid=1"}
	if err != nil || !slices.Equal(log, want) {
		t.Errorf("logged %q, want %q: %v", log, want, err)
	}
}

func TestAssertionsThatFailAreReported(t *testing.T) {
	for script, want := range map[string]string{
		"packet 1 0A FF 000000000000000000": "assert failed",
		"packet 1 09 01 000000000000000000": "assume failed",
	} {
		log, trace, err := one(t, script)
		if got := trace[len(trace)-1]; got != "dropped: assertion failed" {
			t.Errorf("%s: the trace ends with %q", script, got)
		}
		if err == nil || !strings.Contains(err.Error(), "an assertion of the program failed for 1 packets") {
			t.Errorf("%s: error %v", script, err)
		}
		if !slices.ContainsFunc(log, func(l string) bool { return strings.Contains(l, want) && strings.Contains(l, "log.p4:") }) {
			t.Errorf("%s: logged %q, want %q with its place", script, log, want)
		}
	}
}

// A failing test prints the line, the expected and the actual packet, and a trace in
// which each step has its line in the program.
func TestFailuresCanBeRead(t *testing.T) {
	_, trace, err := one(t, "packet 1 05 FF 010000000000000000\nexpect 2 06 FF 010000000000000000 $\nexpect 2 05\nexpect 3 05")
	var list diag.List
	if !errors.As(err, &list) || len(list) != 3 {
		t.Fatalf("error %v, want three", err)
	}
	for _, want := range []string{
		"test.stf:2: packet 1 of port 2 differs at digit 2", "want 06FF010000000000000000", "got  05FF010000000000000000",
		"test.stf:3: port 2 sent 1 packets, this would be number 2",
		"test.stf:4: port 3 sent 0 packets, this would be number 1",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q:\n%v", want, err)
		}
	}
	text := strings.Join(trace, "\n")
	for _, want := range []string{"test.stf:1: packet 1", "parser state start", "extract h", "log.p4:", "sent by port 2: 11 bytes: 05ff010000000000000000"} {
		if !strings.Contains(text, want) {
			t.Errorf("the trace does not say %q:\n%s", want, text)
		}
	}
}

func TestMistakesInScriptsAreExplained(t *testing.T) {
	for script, want := range map[string]string{
		"pakcet 1 00":                  "test.stf:1: unknown command pakcet (did you mean \"packet\"?)",
		"packet x 00":                  `"x" is not the number of a port`,
		"packet 1 0":                   "ends in the middle of a byte",
		"packet 1 0G":                  "is not a hexadecimal digit of a packet",
		"add t":                        "expected add TABLE",
		"add t k: a()":                 "key k has no value",
		"add t x:1 a(b)":               `argument "b" is not of the form NAME:VALUE`,
		"setdefault t":                 "expected setdefault TABLE ACTION(ARGUMENTS)",
		"check_counter c":              "expected check_counter NAME(INDEX)",
		"check_counter c(0) x == 1":    "a counter counts packets or bytes",
		"check_counter c(0) bytes ~ 1": "unknown comparison",
		"remove t":                     "remove all",
		"mirroring_add":                "wants numbers",
		"mirroring_add a b":            `"a" is not a number`,
		"register_write r 1":           "needs a name and 2 numbers",
	} {
		_, err := stf.Parse("test.stf", []byte(script))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", script, err, want)
		}
	}
	for script, want := range map[string]string{
		"add tabel h.a:1 drop()":  "unknown name tabel",
		"register_write r 0 1":    "unknown name r",
		"counter_write c 0 1 1":   "unknown name c",
		"mirroring_add 1":         "mirroring_add needs 2 numbers",
		"mc_node_associate 1 0":   "no node 0: 0 were created",
		"meter_set_rates m 0 1:1": "unknown name m",
	} {
		if _, _, err := one(t, script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", script, err, want)
		}
	}
}
