// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// A Node is anything with ports: a host or a switch. All its methods are called
// from the goroutine that runs the node, one at a time.
type Node interface {
	// Receive receives a frame whose last bit has arrived on a port, numbered from
	// 1. The node then owns the frame.
	Receive(port int, f *packet.Frame)
}

// A Controlled node may also be used by its control plane between calls of
// RunUntil. The engine holds the lock while it runs the node, and releases it
// when RunUntil returns. Tables and registers are accessed only then, so that
// results never depend on the wall clock.
type Controlled interface {
	Node
	Lock()
	Unlock()
}

// A LinkWatcher is a node that is notified when the link of a port goes down or
// comes up through a fault of the scenario. All ports are up at first.
type LinkWatcher interface {
	LinkChanged(port int, up bool)
}

// A DropCounter is a node that counts frames dropped for lack of buffer: those
// of lossless classes, which should never occur, and all. Results reports them.
type DropCounter interface {
	LosslessDrops() uint64
	Overflows() uint64
}

// A Tap sees every frame that reaches a node, including PFC frames, before the
// node does. It must not keep or change the frame. It is called from the
// goroutine that runs the node.
type Tap interface {
	Arrive(now vtime.Time, port int, f *packet.Frame)
}

// Network is a node's interface to the fabric. Each node has its own.
type Network interface {
	vtime.Scheduler
	// Send puts a frame on the link of a port. Its last bit leaves at time end, not
	// before Now, and arrives one link delay later. The node must respect the
	// link's rate: frames must not overlap.
	Send(port int, f *packet.Frame, end vtime.Time)
	// Frames returns the node's pool, always the same one.
	Frames() *packet.Pool
}
