// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/testbed/hpcc/hpcctest"
)

// everyKey is a configuration of HPCC's simulator with all of its keys. Outputs go
// where the simulator's config.txt says.
const everyKey = `ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
TOPOLOGY_FILE topology.txt
FLOW_FILE flow.txt
TRACE_FILE trace.txt
TRACE_OUTPUT_FILE mix/mix.tr
FCT_OUTPUT_FILE mix/fct.txt
PFC_OUTPUT_FILE mix/pfc.txt
SIMULATOR_STOP_TIME 4.00
CC_MODE 1
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 900
EWMA_GAIN 0.00390625
FAST_RECOVERY_TIMES 1
RATE_AI 50Mb/s
RATE_HAI 100Mb/s
MIN_RATE 100Mb/s
DCTCP_RATE_AI 1000Mb/s
ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
HAS_WIN 0
GLOBAL_T 1
VAR_WIN 0
FAST_REACT 1
U_TARGET 0.95
MI_THRESH 0
INT_MULTI 1
MULTI_RATE 0
SAMPLE_FEEDBACK 0
PINT_LOG_BASE 1.05
PINT_PROB 1.0
RATE_BOUND 1
ACK_HIGH_PRIO 0
LINK_DOWN 0 0 0
ENABLE_TRACE 0
KMAX_MAP 3 25000000000 400 50000000000 800 100000000000 1600
KMIN_MAP 3 25000000000 100 50000000000 200 100000000000 400
PMAX_MAP 3 25000000000 0.2 50000000000 0.2 100000000000 0.2
BUFFER_SIZE 32
QLEN_MON_FILE mix/qlen.txt
QLEN_MON_START 2000000000
QLEN_MON_END 2010000000
`

// Networks and flows.
const (
	oneLeaf  = "3 1 2\n2\n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n"
	lossy    = "3 1 2\n2\n0 2 100Gbps 0.001ms 0.01\n1 2 100Gbps 0.001ms 0.01\n"
	dumbbell = "8 2 7\n6 7\n0 6 100Gbps 0.001ms 0\n1 6 100Gbps 0.001ms 0\n2 6 100Gbps 0.001ms 0\n3 7 100Gbps 0.001ms 0\n4 7 100Gbps 0.001ms 0\n5 7 100Gbps 0.001ms 0\n6 7 100Gbps 0.002ms 0\n"
	twoPaths = "6 4 6\n2 3 4 5\n0 2 100Gbps 0.001ms 0\n1 3 100Gbps 0.001ms 0\n2 4 100Gbps 0.001ms 0\n2 5 100Gbps 0.001ms 0\n3 4 100Gbps 0.001ms 0\n3 5 100Gbps 0.001ms 0\n"
	// The ports of its leaves lead to a host and a spine in turn.
	inTurn   = "8 4 8\n4 5 6 7\n0 4 100Gbps 0.001ms 0\n4 6 100Gbps 0.001ms 0\n1 4 100Gbps 0.001ms 0\n4 7 100Gbps 0.001ms 0\n5 6 100Gbps 0.001ms 0\n2 5 100Gbps 0.001ms 0\n5 7 100Gbps 0.001ms 0\n3 5 100Gbps 0.001ms 0\n"
	parallel = "6 2 6\n4 5\n0 4 100Gbps 0.001ms 0\n1 4 100Gbps 0.001ms 0\n4 5 25Gbps 0.001ms 0\n2 5 100Gbps 0.001ms 0\n3 5 100Gbps 0.001ms 0\n4 5 50Gbps 0.002ms 0\n"

	lone      = "1\n0 1 3 100 2000000 2.0\n"
	crossing  = "6\n0 3 3 100 3000000 2.000000\n4 0 3 101 500000 2.000000\n1 4 3 102 3000000 2.000010\n2 5 3 103 800000 2.000020\n0 4 3 104 300000 2.000050\n1 3 3 105 20000 2.000100\n"
	fourAlike = "4\n0 1 3 100 1000000 2.0\n0 1 3 101 1000000 2.0\n0 1 3 102 1000000 2.0\n0 1 3 103 1000000 2.0\n"
	onFour    = "6\n0 2 3 100 1000000 2.0\n1 3 3 101 1000000 2.0\n0 3 3 102 1000000 2.0\n1 2 3 104 500000 2.0\n0 2 3 105 500000 2.0\n2 1 3 103 500000 2.0001\n"
	narrow    = "4\n0 2 3 100 1000000 2.0\n1 3 3 101 1000000 2.0\n0 3 3 102 1000000 2.0\n2 1 3 103 500000 2.0001\n"
)

// changes are keys and shapes of files. The flow completion times, by destination
// port in nanoseconds, are those of HPCC's simulator (9f4be2a, optimized build).
var changes = []struct {
	name, topology, flows, lines string
	fct                          []float64
	within                       float64 // of the mean
	says                         string  // a warning
}{
	{"ENABLE_QCN 0", dumbbell, crossing, "ENABLE_QCN 0", []float64{601138, 116477, 575866, 217266, 214076, 171130}, 0.01, ""},
	{"LINK_DOWN", twoPaths, fourAlike, "LINK_DOWN 50 2 4", []float64{339933, 340182, 342672, 340265}, 0.01, "with LINK_DOWN hosts have in pauseless a retransmission timeout"},
	{"LINK_DOWN in the middle of the ports", inTurn, onFour, "LINK_DOWN 30 4 6", []float64{1151126, 1160339, 1131704, 101801, 173186, 204441}, 0.06, ""},
	// Which frames are lost is chance.
	{"ERROR_RATE_PER_LINK", oneLeaf, lone, "ERROR_RATE_PER_LINK 0.01", []float64{334040}, 0.35, "with ERROR_RATE_PER_LINK hosts have in pauseless a retransmission timeout"},
	{"error rates of links", lossy, lone, "", []float64{303828}, 0.35, "with error rates of links hosts have in pauseless a retransmission timeout"},
	{"hosts and spines in turn", inTurn, onFour, "", []float64{215682, 157665, 215765, 52409, 109043, 134434}, 0.01, ""},
	{"priority 4", inTurn, strings.ReplaceAll(onFour, " 3 10", " 4 10"), "", []float64{215682, 157665, 215765, 52409, 109043, 134434}, 0.01, ""},
	{"parallel links", parallel, narrow, "", []float64{1436299, 1404736, 1422605, 98633}, 0.08, "of parallel links only the last carries traffic"},
	{"HPCC", dumbbell, crossing, "CC_MODE 3 HAS_WIN 1 VAR_WIN 1", []float64{656295, 79101, 680445, 198441, 68696, 12779}, 0.03, ""},
	{"HPCC, HAS_WIN 0", oneLeaf, lone, "CC_MODE 3", []float64{8736247}, 0.01, "HAS_WIN 0 with HPCC"},
	{"HPCC, VAR_WIN 0", dumbbell, crossing, "CC_MODE 3 HAS_WIN 1", []float64{705539, 101112, 627734, 231466, 81398, 10631}, 0.08, ""},
	{"HPCC, FAST_REACT 0", dumbbell, crossing, "CC_MODE 3 HAS_WIN 1 VAR_WIN 1 FAST_REACT 0", []float64{683902, 111559, 657220, 287499, 88029, 16704}, 0.03, ""},
	{"TIMELY with a window", dumbbell, crossing, "CC_MODE 7 HAS_WIN 1", []float64{598768, 135280, 598260, 240584, 118605, 38860}, 0.01, ""},
	{"TIMELY", dumbbell, crossing, "CC_MODE 7", []float64{1722509, 118060, 2386800, 219752, 205965, 158568}, 0.01, ""},
	{"DCTCP with a window", dumbbell, crossing, "CC_MODE 8 HAS_WIN 1", []float64{591676, 132496, 591138, 237684, 117215, 38330}, 0.01, ""},
	{"BUFFER_SIZE 1", dumbbell, crossing, "BUFFER_SIZE 1", []float64{601138, 75392, 576696, 211622, 173240, 38579}, 0.02, ""},
}

// Imported experiments run as in HPCC's simulator if a key is changed or a file has
// another shape. Where HPCC_SIM names the simulator, it runs as well, and its times
// must be those that are written here.
func TestChangesHaveTheSimulatorsEffect(t *testing.T) {
	for _, c := range changes {
		t.Run(c.name, func(t *testing.T) {
			experiment(t, c.topology, c.flows, everyKey+c.lines+"\n")
			if sim := os.Getenv("HPCC_SIM"); sim != "" {
				cmd := exec.CommandContext(t.Context(), sim, "config.txt")
				cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(filepath.Dir(sim), ".."))
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if got := times(t, "mix/fct.txt"); !slices.Equal(got, c.fct) {
					t.Errorf("the simulator has %.0f, recorded are %.0f", got, c.fct)
				}
			}
			var stdout, stderr bytes.Buffer
			if code := run([]string{"fabric", "run", "--config", "config.txt"}, nil, &stdout, &stderr); code != 0 || !strings.Contains(stderr.String(), c.says) {
				t.Fatalf("code %d, want a warning %q:\n%s", code, c.says, &stderr)
			}
			got := times(t, "mix/fct.txt")
			if mean(got)/mean(c.fct) < 1-c.within || mean(got)/mean(c.fct) > 1+c.within || len(got) != len(c.fct) {
				t.Errorf("flows take %.0f ns, in the simulator %.0f", got, c.fct)
			}
		})
	}
}

// experiment writes the files of an experiment into a folder and goes there.
func experiment(t *testing.T, topology, flows, config string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.Mkdir("mix", 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"topology.txt": topology, "flow.txt": flows, "config.txt": config, "trace.txt": "0\n"} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// times returns the flow completion times of a file in nanoseconds, in the order of
// source and destination ports.
func times(t *testing.T, file string) (ns []float64) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := hpcctest.FCTs(t, string(data))
	slices.SortFunc(all, func(a, b hpcctest.FCT) int {
		return strings.Compare(fmt.Sprint(a.SrcPort, a.DstPort), fmt.Sprint(b.SrcPort, b.DstPort))
	})
	for _, f := range all {
		ns = append(ns, float64(f.FCT.Nanoseconds()))
	}
	return ns
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / math.Max(float64(len(v)), 1)
}

// The configuration's outputs are written where it says, in the simulator's columns;
// they were read and ignored.
func TestOutputsOfAConfiguration(t *testing.T) {
	experiment(t, dumbbell, crossing, strings.ReplaceAll(everyKey, "mix/", "out/a/")+"BUFFER_SIZE 1 QLEN_MON_END 2100000000\n")
	var stdout, stderr bytes.Buffer
	if code := run([]string{"fabric", "run", "--config", "config.txt", "--record", "run.rec"}, nil, &stdout, &stderr); code != 0 {
		t.Fatalf("code %d:\n%s", code, &stderr)
	}
	if n := len(times(t, "out/a/fct.txt")); n != 6 {
		t.Errorf("%d flows in the file, want 6", n)
	}
	pfc, err := os.ReadFile("out/a/pfc.txt")
	if err != nil {
		t.Fatal(err)
	}
	if events := hpcctest.Pauses(t, string(pfc)); len(events) < 50 {
		t.Errorf("%d PFC events", len(events))
	}
	// The simulator's has the same lines: at 2 s all queues are empty, at 2.1 s there
	// are 1,000,001 samples of each.
	data, err := os.ReadFile("out/a/qlen.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 18 || lines[0] != "time: 2000000000" || lines[1] != "6 1 1" || lines[8] != "7 4 1" || lines[9] != "time: 2100000000" {
		t.Fatalf("lengths of queues are %q", lines)
	}
	for _, l := range lines[10:] {
		f := strings.Fields(l)
		sum := 0
		for _, w := range f[2:] {
			n, err := strconv.Atoi(w)
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		// At node 6, port 4 leads to the bottleneck: the simulator's queue is not empty
		// for 5,900 samples, and has 230 KB.
		if busy := strings.HasPrefix(l, "6 4 "); sum != 1_000_001 || busy && (len(f) < 180 || len(f) > 700 || f[2] > "998500") {
			t.Errorf("%d samples, %d lengths: %.60s…", sum, len(f), l)
		}
	}
	if _, err := os.Stat("run.rec"); err != nil {
		t.Error(err)
	}
}

// A configuration's outputs do not overwrite its inputs, and a flag replaces them.
func TestOutputsAreNotInputs(t *testing.T) {
	experiment(t, oneLeaf, lone, everyKey+"FCT_OUTPUT_FILE flow.txt\nPFC_OUTPUT_FILE ../pfc.txt\n")
	var stdout, stderr bytes.Buffer
	if code := run([]string{"fabric", "run", "--config", "config.txt"}, nil, &stdout, &stderr); code != 1 || !strings.Contains(stderr.String(), "flow.txt is read and would be overwritten") ||
		!strings.Contains(stderr.String(), "PFC_OUTPUT_FILE: ../pfc.txt is not written: it is outside of the working folder") {
		t.Errorf("code %d:\n%s", code, &stderr)
	}
	if code := run([]string{"fabric", "run", "--config", "config.txt", "--fct", "fct.txt", "--pfc", "pfc.txt"}, nil, &stdout, &stderr); code != 0 || len(times(t, "fct.txt")) != 1 {
		t.Errorf("code %d:\n%s", code, &stderr)
	}
	if text, err := os.ReadFile("flow.txt"); err != nil || string(text) != lone {
		t.Errorf("the flow file is now %q: %v", text, err)
	}
}

// Flows of the simulators start at two seconds. Without a configuration the run ended
// at one second, with no flow finished and exit code 0.
func TestFlowsStartAtTwoSeconds(t *testing.T) {
	for _, flows := range []string{lone, strings.ReplaceAll(lone, " 2.0", " 250000")} {
		experiment(t, oneLeaf, flows, everyKey)
		var stdout, stderr bytes.Buffer
		if code := run([]string{"fabric", "run", "--topology", "topology.txt", "--flows", "flow.txt"}, nil, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), "1 of 1") {
			t.Errorf("code %d:\n%s%s", code, &stdout, &stderr)
		}
	}
}

// A run that leaves measured flows ends with 3, and says how many and why.
func TestFlowsThatAreLeft(t *testing.T) {
	experiment(t, oneLeaf, lone, everyKey+"SIMULATOR_STOP_TIME 2.0001\n")
	scenario := "name: cut\nnetwork: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}}\nprofiles: [ecmp]\nuntil: 5us\ntraffic:\n- burst: {from: h1, to: h3, flows: 2, size: 1MB}\n"
	if err := os.WriteFile("cut.yaml", []byte(scenario), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		want string
		args []string
	}{
		{"ecmp, seed 1 was cut off at 2000.10 ms: 1 of 1 measured flows had not ended; raise until (SIMULATOR_STOP_TIME", []string{"--config", "config.txt"}},
		{"ecmp, seed 1 was cut off at 5 µs: 2 of 2 measured flows had not ended; raise until", []string{"cut.yaml"}},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(append([]string{"fabric", "run"}, c.args...), nil, &stdout, &stderr); code != exitStuck || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%v: code %d, want %q:\n%s", c.args, code, c.want, &stderr)
		}
	}
}

// A file of another kind is named as what it is.
func TestFilesOfOtherKinds(t *testing.T) {
	experiment(t, oneLeaf, lone, everyKey)
	if err := os.WriteFile("topo.py", []byte("from mininet.topo import Topo\nclass T(Topo): pass\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"no file nope.yaml: `fabric run` needs a scenario in YAML":                                                      {"nope.yaml"},
		"config.txt is not a scenario, but looks like HPCC's or ConWeave's configuration: give it as --config":          {"config.txt"},
		"topology.txt is not a scenario, but looks like HPCC's or ConWeave's topology: give it as --topology":           {"topology.txt"},
		"flow.txt is not a scenario, but looks like HPCC's or ConWeave's flow file: give it as --flows":                 {"flow.txt"},
		"topo.py:1:1: the file is a Python program, which is not run: give a p4app.json, or a topology of ours in YAML": {"--topology", "topo.py", "--flows", "flow.txt"},
		"config.txt:1:1: the file begins with ENABLE_QCN, a key of a configuration: give it as --config":                {"--topology", "config.txt", "--flows", "flow.txt"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(append([]string{"fabric", "run"}, args...), nil, &stdout, &stderr); code == 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%v: code %d, want %q:\n%s", args, code, want, &stderr)
		}
	}
}

// Ports of a rate that the maps lack mark nothing, instead of what our defaults mark.
func TestRatesThatTheMapsLack(t *testing.T) {
	experiment(t, strings.ReplaceAll(dumbbell, "6 7 100Gbps", "6 7 40Gbps"), crossing, everyKey)
	var stdout, stderr bytes.Buffer
	if code := run([]string{"fabric", "run", "--config", "config.txt"}, nil, &stdout, &stderr); code != 0 || !strings.Contains(stderr.String(), "KMIN_MAP, KMAX_MAP and PMAX_MAP do not all have 40Gbps (1 links): nothing is marked there") {
		t.Fatalf("code %d:\n%s", code, &stderr)
	}
	unmarked := times(t, "mix/fct.txt")
	experiment(t, strings.ReplaceAll(dumbbell, "6 7 100Gbps", "6 7 40Gbps"), crossing, everyKey+"ENABLE_QCN 0\n")
	if code := run([]string{"fabric", "run", "--config", "config.txt"}, nil, &stdout, &stderr); code != 0 {
		t.Fatalf("code %d:\n%s", code, &stderr)
	}
	if none := times(t, "mix/fct.txt"); math.Abs(mean(none)/mean(unmarked)-1) > 0.01 {
		t.Errorf("flows take %.0f ns, without marks %.0f", unmarked, none)
	}
}
