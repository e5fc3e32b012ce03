// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"slices"

	"github.com/pauseless/pauseless/internal/topo"
)

// Network is a topology's nodes and links, for maps.
type Network struct {
	Nodes []NetNode `json:"nodes"`
	Links []NetLink `json:"links"`
}

// NetNode is a host, of tier 0, or a switch.
type NetNode struct {
	Name string `json:"name"`
	Tier int    `json:"tier"`
}

// NetLink joins port AP of node A to port BP of node B. A and B are indices of
// Network.Nodes; ports are numbered from 1.
type NetLink struct {
	A    int   `json:"a"`
	AP   int   `json:"ap"`
	B    int   `json:"b"`
	BP   int   `json:"bp"`
	Rate int64 `json:"rate"` // in bit/s
}

// NewNetwork returns the nodes and links of a topology.
func NewNetwork(t *topo.Topology) *Network {
	n := &Network{}
	for i := range t.Nodes {
		n.Nodes = append(n.Nodes, NetNode{t.Nodes[i].Name, int(t.Nodes[i].Tier)})
	}
	for i := range t.Links {
		l := &t.Links[i]
		n.Links = append(n.Links, NetLink{l.A.Node, l.A.Port, l.B.Node, l.B.Port, int64(l.Rate)})
	}
	return n
}

// Sender returns the link of a node's port, and the direction in which the port
// sends: 0 from end A, 1 from end B.
func (n *Network) Sender(node string, port int) (link, dir int, ok bool) {
	id := slices.IndexFunc(n.Nodes, func(k NetNode) bool { return k.Name == node })
	for i, l := range n.Links {
		if l.A == id && l.AP == port {
			return i, 0, true
		}
		if l.B == id && l.BP == port {
			return i, 1, true
		}
	}
	return 0, 0, false
}

// LinkName names a direction of a link, as in "l1 port 5 to s1".
func (n *Network) LinkName(link, dir int) string {
	l := n.Links[link]
	if dir == 1 {
		l = NetLink{A: l.B, AP: l.BP, B: l.A, BP: l.AP}
	}
	return fmt.Sprintf("%s port %d to %s", n.Nodes[l.A].Name, l.AP, n.Nodes[l.B].Name)
}
