// SPDX-License-Identifier: Apache-2.0

package port

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch"
)

// A port whose interface is deleted or set down is down, without a frame for it, and is
// up again when the interface is, also another one of the same name or the same
// one with another name. The test runs in a process with a network namespace of
// its own, as the interface is opened again on any thread.
func TestInterfacesGoAndComeBack(t *testing.T) {
	const inside = "PAUSELESS_TEST_INSIDE"
	if os.Getenv(inside) == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInterfacesGoAndComeBack$", "-test.v")
		cmd.Env = append(os.Environ(), inside+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			need.No(t, err)
		}
		if err != nil || !strings.Contains(string(out), "PASS") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	add := func() {
		need.No(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "bs4", MTU: 1500}, PeerName: "h4"}))
	}
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
	add()
	set("h4", netlink.LinkSetUp)
	l, err := OpenInterface("bs4") // not up yet
	if err != nil {
		t.Fatal(err)
	}
	sw, err := softswitch.New(softswitch.Config{Ports: []softswitch.Port{{Number: 4}}})
	if err != nil {
		t.Fatal(err)
	}
	r := NewRunner(sw, map[int]Link{4: l})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	until := func(what string, is func() bool) {
		t.Helper()
		if !need.Poll(func() bool {
			defer sw.Hold()()
			return is()
		}) {
			t.Fatalf("%s: it does not come to that", what)
		}
	}
	up := func() bool { return sw.LinkUp(4) }
	down := func() bool { return !sw.LinkUp(4) }
	receives := func(what string) {
		t.Helper()
		until(what, up)
		release := sw.Hold()
		before := sw.Stats().Received
		release()
		until(what, func() bool {
			h, err := OpenInterface("h4")
			if err != nil {
				return false
			}
			defer h.Close()
			f := &packet.Frame{Data: append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}, make([]byte, 50)...)}
			return h.Write([]*packet.Frame{f}) == nil && sw.Stats().Received > before
		})
	}
	until("an interface that is not up", down)
	set("bs4", netlink.LinkSetUp)
	receives("set up")
	set("bs4", netlink.LinkSetDown)
	until("set down", down)
	set("bs4", netlink.LinkSetUp)
	receives("set up again")
	set("h4", netlink.LinkDel) // the host deletes its end
	until("deleted", down)
	add()
	set("bs4", netlink.LinkSetUp)
	set("h4", netlink.LinkSetUp)
	receives("made again")
	set("bs4", netlink.LinkSetDown)
	until("set down again", down)
	set("bs4", func(l netlink.Link) error { return netlink.LinkSetName(l, "other") })
	set("other", netlink.LinkSetUp)
	receives("with another name")
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
