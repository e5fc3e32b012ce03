// SPDX-License-Identifier: Apache-2.0

package mininet_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/mininet"
)

// harmless matches names without characters that are special in Python, in a
// shell or in a path.
var harmless = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// FuzzNames checks that a topology with other names is refused, and that a
// script contains the names as strings.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{"s1", "$(id>A)", "../../evil", "x;id>B;", `a"b`, "a\\", "a\nb", "ü", "-x", "a b", "'", "`id`", "{{.}}"} {
		f.Add(seed, "h1")
		f.Add("s1", seed)
	}
	f.Fuzz(func(t *testing.T, sw, host string) {
		text := fmt.Sprintf("graph:\n  rate: 1Gbps\n  delay: 1us\n  switches: [{name: %q}]\n  hosts: [{name: %q, on: %q}, {name: other, on: %q}]\n", sw, host, sw, sw)
		net, err := topo.Parse("t.yaml", []byte(text))
		if err != nil {
			return
		}
		for i := range net.Nodes {
			if n := net.Nodes[i].Name; !harmless.MatchString(n) || strings.HasPrefix(n, ".") || strings.HasPrefix(n, "-") {
				t.Fatalf("a node is called %q", n)
			}
		}
		plan, err := local.New(net, local.Options{Kind: local.BMv2})
		if err != nil {
			return // too long for an interface
		}
		script, err := mininet.Script(mininet.Config{Name: "n", Plan: plan, Program: "p", RunDir: "/run/n",
			Command: func(s *local.Switch) ([]string, error) { return []string{"switch", s.Name}, nil }, Apply: []string{"apply"}, Pauseless: "p"})
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(script), fmt.Sprintf("%q", sw)); n < 2 {
			t.Errorf("the script has the switch %d times", n)
		}
	})
}
