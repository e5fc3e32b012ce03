// SPDX-License-Identifier: Apache-2.0

package mininet_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pauseless/pauseless/internal/golden"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/mininet"
)

func script(t *testing.T, direct bool) []byte {
	t.Helper()
	net, err := topo.Parse("t.yaml", []byte("leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := local.New(net, local.Options{Kind: local.BMv2, Direct: direct})
	if err != nil {
		t.Fatal(err)
	}
	text, err := mininet.Script(mininet.Config{
		Name: "small", Plan: plan, Program: "drill-bmv2", QueuePackets: 9000, P4Utils: "/tmp/n.p4utils/topology.json", P4UtilsTo: []string{"/run/pauseless/n/topology.json"}, RunDir: "/run/pauseless/small",
		Command: func(s *local.Switch) ([]string, error) {
			return []string{"simple_switch_grpc", "--name", s.Name, `a "quoted" \ word`}, nil
		},
		Relay:     []string{"pauseless", "deploy", "relay", "/run/pauseless/small/relay.json"},
		Apply:     []string{"pauseless", "ctl", "apply", "small.yaml"},
		Pauseless: "pauseless", Recirculation: 509, RecirculationPPS: 25_000,
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestScriptReadsAsExpected(t *testing.T) {
	golden.Check(t, "testdata/small.py", script(t, true))
	golden.Check(t, "testdata/relay.py", script(t, false))
}

func TestScriptIsPython(t *testing.T) {
	python := need.Tool(t, "", "python3")
	for _, direct := range []bool{true, false} {
		file := filepath.Join(t.TempDir(), "small.py")
		if err := os.WriteFile(file, script(t, direct), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(python, "-m", "py_compile", file).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}
