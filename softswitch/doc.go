// SPDX-License-Identifier: Apache-2.0

// Package softswitch is a switch in Go, for programs of v1model and of the
// Tofino Native Architecture: it runs the BMv2 JSON that a P4 compiler wrote,
// with the semantics of simple_switch or of a Tofino's pipeline, behind a
// traffic manager with queues, link rates and priority-based flow control.
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
// while it lets time pass, and calls Receive with frames and fires the events
// that the switch asked for. Controllers take the same lock between slices of
// time. No lock is taken per packet.
//
// # In wall time
//
// Package port runs a Switch on real interfaces and pcap files.
//
// # Without time
//
// Pipelines runs ingress and egress alone; its caller is the traffic manager.
//
// # What a packet goes through
//
// MAC (PFC is obeyed here) → parser → verify checksums → ingress → clones,
// digest, resubmit, multicast → queue of the egress port, charged to the
// ingress port and class → egress, when the port's scheduler picks the packet
// → clones → update checksums → deparser → recirculate, or the link. A frame
// is handed to the network when its first bit leaves, with the time of its
// last.
//
// # Ports
//
// Ports are numbered from 1 (0 is allowed too, for programs that want it).
// Config.DropPort (511) drops; Config.CPUPort (510) leads to the controller
// as P4Runtime packet-in and out; a port with Internal set (the default
// recirculation port is 509) has queues and a rate but no link, for programs
// that send packets there to be recirculated at the end of egress.
package softswitch
