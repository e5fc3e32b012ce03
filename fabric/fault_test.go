// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"fmt"
	"testing"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile"
)

// Faults that are drawn by_seed are at another switch of the tier and for other leaves with
// another seed, the same with the same seed, and hosts keep their places in their leaves.
func TestFaultsDrawnBySeed(t *testing.T) {
	spec := topo.NewSpec()
	spec.LeafSpine = &topo.LeafSpine{Leaves: 4, Spines: 4, HostsPerLeaf: 3, Rate: 40 * vtime.Gbps, Delay: 2 * vtime.Microsecond}
	file, err := yamlfile.Parse("network", []byte("network: {}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	net := spec.Build(file, "network")
	if err := file.Err(); err != nil {
		t.Fatal(err)
	}
	ft := Fault{Node: "s1", Pairs: []string{"h1-h5", "h2-h6"}, Loss: 0.5, BySeed: true}
	if key, err := ft.Check(net); err != nil {
		t.Fatal(key, err)
	}
	switches, leaves := map[string]bool{}, map[int]bool{}
	for seed := range uint64(20) {
		d := ft.Drawn(net, seed)
		if fmt.Sprint(d) != fmt.Sprint(ft.Drawn(net, seed)) {
			t.Errorf("seed %d: two draws", seed)
		}
		if _, err := d.Check(net); err != nil || net.NodeByName(d.Node).Tier != net.NodeByName("s1").Tier || len(d.Pairs) != 2 || d.Loss != 0.5 {
			t.Errorf("seed %d: %+v: %v", seed, d, err)
		}
		switches[d.Node] = true
		var last [2]int
		for i, pair := range d.Pairs {
			src, dst := net.Pair(pair)
			hosts := [2]int{net.Hosts()[0], net.Hosts()[0]}
			at := [2]int{src.ID - hosts[0], dst.ID - hosts[1]}
			if at[0]%3 != i || at[1]%3 != i+1 {
				t.Errorf("seed %d: pair %s, whose hosts do not have the places of %s", seed, pair, ft.Pairs[i])
			}
			now := [2]int{at[0] / 3, at[1] / 3}
			if i > 0 && now != last || now[0] == now[1] {
				t.Errorf("seed %d: pairs %v are not between two leaves", seed, d.Pairs)
			}
			last, leaves[now[0]] = now, true
		}
	}
	if len(switches) < 3 || len(leaves) < 3 {
		t.Errorf("20 seeds have the switches %v and leaves %v", switches, leaves)
	}
	ft.BySeed = false
	if d := ft.Drawn(net, 5); fmt.Sprint(d) != fmt.Sprint(ft) {
		t.Errorf("without by_seed: %+v", d)
	}
	if key, err := (&Fault{Link: "l1-s1", Down: true, BySeed: true}).Check(net); key != "by_seed" || err == nil {
		t.Errorf("by_seed of a link: %v, %v", key, err)
	}
}
