// SPDX-License-Identifier: Apache-2.0

package port

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
)

// Runner lets a switch run in wall time: it is the Network that the switch is
// attached to. Frames come in by batches; the switch's lock is taken for a
// batch, not for a packet. A controller that holds the lock in between may
// use the switch as it likes: what it has sent goes out with the next batch.
type Runner struct {
	sw    *softswitch.Switch
	links map[int]Link
	start time.Time

	// Below, all is used under the switch's lock.
	now     vtime.Time
	inSlice bool
	events  vtime.Queue
	pool    packet.Pool
	batch   [][]byte // frames of the batch that is taken
	out     map[int][]*packet.Frame
	dirty   []int // ports with something in out, in order
	wake    chan struct{}
	lost    map[int]uint64 // frames that a link did not take
}

// NewRunner attaches a switch to links, by number of the port.
func NewRunner(sw *softswitch.Switch, links map[int]Link) *Runner {
	r := &Runner{sw: sw, links: links, start: time.Now(), out: map[int][]*packet.Frame{}, wake: make(chan struct{}, 1), lost: map[int]uint64{}}
	sw.Attach(r)
	return r
}

func (r *Runner) elapsed() vtime.Time {
	return vtime.Time(time.Since(r.start).Nanoseconds()) * vtime.Nanosecond
}

// Now implements vtime.Scheduler.
func (r *Runner) Now() vtime.Time {
	if !r.inSlice { // a controller asks
		r.now = max(r.now, r.elapsed())
	}
	return r.now
}

// At implements vtime.Scheduler.
func (r *Runner) At(t vtime.Time, ev vtime.Event, arg uint64) {
	r.events.Push(t, ev, arg)
	r.poke()
}

// poke has the loop look at events and frames that a controller caused.
func (r *Runner) poke() {
	if r.inSlice {
		return
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Send implements softswitch.Network. The frame goes out at once: a link that
// is slower than the port paces itself.
func (r *Runner) Send(port int, f *packet.Frame, _ vtime.Time) {
	if len(r.out[port]) == 0 {
		r.dirty = append(r.dirty, port)
	}
	r.out[port] = append(r.out[port], f)
	r.poke()
}

// Frames implements softswitch.Network.
func (r *Runner) Frames() *packet.Pool { return &r.pool }

// Lost returns how many frames the link of a port did not take. It is called
// under the switch's lock.
func (r *Runner) Lost(port int) uint64 { return r.lost[port] }

// ErrDone is what Run returns when all links have ended and nothing is left
// in the switch.
var ErrDone = errors.New("all ports have ended")

// Run lets the switch run until ctx is done, a link fails, or no link will
// bring any more frames. It closes the links.
func (r *Runner) Run(ctx context.Context) (err error) {
	full, empty := make(chan *Batch, 2*len(r.links)), make(chan *Batch, 2*len(r.links)+1)
	for range 2 * len(r.links) {
		empty <- NewBatch()
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for number, l := range r.links {
		readers.Go(func() { read(number, l, full, empty, stop) })
	}
	defer func() {
		close(stop)
		for _, l := range r.links {
			err = errors.Join(err, l.Close())
		}
		readers.Wait()
	}()
	timer := time.NewTimer(time.Hour)
	open := len(r.links)
	for {
		var b *Batch
		select {
		case b = <-full:
		case <-timer.C:
		case <-r.wake:
		case <-ctx.Done():
			return nil
		}
		r.sw.Lock()
		r.inSlice = true
		for n := 0; b != nil; n++ {
			ended, err := r.take(b)
			if err != nil {
				r.inSlice = false
				r.sw.Unlock()
				return err
			}
			if ended {
				open--
			}
			b.reset()
			empty <- b
			b = nil
			if n < 8 { // a controller waits no longer than this
				select {
				case b = <-full:
				default:
				}
			}
		}
		r.fire()
		err := r.flush()
		next := r.events.Next()
		r.inSlice = false
		r.sw.Unlock()
		if err != nil {
			return err
		}
		if open == 0 && next == vtime.Never {
			return ErrDone
		}
		timer.Reset(r.wait(next))
	}
}

// read hands over batches of frames from a link.
func read(number int, l Link, full, empty chan *Batch, stop chan struct{}) {
	for {
		var b *Batch
		select {
		case b = <-empty:
		case <-stop:
			return
		}
		b.port = number
		b.err = l.Read(b)
		ended := b.err != nil
		select {
		case full <- b:
		case <-stop:
			return
		}
		if ended {
			return
		}
	}
}

// take gives a batch to the switch. It reports whether the link has ended.
func (r *Runner) take(b *Batch) (ended bool, err error) {
	r.now = max(r.now, r.elapsed())
	r.batch = r.batch[:0]
	for i := range b.Len() {
		r.batch = append(r.batch, b.Frame(i))
	}
	r.sw.Prefetch(r.batch)
	for i := range b.Len() {
		f := r.pool.Get()
		f.Data = append(f.Data, b.Frame(i)...)
		r.sw.Receive(b.port, f)
	}
	switch {
	case b.err == nil:
		return false, nil
	case errors.Is(b.err, io.EOF), errors.Is(b.err, net.ErrClosed):
		return true, nil
	}
	return true, fmt.Errorf("port %d: %w", b.port, b.err)
}

// fire fires the events whose time has come.
func (r *Runner) fire() {
	until := r.elapsed()
	for r.events.Next() <= until {
		at, ev, arg := r.events.Pop()
		r.now = max(r.now, at)
		ev.Fire(r.now, arg)
	}
	r.now = max(r.now, until)
}

func (r *Runner) wait(next vtime.Time) time.Duration {
	if next == vtime.Never {
		return time.Hour
	}
	return max(0, time.Duration((next-r.elapsed())/vtime.Nanosecond))
}

// flush writes out what was sent.
func (r *Runner) flush() error {
	var first error
	for _, port := range r.dirty {
		frames := r.out[port]
		if l := r.links[port]; l == nil {
			r.lost[port] += uint64(len(frames))
		} else if err := l.Write(frames); err != nil && first == nil {
			first = fmt.Errorf("port %d: %w", port, err)
		}
		for _, f := range frames {
			r.pool.Put(f)
		}
		clear(frames)
		r.out[port] = frames[:0]
	}
	r.dirty = r.dirty[:0]
	return first
}
