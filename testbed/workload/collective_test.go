// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/fabrictest"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// plain returns a network of one switch with so many hosts.
func plain(t *testing.T, hosts int) *topo.Topology {
	t.Helper()
	return network(t, fmt.Sprintf("leaf_spine: {leaves: 1, spines: 1, hosts_per_leaf: %d, rate: 100Gbps, delay: 1us}", hosts))
}

// simulate runs flows on plain switches until everything has ended. Acknowledgements
// are rare, so that they take little of the links.
func simulate(t *testing.T, net *topo.Topology, flows []fabric.Flow) *fabric.Results {
	t.Helper()
	f, err := fabric.New(fabric.Config{Topology: net, Hosts: defaultHosts(), Seed: 1, Switch: plainSwitch(net)})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.AddFlows(flows); err != nil {
		t.Fatal(err)
	}
	for at := vtime.Millisecond; !f.Done(); at += vtime.Millisecond {
		if err := f.RunUntil(context.Background(), at); err != nil {
			t.Fatal(err)
		}
		if at > vtime.Second {
			t.Fatal("not ended after 1 s")
		}
	}
	return f.Results()
}

func defaultHosts() roce.Config {
	hosts := roce.Papers.Defaults()
	hosts.MTU, hosts.AckEvery = 4096, 1024
	return hosts
}

func plainSwitch(net *topo.Topology) func(*topo.Node, fabric.Network) (fabric.Node, error) {
	return func(n *topo.Node, w fabric.Network) (fabric.Node, error) {
		return fabrictest.New(net, n, w, fabrictest.Config{Overhead: 24, Buffer: 512e6, XOFF: 30e6, Resume: 2e3, Headroom: 3, Seed: 1}), nil
	}
}

// took returns the time from the first begin to the last end of an operation.
func took(p *fabric.PlanResult, op int32) vtime.Time {
	begin, end := vtime.Never, vtime.Time(0)
	for k := range p.Plan.Steps {
		switch s := &p.Plan.Steps[k]; {
		case s.Op != op:
		case s.Mark == fabric.Begin:
			begin = min(begin, p.Steps[k].Done)
		case s.Mark == fabric.End:
			end = max(end, p.Steps[k].Done)
		}
	}
	return end - begin
}

// No operation gets a bus bandwidth above the rate of a link, and pipelined trees get
// most of it.
func TestBusBandwidthIsAtMostTheLinks(t *testing.T) {
	const size = 8 << 20
	for _, n := range []int{3, 8, 11} {
		net := plain(t, n)
		for _, spec := range []Collective{
			{Kind: AllReduce}, {Kind: AllReduce, Algorithm: Tree}, {Kind: AllReduce, Algorithm: Tree, Chunk: 64 << 10}, {Kind: AllReduce, Algorithm: HalvingDoubling},
			{Kind: AllReduce, Algorithm: Bidirectional, Channels: 2}, {Kind: AllGather}, {Kind: ReduceScatter, Chunk: 64 << 10}, {Kind: AllToAll}, {Kind: AllToAll, Parallel: 2, Skew: 1},
			{Kind: Broadcast, Chunk: 64 << 10}, {Kind: Broadcast, Algorithm: Tree, Chunk: 64 << 10}, {Kind: SendRecv},
		} {
			spec.Size = Sizes{size, size}
			flows, err := Generate([]Spec{{Collective: &spec}}, net, 1)
			if err != nil {
				t.Fatal(err)
			}
			N := float64(n)
			factor := map[CollectiveKind]float64{AllReduce: 2 * (N - 1) / N, AllGather: (N - 1) / N, ReduceScatter: (N - 1) / N, AllToAll: (N - 1) / N, Broadcast: 1, SendRecv: 1}[spec.Kind]
			bus := size / took(&simulate(t, net, flows).Plans[0], 0).Seconds() * factor * 8 / 100e9
			if bus > 1 {
				t.Errorf("%s %s, %d ranks: the bus bandwidth is %.3f of the link", spec.Kind, spec.Algorithm, n, bus)
			}
			// Each link carries half of the data up and down both trees.
			if least := 0.45; spec.Algorithm == Tree && spec.Kind == AllReduce && spec.Chunk > 0 && bus < least {
				t.Errorf("tree, %d ranks: the bus bandwidth is %.3f of the link, want at least %.2f", n, bus, least)
			}
		}
	}
}

// Messages with the same ends and ports belong to one queue pair, whose packets are
// numbered in the order of the flows. They leave in this order, from one iteration to the
// next, too.
func TestMessagesOfAQueuePairLeaveInOrder(t *testing.T) {
	for _, spec := range []Collective{
		{Kind: AllReduce}, {Kind: AllReduce, Channels: 2, Chunk: 20_000}, {Kind: AllReduce, Algorithm: Tree, Chunk: 20_000},
		{Kind: AllReduce, Algorithm: HalvingDoubling}, {Kind: AllReduce, Algorithm: Bidirectional, PerHost: 2}, {Kind: AllReduce, PerHost: 2, Hierarchical: true},
		{Kind: AllToAll, Chunk: 5_000}, {Kind: AllToAll, PerHost: 2, Parallel: 2}, {Kind: Broadcast, Chunk: 20_000}, {Kind: SendRecv, Microbatches: 3},
	} {
		net := plain(t, 6)
		spec.Size, spec.Iterations = Sizes{200_000, 200_000}, 2
		flows, err := Generate([]Spec{{Collective: &spec}}, net, 1)
		if err != nil {
			t.Fatal(err)
		}
		type ends struct {
			src, dst int
			port     uint16
		}
		pairs, last := make(map[ends]int32), make(map[int32]int)
		r := simulate(t, net, flows)
		shared := 0
		for i, f := range flows {
			e := ends{f.Src, f.Dst, f.Port}
			if was, ok := pairs[e]; f.Pair == 0 || ok && was != f.Pair {
				t.Fatalf("%+v: flow %d is of queue pair %d, another with the same ports of %d", spec, i, f.Pair, was)
			}
			pairs[e] = f.Pair
			if before, ok := last[f.Pair]; ok {
				if shared++; r.Flows[i].Start <= r.Flows[before].Start {
					t.Errorf("%+v: flow %d starts at %v, flow %d of the same queue pair at %v", spec, i, r.Flows[i].Start, before, r.Flows[before].Start)
				}
			}
			last[f.Pair] = i
		}
		if len(last) != len(pairs) || shared == 0 {
			t.Errorf("%+v: %d queue pairs, %d triples of ends and port, %d messages follow others", spec, len(last), len(pairs), shared)
		}
	}
}

// Every rank of an operation gets what it must, whatever the order: the bytes that its
// host receives are those of the operation, and each rank ends.
func TestCollectivesMoveTheRightBytes(t *testing.T) {
	net := plain(t, 7)
	const size = 700_000
	for _, c := range []struct {
		spec Collective
		want int64 // bytes of all messages of n ranks
	}{
		{Collective{Kind: AllReduce}, 2 * 6 * size},
		{Collective{Kind: AllReduce, Channels: 3, Chunk: 10_000}, 2 * 6 * size},
		{Collective{Kind: AllReduce, Algorithm: Bidirectional}, 2 * 6 * size},
		{Collective{Kind: AllReduce, Algorithm: Tree}, 2 * 6 * size},
		{Collective{Kind: AllGather}, 6 * size},
		{Collective{Kind: ReduceScatter, Algorithm: Bidirectional}, 6 * size},
		{Collective{Kind: AllToAll}, 6 * size},
		{Collective{Kind: Broadcast, Root: 3}, 6 * size},
		{Collective{Kind: Broadcast, Algorithm: Tree, Root: 3}, 6 * size},
		{Collective{Kind: SendRecv}, 7 * size},
		{Collective{Kind: SendRecv, Microbatches: 4}, 2 * 4 * 6 * size},
		// Three ranks are beyond four: 2·3·size, and 4·2·(1-1/4)·size; each has a byte to
		// say that it is ready.
		{Collective{Kind: AllReduce, Algorithm: HalvingDoubling}, 6*size + 6*size + 3},
		{Collective{Kind: AllReduce, Iterations: 2, Warmup: 1, Compute: vtime.Microsecond, Spread: vtime.Microsecond}, 3 * 2 * 6 * size},
	} {
		c.spec.Size = Sizes{size, size}
		flows, err := Generate([]Spec{{Collective: &c.spec}}, net, 1)
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for i := range flows {
			sum += flows[i].Size
		}
		if sum != c.want {
			t.Errorf("%+v: messages have %d bytes, want %d", c.spec, sum, c.want)
		}
		p := simulate(t, net, flows).Plans[0]
		ends := 0
		for k := range p.Steps {
			if p.Plan.Steps[k].Mark == fabric.End && p.Steps[k].Done > 0 {
				ends++
			}
		}
		if want := 7 * max(c.spec.Iterations+c.spec.Warmup, 1); ends != want {
			t.Errorf("%+v: %d ranks end, want %d", c.spec, ends, want)
		}
	}
}

// The two trees of a double binary tree: a rank that passes data on in one is a leaf in
// the other, but for one.
func TestDoubleBinaryTree(t *testing.T) {
	for n := 2; n < 70; n++ {
		inner := [2]map[int]bool{{}, {}}
		for k, second := range []bool{false, true} {
			parents, roots := treeParents(n, second), 0
			for i, p := range parents {
				depth := 0
				for at := i; parents[at] >= 0; at = parents[at] {
					if depth++; depth > 2*n {
						t.Fatalf("%d ranks: a circle above %d", n, i)
					}
				}
				if float64(depth) > math.Log2(float64(n))+1 {
					t.Errorf("%d ranks: %d is %d levels below the root", n, i, depth)
				}
				if p < 0 {
					roots++
				} else {
					inner[k][p] = true
				}
			}
			if roots != 1 {
				t.Errorf("%d ranks: %d roots", n, roots)
			}
		}
		both := 0
		for i := range inner[0] {
			if inner[1][i] {
				both++
			}
		}
		if both > 1 {
			t.Errorf("%d ranks: %d have children in both trees", n, both)
		}
	}
}

func TestCollectivesOfHostsWithSeveralRanks(t *testing.T) {
	net := plain(t, 4)
	const size = 1 << 20
	for _, c := range []struct {
		spec Collective
		want int64 // bytes over the network
	}{
		// A ring of 8 in 4 hosts: every other message stays in its host.
		{Collective{Kind: AllReduce, PerHost: 2}, 2 * 7 * size / 2},
		// Reduced in the host to halves, each of which makes a ring of 4.
		{Collective{Kind: AllReduce, PerHost: 2, Hierarchical: true}, 2 * 2 * 3 * size / 2},
		{Collective{Kind: AllGather, PerHost: 2, Hierarchical: true}, 2 * 3 * size / 2},
		{Collective{Kind: ReduceScatter, PerHost: 2, Hierarchical: true}, 2 * 3 * size / 2},
		// Of each rank's data, 6 of 8 parts are for other hosts.
		{Collective{Kind: AllToAll, PerHost: 2}, 8 * 6 * size / 8},
		{Collective{Kind: AllToAll, PerHost: 2, Hierarchical: true}, 8 * 6 * size / 8},
		{Collective{Kind: AllReduce, PerHost: 2, Hierarchical: true, Algorithm: HalvingDoubling}, 2 * 2 * 3 * size / 2},
	} {
		c.spec.Size = Sizes{size, size}
		flows, err := Generate([]Spec{{Collective: &c.spec}}, net, 1)
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for i := range flows {
			sum += flows[i].Size
		}
		if sum != c.want {
			t.Errorf("%+v: %d bytes pass the network, want %d", c.spec, sum, c.want)
		}
		simulate(t, net, flows)
	}
}

func TestPlacesOfJobs(t *testing.T) {
	net := network(t, "leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}")
	hosts := func(place Place, seed uint64) (all []string) {
		flows, err := Generate([]Spec{{Collective: &Collective{Kind: AllReduce, Size: Sizes{1 << 20, 1 << 20}, Jobs: 2, Place: place}}}, net, seed)
		if err != nil {
			t.Fatal(err)
		}
		var plans []*fabric.Plan
		for i := range flows {
			if !slices.Contains(plans, flows[i].Plan) {
				plans = append(plans, flows[i].Plan)
			}
		}
		for _, p := range plans {
			text := p.Name + ":"
			for _, h := range p.Hosts {
				text += " " + net.Nodes[h].Name
			}
			all = append(all, text)
		}
		return all
	}
	for place, want := range map[Place]string{
		Packed: "part 1, job 1: h1 h2 h3 h4; part 1, job 2: h5 h6 h7 h8",
		Rail:   "part 1, job 1: h1 h5 h2 h6; part 1, job 2: h3 h7 h4 h8",
	} {
		if got := strings.Join(hosts(place, 1), "; "); got != want {
			t.Errorf("%s: %s, want %s", place, got, want)
		}
	}
	if a, b := hosts(Random, 1), hosts(Random, 2); slices.Equal(a, b) || !slices.Equal(a, hosts(Random, 1)) {
		t.Errorf("random places: %v and %v", a, b)
	}
}

func TestWrongCollectives(t *testing.T) {
	net := plain(t, 6)
	mb := Sizes{1 << 20, 1 << 20}
	for _, c := range []struct {
		spec Collective
		want string
	}{
		{Collective{Size: mb}, "0.collective.kind: kind is missing"},
		{Collective{Kind: "all", Size: mb}, `kind is "all"; use one of all_reduce`},
		{Collective{Kind: AllReduce}, "0.collective.size: size is missing"},
		{Collective{Kind: AllReduce, Size: mb, Algorithm: "x"}, `algorithm is "x"`},
		{Collective{Kind: AllReduce, Size: mb, Ranks: 7}, "need 7 places; the hosts of on have 6"},
		{Collective{Kind: AllReduce, Size: mb, Jobs: 4}, "at least 2 ranks"},
		{Collective{Kind: AllGather, Size: mb, Algorithm: Tree}, "all_gather has no tree"},
		{Collective{Kind: AllGather, Size: mb, Algorithm: HalvingDoubling}, "needs a power of two of ranks, not 6"},
		{Collective{Kind: AllReduce, Size: Sizes{8, 8}}, "a message would have no byte"},
		{Collective{Kind: AllReduce, Size: mb, Chunk: 1}, "messages, more than"},
		{Collective{Kind: AllReduce, Size: mb, On: "h1", PerHost: 4}, "all ranks are on h1"},
		{Collective{Kind: AllReduce, Size: mb, PerHost: 2, Place: Rail, Hierarchical: true}, "hierarchical needs place packed or random"},
		{Collective{Kind: AllReduce, Size: mb, PerHost: 2, Algorithm: Tree, Hierarchical: true}, "hierarchical uses ring or halving_doubling between hosts, not tree"},
		{Collective{Kind: AllReduce, Size: mb, PerHost: 2, Algorithm: Bidirectional, Hierarchical: true}, "not bidirectional"},
		{Collective{Kind: Broadcast, Size: mb, Root: 6}, "root is 6"},
		{Collective{Kind: AllReduce, Size: mb, Slow: []int{1}}, "slow_by is missing"},
		{Collective{Kind: AllReduce, Size: mb, Skew: 1}, "neither skew nor parallel"},
	} {
		_, err := Generate([]Spec{{Collective: &c.spec}}, net, 1)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: got %v, want %q", c.spec, err, c.want)
		}
	}
	var s Sizes
	if err := s.UnmarshalText([]byte("1MB..4MB")); err != nil || len(s.all()) != 3 {
		t.Errorf("1MB..4MB is %v: %v", s.all(), err)
	}
	if err := s.UnmarshalText([]byte("4MB..1MB")); err == nil {
		t.Error("4MB..1MB is no error")
	}
}

// A skewed all-to-all sends as many bytes as an even one, less those to itself, and
// the busiest rank gets the share of the first of n in a power law.
func TestSkewOfAllToAll(t *testing.T) {
	net := plain(t, 8)
	spec := &Collective{Kind: AllToAll, Size: Sizes{8 << 20, 8 << 20}, Skew: 1}
	flows, err := Generate([]Spec{{Collective: spec}}, net, 1)
	if err != nil {
		t.Fatal(err)
	}
	to := make(map[int]int64)
	for i := range flows {
		to[flows[i].Dst] += flows[i].Size
	}
	var most int64
	for _, n := range to {
		most = max(most, n)
	}
	harmonic := 0.0
	for i := 1; i <= 8; i++ {
		harmonic += 1 / float64(i)
	}
	if want := 7 * 8 * float64(1<<20) / harmonic; math.Abs(float64(most)/want-1) > 0.001 {
		t.Errorf("the busiest rank receives %d bytes, want %.0f", most, want)
	}
}
