// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane"
)

// proxy is a network between controllers and a switch that can be slowed down,
// and cut, also in the middle of a message.
type proxy struct {
	listener net.Listener
	to       *target
	work     sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]bool
	closed bool          // new connections are cut
	delay  time.Duration // of all data, in both directions
	left   int           // bytes that still reach the switch; negative: all
	cuts   int           // how often left has reached zero
}

// through starts a proxy for a switch and returns the switch with the proxy's
// address.
func through(t *testing.T, sw *target) (*proxy, controlplane.Target) {
	t.Helper()
	l, err := sw.listen("")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, to: sw, conns: make(map[net.Conn]bool), left: -1}
	p.work.Go(p.serve)
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.cut()
		p.work.Wait()
	})
	target := sw.Target
	target.Addr = l.Addr().String()
	return p, target
}

func (p *proxy) serve() {
	for {
		a, err := p.listener.Accept()
		if err != nil {
			return
		}
		b, err := p.to.dial(context.Background(), p.to.Addr)
		if err != nil {
			a.Close()
			continue
		}
		p.mu.Lock()
		p.conns[a], p.conns[b] = true, true
		if p.closed {
			a.Close()
			b.Close()
		}
		p.mu.Unlock()
		p.work.Go(func() { p.carry(a, b, p.allow) })
		p.work.Go(func() { p.carry(b, a, func(int) bool { return true }) })
	}
}

// carry copies data from one end to the other until it is cut.
func (p *proxy) carry(from, to net.Conn, allow func(n int) bool) {
	defer func() {
		p.mu.Lock()
		delete(p.conns, from)
		p.mu.Unlock()
		from.Close()
		to.Close()
	}()
	type chunk struct {
		due  time.Time
		data []byte
	}
	queue := make(chan chunk, 1<<12)
	go func() {
		defer close(queue)
		for {
			buf := make([]byte, 4096)
			n, err := from.Read(buf)
			if n > 0 {
				p.mu.Lock()
				due := time.Now().Add(p.delay)
				p.mu.Unlock()
				queue <- chunk{due, buf[:n]}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range queue {
		time.Sleep(time.Until(c.due))
		if !allow(len(c.data)) {
			break
		}
		if _, err := to.Write(c.data); err != nil {
			break
		}
	}
	from.Close()
	for range queue {
	}
}

// allow reports whether n bytes may reach the switch.
func (p *proxy) allow(n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left < 0 {
		return true
	}
	if n > p.left {
		p.left = -1
		p.cuts++
		return false
	}
	p.left -= n
	return true
}

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// cutAfter breaks the connection that carries the n-th byte from now.
func (p *proxy) cutAfter(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = n
}

// slow delays all data from now on.
func (p *proxy) slow(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.delay = d
}

func (p *proxy) broken() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}
