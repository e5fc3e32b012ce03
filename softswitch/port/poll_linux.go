// SPDX-License-Identifier: Apache-2.0

package port

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// preferred is the scheduling of the forwarding thread: real time. It processes
// a packet immediately, whatever other work the processors have; the kernel
// reserves 5 % of the time for other work. With only a nice value, even −20,
// the thread waits some milliseconds for the end of another's slice: that is
// the fallback for control groups without real-time threads. Threads that it
// starts have normal scheduling.
var preferred = []unix.SchedAttr{
	{Policy: unix.SCHED_FIFO, Priority: 1, Size: unix.SizeofSchedAttr, Flags: unix.SCHED_FLAG_RESET_ON_FORK},
	{Policy: unix.SCHED_NORMAL, Nice: -20, Size: unix.SizeofSchedAttr, Flags: unix.SCHED_FLAG_RESET_ON_FORK},
}

// prefer applies the first permitted scheduling to the caller's thread.
func prefer() (err error) {
	for i := range preferred {
		if err = unix.SchedSetAttr(0, &preferred[i], 0); err == nil {
			return nil
		}
	}
	return err
}

// poller waits for frames on all interfaces of a switch, on its own thread, so
// that forwarding needs no other goroutine.
type poller struct {
	mu           sync.Mutex // guards event
	epoll, event int        // event wakes the waiting thread; −1 after the end
	links        []*ifLink
	numbers      []int // of their ports
	in           *inbox
	ready        []unix.EpollEvent
	n            int  // of ready
	urgent       bool // the thread has priority
	short        int  // number of consecutive waits shorter than gather
	more         bool // frames may remain
	failed       map[int]error
	frames       [][]byte
}

// newWaiter returns the waiter for the links: a poller if they include
// interfaces.
func newWaiter(links map[int]Link) (waiter, error) {
	p := &poller{epoll: -1, event: -1}
	for number, l := range links {
		if l, ok := l.(*ifLink); ok {
			p.links, p.numbers = append(p.links, l), append(p.numbers, number)
		}
	}
	if p.links == nil {
		return newChanWaiter(), nil
	}
	var err error
	if p.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	if p.event, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return nil, errors.Join(fmt.Errorf("eventfd: %w", err), p.close())
	}
	add := func(fd, place int) {
		if err == nil {
			err = unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(place)})
		}
	}
	add(p.event, -1)
	for i, l := range p.links {
		add(l.fd, i)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("epoll: %w", err), p.close())
	}
	p.in, p.ready, p.failed = newInbox(), make([]unix.EpollEvent, len(p.links)+1), map[int]error{}
	return p, nil
}

// polled reports whether the poller reads a link.
func (p *poller) polled(l Link) bool {
	_, ok := l.(*ifLink)
	return ok
}

// begin locks the goroutine to its thread, which ends with it, and raises the
// thread's priority.
func (p *poller) begin(log *slog.Logger) bool {
	runtime.LockOSThread()
	err := prefer()
	p.urgent = err == nil
	if err != nil {
		log.Info("forwarding has no priority over other work of this machine: that needs the capability CAP_SYS_NICE", "error", err)
	}
	return p.urgent
}

// urge gives the caller's thread the priority of the forwarding thread until
// done is called.
func urge() (done func()) {
	runtime.LockOSThread()
	usual, err := unix.SchedGetAttr(0, 0)
	if err == nil {
		err = prefer()
	}
	return func() {
		if err == nil {
			usual.Runtime = 0 // of a slice: the kernel's default
			_ = unix.SchedSetAttr(0, usual, 0)
		}
		runtime.UnlockOSThread()
	}
}

func (p *poller) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.event < 0 {
		return
	}
	var one [8]byte
	binary.NativeEndian.PutUint64(one[:], 1)
	_, _ = unix.Write(p.event, one[:]) // EAGAIN: it is awake
}

// Each packet wakes a real-time thread, which takes the processor from the
// sender of the next one. At high packet rates the thread lets packets gather,
// like network cards: a packet waits longer, but costs less.
const (
	gather = 30 * time.Microsecond
	dense  = 8 // number of consecutive waits shorter than that
)

func (p *poller) wait(d time.Duration) error {
	if p.urgent && p.short >= dense && d > gather && !p.more {
		ts := unix.NsecToTimespec(int64(gather))
		_, _, _ = unix.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
	}
	begun := time.Now()
	ts := unix.NsecToTimespec(int64(d))
	call := unix.Syscall6
	if d <= 0 {
		call = unix.RawSyscall6 // does not wait
	}
	n, _, errno := call(unix.SYS_EPOLL_PWAIT2, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.ready[0])), uintptr(len(p.ready)), uintptr(unsafe.Pointer(&ts)), 0, 0)
	if errno == unix.ENOSYS { // before Linux 5.11
		n, _, errno = call(unix.SYS_EPOLL_PWAIT, uintptr(p.epoll), uintptr(unsafe.Pointer(&p.ready[0])), uintptr(len(p.ready)), uintptr((d+time.Millisecond-1)/time.Millisecond), 0, 0)
	}
	p.n = int(n)
	if errno != 0 {
		p.n = 0
		if errno != unix.EINTR {
			return fmt.Errorf("epoll: %w", errno)
		}
	}
	if time.Since(begun) < gather {
		p.short++
	} else {
		p.short = 0
	}
	for _, e := range p.ready[:p.n] {
		if e.Fd < 0 {
			var b [8]byte
			_, _ = unix.Read(p.event, b[:])
		}
	}
	return nil
}

// take passes received frames to the switch, up to inMsgs frames per interface.
func (p *poller) take(r *Runner) map[int]error {
	p.more = false
	clear(p.failed)
	for _, e := range p.ready[:p.n] {
		if e.Fd < 0 {
			continue
		}
		l, number := p.links[e.Fd], p.numbers[e.Fd]
		if l.closed.Load() { // it has failed meanwhile
			continue
		}
		n, err := p.in.receive(l)
		if err != nil {
			p.failed[number] = err
			continue
		}
		p.more = p.more || n == inMsgs
		p.frames = p.in.frames(n, p.frames[:0])
		r.receive(number, p.frames)
	}
	p.n = 0
	return p.failed
}

// replace implements waiter. The kernel has removed the link before, which is closed.
func (p *poller) replace(port int, l Link) error {
	next, ok := l.(*ifLink)
	if !ok {
		return nil
	}
	i := slices.Index(p.numbers, port)
	p.links[i] = next
	if err := unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, next.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}); err != nil {
		return fmt.Errorf("interface %s: epoll: %w", next.name, err)
	}
	return nil
}

func (p *poller) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	for _, fd := range []int{p.epoll, p.event} {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
	}
	p.epoll, p.event = -1, -1
	return err
}
