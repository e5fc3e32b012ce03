// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// fatTree is a topology file of htsim (fat_tree_topology.cpp): hosts, and two or three
// tiers of switches. Keys of a tier are about the links below its switches.
type fatTree struct {
	src    source
	common map[string]int64 // nodes, tiers, podsize
	tiers  [3]map[string]int64
	lines  [3]map[string]int // of the keys
}

// ParseTopo reads a topology file of htsim. Hosts are called h1, h2, …, in the order of
// its nodes, switches l, s or t, a, c. Switches have a buffer of 64 MB and pause at an
// eighth of its free part, since such a file does not say it. An error is a diag.List.
func ParseTopo(name string, data []byte) (*topo.Topology, error) {
	return readTopo(name, bytes.NewReader(data), topo.SwitchConfig{Buffer: 64 * vtime.MB, PFC: topo.PFC{Alpha: 0.125}})
}

func readTopo(name string, r io.Reader, sw topo.SwitchConfig) (*topo.Topology, error) {
	t := &fatTree{src: source{name: name}, common: make(map[string]int64)}
	fail := t.src.fail
	sc := lineReader(r)
	line, tier := 0, -1
	for sc.Scan() {
		line++
		words := strings.Fields(sc.Text())
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if len(words) != 2 {
			return nil, fail(line, "expected a key and a number, as in Radix_Down 8")
		}
		key := strings.ToLower(words[0])
		v, err := whole(words[0], words[1], 0, 1<<40)
		if err != nil {
			return nil, fail(line, "%v", err)
		}
		switch key {
		case "nodes", "tiers", "podsize":
			t.common[key] = v
		case "tier":
			if v > 2 {
				return nil, fail(line, "tier is %d, must be 0, 1 or 2", v)
			}
			if tier = int(v); t.tiers[tier] != nil {
				return nil, fail(line, "tier %d is given twice", tier)
			}
			t.tiers[tier], t.lines[tier] = make(map[string]int64), make(map[string]int)
		case "downlink_speed_gbps", "radix_down", "radix_up", "downlink_latency_ns", "oversubscribed", "bundle", "switch_latency_ns":
			if tier < 0 {
				return nil, fail(line, "%s precedes Tier", words[0])
			}
			t.tiers[tier][key], t.lines[tier][key] = v, line
			if key == "switch_latency_ns" && v > 0 {
				return nil, fail(line, "a latency of switches is not supported; add it to Downlink_Latency_ns")
			}
		case "queue_up", "queue_down":
			return nil, fail(line, "%s is not supported: ports share the buffer of a switch, which a topology in YAML can set", words[0])
		default:
			return nil, fail(line, "%q is unknown; known are Nodes, Tiers, Podsize, Tier, Downlink_speed_Gbps, Radix_Down, Radix_Up, Downlink_Latency_ns, Switch_Latency_ns, Oversubscribed, Bundle", words[0])
		}
	}
	if err := sc.Err(); err != nil {
		return nil, fail(line+1, "%v", err)
	}
	return t.build(sw)
}

// mostTopoLinks is the greatest number of links of such a network.
const mostTopoLinks = 1 << 18

func (t *fatTree) build(sw topo.SwitchConfig) (*topo.Topology, error) {
	fail := t.src.fail
	hosts, tiers, pod := t.common["nodes"], t.common["tiers"], t.common["podsize"]
	switch {
	case hosts < 2 || hosts > 1<<17:
		return nil, fail(0, "Nodes is %d, must be from 2 to %d", hosts, 1<<17)
	case tiers != 2 && tiers != 3:
		return nil, fail(0, "Tiers is %d, must be 2 or 3", tiers)
	case pod < 1 || hosts%pod != 0 || tiers == 2 && pod != hosts:
		return nil, fail(0, "Podsize is %d, must divide Nodes, and be Nodes with two tiers", pod)
	}
	for k := range tiers {
		for _, key := range []string{"downlink_speed_gbps", "radix_down", "downlink_latency_ns", "radix_up"} {
			if key == "radix_up" && k == tiers-1 {
				continue
			}
			if t.tiers[k][key] < 1 || t.tiers[k][key] > 1<<20 {
				return nil, fail(t.lines[k][key], "tier %d: %s is missing or not from 1 to %d", k, key, 1<<20)
			}
		}
		b := t.tiers[k]["bundle"]
		if b == 0 {
			t.tiers[k]["bundle"] = 1
		} else if b > 64 || k == 0 && b > 1 {
			return nil, fail(t.lines[k]["bundle"], "tier %d: bundle is %d, must be from 1 to 64, and 1 for hosts", k, b)
		}
	}
	down := func(k int64) int64 { return t.tiers[k]["radix_down"] }
	up := func(k int64) int64 { return t.tiers[k]["radix_up"] }
	if pod%down(0) != 0 {
		return nil, fail(t.lines[0]["radix_down"], "Radix_Down of tier 0 is %d, and does not divide Podsize, %d", down(0), pod)
	}
	torsPerPod := pod / down(0)
	aggsPerPod := torsPerPod * up(0) / down(1)
	if torsPerPod*up(0)%down(1) != 0 || aggsPerPod*t.tiers[1]["bundle"] != up(0) {
		return nil, fail(t.lines[0]["radix_up"], "Radix_Up of tier 0 is %d: %d switches of a pod above, of %d links down each, in bundles of %d, would make it %d", up(0), aggsPerPod, down(1), t.tiers[1]["bundle"], aggsPerPod*t.tiers[1]["bundle"])
	}
	pods := hosts / pod
	cores, perAgg := int64(0), int64(0)
	if tiers == 3 {
		cores = pods * aggsPerPod * up(1) / down(2)
		perAgg = up(1) / t.tiers[2]["bundle"]
		if perAgg < 1 || cores*t.tiers[2]["bundle"] != aggsPerPod*up(1) || perAgg*t.tiers[2]["bundle"] != up(1) {
			return nil, fail(t.lines[1]["radix_up"], "Radix_Up of tier 1 is %d: %d cores of %d links, in bundles of %d, do not match it", up(1), cores, down(2), t.tiers[2]["bundle"])
		}
	}
	if n := hosts + hosts/down(0)*up(0) + pods*aggsPerPod*up(1); n > mostTopoLinks {
		return nil, fail(0, "the network has %d links, more than %d", n, mostTopoLinks)
	}
	var b topo.Builder
	nodes := func(name string, n int64, tier topo.Tier) (ids []int) {
		for i := range n {
			if tier == 0 {
				ids = append(ids, b.AddHost(name+strconv.FormatInt(i+1, 10)))
			} else {
				ids = append(ids, b.AddSwitch(name+strconv.FormatInt(i+1, 10), tier))
			}
		}
		return ids
	}
	names := [...]string{"l", "s", ""}
	if tiers == 3 {
		names = [...]string{"t", "a", "c"}
	}
	h := nodes("h", hosts, 0)
	tors := nodes(names[0], hosts/down(0), 1)
	aggs := nodes(names[1], pods*aggsPerPod, 2)
	core := nodes(names[2], cores, 3)
	connect := func(a, z int, k int64) {
		for range t.tiers[k]["bundle"] {
			b.Connect(a, z, vtime.Rate(t.tiers[k]["downlink_speed_gbps"])*vtime.Gbps, vtime.Time(t.tiers[k]["downlink_latency_ns"])*vtime.Nanosecond)
		}
	}
	for i, host := range h {
		connect(host, tors[int64(i)/down(0)], 0)
	}
	for i, tor := range tors {
		p := int64(i) / torsPerPod
		for _, agg := range aggs[p*aggsPerPod : (p+1)*aggsPerPod] {
			connect(tor, agg, 1)
		}
	}
	for i, agg := range aggs {
		for k := range perAgg {
			connect(agg, core[int64(i)%aggsPerPod+aggsPerPod*k], 2)
		}
	}
	net, err := b.Build(strings.TrimSuffix(t.src.name, ".topo"), sw)
	if err != nil {
		return nil, fail(0, "%v", err)
	}
	return net, nil
}
