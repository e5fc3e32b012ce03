// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// A Node is anything with ports: a host, or a switch from elsewhere. All its
// methods are called from the goroutine that runs the node's part of the
// fabric, one at a time.
type Node interface {
	// Receive takes a frame whose last bit has arrived on a port, numbered
	// from 1. The node owns the frame from now on.
	Receive(port int, f *packet.Frame)
}

// A Controlled node may also be used by its control plane while no time
// passes. The engine holds the lock whenever it runs the node, and releases
// it where RunUntil returns: there, and only there, tables and registers are
// read and written, so that results never depend on the wall clock.
type Controlled interface {
	Node
	Lock()
	Unlock()
}

// A LinkWatcher is a node that is notified when the link of a port goes down
// or comes up, as a fault of the scenario has it. All ports start up.
type LinkWatcher interface {
	LinkChanged(port int, up bool)
}

// A DropCounter is a node that counts the frames that it had no room for, those
// of lossless classes, of which there should never be one, and all. Results
// reports them.
type DropCounter interface {
	LosslessDrops() uint64
	Overflows() uint64
}

// A Tap sees every frame that reaches a node, PFC frames too, before the node
// does. It must not keep or change the frame. It is called from the goroutine
// that runs the node.
type Tap interface {
	Arrive(now vtime.Time, port int, f *packet.Frame)
}

// Network is what a node may ask of the fabric. Each node has its own.
type Network interface {
	vtime.Scheduler
	// Send puts a frame on the link of a port. Its last bit leaves at time
	// end, not before Now; it is received one link delay later. The node
	// keeps the link's rate: frames must not overlap.
	Send(port int, f *packet.Frame, end vtime.Time)
	// Frames is the node's pool. It always returns the same one.
	Frames() *packet.Pool
}
