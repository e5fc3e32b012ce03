// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"fmt"
	"strings"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
)

// Annotated returns the manifest's tables of a program that nobody generated: those whose
// annotations ask for entries. Names in annotations are checked.
func Annotated(info *p4configv1.P4Info) ([]manifest.Table, error) {
	s, err := schema.New(info)
	if err != nil {
		return nil, err
	}
	var tables []manifest.Table
	for i, x := range info.Tables {
		in := s.Tables[i]
		list := x.GetPreamble().GetAnnotations()
		t := manifest.Table{Name: in.Full, Kind: "settings", Entries: schema.Annotation(list, "entries")}
		if fill := schema.Annotation(list, "fill"); fill != "" {
			t.Fill, t.Kind = []manifest.Fill{manifest.Fill(fill)}, "enumeration"
		}
		if t.Entries == "" && t.Fill == nil {
			continue
		}
		if err := manifest.CheckEntries(t.Entries); err != nil {
			return nil, fmt.Errorf("table %s: %w", in.Name, err)
		}
		for _, a := range in.Actions {
			args := values(info, a)
			if t.Entries != "" && (len(args) > 0 || len(a.Params) == 0 && a.Name != "NoAction" && len(in.Actions) == 1) {
				t.Action, t.Args = a.Full, args
				break
			}
		}
		if t.Entries != "" && t.Action == "" {
			return nil, fmt.Errorf(`table %s has @entries("%s"), and none of its actions has parameters with @value, as in @value("host.port") bit<9> port`, in.Name, t.Entries)
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// values returns the formulas of an action's parameters.
func values(info *p4configv1.P4Info, a *schema.Action) (args []manifest.Argument) {
	for _, x := range info.Actions {
		if x.GetPreamble().GetId() != a.ID {
			continue
		}
		for _, p := range x.Params {
			if v := schema.Annotation(p.Annotations, "value"); v != "" {
				args = append(args, manifest.Argument{Name: p.Name, Value: manifest.Expr(v)})
			}
		}
	}
	return args
}

// Own returns the entities of a switch whose program nobody generated: those that the
// annotations of its tables ask for.
func (p *Plan) Own(node int) ([]*p4v1.Entity, error) {
	b := p.builder(&p.topo.Nodes[node])
	if err := b.findNextHops(); err != nil {
		b.nextHops = make([]nextHops, len(b.leaves))
		for _, t := range b.manifest.Tables {
			uses := len(t.Fill) > 0
			for _, a := range t.Args {
				uses = uses || strings.Contains(string(a.Value), "port.path")
			}
			if uses {
				return nil, fmt.Errorf("switch %s: table %s: %w", b.node.Name, t.Name, err)
			}
		}
	}
	b.enumerations()
	b.tables()
	if b.err != nil {
		return nil, fmt.Errorf("switch %s: %w", b.node.Name, b.err)
	}
	return append(b.replication, b.entries...), nil
}

// hostEntries adds an entry for each host that can be reached. A key of 32 bits is the
// host's address, one of 48 its MAC address, unless it has a formula.
func (b *builder) hostEntries(t *manifest.Table) {
	in, err := b.schema.Table(t.Name)
	if err != nil {
		b.fail(err)
		return
	}
	keys := make([]manifest.Expr, len(in.Fields))
	for _, x := range b.schema.Info.Tables {
		if x.GetPreamble().GetId() != in.ID {
			continue
		}
		for i, f := range x.MatchFields {
			keys[i] = manifest.Expr(schema.Annotation(f.Annotations, "value"))
			switch {
			case keys[i] != "":
			case f.Bitwidth == 32:
				keys[i] = "host.ip"
			case f.Bitwidth == 48:
				keys[i] = "host.mac"
			default:
				b.fail(fmt.Errorf(`table %s: key %s has %d bits: give its formula, as in @value("host.number")`, in.Name, f.Name, f.Bitwidth))
				return
			}
		}
	}
	number := 0
	for i := range b.topo.Nodes {
		h := &b.topo.Nodes[i]
		if h.Kind != topo.Host || h.Stub != topo.NoStub || h.Host != h.ID && h.IP == b.topo.Nodes[h.Host].IP {
			continue
		}
		number++
		values, ok := b.toHost(h, number)
		if !ok {
			continue
		}
		e := schema.Entry{Table: in.Full, Action: t.Action, Args: b.arguments(t, b.uplink(), values)}
		if in.NeedsPriority() {
			e.Priority = 1
		}
		for k, f := range keys {
			v, err := b.manifest.Whole(f, b.uplink(), values)
			if err != nil {
				b.fail(fmt.Errorf("table %s, key %s: %w", in.Name, in.Fields[k].Name, err))
				return
			}
			e.Match = append(e.Match, schema.Eq(in.Fields[k].Name, v))
		}
		b.add(e)
	}
}

// toHost returns what formulas can use about a host, seen from the switch.
func (b *builder) toHost(h *topo.Node, number int) (values map[string]float64, ok bool) {
	tree := b.topo.TreeTo(h.ID)
	ports := tree.Closer(b.node.ID)
	if len(ports) == 0 {
		return nil, false
	}
	values = b.nodeValues()
	ip := h.IP.As4()
	values["host.ip"] = float64(uint32(ip[0])<<24 | uint32(ip[1])<<16 | uint32(ip[2])<<8 | uint32(ip[3]))
	values["host.mac"], values["next.mac"] = macValue(h.MAC), macValue(b.peer(ports[0]).MAC)
	values["host.port"], values["host.number"] = float64(ports[0]), float64(number)
	values["host.leaf"], values["host.hops"] = float64(h.Leaf), float64(len(tree.From(b.node.ID)))
	return values, true
}

// macValue returns a MAC address as a number, which 53 bits hold.
func macValue(m packet.MAC) float64 {
	n := uint64(0)
	for _, octet := range m {
		n = n<<8 | uint64(octet)
	}
	return float64(n)
}
