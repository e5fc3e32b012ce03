// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane/p4rttest"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/rogpeppe/go-internal/testscript"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// The scripts in testdata/ctl talk to servers that the command
//
//	p4rt NAME [device=N] [bmv2] [empty] [chatty]
//
// starts. They are in-memory switches that run p4rttest.Program unless empty, and
// send digests and packets continually if chatty. The variable NAME has the
// address. "p4rt -stop NAME" kills a switch, "p4rt -restart NAME" kills it and
// starts it empty, and "p4rt -packets NAME N" waits until it has sent N packets
// and prints them.
func TestCtlScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/ctl",
		UpdateScripts: os.Getenv("UPDATE_GOLDEN") == "1",
		Setup: func(e *testscript.Env) error {
			e.Values[serversKey{}] = make(map[string]*p4rttest.Server)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"p4rt": startFake,
		},
	})
}

// scriptTB is the testing.TB of servers that a script starts.
type scriptTB struct{ *testscript.TestScript }

func (scriptTB) Helper()            {}
func (s scriptTB) Fatal(a ...any)   { s.Fatalf("%v", a) }
func (s scriptTB) Cleanup(f func()) { s.Defer(f) }

func startFake(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: p4rt NAME [bmv2] [empty] [chatty], p4rt -stop NAME, p4rt -packets NAME N")
	}
	servers, _ := ts.Value(serversKey{}).(map[string]*p4rttest.Server)
	switch args[0] {
	case "-stop":
		servers[args[1]].Stop()
		return
	case "-restart":
		servers[args[1]].Stop()
		servers[args[1]].Restart(scriptTB{ts}, false)
		return
	case "-packets":
		n, err := strconv.Atoi(args[2])
		ts.Check(err)
		if !need.Poll(func() bool { return len(servers[args[1]].PacketsOut()) >= n }) {
			ts.Fatalf("%d packets were sent, want %d", len(servers[args[1]].PacketsOut()), n)
		}
		for _, p := range servers[args[1]].PacketsOut() {
			fmt.Fprintf(ts.Stdout(), "%x", p.Payload)
			for _, m := range p.Metadata {
				fmt.Fprintf(ts.Stdout(), " %d=%x", m.MetadataId, m.Value)
			}
			fmt.Fprintln(ts.Stdout())
		}
		return
	}
	s := &p4rttest.Server{}
	empty, chatty := false, false
	for _, a := range args[1:] {
		if id, ok := strings.CutPrefix(a, "device="); ok {
			n, err := strconv.ParseUint(id, 0, 64)
			ts.Check(err)
			s.DeviceID = n
			continue
		}
		switch a {
		case "bmv2":
			s.BMv2 = true
		case "empty":
			empty = true
		case "chatty":
			chatty = true
		default:
			ts.Fatalf("p4rt: unknown word %q", a)
		}
	}
	p4rttest.Start(scriptTB{ts}, s)
	if !empty {
		s.Load(&p4v1.ForwardingPipelineConfig{P4Info: p4rttest.Program(), P4DeviceConfig: []byte("{}")})
	}
	if chatty {
		done := make(chan struct{})
		ts.Defer(func() { close(done) })
		go chat(s, done)
	}
	servers[args[0]] = s
	ts.Setenv(args[0], s.Addr())
}

// serversKey is the key of a script's servers.
type serversKey struct{}

// chat continually sends a digest and a packet to the primary.
func chat(s *p4rttest.Server, done <-chan struct{}) {
	bits := func(b ...byte) *p4v1.P4Data { return &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: b}} }
	for {
		select {
		case <-done:
			return
		case <-time.After(time.Millisecond):
		}
		s.SendDigest(&p4v1.DigestList{DigestId: 385875969, Data: []*p4v1.P4Data{
			{Data: &p4v1.P4Data_Struct{Struct: &p4v1.P4StructLike{Members: []*p4v1.P4Data{bits(2), bits(10, 0, 0, 1)}}}},
		}})
		s.SendPacket(&p4v1.PacketIn{Payload: []byte{0xca, 0xfe}, Metadata: []*p4v1.PacketMetadata{
			{MetadataId: 1, Value: []byte{3}}, {MetadataId: 2, Value: []byte{0}},
		}})
	}
}
