// SPDX-License-Identifier: Apache-2.0

package goclient

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/antoninbas/p4runtime-go-client/pkg/client"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

const learning = `
network: {graph: {rate: 1Gbps, delay: 1us, switches: [{name: s1}], hosts: [{name: h1, on: s1}, {name: h2, on: s1}, {name: h3, on: s1}]}}
program: {p4: learn.p4}
until: 10ms
packets:
- {name: first, from: h1, to: h2, udp: {destination: 9}}
- {name: answer, from: h2, to: h1, start: 1ms, udp: {destination: 9}}
- {name: again, from: h1, to: h2, start: 2ms, udp: {destination: 9}}
expect:
- {packets: first, at: h3}
- {packets: answer, at: h1}
- {packets: answer, at: h3, count: 0}
- {packets: again, at: h2}
- {packets: again, at: h3, count: 0}
`

// A learning switch in virtual time with an unmodified controller: it makes the multicast
// group, gets digests of new addresses, and adds entries before the next packet.
func TestLearningSwitchInTheFabric(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile("../../testbed/scenario/testdata/learn.p4")
	scenario := filepath.Join(dir, "learn.yaml")
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "learn.p4"), text, 0o666), os.WriteFile(scenario, []byte(learning), 0o666)); err != nil {
		t.Fatal(err)
	}
	// The quiet time is a long one, since this machine may be busy.
	p := begin(t, "s1: P4Runtime at ", "fabric", "run", scenario, "--serve=127.0.0.1:0", "--quiet", "2s")
	c := primary(t, p.addr)
	ctx := t.Context()
	c.ok(c.InsertMulticastGroup(ctx, 1, []uint32{1, 2, 3}))
	c.ok(c.EnableDigest(ctx, "learn_t", &p4v1.DigestEntry_Config{MaxListSize: 1}))
	learned := 0
	for learned < 2 {
		list := c.next().GetDigest()
		for _, data := range list.GetData() {
			members := data.GetStruct().GetMembers()
			mac, port := members[0].GetBitstring(), members[1].GetBitstring()
			c.ok(c.InsertTableEntry(ctx, c.NewTableEntry("MyIngress.smac", src(mac), c.NewTableActionDirect("NoAction", nil), nil)))
			c.ok(c.InsertTableEntry(ctx, c.NewTableEntry("MyIngress.dmac", dst(mac), c.NewTableActionDirect("MyIngress.forward", [][]byte{port}), nil)))
			learned++
		}
		c.ok(c.AckDigestList(ctx, list))
	}
	<-p.ended
	if p.failed != nil { // the exit code is 3 if packets do not arrive as expected
		t.Errorf("%v", p.failed)
	}
}

func src(mac []byte) map[string]client.MatchInterface {
	return map[string]client.MatchInterface{"h.eth.src": &client.ExactMatch{Value: mac}}
}

func dst(mac []byte) map[string]client.MatchInterface {
	return map[string]client.MatchInterface{"h.eth.dst": &client.ExactMatch{Value: mac}}
}
