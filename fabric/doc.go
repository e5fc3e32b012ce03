// SPDX-License-Identifier: Apache-2.0

// Package fabric is a lossless Ethernet in virtual time: an event engine,
// links with rate, delay and faults, RoCEv2 hosts with congestion control,
// and any switch that fits the small interfaces below. It knows nothing of
// P4; package testbed gives it switches that run compiled programs.
//
// A run goes in slices. Between two slices no time passes, and tables,
// registers and time lines are read and written:
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
// The events of a node are handled in order of time; at one instant first
// the timers it set itself, in the order it set them, then frames by port
// and, within a port, in the order they were sent. Nothing else decides an
// order, so the same configuration and seed give the same results, bit for
// bit, whatever the number of threads and the length of the slices.
//
// # Threads
//
// A frame takes at least the shortest link delay to the next node. Within a
// window of that length no node can influence another, so the engine gives
// each window's nodes to as many goroutines as it is told to use, and meets
// them at the window's end (conservative synchronisation with the link delay
// as look-ahead). Running one node for a whole window also keeps its tables
// and registers in the processor's cache, which is why the same scheme serves
// a single thread. Switches of two sides that have no links but to each other
// run in turns, for windows of two link delays.
package fabric
