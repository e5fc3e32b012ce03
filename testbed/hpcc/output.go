// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math/bits"
	"slices"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// headerBytes is the length of the headers of the simulator's data packets: 14
// bytes of link header, IP, UDP, and a sequence number with a priority.
const headerBytes = 14 + 20 + 8 + 6

// Dialect is a variant of the formats.
type Dialect uint8

// Dialects.
const (
	// HPCC has six columns in a flow file and addresses in hexadecimal in the
	// FCT file.
	HPCC Dialect = iota
	// ConWeave has five columns, without the destination port, and node numbers
	// in the FCT file.
	ConWeave
)

// WriteFCT writes the finished flows in the order of their ends: source,
// destination, source port, destination port (the flow's Group), bytes, start, FCT,
// and the simulator's FCT in an empty network, with times in nanoseconds. The last
// depends only on topology and flow, so that it agrees with the simulator's.
func WriteFCT(w io.Writer, t *topo.Topology, flows []fabric.FlowResult, payload int, d Dialect) error {
	finished := make([]*fabric.FlowResult, 0, len(flows))
	for i := range flows {
		if flows[i].Finished {
			finished = append(finished, &flows[i])
		}
	}
	slices.SortStableFunc(finished, func(a, b *fabric.FlowResult) int { return cmp.Compare(a.Start+a.FCT, b.Start+b.FCT) })
	bw := bufio.NewWriter(w)
	paths := t.Paths()
	format := "%08x %08x %d %d %d %d %d %d\n"
	if d == ConWeave {
		format = "%d %d %d %d %d %d %d %d\n"
	}
	for _, f := range finished {
		src, dst := t.Nodes[f.Src].Host, t.Nodes[f.Dst].Host
		if d == HPCC {
			src, dst = address(src), address(dst)
		}
		fmt.Fprintf(bw, format, src, dst, f.Port, f.Group, f.Size,
			f.Start.Nanoseconds(), f.FCT.Nanoseconds(), standalone(paths.To(f.Dst).From(f.Src), f.Size, int64(payload)))
	}
	return bw.Flush()
}

// address returns the simulator's IPv4 address of a host.
func address(node int) int { return 0x0b000001 + node/256*0x10000 + node%256*0x100 }

// standalone returns the FCT in an empty network by the simulator's formula, in
// nanoseconds: twice the links' delays, a payload's transmission time on each link,
// and the flow's on the slowest.
func standalone(path []*topo.Link, size, payload int64) int64 {
	var rtt int64
	slowest := path[0].Rate
	for _, l := range path {
		rtt += 2*l.Delay.Nanoseconds() + payload*8e9/int64(l.Rate)
		slowest = min(slowest, l.Rate)
	}
	bytes := size + ((size-1)/payload+1)*headerBytes
	hi, lo := bits.Mul64(uint64(bytes), 8e9)
	whole, _ := bits.Div64(hi, lo, uint64(slowest))
	return rtt + int64(whole)
}

// WritePFC writes when ports were paused and resumed: time in nanoseconds, node,
// its kind (0 host, 1 switch), port, and 1 for PAUSE or 0 for RESUME. For HPCC, whose
// simulator does not renew pauses, a renewal is not written, and a pause that expires
// is written as resumed. For ConWeave all frames and nothing else are written.
func WritePFC(w io.Writer, t *topo.Topology, pauses []fabric.PauseEvent, d Dialect) error {
	type port struct {
		node, port int
		class      uint8
	}
	type line struct {
		at         vtime.Time
		node, port int
		pause      int
	}
	var lines []line
	until := make(map[port]vtime.Time)
	for _, e := range pauses {
		if d == ConWeave {
			lines = append(lines, line{e.Time, e.Node, e.Port, int(min(e.Quanta, 1))})
			continue
		}
		p := port{e.Node, e.Port, e.Class}
		end, on := until[p]
		if on && end <= e.Time {
			lines = append(lines, line{end, e.Node, e.Port, 0})
			delete(until, p)
			on = false
		}
		switch {
		case e.Quanta == 0 && on:
			lines = append(lines, line{e.Time, e.Node, e.Port, 0})
			delete(until, p)
		case e.Quanta > 0:
			if !on {
				lines = append(lines, line{e.Time, e.Node, e.Port, 1})
			}
			until[p] = e.Time + pauseTime(t, e)
		}
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	bw := bufio.NewWriter(w)
	adapters := adaptersOf(t)
	for _, l := range lines {
		kind, host := 0, t.Nodes[l.node].Host
		if t.Nodes[l.node].Kind == topo.Switch {
			kind, l.port = 1, number(t, l.node, l.port)
		} else {
			l.port += slices.Index(adapters[host], l.node)
		}
		fmt.Fprintf(bw, "%d %d %d %d %d\n", l.at.Nanoseconds(), host, kind, l.port, l.pause)
	}
	return bw.Flush()
}

// number returns the simulator's number of a switch's port.
func number(t *topo.Topology, node, port int) int {
	return cmp.Or(t.Nodes[node].Ports[port-1].Number, port)
}

// pauseTime returns how long a pause lasts on the link of its port.
func pauseTime(t *topo.Topology, e fabric.PauseEvent) vtime.Time {
	return packet.PauseTime(e.Quanta, t.Links[t.Nodes[e.Node].Ports[e.Port-1].Link].Rate)
}
