// SPDX-License-Identifier: Apache-2.0

package intent

import (
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane/schema"
)

// relay adds the multicast group of a port and returns its number, 0 for none:
// the switches to which a message from this port is relayed. From below these
// are all other switches, from above those below. A message thus follows the
// packets concerned back to their sources, and no switch receives it twice.
func (b *builder) relay(p int) int {
	if b.node.Leaf >= 0 {
		return 0
	}
	from := b.peer(p)
	g := &p4v1.MulticastGroupEntry{MulticastGroupId: uint32(p)}
	for _, q := range b.fabricPorts() {
		to := b.peer(q)
		if to.ID != from.ID && (from.Tier < b.node.Tier || to.Tier < b.node.Tier) {
			g.Replicas = append(g.Replicas, schema.Replica(uint32(b.target(q)), 1))
		}
	}
	if len(g.Replicas) == 0 {
		return 0
	}
	b.replication = append(b.replication, schema.Multicast(g))
	return p
}

// messageClass is the queue of messages between switches: the highest.
const messageClass = 7

// session adds a clone session to a port for packets of a class, unless it
// exists.
func (b *builder) session(id, port int, class uint32) {
	b.sessionTo(id, []int{b.target(port)}, class)
}

// sessionTo is session with the target's port numbers.
func (b *builder) sessionTo(id int, ports []int, class uint32) {
	if b.sessions[id] {
		return
	}
	if b.sessions == nil {
		b.sessions = make(map[int]bool)
	}
	b.sessions[id] = true
	c := &p4v1.CloneSessionEntry{SessionId: uint32(id)}
	for _, p := range ports {
		c.Replicas = append(c.Replicas, schema.Replica(uint32(p), 1))
	}
	if !b.options.NoCloneClass {
		c.ClassOfService = class
	}
	b.truncate(c)
	b.replication = append(b.replication, schema.Clone(c))
}
