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

// Run carries frames until ctx is done. It listens at c.Control once it does so. An
// interface that is down or deleted loses its frames, which are counted as missed, until
// it is up again, also another one with its name; log gets a line for each. Nothing else
// stops.
func Run(ctx context.Context, c *Config, log func(text string)) error {
	runtime.LockOSThread() // one thread waits, with the precision of ppoll
	defer runtime.UnlockOSThread()
	r := &looped{carrier: newCarrier(c), requests: make(chan asked, 16), log: log}
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
	log         func(string)
	down        int       // sockets whose interfaces are down
	looked      time.Time // when they were last looked at
}

// lookEvery is the time between two looks at an interface that is down.
const lookEvery = 100 * time.Millisecond

// fail takes the interface of a socket down.
func (r *looped) fail(s *raw, err error) {
	if s.down == nil {
		r.down++
		s.down = err
		r.log(fmt.Sprintf("interface %s carries nothing: %v; it is used again when it is up", s.bound.name, err))
	}
}

// again takes interfaces up that are back.
func (r *looped) again(now time.Time) {
	if r.down == 0 || now.Sub(r.looked) < lookEvery {
		return
	}
	r.looked = now
	for _, s := range r.sockets {
		if s.down != nil && s.bound.Again() == nil {
			r.down--
			s.down = nil
			r.log(fmt.Sprintf("interface %s is up again", s.bound.name))
		}
	}
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
		r.again(time.Now())
		r.leave(time.Now(), func(w *wire, data []byte) bool {
			s := r.sockets[2*w.cable+w.to]
			if s.down != nil {
				return false
			}
			err := s.Send(data)
			if Gone(err) {
				r.fail(s, err)
			}
			return err == nil // otherwise there is no room, or it is longer than the MTU
		})
		var timeout *unix.Timespec
		if at, ok := r.next(); ok {
			left := unix.NsecToTimespec(max(time.Until(at).Nanoseconds(), 0))
			timeout = &left
		}
		if look := unix.NsecToTimespec(lookEvery.Nanoseconds()); r.down > 0 && (timeout == nil || timeout.Nano() > look.Nano()) {
			timeout = &look
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
				if errors.Is(err, unix.EAGAIN) {
					break
				}
				if err != nil {
					r.fail(s, err)
					break
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

// maxRequest is the greatest length of a request in bytes.
const maxRequest = 16 << 20

// serve takes requests until the listener is closed.
func (r *looped) serve(ctx context.Context, l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			in := bufio.NewScanner(conn)
			in.Buffer(nil, maxRequest)
			for in.Scan() {
				var s Stats
				q := asked{answer: make(chan Stats, 1)}
				if err := json.Unmarshal(in.Bytes(), &q.Request); err != nil {
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
			if err := in.Err(); err != nil {
				json.NewEncoder(conn).Encode(&Stats{Error: fmt.Sprintf("a request has at most %d bytes: %v", maxRequest, err)})
			}
		}()
	}
}
