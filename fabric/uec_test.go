// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"fmt"
	"testing"

	"github.com/pauseless/pauseless/fabric/fabrictest"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/vtime"
)

// uecIncast runs 24 flows of 500 KB to h1, beside others, with hosts of Ultra Ethernet.
func uecIncast(t *testing.T, flows func(b *bed)) (*bed, []FlowResult) {
	t.Helper()
	b := newBed(t, "leaf_spine: {leaves: 4, spines: 8, hosts_per_leaf: 8, rate: 400Gbps, delay: 500ns}",
		hosts(func(c *roce.Config) {
			c.MTU, c.Transport, c.CC.Algorithm, c.UEC.RTO = 4096, roce.UET, "nscc", vtime.Millisecond
		}),
		switches(func(c *fabrictest.Config) {
			c.Buffer, c.XOFF = 64e6, 4e6
			c.Marks = func(vtime.Rate) (kmin, kmax int64, pmax float64) { return 60e3, 240e3, 1 }
		}))
	flows(b)
	for i := 9; i <= 32; i++ {
		b.add(b.flow(fmt.Sprintf("h%d", i), "h1", 500e3, 0))
	}
	return b, b.finish().Flows
}

// A sender whose window shrinks after it has sent its packets gets an answer before its
// timeout, although none of the packets asks for one.
func TestUECAsksAfterTheWindowShrank(t *testing.T) {
	_, all := uecIncast(t, func(*bed) {})
	for i := range all {
		if f := &all[i]; f.FCT > 300*vtime.Microsecond || f.Resent != 0 {
			t.Errorf("a flow took %v, of 240 us for all bytes, with %d retransmissions", f.FCT, f.Resent)
		}
	}
}

// Messages below the receiver's leaf get their share beside an incast, as those of other
// leaves do, although their round trip is shorter: hosts of Ultra Ethernet aim at one
// delay in the whole network.
func TestUECSharesAnIncastWithinTheLeaf(t *testing.T) {
	b, all := uecIncast(t, func(b *bed) {
		for i := 1; i <= 32; i++ {
			for j := 1; j <= 32; j++ {
				if i != j {
					b.add(b.flow(fmt.Sprintf("h%d", i), fmt.Sprintf("h%d", j), 64e3, 0))
				}
			}
		}
	})
	var near, far vtime.Time
	for i := range all {
		f := &all[i]
		switch src, dst := &b.net.Nodes[f.Src], &b.net.Nodes[f.Dst]; {
		case f.Size != 64e3 || dst.Name != "h1":
		case src.Leaf == dst.Leaf:
			near = max(near, f.FCT)
		default:
			far = max(far, f.FCT)
		}
	}
	if near > far*12/10 {
		t.Errorf("within the leaf the last message took %v, from other leaves %v", near, far)
	}
}
