// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/packets"
	"github.com/pauseless/pauseless/testbed/result"
)

// hostsP4 routes by the host's address, with entries that its annotations ask for.
func hostsP4(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile("testdata/hosts.p4")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// ownFiles writes files into a folder, in which a scenario is read.
func ownFiles(t testing.TB, files map[string]string, text string) (*Scenario, error) {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return ParseIn("own.yaml", []byte(text), dir, Paper, nil)
}

func runOwn(t testing.TB, files map[string]string, text string, o Options) []*result.Run {
	t.Helper()
	s, err := ownFiles(t, files, text)
	if err != nil {
		t.Fatal(err)
	}
	o.Event = quiet
	runs, err := s.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

const ownNetwork = `
name: own
network:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}
`

// A program of one's own is an arm beside profiles, and its flows arrive.
func TestOwnProgramBesideProfiles(t *testing.T) {
	for _, arms := range []string{
		"arms: [{name: mine, program: {p4: hosts.p4}}, {name: ecmp, profile: ecmp}]",
		"program: {p4: hosts.p4}\nprofiles: [ecmp]",
		"profile: ecmp\narms: [{name: mine, program.p4: hosts.p4}, {name: ecmp}]",
	} {
		runs := runOwn(t, map[string]string{"hosts.p4": hostsP4(t)}, ownNetwork+arms+`
traffic: [{incast: {degree: 3, size: 20KB, to: h1}}]
`, Options{})
		if len(runs) != 2 {
			t.Fatalf("%s: %d runs", arms, len(runs))
		}
		for _, r := range runs {
			if r.Summary.Finished != 3 || r.Summary.Dropped > 0 {
				t.Errorf("%s: %s: %+v", arms, r.Label(), r.Summary)
			}
		}
	}
}

// A program that does not know about queues loses no lossless packet: its packets wait in
// the queue of their class, which PFC pauses.
func TestOwnProgramIsLossless(t *testing.T) {
	runs := runOwn(t, map[string]string{"hosts.p4": hostsP4(t)}, `
name: lossless
network: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 4, rate: 10Gbps, delay: 1us}}
program: {p4: hosts.p4}
traffic: [{incast: {degree: 4, size: 1MB, to: h1}}]
`, Options{})
	if s := runs[0].Summary; s.Finished != 4 || s.PauseFrames == 0 || s.Dropped > 0 {
		t.Errorf("%+v", s)
	}
}

// Entries come from files in four formats; a switch can have others, and its own program.
func TestEntriesOfOwnPrograms(t *testing.T) {
	plain := strings.Replace(hostsP4(t), `@entries("hosts")`, "", 1)
	const pair = "\nprogram: {p4: plain.p4, entries: "
	const cli = "table_add I.route I.forward %s/32 => %d %s\n"
	all := fmt.Sprintf(cli, "10.0.0.1", 1, "02:00:00:00:00:00") + fmt.Sprintf(cli, "10.0.0.2", 2, "02:00:00:00:00:01")
	files := map[string]string{
		"plain.p4": plain,
		"a.txt":    all,
		"b.txt":    "I.route h.ip.dst=10.0.0.1/32 -> forward(port=1, mac=02:00:00:00:00:00)\nroute h.ip.dst=10.0.0.2 -> forward(port=2, mac=02:00:00:00:00:01)\n",
		"c.json": `{"target": "bmv2", "table_entries": [
{"table": "I.route", "match": {"h.ip.dst": ["10.0.0.1", 32]}, "action_name": "I.forward", "action_params": {"port": 1, "mac": "02:00:00:00:00:00"}},
{"table": "I.route", "match": {"h.ip.dst": ["10.0.0.2", 32]}, "action_name": "I.forward", "action_params": {"port": 2, "mac": "02:00:00:00:00:01"}}]}`,
		"l1.txt":  all,
		"drop.p4": strings.Replace(plain, "route.apply();", "route.apply(); drop();", 1),
	}
	const rest = "}\ntraffic: []\npackets: [{name: p, from: h1, to: h2, count: 3, every: 1us, udp: {destination: 9}}]\nexpect: [{packets: p, at: h2, order: true, fields: {ipv4.ttl: 63, ipv4.checksum: ok}}]\n"
	for _, c := range []struct {
		entries string
		unmet   int
	}{{"a.txt", 0}, {"b.txt", 0}, {"c.json", 0}, {"[a.txt]", 0}, {"", 1},
		{`"", switches: {leaf: {entries: a.txt}}`, 0}, {`"", switches: {l1: {entries: "{switch}.txt"}}`, 0}, {"a.txt, switches: {leaf: {p4: drop.p4}}", 1}} {
		runs := runOwn(t, files, ownNetwork+pair+c.entries+rest, Options{})
		if len(runs[0].Unmet) != c.unmet {
			t.Errorf("entries: %s: %v", c.entries, runs[0].Unmet)
		}
	}
}

func TestErrorsInOwnPrograms(t *testing.T) {
	p4 := hostsP4(t)
	for _, c := range []struct{ p4, text, want string }{
		{p4, "program: {p4: none.p4}", "none.p4"},
		{p4, "program: {p4: hosts.p4, entris: x}", `unknown key "entris"`},
		{p4, "program: {p4: hosts.p4, switches: {leef: {p4: x}}}", `no switch and no role is called "leef" (did you mean "leaf"?)`},
		{p4, "program: {p4: hosts.p4}\nprofile: ecmp", "both profile and program are given"},
		{p4, "program: {p4: hosts.p4}\nset: {red.kmin: 1KB}", "set gives parameters of profiles"},
		{p4, "program: {p4: hosts.p4}\nbmv2: {packet_rate: 1000}", "leave out bmv2"},
		{p4, "program: {p4: hosts.p4, entries: e.txt}", `e.txt:2: table route has no action "forwrd" (did you mean "forward"?)`},
		{strings.Replace(p4, "h.ip.ttl - 1", "h.ip.tttl - 1", 1), "program: {p4: hosts.p4}", "hosts.p4:"},
		{strings.Replace(p4, `"hosts"`, `"host"`, 1), "program: {p4: hosts.p4}", `@entries("host") (did you mean "hosts"?)`},
		{strings.Replace(p4, `host.port`, `host.prt`, 1), "program: {p4: hosts.p4}", ""}, // when the entries are made
	} {
		files := map[string]string{"hosts.p4": c.p4, "e.txt": "# \nroute h.ip.dst=10.0.0.1/32 -> forwrd()\n"}
		_, err := ownFiles(t, files, strings.TrimSpace(ownNetwork)+"\n"+c.text+"\ntraffic: [{incast: {degree: 3, size: 20KB, to: h1}}]\n")
		if c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestPackets(t *testing.T) {
	var pcap bytes.Buffer
	runs := runOwn(t, map[string]string{"hosts.p4": hostsP4(t)}, ownNetwork+`
program: {p4: hosts.p4}
packets:
- {name: udp, from: h1, to: h3, count: 5, every: 10us, udp: {source: 7, destination: 8}, text: P4 is cool, ipv4: {dscp: 46, ecn: 1}}
- {name: ping, from: h1, to: h4, ping: true, count: 2, every: 1ms, start: 1us}
- {name: fast, from: h2, to: h3, udp: {destination: 9}, rate: 5Gbps, duration: 100us, size: 1000B}
- {name: lost, from: h2, udp: {destination: 9}, ipv4: {destination: 10.9.9.9}}
- {name: tcp, start: 500us, from: h2, to: h1, tcp: {source: 1, destination: 2, flags: [syn, ack]}}
- {name: odd, start: 600us, from: h2, to: h1, insert: "12 34", ipv4: {ttl: 9}}
expect:
- {packets: udp, at: h3, order: true, fields: {ipv4.ttl: 61, ipv4.checksum: ok, text: P4 is cool, udp.source: 7, ipv4.tos: 0xb9, ethernet.destination: "02:00:00:00:00:02", ethernet.type: 0x800}}
- {packets: ping, at: h1, fields: {icmp.type: 0}}
- {packets: fast, at: h3, least: 60, most: 63, fields: {length: 1000}}
- {packets: lost, at: h1, count: 0}
- {packets: tcp, at: h1, bytes: "02 00 00 00 00 00", some: true}
- {packets: tcp, at: h1, fields: {ipv4.ttl: 64}}
- {packets: udp, at: h4}
`, Options{Packets: func(_ *result.Run, r *packets.Run) error { return r.WritePcap(&pcap, r.Hosts()[2]) }})
	r := runs[0]
	want := []string{"packet 1 that h1 received has ipv4.ttl 63, not 64", "h4 received 0 packets of udp, and 5 were sent"}
	if !slices.Equal(r.Unmet, want) {
		t.Errorf("not met: %q, want %q", r.Unmet, want)
	}
	// Two frames of 60 bytes and 24 more at 10 Gb/s, and three links of 1 us; the switches store them.
	hop := (10 * vtime.Gbps).TxTime(60 + 24)
	if got, want := r.Metrics["avg_packet_us.tcp"], (2*hop + 2*vtime.Microsecond).Microseconds(); got != want {
		t.Errorf("delay by one switch is %v us, want %v", got, want)
	}
	for name, want := range map[string]float64{"packets_sent.udp": 5, "packets_received.udp": 5, "packets_answered.ping": 2, "packets_lost.lost": 1, "packets_lost": 2, "packets_out_of_order": 0} {
		if r.Metrics[name] != want {
			t.Errorf("%s is %v, want %v", name, r.Metrics[name], want)
		}
	}
	if n := pcap.Len(); n < 60*1000 {
		t.Errorf("the file has %d bytes", n)
	}
}

// The mean wait of Poisson arrivals of equal packets is that of M/D/1, and so, by
// Little's law, is the mean queue. The sender's link is so fast that no packet waits there.
func TestQueueIsMD1(t *testing.T) {
	const length = 1000
	network := `{"hosts": {"h1": {}, "h2": {}}, "switches": {"s1": {}}, "links": [["h1", "s1-p1", "0", 1000000], ["h2", "s1-p2", "0", 10000]]}`
	service := (10 * vtime.Gbps).TxTime(length + 24).Microseconds()
	for _, load := range []float64{0.5, 0.7} {
		runs := runOwn(t, map[string]string{"hosts.p4": hostsP4(t), "net.json": network}, fmt.Sprintf(`
name: md1
topology: net.json
program: {p4: hosts.p4}
packets: [{from: h1, to: h2, udp: {destination: 9}, size: %dB, rate: %gGbps, poisson: true, count: 200_000}]
`, length, load*10), Options{})
		// The rate of Poisson arrivals is in bits of the sender's link, where a packet takes as
		// many as on the other.
		wait := load / (2 * (1 - load)) * service // Pollaczek and Khinchine
		first := (1000 * vtime.Gbps).TxTime(length + 24).Microseconds()
		got := runs[0].Metrics["avg_packet_us"] - first - service - 2
		t.Logf("load %g: mean wait %.4f us, M/D/1 %.4f us (%+.2f %%)", load, got, wait, 100*(got/wait-1))
		if got < 0.98*wait || got > 1.02*wait || runs[0].Metrics["packets_lost"] > 0 {
			t.Errorf("load %g: mean wait is %.4f us, want %.4f", load, got, wait)
		}
	}
}
