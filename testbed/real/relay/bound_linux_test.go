// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"github.com/pauseless/pauseless/internal/need"
)

// A relay whose interface is set down, deleted and made again, or given a smaller MTU
// carries frames again when it is back, those of other cables all the time, and says what
// has happened.
func TestInterfacesOfARelayGoAndComeBack(t *testing.T) {
	if !need.Isolated(t) {
		return
	}
	add := func(name string) {
		t.Helper()
		need.No(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name, MTU: 1500}, PeerName: name + "h"}))
		for _, name := range []string{name, name + "h"} {
			set(t, name, netlink.LinkSetUp)
		}
	}
	c := Config{Cables: []Cable{{Interfaces: [2]string{"ra", "rb"}}, {Interfaces: [2]string{"rc", "rd"}}}}
	for _, name := range []string{"ra", "rb", "rc", "rd"} {
		add(name)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var mu sync.Mutex
	var lines []string
	go func() {
		ended <- Run(ctx, &c, func(text string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, text)
		})
	}()
	said := func(what string) {
		t.Helper()
		if !need.Poll(func() bool {
			mu.Lock()
			defer mu.Unlock()
			return len(lines) > 0 && strings.Contains(lines[len(lines)-1], what)
		}) {
			t.Fatalf("the relay says %q, want %s", lines, what)
		}
	}
	n := 0
	passes := func(from, to string) {
		t.Helper()
		out, err := openRaw(from)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		in, err := openRaw(to)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		n++
		frame := fmt.Appendf(nil, "\xff\xff\xff\xff\xff\xff\x02\x00\x00\x00\x00\x01\x88\xb5 frame %d %60d", n, 0)
		if !need.Poll(func() bool {
			if err := out.Send(frame); err != nil {
				t.Fatal(err)
			}
			for {
				data, _, err := in.Read()
				if err != nil {
					time.Sleep(time.Millisecond)
					return false
				}
				if string(data) == string(frame) {
					return true
				}
			}
		}) {
			t.Fatalf("no frame from %s to %s", from, to)
		}
	}
	both := func() {
		t.Helper()
		passes("rah", "rbh")
		passes("rbh", "rah")
		passes("rch", "rdh")
	}
	both()
	set(t, "rb", netlink.LinkSetDown)
	said("interface rb carries nothing: network is down")
	passes("rdh", "rch")
	set(t, "rb", netlink.LinkSetUp)
	said("interface rb is up again")
	both()
	set(t, "rb", netlink.LinkDel)
	said("interface rb carries nothing")
	passes("rch", "rdh")
	add("rb")
	said("interface rb is up again")
	both()
	// A frame that one end cannot send concerns no other.
	set(t, "rb", func(l netlink.Link) error { return netlink.LinkSetMTU(l, 100) })
	long, err := openRaw("rah")
	if err != nil {
		t.Fatal(err)
	}
	defer long.Close()
	if err := long.Send(make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	both()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func set(t *testing.T, name string, change func(netlink.Link) error) {
	t.Helper()
	l, err := netlink.LinkByName(name)
	if err == nil {
		err = change(l)
	}
	if err != nil {
		t.Fatal(err)
	}
}
