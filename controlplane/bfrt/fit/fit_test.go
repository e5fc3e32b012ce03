// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/bfrt/bfrttest"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// leaf returns the first leaf of a network that runs one of our programs, compiled for
// its network. Its hosts and uplinks have these rates, and its ports are on the
// connectors with their numbers.
func leaf(t *testing.T, program string, hosts, uplinks int, hostRate, uplinkRate vtime.Rate) *Switch {
	t.Helper()
	file := filepath.Join(t.TempDir(), "net.yaml")
	text := fmt.Sprintf("name: n\nleaf_spine: {leaves: %d, spines: %d, hosts_per_leaf: %d, rate: %v, uplink_rate: %v, delay: 2us}\nswitch: {buffer: 22MB, pfc: {xoff: 256KB}}\n", 4, uplinks, hosts, hostRate, uplinkRate)
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	net, err := topo.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	name := "../../../p4src/tna/" + program + ".manifest.json"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := manifest.Read(name, data)
	if err != nil {
		t.Fatal(err)
	}
	s := &Switch{Net: net, Node: net.NodeByName("l1"), Program: m, Pipes: []uint32{0, 1}, Panel: map[int]bfrt.Panel{}, Channels: make(map[bfrt.Panel]int)}
	for at, port := range bfrttest.Panel() {
		s.Channels[bfrt.Panel{Port: at[0], Channel: at[1]}] = port
	}
	compile(t, s)
	s.number(t)
	return s
}

// compile computes the constants of the program for the network.
func compile(t *testing.T, s *Switch) {
	t.Helper()
	for i := range s.Program.Constants {
		c := &s.Program.Constants[i]
		v, err := s.Program.Evaluate(c.From, s.network(), nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Value = int64(v)
	}
}

func (s *Switch) number(t *testing.T) {
	t.Helper()
	var err error
	if s.Ports, err = bfrt.PortMap(s.Node, s.Panel, s.Channels); err != nil {
		t.Fatal(err)
	}
}

// Each reason for a refusal, with its way out. The phrase of each is in the table of
// docs/reference/tofino-apply.md.
func TestRefusals(t *testing.T) {
	page, err := os.ReadFile("../../../docs/reference/tofino-apply.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		phrase, program string
		change          func(*Switch)
		out             string
	}{
		{"has ports 1 to 12 in the topology", "ecmp", func(s *Switch) { s.Panel[30] = bfrt.Panel{Port: 30} }, "--panel 30=30/0"},
		{"channels of a connector from channel", "ecmp", func(s *Switch) { s.Panel[9] = bfrt.Panel{Port: 20, Channel: 1} }, "write --panel 9=20/0"},
		{"both need channel", "ecmp", func(s *Switch) { s.Panel[1] = bfrt.Panel{Port: 9, Channel: 2} }, "give one of them another connector"},
		{"which does not run the program", "ecmp", func(s *Switch) { s.Pipes = []uint32{1} }, "port 9 is in pipeline 0 (number 56 on the chip), which does not run the program: add 0 to --pipes"},
		{"keeps the state of paths in registers", "plb", func(s *Switch) {}, "In pipeline 1 they fit with --panel 1=1/0 --panel 2=1/1 --panel 3=1/2 --panel 4=1/3 --panel 5=2/0"},
		{"less than the", "ecmp", func(s *Switch) { s.RTT = 7 * vtime.Microsecond }, "measure from leaf to leaf and back"},
		{"more than 100 times the", "ecmp", func(s *Switch) { s.RTT = vtime.Second }, "mind the unit"},
		{"is compiled for links of", "rlb-ecmp", func(s *Switch) {
			for i := range s.Net.Links {
				s.Net.Links[i].Delay = 5 * vtime.Microsecond
			}
		}, "Compile it for this network: pauseless tofino build --topology FILE"},
		{"the clock of a program for Tofino measures less than", "letflow", func(s *Switch) {
			for i := range s.Program.Parameters {
				s.Program.Parameters[i].Given, s.Program.Parameters[i].Value = true, 3e9
			}
		}, "lower it in the profile (set: {letflow.gap: …})"},
		{"the topology has no PFC", "rlb-ecmp", func(s *Switch) { s.Net.Switch.PFC.Off = true }, "or use the scheme below it, ecmp"},
		{"switches do not pause each other", "pcn", func(s *Switch) { s.Net.Switch.PFC.HostsOnly = true }, "(switch.pfc.hosts_only): remove this line"},
		{"lets a port at", "ecmp", func(s *Switch) { s.Net.Switch.PFC.Headroom = 40 * vtime.KB }, "and port 9 needs"},
		{"a Tofino has", "ecmp", func(s *Switch) { s.Net.Switch.Buffer = 64 * vtime.MB }, "lower it"},
		{"and a port passes", "ecmp", func(s *Switch) { s.Net.Switch.MTU = 10300 }, "lower switch.mtu to 10222"},
		{"messages of", "rlb-drill", func(s *Switch) { s.Program.MirrorBytes = 400 }, "of recirculation port 68 (pipeline 0), which has 100Gbps"},
	} {
		t.Run(c.phrase, func(t *testing.T) {
			s := leaf(t, c.program, 8, 4, 25*vtime.Gbps, 100*vtime.Gbps)
			c.change(s)
			if c.phrase != "has ports 1 to 12 in the topology" && c.phrase != "channels of a connector from channel" && c.phrase != "both need channel" {
				s.number(t)
			}
			err := s.Check()
			if err == nil || !strings.Contains(err.Error(), c.phrase) || !strings.Contains(err.Error(), c.out) {
				t.Errorf("error is %v, want one with %q and %q", err, c.phrase, c.out)
			}
			if !strings.Contains(string(page), strings.Replace(c.phrase, "1 to 12", "1 to …", 1)) {
				t.Errorf("the table of docs/reference/tofino-apply.md has no %q", c.phrase)
			}
		})
	}
}

// The papers' leaf has 24 ports: at 40 Gb/s they need more connectors than a pipeline has,
// at 25 and 100 Gb/s they fit.
func TestThePapersLeaf(t *testing.T) {
	for _, program := range []string{"plb", "conga", "rlb-ecmp", "rlb-drill"} {
		s := leaf(t, program, 16, 8, 40*vtime.Gbps, 40*vtime.Gbps)
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), "They need 24 connectors, and a pipeline has 16.") {
			t.Errorf("%s: error is %v", program, err)
		}
		s = leaf(t, program, 16, 8, 25*vtime.Gbps, 100*vtime.Gbps)
		err := s.checkPlace()
		if err == nil || !strings.Contains(err.Error(), "Ports 9 to 24 in pipeline 0, 1 to 8 in pipeline 1. In pipeline 0 they fit with --panel 1=9/0 --panel 2=9/1") {
			t.Fatalf("%s: error is %v", program, err)
		}
		// With these flags, nothing is refused.
		_, flags, _ := strings.Cut(err.Error(), "they fit with ")
		for _, f := range strings.Fields(strings.ReplaceAll(flags, "--panel", "")) {
			var p, connector, channel int
			if _, err := fmt.Sscanf(f, "%d=%d/%d", &p, &connector, &channel); err != nil {
				t.Fatal(f, err)
			}
			s.Panel[p] = bfrt.Panel{Port: connector, Channel: channel}
		}
		s.number(t)
		if err := s.Check(); err != nil {
			t.Errorf("%s, with the proposed connectors: %v", program, err)
		}
	}
	for _, program := range []string{"ecmp", "drill", "ar", "clb", "letflow", "presto", "hermes", "rps", "pcn", "pbfs", "qcn", "hpcc"} {
		if err := leaf(t, program, 16, 8, 40*vtime.Gbps, 40*vtime.Gbps).Check(); err != nil {
			t.Errorf("%s: %v", program, err)
		}
	}
}

// With its ports in one pipeline, the papers' leaf runs each program, and no messages
// exceed a port.
func TestThePapersLeafRunsEachProgram(t *testing.T) {
	files, err := filepath.Glob("../../../p4src/tna/*.manifest.json")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d programs, %v", len(files), err)
	}
	for _, file := range files {
		program := strings.TrimSuffix(filepath.Base(file), ".manifest.json")
		s := leaf(t, program, 16, 8, 25*vtime.Gbps, 100*vtime.Gbps)
		for p := range 16 {
			s.Panel[p+1] = bfrt.Panel{Port: 9 + p/4, Channel: p % 4}
		}
		for p := range 8 {
			s.Panel[p+17] = bfrt.Panel{Port: 13 + p}
		}
		s.number(t)
		if err := s.Check(); err != nil {
			t.Errorf("%s: %v", program, err)
		}
	}
}

// A measured round-trip time takes the place of the computed one, also that for which
// the program is compiled.
func TestMeasuredRoundTrip(t *testing.T) {
	s := leaf(t, "plb", 4, 4, 100*vtime.Gbps, 100*vtime.Gbps)
	for range 2 {
		s.RTT, s.Program.Network.Measured = s.Program.Network.Measured, 12*vtime.Microsecond
		text := strings.Join(s.Report(), "\n")
		for _, want := range []string{"base round trip between leaves: 12us, measured; 8.18624us follow from the topology", "plb.rtt_low 42us", "plb.probe_interval 12us"} {
			if !strings.Contains(text, want) {
				t.Errorf("there is no %q in\n%s", want, text)
			}
		}
	}
}
