// SPDX-License-Identifier: Apache-2.0

package bfrt_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
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
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
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
	server, address := bfrttest.Start(t)
	c, err := bfrt.Dial(t.Context(), address, bfrt.Options{ClientID: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Load(t.Context(), program(t)); err != nil {
		t.Fatal(err)
	}
	return server, c, address
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
	if err := c.Write(ctx, 0, bfrtpb.Update_MODIFY, route); err == nil || !strings.Contains(err.Error(), "written in all pipelines") {
		t.Errorf("in one pipeline: error is %v", err)
	}
	if err := c.Write(ctx, bfrt.PipeAll, bfrtpb.Update_MODIFY, route); err != nil {
		t.Fatal(err)
	}
	for pipe, want := range []uint64{3, 3} {
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
	if err := c.Write(ctx, bfrt.PipeAll, bfrtpb.Update_MODIFY, bfrt.Entry{Table: "route", Default: true, Action: "to_port", Data: map[string]any{"port": 1}}); err != nil {
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
		"both $SPEED and $FEC are needed": {Table: "$PORT", Match: []bfrt.Match{bfrt.Eq("$DEV_PORT", 1)}, Data: map[string]any{"$SPEED": "BF_SPEED_40G"}},
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
	r, err := c.Info().Register("drill_best")
	if err != nil || r.Size != 64 || len(r.Fields) != 2 || r.Fields[1].Name != "path" {
		t.Fatalf("got %+v, %v", r, err)
	}
	if err := c.SetCells(t.Context(), 1, r, 5, 5, map[string]uint64{"qlen": 4000, "path": 3}); err != nil {
		t.Fatal(err)
	}
	if err := c.SetCells(t.Context(), bfrt.PipeAll, r, 4, 4, map[string]uint64{"qlen": 7, "path": 2}); err != nil {
		t.Fatal(err)
	}
	if err := c.SetCells(t.Context(), 0, r, 4, 6, map[string]uint64{"path": 2}); err == nil || !strings.Contains(err.Error(), "which are qlen and path") {
		t.Errorf("without a field: error is %v", err)
	}
	want := [][][]uint64{{{0, 7, 0, 0}, {0, 2, 0, 0}}, {{0, 7, 4000, 0}, {0, 2, 3, 0}}}
	if got, err := c.Cells(t.Context(), r, 3, 6); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if got, err := c.Cells(t.Context(), r, -1, -1); err != nil || len(got) != 2 || len(got[1][0]) != 64 || got[1][0][5] != 4000 {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := c.Cells(t.Context(), r, 64, 64); err == nil || !strings.Contains(err.Error(), "it has no cell 64") {
		t.Errorf("cell 64: error is %v", err)
	}
	if _, err := c.Info().Register("route"); err == nil || !strings.Contains(err.Error(), "route is not a register") {
		t.Errorf("a table: error is %v", err)
	}
}

// What a network needs of the driver's tables is written once, is kept, and a change of
// PFC alone stops no port.
func TestNetwork(t *testing.T) {
	server, c, _ := start(t)
	ctx := t.Context()
	net := network(t, "")
	l1 := net.NodeByName("l1")
	ports := map[int]int{1: 132, 2: 140, 3: 148, 4: 156}
	wanted := func(net *topo.Topology) []bfrt.Wanted {
		t.Helper()
		list, err := c.Network(ctx, net, l1.ID, 3, ports)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	if changes, err := c.Apply(ctx, wanted(net)); err != nil || len(changes) != 4+1+4*5 {
		t.Fatalf("%d changes, %v", len(changes), err)
	}
	for _, x := range []struct {
		pipe uint32
		e    bfrt.Entry
		want map[string]any
	}{
		{bfrt.PipeAll, bfrt.Entry{Table: "$PORT", Match: []bfrt.Match{bfrt.Eq("$DEV_PORT", 132)}},
			map[string]any{"$SPEED": "BF_SPEED_100G", "$FEC": "BF_FEC_TYP_REED_SOLOMON", "$PORT_ENABLE": true, "$TX_PFC_EN_MAP": uint64(8), "$RX_PFC_EN_MAP": uint64(8)}},
		{bfrt.PipeAll, bfrt.Entry{Table: "tf1.tm.pool.cfg", Match: []bfrt.Match{bfrt.Eq("pool", "IG_SKID_POOL")}}, map[string]any{"size_cells": uint64(4 * 1000)}},
		{1, bfrt.Entry{Table: "tf1.tm.port.buffer", Match: []bfrt.Match{bfrt.Eq("dev_port", 132)}}, map[string]any{"skid_limit_cells": uint64(1000)}},
		{1, bfrt.Entry{Table: "tf1.tm.port.flowcontrol", Match: []bfrt.Match{bfrt.Eq("dev_port", 132)}},
			map[string]any{"mode_tx": "PFC", "mode_rx": "PFC", "cos_to_icos": []uint32{0, 1, 2, 3, 4, 5, 6, 7}}},
		{1, bfrt.Entry{Table: "tf1.tm.queue.cfg", Match: []bfrt.Match{bfrt.Eq("pg_id", 1), bfrt.Eq("pg_queue", 3)}}, map[string]any{"pfc_cos": uint64(3)}},
		{1, bfrt.Entry{Table: "tf1.tm.queue.buffer", Match: []bfrt.Match{bfrt.Eq("pg_id", 1), bfrt.Eq("pg_queue", 3)}},
			map[string]any{"tail_drop_enable": false, "guaranteed_cells": uint64(20), "hysteresis_cells": uint64(32), "pool_id": "EG_APP_POOL_0", "dynamic_baf": "80%"}},
		{1, bfrt.Entry{Table: "tf1.tm.ppg.cfg", Match: []bfrt.Match{bfrt.Eq("ppg_id", 5)}},
			map[string]any{"dev_port": uint64(132), "icos_3": true, "guaranteed_cells": uint64(24), "hysteresis_cells": uint64(40), "pool_id": "IG_APP_POOL_0",
				"pool_max_cells": uint64(3200), "dynamic_baf": "DISABLE", "pfc_enable": true, "pfc_skid_max_cells": uint64(1000)}},
	} {
		if got, err := c.Read(ctx, x.pipe, x.e, false); err != nil || len(got) != 1 || !reflect.DeepEqual(got[0].Data, x.want) {
			t.Errorf("%s is %+v, %v, want %v", x.e.Table, got, err, x.want)
		}
	}
	if changes, err := c.Apply(ctx, wanted(net)); err != nil || len(changes) != 0 {
		t.Errorf("the same again: %d changes, %v", len(changes), err)
	}
	if _, err := c.Apply(ctx, wanted(network(t, ", hosts_only: true"))); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Read(ctx, bfrt.PipeAll, bfrt.Entry{Table: "$PORT", Match: []bfrt.Match{bfrt.Eq("$DEV_PORT", 148)}}, false); err != nil || got[0].Data["$RX_PFC_EN_MAP"] != uint64(0) {
		t.Errorf("without PFC between switches: %v, %v", got, err)
	}
	if n := server.Starts(148); n != 1 {
		t.Errorf("port 148 was started %d times, want once", n)
	}
	// A port with another rate is set up anew, as the driver wants it.
	slow := network(t, "")
	for i := range slow.Links {
		slow.Links[i].Rate = 40 * vtime.Gbps
	}
	if _, err := c.Apply(ctx, wanted(slow)); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Read(ctx, bfrt.PipeAll, bfrt.Entry{Table: "$PORT", Match: []bfrt.Match{bfrt.Eq("$DEV_PORT", 132)}}, false); err != nil || got[0].Data["$SPEED"] != "BF_SPEED_40G" || got[0].Data["$FEC"] != "BF_FEC_TYP_NONE" {
		t.Errorf("at 40 Gb/s: %v, %v", got, err)
	}
}

func network(t *testing.T, pfc string) *topo.Topology {
	t.Helper()
	file := filepath.Join(t.TempDir(), "net.yaml")
	text := "name: wedges\nleaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 100Gbps, delay: 1us}\nswitch: {buffer: 22MB, pfc: {xoff: 256KB" + pfc + "}}\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	net, err := topo.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return net
}

// Networks that the chip's buffer has no room for, and a driver whose ports do not obey
// PFC.
func TestNetworksThatDoNotFit(t *testing.T) {
	for want, change := range map[string]func(*topo.Topology, *bfrttest.Server) error{
		"the headroom of its ports needs": func(net *topo.Topology, _ *bfrttest.Server) error {
			for i := range net.Links {
				net.Links[i].Delay = 200 * vtime.Microsecond
			}
			return nil
		},
		"XOFF is 100000 cells": func(net *topo.Topology, _ *bfrttest.Server) error {
			net.Switch.PFC.XOFF = 8 * vtime.MB
			return nil
		},
		"port 140 does not obey PFC (mode_rx of tf1.tm.port.flowcontrol is NONE)": func(_ *topo.Topology, s *bfrttest.Server) error {
			return s.PutEntry(0, bfrt.Entry{Table: "tf1.tm.port.flowcontrol", Match: []bfrt.Match{bfrt.Eq("dev_port", 140)}, Data: map[string]any{"mode_tx": "NONE", "mode_rx": "NONE"}})
		},
		"a Tofino port does not run at 200Gbps": func(net *topo.Topology, _ *bfrttest.Server) error {
			net.Links[0].Rate = 200 * vtime.Gbps
			return nil
		},
	} {
		server, c, _ := start(t)
		net := network(t, "")
		if err := change(net, server); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Network(t.Context(), net, net.NodeByName("l1").ID, 3, map[int]int{1: 132, 2: 140, 3: 148, 4: 156}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
}

// The server refuses what the driver refuses although bfrt.json allows it.
func TestTheDriverRefuses(t *testing.T) {
	_, c, _ := start(t)
	group := func(id, port int) bfrt.Entry {
		return bfrt.Entry{Table: "tf1.tm.ppg.cfg", Match: []bfrt.Match{bfrt.Eq("ppg_id", id)}, Action: "dev_port", Data: map[string]any{"dev_port": port, "icos_3": true}}
	}
	if err := c.Write(t.Context(), 1, bfrtpb.Update_INSERT, group(5, 132)); err != nil {
		t.Fatal(err)
	}
	port := bfrt.Entry{Table: "$PORT", Match: []bfrt.Match{bfrt.Eq("$DEV_PORT", 132)}, Data: map[string]any{"$SPEED": "BF_SPEED_100G", "$FEC": "BF_FEC_TYP_RS"}}
	if err := c.Write(t.Context(), bfrt.PipeAll, bfrtpb.Update_INSERT, port); err != nil {
		t.Fatal(err)
	}
	port.Data = map[string]any{"$SPEED": "BF_SPEED_40G", "$FEC": "BF_FEC_TYP_NONE"}
	for want, x := range map[string]struct {
		pipe uint32
		op   bfrtpb.Update_Type
		e    bfrt.Entry
	}{
		"no BF_SPEED_40G with BF_FEC_TYP_REED_SOLOMON":   {bfrt.PipeAll, bfrtpb.Update_MODIFY, port},
		"a pipeline must be given":                       {bfrt.PipeAll, bfrtpb.Update_INSERT, group(6, 132)},
		"dev_port=132 is not on pipe_id=0":               {0, bfrtpb.Update_INSERT, group(6, 132)},
		"ppg_id 0 is incorrect":                          {1, bfrtpb.Update_INSERT, group(0, 132)},
		"the group is at dev_port=132 instead of 140":    {1, bfrtpb.Update_MODIFY, group(5, 140)},
		"field mode_rx can only be read":                 {0, bfrtpb.Update_MODIFY, bfrt.Entry{Table: "tf1.tm.port.flowcontrol", Match: []bfrt.Match{bfrt.Eq("dev_port", 132)}, Data: map[string]any{"mode_rx": "PFC"}}},
		`is one of NONE, PFC, PAUSE, not "DISABLE"`:      {0, bfrtpb.Update_MODIFY, bfrt.Entry{Table: "tf1.tm.port.flowcontrol", Match: []bfrt.Match{bfrt.Eq("dev_port", 132)}, Data: map[string]any{"mode_tx": "DISABLE"}}},
		"field ppg_id has 8 bits, 300 does not fit":      {1, bfrtpb.Update_INSERT, group(300, 132)},
		"Table Entry modify failed table: $mirror.cfg":   {bfrt.PipeAll, bfrtpb.Update_MODIFY, bfrt.Entry{Table: "$mirror.cfg", Match: []bfrt.Match{bfrt.Eq("$sid", 5)}, Action: "$normal", Data: map[string]any{"$session_enable": true}}},
		"field $MULTICAST_LAG_ID is missing":             {bfrt.PipeAll, bfrtpb.Update_INSERT, bfrt.Entry{Table: "$pre.node", Match: []bfrt.Match{bfrt.Eq("$MULTICAST_NODE_ID", 5)}, Data: map[string]any{"$MULTICAST_RID": 1, "$DEV_PORT": []uint32{4}}}},
		"field pool is of type string, not a number":     {0, bfrtpb.Update_MODIFY, bfrt.Entry{Table: "tf1.tm.pool.cfg", Match: []bfrt.Match{bfrt.Eq("pool", 3)}, Data: map[string]any{"size_cells": 3}}},
		"tf1.tm.port.buffer: entries cannot be added":    {0, bfrtpb.Update_INSERT, bfrt.Entry{Table: "tf1.tm.port.buffer", Match: []bfrt.Match{bfrt.Eq("dev_port", 132)}, Data: map[string]any{"skid_limit_cells": 8}}},
		"field pool is one of IG_APP_POOL_0, IG_APP_POO": {0, bfrtpb.Update_MODIFY, bfrt.Entry{Table: "tf1.tm.pool.cfg", Match: []bfrt.Match{bfrt.Eq("pool", "POOL")}, Data: map[string]any{"size_cells": 3}}},
	} {
		if err := c.Write(t.Context(), x.pipe, x.op, x.e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
}

// A switch that does not keep what is written is an error.
func TestApplyReadsWhatItWrote(t *testing.T) {
	server, c, _ := start(t)
	wanted := []bfrt.Wanted{{Pipe: bfrt.PipeAll, Entry: bfrt.Entry{Table: "$mirror.cfg", Match: []bfrt.Match{bfrt.Eq("$sid", 5)}, Action: "$normal",
		Data: map[string]any{"$session_enable": true, "$direction": "BOTH", "$max_pkt_len": 100}}}}
	server.Forget("$mirror.cfg", "$max_pkt_len")
	if _, err := c.Apply(t.Context(), wanted); err == nil || !strings.Contains(err.Error(), "1 entries differ from what was written") || !strings.Contains(err.Error(), "$max_pkt_len=100") {
		t.Errorf("error is %v", err)
	}
}

func TestClientsMustSubscribeAndBind(t *testing.T) {
	_, _, address := start(t)
	if _, err := bfrt.Dial(t.Context(), address, bfrt.Options{ClientID: 1}); err == nil || !strings.Contains(err.Error(), "another client may have this number") {
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
	if err := c.Bind(t.Context(), "drill"); err == nil || !strings.Contains(err.Error(), "another controller owns the program") {
		t.Errorf("binding as a second client: error is %v", err)
	}
	// Without binding, beside the first client.
	if name, err := c.Open(t.Context()); err != nil || name != "drill" {
		t.Errorf("the program is %q, %v", name, err)
	}
	r, err := c.Info().Register("drill_best")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.SetCells(t.Context(), 0, r, 5, 5, map[string]uint64{"qlen": 1, "path": 2}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Open(ctx); err == nil {
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
