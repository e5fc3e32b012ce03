// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"context"
	"os"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/pauseless/pauseless/internal/need"
)

// A capture goes on when its interface is up again, and when it was deleted and made anew.
func TestCaptureOfAnInterfaceThatComesBack(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("SKIP: interfaces need root")
	}
	set := func(name string, do func(netlink.Link) error) {
		t.Helper()
		link, err := netlink.LinkByName(name)
		if err == nil {
			err = do(link)
		}
		need.No(t, err)
	}
	add := func() {
		t.Helper()
		need.No(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "ztca", MTU: 1500}, PeerName: "ztcb"}))
		set("ztca", netlink.LinkSetUp)
		set("ztcb", netlink.LinkSetUp)
	}
	add()
	t.Cleanup(func() { set("ztca", netlink.LinkDel) })
	s, err := Open("", "ztca")
	need.No(t, err)
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	seen, ended := make(chan byte, 1000), make(chan error, 1)
	go func() {
		ended <- s.Each(ctx, func(c Captured) bool {
			if len(c.Data) == 60 && c.Data[12] == 0x88 && c.Data[13] == 0xb5 {
				select {
				case seen <- c.Data[14]:
				default:
				}
			}
			return true
		})
	}()
	sees := func(mark byte) {
		t.Helper()
		out, err := Open("", "ztcb")
		need.No(t, err)
		defer out.Close()
		frame := make([]byte, 60)
		frame[12], frame[13], frame[14] = 0x88, 0xb5, mark
		if !need.Poll(func() bool {
			need.No(t, out.Send(frame))
			for {
				select {
				case m := <-seen:
					if m == mark {
						return true
					}
				default:
					return false
				}
			}
		}) {
			t.Fatalf("frame %d was not captured", mark)
		}
	}
	sees(1)
	set("ztca", netlink.LinkSetDown)
	set("ztca", netlink.LinkSetUp)
	sees(2)
	set("ztca", netlink.LinkDel)
	add()
	sees(3)
	set("ztca", netlink.LinkSetDown)
	cancel()
	need.No(t, <-ended)
}
