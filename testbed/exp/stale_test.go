// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/testbed/catalog"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// The outcomes in docs/results are those of the present programs, hosts and fabric.
func TestKeptOutcomesAreNotStale(t *testing.T) {
	for _, name := range catalog.Names() {
		for _, scale := range []string{scenario.Small, scenario.Paper} {
			o, err := result.ReadKept("../../docs/results", (&result.Outcome{Experiment: name, Scale: scale}).File())
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			s, err := LoadAt(name, scale)
			if err != nil {
				t.Fatal(err)
			}
			arms, err := Arms(s)
			if err != nil {
				t.Fatal(err)
			}
			if list := StaleArms(o, arms); len(list) > 0 {
				t.Errorf("%s was made with %s; run `pauseless exp run %s --scale %s --stale --keep docs/results`, then `pauseless exp docs`", o.File(), StaleText(list), name, scale)
			}
		}
	}
}

// A parameter of a program makes its arms stale, a comment does not, and the runs of
// stale arms are made again.
func TestStaleArms(t *testing.T) {
	p := tinyPlan(t)
	earlier, err := Run(t.Context(), p, newStore(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	arms, err := Arms(p.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	if list := StaleArms(earlier, arms); len(list) > 0 || arms[0].Program == "" || arms[0].Program != arms[1].Program || arms[0].Hosts == arms[1].Hosts {
		t.Errorf("stale %v of %v", list, arms)
	}
	earlier.Arms[1].Program = "0123456789abcdef"
	if list := StaleArms(earlier, arms); len(list) != 1 || StaleText(list) != "another program: b" {
		t.Errorf("stale %v", list)
	}
	var made []string
	if _, err := Run(t.Context(), p, newStore(t), Options{Earlier: earlier, OnEvent: func(e Event) {
		if e.Kind == Started {
			made = append(made, e.Name)
		}
	}}); err != nil || strings.Join(made, "; ") != "a, 20KB, seed 3; b, 20KB, seed 3; b, 40KB, seed 3; b, 20KB, seed 1; b, 40KB, seed 1" {
		t.Errorf("error %v; made %q", err, made)
	}

	a := source{[]byte("x = 1; // why\n@brief(\"of x\")\ny = 2;"), p.Program(p.Jobs()[0]).Manifest}
	b := source{[]byte("/* text */x = 1; \n@noWarn(\"unused\")\ny = 2;"), a.manifest}
	c := source{[]byte("x = 1; y = 3;"), a.manifest}
	if string(a.essence()) == string(c.essence()) {
		t.Error("another number is no other program")
	}
	if string(a.essence()) != string(b.essence()) {
		t.Error("a comment, or an annotation against a warning of p4c, makes another program")
	}
}

// An arm without a hash in an earlier outcome has none as long as one of its runs is from
// there, and that of this build once all are made again.
func TestUnknownArmsStayUnknown(t *testing.T) {
	p := tinyPlan(t)
	earlier, err := Run(t.Context(), p, newStore(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	now := slices.Clone(earlier.Arms)
	earlier.Arms[0].Program, earlier.Arms[1].Hosts = "", ""
	o, err := Run(t.Context(), p, newStore(t), Options{Earlier: earlier})
	if err != nil {
		t.Fatal(err)
	}
	if a, b := &o.Arms[0], &o.Arms[1]; a.Program != "" || a.Hosts != now[0].Hosts || b.Program != now[1].Program || b.Hosts != "" {
		t.Errorf("arms %+v; without the earlier outcome %+v", o.Arms, now)
	}
	earlier.Runs = slices.DeleteFunc(earlier.Runs, func(n result.RunNote) bool { return n.Arm == now[1].Name })
	if o, err = Run(t.Context(), p, newStore(t), Options{Earlier: earlier}); err != nil {
		t.Fatal(err)
	}
	if a, b := &o.Arms[0], &o.Arms[1]; a.Program != "" || b.Hosts != now[1].Hosts || b.Hosts == "" {
		t.Errorf("arms %+v, after all runs of the second were made again", o.Arms)
	}
}

// Stamps are of runs in which something happens, and differ between hosts.
func TestHostStamps(t *testing.T) {
	seen := make(map[string]kind)
	for _, k := range []kind{{roce.RoCE, "dcqcn_paper", "go-back-n"}, {roce.RoCE, "dcqcn_paper", "irn"}, {roce.RoCE, "timely", "go-back-n"}, {roce.RoCE, "pcn", "go-back-n"}, {roce.RoCE, "qcn", "go-back-n"}, {roce.RoCE, "hpcc", "go-back-n"}, {roce.RoCE, "none", "go-back-n"}, {roce.UET, "none", ""}, {roce.UET, "nscc", ""}, {roce.UET, "rccc", ""}} {
		s := hostStamp(k)
		if other, ok := seen[s]; s == "" || ok || s != stamp(k) {
			t.Errorf("the stamp of %v is %q, as that of %v", k, s, other)
		}
		seen[s] = k
	}
}
