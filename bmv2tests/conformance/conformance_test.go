// SPDX-License-Identifier: Apache-2.0

// Package conformance tests the compiler and the switch with p4c's own test
// programs: the folder testdata of a checkout of p4lang/p4c, named by $P4C.
//
// It measures four shares, which must not fall below fixed limits: the v1model
// programs compiled by p4c-bm2-ss that compile here; those with the same P4Info;
// the switch tests (.stf) that pass with our JSON, on our switch and on
// simple_switch; and the programs rejected by p4c that are rejected here at the
// same line.
//
// Every program that fails must be in known_test.go with the reason, and every
// program there must fail.
//
// By default the outputs of p4c are those in the checkout, and the switch is
// ours. With -reference, p4c-bm2-ss and simple_switch are run, which takes
// minutes. With -only REGEXP, only some programs are tested:
//
//	go test ./bmv2tests/conformance -v -args -only '^stack'
package conformance

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/compiler/p4c"
	"github.com/pauseless/pauseless/internal/bmv2"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/softswitch/stf"
)

// workers is the number of goroutines.
const workers = 2

var (
	reference = flag.Bool("reference", false, "run p4c-bm2-ss and simple_switch too")
	only      = flag.String("only", "", "judge only the programs whose names match this `regexp`, and print what they do wrong")
)

// testdata returns the folder testdata of p4c, or skips the test.
func testdata(t *testing.T) string {
	need.Time(t, "hundreds of programs")
	root := os.Getenv("P4C")
	if root == "" {
		need.No(t, errors.New("P4C does not name a checkout of p4lang/p4c: make conformance P4C=DIR"))
	}
	dir := filepath.Join(root, "testdata")
	if _, err := os.Stat(filepath.Join(dir, "p4_16_samples")); err != nil {
		t.Fatalf("P4C is no checkout of p4lang/p4c: %v", err)
	}
	return dir
}

// A tally is the result of one measurement.
type tally struct {
	question string
	want     int // percent
	known    map[string]string
	mu       sync.Mutex
	total    int
	failed   map[string]string // program → how
}

// count adds a program. How is "" if it passed.
func (y *tally) count(program, how string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.total++
	if how != "" {
		if y.failed == nil {
			y.failed = map[string]string{}
		}
		y.failed[program] = how
	}
}

// report prints the share and the failures. It fails the test if these are not
// the known failures, or if there are too many.
func (y *tally) report(t *testing.T) {
	t.Helper()
	if *only != "" {
		for program, how := range y.failed {
			t.Errorf("%s: %s: %s", y.question, program, how)
		}
		return
	}
	if y.total == 0 {
		t.Errorf("%s: no program was judged", y.question)
		return
	}
	var b strings.Builder
	good := y.total - len(y.failed)
	percent := float64(good) * 100 / float64(y.total)
	fmt.Fprintf(&b, "%s: %d of %d, %.1f %% (at least %d %%)", y.question, good, y.total, percent, y.want)
	for _, program := range slices.Sorted(maps.Keys(y.failed)) {
		why := y.known[program]
		if why == "" {
			why = "the reason is not known"
			t.Errorf("%s: %s fails", y.question, program)
		}
		fmt.Fprintf(&b, "\n    %s: %s\n        %s", program, why, y.failed[program])
	}
	for program := range y.known {
		if y.failed[program] == "" {
			t.Errorf("%s: %s passes, so it belongs no longer among those that are known to fail", y.question, program)
		}
	}
	t.Log(b.String())
	if percent < float64(y.want) {
		t.Errorf("%s: %.1f %%, want at least %d %%", y.question, percent, y.want)
	}
}

// each calls f for every file, in several goroutines.
func each(files []string, f func(string)) {
	ch := make(chan string)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for file := range ch {
				f(file)
			}
		})
	}
	for _, file := range files {
		ch <- file
	}
	close(ch)
	wg.Wait()
}

// programs returns the programs of a folder that include v1model.p4.
func programs(t *testing.T, dir string) (list []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.p4"))
	if err != nil {
		t.Fatal(err)
	}
	match, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("v1model.p4")) && match.MatchString(filepath.Base(f)) {
			list = append(list, f)
		}
	}
	return list
}

// expected returns p4c's P4Info of a program, from running p4c or from the
// checkout. It is nil if there is none.
func expected(t *testing.T, file string, run bool) *p4configv1.P4Info {
	if run {
		r, err := p4c.Compile(context.Background(), p4c.Options{File: file})
		if err != nil {
			t.Error(err)
			return nil
		}
		return r.P4Info
	}
	dir, name := filepath.Split(file)
	if rejectedBehind[strings.TrimSuffix(name, ".p4")] {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(filepath.Clean(dir)+"_outputs", name+".p4info.txtpb"))
	if err != nil {
		return nil
	}
	info := &p4configv1.P4Info{}
	if err := prototext.Unmarshal(text, info); err != nil {
		t.Error(err)
	}
	return info
}

// found reports whether to run a reference, and logs why if not.
func found(t *testing.T, what string, find func() (string, error)) bool {
	if !*reference {
		t.Logf("SKIP of %s: make conformance, or -reference, runs it", what)
		return false
	}
	_, err := find()
	if err != nil {
		t.Logf("SKIP of %s: %v", what, err)
	}
	return err == nil
}

func TestSamples(t *testing.T) {
	dir := testdata(t)
	runP4C := found(t, "p4c-bm2-ss", p4c.Find)
	runBMv2 := found(t, "simple_switch", func() (string, error) { return bmv2.Find("", "simple_switch_grpc") })
	compiles := &tally{question: "programs that p4c compiles compile", want: 97, known: knownCompile}
	same := &tally{question: "P4Info is the same", want: 97, known: knownP4Info}
	soft := &tally{question: "switch tests pass on softswitch", want: 97, known: knownSoft}
	simple := &tally{question: "switch tests pass on simple_switch", want: 97, known: knownSimple}
	each(programs(t, filepath.Join(dir, "p4_16_samples")), func(file string) {
		want := expected(t, file, runP4C)
		if want == nil {
			return
		}
		name := strings.TrimSuffix(filepath.Base(file), ".p4")
		r, list := compiler.Compile(compiler.Options{File: file})
		compiles.count(name, firstError(list))
		if r.Program == nil {
			return
		}
		same.count(name, difference(want, r.P4Info))
		script, err := os.ReadFile(strings.TrimSuffix(file, ".p4") + ".stf")
		if errors.Is(err, os.ErrNotExist) {
			return
		}
		s, err := stf.Parse(name+".stf", script)
		if err != nil {
			t.Error(err)
			return
		}
		soft.count(name, inShort(runSoft(r.Program, s)))
		if runBMv2 {
			simple.count(name, inShort(runSimple(r.Program, s)))
		}
	})
	tallies := []*tally{compiles, same, soft}
	if runBMv2 {
		tallies = append(tallies, simple)
	}
	for _, y := range tallies {
		y.report(t)
	}
}

// runSoft runs a switch test. A panic is a failure of that test.
func runSoft(p *bmv2json.Program, s *stf.Script) (err error) {
	defer func() {
		if e := recover(); e != nil {
			err = fmt.Errorf("panic: %v", e)
		}
	}()
	return stf.Run(p, s, stf.Options{})
}

// runSimple runs a switch test on simple_switch. It runs in real time, so a test
// that fails on a busy machine is repeated.
func runSimple(p *bmv2json.Program, s *stf.Script) (err error) {
	for range 3 {
		if err = stf.RunBMv2(context.Background(), p, s, ""); err == nil {
			break
		}
	}
	return err
}

func TestErrors(t *testing.T) {
	dir := testdata(t)
	rejected := &tally{question: "programs that p4c rejects are rejected", want: 85, known: knownAccepted}
	same := &tally{question: "and at the same line", want: 85, known: knownElsewhere}
	each(programs(t, filepath.Join(dir, "p4_16_errors")), func(file string) {
		name := strings.TrimSuffix(filepath.Base(file), ".p4")
		text, err := os.ReadFile(filepath.Join(dir, "p4_16_errors_outputs", name+".p4-stderr"))
		if err != nil {
			return
		}
		want := p4c.ParseDiagnostics(string(text))
		if !want.HasErrors() {
			return
		}
		_, got := compiler.Compile(compiler.Options{File: file})
		how := ""
		if !got.HasErrors() {
			how = "p4c: " + firstError(want)
		}
		rejected.count(name, how)
		if !meet(want, got, filepath.Base(file)) {
			how = "p4c: " + firstError(want) + "; we: " + firstError(got)
		}
		same.count(name, how)
	})
	rejected.report(t)
	same.report(t)
}

// Our own programs compile without a warning, and have p4c's P4Info.
func TestProfiles(t *testing.T) {
	files, err := filepath.Glob("../../p4src/v1model/*.p4")
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	runP4C := found(t, "p4c-bm2-ss", p4c.Find)
	same := &tally{question: "P4Info of our programs is the same", want: 100}
	each(files, func(file string) {
		r, list := compiler.Compile(compiler.Options{File: file})
		for _, d := range list {
			t.Error(d)
		}
		if runP4C {
			same.count(filepath.Base(file), difference(expected(t, file, true), r.P4Info))
		}
	})
	if runP4C {
		same.report(t)
	}
}

// meet reports whether one of our errors is at the line of one of p4c's.
func meet(want, got diag.List, file string) bool {
	lines := map[int32]bool{}
	for _, d := range want {
		if d.Severity == diag.Error && filepath.Base(d.Pos.File()) == file {
			lines[d.Pos.Line] = true
		}
	}
	return slices.ContainsFunc(got, func(d *diag.Diagnostic) bool {
		return d.Severity == diag.Error && (len(lines) == 0 || lines[d.Pos.Line] && filepath.Base(d.Pos.File()) == file)
	})
}

// firstError returns the first error of a list in one line, "" if it has none.
func firstError(list diag.List) string {
	for _, d := range list {
		if d.Severity == diag.Error {
			return fmt.Sprintf("%s:%d: %s", filepath.Base(d.Pos.File()), d.Pos.Line, firstLine(errors.New(d.Msg)))
		}
	}
	return ""
}

// inShort is firstLine, or all lines with -only.
func inShort(err error) string {
	if err != nil && *only != "" {
		return err.Error()
	}
	return firstLine(err)
}

func firstLine(err error) string {
	if err == nil {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}

// difference returns the first line in which two P4Infos differ, ignoring the
// order of their objects; "" if they are equal.
func difference(want, got *p4configv1.P4Info) string {
	want, got = sorted(want), sorted(got)
	if proto.Equal(want, got) {
		return ""
	}
	a, b := lines(want), lines(got)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("p4c: %s; we: %s", strings.TrimSpace(a[i]), strings.TrimSpace(b[i]))
		}
	}
	return fmt.Sprintf("p4c has %d lines, we have %d", len(a), len(b))
}

func lines(p *p4configv1.P4Info) []string {
	// Runs of white space differ from run to run, by design of prototext.
	text := prototext.MarshalOptions{Multiline: true}.Format(p)
	list := strings.Split(text, "\n")
	for i, l := range list {
		list[i] = strings.Join(strings.Fields(l), " ")
	}
	return list
}

type object interface{ GetPreamble() *p4configv1.Preamble }

func sortObjects[T object](list []T) {
	slices.SortFunc(list, func(a, b T) int {
		return int(int64(a.GetPreamble().GetId()) - int64(b.GetPreamble().GetId()))
	})
}

// sorted returns a copy with its objects in the order of their ids.
func sorted(p *p4configv1.P4Info) *p4configv1.P4Info {
	p = proto.CloneOf(p)
	sortObjects(p.Tables)
	sortObjects(p.Actions)
	sortObjects(p.ActionProfiles)
	sortObjects(p.Counters)
	sortObjects(p.DirectCounters)
	sortObjects(p.Meters)
	sortObjects(p.DirectMeters)
	sortObjects(p.Registers)
	sortObjects(p.Digests)
	sortObjects(p.ValueSets)
	sortObjects(p.ControllerPacketMetadata)
	for _, t := range p.Tables {
		slices.SortFunc(t.ActionRefs, func(a, b *p4configv1.ActionRef) int { return int(int64(a.Id) - int64(b.Id)) })
		slices.Sort(t.DirectResourceIds)
	}
	for _, a := range p.ActionProfiles {
		slices.Sort(a.TableIds)
	}
	return p
}
