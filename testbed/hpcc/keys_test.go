// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Keys that the simulators' main programs read: scratch/third.cc of HPCC and
// scratch/network-load-balance.cc of ConWeave, each with a value that is neither its
// default nor that of the base configuration below.
const hpccKeys = `ENABLE_QCN 0
USE_DYNAMIC_PFC_THRESHOLD 0
CLAMP_TARGET_RATE 1
PAUSE_TIME 7
DATA_RATE 10Gb/s
LINK_DELAY 3us
PACKET_PAYLOAD_SIZE 1400
L2_CHUNK_SIZE 5000
L2_ACK_INTERVAL 9000
L2_BACK_TO_ZERO 1
TOPOLOGY_FILE other.txt
FLOW_FILE other.txt
TRACE_FILE other.txt
TRACE_OUTPUT_FILE other.txt
SIMULATOR_STOP_TIME 2.5
ALPHA_RESUME_INTERVAL 3
RP_TIMER 100
EWMA_GAIN 0.5
FAST_RECOVERY_TIMES 3
RATE_AI 10Mb/s
RATE_HAI 20Mb/s
ERROR_RATE_PER_LINK 0.01
CC_MODE 7
RATE_DECREASE_INTERVAL 8
MIN_RATE 500Mb/s
FCT_OUTPUT_FILE other.txt
HAS_WIN 0
GLOBAL_T 0
MI_THRESH 2
VAR_WIN 1
FAST_REACT 0
U_TARGET 0.5
INT_MULTI 4
RATE_BOUND 0
ACK_HIGH_PRIO 1
DCTCP_RATE_AI 10Mb/s
PFC_OUTPUT_FILE other.txt
LINK_DOWN 10 1 4
ENABLE_TRACE 1
KMAX_MAP 1 100000000000 900
KMIN_MAP 1 100000000000 50
PMAX_MAP 1 100000000000 0.9
BUFFER_SIZE 8
QLEN_MON_FILE other.txt
QLEN_MON_START 1000000000
QLEN_MON_END 3000000000
MULTI_RATE 1
SAMPLE_FEEDBACK 1
PINT_LOG_BASE 1.2
PINT_PROB 0.5
`

const conweaveKeys = `FLOW_INPUT_FILE other.txt
CNP_OUTPUT_FILE other.txt
EST_ERROR_MON_FILE other.txt
LB_MODE 3
SW_MONITORING_INTERVAL 20000
CONWEAVE_TX_EXPIRY_TIME 3
CONWEAVE_REPLY_TIMEOUT_EXTRA 3
CONWEAVE_EXTRA_VOQ_FLUSH_TIME 3
CONWEAVE_PATH_PAUSE_TIME 3
CONWEAVE_DEFAULT_VOQ_WAITING_TIME 3
ENABLE_PFC 0
FLOWGEN_START_TIME 1.5
FLOWGEN_STOP_TIME 2.7
VOQ_MON_FILE other.txt
VOQ_MON_DETAIL_FILE other.txt
UPLINK_MON_FILE other.txt
CONN_MON_FILE other.txt
LOAD 70
ENABLE_IRN 1
RANDOM_SEED 5
`

const base = `CC_MODE 3
HAS_WIN 1
RATE_BOUND 1
ENABLE_TRACE 0
MULTI_RATE 0
KMAX_MAP 1 100000000000 400
KMIN_MAP 1 100000000000 100
PMAX_MAP 1 100000000000 0.2
` + required

// Every key that a simulator reads is known, and a change of it changes what runs, or
// there is a warning that names it: keys had neither.
func TestEveryKeyHasAnEffectOrAWarning(t *testing.T) {
	both := strings.Fields("SIMULATOR_STOP_TIME TRACE_FILE TRACE_OUTPUT_FILE ENABLE_TRACE ACK_HIGH_PRIO PINT_LOG_BASE PINT_PROB")
	for of, in := range map[string]struct{ keys, base string }{
		"HPCC": {hpccKeys, base}, "ConWeave": {conweaveKeys, base + "LB_MODE 9\nCC_MODE 1\n"}, "ConWeave's own": {hpccKeys, base + "LB_MODE 0\n"},
	} {
		for line := range strings.Lines(in.keys) {
			key, _, _ := strings.Cut(line, " ")
			if of == "ConWeave's own" && slices.Contains(both, key) {
				continue // of HPCC only
			}
			before, changed := runs(t, in.base), runs(t, in.base+line)
			c, err := ParseConfig("c.txt", in.base+line)
			if err != nil {
				t.Fatalf("%s, %q: %v", of, line, err)
			}
			warned := slices.Contains(keysOf(c.Warnings), key)
			if before == changed && !warned {
				t.Errorf("%s: %q changes nothing, and no warning names it: %v", of, strings.TrimSpace(line), c.Warnings)
			}
		}
	}
}

// runs returns all of a configuration that a run depends on, as text.
func runs(t *testing.T, text string) string {
	c, err := ParseConfig("c.txt", text)
	if err != nil {
		t.Fatal(err)
	}
	n, err := parseTopology("t.txt", "5 2 4\n1 4\n0 1 100Gbps 1us 0\n2 1 100Gbps 1us 0\n3 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n", c.Switch)
	if err != nil {
		t.Fatal(err)
	}
	c.For(n)
	c.Warnings = nil
	var outputs []string
	for _, o := range c.Outputs {
		outputs = append(outputs, o.Key+o.File)
	}
	c.Outputs = nil
	down := c.LinkDown
	if c.LinkDown = nil; down != nil {
		return fmt.Sprintf("%+v %v %v %+v %v", *c, n.Links, outputs, down, down.At)
	}
	return fmt.Sprintf("%+v %v %v", *c, n.Links, outputs)
}

// Keys that are left out have the simulators' defaults, not ours.
func TestDefaultsAreTheSimulators(t *testing.T) {
	c, err := ParseConfig("c.txt", "CC_MODE 1\n")
	if err != nil {
		t.Fatal(err)
	}
	d := c.Hosts.CC.DCQCN
	if !c.Hosts.GlobalRTT || c.Hosts.Window != 1 || c.Hosts.WindowFollowsRate || c.Stop != 3010*vtime.Millisecond || d.AlphaTimer != 55*vtime.Microsecond ||
		d.FastRecovery != 5 || d.G > 1e-300 || c.Hosts.CC.DCTCP.AI != vtime.Gbps || c.Hosts.CC.HPCC.MaxStage != 5 || c.Hosts.RTO != 0 {
		t.Errorf("HPCC's defaults are %+v, stop %v", c.Hosts, c.Stop)
	}
	for _, k := range []string{"L2_ACK_INTERVAL", "RATE_AI", "RATE_HAI", "RP_TIMER", "EWMA_GAIN"} {
		if !slices.Contains(keysOf(c.Warnings), k) {
			t.Errorf("no warning that %s is missing: %v", k, c.Warnings)
		}
	}
	c, err = ParseConfig("c.txt", required+"LB_MODE 0\n")
	if err != nil {
		t.Fatal(err)
	}
	if c.Stop != 12500*vtime.Millisecond || c.Hosts.CC.DCQCN.FastRecovery != 1 || c.Switch.Buffer != 0 || c.Switch.PFC.Pause != 5*vtime.Microsecond {
		t.Errorf("ConWeave's defaults are %+v, stop %v", c.Hosts, c.Stop)
	}
	n := smallTopology(t)
	if w := c.For(n); n.Switch.Buffer != 3*375*vtime.KB || len(w) != 2 || !strings.Contains(w[1].Msg, "BUFFER_SIZE 0 is 375 KB for each port") {
		t.Errorf("the buffer is %v: %v", n.Switch.Buffer, w)
	}
}

// The simulators read words, not lines; the last of repeated keys counts.
func TestConfigurationsAreWords(t *testing.T) {
	c, err := ParseConfig("c.txt", required+"CC_MODE 8 HAS_WIN 0\nKMAX_MAP 2 25000000000 400\n 100000000000\n1600 KMIN_MAP 1 100000000000 400\nPMAX_MAP\n1 100000000000 0.5\n"+
		"LINK_DOWN 5 1 2\nLINK_DOWN 0 1 2\nLB_MODE 0\nENABLE_IRN 1\nENABLE_IRN 0\nFCT_OUTPUT_FILE a\nFCT_OUTPUT_FILE b\n")
	if err != nil {
		t.Fatal(err)
	}
	m, ok := c.MarkFor(100 * vtime.Gbps)
	if c.Hosts.CC.Algorithm != "dctcp" || !c.Hosts.NoWindow || !ok || m.KMax != 1600*vtime.KB || len(c.Warnings) != 0 {
		t.Errorf("%+v, marks %+v, warnings %v", c.Hosts, m, c.Warnings)
	}
	if c.LinkDown != nil || c.Hosts.Recovery != "go-back-n" || c.Hosts.RTO != 4*vtime.Millisecond || !slices.Equal(outputsOf(c), []string{"FCT_OUTPUT_FILE b"}) {
		t.Errorf("of repeated keys not the last one counts: %v, %v, %v, %q", c.LinkDown, c.Hosts.Recovery, c.Hosts.RTO, outputsOf(c))
	}
}

// ConWeave counts LINK_DOWN from FLOWGEN_START_TIME, HPCC from two seconds.
func TestWhenALinkGoesDown(t *testing.T) {
	for text, want := range map[string]vtime.Time{
		"LINK_DOWN 50 1 4\n": 2*vtime.Second + 50*vtime.Microsecond,
		"LB_MODE 0\nFLOWGEN_START_TIME 3\nLINK_DOWN 50 1 4\n": 3*vtime.Second + 50*vtime.Microsecond,
	} {
		c, err := ParseConfig("c.txt", text)
		if err != nil || c.LinkDown.At != want {
			t.Errorf("%q: %v, want %v: %v", text, c.LinkDown, want, err)
		}
	}
	c, err := ParseConfig("c.txt", "LINK_DOWN 50 0 3\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.LinkDown.Fault(smallTopology(t)); err == nil || !strings.Contains(err.Error(), "c.txt:1:1: LINK_DOWN: the topology has no link between nodes 0 and 3") {
		t.Error(err)
	}
}

// Of parallel links the simulator uses the last; all were used.
func TestTheLastOfParallelLinks(t *testing.T) {
	n, err := parseTopology("t.txt", "4 2 4\n2 3\n0 2 1Gbps 1us 0\n1 3 1Gbps 1us 0\n2 3 1Gbps 1us 0\n2 3 2Gbps 1us 0\n", topo.SwitchConfig{})
	if err != nil {
		t.Fatal(err)
	}
	if !n.Links[2].Unused || n.Links[3].Unused || n.TreeTo(1).From(0)[1].ID != 3 {
		t.Errorf("links are %+v", n.Links)
	}
	if w := CheckTopology("t.txt", n); len(w) != 1 || !strings.Contains(w[0].Msg, "of parallel links only the last carries traffic, as in the simulator: between nodes 2 and 3") {
		t.Errorf("warnings are %v", w)
	}
	if w := CheckTopology("t.txt", smallTopology(t)); len(w) != 0 {
		t.Errorf("warnings of a topology without parallel links are %v", w)
	}
}

// Programs need equal-cost ports with consecutive numbers. Files that list hosts and
// spines in turn were refused; a link that goes down leaves no gap.
func TestPortsAreGrouped(t *testing.T) {
	const mixed = "8 4 8\n4 5 6 7\n0 4 1Gbps 1us 0\n4 6 1Gbps 1us 0\n1 4 1Gbps 1us 0\n4 7 1Gbps 1us 0\n5 6 1Gbps 1us 0\n2 5 1Gbps 1us 0\n5 7 1Gbps 1us 0\n3 5 1Gbps 1us 0\n"
	n, err := parseTopology("t.txt", mixed, topo.SwitchConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var peers, numbers []int
	for _, p := range n.Nodes[4].Ports {
		peers, numbers = append(peers, p.Peer), append(numbers, p.Number)
	}
	if !slices.Equal(peers, []int{0, 1, 6, 7}) || !slices.Equal(numbers, []int{0, 3, 2, 0}) || !consecutive(n) {
		t.Errorf("the ports of switch 4 lead to %v, with the file's numbers %v", peers, numbers)
	}
	var b strings.Builder
	if err := WritePFC(&b, n, []fabric.PauseEvent{{Node: 4, Port: 3, Quanta: 1}}, ConWeave); err != nil || b.String() != "0 4 1 2 1\n" {
		t.Errorf("a PAUSE from node 6 is %q: %v", b.String(), err)
	}
	c, err := ParseConfig("c.txt", required+"LINK_DOWN 5 4 6\n")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "t.txt")
	if err := os.WriteFile(file, []byte(mixed), 0o666); err != nil {
		t.Fatal(err)
	}
	if n, err = c.ReadTopology(file); err != nil || n.Nodes[4].Ports[3].Peer != 6 || n.Nodes[6].Ports[1].Peer != 4 {
		t.Errorf("the link that goes down is not the last: %+v: %v", n.Nodes[4].Ports, err)
	}
}

// If the link to a spine in the middle goes down, other leaves lose that spine on the
// way to this leaf: their ports to it are last, too.
func TestOtherLeavesLoseASpine(t *testing.T) {
	var b strings.Builder
	b.WriteString("9 6 12\n3 4 5 6 7 8\n0 3 1Gbps 1us 0\n1 4 1Gbps 1us 0\n2 5 1Gbps 1us 0\n")
	for leaf := 3; leaf < 6; leaf++ {
		for spine := 6; spine < 9; spine++ {
			fmt.Fprintf(&b, "%d %d 1Gbps 1us 0\n", leaf, spine)
		}
	}
	file := filepath.Join(t.TempDir(), "t.txt")
	if err := os.WriteFile(file, []byte(b.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	c, err := ParseConfig("c.txt", required+"LINK_DOWN 5 3 7\n")
	if err != nil {
		t.Fatal(err)
	}
	n, err := c.ReadTopology(file)
	if err != nil {
		t.Fatal(err)
	}
	if last := n.Nodes[5].Ports[3].Peer; last != 7 || !consecutive(n) || !consecutive(n.Without(downIn(n, c.LinkDown))) {
		t.Errorf("the last port of leaf 5 leads to %d", last)
	}
}

// Flows of one priority are lossless, as in the simulator; of several there is a
// warning.
func TestPriorities(t *testing.T) {
	n := smallTopology(t)
	for text, want := range map[string]string{
		"2\n0 2 4 100 5 2\n3 2 4 100 5 2\n": "",
		"1\n0 2 0 100 5 2\n":                "flows have the priorities 0:",
		"2\n0 2 3 100 5 2\n3 2 4 100 5 2\n": "flows have the priorities 3 and 4: only class 3 is lossless in pauseless",
		"2\n0 2 3 100 5 3\n3 2 3 100 5 2\n": "flows are not in the order of their starts",
	} {
		flows, _, err := parseFlows("f.txt", text, n)
		if err != nil {
			t.Fatal(err)
		}
		if w := Adapt("f.txt", flows); len(w) > 1 || (len(w) == 0) != (want == "") || want != "" && !strings.Contains(w[0].Msg, want) || want == "" && flows[1].Class != 3 {
			t.Errorf("%q: classes %d…, warnings %v, want %q", text, flows[0].Class, w, want)
		}
	}
}

// Files are distinguished by the fields of a flow, also if there are more flows than
// the first line says, of which the simulators read as many; and ConWeave's simulator
// sends a byte for none.
func TestMoreFlowsThanCounted(t *testing.T) {
	n := smallTopology(t)
	for text, want := range map[string]Dialect{
		"1\n0 2 3 5 2.5\n3 2 3 6 2.5\n": ConWeave, "1\n0 2 3 100 5 2.5\n3 2 3 100 6 2.5\n": HPCC, "2 0 2 3 5 2.5 3 2 3 6 2.5": ConWeave, "1\n0 2 3 0 2.5\n": ConWeave,
	} {
		flows, d, err := parseFlows("f.txt", text, n)
		if err != nil || d != want || flows[0].Size > 5 || flows[0].Size < 1 || flows[0].Start != 2500*vtime.Millisecond {
			t.Errorf("%q: dialect %d, flows %v: %v", text, d, flows, err)
		}
	}
}

// Outputs stay below the working folder and the configuration's, through links too,
// and their folders are made.
func TestWhereOutputsGo(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"work", "conf", "away"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(filepath.Join(dir, "work"))
	if err := os.Symlink(filepath.Join(dir, "away"), "link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "away", "f"), "file"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "away", "f"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]bool{
		"fct.txt": true, "mix/output/1/fct.txt": true, filepath.Join(dir, "work", "a"): true, filepath.Join(dir, "conf", "x", "a"): true,
		"../fct.txt": false, "mix/../../fct.txt": false, filepath.Join(dir, "away", "a"): false, "link/a": false, "link/new/a": false, "file": false, "..": false,
	} {
		c, err := ParseConfig(filepath.Join(dir, "conf", "c.txt"), "FCT_OUTPUT_FILE "+file+"\n")
		if err != nil {
			t.Fatal(err)
		}
		ok, warnings := c.Place(&c.Outputs[0])
		if ok != want || (len(warnings) == 0) != want {
			t.Errorf("%s: %v, %v; want %v", file, ok, warnings, want)
		}
		if _, err := os.Stat(filepath.Dir(file)); want && err != nil {
			t.Errorf("%s has no folder: %v", file, err)
		}
		if !want && !strings.Contains(warnings[0].Error(), "FCT_OUTPUT_FILE: "+file+" is not written: ") {
			t.Errorf("%s: %v", file, warnings)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "away")); err != nil || len(left) != 1 {
		t.Errorf("the folder outside has %v: %v", left, err)
	}
}

func TestKindOfFile(t *testing.T) {
	for text, want := range map[string]string{
		small: "topology", "1\n0 2 3 100 5 2\n": "flows", "CC_MODE 3\n": "config", "name: x\n": "", "": "",
	} {
		file := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if got := KindOf(file); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
