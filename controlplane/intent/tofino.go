// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/manifest"
)

// tofino reports whether the program is for Tofino, whose packets tell
// ingress from egress by mirroring and whose port numbers are the target's.
func (b *builder) tofino() bool { return b.manifest.Target == "tna" }

// target is the target's number of a port.
func (b *builder) target(port int) int {
	if b.options.Port == nil {
		return port
	}
	return b.options.Port(port)
}

// recirculation lists the recirculation ports of the pipelines in use: number
// 68 of each, and pipelines have 128 numbers.
func (b *builder) recirculation() []int {
	var list []int
	for _, p := range b.allPorts() {
		r := b.target(p)&^(manifest.TofinoPipePorts-1) | manifest.TofinoRecirculation
		if !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	slices.Sort(list)
	return list
}

// portNumbers says which port of the topology a port of the target is.
func (b *builder) portNumbers() {
	if !b.has("port_number") {
		return
	}
	for _, p := range b.allPorts() {
		b.add(schema.Entry{Table: "port_number", Match: []schema.Match{schema.Eq("ingress_port", b.target(p))},
			Action: "is_port", Args: []schema.Arg{{Name: "port", Value: p}}})
	}
}

// mirrors makes the sessions by which egress reaches ingress, and packets the
// ports that they are about.
func (b *builder) mirrors() {
	if !b.tofino() {
		return
	}
	b.sessionTo(manifest.FeedbackSession, b.recirculation(), messageClass)
	for _, p := range b.allPorts() {
		b.session(p, p, messageClass)
	}
}

// truncate cuts what a clone session of a Tofino sends.
func (b *builder) truncate(c *p4v1.CloneSessionEntry) {
	if b.tofino() {
		c.PacketLengthBytes = int32(b.manifest.MirrorBytes)
	}
}
