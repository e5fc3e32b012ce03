// SPDX-License-Identifier: Apache-2.0

package port

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
)

// Runner runs a switch in wall time: it is the Network to which the switch is
// attached. Frames arrive in batches, and the switch's lock is held for a
// batch, not for a packet. A controller may hold the lock in between: its
// packets are sent with the next batch.
type Runner struct {
	sw    *softswitch.Switch
	links map[int]Link
	start time.Time

	// The switch's lock guards the following fields.
	now     vtime.Time
	inSlice bool
	events  vtime.Queue
	pool    packet.Pool
	batch   [][]byte // frames of the batch being processed
	out     map[int][]*packet.Frame
	dirty   []int // ports with frames in out, in order
	urgent  atomic.Bool
	waiter  waiter         // while the switch runs
	lost    map[int]uint64 // frames that a link did not accept

	// Log gets messages about missing privileges. It must be set before Run.
	Log *slog.Logger
}

// NewRunner attaches a switch to links, by port number.
func NewRunner(sw *softswitch.Switch, links map[int]Link) *Runner {
	r := &Runner{sw: sw, links: links, start: time.Now(), out: map[int][]*packet.Frame{}, lost: map[int]uint64{}, Log: slog.New(slog.DiscardHandler)}
	sw.Attach(r)
	return r
}

func (r *Runner) elapsed() vtime.Time {
	return vtime.Time(time.Since(r.start).Nanoseconds()) * vtime.Nanosecond
}

// Now implements vtime.Scheduler.
func (r *Runner) Now() vtime.Time {
	if !r.inSlice { // a controller calls
		r.now = max(r.now, r.elapsed())
	}
	return r.now
}

// At implements vtime.Scheduler.
func (r *Runner) At(t vtime.Time, ev vtime.Event, arg uint64) {
	r.events.Push(t, ev, arg)
	r.poke()
}

// poke wakes the loop for events and frames that a controller caused.
func (r *Runner) poke() {
	if r.inSlice {
		return
	}
	if r.waiter != nil {
		r.waiter.wake()
	}
}

// Send implements softswitch.Network. It sends the frame immediately: a link
// slower than the port limits itself.
func (r *Runner) Send(port int, f *packet.Frame, _ vtime.Time) {
	if len(r.out[port]) == 0 {
		r.dirty = append(r.dirty, port)
	}
	r.out[port] = append(r.out[port], f)
	r.poke()
}

// Urge implements softswitch.Urgent.
func (r *Runner) Urge() (done func()) {
	if !r.urgent.Load() {
		return func() {}
	}
	return urge()
}

// Frames implements softswitch.Network.
func (r *Runner) Frames() *packet.Pool { return &r.pool }

// Lost returns the number of frames that a port's link did not accept. The
// caller holds the switch's lock.
func (r *Runner) Lost(port int) uint64 { return r.lost[port] }

// ErrDone is the result of Run when all links have ended and the switch is
// idle.
var ErrDone = errors.New("all ports have ended")

// Run runs the switch until ctx is done, a link fails, or all links have ended.
// It closes the links.
func (r *Runner) Run(ctx context.Context) error {
	w, err := newWaiter(r.links)
	if err != nil {
		return errors.Join(err, r.closeLinks())
	}
	ended := make(chan error)
	go func() { ended <- r.loop(ctx, w) }() // its thread may be its own
	return <-ended
}

func (r *Runner) closeLinks() error {
	var err error
	for _, l := range r.links {
		err = errors.Join(err, l.Close())
	}
	return err
}

func (r *Runner) loop(ctx context.Context, w waiter) (err error) {
	r.urgent.Store(w.begin(r.Log))
	full, empty := make(chan *Batch, 2*len(r.links)), make(chan *Batch, 2*len(r.links))
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for number, l := range r.links {
		if w.polled(l) {
			continue
		}
		empty <- NewBatch()
		empty <- NewBatch()
		readers.Go(func() { read(number, l, full, empty, stop, w) })
	}
	r.setWaiter(w)
	woken := context.AfterFunc(ctx, w.wake)
	defer func() {
		woken()
		r.setWaiter(nil)
		close(stop)
		err = errors.Join(err, r.closeLinks())
		readers.Wait()
		err = errors.Join(err, w.close())
	}()
	open := len(r.links)
	for ctx.Err() == nil {
		ended, next, err := r.slice(w, full, empty)
		if err != nil {
			return err
		}
		if open -= ended; open == 0 && next == vtime.Never {
			return ErrDone
		}
		d := r.wait(next)
		if len(full) > 0 {
			d = 0
		}
		if err := w.wait(d); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) setWaiter(w waiter) {
	r.sw.Lock()
	defer r.sw.Unlock()
	r.waiter = w
}

// slice makes the switch process the received frames, under its lock. It
// returns the number of links that have ended, and the time of the next event.
func (r *Runner) slice(w waiter, full, empty chan *Batch) (ended int, next vtime.Time, err error) {
	r.sw.Lock()
	defer r.sw.Unlock()
	r.inSlice = true
	defer func() { r.inSlice = false }()
	if err := w.take(r); err != nil {
		return 0, 0, err
	}
	for range 8 { // limits the waiting time of a controller
		select {
		case b := <-full:
			end, err := r.take(b)
			if err != nil {
				return 0, 0, err
			}
			if end {
				ended++
			}
			b.reset()
			empty <- b
			continue
		default:
		}
		break
	}
	r.fire()
	return ended, r.events.Next(), r.flush()
}

// A waiter waits for frames on behalf of the loop.
type waiter interface {
	// begin is called by the waiting goroutine. It reports whether its thread has
	// priority from then on.
	begin(log *slog.Logger) (urgent bool)
	// wait returns after a call of wake, when frames have arrived, after d, or
	// spuriously.
	wait(d time.Duration) error
	wake()
	// take passes received frames of the polled links to the switch. Goroutines
	// read the others.
	take(r *Runner) error
	polled(l Link) bool
	close() error
}

// chanWaiter waits for goroutines only.
type chanWaiter struct {
	woken chan struct{}
	timer *time.Timer
}

func newChanWaiter() *chanWaiter {
	return &chanWaiter{make(chan struct{}, 1), time.NewTimer(time.Hour)}
}

func (*chanWaiter) begin(*slog.Logger) bool { return false }

func (w *chanWaiter) wait(d time.Duration) error {
	if d == 0 {
		return nil
	}
	w.timer.Reset(d)
	select {
	case <-w.woken:
	case <-w.timer.C:
	}
	return nil
}

func (w *chanWaiter) wake() {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

func (*chanWaiter) take(*Runner) error { return nil }
func (*chanWaiter) polled(Link) bool   { return false }

func (w *chanWaiter) close() error {
	w.timer.Stop()
	return nil
}

// read passes batches of frames from a link.
func read(number int, l Link, full, empty chan *Batch, stop chan struct{}, w waiter) {
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
		w.wake()
		if ended {
			return
		}
	}
}

// take passes a batch to the switch. It reports whether the link has ended.
func (r *Runner) take(b *Batch) (ended bool, err error) {
	r.batch = r.batch[:0]
	for i := range b.Len() {
		r.batch = append(r.batch, b.Frame(i))
	}
	r.receive(b.port, r.batch)
	switch {
	case b.err == nil:
		return false, nil
	case errors.Is(b.err, io.EOF), errors.Is(b.err, net.ErrClosed):
		return true, nil
	}
	return true, fmt.Errorf("port %d: %w", b.port, b.err)
}

// receive passes frames of a port to the switch, which keeps no reference to
// them.
func (r *Runner) receive(port int, frames [][]byte) {
	r.now = max(r.now, r.elapsed())
	r.sw.Prefetch(frames)
	for _, data := range frames {
		f := r.pool.Get()
		f.Data = append(f.Data, data...)
		r.sw.Receive(port, f)
	}
}

// fire fires the events that are due.
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

// flush writes the frames to send.
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
