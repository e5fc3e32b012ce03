// SPDX-License-Identifier: Apache-2.0

package port

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// priority is the nice value of the thread that forwards. A packet is worked on
// as soon as it has come, whatever else the processors do; a controller's
// update takes as long as packets leave it.
const priority = -20

// poller waits for frames on all interfaces of a switch at once, on a thread of
// its own: no other goroutine has a part in forwarding.
type poller struct {
	mu           sync.Mutex // guards event
	epoll, event int        // event wakes the thread that waits; −1 when that has ended
	links        []*ifLink
	numbers      []int // of their ports
	in           *inbox
	ready        []unix.EpollEvent
	n            int // of ready
	frames       [][]byte
}

// newWaiter returns what waits for the links: a poller if there are interfaces
// among them.
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
	p.in, p.ready = newInbox(), make([]unix.EpollEvent, len(p.links)+1)
	return p, nil
}

// polled reports whether the poller reads a link.
func (p *poller) polled(l Link) bool {
	_, ok := l.(*ifLink)
	return ok
}

// begin keeps the goroutine on its thread, which ends with it, and has the
// kernel prefer that.
func (p *poller) begin(log *slog.Logger) bool {
	runtime.LockOSThread()
	err := unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), priority)
	if err != nil {
		log.Info("forwarding has no priority over other work of this machine: that needs the capability CAP_SYS_NICE", "error", err)
	}
	return err == nil
}

// urge gives the caller's thread the priority of the one that forwards, until
// done is called.
func urge() (done func()) {
	runtime.LockOSThread()
	tid := unix.Gettid()
	kernels, err := unix.Getpriority(unix.PRIO_PROCESS, tid)
	if err == nil {
		err = unix.Setpriority(unix.PRIO_PROCESS, tid, priority)
	}
	return func() {
		if err == nil {
			_ = unix.Setpriority(unix.PRIO_PROCESS, tid, 20-kernels) // as the system call has it
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

func (p *poller) wait(d time.Duration) error {
	ts := unix.NsecToTimespec(int64(d))
	call := unix.Syscall6
	if d <= 0 {
		call = unix.RawSyscall6 // which does not wait
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
	for _, e := range p.ready[:p.n] {
		if e.Fd < 0 {
			var b [8]byte
			_, _ = unix.Read(p.event, b[:])
		}
	}
	return nil
}

// take gives the switch what has come, up to inMsgs frames of each interface.
func (p *poller) take(r *Runner) error {
	for _, e := range p.ready[:p.n] {
		if e.Fd < 0 {
			continue
		}
		l, number := p.links[e.Fd], p.numbers[e.Fd]
		n, err := p.in.receive(l)
		if err != nil {
			return fmt.Errorf("port %d: %w", number, err)
		}
		p.frames = p.in.frames(n, p.frames[:0])
		r.receive(number, p.frames)
	}
	p.n = 0
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
