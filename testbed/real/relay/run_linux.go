// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Run carries frames until ctx is done. It listens at c.Control once it does so.
func Run(ctx context.Context, c *Config) error {
	runtime.LockOSThread() // one thread waits, with the precision of ppoll
	defer runtime.UnlockOSThread()
	r := &looped{carrier: newCarrier(c), requests: make(chan asked, 16)}
	defer r.close()
	for _, k := range c.Cables {
		for _, name := range k.Interfaces {
			s, err := openRaw(name)
			if err != nil {
				return err
			}
			r.sockets = append(r.sockets, s)
		}
	}
	var wake [2]int
	if err := unix.Pipe2(wake[:], unix.O_NONBLOCK|unix.O_CLOEXEC); err != nil {
		return err
	}
	r.wake, r.woken = wake[1], wake[0]
	defer context.AfterFunc(ctx, func() { unix.Write(r.wake, []byte{0}) })()
	if c.Control != "" {
		os.Remove(c.Control) // of one that was killed
		l, err := net.Listen("unix", c.Control)
		if err != nil {
			return err
		}
		defer l.Close()
		go r.serve(ctx, l)
	}
	return r.loop(ctx)
}

// asked is a request, with the channel for its answer.
type asked struct {
	Request
	answer chan Stats
}

// looped is a running relay.
type looped struct {
	*carrier
	sockets     []*raw // two per cable
	wake, woken int    // a pipe that ends ppoll
	requests    chan asked
}

func (r *looped) close() {
	for _, s := range r.sockets {
		s.Close()
	}
	if r.wake != 0 {
		unix.Close(r.wake)
		unix.Close(r.woken)
	}
}

func (r *looped) loop(ctx context.Context) error {
	fds := []unix.PollFd{{Fd: int32(r.woken), Events: unix.POLLIN}}
	for _, s := range r.sockets {
		fds = append(fds, unix.PollFd{Fd: int32(s.FD()), Events: unix.POLLIN})
	}
	for ctx.Err() == nil {
		var failed error
		r.leave(time.Now(), func(w *wire, data []byte) bool {
			err := r.sockets[2*w.cable+w.to].Send(data)
			if errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENETDOWN) || errors.Is(err, unix.ENXIO) {
				return false
			}
			if err != nil && failed == nil {
				failed = err
			}
			return err == nil
		})
		if failed != nil {
			return failed
		}
		var timeout *unix.Timespec
		if at, ok := r.next(); ok {
			left := unix.NsecToTimespec(max(time.Until(at).Nanoseconds(), 0))
			timeout = &left
		}
		if _, err := unix.Ppoll(fds, timeout, nil); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("ppoll: %w", err)
		}
		if fds[0].Revents != 0 {
			var some [64]byte
			unix.Read(r.woken, some[:])
			r.answer()
		}
		for i, s := range r.sockets {
			if fds[i+1].Revents == 0 {
				continue
			}
			for {
				data, at, err := s.Read()
				if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.ENETDOWN) {
					break
				}
				if err != nil {
					return err
				}
				// Frames from end i are for the other end of its cable.
				r.arrive(r.wires[i^1], at, data)
			}
		}
	}
	return nil
}

// answer answers the requests that wait.
func (r *looped) answer() {
	for {
		select {
		case q := <-r.requests:
			err := r.check(q.Faults)
			if err == nil && q.Faults != nil {
				r.faults = q.Faults
			}
			s := r.report()
			if err != nil {
				s.Error = err.Error()
			}
			for _, k := range r.sockets {
				r.stats.Missed += uint64(k.Missed())
			}
			s.Missed = r.stats.Missed
			q.answer <- s
		default:
			return
		}
	}
}

// serve takes requests until the listener is closed.
func (r *looped) serve(ctx context.Context, l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			for in := bufio.NewReader(conn); ; {
				line, err := in.ReadBytes('\n')
				if err != nil {
					return
				}
				var s Stats
				q := asked{answer: make(chan Stats, 1)}
				if err := json.Unmarshal(line, &q.Request); err != nil {
					s.Error = err.Error()
				} else {
					select {
					case r.requests <- q:
						unix.Write(r.wake, []byte{0})
					case <-ctx.Done():
						return
					}
					select {
					case s = <-q.answer:
					case <-ctx.Done():
						return
					}
				}
				if json.NewEncoder(conn).Encode(&s) != nil {
					return
				}
			}
		}()
	}
}
