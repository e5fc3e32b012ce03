// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/internal/simnet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/packets"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/virtual"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// learning has one switch whose controller learns addresses, and forgets them after 100 ms
// without a packet.
const learning = `
network:
  graph:
    rate: 1Gbps
    delay: 1us
    switches: [{name: s1}]
    hosts: [{name: h1, on: s1}, {name: h2, on: s1}, {name: h3, on: s1}]
program: {p4: learn.p4, entries: groups.txt}
until: 380ms
packets:
- {name: first, from: h1, to: h2, udp: {destination: 9}}
- {name: answer, from: h2, to: h1, start: 200us, udp: {destination: 9}}
- {name: again, from: h1, to: h2, start: 400us, udp: {destination: 9}}
- {name: late, from: h1, to: h2, start: 300ms, udp: {destination: 9}}
expect:
- {packets: first, at: h2}
- {packets: first, at: h3}
- {packets: answer, at: h1}
- {packets: answer, at: h3, count: 0}
- {packets: again, at: h2}
- {packets: again, at: h3, count: 0}
- {packets: late, at: h3}
`

// learner is a controller of such a switch, as one writes it with the stubs of P4Runtime
// alone.
type learner struct {
	t      *testing.T
	client p4v1.P4RuntimeClient
	stream p4v1.P4Runtime_StreamChannelClient
	info   *p4configv1.P4Info
	aged   int
	// sets makes it set the pipeline that it finds again, and the multicast group, which is
	// gone then.
	sets bool
}

var one = &p4v1.Uint128{Low: 1}

// run connects, finds the program, asks for digests, and answers until the stream ends.
func (l *learner) run(ctx context.Context, conn *grpc.ClientConn) error {
	l.client = p4v1.NewP4RuntimeClient(conn)
	var err error
	if l.stream, err = l.client.StreamChannel(ctx); err != nil {
		return err
	}
	err = l.stream.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{
		Arbitration: &p4v1.MasterArbitrationUpdate{DeviceId: 1, ElectionId: one}}})
	if err != nil {
		return err
	}
	if _, err := l.stream.Recv(); err != nil {
		return err
	}
	config, err := l.client.GetForwardingPipelineConfig(ctx, &p4v1.GetForwardingPipelineConfigRequest{DeviceId: 1})
	if err != nil {
		return err
	}
	l.info = config.Config.P4Info
	if l.sets {
		_, err := l.client.SetForwardingPipelineConfig(ctx, &p4v1.SetForwardingPipelineConfigRequest{
			DeviceId: 1, ElectionId: one, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, Config: config.Config})
		if err != nil {
			return err
		}
		group := &p4v1.MulticastGroupEntry{MulticastGroupId: 1}
		for port := range byte(3) {
			group.Replicas = append(group.Replicas, &p4v1.Replica{PortKind: &p4v1.Replica_Port{Port: []byte{port + 1}}})
		}
		err = l.write(ctx, p4v1.Update_INSERT, &p4v1.Entity{Entity: &p4v1.Entity_PacketReplicationEngineEntry{
			PacketReplicationEngineEntry: &p4v1.PacketReplicationEngineEntry{Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{MulticastGroupEntry: group}}}})
		if err != nil {
			return err
		}
	}
	digest := l.info.Digests[0].Preamble.Id
	err = l.write(ctx, p4v1.Update_INSERT, &p4v1.Entity{Entity: &p4v1.Entity_DigestEntry{DigestEntry: &p4v1.DigestEntry{
		DigestId: digest, Config: &p4v1.DigestEntry_Config{MaxListSize: 1}}}})
	if err != nil {
		return err
	}
	for {
		m, err := l.stream.Recv()
		if err != nil {
			return nil // the run has ended
		}
		switch u := m.Update.(type) {
		case *p4v1.StreamMessageResponse_Digest:
			for _, data := range u.Digest.Data {
				members := data.GetStruct().Members
				mac, port := members[0].GetBitstring(), members[1].GetBitstring()
				if err := l.write(ctx, p4v1.Update_INSERT, l.entry("MyIngress.smac", mac, "NoAction", nil), l.entry("MyIngress.dmac", mac, "MyIngress.forward", port)); err != nil {
					return err
				}
			}
			err = l.stream.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_DigestAck{
				DigestAck: &p4v1.DigestListAck{DigestId: digest, ListId: u.Digest.ListId}}})
		case *p4v1.StreamMessageResponse_IdleTimeoutNotification:
			for _, e := range u.IdleTimeoutNotification.TableEntry {
				mac := e.Match[0].GetExact().Value
				l.aged++
				err = l.write(ctx, p4v1.Update_DELETE, l.entry("MyIngress.smac", mac, "", nil), l.entry("MyIngress.dmac", mac, "", nil))
			}
		}
		if err != nil {
			return err
		}
	}
}

func (l *learner) write(ctx context.Context, kind p4v1.Update_Type, entities ...*p4v1.Entity) error {
	r := &p4v1.WriteRequest{DeviceId: 1, ElectionId: one}
	for _, e := range entities {
		r.Updates = append(r.Updates, &p4v1.Update{Type: kind, Entity: e})
	}
	_, err := l.client.Write(ctx, r)
	return err
}

func (l *learner) entry(table string, mac []byte, action string, port []byte) *p4v1.Entity {
	e := &p4v1.TableEntry{Match: []*p4v1.FieldMatch{{FieldId: 1, FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: mac}}}}}
	for _, t := range l.info.Tables {
		if t.Preamble.Name == table {
			e.TableId = t.Preamble.Id
		}
	}
	for _, a := range l.info.Actions {
		if a.Preamble.Name != action {
			continue
		}
		act := &p4v1.Action{ActionId: a.Preamble.Id}
		if port != nil {
			act.Params = []*p4v1.Action_Param{{ParamId: 1, Value: port}}
		}
		e.Action = &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: act}}
		if strings.HasSuffix(table, "smac") {
			e.IdleTimeoutNs = int64(100 * time.Millisecond)
		}
	}
	return &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: e}}
}

// learn runs the scenario with a learner, and returns what all hosts have received.
func learn(t *testing.T, seed uint64, serve virtual.Serve, sets bool) (pcaps []byte) {
	t.Helper()
	p4, err := os.ReadFile("testdata/learn.p4")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ownFiles(t, map[string]string{"learn.p4": string(p4), "groups.txt": "mc_mgrp_create 1\nmc_node_create 0 1 2 3\nmc_node_associate 1 0\n"}, learning)
	if err != nil {
		t.Fatal(err)
	}
	network := simnet.New(rand.New(rand.NewPCG(seed, 1)))
	serve.Listen = func(n *topo.Node) (net.Listener, error) { return network.Listen(n.Name) }
	conn, err := grpc.NewClient("passthrough:///s1", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithContextDialer(network.Dialer("controller")))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	l := &learner{t: t, sets: sets}
	ended := make(chan error, 1)
	go func() { ended <- l.run(t.Context(), conn) }()
	runs, err := s.Run(t.Context(), Options{Serve: &serve, Packets: func(_ *result.Run, r *packets.Run) error {
		var b bytes.Buffer
		for _, id := range r.Hosts() {
			if err := r.WritePcap(&b, id); err != nil {
				return err
			}
		}
		pcaps = b.Bytes()
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(runs[0].Unmet) > 0 {
		t.Errorf("%s", strings.Join(runs[0].Unmet, "\n"))
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if l.aged != 2 {
		t.Errorf("%d addresses were forgotten, want those of h1 and h2", l.aged)
	}
	return pcaps
}

// A learning switch works in lockstep with its controller: what it learns is known to the
// next packet, entries age in virtual time, and the run has the same bytes whatever the
// delays between controller and switch are.
func TestControllerInLockstep(t *testing.T) {
	var first []byte
	for seed := range uint64(3) {
		synctest.Test(t, func(t *testing.T) {
			got := learn(t, seed, virtual.Serve{Quiet: 500 * time.Millisecond}, false)
			if first == nil {
				first = got
			}
			if len(got) < 100 || !bytes.Equal(got, first) {
				t.Errorf("seed %d: hosts received other bytes than before, or none: %d", seed, len(got))
			}
		})
	}
}

// With a pace, virtual time is not ahead of real time multiplied by it.
func TestControllerAtAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		learn(t, 1, virtual.Serve{Quiet: 500 * time.Millisecond, Pace: 0.001}, false)
		if took := time.Since(begin); took < 380*time.Second || took > 382*time.Second {
			t.Errorf("380 ms at a pace of 0.001 took %v", took)
		}
	})
}

// A controller may set the pipeline itself, with its own entries.
func TestControllerSetsThePipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { learn(t, 1, virtual.Serve{Quiet: 500 * time.Millisecond}, true) })
}
