// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/packet"
)

// red sets the marking thresholds of each port by its rate.
func (b *builder) red() { b.perPort("red", "out_port", b.allPorts(), nil) }

// telemetry gives each port the code of its rate, and all of them the number
// of the switch.
func (b *builder) telemetry() {
	for _, p := range b.allPorts() {
		b.entry(schema.Entry{Table: "telemetry", Match: []schema.Match{schema.Eq("out_port", p)}, Action: "add_record",
			Args: []schema.Arg{
				{Name: "rate", Value: int(packet.INTRateCode(b.port(p).Rate))},
				{Name: "switch_id", Value: int(b.node.DeviceID & 0xfff)},
			}})
	}
}

// feedback makes the way back that QCN's notifications take.
func (b *builder) feedback() {
	for _, p := range b.allPorts() {
		b.session(p, p, messageClass)
	}
}

// postcards tells ports what they can send in a round trip, and makes the way
// back that a postcard takes.
func (b *builder) postcards() {
	for _, p := range b.allPorts() {
		b.session(p, p, messageClass)
	}
	b.perPort("pbfs_port", "out_port", b.allPorts(), nil)
	b.entry(schema.Entry{Table: "postcard", Default: true, Action: "sign", Args: []schema.Arg{{Name: "switch_id", Value: b.node.DeviceID}}})
}
