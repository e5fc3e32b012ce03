// SPDX-License-Identifier: Apache-2.0

// Package fabric is a lossless Ethernet in virtual time: an event engine, links
// with rate, delay and faults, RoCEv2 hosts with congestion control, and any
// switch that implements the small interfaces below. It is independent of P4;
// package testbed adds switches that run compiled programs.
//
// A run consists of slices. Between two slices time does not advance, and
// tables, registers and time lines are read and written:
//
//	f, err := fabric.New(fabric.Config{
//		Topology: network,
//		Switch:   func(n *topo.Node, net fabric.Network) (fabric.Node, error) { … },
//		Hosts:    roce.Config{CC: cc.Config{Algorithm: "dcqcn"}},
//		Seed:     1,
//		Threads:  2,
//	})
//	err = f.AddFlows(flows)
//	for t := slice; !f.Done() && t <= limit; t += slice {
//		if err := f.RunUntil(ctx, t); err != nil { … } // cancelled: what there is so far is valid
//		timeline.Sample()
//	}
//	results := f.Results()
//
// # Determinism
//
// The events of a node are handled in order of time; at the same time first its
// own timers, in the order in which it set them, then frames by port and,
// within a port, in the order in which they were sent. No other order matters,
// so the same configuration and seed give the same results, bit for bit, with
// any number of threads and any length of slices.
//
// # Threads
//
// A frame takes at least the shortest link delay to the next node. Within a
// window of that length nodes are independent, so the engine distributes each
// window's nodes to the configured number of goroutines, and synchronises them
// at the window's end (conservative synchronisation with the link delay as
// look-ahead). Running one node for a whole window also keeps its tables and
// registers in the processor's cache, so a single thread uses the same scheme.
// Switches of two sides that have links only to each other run alternately, for
// windows of two link delays.
package fabric
