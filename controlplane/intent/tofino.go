// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
)

// feedbackSession leads from egress to ingress, by the recirculation port.
const feedbackSession = 1000

// mirrorBytes is what mirrored packets are cut to: messages and feedback fit,
// with the headers that they are made of.
const mirrorBytes = 100

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
	for _, p := range b.allPorts() {
		b.entry(schema.Entry{Table: "port_number", Match: []schema.Match{schema.Eq("ingress_port", b.target(p))},
			Action: "is_port", Args: []schema.Arg{{Name: "port", Value: p}}})
	}
}

// mirrors makes the sessions by which egress reaches ingress, and packets the
// ports that they are about.
func (b *builder) mirrors() {
	if !b.tofino() {
		return
	}
	b.sessionTo(feedbackSession, b.recirculation(), messageClass)
	for _, p := range b.allPorts() {
		b.session(p, p, messageClass)
	}
}

// truncate cuts what a clone session of a Tofino sends.
func (b *builder) truncate(c *p4v1.CloneSessionEntry) {
	if b.tofino() {
		c.PacketLengthBytes = mirrorBytes
		if b.manifest.Has("int") { // it stands before what a postcard is made of
			c.PacketLengthBytes += packet.INTLen
		}
	}
}
