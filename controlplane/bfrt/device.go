// SPDX-License-Identifier: Apache-2.0

package bfrt

import (
	"context"
	"fmt"

	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
)

// Register reads a cell of a register array from the chip: by field, the value
// in each pipeline. The field of a cell with a single number is called "f1".
func (c *Client) Register(ctx context.Context, name string, index int) (map[string][]uint64, error) {
	entries, err := c.Read(ctx, PipeAll, Entry{Table: name, Match: []Match{Eq("$REGISTER_INDEX", index)}}, true)
	if err != nil {
		return nil, err
	}
	if len(entries) != 1 {
		return nil, fmt.Errorf("register %s: %d entries for index %d", name, len(entries), index)
	}
	values := make(map[string][]uint64)
	for field, v := range entries[0].Data {
		list, ok := v.([]any)
		if !ok {
			list = []any{v}
		}
		for _, x := range list {
			n, ok := x.(uint64)
			if !ok {
				return nil, fmt.Errorf("register %s: field %s is a %T", name, field, x)
			}
			values[short(field)] = append(values[short(field)], n)
		}
	}
	return values, nil
}

// SetRegister writes a cell of a register array, in one pipeline or all. Fields
// have the names that Register returns.
func (c *Client) SetRegister(ctx context.Context, pipe uint32, name string, index int, values map[string]uint64) error {
	if c.info == nil {
		return fmt.Errorf("register %s: bind to a program first", name)
	}
	t, err := c.info.Table(name)
	if err != nil {
		return err
	}
	data := make(map[string]any)
	for _, f := range t.DataFields(nil) {
		if v, ok := values[short(f.Name)]; ok {
			data[f.Name] = v
		}
	}
	if len(data) != len(values) {
		return fmt.Errorf("register %s has not all the fields that are to be set", name)
	}
	return c.Write(ctx, pipe, bfrtpb.Update_MODIFY, Entry{Table: name, Match: []Match{Eq("$REGISTER_INDEX", index)}, Data: data})
}

// short returns the last part of a dotted name.
func short(name string) string {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == '.' {
			return name[i+1:]
		}
	}
	return name
}

// Mirror is a mirror session: the destination of copies, and their length.
type Mirror struct {
	Session   int
	Port      int // of the target; or
	Group     int // a multicast group, if Port is zero
	Queue     int
	Truncate  int    // in bytes; 0 is no truncation
	Direction string // INGRESS, EGRESS or BOTH
}

// SetMirror creates or changes a mirror session.
func (c *Client) SetMirror(ctx context.Context, m Mirror) error {
	return c.Write(ctx, PipeAll, bfrtpb.Update_INSERT_OR_MODIFY, m.entry())
}

func (m *Mirror) entry() Entry {
	data := map[string]any{"$direction": m.Direction, "$session_enable": true}
	if m.Port > 0 {
		data["$ucast_egress_port"], data["$ucast_egress_port_valid"] = m.Port, true
		data["$egress_port_queue"] = m.Queue
	} else {
		data["$mcast_grp_a"], data["$mcast_grp_a_valid"] = m.Group, true
	}
	if m.Truncate > 0 {
		data["$max_pkt_len"] = m.Truncate
	}
	return Entry{Table: "$mirror.cfg", Match: []Match{Eq("$sid", m.Session)}, Action: "$normal", Data: data}
}

// Port is a port of the front panel.
type Port struct {
	Port  int    // of the target
	Speed string // as in 40G
	FEC   string // NONE, FIREHOUSE or RS
	// PFC has the lossless classes, class 0 is bit 0.
	PFC uint8
}

// AddPort adds an enabled port whose MAC sends and applies PAUSE.
func (c *Client) AddPort(ctx context.Context, p Port) error {
	return c.Write(ctx, PipeAll, bfrtpb.Update_INSERT, p.entry())
}

func (p *Port) entry() Entry {
	return Entry{Table: "$PORT", Match: []Match{Eq("$DEV_PORT", p.Port)}, Data: map[string]any{
		"$SPEED": "BF_SPEED_" + p.Speed, "$FEC": "BF_FEC_TYP_" + p.FEC, "$PORT_ENABLE": true,
		"$TX_PFC_EN_MAP": uint32(p.PFC), "$RX_PFC_EN_MAP": uint32(p.PFC),
	}}
}

// PanelPort returns the target's number of a front panel port's channel, from
// the switch.
func (c *Client) PanelPort(ctx context.Context, port, channel int) (int, error) {
	entries, err := c.Read(ctx, PipeAll, Entry{Table: "$PORT_HDL_INFO", Match: []Match{Eq("$CONN_ID", port), Eq("$CHNL_ID", channel)}}, false)
	if err != nil {
		return 0, fmt.Errorf("port %d/%d of the front panel: %w", port, channel, err)
	}
	if len(entries) == 1 {
		if n, ok := entries[0].Data["$DEV_PORT"].(uint64); ok {
			return int(n), nil
		}
	}
	return 0, fmt.Errorf("the switch has no port %d/%d", port, channel)
}

// Lossless is the buffering of a port's packets of a class, in the traffic
// manager's cells of 80 bytes.
type Lossless struct {
	Port       int // of the target
	Pipe       int // of the port
	Class      int
	Group      int // number of the priority group to use
	Guaranteed int // cells reserved for the group
	XOFF       int // cells beyond these at which the sender is paused
	Skid       int // cells for packets that arrive after that
	Hysteresis int // cells below XOFF at which the sender is resumed
}

// SetLossless makes the traffic manager pause the sender of a class instead of
// dropping: flow control of the port, a priority group with room for the bytes
// in flight, and the queue that a received PAUSE of the class stops.
func (c *Client) SetLossless(ctx context.Context, l Lossless) error {
	list, err := c.lossless(ctx, l)
	if err != nil {
		return err
	}
	for _, w := range list {
		op := bfrtpb.Update_MODIFY
		if w.Entry.Table == "tf1.tm.ppg.cfg" {
			op = bfrtpb.Update_INSERT_OR_MODIFY
		}
		if err := c.Write(ctx, w.Pipe, op, w.Entry); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) lossless(ctx context.Context, l Lossless) ([]Wanted, error) {
	pipe := uint32(l.Pipe)
	groups, err := c.Read(ctx, pipe, Entry{Table: "tf1.tm.port.cfg", Match: []Match{Eq("dev_port", l.Port)}}, false)
	if err != nil {
		return nil, err
	}
	if len(groups) != 1 {
		return nil, fmt.Errorf("tf1.tm.port.cfg has %d entries for port %d", len(groups), l.Port)
	}
	group, ok := groups[0].Data["pg_id"].(uint64)
	queues, ok2 := groups[0].Data["egress_qid_queues"].([]uint32)
	if !ok || !ok2 || l.Class >= len(queues) {
		return nil, fmt.Errorf("tf1.tm.port.cfg does not say which queue port %d has for class %d", l.Port, l.Class)
	}
	icos := make([]uint32, 8)
	for i := range icos {
		icos[i] = uint32(i)
	}
	return []Wanted{
		{Pipe: pipe, Entry: Entry{Table: "tf1.tm.port.flowcontrol", Match: []Match{Eq("dev_port", l.Port)},
			Data: map[string]any{"mode_tx": "PFC", "mode_rx": "PFC", "cos_to_icos": icos}}},
		{Pipe: pipe, Entry: Entry{Table: "tf1.tm.ppg.cfg", Match: []Match{Eq("ppg_id", l.Group)}, Action: "dev_port",
			Data: map[string]any{
				"dev_port": l.Port, fmt.Sprintf("icos_%d", l.Class): true,
				"guaranteed_cells": l.Guaranteed, "hysteresis_cells": l.Hysteresis,
				"pool_id": "IG_APP_POOL_0", "pool_max_cells": l.XOFF, "dynamic_baf": "DISABLE",
				"pfc_enable": true, "pfc_skid_max_cells": l.Skid,
			}}},
		{Pipe: pipe, Entry: Entry{Table: "tf1.tm.queue.cfg",
			Match: []Match{Eq("pg_id", group), Eq("pg_queue", queues[l.Class])}, Data: map[string]any{"pfc_cos": l.Class}}},
	}, nil
}

// Pauses returns for each class the total microseconds of pauses that the peer
// of a port has requested. A Tofino has no other counter of pauses.
func (c *Client) Pauses(ctx context.Context, port int) ([8]uint64, error) {
	var n [8]uint64
	entries, err := c.Read(ctx, PipeAll, Entry{Table: "$PORT_STAT", Match: []Match{Eq("$DEV_PORT", port)}}, true)
	if err != nil {
		return n, err
	}
	if len(entries) != 1 {
		return n, fmt.Errorf("$PORT_STAT has %d entries for port %d", len(entries), port)
	}
	for i := range n {
		name := fmt.Sprintf("$ReceivePri%dPause1USCount", i)
		v, ok := entries[0].Data[name].(uint64)
		if !ok {
			return n, fmt.Errorf("$PORT_STAT of port %d has no %s", port, name)
		}
		n[i] = v
	}
	return n, nil
}
