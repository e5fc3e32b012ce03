// SPDX-License-Identifier: Apache-2.0

package bfrt

import (
	"context"
	"fmt"

	"github.com/pauseless/pauseless/internal/manifest"
)

// mirror is a mirror session: the destination of copies, and their length.
type mirror struct {
	Session   int
	Port      int // of the target; or
	Group     int // a multicast group, if Port is zero
	Queue     int
	Truncate  int    // in bytes; 0 is no truncation
	Direction string // INGRESS, EGRESS or BOTH
}

func (m *mirror) entry() Entry {
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

// The driver's tables of ports and priority groups, and the fields with the classes
// whose PAUSE a port sends and obeys.
const (
	portTable  = "$PORT"
	groupTable = "tf1.tm.ppg.cfg"
	txPFC      = "$TX_PFC_EN_MAP"
	rxPFC      = "$RX_PFC_EN_MAP"
)

// panelPort is a port of the front panel, enabled, whose MAC sends and obeys PAUSE.
type panelPort struct {
	Port  int    // of the target
	Speed string // as in 40G
	FEC   string // NONE, FIREHOUSE or RS
	// PFC has the lossless classes, class 0 is bit 0.
	PFC uint8
}

func (p *panelPort) entry() Entry {
	return Entry{Table: portTable, Match: []Match{Eq("$DEV_PORT", p.Port)}, Data: map[string]any{
		"$SPEED": "BF_SPEED_" + p.Speed, "$FEC": "BF_FEC_TYP_" + p.FEC, "$PORT_ENABLE": true,
		txPFC: uint32(p.PFC), rxPFC: uint32(p.PFC),
	}}
}

// lossless is the buffering of a port's packets of a class, in the traffic
// manager's cells of 80 bytes.
type lossless struct {
	port       int // of the target
	class      int
	guaranteed int // cells reserved for the priority group
	xoff       int // cells beyond these at which the sender is paused
	skid       int // cells for packets that arrive after that
	hysteresis int // cells below xoff at which the sender is resumed
}

// entries returns what makes the traffic manager pause the sender of a class instead of
// dropping: flow control of the port, a priority group with room for the bytes in
// flight, the port's share of that room, and a queue that a received PAUSE of the
// class stops and from which nothing is dropped. In the driver's defaults the room is
// empty, and a queue drops at its tail.
func (l *lossless) entries(ctx context.Context, c *Client) ([]Wanted, error) {
	pipe := uint32(l.port / manifest.TofinoPipePorts)
	read := func(table string) (Entry, error) {
		list, err := c.Read(ctx, pipe, Entry{Table: table, Match: []Match{Eq("dev_port", l.port)}}, false)
		if err == nil && len(list) != 1 {
			err = fmt.Errorf("%s has %d entries for port %d", table, len(list), l.port)
		}
		if err != nil {
			return Entry{}, err
		}
		return list[0], nil
	}
	cfg, err := read("tf1.tm.port.cfg")
	if err != nil {
		return nil, err
	}
	group, ok := cfg.Data["pg_id"].(uint64)
	queues, ok2 := cfg.Data["egress_qid_queues"].([]uint32)
	if !ok || !ok2 || l.class >= len(queues) {
		return nil, fmt.Errorf("tf1.tm.port.cfg does not say which queue port %d has for class %d", l.port, l.class)
	}
	flow, err := read("tf1.tm.port.flowcontrol")
	if err != nil {
		return nil, err
	}
	if mode := flow.Data["mode_rx"]; mode != nil && mode != "PFC" {
		return nil, fmt.Errorf("port %d does not obey PFC (mode_rx of tf1.tm.port.flowcontrol is %v), and BF Runtime cannot change that: the driver sets PFC on a chip, but not in its model", l.port, mode)
	}
	icos := make([]uint32, 8)
	for i := range icos {
		icos[i] = uint32(i)
	}
	queue := []Match{Eq("pg_id", group), Eq("pg_queue", queues[l.class])}
	// Group 0 does not exist, and a group cannot move to another port: its number is
	// that of the port within the pipeline, plus 1.
	number := l.port%manifest.TofinoPipePorts + 1
	return []Wanted{
		{Pipe: pipe, Entry: Entry{Table: "tf1.tm.port.flowcontrol", Match: []Match{Eq("dev_port", l.port)},
			Data: map[string]any{"mode_tx": "PFC", "cos_to_icos": icos}}},
		{Pipe: pipe, Entry: Entry{Table: "tf1.tm.port.buffer", Match: []Match{Eq("dev_port", l.port)},
			Data: map[string]any{"skid_limit_cells": l.skid}}},
		{Pipe: pipe, Entry: Entry{Table: groupTable, Match: []Match{Eq("ppg_id", number)}, Action: "dev_port",
			Data: map[string]any{
				"dev_port": l.port, fmt.Sprintf("icos_%d", l.class): true,
				"guaranteed_cells": l.guaranteed, "hysteresis_cells": l.hysteresis,
				"pool_id": ingressPool, "pool_max_cells": l.xoff, "dynamic_baf": "DISABLE",
				"pfc_enable": true, "pfc_skid_max_cells": l.skid,
			}}},
		{Pipe: pipe, Entry: Entry{Table: "tf1.tm.queue.cfg", Match: queue, Data: map[string]any{"pfc_cos": l.class}}},
		{Pipe: pipe, Entry: Entry{Table: "tf1.tm.queue.buffer", Match: queue, Action: "shared_pool", Data: map[string]any{"tail_drop_enable": false}}},
	}, nil
}

// The driver's pools of cells that ingress uses.
const (
	poolTable   = "tf1.tm.pool.cfg"
	ingressPool = "IG_APP_POOL_0"
	skidPool    = "IG_SKID_POOL"
)

// poolSize returns the cells of a pool of the driver.
func (c *Client) poolSize(ctx context.Context, pool string) (int, error) {
	list, err := c.Read(ctx, PipeAll, Entry{Table: poolTable, Match: []Match{Eq("pool", pool)}}, false)
	if err != nil {
		return 0, err
	}
	if len(list) == 1 {
		if n, ok := list[0].Data["size_cells"].(uint64); ok {
			return int(n), nil
		}
	}
	return 0, fmt.Errorf("%s does not say how large %s is", poolTable, pool)
}

// totalCells returns the cells of the chip's buffer.
func (c *Client) totalCells(ctx context.Context) (int, error) {
	list, err := c.Read(ctx, PipeAll, Entry{Table: "tf1.tm.cfg", Default: true}, false)
	if err != nil {
		return 0, err
	}
	if len(list) == 1 {
		if n, ok := list[0].Data["total_cells"].(uint64); ok {
			return int(n), nil
		}
	}
	return 0, fmt.Errorf("tf1.tm.cfg does not say how large the buffer is")
}
