// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// everyWeaveKey is what ConWeave's run.py writes. The simulator knows networks by the
// name of their file, and runs none of another bandwidth-delay product.
const everyWeaveKey = `TOPOLOGY_FILE leaf_spine_128_100G_OS2.txt
FLOW_FILE flow.txt
FLOW_INPUT_FILE mix/in.txt
CNP_OUTPUT_FILE mix/cnp.txt
FCT_OUTPUT_FILE mix/fct.txt
PFC_OUTPUT_FILE mix/pfc.txt
QLEN_MON_FILE mix/qlen.txt
VOQ_MON_FILE mix/voq.txt
VOQ_MON_DETAIL_FILE mix/voq_per_dst.txt
UPLINK_MON_FILE mix/uplink.txt
CONN_MON_FILE mix/conn.txt
EST_ERROR_MON_FILE mix/est_error.txt
QLEN_MON_START 2000000000
QLEN_MON_END 2000100000
SW_MONITORING_INTERVAL 10000
FLOWGEN_START_TIME 2.0
FLOWGEN_STOP_TIME 2.001
BUFFER_SIZE 9
CC_MODE 1
LB_MODE 0
ENABLE_PFC 1
ENABLE_IRN 0
CONWEAVE_TX_EXPIRY_TIME 300
CONWEAVE_REPLY_TIMEOUT_EXTRA 4
CONWEAVE_PATH_PAUSE_TIME 16
CONWEAVE_EXTRA_VOQ_FLUSH_TIME 16
CONWEAVE_DEFAULT_VOQ_WAITING_TIME 200
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
CLAMP_TARGET_RATE 0
RP_TIMER 300
FAST_RECOVERY_TIMES 1
EWMA_GAIN 0.00390625
RATE_AI 40Mb/s
RATE_HAI 100Mb/s
MIN_RATE 100Mb/s
DCTCP_RATE_AI 1000Mb/s
ERROR_RATE_PER_LINK 0.0000
L2_CHUNK_SIZE 4000
L2_ACK_INTERVAL 1
L2_BACK_TO_ZERO 0
RATE_BOUND 1
HAS_WIN 0
VAR_WIN 0
FAST_REACT 0
MI_THRESH 0
INT_MULTI 1
GLOBAL_T 1
U_TARGET 0.95
MULTI_RATE 0
SAMPLE_FEEDBACK 0
ENABLE_QCN 1
USE_DYNAMIC_PFC_THRESHOLD 1
PACKET_PAYLOAD_SIZE 1000
LINK_DOWN 0 0 0
KMAX_MAP 2 50000000000 200 100000000000 400
KMIN_MAP 2 50000000000 50 100000000000 100
PMAX_MAP 2 50000000000 0.2 100000000000 0.2
LOAD 50
`

// leaves is a leaf-spine network at 100 Gb/s in the simulators' format.
type leaves struct {
	leaves, spines, hosts int
	slow                  bool // links to the first spine have 50 Gb/s
	inTurn                bool // links of hosts and spines take turns
	twice                 bool // the first uplink has a parallel one
}

func (l leaves) String() string {
	n := l.leaves * l.hosts
	var switches, down, up []string
	for i := range l.leaves + l.spines {
		switches = append(switches, fmt.Sprint(n+i))
	}
	for h := range n {
		down = append(down, fmt.Sprintf("%d %d 100Gbps 1000ns 0", h, n+h/l.hosts))
	}
	for i := range l.leaves {
		for s := range l.spines {
			rate := 100
			if l.slow && s == 0 {
				rate = 50
			}
			up = append(up, fmt.Sprintf("%d %d %dGbps 1000ns 0", n+i, n+l.leaves+s, rate))
		}
	}
	if l.twice {
		up = append(up, up[0])
	}
	links := slices.Concat(down, up)
	if l.inTurn {
		links = nil
		for i := range max(len(down), len(up)) {
			links = slices.Concat(links, down[min(i, len(down)):min(i+1, len(down))], up[min(i, len(up)):min(i+1, len(up))])
		}
	}
	return fmt.Sprintf("%d %d %d\n%s\n%s\n", n+len(switches), len(switches), len(links), strings.Join(switches, " "), strings.Join(links, "\n"))
}

const (
	weaveCrossing = "8\n0 4 3 1000000 2.0\n1 4 3 700000 2.000000001\n2 5 3 1000000 2.000000002\n3 6 3 400000 2.00001\n5 0 3 800000 2.00002\n6 1 3 30000 2.00003\n7 0 3 500000 2.00004\n2 3 3 200000 2.00005\n"
	weaveIncast   = "7\n1 0 3 500000 2.000000001\n2 0 3 500000 2.000000002\n3 0 3 500000 2.000000003\n4 0 3 500000 2.000000004\n5 0 3 500000 2.000000005\n6 0 3 500000 2.000000006\n7 0 3 500000 2.000000007\n"
)

var (
	two     = leaves{leaves: 2, spines: 2, hosts: 4}
	twoSlow = leaves{leaves: 2, spines: 2, hosts: 4, slow: true}
)

// weaveChanges are keys and shapes of files. The means of the flow completion times in
// nanoseconds, by seed from 1 on, are those of ConWeave's simulator (network-load-balance
// of conweave-ns3, optimized build).
var weaveChanges = []struct {
	name     string
	topology leaves
	flows    string
	lines    string
	mean     []float64
	within   float64
	says     string // a warning
}{
	{"as run.py writes it", two, weaveCrossing, "", []float64{345904, 347586, 340997}, 0.02, ""},
	{"ENABLE_QCN 0", two, weaveCrossing, "ENABLE_QCN 0", []float64{99887}, 0.01, ""},
	{"KMIN_MAP, KMAX_MAP, PMAX_MAP", two, weaveCrossing, "KMIN_MAP 1 100000000000 5 KMAX_MAP 1 100000000000 10 PMAX_MAP 1 100000000000 1", []float64{339224, 338331, 341619}, 0.04, ""},
	{"RP_TIMER, ALPHA_RESUME_INTERVAL, RATE_DECREASE_INTERVAL", two, weaveCrossing, "RP_TIMER 55 ALPHA_RESUME_INTERVAL 55 RATE_DECREASE_INTERVAL 50", []float64{98848, 98969, 98854}, 0.01, ""},
	{"CLAMP_TARGET_RATE", two, weaveCrossing, "CLAMP_TARGET_RATE 1 RP_TIMER 30", []float64{897488, 895421, 837353}, 0.05, ""},
	{"RATE_AI, RATE_HAI", two, weaveCrossing, "RATE_AI 1000Mb/s RATE_HAI 2000Mb/s RP_TIMER 30", []float64{147984, 155599, 154765}, 0.06, ""},
	{"MIN_RATE", two, weaveCrossing, "MIN_RATE 20000Mb/s", []float64{140017, 138495, 137579}, 0.01, ""},
	{"LB_MODE 2", two, weaveCrossing, "LB_MODE 2 ENABLE_QCN 0", []float64{380390, 373528, 373528}, 0.04, ""},
	{"LB_MODE 3, slow uplinks", twoSlow, weaveCrossing, "LB_MODE 3 ENABLE_QCN 0", []float64{114548, 126458, 127020}, 0.08, ""},
	{"LB_MODE 6", two, weaveCrossing, "LB_MODE 6 ENABLE_QCN 0", []float64{105594, 105231, 103896}, 0.05, ""},
	{"LB_MODE 9", two, weaveCrossing, "LB_MODE 9 ENABLE_QCN 0", []float64{97503, 109477, 104437}, 0.08, ""},
	{"CONWEAVE_PATH_PAUSE_TIME", twoSlow, weaveCrossing, "LB_MODE 9 CONWEAVE_PATH_PAUSE_TIME 200", []float64{324105, 363802, 322401}, 0.06, ""},
	{"CONWEAVE_DEFAULT_VOQ_WAITING_TIME, CONWEAVE_EXTRA_VOQ_FLUSH_TIME", twoSlow, weaveCrossing, "LB_MODE 9 CONWEAVE_DEFAULT_VOQ_WAITING_TIME 8 CONWEAVE_EXTRA_VOQ_FLUSH_TIME 1", []float64{351501, 365554, 354424}, 0.06, ""},
	{"ENABLE_IRN 1", two, weaveIncast, "ENABLE_IRN 1 ENABLE_QCN 0", []float64{284887}, 0.01, ""},
	{"BUFFER_SIZE 0", two, weaveIncast, "BUFFER_SIZE 0 ENABLE_QCN 0", []float64{258137}, 0.01, ""},
	{"BUFFER_SIZE 1", two, weaveIncast, "BUFFER_SIZE 1 ENABLE_QCN 0", []float64{645048}, 0.07, ""},
	{"PAUSE_TIME", two, weaveIncast, "PAUSE_TIME 50 BUFFER_SIZE 3 ENABLE_QCN 0", []float64{257674}, 0.01, ""},
	{"CC_MODE 3", two, weaveCrossing, "CC_MODE 3 HAS_WIN 1 VAR_WIN 1 FAST_REACT 1", []float64{112318}, 0.01, ""},
	{"U_TARGET", two, weaveCrossing, "CC_MODE 3 HAS_WIN 1 VAR_WIN 1 FAST_REACT 1 U_TARGET 0.7 RATE_AI 400Mb/s", []float64{136312}, 0.01, ""},
	{"CC_MODE 7", two, weaveCrossing, "CC_MODE 7", []float64{101021}, 0.01, ""},
	{"CC_MODE 8", two, weaveCrossing, "CC_MODE 8 HAS_WIN 1 VAR_WIN 1 DCTCP_RATE_AI 100Mb/s", []float64{101216, 101586, 101343}, 0.02, ""},
	{"HAS_WIN 1", two, weaveCrossing, "HAS_WIN 1 ENABLE_QCN 0", []float64{99694}, 0.01, ""},
	{"ERROR_RATE_PER_LINK", two, weaveCrossing, "ERROR_RATE_PER_LINK 0.001 ENABLE_QCN 0", []float64{386338, 420874, 383592}, 0.35, ""},
	{"LINK_DOWN", two, weaveCrossing, "LINK_DOWN 30 8 10 ENABLE_QCN 0", []float64{234404}, 0.01, ""},
	{"LINK_DOWN, ENABLE_IRN 1", two, weaveCrossing, "LINK_DOWN 30 8 10 ENABLE_IRN 1 ENABLE_QCN 0", []float64{175614}, 0.06, ""},
	{"slow uplinks", twoSlow, weaveCrossing, "ENABLE_QCN 0", []float64{119996}, 0.01, ""},
	{"hosts and spines in turn", leaves{leaves: 2, spines: 2, hosts: 4, slow: true, inTurn: true}, weaveCrossing, "ENABLE_QCN 0", []float64{119996}, 0.01, ""},
	{"four leaves and three spines", leaves{leaves: 4, spines: 3, hosts: 2}, weaveCrossing, "ENABLE_QCN 0", []float64{85562}, 0.01, ""},
	{"parallel links", leaves{leaves: 2, spines: 2, hosts: 4, twice: true}, weaveCrossing, "ENABLE_QCN 0", []float64{99890}, 0.01, "of parallel links only the last carries traffic"},
	{"priority 4", two, regexp.MustCompile(`(?m)^(\d+ \d+) 3 `).ReplaceAllString(weaveCrossing, "$1 4 "), "ENABLE_QCN 0", []float64{99887}, 0.01, ""},
	{"flows from 2.5 s on", two, strings.ReplaceAll(weaveCrossing, " 2.0", " 2.5"), "FLOWGEN_STOP_TIME 2.6 ENABLE_QCN 0", []float64{99887}, 0.01, ""},
}

// Imported experiments run as in ConWeave's simulator if a key is changed or a file has
// another shape. Where CONWEAVE_SIM names the simulator, it runs as well, and its times
// must be those that are written here.
func TestChangesHaveTheEffectInConWeave(t *testing.T) {
	for _, c := range weaveChanges {
		t.Run(c.name, func(t *testing.T) {
			var ours []float64
			for seed := range c.mean {
				experiment(t, "", c.flows, fmt.Sprintf("%s%s\nRANDOM_SEED %d\n", everyWeaveKey, c.lines, seed+1))
				if err := os.WriteFile("leaf_spine_128_100G_OS2.txt", []byte(c.topology.String()), 0o666); err != nil {
					t.Fatal(err)
				}
				if sim := os.Getenv("CONWEAVE_SIM"); sim != "" {
					cmd := exec.CommandContext(t.Context(), sim, "config.txt")
					cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(filepath.Dir(sim), ".."))
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Fatalf("%v\n%s", err, out[max(0, len(out)-2000):])
					}
					if got := mean(times(t, "mix/fct.txt")); math.Abs(got-c.mean[seed]) > 1 {
						t.Errorf("seed %d: the simulator has a mean of %.0f, recorded is %.0f", seed+1, got, c.mean[seed])
					}
				}
				var stdout, stderr bytes.Buffer
				if code := run([]string{"fabric", "run", "--config", "config.txt"}, nil, &stdout, &stderr); code != 0 || !strings.Contains(stderr.String(), c.says) {
					t.Fatalf("code %d, want a warning %q:\n%s", code, c.says, &stderr)
				}
				got := times(t, "mix/fct.txt")
				if want, _, _ := strings.Cut(c.flows, "\n"); fmt.Sprint(len(got)) != want {
					t.Fatalf("%d flows ended, want %s", len(got), want)
				}
				ours = append(ours, mean(got))
			}
			if r := mean(ours) / mean(c.mean); r < 1-c.within || r > 1+c.within {
				t.Errorf("flows take %.0f ns in the mean, in the simulator %.0f: ratio %.3f", mean(ours), mean(c.mean), r)
			}
		})
	}
}

// Packets of a lossless class beyond the limit that ConWeave's switches have for a
// queue are dropped as there, counted in a remark, and do not fail the run. A scenario
// with the same buffer management has no such limit.
func TestLimitOfLosslessQueues(t *testing.T) {
	flows := "14\n"
	for i := range 14 {
		flows += fmt.Sprintf("%d 0 3 300000 2.0000000%02d\n", 1+i%7, i)
	}
	experiment(t, "", flows, everyWeaveKey+"ENABLE_QCN 0 BUFFER_SIZE 1\n")
	if err := os.WriteFile("leaf_spine_128_100G_OS2.txt", []byte(two.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"fabric", "run", "--config", "config.txt"}, nil, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), " packets of a lossless class were dropped because their queue had 1 times the free buffer") {
		t.Errorf("code %d:\n%s%s", code, &stdout, &stderr)
	}
	text := "name: same\nnetwork:\n  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}\n  switch: {buffer: 1MB, mmu: conweave}\nprofile: ecmp\nhosts: {cc: {algorithm: none}}\ntraffic:\n- incast: {degree: 7, size: 600KB}\n"
	if err := os.WriteFile("same.yaml", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	stdout.Reset()
	if code := run([]string{"fabric", "run", "same.yaml"}, nil, &stdout, &stderr); code != 0 || strings.Contains(stdout.String(), "times the free buffer") {
		t.Errorf("code %d:\n%s%s", code, &stdout, &stderr)
	}
}
