// SPDX-License-Identifier: Apache-2.0

package bfrt_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
	"github.com/pauseless/pauseless/controlplane/bfrt/bfrttest"
	"github.com/pauseless/pauseless/internal/simnet"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
)

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// start runs a switch with two pipelines, and a client that has loaded the
// program in testdata.
func start(t *testing.T) (*bfrttest.Server, *bfrt.Client, string) {
	t.Helper()
	server, err := bfrttest.New(2, bfrttest.Device)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := grpc.NewServer()
	server.Serve(g)
	go g.Serve(listener)
	t.Cleanup(g.Stop)
	c, err := bfrt.Dial(t.Context(), listener.Addr().String(), bfrt.Options{ClientID: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Load(t.Context(), program(t)); err != nil {
		t.Fatal(err)
	}
	return server, c, listener.Addr().String()
}

func program(t *testing.T) *bfrt.Program {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "pipe"), 0o777); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"bfrt.json": read(t, "program.json"), "pipe/context.json": []byte("{}"), "pipe/tofino.bin": {1, 2, 3}} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	p, err := bfrt.ReadProgram("drill", dir, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEntries(t *testing.T) {
	_, c, _ := start(t)
	ctx := t.Context()
	route := bfrt.Entry{Table: "route", Match: []bfrt.Match{{Field: "dst_addr", Value: 0x0a000100, LPM: true, PrefixLen: 24}},
		Action: "to_leaf", Data: map[string]any{"leaf": 1, "first_port": 5, "last_path": 7}}
	other := bfrt.Entry{Table: "next_path", Match: []bfrt.Match{bfrt.Eq("path", 2), {Field: "blocked", Value: 0x20, Mask: 0x30}, bfrt.Eq("$MATCH_PRIORITY", 1)},
		Action: "take_other", Data: map[string]any{"path": 3}}
	if err := c.Write(ctx, bfrt.PipeAll, bfrtpb.Update_INSERT, route, other); err != nil {
		t.Fatal(err)
	}
	got, err := c.Read(ctx, 1, route, false)
	want := bfrt.Entry{Table: "pipe.route", Match: []bfrt.Match{{Field: "dst_addr", Value: uint64(0x0a000100), LPM: true, PrefixLen: 24}},
		Action: "to_leaf", Data: map[string]any{"leaf": uint64(1), "first_port": uint64(5), "last_path": uint64(7)}}
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("read %+v, %v, want %+v", got, err, want)
	}
	// One of two entries exists: the other is written, and the error names the
	// first.
	second := route
	second.Match = []bfrt.Match{{Field: "dst_addr", Value: 0x0a000200, LPM: true, PrefixLen: 24}}
	if err := c.Write(ctx, bfrt.PipeAll, bfrtpb.Update_INSERT, route, second); err == nil || !strings.Contains(err.Error(), "AlreadyExists") {
		t.Errorf("the same again: error is %v", err)
	}
	if all, err := c.Read(ctx, 0, bfrt.Entry{Table: "route"}, false); err != nil || len(all) != 2 {
		t.Errorf("%d entries, %v, want 2", len(all), err)
	}
	route.Data["last_path"] = 3
	if err := c.Write(ctx, 0, bfrtpb.Update_MODIFY, route); err != nil {
		t.Fatal(err)
	}
	for pipe, want := range []uint64{3, 7} {
		if got, err := c.Read(ctx, uint32(pipe), route, false); err != nil || got[0].Data["last_path"] != want {
			t.Errorf("pipeline %d: %v, %v, want last_path %d", pipe, got, err, want)
		}
	}
	if err := c.Write(ctx, bfrt.PipeAll, bfrtpb.Update_DELETE, route); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(ctx, 0, route, false); err == nil || !strings.Contains(err.Error(), "NotFound") {
		t.Errorf("after deleting it: error is %v", err)
	}
	if err := c.Write(ctx, bfrt.PipeAll, bfrtpb.Update_INSERT, bfrt.Entry{Table: "route", Default: true, Action: "to_port", Data: map[string]any{"port": 1}}); err != nil {
		t.Errorf("the default entry: %v", err)
	}
}

// Entries that contradict the schema are rejected before they are sent.
func TestEntriesThatMakeNoSense(t *testing.T) {
	_, c, _ := start(t)
	match := []bfrt.Match{{Field: "dst_addr", Value: 1, LPM: true, PrefixLen: 32}}
	for want, e := range map[string]bfrt.Entry{
		"there is no table nowhere":             {Table: "nowhere"},
		"no key field addr":                     {Table: "route", Match: []bfrt.Match{bfrt.Eq("addr", 1)}, Action: "to_port"},
		"matched as LPM, not Exact":             {Table: "route", Match: []bfrt.Match{bfrt.Eq("dst_addr", 1)}, Action: "to_port"},
		"no action to_host":                     {Table: "route", Match: match, Action: "to_host"},
		"there is no data field ports":          {Table: "route", Match: match, Action: "to_port", Data: map[string]any{"ports": 1}},
		"field port has 9 bits, 512 does":       {Table: "route", Match: match, Action: "to_port", Data: map[string]any{"port": 512}},
		"field port is of type bytes, not bool": {Table: "route", Match: match, Action: "to_port", Data: map[string]any{"port": true}},
		`not "BF_SPEED_41G"`:                    {Table: "$PORT", Match: []bfrt.Match{bfrt.Eq("$DEV_PORT", 1)}, Data: map[string]any{"$SPEED": "BF_SPEED_41G"}},
		// The server rejects these.
		"field $FEC is missing":           {Table: "$PORT", Match: []bfrt.Match{bfrt.Eq("$DEV_PORT", 1)}, Data: map[string]any{"$SPEED": "BF_SPEED_40G"}},
		"field $PORT_UP can only be read": {Table: "$PORT", Match: []bfrt.Match{bfrt.Eq("$DEV_PORT", 1)}, Data: map[string]any{"$PORT_UP": true}},
		"an action is needed":             {Table: "route", Match: match},
		"the key has 1 fields, 0 are":     {Table: "route", Action: "to_port", Data: map[string]any{"port": 1}},
		"field last_path is missing":      {Table: "route", Match: match, Action: "to_leaf", Data: map[string]any{"leaf": 1, "first_port": 1}},
	} {
		if err := c.Write(t.Context(), bfrt.PipeAll, bfrtpb.Update_INSERT, e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
	if err := c.Write(t.Context(), 2, bfrtpb.Update_INSERT, bfrt.Entry{Table: "route", Match: match, Action: "to_port", Data: map[string]any{"port": 1}}); err == nil ||
		!strings.Contains(err.Error(), "there is no pipeline 2") {
		t.Errorf("error is %v", err)
	}
}

func TestRegistersOfEachPipeline(t *testing.T) {
	_, c, _ := start(t)
	if err := c.SetRegister(t.Context(), 1, "drill_best", 5, map[string]uint64{"qlen": 4000, "path": 3}); err != nil {
		t.Fatal(err)
	}
	if err := c.SetRegister(t.Context(), bfrt.PipeAll, "drill_best", 5, map[string]uint64{"path": 2}); err != nil {
		t.Fatal(err)
	}
	got, err := c.Register(t.Context(), "drill_best", 5)
	want := map[string][]uint64{"qlen": {0, 4000}, "path": {2, 2}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if err := c.SetRegister(t.Context(), 0, "drill_best", 5, map[string]uint64{"length": 1}); err == nil {
		t.Error("a field that is not there was set")
	}
}

func TestMirrorSessionsAndPorts(t *testing.T) {
	_, c, _ := start(t)
	ctx := t.Context()
	for _, m := range []bfrt.Mirror{
		{Session: 5, Port: 132, Queue: 7, Truncate: 100, Direction: "BOTH"},
		{Session: 1000, Group: 9, Truncate: 80, Direction: "EGRESS"},
	} {
		if err := c.SetMirror(ctx, m); err != nil {
			t.Fatal(err)
		}
	}
	got, err := c.Read(ctx, 0, bfrt.Entry{Table: "$mirror.cfg", Match: []bfrt.Match{bfrt.Eq("$sid", 1000)}}, false)
	want := map[string]any{"$session_enable": true, "$direction": "EGRESS", "$mcast_grp_a": uint64(9), "$mcast_grp_a_valid": true, "$max_pkt_len": uint64(80)}
	if err != nil || len(got) != 1 || got[0].Action != "$normal" || !reflect.DeepEqual(got[0].Data, want) {
		t.Errorf("session 1000 is %+v, %v, want %v", got, err, want)
	}
	if err := c.AddPort(ctx, bfrt.Port{Port: 132, Speed: "40G", FEC: "NONE", PFC: 1 << 3}); err != nil {
		t.Fatal(err)
	}
	got, err = c.Read(ctx, 0, bfrt.Entry{Table: "$PORT", Match: []bfrt.Match{bfrt.Eq("$DEV_PORT", 132)}}, false)
	want = map[string]any{"$SPEED": "BF_SPEED_40G", "$FEC": "BF_FEC_TYP_NONE", "$PORT_ENABLE": true, "$TX_PFC_EN_MAP": uint64(8), "$RX_PFC_EN_MAP": uint64(8)}
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0].Data, want) {
		t.Errorf("port 132 is %+v, %v, want %v", got, err, want)
	}
}

// Flow control, the priority group and the queue of a class.
func TestLossless(t *testing.T) {
	server, c, _ := start(t)
	ctx := t.Context()
	table := func(name string) uint32 {
		x, err := c.Info().Table(name)
		if err != nil {
			t.Fatal(err)
		}
		return x.ID
	}
	port := &bfrtpb.TableKey{Fields: []*bfrtpb.KeyField{{FieldId: 1, MatchType: &bfrtpb.KeyField_Exact_{Exact: &bfrtpb.KeyField_Exact{Value: []byte{0, 0, 0, 132}}}}}}
	server.Put(&bfrtpb.TableEntry{TableId: table("tf1.tm.port.cfg"), Key: port, Data: &bfrtpb.TableData{Fields: []*bfrtpb.DataField{
		{FieldId: 2, Value: &bfrtpb.DataField_Stream{Stream: []byte{1}}},
		{FieldId: 3, Value: &bfrtpb.DataField_IntArrVal{IntArrVal: &bfrtpb.DataField_IntArray{Val: []uint32{8, 9, 10, 11, 12, 13, 14, 15}}}},
	}}})
	var stats bfrtpb.TableData
	for i := range 8 {
		stats.Fields = append(stats.Fields, &bfrtpb.DataField{FieldId: uint32(10 + i), Value: &bfrtpb.DataField_Stream{Stream: []byte{0, 0, 0, 0, 0, 0, 1, byte(i)}}})
	}
	server.Put(&bfrtpb.TableEntry{TableId: table("$PORT_STAT"), Key: port, Data: &stats})

	err := c.SetLossless(ctx, bfrt.Lossless{Port: 132, Pipe: 1, Class: 3, Group: 7, Guaranteed: 20, XOFF: 3200, Skid: 500, Hysteresis: 128})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Read(ctx, 1, bfrt.Entry{Table: "tf1.tm.queue.cfg", Match: []bfrt.Match{bfrt.Eq("pg_id", 1), bfrt.Eq("pg_queue", 11)}}, false)
	if err != nil || len(got) != 1 || got[0].Data["pfc_cos"] != uint64(3) {
		t.Errorf("queue 11 is %+v, %v", got, err)
	}
	got, err = c.Read(ctx, 1, bfrt.Entry{Table: "tf1.tm.ppg.cfg", Match: []bfrt.Match{bfrt.Eq("ppg_id", 7)}}, false)
	want := map[string]any{"dev_port": uint64(132), "icos_3": true, "guaranteed_cells": uint64(20), "hysteresis_cells": uint64(128), "pool_id": "IG_APP_POOL_0",
		"pool_max_cells": uint64(3200), "dynamic_baf": "DISABLE", "pfc_enable": true, "pfc_skid_max_cells": uint64(500)}
	if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0].Data, want) {
		t.Errorf("priority group 7 is %+v, %v, want %v", got, err, want)
	}
	if _, err := c.Read(ctx, 0, bfrt.Entry{Table: "tf1.tm.ppg.cfg", Match: []bfrt.Match{bfrt.Eq("ppg_id", 7)}}, false); err == nil {
		t.Error("the priority group is on pipeline 0 as well")
	}
	pauses, err := c.Pauses(ctx, 132)
	if err != nil || pauses != [8]uint64{256, 257, 258, 259, 260, 261, 262, 263} {
		t.Errorf("pauses are %v, %v", pauses, err)
	}
}

func TestClientsMustSubscribeAndBind(t *testing.T) {
	_, _, address := start(t)
	if _, err := bfrt.Dial(t.Context(), address, bfrt.Options{ClientID: 1}); err == nil || !strings.Contains(err.Error(), "another client has this id") {
		t.Errorf("a second client 1: error is %v", err)
	}
	c, err := bfrt.Dial(t.Context(), address, bfrt.Options{ClientID: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Write(t.Context(), 0, bfrtpb.Update_INSERT, bfrt.Entry{Table: "route"}); err == nil || !strings.Contains(err.Error(), "bind") {
		t.Errorf("writing unbound: error is %v", err)
	}
	if err := c.Bind(t.Context(), "clb"); err == nil || !strings.Contains(err.Error(), "not loaded") {
		t.Errorf("binding to what is not loaded: error is %v", err)
	}
	if err := c.Bind(t.Context(), "drill"); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Bind(ctx, "drill"); err == nil {
		t.Error("a cancelled call succeeds")
	}
}

// The packed program has the fields of Stratum's bf.proto: 1 name, 2 bfrt.json,
// 3 profiles with 1 name, 2 context, 3 binary, 4 pipelines.
func TestPack(t *testing.T) {
	p := program(t)
	got, err := p.Pack()
	if err != nil {
		t.Fatal(err)
	}
	field := func(b []byte, n protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
	}
	profile := field(nil, 1, []byte("pipe"))
	profile = field(profile, 2, []byte("{}"))
	profile = field(profile, 3, []byte{1, 2, 3})
	profile = field(profile, 4, []byte{0, 1}) // packed
	want := field(nil, 1, []byte("drill"))
	want = field(want, 2, read(t, "program.json"))
	want = field(want, 3, profile)
	if !bytes.Equal(got, want) {
		t.Errorf("packed as\n%x, want\n%x", got, want)
	}
	if _, err := bfrt.ReadProgram("drill", t.TempDir(), 0); err == nil || !strings.Contains(err.Error(), "drill") {
		t.Errorf("an empty folder: error is %v", err)
	}
}

// If the switch of a session disappears without closing the connection, each
// call ends by its deadline, and Close does not wait for the switch.
func TestAHalfOpenSessionEndsByTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := simnet.New(rand.New(rand.NewPCG(1, 1)))
		server, err := bfrttest.New(2, bfrttest.Device)
		if err != nil {
			t.Fatal(err)
		}
		listener, err := network.Listen("switch")
		if err != nil {
			t.Fatal(err)
		}
		g := grpc.NewServer()
		server.Serve(g)
		go g.Serve(listener)
		defer g.Stop()
		options := bfrt.Options{ClientID: 1, Dial: []grpc.DialOption{grpc.WithContextDialer(network.Dialer("controller"))}}
		c, err := bfrt.Dial(t.Context(), "passthrough:///switch", options)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Load(t.Context(), program(t)); err != nil {
			t.Fatal(err)
		}
		network.Each("switch", "controller", (*simnet.Wire).Mute)
		for what, call := range map[string]func(context.Context) error{
			"bind":  func(ctx context.Context) error { return c.Bind(ctx, "drill") },
			"write": func(ctx context.Context) error { return c.Write(ctx, bfrt.PipeAll, bfrtpb.Update_INSERT) },
			"read": func(ctx context.Context) error {
				_, err := c.Read(ctx, bfrt.PipeAll, bfrt.Entry{Table: c.Info().Names()[0]}, false)
				return err
			},
		} {
			begun := time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			if err := call(ctx); status.Code(err) != codes.DeadlineExceeded && !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 5*time.Second {
				t.Errorf("%s: %v after %v", what, err, time.Since(begun))
			}
			cancel()
		}
		begun := time.Now()
		c.Close()
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("Close takes %v", took)
		}
		// A switch that accepts connections and does not answer.
		network.Part("switch", "controller", true)
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		begun = time.Now()
		if _, err := bfrt.Dial(ctx, "passthrough:///switch", options); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 5*time.Second {
			t.Errorf("connecting: %v after %v", err, time.Since(begun))
		}
	})
}
