// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/manifest"
)

// tofino reports whether the program is for Tofino. There, ingress and egress
// communicate by mirrored packets, and port numbers are the target's.
func (b *builder) tofino() bool { return b.manifest.Target == "tna" }

// target returns the target's number of a port.
func (b *builder) target(port int) int {
	if b.options.Port == nil {
		return port
	}
	return b.options.Port(port)
}

// recirculation returns the recirculation ports of the pipelines in use: number
// 68 of each pipeline's 128.
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

// portNumbers maps the target's ports to those of the topology.
func (b *builder) portNumbers() {
	if !b.has("port_number") {
		return
	}
	for _, p := range b.allPorts() {
		b.add(schema.Entry{Table: "port_number", Match: []schema.Match{schema.Eq("ingress_port", b.target(p))},
			Action: "is_port", Args: []schema.Arg{{Name: "port", Value: p}}})
	}
}

// mirrors adds the sessions through which egress sends to ingress, and messages
// to the ports that they concern.
func (b *builder) mirrors() {
	if !b.tofino() {
		return
	}
	b.sessionTo(manifest.FeedbackSession, b.recirculation(), messageClass)
	for _, p := range b.allPorts() {
		b.session(p, p, messageClass)
	}
}

// truncate sets the truncation length of a Tofino's clone session.
func (b *builder) truncate(c *p4v1.CloneSessionEntry) {
	if b.tofino() {
		c.PacketLengthBytes = int32(b.manifest.MirrorBytes)
	}
}
