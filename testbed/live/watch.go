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
	"github.com/pauseless/pauseless/testbed/local"
	"github.com/pauseless/pauseless/testbed/netns"
)

// watch sees every frame of the network: one socket on each link, at a
// switch.
type watch struct {
	taps   []*tap
	cancel context.CancelFunc
	done   sync.WaitGroup

	mu      sync.Mutex
	pauses  []pauseFrame
	warns   []warning
	entered uint64  // packets of the lossless class, from hosts into switches
	left    uint64  // and from switches to hosts
	kept    []int64 // by node: those that came, less those that went
	errs    []error
}

// tap is the place on a link where frames are seen: a port of a switch.
type tap struct {
	socket *netns.Socket
	here   topo.End // the switch
	there  topo.End // the other end, a switch or a host
	host   bool     // the other end is a host
}

// pauseFrame is a PFC frame: the sender asks the receiver to pause, or to go
// on.
type pauseFrame struct {
	at       time.Time
	from, to topo.End
	classes  [packet.Classes]int32 // quanta; -1: not meant
}

// warning is a message of RLB that a queue is about to make the switch pause
// its senders.
type warning struct {
	at     time.Time
	from   topo.End
	origin uint16 // device number of the switch that warned first
	active bool   // false: it is over
}

// openWatch opens a socket on each link, before traffic begins.
func openWatch(p *local.Plan) (*watch, error) {
	w := &watch{kept: make([]int64, len(p.Topology.Nodes))}
	for _, s := range p.Switches {
		for i, port := range s.Ports {
			other := p.Topology.Nodes[s.Node].Ports[i]
			isHost := port.Peer == ""
			if !isHost && (other.Peer < s.Node || other.Peer == s.Node && other.PeerPort < port.Number) {
				continue // watched at the other end
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

// settle waits, when the hosts are done, until all that is still on its way has
// come out (retransmissions and that nobody waits for), or until
// nothing has come out for so long that it never will.
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

// stop ends watching, and fails if something was missed: counts would be
// wrong.
func (w *watch) stop() error {
	w.cancel()
	w.done.Wait()
	for _, t := range w.taps {
		if n := t.socket.Missed(); n > 0 {
			w.errs = append(w.errs, fmt.Errorf("%d frames were not seen by the capture: this machine is too slow for the rate; lower it with --pps", n))
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

// see sorts a frame.
func (w *watch) see(t *tap, c netns.Captured) {
	from, to := t.there, t.here
	if c.Out {
		from, to = to, from
	}
	if p := packet.AsPFC(c.Data); p != nil {
		f := pauseFrame{at: c.Time, from: from, to: to}
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
			w.warns = append(w.warns, warning{c.Time, from, origin, m.Active()})
			w.mu.Unlock()
		}
		return
	}
	if ip := packet.FindIPv4(c.Data); ip != nil && ip.DSCP()>>3 == losslessClass {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.kept[from.Node]--
		w.kept[to.Node]++
		switch {
		case !t.host:
		case c.Out:
			w.left++
		default:
			w.entered++
		}
	}
}
