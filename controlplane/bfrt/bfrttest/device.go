// SPDX-License-Identifier: Apache-2.0

package bfrttest

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
	"github.com/pauseless/pauseless/internal/manifest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What the driver does with its own tables beyond what bfrt.json says, from
// open-p4studio's bf-drivers (src/bf_rt, src/traffic_mgr): tables with entries that
// always exist, their initial values, and the writes that fail or have no effect.

// Cells of a Tofino 1, and of its pools when the driver starts.
const (
	TotalCells = 280 * 1024
	PoolCells  = 89440
)

// PutPanel adds a front panel to the switch: channels by connector and channel, and
// the target's number of each. Four ports share a port group of the traffic manager,
// with eight queues each.
func (s *Server) PutPanel(channels map[[2]int]int) error {
	for at, port := range channels {
		pg := port % manifest.TofinoPipePorts / 4
		var queues []any
		for i := range 8 {
			queues = append(queues, uint32(port%4*8+i))
		}
		pipe := port / manifest.TofinoPipePorts
		for _, e := range []bfrt.Entry{
			{Table: "$PORT_HDL_INFO", Match: []bfrt.Match{bfrt.Eq("$CONN_ID", at[0]), bfrt.Eq("$CHNL_ID", at[1])}, Data: map[string]any{"$DEV_PORT": port}},
			{Table: "tf1.tm.port.cfg", Match: []bfrt.Match{bfrt.Eq("dev_port", port)}, Data: map[string]any{"pg_id": pg, "egress_qid_queues": queues}},
			{Table: "tf1.tm.port.flowcontrol", Match: []bfrt.Match{bfrt.Eq("dev_port", port)}, Data: map[string]any{"mode_tx": "NONE", "mode_rx": "PFC"}},
			{Table: "tf1.tm.port.buffer", Match: []bfrt.Match{bfrt.Eq("dev_port", port)}, Data: map[string]any{"skid_limit_cells": 0}},
		} {
			if err := s.PutEntry(0, e); err != nil {
				return err
			}
		}
		if err := s.PutStat(port, nil); err != nil {
			return err
		}
		for _, q := range queues {
			key := []bfrt.Match{bfrt.Eq("pg_id", pg), bfrt.Eq("pg_queue", int(q.(uint32)))}
			for _, e := range []bfrt.Entry{
				{Table: "tf1.tm.queue.cfg", Match: key, Data: map[string]any{"pfc_cos": 0}},
				{Table: "tf1.tm.queue.buffer", Match: key, Action: "shared_pool", Data: map[string]any{
					"guaranteed_cells": 20, "hysteresis_cells": 32, "tail_drop_enable": true, "pool_id": "EG_APP_POOL_0", "dynamic_baf": "80%"}},
			} {
				if err := s.PutEntry(pipe, e); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// putDevice adds the entries that a driver has when it starts.
func (s *Server) putDevice() error {
	if _, err := s.info.Table("tf1.tm.cfg"); err != nil {
		return nil // a device of a test
	}
	for pool, size := range map[string]int{"IG_APP_POOL_0": PoolCells, "IG_SKID_POOL": 0} {
		if err := s.PutEntry(0, bfrt.Entry{Table: "tf1.tm.pool.cfg", Match: []bfrt.Match{bfrt.Eq("pool", pool)}, Data: map[string]any{"size_cells": size}}); err != nil {
			return err
		}
	}
	return s.PutEntry(0, bfrt.Entry{Table: "tf1.tm.cfg", Default: true, Data: map[string]any{"cell_size_bytes": 80, "total_cells": TotalCells}})
}

// PutStat sets counters of a port, by the names of $PORT_STAT, and all others to 0.
func (s *Server) PutStat(port int, counters map[string]int) error {
	t, err := s.info.Table("$PORT_STAT")
	if err != nil {
		return err
	}
	data := make(map[string]any)
	for _, f := range t.DataFields(nil) {
		data[f.Name] = counters[f.Name]
	}
	return s.PutEntry(0, bfrt.Entry{Table: "$PORT_STAT", Match: []bfrt.Match{bfrt.Eq("$DEV_PORT", port)}, Data: data})
}

// PutEntry sets an entry in a pipeline without checks: entries that a chip has
// itself, or that another program has written.
func (s *Server) PutEntry(pipe int, e bfrt.Entry) error {
	x, err := encode(s.info, e)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.entries[s.name(pipe, x)] = x
	return nil
}

// encode returns an entry as a message. Lists are of type []any.
func encode(info *bfrt.Info, e bfrt.Entry) (*bfrtpb.TableEntry, error) {
	t, err := info.Table(e.Table)
	if err != nil {
		return nil, err
	}
	x := &bfrtpb.TableEntry{TableId: t.ID, IsDefaultEntry: e.Default, Key: new(bfrtpb.TableKey), Data: new(bfrtpb.TableData)}
	for _, m := range e.Match {
		f, err := t.KeyField(m.Field)
		if err != nil {
			return nil, err
		}
		x.Key.Fields = append(x.Key.Fields, &bfrtpb.KeyField{FieldId: f.ID, MatchType: &bfrtpb.KeyField_Exact_{
			Exact: &bfrtpb.KeyField_Exact{Value: bytesOf(f, m.Value)}}})
	}
	var action *bfrt.Action
	if e.Action != "" {
		if action, err = t.Action(e.Action); err != nil {
			return nil, err
		}
		x.Data.ActionId = action.ID
	}
	for _, f := range t.DataFields(action) {
		v, ok := e.Data[f.Name]
		if !ok {
			continue
		}
		d := &bfrtpb.DataField{FieldId: f.ID}
		switch v := v.(type) {
		case bool:
			d.Value = &bfrtpb.DataField_BoolVal{BoolVal: v}
		case string:
			d.Value = &bfrtpb.DataField_StrVal{StrVal: v}
		case []any:
			list := new(bfrtpb.DataField_IntArray)
			for _, n := range v {
				list.Val = append(list.Val, n.(uint32))
			}
			d.Value = &bfrtpb.DataField_IntArrVal{IntArrVal: list}
		default:
			d.Value = &bfrtpb.DataField_Stream{Stream: bytesOf(&f, v)}
		}
		x.Data.Fields = append(x.Data.Fields, d)
	}
	return x, nil
}

func bytesOf(f *bfrt.Field, v any) []byte {
	if name, ok := v.(string); ok {
		return []byte(name)
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(v.(int)))
	return b[8-(f.Bits()+7)/8:]
}

// ofDevice reports whether a table has one entry for all pipelines: the driver's own
// ones, except those of queues and priority groups.
func ofDevice(t *bfrt.Table) bool {
	return !ofPipe(t) && (strings.HasPrefix(t.Name, "$") || strings.HasPrefix(t.Name, "tf1."))
}

// ofPipe reports whether requests for a table must name one pipeline.
func ofPipe(t *bfrt.Table) bool {
	return strings.HasPrefix(t.Name, "tf1.tm.queue.") || t.Name == "tf1.tm.ppg.cfg"
}

// always reports whether the entries of a table exist from the beginning, so that
// they are only modified.
func always(t *bfrt.Table) bool {
	return t.Kind == "Register" || strings.HasPrefix(t.Name, "tf1.tm.") && t.Name != "tf1.tm.ppg.cfg" ||
		t.Name == "$PORT_STAT" || t.Name == "$PORT_HDL_INFO"
}

// drive applies the driver's rules for its own tables to an update. It may change the
// update to what has an effect.
func (s *Server) drive(t *bfrt.Table, pipes []int, op bfrtpb.Update_Type, old, e *bfrtpb.TableEntry) error {
	v := values{t, e}
	for _, f := range t.DataFields(t.ActionByID(e.GetData().GetActionId())) {
		if s.forget[t.Name+" "+f.Name] {
			v.drop(f.Name)
		}
	}
	if ofPipe(t) && len(pipes) != 1 {
		return status.Errorf(codes.InvalidArgument, "%s: a pipeline must be given, not all", t.Name)
	}
	if always(t) && (op == bfrtpb.Update_INSERT || op == bfrtpb.Update_DELETE) {
		return status.Errorf(codes.Unimplemented, "%s: entries cannot be added or deleted", t.Name)
	}
	switch t.Name {
	case "$PORT":
		if op == bfrtpb.Update_DELETE {
			break
		}
		if op == bfrtpb.Update_INSERT && (v.text("$SPEED") == "" || v.text("$FEC") == "") {
			return status.Error(codes.InvalidArgument, "$PORT: both $SPEED and $FEC are needed")
		}
		if (v.field("$TX_PFC_EN_MAP") == nil) != (v.field("$RX_PFC_EN_MAP") == nil) {
			v.drop("$TX_PFC_EN_MAP") // the driver writes a line to its log
			v.drop("$RX_PFC_EN_MAP")
		}
		if f := v.field("$FEC"); f.GetStrVal() == "BF_FEC_TYP_RS" {
			f.Value = &bfrtpb.DataField_StrVal{StrVal: "BF_FEC_TYP_REED_SOLOMON"}
		}
		if v.field("$SPEED") != nil {
			if before := (values{t, old}); op == bfrtpb.Update_MODIFY && before.text("$FEC") == "BF_FEC_TYP_REED_SOLOMON" && slices.Contains([]string{"BF_SPEED_1G", "BF_SPEED_10G", "BF_SPEED_40G"}, v.text("$SPEED")) {
				return status.Errorf(codes.InvalidArgument, "$PORT: Invalid Channel: no %s with %s", v.text("$SPEED"), before.text("$FEC"))
			}
			s.starts[v.key()]++
		}
	case "tf1.tm.ppg.cfg":
		if v.key() == 0 {
			return status.Error(codes.InvalidArgument, "ppg_id 0 is incorrect")
		}
		if op == bfrtpb.Update_DELETE {
			break
		}
		port := v.number("dev_port")
		if port/manifest.TofinoPipePorts != pipes[0] {
			return status.Errorf(codes.InvalidArgument, "dev_port=%d is not on pipe_id=%d", port, pipes[0])
		}
		if before := (values{t, old}); old != nil && before.number("dev_port") != port {
			return status.Errorf(codes.InvalidArgument, "the group is at dev_port=%d instead of %d", before.number("dev_port"), port)
		}
	}
	return nil
}

// Forget makes a table ignore a field of what is written, without an error.
func (s *Server) Forget(table, field string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.forget == nil {
		s.forget = make(map[string]bool)
	}
	s.forget[table+" "+field] = true
}

// Starts returns how often a port was stopped and started by a rate.
func (s *Server) Starts(port int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.starts[port]
}

// values has the fields of an entry by name.
type values struct {
	t *bfrt.Table
	e *bfrtpb.TableEntry
}

func (v values) field(name string) *bfrtpb.DataField {
	for _, f := range v.t.DataFields(v.t.ActionByID(v.e.GetData().GetActionId())) {
		for _, d := range v.e.GetData().GetFields() {
			if f.Name == name && f.ID == d.FieldId {
				return d
			}
		}
	}
	return nil
}

func (v values) text(name string) string { return v.field(name).GetStrVal() }

func (v values) number(name string) int { return number(v.field(name).GetStream()) }

// key returns the only field of the key.
func (v values) key() int {
	for _, k := range v.e.GetKey().GetFields() {
		return number(k.GetExact().GetValue())
	}
	return 0
}

func (v values) drop(name string) {
	if d := v.field(name); d != nil {
		var rest []*bfrtpb.DataField
		for _, f := range v.e.Data.Fields {
			if f != d {
				rest = append(rest, f)
			}
		}
		v.e.Data.Fields = rest
	}
}

func number(b []byte) int {
	n := 0
	for _, x := range b {
		n = n<<8 | int(x)
	}
	return n
}

// Panel returns the channels of a Wedge 100BF-32X by connector and channel, and their
// numbers: connectors 9 to 24 are in the first pipeline, 1 to 8 and 25 to 32 in the
// second. Connector 33 leads to the CPU. The numbers of the MAC blocks are those of
// bf_switchd's accton_wedge_32x_port_map.json.
func Panel() map[[2]int]int {
	channels := make(map[[2]int]int)
	for connector := 1; connector <= 33; connector++ {
		for channel := range 4 {
			channels[[2]int{connector, channel}] = firstPort(connector) + channel
		}
	}
	return channels
}

func firstPort(connector int) int {
	mac := 24 - connector
	switch {
	case connector == 33:
		return 64
	case connector > 28:
		mac = []int{26, 27, 24, 25}[connector-29]
	case connector > 24:
		mac = 56 - connector
	}
	switch {
	case mac < 8:
		return 4 + 8*(7-mac)
	case mac < 16:
		return 8 * (mac - 8)
	case mac < 24:
		return manifest.TofinoPipePorts + 4 + 8*(23-mac)
	}
	return manifest.TofinoPipePorts + 8*(mac-24)
}
