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

// PortMap returns the target's numbers of a node's ports, by number in the
// topology from 1. A port that is not in panel is channel 0 of the front panel
// port with the same number.
func (c *Client) PortMap(ctx context.Context, n *topo.Node, panel map[int]Panel) (map[int]int, error) {
	numbers := make(map[int]int)
	taken := make(map[int]int)
	for p := 1; p <= len(n.Ports); p++ {
		at, ok := panel[p]
		if !ok {
			at = Panel{Port: p}
		}
		number, err := c.PanelPort(ctx, at.Port, at.Channel)
		if err != nil {
			return nil, err
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
// ports is the result of PortMap.
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
		port := Port{Port: ports[p], Speed: speed, FEC: fec}
		if t.Pauses(link) {
			port.PFC = 1 << class
		}
		list = append(list, Wanted{Pipe: PipeAll, Entry: port.entry()})
	}
	if pfc.Off {
		return list, nil
	}
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
		entries, err := c.lossless(ctx, Lossless{
			Port: ports[p], Pipe: ports[p] / manifest.TofinoPipePorts, Class: class, Group: p,
			Guaranteed: cells(max(pfc.Reserve, vtime.Size(t.LargestFrame()+topo.EthernetOverhead))), XOFF: cells(xoff),
			Skid: cells(t.HardwareHeadroom(link, manifest.CellBytes)), Hysteresis: cells(resume),
		})
		if err != nil {
			return nil, fmt.Errorf("port %d of %s: %w", p, n.Name, err)
		}
		list = append(list, entries...)
	}
	return list, nil
}

func cells(s vtime.Size) int { return int(s+manifest.CellBytes-1) / manifest.CellBytes }

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
