// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// alphaBeta is the cost of messages at 100 Gb/s through a switch, and through more of them.
type alphaBeta struct{ more float64 }

// tx is the time of a message on a link: whole packets and a shorter last one.
func (alphaBeta) tx(bytes float64) float64 {
	packets := math.Ceil(bytes / 4096)
	return (bytes + packets*(roce.DataOverhead+24)) * 8 / 100e9
}

// hop is the latency that a message adds to its time on a link: the links' delay, and
// each switch stores and forwards the last packet.
func (m alphaBeta) hop(bytes float64) float64 {
	last := math.Min(bytes, 4096)
	return 2e-6 + m.more*1e-6 + (1+m.more)*(last+roce.DataOverhead+24)*8/100e9
}

func (m alphaBeta) message(bytes float64) float64 { return m.tx(bytes) + m.hop(bytes) }

// Closed forms of every operation on an idle network of one switch agree within 1 %,
// for powers of two and other numbers of ranks, whole blocks and chunks.
func TestCollectivesTakeTheTimeOfTheirClosedForms(t *testing.T) {
	var m alphaBeta
	for _, n := range []int{2, 3, 4, 5, 6, 7, 8} {
		net := plain(t, n)
		N := float64(n)
		for _, chunks := range []int{1, 4} {
			const size = 4 << 20
			block := math.Floor(size / N)
			chunk := math.Ceil(block / float64(chunks))
			ring := func(steps float64) float64 {
				// Steps of whole blocks follow one another. In chunks, the block's steps
				// overlap: a rank sends without a gap, unless a chunk takes longer around
				// its hop than the rest of the block takes on the link.
				if chunks == 1 {
					return steps * m.message(block)
				}
				period := math.Max(float64(chunks)*m.tx(chunk), m.message(chunk))
				return (steps-1)*period + float64(chunks-1)*m.tx(chunk) + m.message(chunk)
			}
			log := math.Ceil(math.Log2(N))
			halving := func() (sum float64) {
				for k := 1.0; k <= math.Floor(math.Log2(N)); k++ {
					sum += 2 * m.message(size/math.Pow(2, k))
				}
				if math.Log2(N) != log {
					sum += 2*m.message(size) + m.message(1)
				}
				if n == 5 { // the second partner is ahead: its data share the link with the neighbour's
					sum += m.tx(size / 4)
				}
				return sum
			}
			for _, c := range []struct {
				spec Collective
				want float64
			}{
				{Collective{Kind: AllReduce}, ring(2 * (N - 1))},
				{Collective{Kind: AllGather}, ring(N - 1)},
				{Collective{Kind: ReduceScatter}, ring(N - 1)},
				{Collective{Kind: AllReduce, Algorithm: HalvingDoubling}, halving()},
				{Collective{Kind: SendRecv}, m.message(size)},
				{Collective{Kind: AllGather, Algorithm: HalvingDoubling}, halving() / 2},
				{Collective{Kind: ReduceScatter, Algorithm: HalvingDoubling}, halving() / 2},
				// All messages at once share a rank's link.
				{Collective{Kind: AllToAll}, (N-1)*m.tx(block) + m.hop(block)},
				// The root's chunks follow one another; the last one passes n-1 hops.
				{Collective{Kind: Broadcast, Chunk: 64 << 10}, 64*m.tx(64<<10) + (N-2)*m.message(64<<10) + m.hop(64<<10)},
				{Collective{Kind: AllToAll, Parallel: 1}, 0},
			} {
				c.spec.Size = Sizes{size, size}
				switch {
				case c.spec.Algorithm == HalvingDoubling && c.spec.Kind != AllReduce && n&(n-1) != 0:
					continue // they need a power of two
				case c.spec.Kind == AllToAll && c.spec.Parallel == 0:
					if chunks > 1 {
						continue
					}
				case c.spec.Kind == AllToAll:
					// One message at a time, each acknowledged before the next.
					if chunks > 1 {
						continue
					}
					ack := 2*1e-6 + 2*float64(roce.AckLen+24)*8/100e9
					c.want = (N-1)*m.message(block) + (N-2)*ack
				case chunks > 1 && c.spec.Kind != Broadcast && c.spec.Algorithm != HalvingDoubling && c.spec.Kind != SendRecv:
					c.spec.Chunk = vtime.Size(chunk)
				case chunks > 1:
					continue
				}
				flows, err := Generate([]Spec{{Collective: &c.spec}}, net, 1)
				if err != nil {
					t.Fatal(err)
				}
				got := took(&simulate(t, net, flows).Plans[0], 0).Seconds()
				if off := got/c.want - 1; math.Abs(off) > 0.01 {
					t.Errorf("%s %s, %d ranks, %d chunks a block: %.3f us, closed form %.3f us: %+.2f %%", c.spec.Kind, c.spec.Algorithm, n, chunks, got*1e6, c.want*1e6, 100*off)
				}
			}
		}
	}
}

// up returns the time, in a tree, until the root of a subtree has the messages of all below
// it. Those of a place's children share its link.
func (m alphaBeta) up(children [][]int, at int, bytes float64) float64 {
	var ready []float64
	for _, c := range children[at] {
		ready = append(ready, m.up(children, c, bytes))
	}
	slices.Sort(ready)
	free := 0.0
	for _, r := range ready {
		free = math.Max(free, r) + m.tx(bytes)
	}
	if len(ready) == 0 {
		return 0
	}
	return free + m.hop(bytes)
}

// down returns the time from the root of a subtree until all below it have a message.
func (m alphaBeta) down(children [][]int, at int, bytes float64) (t float64) {
	k := float64(len(children[at]))
	for _, c := range children[at] {
		t = math.Max(t, k*m.tx(bytes)+m.hop(bytes)+m.down(children, c, bytes))
	}
	return t
}

func childrenOf(parents []int) (children [][]int, root int) {
	children = make([][]int, len(parents))
	for i, p := range parents {
		if p < 0 {
			root = i
		} else {
			children[p] = append(children[p], i)
		}
	}
	return children, root
}

// agrees runs a collective in an idle network and compares its time with a closed form.
func agrees(t *testing.T, net *topo.Topology, spec Collective, want float64) {
	t.Helper()
	flows, err := Generate([]Spec{{Collective: &spec}}, net, 1)
	if err != nil {
		t.Fatal(err)
	}
	got := took(&simulate(t, net, flows).Plans[0], 0).Seconds()
	if off := got/want - 1; math.Abs(off) > 0.01 {
		t.Errorf("%d hosts, %+v: %.3f us, closed form %.3f us: %+.2f %%", len(net.Hosts()), spec, got*1e6, want*1e6, 100*off)
	}
}

// Trees: whole halves follow one another level by level. Chunks of both trees wait for one
// another in a way that has no closed form: they are compared with Estimator.Idle, which
// passes messages over links one by one, and with the data of the busiest link.
func TestTreesTakeTheTimeOfTheirClosedForms(t *testing.T) {
	var m alphaBeta
	for _, n := range []int{2, 3, 4, 5, 6, 7, 8, 11, 16} {
		net := plain(t, n)
		const size, half = 4 << 20, 2 << 20
		whole, load := 0.0, make([]float64, n)
		for _, second := range []bool{false, true} {
			children, root := childrenOf(treeParents(n, second))
			whole = math.Max(whole, m.up(children, root, half)+m.down(children, root, half))
			for i, list := range children {
				if load[i] += float64(len(list)); i != root {
					load[i]++
				}
			}
		}
		sizes := Sizes{size, size}
		agrees(t, net, Collective{Kind: AllReduce, Algorithm: Tree, Size: sizes, Chunk: size}, whole)
		for _, chunk := range []float64{32 << 10, 128 << 10} {
			spec := Collective{Kind: AllReduce, Algorithm: Tree, Size: Sizes{2 * size, 2 * size}, Chunk: vtime.Size(chunk)}
			busiest := 2 * half / chunk * slices.Max(load) * m.tx(chunk)
			flows, err := Generate([]Spec{{Collective: &spec}}, net, 1)
			if err != nil {
				t.Fatal(err)
			}
			p := &simulate(t, net, flows).Plans[0]
			got, want := took(p, 0).Seconds(), p.Idle.Seconds()
			if off := got/want - 1; math.Abs(off) > 0.01 || got < busiest || got > 1.08*busiest {
				t.Errorf("%d hosts, chunks of %g bytes: %.3f us, message by message %.3f us: %+.2f %%, the busiest link needs %.3f us", n, chunk, got*1e6, want*1e6, 100*off, busiest*1e6)
			}
		}
		children, root := childrenOf(treeParents(n, false))
		most := 0
		for _, list := range children {
			most = max(most, len(list))
		}
		agrees(t, net, Collective{Kind: Broadcast, Algorithm: Tree, Size: sizes, Chunk: size, Root: n - 1}, m.down(children, root, size))
		const chunk = 32 << 10
		agrees(t, net, Collective{Kind: Broadcast, Algorithm: Tree, Size: sizes, Chunk: chunk}, m.down(children, root, chunk)+(size/chunk-1)*float64(most)*m.tx(chunk))
	}
}

// Channels and directions share a rank's link and get out of step, so that it is never
// idle. In an all-to-all of p messages at a time a round of p follows an acknowledgement.
func TestSharedLinksTakeTheTimeOfTheirClosedForms(t *testing.T) {
	var m alphaBeta
	for _, n := range []int{2, 3, 5, 6, 8} {
		net := plain(t, n)
		N := float64(n)
		const size = 16 << 20
		sizes := Sizes{size, size}
		for kind, steps := range map[CollectiveKind]float64{AllReduce: 2 * (N - 1), AllGather: N - 1, ReduceScatter: N - 1} {
			half := math.Floor(size / N / 2)
			agrees(t, net, Collective{Kind: kind, Algorithm: Bidirectional, Size: sizes}, steps*2*m.tx(half)+m.hop(half))
			agrees(t, net, Collective{Kind: kind, Algorithm: Bidirectional, Size: sizes, Chunk: vtime.Size(math.Ceil(half / 8))}, steps*2*m.tx(half)+m.hop(half/8))
			third := math.Floor(size / N / 3)
			agrees(t, net, Collective{Kind: kind, Channels: 3, Size: sizes}, steps*3*m.tx(third)+m.hop(third))
		}
		block := math.Floor(size / N)
		ack := 2e-6 + 2*float64(roce.AckLen+24)*8/100e9
		for _, p := range []int{1, 2, 3} {
			rounds := math.Ceil((N - 1) / float64(p))
			agrees(t, net, Collective{Kind: AllToAll, Parallel: p, Size: sizes}, (N-1)*m.tx(block)+rounds*m.hop(block)+(rounds-1)*ack)
		}
		// The busiest expert's link carries its share from all others.
		harmonic := 0.0
		for i := 1; i <= n; i++ {
			harmonic += 1 / float64(i)
		}
		hot := math.Floor(size / harmonic)
		agrees(t, net, Collective{Kind: AllToAll, Skew: 1, Size: sizes}, (N-1)*m.tx(hot)+m.hop(hot))
	}
}

// A pipeline of n ranks and b microbatches, whose passes take the longer of computing and
// of the message for each microbatch, once they are under way.
func TestPipelinesTakeTheTimeOfTheirClosedForms(t *testing.T) {
	var m alphaBeta
	for _, n := range []int{2, 3, 5, 8} {
		for _, compute := range []vtime.Time{10 * vtime.Microsecond, 300 * vtime.Microsecond} {
			const size, b = 1 << 20, 6
			c := compute.Seconds()
			pass := float64(n-1)*(c+m.message(size)) + (b-1)*math.Max(c, m.tx(size)) + c
			agrees(t, plain(t, n), Collective{Kind: SendRecv, Microbatches: b, Compute: compute, Size: Sizes{size, size}}, 2*pass)
		}
	}
}

// Ranks of a host: rings enter and leave a host once, and a hierarchical operation exchanges
// within hosts, at the local rate, before and after it does so between them.
func TestHostsOfSeveralRanksTakeTheTimeOfTheirClosedForms(t *testing.T) {
	var m alphaBeta
	for _, n := range []int{2, 3, 5, 8} {
		net := plain(t, n)
		N := float64(n)
		const size, per = 16 << 20, 4
		sizes := Sizes{size, size}
		block := math.Floor(size / per / N)
		within := (per - 1) * (size / per) * 8 / 3600e9
		// The rings of all places share the host's link.
		between := func(steps float64) float64 { return steps*per*m.tx(block) + m.hop(block) }
		agrees(t, net, Collective{Kind: AllReduce, PerHost: per, Hierarchical: true, Size: sizes}, within+between(2*(N-1))+within)
		agrees(t, net, Collective{Kind: ReduceScatter, PerHost: per, Hierarchical: true, Size: sizes}, within+between(N-1))
		agrees(t, net, Collective{Kind: AllGather, PerHost: per, Hierarchical: true, Size: sizes}, between(N-1)+within)
		agrees(t, net, Collective{Kind: AllToAll, PerHost: per, Hierarchical: true, Size: Sizes{size / 8, size / 8}}, within/8+per*(N-1)*m.tx(size/8/N)+m.hop(size/8/N))
		agrees(t, net, Collective{Kind: AllReduce, PerHost: per, Size: sizes}, 2*(per*N-1)*m.tx(block)+m.hop(block))
	}
}

// A message passes three switches between two leaves: each adds the delay of a link, and
// stores the packet.
func TestEachHopAddsItsLatency(t *testing.T) {
	net := network(t, "leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 100Gbps, delay: 1us}")
	m := alphaBeta{more: 2}
	const size = 256 << 10
	sizes := Sizes{size, size}
	for _, k := range []struct {
		spec Collective
		want float64
	}{
		{Collective{Kind: AllReduce}, 2 * m.message(size/2)}, {Collective{Kind: AllGather}, m.message(size / 2)}, {Collective{Kind: ReduceScatter}, m.message(size / 2)},
		{Collective{Kind: AllReduce, Algorithm: HalvingDoubling}, 2 * m.message(size/2)}, {Collective{Kind: AllReduce, Algorithm: Tree}, 2 * m.message(size/2)},
		{Collective{Kind: AllToAll}, m.message(size / 2)}, {Collective{Kind: Broadcast}, m.message(size)}, {Collective{Kind: SendRecv}, m.message(size)},
	} {
		k.spec.Size = sizes
		t.Run(fmt.Sprint(k.spec.Kind, " ", k.spec.Algorithm), func(t *testing.T) { agrees(t, net, k.spec, k.want) })
	}
}
