// SPDX-License-Identifier: Apache-2.0

package causes_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// frameLog is a log of all data frames: when each was in which queue of a switch. It is
// made from arrivals alone, without what switches know of their queues.
type frameLog struct {
	t     *topo.Topology
	at    map[*packet.Frame]arrival
	stays map[[2]int][]stay // by node and port, from 0
}

type arrival struct {
	node int
	flow uint32
	time vtime.Time
}

// stay is a frame in a queue from its arrival until its first bit leaves.
type stay struct {
	flow     uint32
	in, left vtime.Time
}

func newFrameLog(t *topo.Topology) *frameLog {
	return &frameLog{t, make(map[*packet.Frame]arrival), make(map[[2]int][]stay)}
}

type logTap struct {
	log  *frameLog
	node int
}

func (l *frameLog) tap(node int) fabric.Tap { return &logTap{l, node} }

// Arrive implements fabric.Tap.
func (p *logTap) Arrive(now vtime.Time, port int, f *packet.Frame) {
	l := p.log
	if f.Flow() == 0 {
		return
	}
	from := l.t.Nodes[p.node].Ports[port-1]
	link := l.t.Links[from.Link]
	if a, ok := l.at[f]; ok && a.flow == f.Flow() && a.node == from.Peer && l.t.Nodes[a.node].Kind == topo.Switch {
		left := now - link.Delay - link.Rate.TxTime(f.Len()+topo.EthernetOverhead)
		q := [2]int{a.node, from.PeerPort - 1}
		l.stays[q] = append(l.stays[q], stay{a.flow, a.time, left})
	}
	l.at[f] = arrival{p.node, f.Flow(), now}
	if l.t.Nodes[p.node].Kind == topo.Host {
		delete(l.at, f)
	}
}

// held returns the flows with frames in a queue just before a time, and when the first of
// these came.
func (l *frameLog) held(node, port int, t vtime.Time) map[uint32]vtime.Time {
	flows := make(map[uint32]vtime.Time)
	for _, s := range l.stays[[2]int{node, port}] {
		if s.in < t && s.left >= t {
			if came, ok := flows[s.flow]; !ok || s.in < came {
				flows[s.flow] = s.in
			}
		}
	}
	return flows
}

// visited returns the flows with frames in a queue at or after a time.
func (l *frameLog) visited(node, port int, t vtime.Time) map[uint32]bool {
	flows := make(map[uint32]bool)
	for _, s := range l.stays[[2]int{node, port}] {
		if s.left >= t {
			flows[s.flow] = true
		}
	}
	return flows
}

// checkVictims compares the flows that waited in switches in each storm, its victims, and
// the paused time in which one of these waited, with the log. It returns the number of flows compared.
func checkVictims(t *testing.T, n uint64, a *attached) (flows int) {
	for _, s := range a.rec.Storms(a.end) {
		if s.Loop || s.Unknown {
			continue // frames that never leave are not in the log
		}
		visited := a.log.visited(s.Node, s.Port, s.Begun)
		waited, victims := make(map[uint32]bool), make(map[uint32]bool)
		var paused vtime.Time
		for _, p := range s.Pauses {
			if p.Until == a.end {
				continue
			}
			first := p.Until // victim in the pause
			for f, came := range a.log.held(p.Node, p.Port, p.Until) {
				waited[f] = true
				if !visited[f] {
					victims[f] = true
					first = min(first, max(came, p.Since))
				}
			}
			paused += p.Until - first
		}
		if paused != s.VictimPaused {
			t.Errorf("network %d, storm of node %d port %d at %v: victims waited in %v of the paused time; the log says %v", n, s.Node, s.Port, s.Begun, s.VictimPaused, paused)
		}
		if !maps.Equal(waited, s.Waited) || !maps.Equal(victims, s.Victims) {
			t.Errorf("network %d, storm of node %d port %d at %v: flows %v waited and %v are victims; the log says %v and %v", n, s.Node, s.Port, s.Begun,
				slices.Sorted(maps.Keys(s.Waited)), slices.Sorted(maps.Keys(s.Victims)), slices.Sorted(maps.Keys(waited)), slices.Sorted(maps.Keys(victims)))
		}
		flows += len(waited)
	}
	return flows
}
