// SPDX-License-Identifier: Apache-2.0

package exercises

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// learning are exercises of nsg-ethz/p4-learning whose controllers use p4-utils: the folder,
// the file of the network, the controller, the hosts between which a ping passes with it, and
// whether the controller uses BMv2's Thrift servers.
var learning = []struct {
	dir, app, controller, from, to string
	thrift                         bool
}{
	{"02-Repeater/p4runtime/solution", "p4app.json", "controller.py", "h1", "10.0.0.2", false},
	{"03-L2_Basic_forwarding/p4runtime/solution", "p4app.json", "controller.py", "h1", "10.0.0.2", false},
	{"03-L2_Flooding/p4runtime/solution", "p4app-all-ports.json", "controller-all-ports.py", "h1", "10.0.0.3", false},
	{"08-Simple_Routing/thrift/solution", "p4app.json", "routing-controller.py", "h1", "10.6.2.2", true},
	{"08-Simple_Routing/p4runtime/solution", "p4app.json", "routing-controller.py", "h1", "10.6.2.2", true},
}

// Controllers of p4-utils run unchanged on networks of deploy: they find the switches by the
// topology.json that deploy writes, as p4-utils does.
func TestP4UtilsControllers(t *testing.T) { withControllers(t, local.SoftSwitch, "") }

// The same on simple_switch_grpc, also over Thrift.
func TestP4UtilsControllersOnBMv2(t *testing.T) {
	withControllers(t, local.BMv2, need.Tool(t, "BMV2", "simple_switch_grpc"))
}

func withControllers(t *testing.T, kind local.Kind, simpleSwitch string) {
	root := ""
	for _, dir := range filepath.SplitList(os.Getenv("PUBLIC_P4")) {
		if _, err := os.Stat(filepath.Join(dir, "exercises", learning[0].dir)); err == nil {
			root = filepath.Join(dir, "exercises")
		}
	}
	if root == "" {
		need.No(t, errors.New("PUBLIC_P4 does not list a checkout of nsg-ethz/p4-learning"))
	}
	python := need.Tool(t, "PYTHON3", "python3")
	if exec.Command(python, "-c", "from p4utils.utils.sswitch_p4runtime_API import SimpleSwitchP4RuntimeAPI").Run() != nil {
		need.No(t, errors.New("python3 cannot import p4utils: install p4-utils, or give its folder and those of P4Runtime's messages with PYTHONPATH"))
	}
	thrift := exec.Command(python, "-c", "from p4utils.utils.sswitch_thrift_API import SimpleSwitchThriftAPI").Run() == nil
	need.Tool(t, "", "ping")
	if !need.Isolated(t) {
		return
	}
	pauseless := namespaces(t)
	for _, c := range learning {
		if c.thrift && kind == local.SoftSwitch {
			continue // it has no Thrift server
		}
		t.Run(c.dir, func(t *testing.T) {
			if c.thrift && !thrift {
				need.No(t, errors.New("python3 cannot import bm_runtime: give BMv2's Python folders with PYTHONPATH"))
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, c.dir))); err != nil {
				t.Fatal(err)
			}
			in := func(program string, args ...string) {
				t.Helper()
				cmd := exec.CommandContext(t.Context(), program, args...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v\n%s", filepath.Base(program), err, out)
				}
			}
			in(pauseless, "deploy", "netns", c.app, "--name", "zp", "--prefix", "zp", "--switch", string(kind), "--bmv2", simpleSwitch, "--detach")
			t.Cleanup(func() {
				if out, err := exec.Command(pauseless, "deploy", "netns", "--down", "zp").CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
			ping := []string{"netns", "exec", "zp-" + c.from, "ping", "-c", "1", "-W", "1", c.to}
			if exec.Command("ip", ping...).Run() == nil && filepath.Base(c.controller) == "routing-controller.py" {
				t.Error("a ping passes before the controller has written routes")
			}
			in(python, c.controller)
			if !need.Poll(func() bool { return exec.Command("ip", ping...).Run() == nil }) {
				t.Error("no ping passes with the controller")
			}
		})
	}
}

// The example copy_to_cpu of p4-learning: with its own files, packets with TOS 1 are copied to
// the port to the CPU, with a header and a counter.
func TestCopyToCPU(t *testing.T) {
	for _, root := range filepath.SplitList(os.Getenv("PUBLIC_P4")) {
		dir := filepath.Join(root, "examples", "copy_to_cpu")
		if _, err := os.Stat(filepath.Join(dir, "p4app.json")); err != nil {
			continue
		}
		s, err := scenario.ParseIn("cpu.yaml", []byte(`
name: cpu
topology: p4app.json
program: {}
packets:
- {name: plain, from: h1, to: h2, udp: {destination: 9}}
- {name: marked, from: h1, to: h2, count: 2, every: 10us, udp: {destination: 9}, ipv4: {tos: 1}}
expect:
- {packets: plain, at: h2}
- {packets: plain, at: s1-cpu, count: 0}
- {packets: marked, at: h2}
- {packets: marked, at: s1-cpu, bytes: "0001 00c8 0000000000000000000*"}
`), dir, scenario.Paper, nil)
		if err != nil {
			t.Fatal(err)
		}
		runs, err := s.Run(t.Context(), scenario.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(runs[0].Unmet) > 0 {
			t.Error(runs[0].Unmet)
		}
		return
	}
	need.No(t, errors.New("PUBLIC_P4 does not list a checkout of nsg-ethz/p4-learning"))
}
