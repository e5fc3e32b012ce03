// SPDX-License-Identifier: Apache-2.0

package bfrt

import (
	"context"
	"fmt"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Panel is a position on the front panel.
type Panel struct{ Port, Channel int }

// Channels returns the channels of the front panel with the target's numbers.
func (c *Client) Channels(ctx context.Context) (map[Panel]int, error) {
	list, err := c.Read(ctx, PipeAll, Entry{Table: "$PORT_HDL_INFO"}, false)
	if err != nil {
		return nil, err
	}
	channels := make(map[Panel]int)
	for _, e := range list {
		var at Panel
		for _, m := range e.Match {
			n, _ := m.Value.(uint64)
			if m.Field == "$CONN_ID" {
				at.Port = int(n)
			} else {
				at.Channel = int(n)
			}
		}
		if n, ok := e.Data["$DEV_PORT"].(uint64); ok {
			channels[at] = int(n)
		}
	}
	return channels, nil
}

// PortMap returns the target's numbers of a node's ports, by number in the
// topology from 1. A port that is not in panel is channel 0 of the front panel
// port with the same number. channels is the result of Channels.
func PortMap(n *topo.Node, panel map[int]Panel, channels map[Panel]int) (map[int]int, error) {
	numbers := make(map[int]int)
	taken := make(map[int]int)
	for p := 1; p <= len(n.Ports); p++ {
		at, ok := panel[p]
		if !ok {
			at = Panel{Port: p}
		}
		number, ok := channels[at]
		if !ok {
			return nil, fmt.Errorf("port %d of %s: the switch has no port %d/%d of the front panel; give another with --panel", p, n.Name, at.Port, at.Channel)
		}
		if other := taken[number]; other != 0 {
			return nil, fmt.Errorf("ports %d and %d of %s are both %d/%d of the front panel", other, p, n.Name, at.Port, at.Channel)
		}
		numbers[p], taken[number] = number, p
	}
	return numbers, nil
}

// Network returns the device's entries for a node of a network: ports with the
// rates of their links, and PFC of one class with the topology's thresholds.
// ports is the result of PortMap. It is an error if the buffer has no room for them.
func (c *Client) Network(ctx context.Context, t *topo.Topology, node, class int, ports map[int]int) ([]Wanted, error) {
	n := &t.Nodes[node]
	pfc := &t.Switch.PFC
	var list []Wanted
	for p := 1; p <= len(n.Ports); p++ {
		link := &t.Links[n.Ports[p-1].Link]
		speed, fec, err := speed(link.Rate)
		if err != nil {
			return nil, fmt.Errorf("port %d of %s: %w", p, n.Name, err)
		}
		port := panelPort{Port: ports[p], Speed: speed, FEC: fec}
		if t.Pauses(link) {
			port.PFC = 1 << class
		}
		list = append(list, Wanted{Pipe: PipeAll, Entry: port.entry()})
	}
	if pfc.Off {
		return list, nil
	}
	var buffers []Wanted
	var skid, guaranteed, most int
	for p := 1; p <= len(n.Ports); p++ {
		link := &t.Links[n.Ports[p-1].Link]
		if !t.Pauses(link) {
			continue
		}
		xoff := pfc.XOFF
		if a := t.AlphaFor(link); a > 0 { // of a busy switch
			xoff = vtime.Size(float64(t.Switch.Buffer) * a / (1 + a))
		}
		resume := pfc.Resume
		if resume == 0 {
			resume = t.DefaultResume()
		}
		l := lossless{
			port: ports[p], class: class,
			guaranteed: cells(max(pfc.Reserve, vtime.Size(t.LargestFrame()+topo.EthernetOverhead))), xoff: cells(xoff),
			skid: cells(t.HardwareHeadroom(link, manifest.CellBytes)), hysteresis: cells(resume),
		}
		entries, err := l.entries(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("port %d of %s: %w", p, n.Name, err)
		}
		buffers = append(buffers, entries...)
		skid, guaranteed, most = skid+l.skid, guaranteed+l.guaranteed, max(most, l.xoff)
	}
	if len(buffers) == 0 {
		return list, nil
	}
	if err := c.checkBuffer(ctx, n, skid, guaranteed, most, t.Switch.PFC.Alpha); err != nil {
		return nil, err
	}
	list = append(list, Wanted{Pipe: PipeAll, Entry: Entry{Table: poolTable, Match: []Match{Eq("pool", skidPool)}, Data: map[string]any{"size_cells": skid}}})
	return append(list, buffers...), nil
}

// checkBuffer returns an error if the chip's buffer has no room for the headroom and
// the reserved cells of a switch's ports, or if the largest XOFF, in cells, cannot be
// reached.
func (c *Client) checkBuffer(ctx context.Context, n *topo.Node, skid, guaranteed, xoff int, alpha float64) error {
	pool, err := c.poolSize(ctx, ingressPool)
	if err != nil {
		return err
	}
	total, err := c.totalCells(ctx)
	if err != nil {
		return err
	}
	const bytes = manifest.CellBytes
	switch free := total - pool - guaranteed; {
	case skid > free:
		return fmt.Errorf("switch %s: the headroom of its ports needs %d cells of %d bytes, and the chip has %d besides %s (%d) and what is guaranteed to ports (%d): use shorter or slower links, a smaller switch.mtu, or PFC between hosts and leaves only (hosts_only)",
			n.Name, skid, bytes, max(free, 0), ingressPool, pool, guaranteed)
	case xoff > pool:
		lower := fmt.Sprintf("lower switch.pfc.xoff to at most %v", vtime.Size(pool*bytes))
		if alpha > 0 {
			lower = fmt.Sprintf("it is that of switch.pfc.alpha with switch.buffer: lower one of them, so that XOFF is at most %v", vtime.Size(pool*bytes))
		}
		return fmt.Errorf("switch %s: XOFF is %d cells of %d bytes, which an ingress queue never has: %s, which all share, has %d; %s, or enlarge the pool in the driver",
			n.Name, xoff, bytes, ingressPool, pool, lower)
	}
	return nil
}

// cells returns the cells that hold a size. The chip counts in units of eight.
func cells(s vtime.Size) int {
	const unit = 8 * manifest.CellBytes
	return int((s+unit-1)/unit) * 8
}

// speed returns BF Runtime's name of a rate, and the usual error correction:
// none up to 40 Gb/s, Reed-Solomon above.
func speed(r vtime.Rate) (name, fec string, err error) {
	switch r {
	case vtime.Gbps, 10 * vtime.Gbps, 40 * vtime.Gbps:
		fec = "NONE"
	case 25 * vtime.Gbps, 50 * vtime.Gbps, 100 * vtime.Gbps:
		fec = "RS"
	default:
		return "", "", fmt.Errorf("a Tofino port does not run at %v, but at 1, 10, 25, 40, 50 or 100 Gb/s", r)
	}
	return fmt.Sprintf("%dG", r/vtime.Gbps), fec, nil
}
