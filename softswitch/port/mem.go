// SPDX-License-Identifier: Apache-2.0

package port

import (
	"net"
	"sync"

	"github.com/pauseless/pauseless/internal/packet"
)

// cable connects two ports in memory.
type cable struct {
	mu     sync.Mutex
	wake   [2]chan struct{} // of the reader at each end
	queue  [2][][]byte      // to each end
	closed bool
}

// cableFrames limits the queue of each direction. Further frames are dropped,
// as on a link whose receiver is too slow.
const cableFrames = 4096

type memLink struct {
	c    *cable
	side int
}

// Pipe returns the two ends of a cable.
func Pipe() (Link, Link) {
	c := &cable{}
	for i := range c.wake {
		c.wake[i] = make(chan struct{}, 1)
	}
	return &memLink{c, 0}, &memLink{c, 1}
}

// Read implements Link.
func (l *memLink) Read(b *Batch) error {
	for {
		l.c.mu.Lock()
		q := &l.c.queue[l.side]
		for len(*q) > 0 && !b.Full() {
			b.Add((*q)[0])
			*q = (*q)[1:]
		}
		closed := l.c.closed
		l.c.mu.Unlock()
		switch {
		case b.Len() > 0:
			return nil
		case closed:
			return net.ErrClosed
		}
		<-l.c.wake[l.side]
	}
}

// Write implements Link.
func (l *memLink) Write(frames []*packet.Frame) error {
	other := 1 - l.side
	l.c.mu.Lock()
	for _, f := range frames {
		if len(l.c.queue[other]) < cableFrames {
			l.c.queue[other] = append(l.c.queue[other], wire(f))
		}
	}
	l.c.mu.Unlock()
	l.wakeUp(other)
	return nil
}

func (l *memLink) wakeUp(side int) {
	select {
	case l.c.wake[side] <- struct{}{}:
	default:
	}
}

// Close implements Link, for both ends.
func (l *memLink) Close() error {
	l.c.mu.Lock()
	l.c.closed = true
	l.c.mu.Unlock()
	l.wakeUp(0)
	l.wakeUp(1)
	return nil
}

// wire returns the bytes of a frame, including elided ones.
func wire(f *packet.Frame) []byte {
	b := make([]byte, f.Len())
	copy(b, f.Data)
	return b
}
