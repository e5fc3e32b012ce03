// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/packet"
)

// Strategies are p4-utils' ways to give hosts their addresses, as its assignment_strategy
// names them.
var strategies = []string{"l2", "mixed", "l3"}

// assign gives hosts the addresses of p4-utils' assignment strategies (NetworkAPI.l2,
// mixed and l3). Switches count from 1 in the natural order of their names; h7 has the
// number 7, and hosts with other names have the next free one, in the order of links. With
// l2 all hosts are in 10.0.0.0/16: 10.0.0.7. With mixed those of switch 2 are in
// 10.0.2.0/24: 10.0.2.7, and their gateway is 10.0.2.254. With l3 each has a network of its
// own: 10.2.7.2 and gateway 10.2.7.1. A MAC address is 00:00 and the IP address; that of the
// gateway, the switch's port, is 00:01 and the host's IP address.
func (r *mininetReader) assign(strategy string) {
	if !slices.Contains(strategies, strategy) {
		if strategy != "" && strategy != "manual" {
			r.errorf("assignment_strategy", "assignment_strategy is %q, must be %s", strategy, strings.Join(strategies, ", "))
			return
		}
		if r.path != "" {
			r.remaining()
		}
		return
	}
	var switches []string
	for i := range r.b.t.Nodes {
		if n := &r.b.t.Nodes[i]; n.Kind == Switch {
			switches = append(switches, n.Name)
		}
	}
	slices.SortFunc(switches, natural)
	ids := make(map[string]int)
	for i, name := range switches {
		ids[name] = i + 1
	}
	type place struct{ sw, host int }
	taken := make(map[place]string)
	free := make(map[int]int) // the last number given, by switch
	var hosts, unnumbered []*Node
	number := make(map[string]int)
	on := func(n *Node) int {
		if strategy == "l2" {
			return 0
		}
		return ids[r.b.t.Nodes[n.Ports[0].Peer].Name]
	}
	most := 253
	if strategy == "l2" {
		most = 1<<16 - 2
	}
	for i := range r.b.t.Links {
		for _, end := range []End{r.b.t.Links[i].A, r.b.t.Links[i].B} {
			n := &r.b.t.Nodes[end.Node]
			if n.Kind != Host || n.Stub != NoStub {
				continue
			}
			if r.b.t.Nodes[n.Ports[0].Peer].Kind != Switch {
				r.errorf("hosts."+n.Name, "host %s has a link to another host: hosts have links to switches", n.Name)
				return
			}
			hosts = append(hosts, n)
			name := r.b.t.Nodes[n.Host].Name
			k, err := strconv.Atoi(strings.TrimPrefix(name, "h"))
			if err != nil || k < 1 || !strings.HasPrefix(name, "h") {
				unnumbered = append(unnumbered, n)
				continue
			}
			number[n.Name] = k
			if other, twice := taken[place{on(n), k}]; twice || k > most || on(n) > 253 {
				r.errorf("hosts."+n.Name, "no address with strategy %s for %s: the number is above %d, or that of %s", strategy, n.Name, most, other)
				return
			}
			taken[place{on(n), k}] = n.Name
		}
	}
	for _, n := range unnumbered {
		at := place{on(n), free[on(n)] + 1}
		for taken[at] != "" {
			at.host++
		}
		if free[at.sw] = at.host; at.host > most || at.sw > 253 {
			r.errorf("hosts."+n.Name, "no address with strategy %s is left for %s", strategy, n.Name)
			return
		}
		taken[at], number[n.Name] = n.Name, at.host
	}
	arp := r.net.Default.Text("auto_gw_arp") != "false"
	for _, n := range hosts {
		k, sw := byte(number[n.Name]), byte(on(n))
		var ip, gateway [4]byte
		bits := 24
		switch strategy {
		case "l2":
			ip, bits = [4]byte{10, 0, byte(number[n.Name] >> 8), k}, 16
		case "mixed":
			ip, gateway = [4]byte{10, 0, sw, k}, [4]byte{10, 0, sw, 254}
		case "l3":
			ip, gateway = [4]byte{10, sw, k, 2}, [4]byte{10, sw, k, 1}
		}
		if !n.Given.IP.IsValid() {
			n.Given.IP = netip.PrefixFrom(netip.AddrFrom4(ip), bits)
		}
		if n.Given.MAC == (packet.MAC{}) {
			n.Given.MAC = packet.MAC{0, 0, ip[0], ip[1], ip[2], ip[3]}
		}
		if strategy == "l2" {
			continue
		}
		if n.Host == n.ID {
			route := fmt.Sprintf("ip route add default via %v dev eth0", netip.AddrFrom4(gateway))
			n.Given.Commands = append(n.Given.Commands, route)
		}
		if arp {
			n.Given.Gateway = packet.MAC{0, 1, ip[0], ip[1], ip[2], ip[3]}
			n.Given.Commands = append(n.Given.Commands, fmt.Sprintf("ip neigh replace %v lladdr %v dev %s nud permanent", netip.AddrFrom4(gateway), n.Given.Gateway, r.b.t.Interface(n.ID)))
		}
	}
}

// remaining gives hosts without an address the next free one of 10.0.0.0/8, in the order of
// the links' names, as p4-utils does without a strategy.
func (r *mininetReader) remaining() {
	type end struct {
		host *Node
		a, z string // names of the link's ends
	}
	var ends []end
	given := make(map[netip.Addr]bool)
	for i := range r.b.t.Nodes {
		n := &r.b.t.Nodes[i]
		switch {
		case n.Kind != Host || n.Stub != NoStub || len(n.Ports) == 0:
		case n.Given.IP.IsValid():
			given[n.Given.IP.Addr()] = true
		default:
			name, peer := r.b.t.Nodes[n.Host].Name, r.b.t.Nodes[n.Ports[0].Peer].Name
			ends = append(ends, end{n, min(name, peer), max(name, peer)})
		}
	}
	slices.SortStableFunc(ends, func(x, y end) int { return cmp.Or(natural(x.a, y.a), natural(x.z, y.z)) })
	next := netip.AddrFrom4([4]byte{10, 0, 0, 1})
	for _, e := range ends {
		for given[next] {
			next = next.Next()
		}
		e.host.Given.IP, next = netip.PrefixFrom(next, 8), next.Next()
	}
}

// natural orders names with their numbers as numbers: s2 before s10.
func natural(a, b string) int {
	split := func(s string) (string, string, string) {
		i := strings.IndexAny(s, "0123456789")
		if i < 0 {
			return s, "", ""
		}
		j := i
		for j < len(s) && s[j] >= '0' && s[j] <= '9' {
			j++
		}
		return s[:i], s[i:j], s[j:]
	}
	for a != "" && b != "" {
		ta, na, ra := split(a)
		tb, nb, rb := split(b)
		if c := strings.Compare(ta, tb); c != 0 {
			return c
		}
		la, lb := strings.TrimLeft(na, "0"), strings.TrimLeft(nb, "0")
		if c := len(la) - len(lb); c != 0 {
			return c
		}
		if c := strings.Compare(la, lb); c != 0 {
			return c
		}
		a, b = ra, rb
	}
	return strings.Compare(a, b)
}

// To returns the Ethernet address that a host sends to for a packet to another host: that of
// its gateway if it has one and the other host is not in its network, else the other's.
func (n *Node) To(other *Node) packet.MAC {
	if n.Given.Gateway != (packet.MAC{}) && (other == nil || !n.Given.IP.Contains(other.IP)) {
		return n.Given.Gateway
	}
	if other == nil {
		return packet.MAC{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
	}
	return other.MAC
}
