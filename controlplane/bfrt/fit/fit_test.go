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
	s.Program.Network = s.network()
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

// The papers' leaf has 24 ports: at 40 Gb/s they need more connectors than a pipeline has,
// at 25 and 100 Gb/s they fit.
func TestThePapersLeaf(t *testing.T) {
	for _, program := range []string{"plb", "caver", "conga", "flowcut", "rlb-ecmp", "rlb-drill", "themis"} {
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
		for _, want := range []string{"base round trip between leaves: 12us, measured; 8.18624us follow from the topology", "plb.rtt_low 72us", "plb.probe_interval 12us"} {
			if !strings.Contains(text, want) {
				t.Errorf("there is no %q in\n%s", want, text)
			}
		}
	}
}

// Messages of all blocks of a program add up: PB-FS's postcards and RLB's warnings at one
// port. PLB reports the queues of all ports to switches, those of a spine, too.
func TestLoadsOfAllMessages(t *testing.T) {
	s := leaf(t, "rlb-pbfs", 8, 4, 25*vtime.Gbps, 100*vtime.Gbps)
	l, ok := s.messages(9) // to a spine
	for _, want := range []string{"a postcard for each data packet", "a warning for each of 3 classes"} {
		if !ok || !strings.Contains(l.From, want) {
			t.Errorf("the load of %s is %v: %s; there is no %q", l.Port, l.Rate, l.From, want)
		}
	}
	interval, _ := s.span("rlb.interval")
	packets := int(100e9) / (8 * (int(s.Program.Network.MTU) + topo.EthernetOverhead))
	if want := perSecond(packets, postcardBytes) + perSecond(int(3/interval.Seconds()), s.Program.MirrorBytes); l.Rate != want {
		t.Errorf("the load of %s is %v, want %v", l.Port, l.Rate, want)
	}
	if l, ok := s.messages(1); !ok || strings.Contains(l.From, "warning") {
		t.Errorf("the load of %s, to a host, is %v: %s", l.Port, l.Rate, l.From)
	}

	s = leaf(t, "plb", 8, 4, 100*vtime.Gbps, 100*vtime.Gbps)
	s.Node = s.Net.NodeByName("s1")
	s.number(t)
	loads := s.Loads()
	if len(loads) == 0 || !strings.Contains(loads[0].From, "queues of 4 ports to switches in 3 classes") || loads[0].Rate < perSecond(12e6, s.Program.MirrorBytes) {
		t.Fatalf("loads of a spine: %v", loads)
	}
	if l, ok := s.messages(1); !ok || !strings.Contains(l.From, "a message to leave a path to each of 4 leaves") || strings.Contains(l.From, "probe") {
		t.Errorf("the load of a spine's %s is %v: %s", l.Port, l.Rate, l.From)
	}
}

// A leaf with one uplink has a line about schemes that choose among paths.
func TestOneUplink(t *testing.T) {
	for _, c := range []struct {
		program string
		uplinks int
		want    bool
	}{{"plb", 1, true}, {"rlb-ecmp", 1, true}, {"drill", 1, true}, {"ecmp", 1, false}, {"pcn", 1, false}, {"plb", 2, false}} {
		s := leaf(t, c.program, 4, c.uplinks, 100*vtime.Gbps, 100*vtime.Gbps)
		text := strings.Join(s.Report(), "\n")
		if strings.Contains(text, "port 5 is the only one to a higher tier: "+c.program+" has no paths to choose from here") != c.want {
			t.Errorf("%s with %d uplinks:\n%s", c.program, c.uplinks, text)
		}
	}
}

// The window of PLB is the one of its template.
func TestWindowOfPLB(t *testing.T) {
	text, err := os.ReadFile("../../../gen/schemes/plb/tna.p4.tmpl")
	if err != nil || !strings.Contains(string(text), `{{value "`+string(plbWindow)+`"`) {
		t.Errorf("the template has no window of %s: %v", plbWindow, err)
	}
}
