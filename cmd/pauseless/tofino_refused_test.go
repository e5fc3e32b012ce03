// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/bfrt/bfrttest"
	"github.com/pauseless/pauseless/gen"
)

// refusal is a network, a program and a switch with which `tofino apply` does not work.
type refusal struct {
	message string // the row of docs/reference/tofino-apply.md, as it is there
	program string
	network string // changes of tofinoNetwork, as in "delay: 1us => delay: 5us; …"
	built   string // the same, of the network that the program is built for
	flags   []string
	server  func(t *testing.T, s *bfrttest.Server, address string) // changes the switch
	out     string                                                 // what to do, by the message
}

// panel24 places the ports of a leaf with 24 hosts and 8 uplinks in the first pipeline.
func panel24() (flags []string) {
	for p := range 24 {
		flags = append(flags, "--panel", fmt.Sprintf("%d=%d/%d", p+1, 9+p/4, p%4))
	}
	for p := range 8 {
		flags = append(flags, "--panel", fmt.Sprintf("%d=%d/0", p+25, 15+p))
	}
	return flags
}

const (
	hosts25 = "rate: 100Gbps => rate: 25Gbps, uplink_rate: 100Gbps"
	spines9 = "spines: 2 => spines: 9; hosts_per_leaf: 2 => hosts_per_leaf: 1"
)

// firstPipe places ports 1 to n on the connectors of the second pipeline's ports 1 to 8,
// and further ones on 25 to 32, which are in the same one.
func firstPipe(n int) (flags []string) {
	for p := 9; p <= n; p++ {
		flags = append(flags, "--panel", fmt.Sprintf("%d=%d/0", p, p+16))
	}
	return flags
}

var refusals = []refusal{
	{message: "… keeps the state of paths in registers, of which each pipeline has its own", program: "plb", flags: []string{"--panel", "4=17/0"}, out: "In pipeline 1 they fit with --panel 1=1/0"},
	{message: "port … is in pipeline …, which does not run the program", program: "ecmp", flags: []string{"--pipes", "0"}, out: "add 1 to --pipes"},
	{message: "… takes … channels of a connector from channel …", program: "ecmp", flags: []string{"--panel", "4=4/1"}, out: "write --panel 4=4/0"},
	{message: "ports … and … both need channel …", program: "ecmp", network: hosts25, flags: []string{"--panel", "1=3/2"}, out: "give one of them another connector with --panel"},
	{message: "--panel …: … has ports 1 to … in the topology", program: "ecmp", flags: []string{"--panel", "9=9/0"}, out: "l1 has ports 1 to 4"},
	{message: "the switch has no port … of the front panel", program: "ecmp", flags: []string{"--panel", "4=37/0"}, out: "give another with --panel"},
	{message: "a Tofino port does not run at …", program: "ecmp", network: "rate: 100Gbps => rate: 200Gbps", out: "but at 1, 10, 25, 40, 50 or 100 Gb/s"},
	{message: "… is compiled for links of …", program: "rlb-ecmp", built: "delay: 1us => delay: 5us", out: "pauseless tofino build --topology FILE"},
	{message: "… is compiled for links of …", program: "plb", built: "delay: 1us => delay: 10us", out: "the window of round-trip times is 2^19 ns and must be 2^16 ns"},
	{message: "… is compiled for links of …", program: "plb", flags: []string{"--rtt", "60us"}, out: "pauseless tofino build --topology FILE --rtt 60us"},
	{message: "…, and the topology has no PFC", program: "plb", network: "xoff: 256KB => off: true", out: "or use a scheme that does not react to pauses, as ecmp"},
	{message: "messages of … take up to … of …, which has …", program: "plb", network: "leaves: 2 => leaves: 60; delay: 1us => delay: 20ns", out: "446Gbps of recirculation port 196 (pipeline 1), which has 100Gbps"},
	{message: "there are … equal-cost paths to …, but the program has … paths", program: "rlb-ecmp", network: spines9, flags: firstPipe(10), out: "generate it with larger sizes"},
	{message: "there are …, more than the program's …", program: "ecmp", network: "leaves: 2 => leaves: 65", out: "65 leaves, more than the program's 64; generate it with larger sizes"},
	{message: "the equal-cost ports to … are not consecutive", program: "ecmp", network: "leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us} => graph: {rate: 100Gbps, delay: 1us, switches: [{name: l1, tier: 1}, {name: l2, tier: 1}, {name: l3, tier: 1}, {name: s1, tier: 2}, {name: s2, tier: 2}, {name: s3, tier: 2}], hosts: [{name: h1, on: l1}, {name: h2, on: l2}, {name: h3, on: l3}], links: [{a: l1, b: s1}, {a: l1, b: s2}, {a: l1, b: s3}, {a: l2, b: s1}, {a: l2, b: s3}, {a: l3, b: s2}]}", out: "order the links in the topology"},
	{message: "… is …, and the clock of a program for Tofino measures less than …", program: "clb", network: "delay: 1us => delay: 3s", built: "delay: 1us => delay: 1us", out: "lower it in the profile (set: {clb.interval: …})"},
	{message: "--rtt … is less than the …", program: "ecmp", flags: []string{"--rtt", "1us"}, out: "measure from leaf to leaf and back"},
	{message: "… is more than 100 times the …", program: "ecmp", flags: []string{"--rtt", "1s"}, out: "mind the unit"},
	{message: "messages of … take up to … of …, which has …", program: "rlb-drill", network: hosts25 + "; spines: 2 => spines: 8; hosts_per_leaf: 2 => hosts_per_leaf: 24", flags: panel24(), out: "use fewer ports on this switch"},
	{message: "switch.pfc.headroom is …, and port … needs …", program: "ecmp", network: "xoff: 256KB => xoff: 256KB, headroom: 20KB", out: "Remove the line, so that it is computed"},
	{message: "lets a port at …", program: "ecmp", network: "xoff: 256KB => xoff: 256KB, headroom: 20KB", out: "in which IEEE 802.3 (31B.3.7) lets a port at 100Gbps obey a PAUSE"},
	{message: "the headroom of its ports needs … cells …, and the chip has …", program: "ecmp", network: "delay: 1us => delay: 200us", out: "use shorter or slower links"},
	{message: "XOFF is … cells …, which an ingress queue never has", program: "ecmp", network: "xoff: 256KB => xoff: 8MB", out: "lower switch.pfc.xoff to at most"},
	{message: "XOFF is … cells …, which an ingress queue never has", program: "ecmp", network: "xoff: 256KB => alpha: 0.5", out: "that of switch.pfc.alpha with switch.buffer: lower one of them"},
	{message: "switch.pfc.xoff is …, less than a frame of …", program: "ecmp", network: "xoff: 256KB => xoff: 1B", out: "raise it"},
	{message: "switch.buffer is …, and a Tofino has …", program: "ecmp", network: "buffer: 22MB => buffer: 64MB", out: "lower it"},
	{message: "…, and the topology has no PFC", program: "rlb-ecmp", network: "xoff: 256KB => off: true", out: "or use the scheme below it, ecmp"},
	{message: "… switches do not pause each other", program: "pcn", network: "xoff: 256KB => xoff: 256KB, hosts_only: true", out: "(switch.pfc.hosts_only): remove this line"},
	{message: "port … does not obey PFC (mode_rx …)", program: "ecmp", out: "the driver sets PFC on a chip, but not in its model", server: func(t *testing.T, s *bfrttest.Server, _ string) {
		none := bfrt.Entry{Table: "tf1.tm.port.flowcontrol", Match: []bfrt.Match{bfrt.Eq("dev_port", 140)}, Data: map[string]any{"mode_tx": "NONE", "mode_rx": "NONE"}}
		if err := s.PutEntry(1, none); err != nil {
			t.Fatal(err)
		}
	}},
	{message: "binding to …: another controller owns the program", program: "ecmp applied", out: "end it first", server: func(t *testing.T, _ *bfrttest.Server, address string) {
		c := client(t, address, 9)
		if err := c.Bind(t.Context(), "ecmp"); err != nil {
			t.Fatal(err)
		}
	}},
	{message: "client … is refused", program: "ecmp", out: "give another", server: func(t *testing.T, _ *bfrttest.Server, address string) { client(t, address, 1) }},
	{message: "… entries differ from what was written", program: "ecmp", out: "bf_drivers.log", server: func(_ *testing.T, s *bfrttest.Server, _ string) { s.Forget("$mirror.cfg", "$max_pkt_len") }},
}

// client connects a client with this number until the test ends.
func client(t *testing.T, address string, id uint32) *bfrt.Client {
	t.Helper()
	c, err := bfrt.Dial(t.Context(), address, bfrt.Options{ClientID: id})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// networkWith returns tofinoNetwork with changes, in a file.
func networkWith(t *testing.T, changes string) string {
	t.Helper()
	text := tofinoNetwork
	for c := range strings.SplitSeq(changes, "; ") {
		from, to, ok := strings.Cut(c, " => ")
		if c == "" {
			continue
		}
		if !ok || !strings.Contains(text, from) {
			t.Fatalf("nothing to change by %q", c)
		}
		text = strings.Replace(text, from, to, 1)
	}
	file := filepath.Join(t.TempDir(), "network.yaml")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// pattern matches a message of the page, where … is any text.
func pattern(message string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(message), "…", ".+"))
}

// Each message of docs/reference/tofino-apply.md is what apply says to a switch that has
// its cause, with what to do, and nothing is written.
func TestTofinoApplyRefuses(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/tofino-apply.md")
	if err != nil {
		t.Fatal(err)
	}
	tried := make(map[string]bool)
	for _, r := range refusals {
		tried[r.message] = true
	}
	for row := range strings.Lines(string(page)) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			if !tried[m[1]] {
				t.Errorf("there is no test of %q", m[1])
			}
			delete(tried, m[1])
		}
	}
	for m := range tried {
		t.Errorf("the page has no %q", m)
	}
	for _, r := range refusals {
		t.Run(r.message, func(t *testing.T) {
			t.Parallel()
			server, address := bfrttest.Start(t)
			network := networkWith(t, r.network)
			name, more, _ := strings.Cut(r.program, " ")
			p, err := gen.Builtin(name)
			if err != nil {
				t.Fatal(err)
			}
			built := network
			if r.built != "" {
				built = networkWith(t, r.built)
			}
			dir := profileForTofino(t, p, built)
			apply := func(flags ...string) (string, int) {
				var out bytes.Buffer
				code := run(append([]string{"tofino", "apply", network, dir, "--addr", "l1=" + address}, flags...), nil, &out, &out)
				return out.String(), code
			}
			if more == "applied" {
				if text, code := apply(); code != 0 {
					t.Fatalf("exit code %d: %s", code, text)
				}
			}
			if r.server != nil {
				r.server(t, server, address)
			}
			text, code := apply(r.flags...)
			if code == 0 || !pattern(r.message).MatchString(text) || !strings.Contains(text, r.out) || strings.Contains(text, "entries written") || strings.Contains(text, "switch l1: switch l1: ") || strings.Contains(text, "at least -") {
				t.Errorf("exit code %d, want the message %q with %q: %s", code, r.message, r.out, text)
			}
		})
	}
}
