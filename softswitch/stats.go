// SPDX-License-Identifier: Apache-2.0

package softswitch

import (
	"math/bits"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// Stats counts what a switch did since it was made. Counters only grow.
type Stats struct {
	Received     uint64 // frames from links and the controller, PFC frames not included
	Sent         uint64 // frames to links and the controller, PFC frames not included
	Processed    uint64 // passes through ingress
	Resubmitted  uint64
	Recirculated uint64
	Cloned       uint64 // copies made by clone
	Replicated   uint64 // copies made by multicast
	Digests      uint64
	Drops        [DropCauses]uint64
	// BufferBytes is what the buffer holds now, MaxBufferBytes the most it
	// ever held.
	BufferBytes, MaxBufferBytes int64
}

// DropCause says why a packet was dropped.
type DropCause uint8

// Causes of drops.
const (
	DropIngress   DropCause = iota // the program's will, in ingress
	DropEgress                     // the program's will, in egress
	DropPort                       // egress_spec is no port of the switch
	DropQueue                      // the queue's limit
	DropBuffer                     // the buffer is full
	DropHeadroom                   // a lossless class ran out of headroom
	DropLink                       // the link is down
	DropLoop                       // Config.MaxPasses
	DropMulticast                  // an empty or unknown multicast group
	DropNoProgram                  // no program is loaded
	DropAssert                     // an assertion of the program failed
	DropParser                     // a packet for TNA that the parser could not read
	DropCauses                     // how many causes there are
)

var dropNames = [DropCauses]string{"ingress", "egress", "no such port", "queue full", "buffer full", "headroom exceeded",
	"link down", "loop", "empty multicast group", "no program", "assertion failed", "parser error"}

// String returns the cause in words.
func (c DropCause) String() string { return dropNames[c] }

// PortStats counts what passed one port.
type PortStats struct {
	Class [packet.Classes]ClassStats
	// PFCReceived and PFCSent count PFC frames, which the classes do not.
	PFCReceived, PFCSent uint64
}

// ClassStats counts one priority of one port. Bytes are Frame.Len, without
// overhead.
type ClassStats struct {
	RxPackets, RxBytes uint64 // charged to the class on arrival
	TxPackets, TxBytes uint64
	Drops              uint64 // of packets for this queue
	// PauseReceived and PauseSent count PFC frames that pause the class,
	// ResumeReceived and ResumeSent those that resume it.
	PauseReceived, PauseSent, ResumeReceived, ResumeSent uint64
	// PausedTime is how long the peer held this queue, up to now; PausingTime
	// how long this port held its peer.
	PausedTime, PausingTime vtime.Time
	// QueueBytes and QueuePackets wait in the egress queue now;
	// MaxQueueBytes ever did. IngressBytes are in the buffer on the account of
	// this ingress port and class; MaxIngressBytes ever were.
	QueueBytes, MaxQueueBytes     int64
	QueuePackets, MaxQueuePackets int
	IngressBytes, MaxIngressBytes int64
}

// An Observer is notified of events at the time they happen, for time lines
// and traces. Its functions run on the data path; those that are nil are not
// called.
type Observer struct {
	// Pause is called when a queue is paused or resumed by the peer (received)
	// or the peer is paused or resumed (not received).
	Pause func(now vtime.Time, port, class int, received, paused bool)
	// Queue is called after each change of an egress queue.
	Queue func(now vtime.Time, port, class int, bytes int64, packets int)
	// Ingress is called after each change of the bytes charged to an ingress
	// port and class.
	Ingress func(now vtime.Time, port, class int, bytes int64)
	// Drop is called for each packet lost, with the frame as it is.
	Drop func(now vtime.Time, port, class int, cause DropCause, f *packet.Frame)
}

// Stats returns what the switch did so far.
func (s *Switch) Stats() Stats {
	st := s.stats
	st.BufferBytes, st.MaxBufferBytes = s.tm.Used()
	return st
}

// HeldFrames returns how many frames are in the switch: in queues, recirculated,
// and PFC frames that wait for the link.
func (s *Switch) HeldFrames() int { return s.tm.Held() }

// Port returns what passed a port, which must exist.
func (s *Switch) Port(number int) PortStats {
	i := s.place(number)
	t := s.tm.Stats(i)
	ps := PortStats{PFCReceived: t.PFCGot, PFCSent: t.PFCSent}
	for c := range ps.Class {
		from, to := &t.Class[c], &ps.Class[c]
		d, most := s.tm.Depth(i, c), s.tm.MaxDepth(i, c)
		*to = ClassStats{
			RxPackets: from.RxPackets, RxBytes: from.RxBytes, TxPackets: from.TxPackets, TxBytes: from.TxBytes, Drops: from.Drops,
			PauseReceived: from.PauseGot, PauseSent: from.PauseSent, ResumeReceived: from.ResumeGot, ResumeSent: from.ResumeSent,
			PausedTime: from.PausedTime, PausingTime: from.PausingTime,
			QueueBytes: d.Bytes, MaxQueueBytes: most.Bytes, QueuePackets: d.Packets, MaxQueuePackets: most.Packets,
		}
		to.IngressBytes, to.MaxIngressBytes = s.tm.Ingress(i, c)
	}
	return ps
}

// QueueBytes returns how much waits in the egress queues of a port, which must
// exist.
func (s *Switch) QueueBytes(number int) (n int64) {
	i := s.place(number)
	for full := s.tm.Filled(i); full != 0; full &= full - 1 {
		n += s.tm.Depth(i, bits.TrailingZeros8(full)).Bytes
	}
	return n
}

// Observe has o notified of events from now on; nil ends that.
func (s *Switch) Observe(o *Observer) {
	s.observer = o
	var w tm.Watcher
	if o != nil {
		if o.Pause != nil {
			w.Pause = func(port, class int, received, paused bool) {
				o.Pause(s.net.Now(), s.numbers[port], class, received, paused)
			}
		}
		if o.Queue != nil {
			w.Queue = func(port, queue int, d tm.Depth) { o.Queue(s.net.Now(), s.numbers[port], queue, d.Bytes, d.Packets) }
		}
		if o.Ingress != nil {
			w.Ingress = func(port, class int, bytes int64) { o.Ingress(s.net.Now(), s.numbers[port], class, bytes) }
		}
	}
	s.tm.Watch(w)
}
