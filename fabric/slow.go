// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// A slow receiver pauses its switch when so many bytes wait in its buffer, and resumes
// it at half of them.
const slowBuffer = 64_000

// slowHost is a host whose receiver takes no more than a rate, as one whose memory or
// PCIe bus is slower than its link. It handles packets when they arrive; only the buffer
// is that of a slower one.
type slowHost struct {
	*roce.Host
	n           *node
	rate        vtime.Rate
	from, until vtime.Time
	level       int64      // bytes in the buffer
	at          vtime.Time // at this time
	pausing     bool
	again       vtime.Time // when the PAUSE is to be renewed
}

func (f *Fabric) addSlow(host *topo.Node, rate vtime.Rate, from, until vtime.Time) {
	n := f.engine.nodes[host.Host]
	n.impl = &slowHost{Host: f.hosts[host.Host], n: n, rate: rate, from: from, until: until}
}

// Receive implements Node.
func (s *slowHost) Receive(port int, f *packet.Frame) {
	now, size, data := s.n.now, int64(f.Len()), f.Flow() != 0
	s.Host.Receive(port, f)
	if !data || now < s.from || now >= s.until {
		return
	}
	s.drain(now)
	s.level += size
	if s.level >= slowBuffer && !s.pausing {
		s.pausing = true
		s.pause(now)
	}
}

// drain takes what the receiver has taken until now from the buffer.
func (s *slowHost) drain(now vtime.Time) {
	s.level = max(s.level-s.rate.Bytes(now-s.at), 0)
	s.at = now
}

func (s *slowHost) pause(now vtime.Time) {
	half := packet.PauseTime(stormQuanta, s.Host.Rate()) / 2
	s.again = now + half
	s.Host.SendPFC(now, manifest.LosslessClass, stormQuanta)
	s.wake(now)
}

// wake schedules the next event: RESUME, or the next PAUSE.
func (s *slowHost) wake(now vtime.Time) {
	over := s.level - slowBuffer/2
	s.n.At(min(now+s.rate.TxTime(int(max(over, 1))), s.again, max(s.until, now)), s, 0)
}

// Fire implements vtime.Event.
func (s *slowHost) Fire(now vtime.Time, _ uint64) {
	s.drain(now)
	switch {
	case s.level <= slowBuffer/2 || now >= s.until:
		s.pausing = false
		s.Host.SendPFC(now, manifest.LosslessClass, 0)
	case now >= s.again:
		s.pause(now)
	default:
		s.wake(now)
	}
}
