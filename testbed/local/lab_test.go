// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"os"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/testbed/local"
)

// LetFlow's gap is a constant, and the extra time of ConWeave the time of some bytes.
func TestTimesThatAreNotMultiplied(t *testing.T) {
	for profile, want := range map[string]string{
		"ecmp":     "",
		"letflow":  "not multiplied (change them with set): letflow.gap 100us",
		"conweave": "not multiplied (change them with set): conweave.idle 300us, conweave.wait 200us",
	} {
		p, err := gen.Builtin(profile)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := local.New(parse(t, pair), local.Options{Kind: local.SoftSwitch})
		if err != nil {
			t.Fatal(err)
		}
		program, err := local.Build(p, plan.Topology, plan.Kind, plan.Scale)
		if err != nil {
			t.Fatal(err)
		}
		if got := (&local.Lab{Plan: plan, Program: program}).RealTimes(); got != want {
			t.Errorf("%s: %q, want %q", profile, got, want)
		}
	}
}

// Either the softswitch sends PAUSE or a program with emulated PFC. Programs that
// read PFC frames receive them.
func TestOneFlowControlAtATime(t *testing.T) {
	for profile, want := range map[string]struct{ pauses, copies bool }{
		"ecmp": {true, false}, "pcn": {true, true}, "plb": {true, true}, "drill-bmv2": {false, false},
	} {
		p, err := gen.Builtin(profile)
		if err != nil {
			t.Fatal(err)
		}
		net := parse(t, pair+"\nswitch: {buffer: 9MB, pfc: {xoff: 32KB}}")
		plan, err := local.New(net, local.Options{Kind: local.SoftSwitch})
		if err != nil {
			t.Fatal(err)
		}
		program, err := local.Build(p, net, plan.Kind, plan.Scale)
		if err != nil {
			t.Fatal(err)
		}
		lab := &local.Lab{Plan: plan, Program: program, Pauseless: "pauseless"}
		_, args, err := lab.Command(&plan.Switches[0], t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(args[len(args)-1])
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(text), "xoff: 32KB"); got != want.pauses {
			t.Errorf("%s: the switch has PFC: %v, want %v", profile, got, want.pauses)
		}
		if got := strings.Contains(string(text), "copy_to_pipeline: true"); got != want.copies {
			t.Errorf("%s: the program receives PFC frames: %v, want %v", profile, got, want.copies)
		}
	}
}
