// SPDX-License-Identifier: Apache-2.0

// Package simnet is a network in memory, for tests in which all programs run in
// one process under the clock of testing/synctest. It offers net.Conns with the
// behaviour of TCP, and the faults of real networks.
package simnet

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Network connects machines, which have names. A connection delivers bytes in
// order and once, as TCP does. Each piece has a random delay, so that pieces of
// different connections overtake each other.
type Network struct {
	mu        sync.Mutex
	rng       *rand.Rand
	listeners map[string]*listener
	conns     map[*Wire]bool
	apart     map[[2]string]bool // pairs of machines that are separated
	ports     int                // number of the last port of a dialer
	hosts     int                // number of the last machine that Listen named
}

// New returns a network in which all machines are connected. Delays are drawn
// from rng.
func New(rng *rand.Rand) *Network {
	return &Network{rng: rng, listeners: map[string]*listener{}, conns: map[*Wire]bool{}, apart: map[[2]string]bool{}}
}

// delay returns the delay of a piece: mostly 1 ms, sometimes 40 ms.
func (n *Network) delay() time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	d := time.Duration(200+n.rng.IntN(1800)) * time.Microsecond
	if n.rng.IntN(50) == 0 {
		d *= 20
	}
	return d
}

func pair(a, b string) [2]string {
	if a > b {
		a, b = b, a
	}
	return [2]string{a, b}
}

func (n *Network) separated(a, b string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.apart[pair(a, b)]
}

// Part separates two machines, or joins them again. Data sent in between
// arrives then.
func (n *Network) Part(a, b string, apart bool) {
	n.mu.Lock()
	n.apart[pair(a, b)] = apart
	conns := n.between(a, b)
	n.mu.Unlock()
	if !apart {
		for _, w := range conns {
			w.ends[0].out.flush()
			w.ends[1].out.flush()
		}
	}
}

// between returns the connections between two machines, or all connections of a
// if b is empty. The caller holds the lock.
func (n *Network) between(a, b string) []*Wire {
	var list []*Wire
	for w := range n.conns {
		x, y := w.ends[0].host, w.ends[1].host
		if x == a && (b == "" || y == b) || y == a && (b == "" || x == b) {
			list = append(list, w)
		}
	}
	return list
}

// Each calls do with each connection between two machines.
func (n *Network) Each(a, b string, do func(*Wire)) {
	n.mu.Lock()
	list := n.between(a, b)
	n.mu.Unlock()
	for _, w := range list {
		do(w)
	}
}

// Wire is a connection.
type Wire struct {
	n    *Network
	ends [2]*end
}

// Reset breaks a connection. Both ends get an error.
func (w *Wire) Reset() {
	for _, e := range w.ends {
		e.out.fail(syscall.ECONNRESET)
	}
	w.gone()
}

// Mute drops all data from now on. Neither end gets an error.
func (w *Wire) Mute() {
	for _, e := range w.ends {
		e.out.mu.Lock()
		e.out.mute = true
		e.out.mu.Unlock()
	}
}

// Slow limits one direction to 100 bytes every 50 ms.
func (w *Wire) Slow(direction int) {
	h := w.ends[direction].out
	h.mu.Lock()
	h.slow = true
	h.mu.Unlock()
}

// Cut breaks the connection after that many further bytes in one direction.
func (w *Wire) Cut(direction, after int) {
	h := w.ends[direction].out
	h.mu.Lock()
	h.cut = after + 1
	h.mu.Unlock()
}

func (w *Wire) gone() {
	w.n.mu.Lock()
	delete(w.n.conns, w)
	w.n.mu.Unlock()
}

// window is the number of bytes that may be in flight or unread in one direction.
const window = 1 << 16

// half is one direction of a connection.
type half struct {
	w        *Wire
	from, to string

	mu     sync.Mutex
	change *sync.Cond
	queue  [][]byte // pieces in flight, in order; nil is the end
	due    int      // pieces of queue whose delay is over; separated machines get them later
	unread []byte
	size   int // bytes in queue and unread
	last   time.Time
	ended  bool  // the end has arrived
	err    error // for both sides
	deaf   bool  // closed for reading
	shut   bool  // closed for writing
	mute   bool
	slow   bool
	cut    int // if above zero, the connection breaks after cut-1 bytes
	// Deadlines of the reader and the writer.
	read, write time.Time
}

func newHalf(w *Wire, from, to string) *half {
	h := &half{w: w, from: from, to: to}
	h.change = sync.NewCond(&h.mu)
	return h
}

func (h *half) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.err = err
	}
	h.change.Broadcast()
}

// send sends a piece; nil is the end.
func (h *half) send(b []byte) {
	if h.mute {
		return
	}
	late := h.w.n.delay()
	if h.slow {
		late += time.Duration(1+len(b)/100) * 50 * time.Millisecond
	}
	at := time.Now().Add(late)
	if at.Before(h.last) {
		at = h.last
	}
	h.last = at
	h.queue = append(h.queue, b)
	time.AfterFunc(time.Until(at), func() {
		h.mu.Lock()
		h.due++
		h.mu.Unlock()
		h.flush()
	})
}

// flush delivers the pieces whose delay is over, unless the machines are separated.
func (h *half) flush() {
	if h.w.n.separated(h.from, h.to) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for ; h.due > 0 && len(h.queue) > 0; h.due-- {
		b := h.queue[0]
		h.queue = h.queue[1:]
		switch {
		case b == nil:
			h.ended = true
		case h.deaf:
			h.size -= len(b)
		default:
			h.unread = append(h.unread, b...)
		}
	}
	h.change.Broadcast()
}

// wait waits for a change, and reports whether the deadline has passed.
func (h *half) wait(deadline *time.Time) bool {
	if !deadline.IsZero() && !time.Now().Before(*deadline) {
		return true
	}
	h.change.Wait()
	return false
}

// end is one end of a connection: a net.Conn.
type end struct {
	w       *Wire
	host    string
	local   addr
	remote  addr
	in, out *half
	once    sync.Once
}

type addr string

func (a addr) Network() string { return "sim" }
func (a addr) String() string  { return string(a) }

func (e *end) LocalAddr() net.Addr  { return e.local }
func (e *end) RemoteAddr() net.Addr { return e.remote }

func (e *end) Read(b []byte) (int, error) {
	h := e.in
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.deaf:
			return 0, net.ErrClosed
		case len(h.unread) > 0:
			n := copy(b, h.unread)
			h.unread = h.unread[n:]
			h.size -= n
			h.change.Broadcast()
			return n, nil
		case h.err != nil:
			return 0, h.err
		case h.ended:
			return 0, io.EOF
		}
		if h.wait(&h.read) {
			return 0, os.ErrDeadlineExceeded
		}
	}
}

func (e *end) Write(b []byte) (int, error) {
	h := e.out
	h.mu.Lock()
	sent := 0
	breaks := false
	for sent < len(b) && !breaks {
		for h.err == nil && !h.shut && h.size >= window {
			if h.wait(&h.write) {
				h.mu.Unlock()
				return sent, os.ErrDeadlineExceeded
			}
		}
		if h.err != nil || h.shut {
			h.mu.Unlock()
			return sent, cmp.Or(h.err, net.ErrClosed)
		}
		n := min(len(b)-sent, window-h.size)
		if h.cut > 0 {
			if n >= h.cut {
				n, breaks = h.cut-1, true
			}
			h.cut -= n
		}
		h.size += n
		if n > 0 {
			h.send(append([]byte{}, b[sent:sent+n]...))
		}
		sent += n
	}
	h.mu.Unlock()
	if breaks {
		time.AfterFunc(2*time.Millisecond, e.w.Reset) // data in flight may still arrive
	}
	return sent, nil
}

func (e *end) Close() error {
	e.once.Do(func() {
		e.in.mu.Lock()
		e.in.deaf = true
		e.in.size -= len(e.in.unread)
		e.in.unread = nil
		done := e.in.ended || e.in.err != nil
		e.in.change.Broadcast()
		e.in.mu.Unlock()
		e.out.mu.Lock()
		e.out.send(nil)
		e.out.shut = true
		e.out.change.Broadcast()
		e.out.mu.Unlock()
		if done {
			e.w.gone()
		}
	})
	return nil
}

func (e *end) SetDeadline(t time.Time) error {
	e.SetReadDeadline(t)
	return e.SetWriteDeadline(t)
}

func (e *end) SetReadDeadline(t time.Time) error  { return e.in.deadline(&e.in.read, t) }
func (e *end) SetWriteDeadline(t time.Time) error { return e.out.deadline(&e.out.write, t) }

func (h *half) deadline(d *time.Time, t time.Time) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	*d = t
	h.change.Broadcast()
	if !t.IsZero() {
		time.AfterFunc(max(0, time.Until(t)), func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.change.Broadcast()
		})
	}
	return nil
}

// listener accepts connections to a machine.
type listener struct {
	n    *Network
	host string
	came chan *end
	done chan struct{}
	once sync.Once
}

// Listen returns a listener for connections to a machine. If host is empty, Listen
// chooses a name, which is the listener's address. A machine has at most one
// listener; for a second one, the error wraps syscall.EADDRINUSE.
func (n *Network) Listen(host string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if host == "" {
		n.hosts++
		host = fmt.Sprintf("host%d", n.hosts)
	}
	if n.listeners[host] != nil {
		return nil, fmt.Errorf("%s: %w", host, syscall.EADDRINUSE)
	}
	l := &listener{n: n, host: host, came: make(chan *end), done: make(chan struct{})}
	n.listeners[host] = l
	return l, nil
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case e := <-l.came:
		return e, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Addr() net.Addr { return addr(l.host) }

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.done)
		l.n.mu.Lock()
		delete(l.n.listeners, l.host)
		l.n.mu.Unlock()
	})
	return nil
}

// Dialer returns a function with which a machine connects to others.
func (n *Network) Dialer(from string) func(context.Context, string) (net.Conn, error) {
	return func(ctx context.Context, to string) (net.Conn, error) {
		for {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(n.delay()):
			}
			if !n.separated(from, to) {
				break
			}
			// A SYN that is lost is retransmitted.
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(time.Second):
			}
		}
		n.mu.Lock()
		l := n.listeners[to]
		n.ports++
		local := addr(fmt.Sprintf("%s:%d", from, n.ports))
		n.mu.Unlock()
		if l == nil {
			return nil, fmt.Errorf("%s: %w", to, syscall.ECONNREFUSED)
		}
		w := &Wire{n: n}
		a, b := newHalf(w, from, to), newHalf(w, to, from)
		w.ends = [2]*end{{w: w, host: from, local: local, remote: addr(to), in: b, out: a}, {w: w, host: to, local: addr(to), remote: local, in: a, out: b}}
		select {
		case l.came <- w.ends[1]:
		case <-l.done:
			return nil, fmt.Errorf("%s: %w", to, syscall.ECONNREFUSED)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		n.mu.Lock()
		n.conns[w] = true
		n.mu.Unlock()
		return w.ends[0], nil
	}
}
