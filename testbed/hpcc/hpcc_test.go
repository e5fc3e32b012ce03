// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

const small = `5 2 4
1 4
0 1 40Gbps 1000ns 0
2 1 10Gbps 0.001ms 0.5
3 4 40Gbps 1us 0
1 4 100Gbps 5000ns 0
`

func smallTopology(t testing.TB) *topo.Topology {
	t.Helper()
	n, err := parseTopology("t.txt", small, topo.SwitchConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTopologyKeepsNumbersAndPorts(t *testing.T) {
	n := smallTopology(t)
	if n.Nodes[0].Name != "h0" || n.Nodes[1].Name != "s1" || n.Nodes[1].Tier != 1 || n.Nodes[4].Kind != topo.Switch {
		t.Fatalf("nodes are %+v", n.Nodes)
	}
	if p := n.Nodes[1].Ports; len(p) != 3 || p[0].Peer != 0 || p[1].Peer != 2 || p[2].Peer != 4 {
		t.Errorf("ports of node 1 are %+v", p)
	}
	l := n.Links[1]
	if l.Rate != 10*vtime.Gbps || l.Delay != vtime.Microsecond || l.Loss != 0.5 {
		t.Errorf("link is %+v", l)
	}
}

func TestW1FilesAreRead(t *testing.T) {
	c, err := ReadConfig("testdata/w1/config.txt")
	if err != nil {
		t.Fatal(err)
	}
	n, err := c.ReadTopology("testdata/w1/topology.txt")
	if err != nil {
		t.Fatal(err)
	}
	flows, dialect, _, err := ReadFlows("testdata/w1/flow.txt", n)
	if err != nil {
		t.Fatal(err)
	}
	if len(n.Hosts()) != 128 || len(n.Switches()) != 16 || len(n.Links) != 192 || len(flows) != 754 || dialect != HPCC {
		t.Errorf("%d hosts, %d switches, %d links, %d flows, dialect %d", len(n.Hosts()), len(n.Switches()), len(n.Links), len(flows), dialect)
	}
	want := fabric.Flow{Src: 16, Dst: 106, Size: 53123, Start: 2*vtime.Second + 12539*vtime.Nanosecond, Class: 3, Port: 10000, Group: 100}
	if flows[0] != want {
		t.Errorf("first flow is %+v, want %+v", flows[0], want)
	}
}

// A file may have more flows than its first line says: the simulator does not read them,
// and neither do we, but that is said.
func TestFlowsBeyondTheCountAreWarnedOf(t *testing.T) {
	name := filepath.Join(t.TempDir(), "f.txt")
	for text, want := range map[string]string{
		"1\n0 2 3 100 5 2\n\n \n":             "",
		"1\n0 2 3 100 5 2\n0 2 3 100 6 2.5\n": "f.txt:3:1: warning: the file is not read from this line on: its first line declares 1 flows",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		flows, _, warnings, err := ReadFlows(name, smallTopology(t))
		if err != nil || len(flows) != 1 {
			t.Fatalf("%q: %d flows, %v", text, len(flows), err)
		}
		if got := warnings.Error(); len(warnings) > 0 != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%q: warnings are %q, want %q", text, got, want)
		}
	}
}

func TestSecondFlowOfAPairHasTheNextPort(t *testing.T) {
	n := smallTopology(t)
	flows, _, err := parseFlows("f.txt", "3\n0 2 3 100 5 2\n0 2 3 100 6 2.5\n2 0 3 100 7 3\n", n)
	if err != nil {
		t.Fatal(err)
	}
	if flows[0].Port != 10000 || flows[1].Port != 10001 || flows[2].Port != 10000 {
		t.Errorf("%+v", flows)
	}
}

func TestConWeaveFlowsHaveNoDestinationPort(t *testing.T) {
	flows, dialect, err := parseFlows("f.txt", "2\n0 2 3 5000 2.000001\n3 0 3 6 2.5\n", smallTopology(t))
	if err != nil {
		t.Fatal(err)
	}
	if flows[0].Port != 10000 || flows[0].Group != 100 || flows[1].Group != 100 {
		t.Errorf("ports of %+v", flows)
	}
	if dialect != ConWeave || len(flows) != 2 || flows[0].Size != 5000 || flows[1].Start != 2500*vtime.Millisecond {
		t.Errorf("dialect %d, flows %+v", dialect, flows)
	}
}

func TestReadConfig(t *testing.T) {
	c, err := ReadConfig("testdata/w1/config.txt")
	if err != nil {
		t.Fatal(err)
	}
	d := c.Hosts.CC.DCQCN
	if c.Hosts.CC.Algorithm != "dcqcn" || d.AI != 50*vtime.Mbps || d.HAI != 100*vtime.Mbps || d.RiseTimer != 300*vtime.Microsecond ||
		d.AlphaTimer != vtime.Microsecond || d.DecreaseTimer != 4*vtime.Microsecond || d.G != 1.0/256 || d.FastRecovery != 1 || d.ClampTarget {
		t.Errorf("congestion control is %+v", c.Hosts.CC)
	}
	if c.Hosts.MTU != 1000 || c.Hosts.Overhead != -10 || c.Hosts.Window != 0 || c.Hosts.AckEvery != 1 || c.Hosts.Recovery != roce.GoBackN {
		t.Errorf("hosts are %+v", c.Hosts)
	}
	if c.Switch.Buffer != 32*vtime.MiB || c.Switch.PFC.Alpha != 0.125 || !c.Switch.PFC.AlphaByRate {
		t.Errorf("switches are %+v", c.Switch)
	}
	if m, ok := c.MarkFor(40 * vtime.Gbps); !ok || m.KMin != 160*vtime.KB || m.KMax != 640*vtime.KB || m.PMax != 0.2 {
		t.Errorf("marks at 40 Gb/s are %+v", m)
	}
	if c.Profile != "ecmp" || c.LinkDown != nil || c.Stop != 4*vtime.Second || c.FlowFile != "mix/f3.txt" || !slices.Equal(keysOf(c.Warnings), []string{"TRACE_FILE", "TRACE_OUTPUT_FILE", "L2_CHUNK_SIZE"}) {
		t.Errorf("%+v", c)
	}
	if want := []string{"FCT_OUTPUT_FILE mix/fct_t4.txt", "PFC_OUTPUT_FILE mix/pfc_t4.txt", "QLEN_MON_FILE mix/qlen.txt"}; !slices.Equal(outputsOf(c), want) {
		t.Errorf("outputs are %q, want %q", outputsOf(c), want)
	}
}

// keysOf returns the keys that warnings name.
func keysOf(l diag.List) (keys []string) {
	for _, d := range l {
		for _, k := range regexp.MustCompile(`\b[A-Z][A-Z0-9_]{3,}\b`).FindAllString(d.Msg, -1) {
			if _, ok := settings[k]; ok {
				keys = append(keys, k)
			}
		}
	}
	return keys
}

func outputsOf(c *Config) (all []string) {
	for _, o := range c.Outputs {
		all = append(all, o.Key+" "+o.File)
	}
	return all
}

func TestConfigOfConWeave(t *testing.T) {
	c, err := ParseConfig("c.txt", `CC_MODE 3
LB_MODE 6
ENABLE_IRN 1
ENABLE_PFC 0
HAS_WIN 1
VAR_WIN 1
GLOBAL_T 1
MI_THRESH 0
U_TARGET 0.95
RATE_AI 50Mb/s
BUFFER_SIZE 9
LINK_DOWN 100 1 4
KMAX_MAP 1 100000000000 400 {KB}
KMIN_MAP 1 100000000000 100
PMAX_MAP 1 100000000000 0.2
CONN_MON_FILE x
RANDOM_SEED 7
`)
	if err != nil {
		t.Fatal(err)
	}
	if c.Hosts.CC.Algorithm != "hpcc" || c.Profile != "letflow" || c.Hosts.Recovery != roce.IRN || !c.Switch.PFC.Off || c.Hosts.Window != 1 ||
		!c.Hosts.WindowFollowsRate || !c.Hosts.GlobalRTT || c.Hosts.CC.HPCC.MaxStage != -1 || c.Hosts.CC.HPCC.AI != 50*vtime.Mbps || c.Seed != 7 {
		t.Errorf("%+v", c)
	}
	f, err := c.LinkDown.Fault(smallTopology(t))
	if err != nil || f.Link != "s1-s4" || f.From != 2*vtime.Second+100*vtime.Microsecond || !f.Down {
		t.Errorf("%+v, %v", f, err)
	}
}

// required are the keys without which the simulators do not work.
const required = "L2_ACK_INTERVAL 1\nRATE_AI 50Mb/s\nRATE_HAI 100Mb/s\nRP_TIMER 300\nEWMA_GAIN 0.00390625\n"

// LB_MODE 9 is ConWeave itself, with its parameters in microseconds.
func TestConfigOfConWeaveItself(t *testing.T) {
	c, err := ParseConfig("c.txt", required+`LB_MODE 9
CONWEAVE_TX_EXPIRY_TIME 300
CONWEAVE_REPLY_TIMEOUT_EXTRA 4
CONWEAVE_PATH_PAUSE_TIME 16
CONWEAVE_EXTRA_VOQ_FLUSH_TIME 64
CONWEAVE_DEFAULT_VOQ_WAITING_TIME 200
`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"conweave.idle": "300us", "conweave.reply_extra": "4us", "conweave.pause": "16us", "conweave.extra": "64us",
		"conweave.wait": "200us"}
	if r := c.Switch.Recirculation; c.Profile != "conweave" || r.Rate != 12_800*vtime.Gbps || !r.OwnBuffer || !maps.Equal(c.Set, want) || len(c.Warnings) != 0 {
		t.Errorf("%s, %v, %v", c.Profile, c.Set, c.Warnings)
	}
}

// ConWeave's configurations are accepted: maps with rates that other maps lack,
// since only the links' rates are used, and a time after which no flow starts, which
// once ended flows under way. Its switches send PAUSE at a sixteenth of the free
// buffer, and RESUME as soon as the queue is below.
// The simulators' thresholds follow from their own headroom: three times rate and
// delay in HPCC's third.cc, twice and two packets in ConWeave's.
func TestThresholdsFollowFromTheSimulatorsHeadroom(t *testing.T) {
	for _, c := range []struct {
		config string
		want   vtime.Size
	}{
		{"", 37_500},
		{"LB_MODE 0\n", 25_000 + 2*1048},
	} {
		cfg, err := ParseConfig("c.txt", required+c.config)
		if err != nil {
			t.Fatal(err)
		}
		l := topo.Link{Rate: 100 * vtime.Gbps, Delay: vtime.Microsecond}
		n := topo.Topology{Switch: cfg.Switch, Links: []topo.Link{l}}
		if got := n.ApartFor(&l); got != c.want {
			t.Errorf("%q: %v, want %v", c.config, got, c.want)
		}
		if has := n.HeadroomFor(&l); has != n.Needs(&l) {
			t.Errorf("%q: the headroom is %v, not what the link needs", c.config, has)
		}
	}
}

func TestConfigAsConWeaveWritesIt(t *testing.T) {
	c, err := ParseConfig("c.txt", required+`LB_MODE 3
FLOWGEN_START_TIME 2.0
FLOWGEN_STOP_TIME 2.1
BUFFER_SIZE 9
KMAX_MAP 3 100000000000 400 200000000000 400 400000000000 400
KMIN_MAP 2 100000000000 100 200000000000 500
PMAX_MAP 3 100000000000 0.20 200000000000 0.20 400000000000 0.20
`)
	if err != nil {
		t.Fatal(err)
	}
	if c.Stop != 12100*vtime.Millisecond || c.Profile != "conga" || !c.Hosts.CNPOnReorder {
		t.Errorf("%+v", c)
	}
	if h := c.Hosts; h.AckClass != 7 || h.NAKInterval != 4*vtime.Microsecond || h.RTO != 4*vtime.Millisecond {
		t.Errorf("hosts are %+v", h)
	}
	if p := c.Switch.PFC; !p.EachFrame || !p.HeadroomLast || p.Pause != 5*vtime.Microsecond || c.Switch.MMU != "conweave" || p.Alpha != 1.0/16 || p.AlphaByRate || p.Resume != 1 || p.Reserve != 2096 || p.DropAlpha != 1 || p.Off {
		t.Errorf("switches are %+v", c.Switch)
	}
	if _, ok := c.MarkFor(400 * vtime.Gbps); ok {
		t.Error("ports of a rate that is not in all maps mark")
	}
	if m, _ := c.MarkFor(200 * vtime.Gbps); m.KMin != 400*vtime.KB {
		t.Errorf("swapped thresholds become %+v", m)
	}
	n := smallTopology(t) // has links of 10, 40 and 100 Gb/s
	if more := c.For(n); len(c.Warnings) != 1 || len(more) != 1 || !strings.Contains(more[0].Msg, "10Gbps (1 links), 40Gbps (2 links): nothing is marked there") {
		t.Errorf("warnings are %v and %v", c.Warnings, more)
	}
}

// HPCC's switches do not use ACK_HIGH_PRIO; it only lets hosts send
// acknowledgements of a paused class. Treated as a priority, it made round trips with
// TIMELY shorter than the simulator's.
func TestAcknowledgementsQueueWithData(t *testing.T) {
	c, err := ParseConfig("c.txt", required+"CC_MODE 7\nACK_HIGH_PRIO 1\n")
	if err != nil {
		t.Fatal(err)
	}
	if c.Hosts.AckClass != -1 || !c.Hosts.AcksUnpaused || c.Hosts.Overhead != -2 || len(c.Warnings) != 0 {
		t.Errorf("hosts are %+v, warnings %v", c.Hosts, c.Warnings)
	}
}

// The simulators truncate to nanoseconds: frames at 100 Gb/s took 1 % longer here.
func TestFramesTakeWholeNanoseconds(t *testing.T) {
	for rate, want := range map[vtime.Rate]int{100 * vtime.Gbps: -20, 40 * vtime.Gbps: -13, 10 * vtime.Gbps: -10} {
		c, err := ParseConfig("c.txt", "CC_MODE 1\n")
		if err != nil {
			t.Fatal(err)
		}
		if c.Fit(rate); c.Hosts.Overhead != want {
			t.Errorf("at %v frames are longer by %d, want %d", rate, c.Hosts.Overhead, want)
		}
	}
}

func TestMarksInCells(t *testing.T) {
	// 100 packets of 1048 bytes are 100 of 14 cells.
	m := Mark{KMin: 104_800, KMax: 4 * 104_800}.InCells(1000)
	if m.KMin != 112_000 || m.KMax != 448_000 {
		t.Errorf("%+v", m)
	}
}

func TestUnknownKeysAreWarnedOf(t *testing.T) {
	c, err := ParseConfig("c.txt", required+"CC_MOD 1\nCC_MODE 3\nMULTI_RATE 1\nTRACE_FILE x\n# RANDOM_SEED 3\nHAS_WIN 1 2 VAR_WIN 1\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`c.txt:6:1: warning: CC_MOD is unknown and has no effect (did you mean "CC_MODE"?)`,
		`c.txt:8:1: warning: MULTI_RATE 1 has no effect: HPCC looks here`,
		`c.txt:9:1: warning: TRACE_FILE has no effect: traces of packets`,
		`c.txt:10:3: warning: RANDOM_SEED of a comment is read by the simulators`,
		`c.txt:11:11: warning: 2 is left over: the key before it has fewer values`,
	}
	for i, w := range want {
		if len(c.Warnings) != len(want) || !strings.Contains(c.Warnings[i].Error(), w) {
			t.Fatalf("warnings are %v, want %q", c.Warnings, want)
		}
	}
	if c.Seed != 0 || !c.Hosts.WindowFollowsRate {
		t.Errorf("seed %d, hosts %+v", c.Seed, c.Hosts)
	}
}

func TestErrorsHaveTheirPosition(t *testing.T) {
	n := smallTopology(t)
	topology := func(s string) error { _, err := parseTopology("x.txt", s, topo.SwitchConfig{}); return err }
	flows := func(s string) error { _, _, err := parseFlows("x.txt", s, n); return err }
	config := func(s string) error { _, err := ParseConfig("x.txt", s); return err }
	for _, c := range []struct {
		read     func(string) error
		in, want string
	}{
		{topology, "", "x.txt:1:1: the file ends before the number of nodes"},
		{topology, "2 1 1\n1\n0 1 40Gbps", "the file ends before a link's delay"},
		{topology, "2 1 1\n2\n", `x.txt:2:1: the number of a switch is "2", must be a whole number from 0 to 1`},
		{topology, "2 1 1\n1\n0 1 40Gb 1us 0", `x.txt:3:5: a link's rate is "40Gb"`},
		{topology, "2 1 1\n1\n0 1 40Gbps 1us 2", `a link's error rate is "2"`},
		{topology, "2 1 1\n1\n0 1 40Gbps 0ms 0", "x.txt:3:12: a link has no delay"},
		{topology, "2 1 1\n1\n1 1 40Gbps 1us 0", "x.txt:3:3: node 1 has a link to itself"},
		{topology, "2 1 0\n1\n", "host h0 needs exactly one link"},
		{topology, "99999999 0 0", `the number of nodes is "99999999"`},
		{flows, "1\n0 1 3 100 5 2\n", "x.txt:2:3: a flow's destination is node 1, which is a switch"},
		{flows, "1\n0 0 3 100 5 2\n", "x.txt:2:3: node 0 sends to itself"},
		{flows, "1\n0 2 8 100 5 2\n", `a flow's priority is "8"`},
		{flows, "2\n0 2 3 100 5 2\n", "x.txt:1:1: the file says 2 flows, has 1"},
		{flows, "3\n0 2 3 1000000 2.0\n", "x.txt:1:1: the file says 3 flows, has 1"},
		{flows, "1\n0 2 3 1000000\n", "x.txt:2:1: a flow has 5 fields (source, destination, priority, bytes, start) or 6 (with a destination port before the bytes), this line has 4"},
		{flows, "2\n0 2 3 100 5 2\n0 2 3 100 5\n", "x.txt:3:1: a flow has 6 fields in the lines before, this line has 5"},
		{flows, "src,dst,bytes,start\nh1,h2,5,0us\n", "x.txt:1:1: the file is a CSV, not a simulator's flow file: it belongs in a scenario, as traffic: [{trace: {file: x.txt}}]"},
		{flows, "Nodes 8\nConnections 1\n0->1 start 0 size 5\n", "the file is a connection matrix of htsim: give it a name that ends in .cm"},
		{topology, "2 1 2\n1\n0 1 40Gbps 1us 0\n", "x.txt:1:5: the file says 2 links, has 1"},
		{topology, "leaf_spine: {leaves: 2}\n", `the file begins with "leaf_spine:": a topology of ours in YAML or JSON has a name that ends in .yaml or .json`},
		{topology, "CC_MODE 1\n", "the file begins with CC_MODE, a key of a configuration: give it as --config"},
		{flows, "1\n0 2 3 100 0 2\n", `a flow's size in bytes is "0"`},
		{flows, "1\n0 2 3 100 5 NaN\n", `a flow's start in seconds is "NaN"`},
		{config, "CC_MODE 9", `x.txt:1:1: CC_MODE: 9 is not supported; there are 1 (dcqcn), 10 (hpcc_pint), 3 (hpcc), 7 (timely), 8 (dctcp)`},
		{config, "PINT_LOG_BASE 1", `x.txt:1:1: PINT_LOG_BASE: "1" must be a number from 1.001 to 2`},
		{config, "PINT_PROB 0", `x.txt:1:1: PINT_PROB: "0" must be a number from 1e-06 to 1`},
		{config, "LB_MODE 1", `x.txt:1:1: LB_MODE: 1 is not supported; there are 0 (ecmp), 2 (drill), 3 (conga), 6 (letflow), 9 (conweave)`},
		{config, "\nRATE_AI", "x.txt:2:1: RATE_AI: a value is missing"},
		{config, "RATE_AI fast", `RATE_AI: "fast" must be a rate`},
		{config, "CONWEAVE_TX_EXPIRY_TIME 2000000", `x.txt:1:1: CONWEAVE_TX_EXPIRY_TIME: "2000000" must be a number from 0 to 1.073741e+06`},
		{config, "BUFFER_SIZE 0", `x.txt:1:1: BUFFER_SIZE: "0" must be a whole number from 1 to 4095`},
		{config, "RP_TIMER 0", `x.txt:1:1: RP_TIMER: "0" must be a number from 1 to 1e+09`},
		{config, "PAUSE_TIME 0", `x.txt:1:1: PAUSE_TIME: "0" must be a number from 1 to 1e+09`},
		{config, "KMIN_MAP 2 100000000000 400\n", "x.txt:1:1: KMIN_MAP: a value is missing"},
		{config, "EWMA_GAIN 2", `EWMA_GAIN: "2" must be a number from 0 to 1`},
		{config, "L2_ACK_INTERVAL 0", "flows without acknowledgements never end"},
	} {
		if err := c.read(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %q", c.in, err, c.want)
		}
	}
}

func FuzzReaders(f *testing.F) {
	f.Add(small)
	f.Add("1\n0 2 3 100 5 2\n")
	f.Add("KMAX_MAP 1 100000000000 400 {KB}\nKMIN_MAP 1 100000000000 100\nCC_MODE 3\nLINK_DOWN 1 2 3")
	n := smallTopology(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		if top, err := parseTopology("x", text, topo.SwitchConfig{}); (top == nil) == (err == nil) {
			t.Fatal(top, err)
		}
		if flows, _, err := parseFlows("x", text, n); flows != nil && err != nil {
			t.Fatal(flows, err)
		}
		if c, err := ParseConfig("x", text); (c == nil) == (err == nil) {
			t.Fatal(c, err)
		}
	})
}

func TestFCTFile(t *testing.T) {
	n := smallTopology(t)
	us := vtime.Microsecond
	flows := []fabric.FlowResult{
		{Flow: fabric.Flow{Src: 0, Dst: 3, Size: 2500, Start: 2 * vtime.Second, Port: 10000, Group: 100}, Finished: true, FCT: 50 * us},
		{Flow: fabric.Flow{Src: 0, Dst: 2, Size: 1, Start: 2*vtime.Second + us, Port: 10000, Group: 100}, Finished: true, FCT: 20 * us},
		{Flow: fabric.Flow{Src: 0, Dst: 2, Size: 7, Port: 10001, Group: 100}},
	}
	var b bytes.Buffer
	if err := WriteFCT(&b, n, flows, 1000, HPCC); err != nil {
		t.Fatal(err)
	}
	// 0→3: 2·(1+5+1) µs and 1000 bytes at 40, 100 and 40 Gb/s are 14 480 ns;
	// 2500+3·48 bytes at 40 Gb/s 528 ns. 0→2: 4 µs, 200+800 ns; 49 bytes at
	// 10 Gb/s 39.2 ns.
	const want = `0b000001 0b000201 10000 100 1 2000001000 20000 5039
0b000001 0b000301 10000 100 2500 2000000000 50000 15008
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	if err := WriteFCT(&b, n, flows, 1000, ConWeave); err != nil {
		t.Fatal(err)
	}
	const conweave = "0 2 10000 100 1 2000001000 20000 5039\n0 3 10000 100 2500 2000000000 50000 15008\n"
	if b.String() != conweave {
		t.Errorf("got\n%swant\n%s", b.String(), conweave)
	}
}

// ConWeave's simulator numbers ports by the flows of each host, to all destinations.
func TestPortsAsConWeaveCountsThem(t *testing.T) {
	flows, _, err := parseFlows("f.txt", "3\n0 2 3 1 2\n0 3 3 1 2\n3 2 3 1 2\n", smallTopology(t))
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]int
	for _, f := range flows {
		got = append(got, [2]int{int(f.Port), f.Group})
	}
	if want := [][2]int{{10000, 100}, {10001, 100}, {10000, 101}}; !slices.Equal(got, want) {
		t.Errorf("ports %v, want %v", got, want)
	}
}

// ConWeave's simulator writes every PFC frame, and nothing when a pause expires.
func TestPFCFileOfConWeave(t *testing.T) {
	events := []fabric.PauseEvent{
		{Time: 10 * vtime.Microsecond, Node: 0, Port: 1, Class: 3, Quanta: 10},
		{Time: 11 * vtime.Microsecond, Node: 0, Port: 1, Class: 3, Quanta: 10},
		{Time: 500 * vtime.Microsecond, Node: 1, Port: 3, Class: 3},
	}
	var b bytes.Buffer
	if err := WritePFC(&b, smallTopology(t), events, ConWeave); err != nil {
		t.Fatal(err)
	}
	if want := "10000 0 0 1 1\n11000 0 0 1 1\n500000 1 1 3 0\n"; b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestPFCFile(t *testing.T) {
	n := smallTopology(t)
	us := vtime.Microsecond
	// 0xffff quanta at 40 Gb/s are 838.848 µs.
	events := []fabric.PauseEvent{
		{Time: 10 * us, Node: 0, Port: 1, Class: 3, Quanta: 0xffff},
		{Time: 12 * us, Node: 1, Port: 3, Class: 3, Quanta: 0xffff},
		{Time: 400 * us, Node: 0, Port: 1, Class: 3, Quanta: 0xffff}, // renewed
		{Time: 500 * us, Node: 0, Port: 1, Class: 3},
		{Time: 501 * us, Node: 0, Port: 1, Class: 3},                  // nothing was paused
		{Time: 2000 * us, Node: 1, Port: 3, Class: 3, Quanta: 0xffff}, // the one before has run out
	}
	var b bytes.Buffer
	if err := WritePFC(&b, n, events, HPCC); err != nil {
		t.Fatal(err)
	}
	const want = `10000 0 0 1 1
12000 1 1 3 1
347539 1 1 3 0
500000 0 0 1 0
2000000 1 1 3 1
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
