// SPDX-License-Identifier: Apache-2.0

package port

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch"
)

// patience limits the waiting time of a test.
const patience = need.Patience

// veth makes a pair of virtual Ethernet interfaces in a new network namespace,
// with an address on the first, and opens links on both.
func veth(t *testing.T) (a, b Link) {
	t.Helper()
	runtime.LockOSThread() // and not unlocked: the thread ends with the test
	need.No(t, unix.Unshare(unix.CLONE_NEWNET))
	pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "a", MTU: 1500}, PeerName: "b", PeerHardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 2}}
	need.No(t, netlink.LinkAdd(pair))
	links := map[string]Link{}
	for _, name := range []string{"a", "b"} {
		l, err := netlink.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := netlink.LinkSetUp(l); err != nil {
			t.Fatal(err)
		}
		if name == "a" {
			addr, err := netlink.ParseAddr("192.0.2.1/24")
			if err != nil {
				t.Fatal(err)
			}
			if err := netlink.AddrAdd(l, addr); err != nil {
				t.Fatal(err)
			}
			if err := netlink.NeighAdd(&netlink.Neigh{LinkIndex: l.Attrs().Index, IP: net.IPv4(192, 0, 2, 2), HardwareAddr: net.HardwareAddr{2, 0, 0, 0, 0, 2}, State: netlink.NUD_PERMANENT}); err != nil {
				t.Fatal(err)
			}
		}
		if links[name], err = OpenInterface(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"a", "b"} { // frames sent before are lost
		var err error
		if !need.Poll(func() bool {
			var l netlink.Link
			l, err = netlink.LinkByName(name)
			return err == nil && l.Attrs().OperState == netlink.OperUp
		}) {
			t.Fatalf("interface %s does not come up: %v", name, err)
		}
	}
	return links["a"], links["b"]
}

// ours reports whether a test sent a frame: one to UDP port 9 or of the local
// experimental EtherType. The kernel sends other frames on a new interface.
func ours(f []byte) bool {
	if len(f) > 40 && binary.BigEndian.Uint16(f[12:]) == packet.EtherTypeIPv4 && f[23] == packet.ProtoUDP {
		return binary.BigEndian.Uint16(f[36:]) == 9
	}
	return bytes.Equal(f[12:14], []byte{0x88, 0xb5}) || len(f) > 18 && bytes.Equal(f[16:18], []byte{0x88, 0xb5})
}

// receive returns the next n frames of a link that a test has sent.
func receive(t *testing.T, l Link, n int) [][]byte {
	t.Helper()
	guard := time.AfterFunc(patience, func() { l.Close() })
	defer guard.Stop()
	var list [][]byte
	for len(list) < n {
		b := NewBatch()
		if err := l.Read(b); err != nil {
			t.Fatalf("after %d of %d frames: %v", len(list), n, err)
		}
		for i := range b.Len() {
			if f := b.Frame(i); ours(f) {
				list = append(list, bytes.Clone(f))
			}
		}
	}
	return list
}

// Frames are sent and received unchanged, including VLAN tags. A frame longer
// than the MTU is dropped, and the link continues.
func TestInterfacesCarryFrames(t *testing.T) {
	a, b := veth(t)
	defer b.Close()
	frame := func(n int, tag ...byte) *packet.Frame {
		data := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}, tag...)
		data = append(data, 0x88, 0xb5)
		for len(data) < n {
			data = append(data, byte(len(data)))
		}
		return &packet.Frame{Data: data}
	}
	sent := []*packet.Frame{frame(60), frame(1514), frame(3000), frame(64, 0x81, 0, 0, 42), {Data: frame(40).Data, Elided: 100}}
	if err := a.Write(sent); err != nil {
		t.Fatal(err)
	}
	got := receive(t, b, 4)
	for i, want := range [][]byte{wire(sent[0]), wire(sent[1]), wire(sent[3]), wire(sent[4])} {
		if !bytes.Equal(got[i], want) {
			t.Errorf("frame %d: %d bytes %x…, want %d bytes %x…", i, len(got[i]), got[i][:20], len(want), want[:20])
		}
	}
	// Close ends a Read that waits and one that begins later.
	ended := make(chan error, 1)
	go func() {
		for {
			if err := a.Read(NewBatch()); err != nil {
				ended <- err
				return
			}
		}
	}()
	a.Close()
	select {
	case err := <-ended:
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("Read ends with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Close does not end a Read")
	}
	if err := a.Write(sent); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write ends with %v", err)
	}
}

// Offloads of a socket on the same machine: the checksum of a datagram, and the
// segmentation of a large one.
func TestOffloadsOfTheKernel(t *testing.T) {
	_, b := veth(t)
	defer b.Close()
	c, err := net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(192, 0, 2, 2), Port: 9})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	f := receive(t, b, 1)[0]
	if !bytes.HasSuffix(f[:47], []byte("hello")) || !sumsToZero(f[:47], true, packet.ProtoUDP) {
		t.Errorf("a datagram came as %x", f)
	}
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var serr error
	if err := raw.Control(func(fd uintptr) { serr = unix.SetsockoptInt(int(fd), unix.IPPROTO_UDP, unix.UDP_SEGMENT, 1000) }); err != nil || serr != nil {
		t.Fatal(err, serr)
	}
	payload := make([]byte, 2500)
	for i := range payload {
		payload[i] = byte(i)
	}
	if _, err := c.Write(payload); err != nil {
		t.Fatal(err)
	}
	var whole []byte
	for i, f := range receive(t, b, 3) {
		if want := min(1000, 2500-1000*i) + 42; len(f) != want || !sumsToZero(f, true, packet.ProtoUDP) || packet.Checksum(f[14:34]) != 0 {
			t.Errorf("segment %d has %d bytes, want %d: %x…", i, len(f), want, f[:42])
		}
		whole = append(whole, f[42:]...)
	}
	if !bytes.Equal(whole, payload) {
		t.Error("the payload differs")
	}
}

// A switch on interfaces receives frames on a thread with priority. The holder
// of its lock has the same priority while it holds the lock. Before, a
// controller's thread that held the lock and waited for a processor delayed
// packets by 30 ms.
func TestInterfacesAreServedFirst(t *testing.T) {
	a, b := veth(t)
	defer a.Close()
	sw, err := softswitch.New(softswitch.Config{Ports: []softswitch.Port{{Number: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	r := NewRunner(sw, map[int]Link{1: b})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	const n = 100
	sent := make([]*packet.Frame, n)
	for i := range sent {
		sent[i] = &packet.Frame{Data: append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}, make([]byte, 50)...)}
	}
	need.No(t, a.Write(sent))
	var got uint64
	if !need.Poll(func() bool {
		sw.Lock()
		defer sw.Unlock()
		got = sw.Stats().Received
		return got >= n // the kernel sends other frames on a new interface
	}) {
		t.Fatalf("%d of %d frames came", got, n)
	}
	scheduled := func() unix.SchedAttr {
		a, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		a.Runtime = 0
		return *a
	}
	runtime.LockOSThread() // Hold does the same while the lock is held
	defer runtime.UnlockOSThread()
	before := scheduled()
	release := sw.Hold()
	if got := scheduled(); r.urgent.Load() && !slices.ContainsFunc(preferred, func(a unix.SchedAttr) bool {
		return got.Policy == a.Policy && got.Priority == a.Priority && got.Nice == a.Nice
	}) {
		t.Errorf("who holds the lock is scheduled as %+v, not as the thread that forwards", got)
	}
	release()
	if got := scheduled(); got != before {
		t.Errorf("who held the lock is scheduled as %+v, and was as %+v", got, before)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := b.Write(sent); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Write to a port of a switch that has ended: %v", err)
	}
	r.At(0, nil, 0) // a late controller has no effect
}

// The memory for received frames counts against --memory, even if unused. With
// 64 frames of the maximum length it was 4 MB per port. It is 2 MB per switch.
func TestPortsKeepLittleMemory(t *testing.T) {
	if n := len(newInbox().bufs); n > 33*maxFrame {
		t.Errorf("a switch keeps %d bytes", n)
	}
}
