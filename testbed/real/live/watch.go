// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/netns"
)

// watch captures every frame of the network with one socket on each link, at a
// switch.
type watch struct {
	taps   []*tap
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	pauses  []pauseFrame
	warns   []warning
	entered uint64  // packets of the lossless class from hosts to switches
	left    uint64  // and from switches to hosts
	kept    []int64 // by node: packets received less packets sent
	hops    uint64  // packets that came to switches
	errs    []error
}

// tap is a port of a switch where a link's frames are captured.
type tap struct {
	socket *netns.Socket
	here   topo.End // the switch
	there  topo.End // the other end, a switch or a host
	host   bool     // the other end is a host
	// delay is how long a frame that is seen when it is sent takes to the other end.
	delay time.Duration
}

// pauseFrame is a captured PAUSE or RESUME.
type pauseFrame struct {
	at       time.Time
	from, to topo.End
	classes  [packet.Classes]int32 // quanta; -1: class not enabled
}

// warning is a captured warning of RLB.
type warning struct {
	at     time.Time
	from   topo.End
	origin uint16 // device number of the switch that warned first
	active bool   // false: the warning ends
}

// openWatch opens a socket on each link, before traffic begins.
func openWatch(p *local.Plan) (*watch, error) {
	w := &watch{kept: make([]int64, len(p.Topology.Nodes))}
	for _, s := range p.Switches {
		for _, port := range s.Ports {
			if port.CPU != "" {
				continue
			}
			other := p.Topology.Nodes[s.Node].Ports[port.Number-1]
			isHost := port.Peer == ""
			if !isHost && (other.Peer < s.Node || other.Peer == s.Node && other.PeerPort < port.Number) {
				continue // captured at the other end
			}
			socket, err := netns.Open("", port.Interface)
			if err != nil {
				w.close()
				return nil, err
			}
			w.taps = append(w.taps, &tap{
				socket: socket, here: topo.End{Node: s.Node, Port: port.Number},
				there: topo.End{Node: other.Peer, Port: other.PeerPort}, host: isHost,
			})
			if len(p.Cables) > 0 {
				w.taps[len(w.taps)-1].delay = p.Cables[other.Link].Delay
			}
		}
	}
	return w, nil
}

func (w *watch) start() {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	for _, t := range w.taps {
		w.done.Go(func() {
			err := t.socket.Each(ctx, func(c netns.Captured) bool {
				w.see(t, c)
				return true
			})
			if err != nil {
				w.mu.Lock()
				w.errs = append(w.errs, err)
				w.mu.Unlock()
			}
		})
	}
}

// settle waits, when the hosts are done, until all packets that entered the
// network have left it (retransmissions may still be in flight), or until none
// has left it for two seconds.
func (w *watch) settle(ctx context.Context) {
	const never = 2 * time.Second
	last, since := uint64(0), time.Now()
	for ctx.Err() == nil && time.Since(since) < never {
		w.mu.Lock()
		entered, left := w.entered, w.left
		w.mu.Unlock()
		if left >= entered {
			return
		}
		if left != last {
			last, since = left, time.Now()
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// stop ends the capture. It returns an error if frames were missed, since the
// counts are wrong then.
func (w *watch) stop() error {
	w.cancel()
	w.done.Wait()
	for _, t := range w.taps {
		if n := t.socket.Missed(); n > 0 {
			w.errs = append(w.errs, fmt.Errorf("the capture missed %d frames: this machine is too slow for the rate; lower it with --pps", n))
		}
	}
	return errors.Join(w.errs...)
}

func (w *watch) close() {
	if w.cancel != nil {
		w.cancel()
		w.done.Wait()
	}
	for _, t := range w.taps {
		t.socket.Close()
	}
}

// see counts a frame.
func (w *watch) see(t *tap, c netns.Captured) {
	from, to, arrives := t.there, t.here, c.Time
	if c.Out {
		from, to, arrives = to, from, c.Time.Add(t.delay)
	}
	if p := packet.AsPFC(c.Data); p != nil {
		f := pauseFrame{at: arrives, from: from, to: to}
		for class := range f.classes {
			f.classes[class] = -1
			if p.Enabled()&(1<<class) != 0 {
				f.classes[class] = int32(p.Quanta(class))
			}
		}
		w.mu.Lock()
		w.pauses = append(w.pauses, f)
		w.mu.Unlock()
		return
	}
	eth := packet.AsEthernet(c.Data)
	if eth == nil {
		return
	}
	if eth.EtherType() == packet.EtherTypeLocal {
		if m := packet.AsCNM(eth.Payload()); m != nil && m.Kind() == packet.KindWarning {
			w.mu.Lock()
			origin, _ := m.Origin()
			w.warns = append(w.warns, warning{arrives, from, origin, m.Active()})
			w.mu.Unlock()
		}
		return
	}
	if ip := packet.FindIPv4(c.Data); ip != nil && ip.DSCP()>>3 == losslessClass {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.kept[from.Node]--
		w.kept[to.Node]++
		if !t.host || !c.Out {
			w.hops++
		}
		switch {
		case !t.host:
		case c.Out:
			w.left++
		default:
			w.entered++
		}
	}
}
