// SPDX-License-Identifier: Apache-2.0

package port

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
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
	waiter  waiter        // while the switch runs
	broken  map[int]error // links that did not take a frame, until flush
	down    map[int]error // ports whose links have failed
	failed  []error       // of down, those that are not opened again
	worked  uint64        // the switch's work at the last breath
	ended   <-chan struct{}
	back    chan reopened // links that were opened again
	openers sync.WaitGroup

	// Log gets messages about missing privileges, and about ports that go down and
	// come back. It must be set before Run.
	Log *slog.Logger
}

// A Reopener is a link that may work again after an error, like an interface that
// was deleted and is made again.
type Reopener interface {
	Link
	// Reopen opens the link anew. It returns an error as long as it cannot.
	Reopen() (Link, error)
}

// reopened is a link that was opened again.
type reopened struct {
	port int
	link Link
}

// reopenEvery is the time between two attempts to open a link again.
const reopenEvery = 100 * time.Millisecond

// NewRunner attaches a switch to links, by port number.
func NewRunner(sw *softswitch.Switch, links map[int]Link) *Runner {
	r := &Runner{sw: sw, links: links, start: time.Now(), out: map[int][]*packet.Frame{}, broken: map[int]error{}, down: map[int]error{},
		back: make(chan reopened, len(links)), Log: slog.New(slog.DiscardHandler)}
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
	frames := r.out[port]
	switch len(frames) {
	case 0:
		r.dirty = append(r.dirty, port)
	case mostOut:
		r.write(port)
		frames = r.out[port]
	}
	r.out[port] = append(frames, f)
	r.poke()
}

// mostOut limits the frames that wait for the end of a slice. A program can make
// many copies of one frame.
const mostOut = 1024

// Urge implements softswitch.Urgent.
func (r *Runner) Urge() (done func()) {
	if !r.urgent.Load() {
		return func() {}
	}
	return urge()
}

// Frames implements softswitch.Network.
func (r *Runner) Frames() *packet.Pool { return &r.pool }

// Down returns the ports whose links have failed, with the errors.
func (r *Runner) Down() map[int]error {
	defer r.sw.Hold()()
	return maps.Clone(r.down)
}

// ErrDone is the result of Run when all links have ended and the switch is
// idle.
var ErrDone = errors.New("all ports have ended")

// Run runs the switch until ctx is done or all links have ended. It closes the links.
// If a link fails, only its port is down, and Run opens it again as soon as it can.
// Links that are no Reopener have ended then: Run returns their errors at the end.
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
	r.ended = ctx.Done()
	var readers sync.WaitGroup
	begin := func(number int, l Link) {
		if !w.polled(l) {
			readers.Go(func() { read(number, l, full, empty, stop, w) })
		}
	}
	for number, l := range r.links {
		if !w.polled(l) {
			empty <- NewBatch()
			empty <- NewBatch()
		}
		begin(number, l)
	}
	r.setWaiter(w)
	woken := context.AfterFunc(ctx, w.wake)
	defer func() {
		woken()
		r.setWaiter(nil)
		close(stop)
		err = errors.Join(err, r.closeLinks())
		readers.Wait()
		r.openers.Wait()
		for len(r.back) > 0 {
			err = errors.Join(err, (<-r.back).link.Close())
		}
		err = errors.Join(err, w.close())
	}()
	open := len(r.links)
	for ctx.Err() == nil {
		select {
		case b := <-r.back:
			if r.reopened(b, w) {
				begin(b.port, b.link)
			}
		default:
		}
		ended, next := r.slice(w, full, empty, stop)
		if open -= ended; open == 0 && next == vtime.Never {
			if len(r.failed) > 0 {
				break
			}
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
	return errors.Join(r.failed...)
}

func (r *Runner) setWaiter(w waiter) {
	r.sw.Lock()
	defer r.sw.Unlock()
	r.waiter = w
}

// slice makes the switch process the received frames, under its lock. It
// returns the number of links that have ended, and the time of the next event.
func (r *Runner) slice(w waiter, full, empty chan *Batch, stop chan struct{}) (ended int, next vtime.Time) {
	r.sw.Lock()
	defer r.sw.Unlock()
	r.inSlice = true
	defer func() { r.inSlice = false }()
	for port, err := range w.take(r) {
		r.fail(port, err, stop)
	}
	for range 8 { // limits the waiting time of a controller
		select {
		case b := <-full:
			if r.take(b, stop) {
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
	for r.flush(); len(r.broken) > 0; r.flush() {
		for port, err := range r.broken {
			delete(r.broken, port)
			if r.fail(port, err, stop) {
				ended++
			}
		}
	}
	return ended, r.events.Next()
}

// fail takes a port down whose link has failed. It opens the link again in the
// background, or returns true if the link has ended.
func (r *Runner) fail(port int, err error, stop chan struct{}) (ended bool) {
	if r.down[port] != nil {
		return false
	}
	r.down[port] = err
	old := r.links[port]
	_ = old.Close() // it has failed already
	r.discard(port)
	r.sw.LinkChanged(port, false)
	again, ok := old.(Reopener)
	if !ok {
		r.Log.Error("port is down", "port", port, "error", err)
		r.failed = append(r.failed, fmt.Errorf("port %d: %w", port, err))
		return true
	}
	r.Log.Warn("port is down, and is opened again when it comes back", "port", port, "error", err)
	w := r.waiter
	r.openers.Go(func() {
		t := time.NewTicker(reopenEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
			case <-stop:
				return
			}
			if l, err := again.Reopen(); err == nil {
				r.back <- reopened{port, l} // has room
				w.wake()
				return
			}
		}
	})
	return false
}

// reopened takes a port up again. It reports whether the link is to be read.
func (r *Runner) reopened(b reopened, w waiter) bool {
	r.sw.Lock()
	defer r.sw.Unlock()
	r.links[b.port] = b.link
	delete(r.down, b.port)
	if err := w.replace(b.port, b.link); err != nil {
		r.broken[b.port] = err
		return false
	}
	r.sw.LinkChanged(b.port, true)
	r.Log.Info("port is up again", "port", b.port)
	return true
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
	// take passes received frames of the polled links to the switch, and returns
	// the errors of those that have failed, by port. Goroutines read the others.
	take(r *Runner) map[int]error
	polled(l Link) bool
	// replace has a port's link polled in place of the one before.
	replace(port int, l Link) error
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

func (*chanWaiter) take(*Runner) map[int]error { return nil }
func (*chanWaiter) polled(Link) bool           { return false }
func (*chanWaiter) replace(int, Link) error    { return nil }

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
		b.port, b.from = number, l
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
func (r *Runner) take(b *Batch, stop chan struct{}) (ended bool) {
	r.batch = r.batch[:0]
	for i := range b.Len() {
		r.batch = append(r.batch, b.Frame(i))
	}
	r.receive(b.port, r.batch)
	switch {
	case b.err == nil, b.from != r.links[b.port], r.down[b.port] != nil: // it has failed before
		return false
	case errors.Is(b.err, io.EOF), errors.Is(b.err, net.ErrClosed):
		return true
	}
	return r.fail(b.port, b.err, stop)
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
		if r.sw.Work()-r.worked > breathAfter && r.breathe() {
			return
		}
	}
}

// breathAfter is the work after which a slice lets others have the lock. Frames
// that pass the switch once are far below it. One that a program copies and
// recirculates can be a thousand times as much work.
const breathAfter = 4096

// breathe sends what is to be sent, and gives up the lock for a moment. It reports
// whether the switch is to end.
func (r *Runner) breathe() (end bool) {
	r.flush()
	r.inSlice = false
	r.sw.Unlock()
	time.Sleep(50 * time.Microsecond) // on few processors, others need one
	r.sw.Lock()
	r.inSlice = true
	r.worked = r.sw.Work()
	select {
	case <-r.ended:
		return true
	default:
		return false
	}
}

// fire fires the events that are due.
func (r *Runner) fire() {
	until := r.elapsed()
	for range mostEvents {
		if r.events.Next() > until {
			r.now = max(r.now, until)
			break
		}
		at, ev, arg := r.events.Pop()
		r.now = max(r.now, at)
		ev.Fire(r.now, arg)
		if r.sw.Work()-r.worked > breathAfter && r.breathe() {
			break
		}
	}
	r.worked = r.sw.Work()
}

// mostEvents limits the events of a slice. An event can cause another at the same
// time.
const mostEvents = 1 << 14

func (r *Runner) wait(next vtime.Time) time.Duration {
	if next == vtime.Never {
		return time.Hour
	}
	return max(0, time.Duration((next-r.elapsed())/vtime.Nanosecond))
}

// flush writes the frames to send.
func (r *Runner) flush() {
	for _, port := range r.dirty {
		r.write(port)
	}
	r.dirty = r.dirty[:0]
}

// write writes the frames to send by a port. If it cannot, the port fails at the end
// of the slice.
func (r *Runner) write(port int) {
	if l := r.links[port]; l != nil && r.down[port] == nil && r.broken[port] == nil {
		err := l.Write(r.out[port])
		if err == nil {
			r.sent(port)
			return
		}
		r.broken[port] = err
	}
	r.discard(port)
}

// discard counts the frames to send by a port as lost.
func (r *Runner) discard(port int) {
	r.sw.NotSent(len(r.out[port]))
	r.sent(port)
}

// sent frees the frames to send by a port.
func (r *Runner) sent(port int) {
	frames := r.out[port]
	for _, f := range frames {
		r.pool.Put(f)
	}
	clear(frames)
	r.out[port] = frames[:0]
}
