// SPDX-License-Identifier: Apache-2.0

// Package softswitch is a switch in Go for programs of v1model and of the
// Tofino Native Architecture. It executes the BMv2 JSON of a P4 compiler with
// the semantics of simple_switch or of a Tofino's pipeline. A traffic manager
// has queues, link rates and priority-based flow control.
//
// # In virtual time
//
//	sw, err := softswitch.New(softswitch.Config{Name: "leaf1", DeviceID: 1, Ports: …})
//	sw.Attach(network)           // clock, links and frames of a fabric
//	srv := p4rtserver.New(sw, p4rtserver.Options{})
//	srv.Register(grpcServer)     // a controller pushes program and entries
//	sw.Receive(port, frame)      // called by the fabric
//
// A Switch is a fabric node: its owner holds the switch's lock (Lock, Unlock)
// while time advances, calls Receive with frames, and fires the switch's
// events. Controllers take the same lock between slices of time. No lock is
// taken per packet.
//
// # In wall time
//
// Package port runs a Switch on real interfaces and pcap files.
//
// # Without time
//
// Pipelines executes ingress and egress alone. Its caller replaces the traffic
// manager.
//
// # Stages of a packet
//
// MAC (PFC is applied here) → parser → verify checksums → ingress → clones,
// digest, resubmit, multicast → queue of the egress port, charged to the
// ingress port and class → egress, when the port's scheduler selects the packet
// → clones → update checksums → deparser → recirculate, or the link. The
// network gets a frame when its first bit leaves, with the time of its last.
//
// # Ports
//
// Ports are numbered from 1; 0 is allowed for programs that use it.
// Config.DropPort (511) drops. Config.CPUPort (510) leads to the controller as
// P4Runtime packet-in and packet-out. A port with Internal set (the default
// recirculation port is 509) has queues and a rate but no link. Packets that
// egress recirculates wait there.
package softswitch
