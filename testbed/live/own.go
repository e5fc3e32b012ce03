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
	"github.com/pauseless/pauseless/testbed/local"
	"github.com/pauseless/pauseless/testbed/netns"
	"github.com/pauseless/pauseless/testbed/packets"
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

// own runs a case with a program of one's own, and single packets, between namespaces.
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
	failed := make(chan error, len(plan.Hosts))
	defer func() {
		stop()
		readers.Wait()
		for _, s := range sockets {
			s.Close()
		}
	}()
	for _, h := range plan.Hosts {
		s, err := netns.Open(netns.Namespace(o.Name, h.Name), local.HostInterface)
		if err != nil {
			return nil, fmt.Errorf("host %s: %w", h.Name, err)
		}
		sockets[h.Node] = s
		readers.Go(func() {
			failed <- s.Each(reading, func(f netns.Captured) bool {
				if !f.Out {
					mu.Lock()
					w.Received(h.Node, since(f.Time), f.Data)
					last = time.Now()
					mu.Unlock()
				}
				return true
			})
		})
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
			if err := sockets[p.Host].Send(p.Data); err != nil {
				return nil, fmt.Errorf("host %s: %w", c.Net().Nodes[p.Host].Name, err)
			}
			continue
		}
		streams.Go(func() {
			n, closed := n.stream(ctx, o.Name, c, p)
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
	run = result.Collect(c.Net(), &fabric.Results{End: since(time.Now())}, 0, c.Judges)
	run.Profile, run.Arm, run.Point, run.Seed = c.Label, c.Arm, c.Point, seed
	c.Received(run, w.End())
	return run, nil
}

// stream opens a TCP connection between the kernels of two hosts, sends its bytes and closes
// it. It returns how many the other host has read, and whether it has seen the end.
func (n *network) stream(ctx context.Context, name string, c *scenario.Case, p *packets.Sending) (read uint64, closed bool) {
	from, to := &c.Net().Nodes[p.Host], &c.Net().Nodes[p.To]
	var l net.Listener
	err := netns.Within(netns.Namespace(name, to.Name), func() (err error) {
		l, err = net.Listen("tcp4", net.JoinHostPort(to.IP.String(), fmt.Sprint(p.Stream.Destination)))
		return err
	})
	if err != nil {
		return 0, false
	}
	defer l.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(ownMost)) // without it, it only takes longer
		n, err := io.Copy(io.Discard, conn)
		read, closed = uint64(n), err == nil
	}()
	ctx, cancel := context.WithTimeout(ctx, ownConnect)
	defer cancel()
	var conn net.Conn
	err = netns.Within(netns.Namespace(name, from.Name), func() (err error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.IP.AsSlice(), Port: int(p.Stream.Source)}}
		conn, err = d.DialContext(ctx, "tcp4", net.JoinHostPort(to.IP.String(), fmt.Sprint(p.Stream.Destination)))
		return err
	})
	if err != nil {
		l.Close() // nobody comes
		<-done
		return 0, false
	}
	_ = conn.SetDeadline(time.Now().Add(ownMost))   // without it, it only takes longer
	_, _ = conn.Write(make([]byte, p.Stream.Bytes)) // the other end counts
	conn.Close()
	<-done
	return read, closed
}
