// SPDX-License-Identifier: Apache-2.0

package exercises

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/testbed/real/live"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/netns"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// inNamespaces are the exercises that a run between namespaces shows in a second or two.
// NETNS_EXERCISES=all runs those, too, whose queues have to fill.
var inNamespaces = []string{"basic", "calc", "multicast"}

// Each exercise runs between namespaces from the checkout as it is, with the same packets and
// the same expectations as in the fabric: its topology, entries and hosts' commands, and the
// TCP of Linux.
func TestInNamespaces(t *testing.T) { inTurn(t, local.SoftSwitch, "") }

// The same on simple_switch_grpc.
func TestInNamespacesOnBMv2(t *testing.T) {
	inTurn(t, local.BMv2, need.Tool(t, "BMV2", "simple_switch_grpc"))
}

func inTurn(t *testing.T, kind local.Kind, simpleSwitch string) {
	if !need.Isolated(t) {
		return
	}
	o := live.Options{Name: "ze", Pauseless: namespaces(t), SimpleSwitch: simpleSwitch, Local: local.Options{Kind: kind, Prefix: "ze", Free: true}}
	all := os.Getenv("NETNS_EXERCISES") == "all"
	for _, c := range inFabric {
		if all || slices.Contains(inNamespaces, c.name) {
			t.Run(c.name, func(t *testing.T) { between(t, o, c.name, c.dir, c.text) })
		}
	}
	for _, c := range controllers {
		if !all {
			break
		}
		t.Run(c.name, func(t *testing.T) {
			o := o
			o.Built = func(lab *local.Lab) error {
				sessions := make(map[string]*controlplane.Session)
				for _, target := range lab.Targets() {
					target.ElectionID.Low = 100 // above that of the network's own controller
					s, err := controlplane.Connect(t.Context(), target, controlplane.Options{Event: func(controlplane.Event) {}})
					if err != nil {
						return err
					}
					t.Cleanup(func() { s.Close() })
					if _, err := s.LoadSchema(t.Context()); err != nil {
						return err
					}
					sessions[target.Name] = s
				}
				return c.control(t.Context(), sessions)
			}
			between(t, o, c.name, c.name, c.text)
		})
	}
}

// namespaces skips the test where there are none, and returns the program of the switches.
func namespaces(t *testing.T) string {
	if err := netns.Possible(); err != nil {
		need.No(t, err)
	}
	for _, tool := range []string{"route", "arp"} { // in the hosts' commands
		need.Tool(t, "", tool)
	}
	self := filepath.Join(t.TempDir(), "pauseless")
	if out, err := exec.Command("go", "build", "-o", self, "../../cmd/pauseless").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return self
}

// between runs a scenario of an exercise between namespaces.
func between(t *testing.T, o live.Options, name, dir, text string) {
	s, err := scenario.ParseIn(name+".yaml", []byte("name: "+name+text), filepath.Join(checkout(t), dir), scenario.Paper, nil)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	runs, err := live.Run(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range runs[0].Unmet {
		t.Error(u)
	}
	t.Logf("%s: %.1f s", name, time.Since(begin).Seconds())
}
