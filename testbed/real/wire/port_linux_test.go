// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/pauseless/pauseless/internal/need"

	"github.com/vishvananda/netlink"
)

// Two hosts exchange flows over a pair of virtual Ethernet interfaces.
func TestHostsOverVeth(t *testing.T) {
	const left, right = "plw-test-a", "plw-test-b"
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: left}, PeerName: right}
	need.No(t, netlink.LinkAdd(veth)) // without root, or in a bare container
	defer netlink.LinkDel(veth)
	var ports [2]Port
	for _, name := range []string{left, right} {
		if _, err := Open(name); err == nil || !strings.Contains(err.Error(), "is down") {
			t.Errorf("Open of %s, which is down: %v", name, err)
		}
	}
	for _, name := range []string{left, right} {
		l, err := netlink.LinkByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := netlink.LinkSetUp(l); err != nil {
			t.Fatal(err)
		}
	}
	for i, name := range []string{left, right} {
		p, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = p
	}
	r := both(t, ports[0], ports[1], nil)
	for _, rep := range r {
		if rep == nil || rep.Partial {
			t.Errorf("%+v", rep)
		}
	}
	if _, err := Open("plw-none"); err == nil {
		t.Error("Open accepts an interface that does not exist")
	}
}

// A port whose interface is set down, or deleted and made again, receives and sends again
// when it is up.
func TestInterfaceOfAHostComesBack(t *testing.T) {
	const left, right = "plw-again-a", "plw-again-b"
	set := func(name string, change func(netlink.Link) error) {
		t.Helper()
		l, err := netlink.LinkByName(name)
		if err == nil {
			err = change(l)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	add := func() {
		need.No(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: left}, PeerName: right})) // without root, or in a bare container
		set(left, netlink.LinkSetUp)
		set(right, netlink.LinkSetUp)
	}
	add()
	defer func() { set(left, netlink.LinkDel) }()
	p, err := Open(left)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	n := 0
	exchange := func() {
		t.Helper()
		other, err := Open(right)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		n++
		for _, way := range [][2]Port{{p, other}, {other, p}} {
			frame := make([]byte, 60)
			frame[12], frame[13], frame[14] = 0x88, 0x08, byte(n) // MAC control
			if !need.Poll(func() bool {
				if err := way[0].Send(frame); err != nil {
					t.Fatal(err)
				}
				select {
				case got, ok := <-way[1].Frames():
					if !ok {
						t.Fatal("the port has ended")
					}
					return bytes.Equal(got, frame)
				case <-time.After(10 * time.Millisecond):
					return false
				}
			}) {
				t.Fatalf("no frame, round %d", n)
			}
		}
	}
	exchange()
	set(left, netlink.LinkSetDown)
	if err := p.Send(make([]byte, 60)); err != nil {
		t.Errorf("a frame while the interface is down: %v", err)
	}
	set(left, netlink.LinkSetUp)
	exchange()
	set(left, netlink.LinkDel)
	if err := p.Send(make([]byte, 60)); err != nil {
		t.Errorf("a frame while there is no interface: %v", err)
	}
	add()
	exchange()
}
