// SPDX-License-Identifier: Apache-2.0

// Package wire runs the fabric's RoCEv2 hosts in wall time on a real interface:
// the same packets, acknowledgements and congestion control as in virtual time,
// with any switch. A scale slows the hosts' clock down, so that software that
// forwards 8 Mb/s can emulate links of 40 Gb/s: rates, timers and results are
// those of the emulated network.
package wire

import (
	"cmp"
	"context"
	"math"
	"time"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Port sends and receives Ethernet frames.
type Port interface {
	// Send sends a frame, without FCS.
	Send(frame []byte) error
	// Frames returns the channel of received frames, which ends with the port.
	Frames() <-chan []byte
	Close() error
	// MTU returns the MTU of the port in bytes; zero if it has none.
	MTU() int
}

// loop is the roce.Network of one host. Time is the wall time since the epoch
// divided by the scale. An event that is executed late has its planned time, so
// that delays of the operating system do not reduce a paced rate.
type loop struct {
	port   Port
	epoch  time.Time
	scale  int64
	now    vtime.Time
	timers vtime.Queue
	pool   packet.Pool
	out    []byte
	err    error // of the port
}

// Now implements vtime.Scheduler.
func (l *loop) Now() vtime.Time { return l.now }

// At implements vtime.Scheduler.
func (l *loop) At(t vtime.Time, ev vtime.Event, arg uint64) {
	l.timers.Push(max(t, l.now), ev, arg)
}

// Frames implements roce.Network.
func (l *loop) Frames() *packet.Pool { return &l.pool }

// Send implements roce.Network. It sends elided payload as zeros.
func (l *loop) Send(_ int, f *packet.Frame, _ vtime.Time) {
	l.out = append(l.out[:0], f.Data...)
	for n := int(f.Elided); n > 0; {
		k := min(n, len(zeros))
		l.out = append(l.out, zeros[:k]...)
		n -= k
	}
	if err := l.port.Send(l.out); err != nil && l.err == nil {
		l.err = err
	}
	l.pool.Put(f)
}

var zeros [2048]byte

// wall returns the present time of the scaled clock.
func (l *loop) wall() vtime.Time {
	return vtime.Time(time.Since(l.epoch).Nanoseconds() / l.scale * int64(vtime.Nanosecond))
}

// until returns the wall time until the scaled clock reaches t.
func (l *loop) until(t vtime.Time) time.Duration {
	up := (t + vtime.Nanosecond - 1).Nanoseconds()
	if up > math.MaxInt64/l.scale {
		return math.MaxInt64
	}
	return time.Until(l.epoch.Add(time.Duration(up * l.scale)))
}

// check is the interval of calls of done without events or frames.
const check = 50 * time.Millisecond

// run executes events and delivers frames until done returns true, ctx is done,
// or the port fails.
func (l *loop) run(ctx context.Context, receive func(*packet.Frame), done func() bool) error {
	wait := time.NewTimer(0)
	defer wait.Stop()
	for l.err == nil && !done() {
		wall := l.wall()
		for l.timers.Next() <= wall {
			if err := ctx.Err(); err != nil { // a host that is late has always more to do
				return err
			}
			at, ev, arg := l.timers.Pop()
			l.now = max(l.now, at)
			ev.Fire(l.now, arg)
		}
		l.now = max(l.now, wall)
		next := check
		if t := l.timers.Next(); t != vtime.Never {
			next = min(next, max(l.until(t), 0))
		}
		wait.Reset(next)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wait.C:
		case b, ok := <-l.port.Frames():
			if p, is := l.port.(interface{ Err() error }); !ok && is {
				return cmp.Or(l.err, p.Err())
			}
			if !ok {
				return l.err
			}
			f := l.pool.Get()
			f.Data = append(f.Data, b...)
			l.now = max(l.now, l.wall())
			receive(f)
		}
	}
	return l.err
}
