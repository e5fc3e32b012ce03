// SPDX-License-Identifier: Apache-2.0

package exercises

import (
	"path/filepath"
	"testing"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// inFabric are the exercises as scenarios: their own networks, programs and entries, and
// what their pages say that arrives. Names of files are relative to the exercise.
var inFabric = []struct{ name, dir, text string }{
	{"basic", "basic", `
topology: pod-topo/topology.json
program: {p4: solution/basic.p4, entries: "pod-topo/{switch}-runtime.json"}
packets:
- {name: near, from: h1, to: h2, ping: true}
- {name: far, from: h1, to: h4, ping: true}
- {name: none, from: h1, ipv4: {destination: 10.9.9.9}}
- {name: udp, from: h3, to: h2, udp: {destination: 4321}, text: P4 is cool}
expect:
- {packets: near, at: h1}
- {packets: far, at: h1}
- {packets: near, at: h2, fields: {ipv4.ttl: 63, ipv4.checksum: ok}}
- {packets: udp, at: h2, fields: {ipv4.ttl: 61, ipv4.checksum: ok, text: P4 is cool, "ethernet.destination": "08:00:00:00:02:22"}}
- {packets: none, at: h1, count: 0}
`},
	{"triangle", "basic", `
topology: triangle-topo/topology.json
program: {p4: solution/basic.p4, entries: "triangle-topo/{switch}-runtime.json"}
packets:
- {name: a, from: h1, to: h2, ping: true}
- {name: b, from: h1, to: h3, ping: true}
expect:
- {packets: a, at: h1}
- {packets: b, at: h1}
`},
	// What the pages say about the programs before anything was added to them.
	{"incomplete basic", "basic", `
topology: pod-topo/topology.json
program: {p4: basic.p4, entries: "pod-topo/{switch}-runtime.json"}
packets: [{name: a, from: h1, to: h2, ping: true}]
expect: [{packets: a, at: h2, count: 0}]
`},
	{"incomplete calc", "calc", `
topology: topology.json
program: {p4: calc.p4, entries: "{switch}-runtime.json"}
packets: [{name: sum, from: h1, ethernet: {type: "0x1234"}, hex: "5034 01 2b 00000007 00000005 deadbeef 2020"}]
expect: [{packets: sum, at: h1, count: 0}]
`},
	{"incomplete ecn", "ecn", `
topology: topology.json
program: {p4: ecn.p4, entries: "{switch}-runtime.json"}
until: 100s
packets:
- {name: iperf, from: h11, to: h22, udp: {destination: 5001}, size: 1500B, rate: 1Mbps, duration: 500ms}
- {name: ect, from: h1, to: h2, start: 400ms, udp: {destination: 4321}, ipv4: {ecn: 1}}
expect: [{packets: ect, at: h2, fields: {ipv4.ecn: 1}}]
`},
	{"incomplete mri", "mri", `
topology: topology.json
program: {p4: mri.p4, entries: "{switch}-runtime.json"}
packets: [{name: mri, from: h1, to: h2, udp: {destination: 4321}, ipv4: {options: 1f04 0000}, text: P4 is cool}]
expect: [{packets: mri, at: h2, bytes: "**** **** **** **** **** **** 0800 46"}]
`},
	{"incomplete load_balance", "load_balance", `
topology: topology.json
program: {p4: load_balance.p4, entries: "{switch}-runtime.json"}
packets: [{name: a, from: h1, tcp: {source: 50001, destination: 1234}, ipv4: {destination: 10.0.0.1}}, {name: b, from: h1, tcp: {source: 50003, destination: 1234}, ipv4: {destination: 10.0.0.1}}]
expect: [{at: h3, count: 0}]
`},
	{"incomplete multicast", "multicast", `
topology: sig-topo/topology.json
program: {p4: multicast.p4, entries: []}
packets: [{name: all, from: h1, ethernet: {destination: "ff:ff:ff:ff:ff:ff", type: "0x0806"}, hex: "00"}]
expect: [{packets: all, at: h2, count: 0}]
`},
	{"incomplete firewall", "firewall", `
topology: pod-topo/topology.json
program: {p4: basic.p4}
packets: [{name: iperf in, from: h3, to: h1, tcp: {source: 40002, destination: 5001, bytes: 100KB}}]
expect: [{packets: iperf in, at: h1, stream: true}]
`},
	{"incomplete qos", "qos", `
topology: topology.json
program: {p4: qos.p4, entries: "{switch}-runtime.json"}
packets: [{name: udp, from: h1, to: h2, udp: {destination: 4321}, ipv4: {tos: 1}}]
expect: [{packets: udp, at: h2, bytes: "**** **** **** **** **** **** 0800 4501"}]
`},
	{"incomplete source_routing", "source_routing", `
topology: topology.json
program: {p4: source_routing.p4, entries: "{switch}-runtime.json"}
packets: [{name: long, from: h1, to: h2, ethernet: {type: "0x1234"}, insert: 0002 0003 0002 0002 8001, udp: {destination: 4321}}]
expect: [{packets: long, at: h2, count: 0}]
`},
	{"incomplete link_monitor", "link_monitor", `
topology: pod-topo/topology.json
program: {p4: link_monitor.p4, entries: "pod-topo/{switch}-runtime.json"}
packets: [{name: probe, from: h1, ethernet: {type: "0x0812"}, hex: "00 04 01 04 01 03 02 03 02 01 00000000000000000000000000000000000000000000000000000000000000000000000000000000"}]
expect: [{packets: probe, at: h1, bytes: "**** **** **** **** **** **** 0812 09 01 00"}]
`},
	{"basic_tunnel", "basic_tunnel", `
topology: topology.json
program: {p4: solution/basic_tunnel.p4, entries: "{switch}-runtime.json"}
packets:
- {name: plain, from: h1, to: h2, udp: {destination: 9}}
- {name: two, from: h1, to: h3, ethernet: {type: "0x1212"}, insert: 0800 0002, udp: {destination: 9}}
- {name: three, from: h1, to: h2, ethernet: {type: "0x1212"}, insert: 0800 0003, udp: {destination: 9}}
expect:
- {packets: plain, at: h2}
- {packets: two, at: h2, bytes: "**** **** **** **** **** **** 1212 0800 0002 45"}
- {packets: three, at: h3}
`},
	{"calc", "calc", `
topology: topology.json
program: {p4: solution/calc.p4, entries: "{switch}-runtime.json"}
packets:
- {name: sum, from: h1, ethernet: {type: "0x1234"}, hex: "5034 01 2b 00000007 00000005 deadbeef 2020"}
- {name: times, from: h1, ethernet: {type: "0x1234"}, hex: "5034 01 2a 00000007 00000005 deadbeef 2020"}
expect:
- {packets: sum, at: h1, bytes: "**** **** **** **** **** **** 1234 5034 01 2b 00000007 00000005 0000000c 2020"}
- {packets: times, at: h1, count: 0}
`},
	{"ecn", "ecn", `
topology: topology.json
program: {p4: solution/ecn.p4, entries: "{switch}-runtime.json"}
until: 100s
packets:
- {name: iperf, from: h11, to: h22, udp: {destination: 5001}, size: 1500B, rate: 1Mbps, duration: 2s}
- {name: ect, from: h1, to: h2, start: 1s, every: 100ms, count: 10, udp: {destination: 4321}, ipv4: {ecn: 1}}
- {name: plain, from: h1, to: h2, start: 1s, every: 100ms, count: 10, udp: {destination: 4321}}
expect:
- {packets: ect, at: h2, fields: {ipv4.ecn: 3}}
- {packets: plain, at: h2, fields: {ipv4.ecn: 0}}
`},
	{"mri", "mri", `
topology: topology.json
program: {p4: solution/mri.p4, entries: "{switch}-runtime.json"}
until: 100s
packets:
- {name: iperf, from: h11, to: h22, udp: {destination: 5001}, size: 1500B, rate: 1Mbps, duration: 1s}
- {name: mri, from: h1, to: h2, start: 900ms, udp: {destination: 4321}, ipv4: {options: 1f04 0000}, text: P4 is cool}
expect:
- {packets: mri, at: h2, bytes: "**** **** **** **** **** **** 0800 4a** **** **** **** **** **** **** **** **** **** 1f14 0002 00000002 ******** 00000001"}
`},
	{"load_balance", "load_balance", `
topology: topology.json
program: {p4: solution/load_balance.p4, entries: "{switch}-runtime.json"}
packets:
- {name: a, from: h1, tcp: {source: 50001, destination: 1234}, ipv4: {destination: 10.0.0.1}}
- {name: b, from: h1, tcp: {source: 50002, destination: 1234}, ipv4: {destination: 10.0.0.1}}
- {name: c, from: h1, tcp: {source: 50003, destination: 1234}, ipv4: {destination: 10.0.0.1}}
- {name: d, from: h1, tcp: {source: 50004, destination: 1234}, ipv4: {destination: 10.0.0.1}}
- {name: e, from: h1, tcp: {source: 50005, destination: 1234}, ipv4: {destination: 10.0.0.1}}
expect:
- {at: h2, least: 1, fields: {ipv4.destination: 10.0.2.2, ipv4.checksum: ok}}
- {at: h3, least: 1, fields: {ipv4.destination: 10.0.3.3, ipv4.checksum: ok}}
`},
	{"multicast", "multicast", `
topology: sig-topo/topology.json
program: {p4: solution/multicast.p4, entries: "solution/{switch}-runtime.json"}
packets:
- {name: all, from: h1, ethernet: {destination: "ff:ff:ff:ff:ff:ff", type: "0x0806"}, hex: "00"}
- {name: one, from: h1, to: h3}
expect:
- {packets: all, at: h2}
- {packets: all, at: h3}
- {packets: all, at: h4}
- {packets: all, at: h1, count: 0}
- {packets: one, at: h3}
- {packets: one, at: h2, count: 0}
`},
	{"firewall", "firewall", `
topology: pod-topo/topology.json
program: {p4: basic.p4, entries: "pod-topo/{switch}-runtime.json", switches: {s1: {p4: solution/firewall.p4}}}
until: 5s
packets:
- {name: in, from: h3, to: h1, tcp: {source: 5001, destination: 40000}}
- {name: out, from: h1, to: h3, start: 400ms, tcp: {source: 40000, destination: 5001}}
- {name: back, from: h3, to: h1, start: 800ms, tcp: {source: 5001, destination: 40000, flags: [syn, ack]}}
- {name: inside, from: h1, to: h2, tcp: {source: 1, destination: 2}}
- {name: iperf out, from: h1, to: h3, start: 1200ms, tcp: {source: 40001, destination: 5001, bytes: 100KB}}
- {name: iperf in, from: h3, to: h1, start: 1200ms, tcp: {source: 40002, destination: 5001, bytes: 100KB}}
expect:
- {packets: iperf out, at: h3, stream: true}
- {packets: iperf in, at: h1, stream: false}
- {packets: in, at: h1, count: 0}
- {packets: out, at: h3, fields: {ipv4.checksum: ok}}
- {packets: back, at: h1}
- {packets: inside, at: h2}
`},
	{"qos", "qos", `
topology: topology.json
program: {p4: solution/qos.p4, entries: "{switch}-runtime.json"}
packets:
- {name: udp, from: h1, to: h2, udp: {destination: 4321}, ipv4: {tos: 1}}
- {name: tcp, from: h1, to: h2, tcp: {destination: 4321}, ipv4: {tos: 1}}
expect:
- {packets: udp, at: h2, fields: {ipv4.dscp: 46}}
- {packets: tcp, at: h2, fields: {ipv4.dscp: 44}}
`},
	{"source_routing", "source_routing", `
topology: topology.json
program: {p4: solution/source_routing.p4, entries: "{switch}-runtime.json"}
packets:
- {name: long, from: h1, to: h2, ethernet: {type: "0x1234"}, insert: 0002 0003 0002 0002 8001, udp: {destination: 4321}}
- {name: short, from: h1, to: h2, ethernet: {type: "0x1234"}, insert: 0002 8001, udp: {destination: 4321}}
- {name: plain, from: h1, to: h2, udp: {destination: 4321}}
expect:
- {packets: long, at: h2, fields: {ipv4.ttl: 59, ethernet.type: "0x0800"}}
- {packets: short, at: h2, fields: {ipv4.ttl: 62}}
- {packets: plain, at: h2, count: 0}
`},
	{"link_monitor", "link_monitor", `
topology: pod-topo/topology.json
program: {p4: solution/link_monitor.p4, entries: "pod-topo/{switch}-runtime.json"}
packets:
- {name: probe, from: h1, ethernet: {type: "0x0812"}, hex: "00 04 01 04 01 03 02 03 02 01 00000000000000000000000000000000000000000000000000000000000000000000000000000000"}
expect:
- {packets: probe, at: h1, bytes: "**** **** **** **** **** **** 0812 09 01 01"}
`},
}

// Each exercise runs in the fabric from the checkout as it is, and the incomplete program
// fails as its page says.
func TestInTheFabric(t *testing.T) {
	root := checkout(t)
	for _, c := range inFabric {
		t.Run(c.name, func(t *testing.T) {
			s, err := scenario.ParseIn(c.name+".yaml", []byte("name: "+c.name+c.text), filepath.Join(root, c.dir), scenario.Paper, nil)
			if err != nil {
				t.Fatal(err)
			}
			runs, err := s.Run(t.Context(), scenario.Options{Event: func(controlplane.Event) {}})
			if err != nil {
				t.Fatal(err)
			}
			for _, u := range runs[0].Unmet {
				t.Error(u)
			}
		})
	}
}
