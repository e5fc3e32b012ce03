// SPDX-License-Identifier: Apache-2.0

// Package trace follows one packet of a scenario through the fabric: what the programs of
// the switches do with it, where it waits, its copies, and where it ends.
package trace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/testbed/packets"
	"github.com/pauseless/pauseless/testbed/record"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// Want is the packet to follow: one of a series of single packets, by its name, or one of
// a flow, by its number from 1. Packet is its number in the series or flow, from 1.
type Want struct {
	Series string
	Flow   int
	Packet int
}

// String names the packet.
func (w Want) String() string {
	switch {
	case w.Flow > 0:
		return fmt.Sprintf("packet %d of flow %d", w.Packet, w.Flow)
	case w.Series != "":
		return fmt.Sprintf("packet %d of %s", w.Packet, w.Series)
	}
	return fmt.Sprintf("packet %d of the first series", w.Packet)
}

// Trace follows a packet of one run. It implements the hooks of scenario.Options.
type Trace struct {
	want     Want
	net      *topo.Topology
	number   uint32
	seen     int // packets of the flow that have left their host
	branches map[*packet.Frame]*branch
	all      []*branch
	lines    []Line
}

// branch is the packet, an answer to it, or a copy.
type branch struct {
	name   string
	visits map[int]int // by switch
	ended  bool
}

// Line is a step of the packet.
type Line struct {
	At     vtime.Time
	Node   string
	Branch string // empty for the packet itself
	Port   int    // where it arrived; zero for what follows at the node
	Text   string
}

// New returns a trace.
func New(w Want) *Trace { return &Trace{want: w, branches: make(map[*packet.Frame]*branch)} }

// Tap returns the observer of a node's frames.
func (t *Trace) Tap(n *topo.Node) fabric.Tap { return &tap{t, n} }

// Begin is called before the run. The fabric must have one thread.
func (t *Trace) Begin(lab *virtual.Lab, r *packets.Run) error {
	t.net = lab.Fabric.Topology()
	if t.want.Flow > 0 {
		t.number = uint32(t.want.Flow)
		if t.want.Flow > lab.Fabric.Flows() && lab.Fabric.Flows() > 0 {
			return fmt.Errorf("there is no flow %d: the run has %d", t.want.Flow, lab.Fabric.Flows())
		}
	} else {
		var err error
		if t.number, err = r.Number(t.want.Series, t.want.Packet); err != nil {
			return err
		}
	}
	for _, id := range t.net.Switches() {
		name := t.net.Nodes[id].Name
		lab.Switch(id).Trace(&softswitch.Tracer{
			Follow: func(f *packet.Frame) bool { return t.branches[f] != nil },
			Step:   func(now vtime.Time, text string) { t.add(now, name, text) },
			Copy:   t.copied,
			Drop:   t.ended,
		})
	}
	return nil
}

// add adds a step at a switch.
func (t *Trace) add(now vtime.Time, node, text string) {
	t.lines = append(t.lines, Line{At: now, Node: node, Text: text})
}

func (t *Trace) copied(from, to *packet.Frame) {
	b := &branch{name: fmt.Sprintf("copy %d", len(t.all)), visits: make(map[int]int)}
	t.branches[to], t.all = b, append(t.all, b)
	t.lines = append(t.lines, Line{At: t.lines[len(t.lines)-1].At, Node: t.lines[len(t.lines)-1].Node, Text: "  " + b.name + " is made"})
}

func (t *Trace) ended(f *packet.Frame) {
	if b := t.branches[f]; b != nil {
		b.ended = true
		delete(t.branches, f)
	}
}

// tap sees the frames that reach a node.
type tap struct {
	t *Trace
	n *topo.Node
}

// Arrive implements fabric.Tap.
func (p *tap) Arrive(now vtime.Time, port int, f *packet.Frame) {
	t, n := p.t, p.n
	b := t.branches[f]
	if n.Kind == topo.Host {
		if b == nil {
			return
		}
		text := fmt.Sprintf("received: %d bytes: %x", f.Len(), f.Data[:min(len(f.Data), 64)])
		t.lines = append(t.lines, Line{now, n.Name, b.name, port, text})
		if n.Stub != topo.NoStub {
			t.ended(f)
			return
		}
		if ip := packet.AsIPv4(f.Data[min(packet.EthernetLen, len(f.Data)):]); ip != nil && packet.Ethernet(f.Data).EtherType() == packet.EtherTypeIPv4 && ip.Dst() != n.IP {
			t.lines = append(t.lines, Line{now, n.Name, b.name, 0, fmt.Sprintf("note: its IPv4 destination is %v, and this host has %v", ip.Dst(), n.IP)})
		} else if d := packet.AsEthernet(f.Data); d != nil && d.Dst() != n.MAC && d.Dst()[0]&1 == 0 {
			t.lines = append(t.lines, Line{now, n.Name, b.name, 0, fmt.Sprintf("note: its Ethernet destination is %v, and this host has %v: a real host would drop it", d.Dst(), n.MAC)})
		}
		t.ended(f)
		return
	}
	from := &t.net.Nodes[n.Ports[port-1].Peer]
	if b == nil && from.Kind == topo.Host && f.Flow() == t.number {
		if t.seen++; t.want.Flow > 0 && t.seen != t.want.Packet {
			return
		}
		b = &branch{visits: make(map[int]int)}
		if len(t.all) > 0 {
			b.name = "answer"
		}
		t.branches[f], t.all = b, append(t.all, b)
	}
	if b == nil {
		return
	}
	text := fmt.Sprintf("from %s", from.Name)
	if b.visits[n.ID]++; b.visits[n.ID] > 1 {
		text += fmt.Sprintf(" (note: visit %d of this switch: a loop)", b.visits[n.ID])
	}
	t.lines = append(t.lines, Line{now, n.Name, b.name, port, text})
}

// Lines returns the steps so far.
func (t *Trace) Lines() []Line { return t.lines }

// WriteJSON writes the steps, one JSON object a line: at_ns is the virtual time, node the name
// of the switch or host, branch is "answer" or "copy N" and missing for the packet itself, and
// text is as Print shows it.
func (t *Trace) WriteJSON(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, l := range t.lines {
		err := out.Encode(struct {
			AtNS   float64 `json:"at_ns"`
			Node   string  `json:"node"`
			Branch string  `json:"branch,omitempty"`
			Text   string  `json:"text"`
		}{l.At.Microseconds() * 1000, l.Node, l.Branch, strings.TrimSpace(l.Text)})
		if err != nil {
			return err
		}
	}
	return nil
}

// Left says what has not come to an end: the packet or copies of it; "" if there is nothing.
func (t *Trace) Left() string {
	if len(t.all) == 0 {
		return "the packet did not reach a switch: there is no such packet or flow, or it was not sent by the end of the run"
	}
	if left := slices.DeleteFunc(slices.Clone(t.all), func(b *branch) bool { return b.ended }); len(left) > 0 {
		return fmt.Sprintf("%d of %d did not arrive anywhere by the end of the run: lost on a link, or still in a queue", len(left), len(t.all))
	}
	return ""
}

// Record adds the steps to a recording of the run, for a map of the network.
func (t *Trace) Record(r *record.Run) {
	r.Packet, r.PacketLeft, r.Steps = t.want.String(), t.Left(), []record.Step{}
	lines := slices.Clone(t.lines) // each node's are in order
	slices.SortStableFunc(lines, func(a, b Line) int { return cmp.Compare(a.At, b.At) })
	for _, l := range lines {
		r.Steps = append(r.Steps, record.Step{AtNS: l.At.Microseconds() * 1000, Node: t.net.NodeByName(l.Node).ID, Port: l.Port, Branch: l.Branch, Text: strings.TrimSpace(l.Text)})
	}
}

// Print writes the steps, and what became of the packet.
func (t *Trace) Print(w io.Writer) error {
	if len(t.all) == 0 {
		_, err := fmt.Fprintln(w, t.Left())
		return err
	}
	var b strings.Builder
	last := Line{Node: "-"}
	for _, l := range t.lines {
		if l.Node != last.Node || strings.HasPrefix(l.Text, "from ") || strings.HasPrefix(l.Text, "received") {
			fmt.Fprintf(&b, "%s, %.3f µs: ", l.Node, l.At.Microseconds())
			if l.Branch != "" {
				fmt.Fprintf(&b, "%s, ", l.Branch)
			}
			fmt.Fprintf(&b, "%s\n", l.Text)
		} else {
			if l.At != last.At {
				fmt.Fprintf(&b, "  at %.3f µs\n", l.At.Microseconds())
			}
			fmt.Fprintf(&b, "  %s\n", l.Text)
		}
		last = l
	}
	if left := t.Left(); left != "" {
		fmt.Fprintf(&b, "%s\n", left)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
