// SPDX-License-Identifier: Apache-2.0

package bmv2

import (
	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/source"
)

// standardField returns the name of a field of v1model's standard metadata, or "".
func standardField(x ir.Expr) string {
	if r, ok := x.(*ir.FieldRef); ok {
		if h, ok := r.Header.(*ir.Header); ok && h.Name == "standard_metadata" {
			return h.Type.Fields[r.Field].Name
		}
	}
	return ""
}

// afterIngress are the fields that have no value before the packet leaves its queue.
var afterIngress = map[string]bool{
	"egress_port": true, "enq_timestamp": true, "enq_qdepth": true, "deq_timedelta": true, "deq_qdepth": true,
	"egress_global_timestamp": true, "egress_rid": true,
}

// warning identifies a warning that is given once.
type warning struct {
	field string
	at    source.Pos
}

// once reports whether a warning about a field of the standard metadata is new. Statements
// that are not in the text have no position.
func (g *generator) once(field string) bool {
	w := warning{field, g.at.Start}
	if g.warned[w] || !g.at.Start.IsValid() {
		return false
	}
	if g.warned == nil {
		g.warned = make(map[warning]bool)
	}
	g.warned[w] = true
	return true
}

// read warns about a field that is read before it has a value.
func (g *generator) read(x ir.Expr) {
	if name := standardField(x); g.role == arch.Ingress && afterIngress[name] && g.once(name) {
		g.rep.Warnf(g.at.Start, CodeTooEarly, "%s is 0 in ingress: it has a value in egress", name)
	}
}

// assigned warns about an assignment by which the packet takes no other port.
func (g *generator) assigned(s *ir.Assign) {
	switch name := standardField(s.Dst); {
	case name == "egress_port" && g.once(name):
		g.rep.Warnf(g.at.Start, CodeIgnored, "an assignment to egress_port does not send the packet there: its port is what ingress assigns to egress_spec")
	case name == "egress_spec" && g.role == arch.Egress:
		if k, ok := s.Src.(*ir.Const); ok && k.Val.Int64() == dropPort || !g.once(name) {
			return
		}
		g.rep.Warnf(g.at.Start, CodeIgnored, "an assignment to egress_spec in egress changes no port, which is decided in ingress; only %d drops the packet", dropPort)
	}
}

// dropPort is the port of dropped packets.
const dropPort = 511
