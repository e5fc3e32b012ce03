// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/internal/simnet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/virtual"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// byPort sends what comes from port 3 to port 2, with its last byte changed, and all else to
// port 3.
const byPort = `
#include <core.p4>
#include <v1model.p4>
header eth_t { bit<48> dst; bit<48> src; bit<16> type; }
struct hs { eth_t eth; }
struct m_t { }
parser P(packet_in p, out hs h, inout m_t m, inout standard_metadata_t s) { state start { p.extract(h.eth); transition accept; } }
control N(inout hs h, inout m_t m) { apply { } }
control I(inout hs h, inout m_t m, inout standard_metadata_t s) {
    apply { if (s.ingress_port == 3) { s.egress_spec = 2; } else { h.eth.dst = (bit<48>) s.ingress_port; s.egress_spec = 3; } }
}
control E(inout hs h, inout m_t m, inout standard_metadata_t s) { apply { } }
control D(packet_out p, in hs h) { apply { p.emit(h.eth); } }
V1Switch(P(), N(), I(), E(), N(), D()) main;
`

// A switch of p4-utils with cpu_port has it as its next port: packets that it sends there
// are received by its CPU, and those that its CPU sends come from there.
const cpuApp = `{"p4_src": "a.p4", "topology": {"assignment_strategy": "l2", "links": [["h1", "s1"], ["h2", "s1"]],
  "hosts": {"h1": {}, "h2": {}}, "switches": {"s1": {"cpu_port": true}}}}`

func TestPortToTheCPU(t *testing.T) {
	runs := runOwn(t, map[string]string{"a.p4": byPort, "p4app.json": cpuApp}, `
topology: p4app.json
program: {}
packets:
- {name: in, from: h1, to: h2, udp: {destination: 9}}
- {name: out, from: s1-cpu, to: h2, start: 1ms, udp: {destination: 9}}
expect:
- {packets: in, at: s1-cpu, fields: {"ethernet.destination": "00:00:00:00:00:01"}}
- {packets: in, at: h2, count: 0}
- {packets: out, at: h2}
`, Options{})
	if len(runs[0].Unmet) > 0 {
		t.Error(runs[0].Unmet)
	}
}

// The same port is that of P4Runtime: a controller gets what the switch sends there, and its
// packets come from there. The last one is sent when nothing else is under way: it had been
// left where it was.
func TestPortToTheCPUByP4Runtime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := ownFiles(t, map[string]string{"a.p4": byPort, "p4app.json": cpuApp}, `
topology: p4app.json
program: {}
until: 100ms
packets: [{name: in, from: h1, to: h2, count: 2, every: 1ms, udp: {destination: 9}}]
expect:
- {packets: in, at: s1-cpu, count: 2}
- {at: h2, count: 2, bytes: "000000000001"}
`)
		if err != nil {
			t.Fatal(err)
		}
		network := simnet.New(rand.New(rand.NewPCG(1, 1)))
		conn, err := grpc.NewClient("passthrough:///s1", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(network.Dialer("controller")))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		got := make(chan int, 1)
		go func() { got <- bounce(t.Context(), conn) }()
		serve := &virtual.Serve{Quiet: 500 * time.Millisecond, Listen: func(n *topo.Node) (net.Listener, error) { return network.Listen(n.Name) }}
		runs, err := s.Run(t.Context(), Options{Serve: serve})
		if err != nil {
			t.Fatal(err)
		}
		if len(runs[0].Unmet) > 0 {
			t.Error(strings.Join(runs[0].Unmet, "\n"))
		}
		if n := <-got; n != 2 {
			t.Errorf("the controller got %d packets", n)
		}
	})
}

// bounce is a controller that sends each packet back. It returns their number.
func bounce(ctx context.Context, conn *grpc.ClientConn) (n int) {
	stream, err := p4v1.NewP4RuntimeClient(conn).StreamChannel(ctx)
	if err != nil {
		return -1
	}
	err = stream.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{
		Arbitration: &p4v1.MasterArbitrationUpdate{DeviceId: 1, ElectionId: one}}})
	for err == nil {
		var m *p4v1.StreamMessageResponse
		if m, err = stream.Recv(); m.GetPacket() != nil {
			n++
			err = stream.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Packet{Packet: &p4v1.PacketOut{Payload: m.GetPacket().Payload}}})
		}
	}
	return n
}

// The tutorials give the number of that port, which has no link.
func TestNumberOfTheCPUPort(t *testing.T) {
	app := `{"links": [["h1", "s1-p1"], ["h2", "s1-p2"]], "hosts": {"h1": {"ip": "10.0.0.1/24"}, "h2": {"ip": "10.0.0.2/24"}}, "switches": {"s1": {"cpu_port": "3"}}}`
	text := `
topology: topology.json
program: {p4: a.p4}
packets: [{name: in, from: h1, to: h2, udp: {destination: 9}}]
expect: [{at: h2, count: 0}]
`
	files := map[string]string{"a.p4": byPort, "topology.json": app}
	if runs := runOwn(t, files, text, Options{}); len(runs[0].Unmet) > 0 {
		t.Error(runs[0].Unmet)
	}
	if _, err := ownFiles(t, files, strings.Replace(text, "at: h2", "at: s1-cpu", 1)); err == nil || !strings.Contains(err.Error(), `no host is called "s1-cpu"`) {
		t.Error(err)
	}
}

// A host with two links sends by the one that is named, receives by both, and answers by the
// one that a packet came by. A port number that the file leaves out is a port without a
// link.
func TestHostWithTwoLinks(t *testing.T) {
	app := `{"hosts": {"h1": {"ip": "10.0.1.1/24", "mac": "08:00:00:00:01:11"}, "h2": {"ip": "10.0.2.2/24", "mac": "08:00:00:00:02:22"}},
	  "switches": {"s1": {}}, "links": [["h1", "s1-p1"], ["h1", "s1-p2", "1ms"], ["h2", "s1-p4"]]}`
	p4 := strings.Replace(byPort, "if (s.ingress_port == 3) { s.egress_spec = 2; } else { h.eth.dst = (bit<48>) s.ingress_port; s.egress_spec = 3; }",
		"if (h.eth.type == 0x0800) { s.egress_spec = s.ingress_port == 4 ? 9w2 : 9w4; } else { s.egress_spec = 3; }", 1)
	runs := runOwn(t, map[string]string{"a.p4": p4, "topology.json": app}, `
topology: topology.json
program: {p4: a.p4}
packets:
- {name: first, from: h1, to: h2, ping: true}
- {name: second, from: h1.2, to: h2, start: 10ms, ping: true}
- {name: to, from: h2, to: h1, start: 20ms, ping: true}
- {name: gap, from: h1, ethernet: {type: "0x1234"}, hex: "00"}
expect:
- {packets: first, at: h1}
- {packets: second, at: h1}
- {packets: second, at: h2, fields: {ipv4.checksum: ok}}
- {packets: to, at: h1}
- {packets: to, at: h2}
- {packets: gap, at: h2, count: 0}
`, Options{})
	if len(runs[0].Unmet) > 0 {
		t.Error(runs[0].Unmet)
	}
	for i, least := range []float64{0, 1000, 1000} {
		if got := runs[0].Packets[i]; got.AvgUS < least || got.AvgUS > least+100 {
			t.Errorf("%s took %v us: it has the wrong link", got.Name, got.AvgUS)
		}
	}
	if got := runs[0].Packets[3]; got.Lost != 1 {
		t.Errorf("%+v", got)
	}
}

// A packet whose time is after the end of the run was not sent, and is not lost; an
// expectation about such packets is not met.
func TestPacketsAfterTheEndAreNotSent(t *testing.T) {
	runs := runOwn(t, map[string]string{"a.p4": byPort}, ownNetwork+`
program: {p4: a.p4}
until: 1ms
packets:
- {name: late, from: h1, to: h2, start: 2ms, udp: {destination: 9}}
- {name: some, from: h2, to: h1, count: 5, every: 400us, udp: {destination: 9}}
expect: [{packets: late, at: h2}]
`, Options{})
	late, some := runs[0].Packets[0], runs[0].Packets[1]
	if late.Sent != 0 || late.Lost != 0 || some.Sent != 3 {
		t.Errorf("%+v, %+v", late, some)
	}
	if len(runs[0].Unmet) != 1 || !strings.Contains(runs[0].Unmet[0], "no packet of late was sent before the end of the run") {
		t.Error(runs[0].Unmet)
	}
}
