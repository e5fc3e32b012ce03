// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/packets"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/netns"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// Wall times of a run with single packets: until hosts are ready, after the last packet
// without another one, at most in total after the last packet, and for a TCP connection to
// open.
const (
	ownReady   = 200 * time.Millisecond
	ownQuiet   = 700 * time.Millisecond
	ownMost    = 20 * time.Second
	ownConnect = 3 * time.Second
)

// own runs a case with a program of one's own, and single packets.
func own(ctx context.Context, c *scenario.Case, plan *local.Plan, seed uint64, o Options) (run *result.Run, err error) {
	lab := &local.Lab{Plan: plan, Program: c.Own(), Pauseless: o.Pauseless, SimpleSwitch: o.SimpleSwitch}
	n, err := up(ctx, lab, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, n.down()) }()
	if err := n.HostCommands(ctx, o.Say); err != nil {
		return nil, err
	}
	if o.Built != nil {
		if err := o.Built(lab); err != nil {
			return nil, err
		}
	}
	w, all := packets.NewWire(c.Net(), c.Packets, seed, c.Hosts.Overhead)
	var mu sync.Mutex // of w and last
	last := time.Now()
	begin := last.Add(ownReady)
	since := func(t time.Time) vtime.Time { return vtime.Time(t.Sub(begin).Nanoseconds()) * vtime.Nanosecond }
	sockets := make(map[int]*netns.Socket)
	reading, stop := context.WithCancel(ctx)
	var readers, streams sync.WaitGroup
	failed := make(chan error, len(c.Net().Nodes))
	defer func() {
		stop()
		readers.Wait()
		for _, s := range sockets {
			s.Close()
		}
	}()
	// open opens the interface of an adapter, which belongs to a host.
	open := func(host, adapter int, iface string) error {
		s, err := netns.Open("", iface)
		if err != nil {
			return err
		}
		sockets[adapter] = s
		readers.Go(func() {
			failed <- s.Each(reading, func(f netns.Captured) bool {
				if !f.Out {
					mu.Lock()
					w.Received(host, since(f.Time), f.Data)
					last = time.Now()
					mu.Unlock()
				}
				return true
			})
		})
		return nil
	}
	for _, h := range plan.Hosts {
		for _, a := range h.Adapters() {
			if err := n.WithinHost(h.Name, func() error { return open(h.Node, a.Node, a.Interface) }); err != nil {
				return nil, fmt.Errorf("host %s: %w", h.Name, err)
			}
		}
	}
	for _, s := range plan.Switches {
		for _, p := range s.Ports {
			if p.CPU == "" {
				continue
			}
			cpu := c.Net().Nodes[s.Node].Ports[p.Number-1].Peer
			if err := open(cpu, cpu, p.CPU); err != nil {
				return nil, fmt.Errorf("CPU of switch %s: %w", s.Name, err)
			}
		}
	}
	if err := n.faults(c, begin); err != nil {
		return nil, err
	}
	tcp := &acceptor{n: n, conns: make(map[[2]int]*accepted)}
	defer tcp.close()
	if err := tcp.listen(c, all); err != nil {
		return nil, err
	}
	for i := range all {
		p := &all[i]
		if p.At > c.Until {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case err := <-failed:
			return nil, err
		case <-time.After(time.Until(begin.Add(time.Duration(p.At.Nanoseconds())))):
		}
		if p.Stream == nil {
			if err := sockets[p.By].Send(p.Data); err != nil {
				return nil, fmt.Errorf("host %s: %w", c.Net().Nodes[p.Host].Name, err)
			}
			continue
		}
		streams.Go(func() {
			n, closed := tcp.stream(ctx, c, p)
			mu.Lock()
			defer mu.Unlock()
			w.Carried(p.Series, n, closed)
		})
	}
	streams.Wait()
	mu.Lock()
	last = time.Now() // what was sent last is under way
	mu.Unlock()
	for end := time.Now().Add(ownMost); ; {
		mu.Lock()
		idle := time.Since(last)
		mu.Unlock()
		if idle > ownQuiet && time.Now().After(begin.Add(ownQuiet)) || time.Now().After(end) {
			break
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(ownQuiet / 4):
		}
	}
	stop()
	readers.Wait()
	run = result.Collect(c.Net(), &fabric.Results{End: since(time.Now())}, 0, c.Measures)
	run.Profile, run.Arm, run.Point, run.Seed = c.Label, c.Arm, c.Point, seed
	c.Received(run, w.End())
	run.Metrics, run.Steady, run.Links = result.Measure(&result.Observed{Topology: c.Net(), Results: run.Raw, Until: vtime.Never, Packets: run.Packets})
	return run, nil
}

// acceptor accepts the TCP connections of all hosts.
type acceptor struct {
	n         *network
	listeners []net.Listener
	mu        sync.Mutex
	conns     map[[2]int]*accepted // by the ports of source and destination
}

// accepted is a connection, from when one end is first asked for.
type accepted struct {
	done   chan struct{} // closed when it has been read
	read   uint64
	closed bool
}

func (a *acceptor) at(source, destination int) *accepted {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := [2]int{source, destination}
	if a.conns[key] == nil {
		a.conns[key] = &accepted{done: make(chan struct{})}
	}
	return a.conns[key]
}

// listen opens the listeners of all connections. They accept until they are closed.
func (a *acceptor) listen(c *scenario.Case, all []packets.Sending) error {
	have := make(map[[2]int]bool)
	ports := make(map[[2]int]bool)
	for i := range all {
		p := &all[i]
		if p.Stream == nil {
			continue
		}
		pair := [2]int{int(p.Stream.Source), int(p.Stream.Destination)}
		if ports[pair] {
			return fmt.Errorf("two TCP connections have the ports %d and %d: give them different ones", pair[0], pair[1])
		}
		ports[pair] = true
		if have[[2]int{p.To, pair[1]}] {
			continue
		}
		have[[2]int{p.To, pair[1]}] = true
		to := &c.Net().Nodes[p.To]
		err := a.n.WithinHost(to.Name, func() error {
			l, err := net.Listen("tcp4", net.JoinHostPort(to.IP.String(), fmt.Sprint(pair[1])))
			if err == nil {
				a.listeners = append(a.listeners, l)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("host %s: %w", to.Name, err)
		}
		go a.accept(a.listeners[len(a.listeners)-1])
	}
	return nil
}

func (a *acceptor) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return // closed
		}
		from, to := conn.RemoteAddr().(*net.TCPAddr), conn.LocalAddr().(*net.TCPAddr)
		go func() {
			defer conn.Close()
			c := a.at(from.Port, to.Port)
			_ = conn.SetDeadline(time.Now().Add(ownMost)) // without it, it only takes longer
			n, err := io.Copy(io.Discard, conn)
			c.read, c.closed = uint64(n), err == nil
			close(c.done)
		}()
	}
}

func (a *acceptor) close() {
	for _, l := range a.listeners {
		l.Close()
	}
}

// stream opens a TCP connection between the kernels of two hosts, sends its bytes and closes
// it. It returns how many the other host has read, and whether it has seen the end.
func (a *acceptor) stream(ctx context.Context, c *scenario.Case, p *packets.Sending) (read uint64, closed bool) {
	from, to := &c.Net().Nodes[p.Host], &c.Net().Nodes[p.To]
	ctx, cancel := context.WithTimeout(ctx, ownConnect)
	defer cancel()
	var conn net.Conn
	err := a.n.WithinHost(from.Name, func() (err error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.IP.AsSlice(), Port: int(p.Stream.Source)}}
		conn, err = d.DialContext(ctx, "tcp4", net.JoinHostPort(to.IP.String(), fmt.Sprint(p.Stream.Destination)))
		return err
	})
	if err != nil {
		return 0, false
	}
	_ = conn.SetDeadline(time.Now().Add(ownMost))   // without it, it only takes longer
	_, _ = conn.Write(make([]byte, p.Stream.Bytes)) // the other end counts
	conn.Close()
	got := a.at(int(p.Stream.Source), int(p.Stream.Destination))
	select {
	case <-got.done:
		return got.read, got.closed
	case <-time.After(ownMost):
		return 0, false
	}
}
