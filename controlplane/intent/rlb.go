// SPDX-License-Identifier: Apache-2.0

package intent

import "github.com/pauseless/pauseless/controlplane/schema"

// scopeAll is the scope of a warning that means packets to any leaf.
const scopeAll = 0xffff

// warnings makes a clone session for each port to a switch, and says what a
// warning sent there means: at a leaf, that packets to this leaf will wait; in
// between, that all packets on this path will.
func (b *builder) warnings() {
	scope, hops := scopeAll, 0
	if b.node.Leaf >= 0 {
		scope, hops = b.node.Leaf, max(2*(b.tiers()-1)-1, 0)
	}
	for _, p := range b.fabricPorts() {
		b.session(p, p, messageClass)
	}
	b.perPort("cnm_out", "egress_port", b.fabricPorts(), func(int) []schema.Arg {
		return []schema.Arg{
			{Name: "mac", Value: b.node.MAC},
			{Name: "switch_id", Value: b.node.DeviceID},
			{Name: "scope", Value: scope},
			{Name: "hops", Value: hops},
		}
	})
}

// predict has the ingress queues watched of which a switch can be warned.
func (b *builder) predict() {
	for _, p := range b.fabricPorts() {
		match := b.queue("Readqlen", "in_port", p)
		b.entry(schema.Entry{Table: "Readqlen", Match: match, Action: "read_qlen", Args: b.tuned("Readqlen", b.port(p))})
		b.entry(schema.Entry{Table: "predict", Match: match, Action: "predict_pause", Args: b.tuned("predict", b.port(p))})
	}
}

// queue matches the lossless class of a port, in tables that tell classes
// apart.
func (b *builder) queue(table, field string, port int) []schema.Match {
	match := []schema.Match{schema.Eq(field, port)}
	if t, err := b.schema.Table(table); err == nil && t.Field("priority") != nil {
		match = append(match, schema.Eq("priority", LosslessPriority))
	}
	return match
}
