// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"
	"testing"

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
