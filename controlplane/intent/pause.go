// SPDX-License-Identifier: Apache-2.0

package intent

import "github.com/pauseless/pauseless/controlplane/schema"

// pauses tells the program how long a quantum of pause is on each link.
func (b *builder) pauses() { b.perPort("pfc_port", "in_port", b.allPorts(), nil) }

// emulatedPFC has every ingress port send pauses of its own.
func (b *builder) emulatedPFC() {
	for _, p := range b.allPorts() {
		b.session(p, p, messageClass)
		b.entry(schema.Entry{Table: "pfc_threshold", Match: b.queue("pfc_threshold", "in_port", p), Action: "check_xoff",
			Args: b.tuned("pfc_threshold", b.port(p))})
	}
}

// probeSessions is added to a port for the clone session of its probes.
const probeSessions = 256

// plb lets packets tell what a pause costs, leaves probe their paths, and all
// switches tell leaves to leave one.
func (b *builder) plb() {
	for _, p := range b.fabricPorts() {
		b.session(p, p, messageClass)
		if b.node.Leaf >= 0 {
			b.session(probeSessions+p, p, LosslessPriority)
		}
	}
	b.perPort("pause_cost", "out_port", b.fabricPorts(), nil)
}
