// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/yamlfile"
)

// named returns the file with its hosts by name, and reports whether it lists them instead,
// as p4lang's tutorials did until 2019.
func named(f *yamlfile.File, path string) (*yamlfile.File, bool) {
	at := join(path, "hosts")
	list := f.Raw(at).Items()
	if path != "" || list == nil {
		return f, false
	}
	f = f.Without("hosts").Put(at, yamlfile.Mapping(list), f.Raw(at))
	return f, true
}

// order is the text by which those tutorials sorted links, so that ports have the same
// numbers in each run: links of hosts come first.
func (r *mininetReader) order(c mininetCable) string {
	if strings.HasPrefix(c.a, "h") {
		return "0" + c.a + c.z
	}
	return "1" + c.a + c.z
}

// numbered gives hosts the addresses of those tutorials: h1 at s2 has 10.0.2.1 and
// 00:00:00:00:02:01, and the gateway 10.0.1.254. The MAC address of the gateway, which was
// random, is 00:01 and the host's IP address.
func (r *mininetReader) numbered() {
	number := func(name, first string) byte {
		n, err := strconv.ParseUint(strings.TrimPrefix(name, first), 10, 8)
		if err != nil || !strings.HasPrefix(name, first) {
			r.errorf("hosts", "%s is not made of %s and a number up to 255, from which addresses follow in a file with a list of hosts", name, first)
		}
		return byte(n)
	}
	for i := range r.b.t.Nodes {
		n := &r.b.t.Nodes[i]
		if n.Kind != Host || n.Stub != NoStub || r.failed {
			continue
		}
		if len(n.Ports) != 1 || n.Host != n.ID {
			r.errorf("hosts", "host %s needs exactly one link, to a switch", n.Name)
			return
		}
		h, sw := number(n.Name, "h"), number(r.b.t.Nodes[n.Ports[0].Peer].Name, "s")
		ip := [4]byte{10, 0, sw, h}
		gateway := fmt.Sprintf("10.0.%d.254", h)
		n.Given.IP = netip.PrefixFrom(netip.AddrFrom4(ip), 24)
		n.Given.MAC = packet.MAC{0, 0, 0, 0, sw, h}
		n.Given.Gateway = packet.MAC{0, 1, ip[0], ip[1], ip[2], ip[3]}
		n.Given.Commands = []string{
			fmt.Sprintf("ip route replace %s dev eth0", gateway),
			fmt.Sprintf("ip neigh replace %s lladdr %v dev eth0 nud permanent", gateway, n.Given.Gateway),
			fmt.Sprintf("ip route add default via %s dev eth0", gateway),
		}
	}
}

// ignored returns a warning for each key of the file that has no effect.
func (r *mininetReader) ignored() (warnings []string) {
	add := func(list yamlfile.Others) {
		for _, o := range list {
			warnings = append(warnings, fmt.Sprintf("%v: warning: %s has no effect here", o.Pos, o.Key))
		}
	}
	add(r.net.Others)
	add(r.others)
	for _, n := range r.names {
		add(r.net.Hosts[n].Others)
		s := r.net.Switches[n]
		add(s.Others)
	}
	return warnings
}
