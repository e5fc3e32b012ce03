// SPDX-License-Identifier: Apache-2.0

package softswitch

import (
	"math/bits"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// Stats has the counters of a switch since it was made. They never decrease,
// except BufferBytes.
type Stats struct {
	Received     uint64 // frames from links and the controller, without PFC frames
	Sent         uint64 // frames to links and the controller, without PFC frames
	Processed    uint64 // passes through ingress
	Resubmitted  uint64
	Recirculated uint64
	Cloned       uint64 // copies made by clone
	Replicated   uint64 // copies made by multicast
	Digests      uint64
	Drops        [DropCauses]uint64
	// LosslessDrops are the drops of packets of lossless classes that PFC should have
	// prevented: for lack of buffer, and because of Config.MaxPasses.
	LosslessDrops [DropCauses]uint64
	// BufferBytes is the present size of the buffer's contents, MaxBufferBytes the
	// maximum so far.
	BufferBytes, MaxBufferBytes int64
}

// DropCause is the cause of a packet's drop.
type DropCause uint8

// Causes of drops.
const (
	DropIngress   DropCause = iota // by the program, in ingress
	DropEgress                     // by the program, in egress
	DropPort                       // egress_spec is not a port of the switch
	DropQueue                      // the limit of the queue
	DropBuffer                     // the buffer is full
	DropHeadroom                   // a lossless class ran out of headroom
	DropLink                       // the link is down
	DropLoop                       // work beyond Config.MaxPasses
	DropMulticast                  // an empty or unknown multicast group
	DropNoProgram                  // no program is loaded
	DropAssert                     // an assertion of the program failed
	DropParser                     // the parser of a TNA program failed
	DropStorm                      // by the PFC watchdog, for a queue in a storm
	DropClone                      // a clone, while the shared part of the buffer is full
	DropCauses                     // number of causes
)

var dropNames = [DropCauses]string{"ingress", "egress", "no such port", "queue full", "buffer full", "headroom exceeded",
	"link down", "loop", "empty multicast group", "no program", "assertion failed", "parser error", "pfc storm", "no room for a clone"}

// String returns a description of the cause.
func (c DropCause) String() string { return dropNames[c] }

// PortStats has the counters of one port.
type PortStats struct {
	Class [packet.Classes]ClassStats
	// PFCReceived and PFCSent count PFC frames, which the classes exclude. Sent ones
	// include those that a busy link never got to send, since later ones said the same.
	PFCReceived, PFCSent uint64
}

// ClassStats has the counters of one priority of one port. Bytes are Frame.Len,
// without overhead.
type ClassStats struct {
	RxPackets, RxBytes uint64 // charged to the class on arrival
	TxPackets, TxBytes uint64
	Drops              uint64 // of packets for this queue
	// Trimmed counts packets for this queue that were trimmed, TrimDrops those for whose
	// rest there was no room.
	Trimmed, TrimDrops uint64
	// PauseReceived and PauseSent count PFC frames that pause the class,
	// ResumeReceived and ResumeSent those that resume it.
	PauseReceived, PauseSent, ResumeReceived, ResumeSent uint64
	// PausedTime is the time for which the peer has paused this queue, PausingTime
	// that for which this port has paused its peer, both up to now.
	PausedTime, PausingTime vtime.Time
	// QueueBytes and QueuePackets are the present depth of the egress queue,
	// MaxQueueBytes and MaxQueuePackets the maxima so far. IngressBytes are the
	// bytes in the buffer charged to this ingress port and class, MaxIngressBytes
	// the maximum so far.
	QueueBytes, MaxQueueBytes     int64
	QueuePackets, MaxQueuePackets int
	IngressBytes, MaxIngressBytes int64
	// Headroom is that of this ingress port and class, MaxHeadroomBytes the most bytes
	// that it has had to take so far: more than its size if packets were dropped.
	Headroom, MaxHeadroomBytes int64
	// Storm is true while the watchdog finds the queue in a PFC storm. Storms and
	// Restored count storms that began and that are over, StormDrops and StormSent the
	// packets dropped and sent in them. StormTime is their time up to now.
	Storm                                   bool
	Storms, Restored, StormDrops, StormSent uint64
	StormTime                               vtime.Time
}

// An Observer is notified of events when they happen, for time lines and
// traces. Its functions run on the data path. nil functions are not called.
type Observer struct {
	// Pause is called when a queue is paused or resumed by the peer (received)
	// or the peer is paused or resumed (not received).
	Pause func(now vtime.Time, port, class int, received, paused bool)
	// Queue is called after each change of an egress queue.
	Queue func(now vtime.Time, port, class int, bytes int64, packets int)
	// Ingress is called after each change of the bytes charged to an ingress
	// port and class.
	Ingress func(now vtime.Time, port, class int, bytes int64)
	// Drop is called for each dropped packet, with its present frame.
	Drop func(now vtime.Time, port, class int, cause DropCause, f *packet.Frame)
}

// Stats returns the counters of the switch.
func (s *Switch) Stats() Stats {
	st := s.stats
	st.BufferBytes, st.MaxBufferBytes = s.tm.Used()
	return st
}

// Trims returns the number of packets that were trimmed so far, and of those for whose
// rest there was no room.
func (s *Switch) Trims() (trimmed, dropped uint64) { return s.tm.Trimmed() }

// HeldFrames returns the number of frames in the switch: in queues, in
// recirculation, and PFC frames that wait for the link.
func (s *Switch) HeldFrames() int { return s.tm.Held() }

// Port returns the counters of a port, which must exist.
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
		to.Headroom, to.MaxHeadroomBytes = s.tm.Headroom(i, c)
		to.Trimmed, to.TrimDrops = from.Trimmed, from.TrimDrops
		to.Storm = s.tm.Storms(i)&(1<<c) != 0
		to.Storms, to.Restored, to.StormDrops, to.StormSent, to.StormTime = from.Storms, from.Restored, from.StormDrops, from.StormSent, from.StormTime
	}
	return ps
}

// QueueBytes returns the number of bytes in the egress queues of a port, which
// must exist.
func (s *Switch) QueueBytes(number int) (n int64) {
	i := s.place(number)
	for full := s.tm.Filled(i); full != 0; full &= full - 1 {
		n += s.tm.Depth(i, bits.TrailingZeros8(full)).Bytes
	}
	return n
}

// Observe sets the observer; nil removes it.
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

// Watched returns the classes of a port that the PFC watchdog watches. The port
// must exist.
func (s *Switch) Watched(number int) uint8 { return s.watchdogs[s.place(number)].Classes }
