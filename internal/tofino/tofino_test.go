// SPDX-License-Identifier: Apache-2.0

package tofino

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sample is a resources.json in which stage i of 12 has i units of everything
// in use, up to the last stage in use.
func sample(program string, last int) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"program_name": %q, "compiler_version": "9.13.4", "schema_version": "2.4.2", "resources": {"mau": {"nStages": 12, "mau_stages": [`, program)
	for i := range 12 {
		if i > 0 {
			b.WriteString(",")
		}
		n := i + 1
		if n > last {
			n = 0
		}
		used := strings.TrimSuffix(strings.Repeat(`{"usages": []},`, n), ",")
		fmt.Fprintf(&b, `{"stage_number": %d,
			"xbar_bytes": {"size": 194, "exact_size": 128, "ternary_size": 66, "bytes": [%[2]s]},
			"hash_bits": {"nBits": 52, "nFunctions": 8, "bits": [%[2]s]},
			"gateways": {"nRows": 8, "nUnits": 2, "gateways": [%[2]s]},
			"rams": {"nRows": 8, "nColumns": 10, "srams": [%[2]s]},
			"map_rams": {"nRows": 8, "nUnits": 6, "maprams": [%[2]s]},
			"tcams": {"nRows": 12, "nColumns": 2, "tcams": [%[2]s]},
			"vliw": {"size": 32, "instructions": [%[2]s]},
			"meter_alus": {"nAlus": 4, "meters": [%[2]s]},
			"logical_tables": {"size": 16, "ids": [%[2]s]}}`, i, used)
	}
	b.WriteString("]}}}")
	return []byte(b.String())
}

// registers is a context.json in which each of the first stages has a register
// with two instructions, of which one is called by two actions.
func registers(stages int) []byte {
	var list []string
	for i := range stages {
		list = append(list, fmt.Sprintf(`{"table_type": "stateful", "name": "r%d", "stage_tables": [{"stage_number": %[1]d}],
			"action_to_stateful_instruction_slot": [{"instruction_slot": 0}, {"instruction_slot": 1}, {"instruction_slot": 0}]}`, i))
	}
	return []byte(`{"tables": [{"table_type": "match", "stage_tables": [{"stage_number": 0}]}, ` + strings.Join(list, ",") + `]}`)
}

func TestParse(t *testing.T) {
	p, err := Parse("x", sample("drill", 4))
	if err != nil {
		t.Fatal(err)
	}
	if p.Name != "drill" || p.Compiler != "9.13.4" || p.Stages != 4 || p.Of != 12 {
		t.Errorf("got %s, %s, %d stages of %d", p.Name, p.Compiler, p.Stages, p.Of)
	}
	if err := p.AddInstructions("c", registers(5)); err != nil {
		t.Fatal(err)
	}
	if p.ByStage[4].Used[Instruction] != 2 || p.ByStage[5].Used[Instruction] != 0 {
		t.Errorf("%d instructions in stage 4, %d in stage 5", p.ByStage[4].Used[Instruction], p.ByStage[5].Used[Instruction])
	}
	of := [resources]int{194 * 12, 416 * 12, 16 * 12, 80 * 12, 48 * 12, 24 * 12, 32 * 12, 4 * 12, 16 * 12, 16 * 12}
	for r := range resources {
		if p.Total.Used[r] != 10 || p.Total.Of[r] != of[r] {
			t.Errorf("%v: %d of %d, want 10 of %d", r, p.Total.Used[r], p.Total.Of[r], of[r])
		}
		if r != Instruction && (p.ByStage[2].Used[r] != 3 || p.ByStage[4].Used[r] != 0) {
			t.Errorf("%v: %d in stage 2, %d in stage 4", r, p.ByStage[2].Used[r], p.ByStage[4].Used[r])
		}
	}
	if got := p.Total.Percent(StatefulALU); got < 20.83 || got > 20.84 {
		t.Errorf("10 of 48 stateful ALUs are %.2f %%", got)
	}
}

// A program that needs more stages than the chip has is reported nevertheless.
func TestParseTooLong(t *testing.T) {
	p, err := Parse("x", []byte(strings.Replace(string(sample("rlb", 12)), `"nStages": 12`, `"nStages": 10`, 1)))
	if err != nil || p.Stages != 12 || p.Of != 10 || p.Total.Of[StatefulALU] != 40 || p.Total.Used[StatefulALU] != 78 {
		t.Errorf("got %+v, %v", p, err)
	}
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{`:  "unexpected end",
		`{}`: "no resources.mau",
		`{"schema_version": "1.0.3", "resources": {"mau": {"nStages": 12}}}`:                                       `schema version "1.0.3"`,
		`{"schema_version": "2.0.0", "resources": {"mau": {"nStages": 4611686018427387904}}}`:                      "4611686018427387904 stages",
		`{"schema_version": "2.0.0", "resources": {"mau": {"nStages": 12, "mau_stages": [{"stage_number": 12}]}}}`: "stage 12 of 12",
	} {
		if _, err := Parse("r.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "r.json") {
			t.Errorf("%s: error is %v, want one about r.json with %q", text, err, want)
		}
	}
}

func TestAddInstructionsErrors(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                   "unexpected end",
		`{}`:                  "has no tables",
		string(registers(13)): "register r12 is in stage 12 of 12",
	} {
		p, err := Parse("r.json", sample("x", 1))
		if err != nil {
			t.Fatal(err)
		}
		if err := p.AddInstructions("c.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "c.json") {
			t.Errorf("%.20s: error is %v, want one about c.json with %q", text, err, want)
		}
	}
}

func TestReport(t *testing.T) {
	dir := t.TempDir()
	for name, stages := range map[string]int{"drill": 4, "rlb-drill": 9} {
		logs := filepath.Join(dir, name, "pipe", "logs")
		if err := os.MkdirAll(logs, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(logs, "resources.json"), sample("same", stages), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(logs, "..", "context.json"), registers(stages/2), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	programs, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := NewReport(programs, func(p string) string { return map[string]string{"rlb-drill": "drill"}[p] })
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"rlb-drill  9 of 12", "45 (93.8%)", // of 48 stateful ALUs
		"8 (4.2%)",                                // of 192 instructions
		"rlb-drill over drill      +5", "+72.92%", // 35 of 48
		"RLB paper, table I: RLB (additional)", "+6.19%",
		"Compiled with 9.13.4.",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	rows := r.Rows()
	if len(rows) != 2 || rows[1].Base != "drill" || rows[1].Added["stateful ALUs"] != 72.92 || rows[0].Base != "" {
		t.Errorf("rows are %+v", rows)
	}
	if err := os.Remove(filepath.Join(dir, "drill", "pipe", "context.json")); err != nil {
		t.Fatal(err)
	}
	// A program that did not compile does not prevent a report of the others.
	if rest, err := Read(dir); err == nil || !strings.Contains(err.Error(), "drill/pipe/context.json: no such file") || len(rest) != 1 || rest[0].Name != "rlb-drill" {
		t.Errorf("without a context.json: %v, error is %v", rest, err)
	}
	if _, err := Read(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no resources.json below") {
		t.Errorf("an empty folder: error is %v", err)
	}
}

// Both programs are called like by the compiler's own driver, and failures are
// described by the exit code.
func TestBuildCallsTheCompiler(t *testing.T) {
	prefix, out := t.TempDir(), t.TempDir()
	script := func(name, text string) {
		if err := os.MkdirAll(filepath.Join(prefix, "bin"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(prefix, "bin", name), []byte("#!/bin/sh\n"+text+"\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := FindCompiler(prefix); !errors.Is(err, ErrNoCompiler) {
		t.Fatalf("an empty prefix: error is %v", err)
	}
	script("p4c-barefoot", `echo "$*" > `+out+`/p4c; echo 'x.p4(3): warning: odd'`)
	script("bfas", `echo "$*" > `+out+`/bfas`)
	c, err := FindCompiler(prefix)
	if err != nil {
		t.Fatal(err)
	}
	text, err := c.Build(context.Background(), "p4src/tna/drill.p4", filepath.Join(out, "drill"))
	if err != nil || !strings.Contains(text, "warning: odd") {
		t.Fatalf("text is %q, error is %v", text, err)
	}
	for file, want := range map[string]string{
		"p4c":  "--target tofino --arch tna -D__TARGET_TOFINO__=1 -g --Wdisable=unknown --bf-rt-schema DIR/bfrt.json --p4runtime-force-std-externs --p4runtime-files DIR/p4info.txtpb -o DIR p4src/tna/drill.p4",
		"bfas": "--no-warn --target tofino -o DIR/pipe DIR/pipe/drill.bfa",
	} {
		got, err := os.ReadFile(filepath.Join(out, file))
		if err != nil {
			t.Fatal(err)
		}
		if s := strings.ReplaceAll(strings.TrimSpace(string(got)), filepath.Join(out, "drill"), "DIR"); s != want {
			t.Errorf("%s was called with\n%s, want\n%s", file, s, want)
		}
	}
	script("p4c-barefoot", `echo 'error: table placement'; exit 1`)
	_, err = c.Build(context.Background(), "p4src/tna/drill.p4", filepath.Join(out, "drill"))
	var f *Failure
	if !errors.As(err, &f) || f.Code != 1 || !strings.Contains(err.Error(), "does not fit") || !strings.Contains(err.Error(), "table placement") {
		t.Errorf("error is %v", err)
	}
}
