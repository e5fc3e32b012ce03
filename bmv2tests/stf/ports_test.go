// SPDX-License-Identifier: Apache-2.0

package stf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/port"
)

// iface is an interface that can be deleted and made again. Its links are of one
// generation.
type iface struct {
	mu     sync.Mutex
	gone   error // of calls on the present generation's links
	exists bool
	number int // of the generation
	took   []int
	lost   chan struct{} // closed when the generation ends
}

func newIface() *iface { return &iface{exists: true, lost: make(chan struct{})} }

// delete deletes the interface. Links tell at once, or when they send.
func (x *iface) delete(err error, told bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.gone, x.exists = err, false
	if told {
		close(x.lost)
	}
}

func (x *iface) restore() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.exists = true
}

type ifaceLink struct {
	x      *iface
	closed chan struct{}
	once   sync.Once
	lost   chan struct{}
}

func (x *iface) open() *ifaceLink { return &ifaceLink{x: x, closed: make(chan struct{}), lost: x.lost} }

func (l *ifaceLink) Read(*port.Batch) error {
	select {
	case <-l.closed:
		return net.ErrClosed
	case <-l.lost:
		return l.x.gone
	}
}

func (l *ifaceLink) Write(frames []*packet.Frame) error {
	l.x.mu.Lock()
	defer l.x.mu.Unlock()
	if l.x.gone != nil {
		return l.x.gone
	}
	l.x.took[l.x.number] += len(frames)
	return nil
}

func (l *ifaceLink) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *ifaceLink) Reopen() (port.Link, error) {
	l.x.mu.Lock()
	defer l.x.mu.Unlock()
	if !l.x.exists {
		return nil, errors.New("no such interface")
	}
	l.x.gone, l.x.lost = nil, make(chan struct{})
	l.x.number++
	l.x.took = append(l.x.took, 0)
	return l.x.open(), nil
}

// mortal is a link that cannot be opened again.
type mortal struct{ port.Link }

// An error of one port is that port's, whatever the error is, and whether the link
// tells it or a frame finds it: the others go on, frames for the port are dropped as
// "link down", and it is opened again when that is possible. A deleted interface
// ended the switch, with all its ports and state.
func TestOnePortFails(t *testing.T) {
	for _, gone := range []error{syscall.ENXIO, syscall.ENODEV, syscall.ENETDOWN, syscall.EIO, errors.New("strange")} {
		for _, told := range []bool{true, false} {
			for _, again := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v, told %v, comes back %v", gone, told, again), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { onePortFails(t, gone, told, again) })
				})
			}
		}
	}
}

func onePortFails(t *testing.T, gone error, told, again bool) {
	sw, err := softswitch.New(softswitch.Config{Ports: []softswitch.Port{{Number: 1}, {Number: 2}, {Number: 4}}})
	if err != nil {
		t.Fatal(err)
	}
	x := newIface()
	x.took = []int{0}
	var l port.Link = x.open()
	if !again {
		l = mortal{l}
	}
	in, host1 := port.Pipe()
	out, host2 := port.Pipe()
	r := port.NewRunner(sw, map[int]port.Link{1: in, 2: out, 4: l})
	p, err := interp.Compile(compile(t, "testdata/queues.p4"), interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sw.Load(p)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	got := make(chan int, 100)
	go func() {
		for b := port.NewBatch(); host2.Read(b) == nil; b = port.NewBatch() {
			got <- b.Len()
		}
	}()
	arrive := func(to byte) {
		f := &packet.Frame{Data: make([]byte, 60)}
		f.Data[1] = to
		if err := host1.Write([]*packet.Frame{f}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
	}
	state := func(up bool, drops uint64) {
		t.Helper()
		synctest.Wait()
		sw.Lock()
		defer sw.Unlock()
		if now := sw.Stats().Drops[softswitch.DropLink]; sw.LinkUp(4) != up || now != drops {
			t.Errorf("port 4 is up: %v, want %v; %d frames were dropped as link down, want %d", sw.LinkUp(4), up, now, drops)
		}
	}
	forwards := func() {
		t.Helper()
		arrive(2)
		select {
		case <-got:
		case <-time.After(time.Second):
			t.Error("a frame from port 1 to port 2 does not arrive")
		}
	}
	arrive(4)
	state(true, 0)
	x.delete(gone, told)
	if told {
		synctest.Wait()
		state(false, 0)
	}
	for range 3 {
		arrive(4)
		forwards()
	}
	state(false, 3)
	if down := r.Down(); !errors.Is(down[4], gone) || len(down) != 1 {
		t.Errorf("ports that are down: %v, want port 4 with %v", down, gone)
	}
	x.restore()
	time.Sleep(time.Second)
	state(again, 3)
	arrive(4)
	forwards()
	if again {
		state(true, 3)
		x.delete(gone, told) // and once more
		arrive(4)
		state(false, 4)
		x.restore()
		time.Sleep(time.Second)
		arrive(4)
		state(true, 4)
		if x.took[0] != 1 || x.took[1] != 1 || x.took[2] != 1 || len(x.took) != 3 || len(r.Down()) != 0 {
			t.Errorf("the links took %v frames, and %v are down; want one each, and none", x.took, r.Down())
		}
	} else {
		state(false, 4)
	}
	cancel()
	if err := <-ended; !again != errors.Is(err, gone) {
		t.Errorf("the runner ended with %v", err)
	}
	_ = host2.Close()
}

// While frames that a program copies without end arrive, other ports forward, the
// lock can be had, memory does not grow, and the switch ends when it is told.
func TestLoopsDoNotStopTheSwitch(t *testing.T) {
	for _, limit := range []int{0, softswitch.NoPassLimit} {
		loopsDoNotStop(t, limit)
	}
}

func loopsDoNotStop(t *testing.T, limit int) {
	sw, err := softswitch.New(softswitch.Config{Ports: []softswitch.Port{{Number: 1}, {Number: 2}, {Number: 3}}, MaxPasses: limit,
		Buffer: softswitch.Buffer{Size: 10 * vtime.MB}})
	if err != nil {
		t.Fatal(err)
	}
	sw.SetGroup(1, []softswitch.Replica{{Port: 1}, {Port: 3}})
	links, hosts := map[int]port.Link{}, map[int]port.Link{}
	for n := 1; n <= 3; n++ {
		links[n], hosts[n] = port.Pipe()
	}
	r := port.NewRunner(sw, links)
	p, err := interp.Compile(compile(t, "testdata/loops.p4"), interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sw.Load(p)
	sw.SetGroup(1, []softswitch.Replica{{Port: 1}, {Port: 3}})
	sw.SetSession(2, []softswitch.Replica{{Port: 1}, {Port: 3}}, 0, 0)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop := make(chan struct{})
	var senders sync.WaitGroup
	senders.Go(func() { // clones of clones, and a group that recirculates, for ever
		var batch []*packet.Frame
		for range 32 {
			batch = append(batch, &packet.Frame{Data: append([]byte{16, 1}, make([]byte, 1000)...)}, &packet.Frame{Data: append([]byte{4 | 32, 1}, make([]byte, 1000)...)})
		}
		for {
			select {
			case <-stop:
				return
			default:
				_ = hosts[1].Write(batch) // drops what has no room
			}
		}
	})
	looped := func() bool {
		defer sw.Hold()()
		return sw.Stats().Drops[softswitch.DropLoop] > 0
	}
	for b, n := port.NewBatch(), 0; n < 5 || !looped(); {
		if err := hosts[3].Write([]*packet.Frame{{Data: []byte{8, 3, 3, 3}}}); err != nil {
			t.Fatal(err)
		}
		if err := hosts[2].Read(b); err != nil {
			t.Fatal(err)
		}
		for i := range b.Len() {
			if string(b.Frame(i)) == "\x08\x03\x03\x03" {
				n++
			}
		}
		b = port.NewBatch()
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	close(stop)
	senders.Wait()
}
