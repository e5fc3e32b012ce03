// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"math"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Collective generates the messages of collective operations, as a training job sends
// them: a message leaves when its rank has received what it needs, and every iteration
// follows the one before at each rank.
type Collective struct {
	Kind      CollectiveKind `yaml:"kind"`      // the operation
	Algorithm Algorithm      `yaml:"algorithm"` // how ranks exchange messages; ring if left out
	// Size is the size as in nccl-tests: of the buffer of all_reduce, broadcast and
	// send_recv, of what all_gather gathers and reduce_scatter reduces, and of what a
	// rank sends in all_to_all, to itself included. A range, as in 1MB..1GB, is run from
	// the first size to the last, each twice the one before.
	Size Sizes `yaml:"size"`
	On   Hosts `yaml:"on"` // hosts of the ranks; all hosts if left out
	// Ranks is the number of ranks of a job. Zero means as many as On has places for.
	Ranks   int `yaml:"ranks" limits:"0..16384"`
	PerHost int `yaml:"per_host" limits:"0..64"` // ranks of a host; zero means one for each of its links
	// LocalRate is the rate at which a rank copies to others of its host, one copy
	// after the other; zero means 3600Gbps.
	LocalRate  vtime.Rate `yaml:"local_rate"`
	LocalDelay vtime.Time `yaml:"local_delay"` // added to each copy within a host
	// Hierarchical exchanges within hosts first, and then between ranks of the same
	// place in their hosts. all_reduce, all_gather, reduce_scatter and all_to_all have
	// it.
	Hierarchical bool `yaml:"hierarchical"`
	// Channels is the number of parts of the data that take the same steps at the same
	// time, each over queue pairs of its own; zero means one.
	Channels int `yaml:"channels" limits:"0..64"`
	// Chunk is the greatest size of a message, so that steps overlap. Zero means 512KB
	// for tree and broadcast, and no limit otherwise.
	Chunk vtime.Size `yaml:"chunk"`
	// Parallel is the number of messages of a rank at a time in all_to_all; zero means
	// all at once.
	Parallel int `yaml:"parallel" limits:"0.."`
	// Skew makes some ranks receive more in all_to_all, as busy experts do: the share of
	// the n-th busiest is proportional to n^-skew. Which ones are busy is drawn for each
	// iteration.
	Skew float64 `yaml:"skew" limits:"0..8"`
	Root int     `yaml:"root" limits:"0.."` // rank of broadcast's data
	// Microbatches makes send_recv a pipeline: each passes all ranks forwards, and then
	// backwards. Zero means that each rank sends to the next one.
	Microbatches int `yaml:"microbatches" limits:"0..4096"`

	Iterations int `yaml:"iterations" limits:"0.."` // of each size that are measured; zero means one
	Warmup     int `yaml:"warmup" limits:"0.."`     // iterations of each size before these
	// Compute is the time that a rank computes before each iteration or, in a pipeline,
	// before it sends a microbatch.
	Compute vtime.Time `yaml:"compute"`
	Spread  vtime.Time `yaml:"spread"` // times of computing are drawn evenly from compute to compute and this
	Slow    []int      `yaml:"slow"`   // ranks that compute SlowBy times as long
	SlowBy  float64    `yaml:"slow_by" limits:"0..1000"`

	Jobs  int        `yaml:"jobs" limits:"0..1024"` // number of jobs at the same time; zero means one
	Place Place      `yaml:"place"`                 // which hosts a job gets; packed if left out
	Start vtime.Time `yaml:"start"`                 // of all jobs
}

// CollectiveKind is an operation.
type CollectiveKind string

// Operations.
const (
	AllReduce     CollectiveKind = "all_reduce"
	AllGather     CollectiveKind = "all_gather"
	ReduceScatter CollectiveKind = "reduce_scatter"
	AllToAll      CollectiveKind = "all_to_all"
	Broadcast     CollectiveKind = "broadcast"
	SendRecv      CollectiveKind = "send_recv"
)

// Algorithm is the way in which the ranks of an operation exchange messages.
type Algorithm string

// Algorithms. Bidirectional is two rings with half of the data each. Tree is NCCL's
// double binary tree for all_reduce, and a binary tree for broadcast. HalvingDoubling
// is recursive halving and doubling; it adds a step before and one after if the number
// of ranks is no power of two.
const (
	Ring            Algorithm = "ring"
	Bidirectional   Algorithm = "bidirectional"
	Tree            Algorithm = "tree"
	HalvingDoubling Algorithm = "halving_doubling"
)

// Place is the order in which jobs get places of hosts.
type Place string

// Places. Packed: neighbouring ranks on neighbouring hosts. Rail: first the first
// adapter of each host, or the first host of each leaf, then the second ones. Random:
// hosts in an order drawn by the seed.
const (
	Packed Place = "packed"
	Rail   Place = "rail"
	Random Place = "random"
)

// Kinds, Algorithms and Places have all values of their types.
var (
	Kinds      = []CollectiveKind{AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, SendRecv}
	Algorithms = []Algorithm{Ring, Bidirectional, Tree, HalvingDoubling}
	Places     = []Place{Packed, Rail, Random}
)

// Sizes is a size, or a range of sizes that double.
type Sizes struct{ From, To vtime.Size }

// UnmarshalText reads "1MB" or "1MB..1GB".
func (s *Sizes) UnmarshalText(text []byte) (err error) {
	from, to, isRange := strings.Cut(string(text), "..")
	if s.From, err = vtime.ParseSize(strings.TrimSpace(from)); err != nil {
		return err
	}
	if s.To = s.From; isRange {
		s.To, err = vtime.ParseSize(strings.TrimSpace(to))
	}
	if err == nil && (s.From < 1 || s.To < s.From) {
		err = fmt.Errorf("size %q: write a size or a range of sizes from the smaller to the greater, as in 1MB..1GB", text)
	}
	return err
}

// MarshalText writes what UnmarshalText reads.
func (s Sizes) MarshalText() ([]byte, error) {
	if s.From == s.To {
		return []byte(s.From.String()), nil
	}
	return []byte(s.From.String() + ".." + s.To.String()), nil
}

func (s Sizes) all() (list []int64) {
	for n := int64(s.From); n <= int64(s.To) && n > 0; n *= 2 {
		list = append(list, n)
	}
	return list
}

func (c *Collective) ends() bool { return true }

// oneOf returns an error if v is not in a list; zero values are.
func oneOf[T ~string](key string, v T, list []T) error {
	var names []string
	for _, o := range list {
		if v == o || v == "" {
			return nil
		}
		names = append(names, string(o))
	}
	return fmt.Errorf("%s is %q%s; use one of %s", key, v, diag.DidYouMean(string(v), names), strings.Join(names, ", "))
}

func (c *Collective) check(t *topo.Topology, _ bool) (string, error) {
	if err := oneOf("kind", c.Kind, Kinds); err != nil || c.Kind == "" {
		if err == nil {
			err = fmt.Errorf("kind is missing: one of all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv")
		}
		return "kind", err
	}
	if err := oneOf("algorithm", c.Algorithm, Algorithms); err != nil {
		return "algorithm", err
	}
	if err := oneOf("place", c.Place, Places); err != nil {
		return "place", err
	}
	slots, key, err := c.slots(t)
	if err != nil {
		return key, err
	}
	jobs := max(c.Jobs, 1)
	n := c.Ranks
	if n == 0 {
		n = len(slots) / jobs
	}
	switch {
	case c.Size.From < 1:
		return "size", fmt.Errorf("size is missing")
	case c.Ranks < 0 || c.Jobs < 0 || c.PerHost < 0 || c.Channels < 0 || c.Chunk < 0 || c.Parallel < 0 || c.Skew < 0 || c.Iterations < 0 || c.Warmup < 0 || c.Microbatches < 0:
		return "", fmt.Errorf("a number is negative")
	case c.Compute < 0 || c.Spread < 0 || c.Start < 0 || c.LocalDelay < 0 || c.LocalRate < 0 || c.SlowBy < 0:
		return "", fmt.Errorf("a time or rate is negative")
	case c.Compute > 1000*vtime.Second || c.Spread > 1000*vtime.Second || c.SlowBy > 1000:
		return "compute", fmt.Errorf("a time of computing is longer than 1000s")
	case n < 2:
		return "ranks", fmt.Errorf("a collective needs at least 2 ranks")
	case n > math.MaxInt/jobs || n*jobs > len(slots):
		return "ranks", fmt.Errorf("%d jobs of %d ranks need %d places; the hosts of on have %d", jobs, n, n*jobs, len(slots))
	case c.Root < 0 || c.Root >= n:
		return "root", fmt.Errorf("root is %d; ranks are from 0 to %d", c.Root, n-1)
	case c.Algorithm == Tree && c.Kind != AllReduce && c.Kind != Broadcast:
		return "algorithm", fmt.Errorf("%s has no tree; all_reduce and broadcast have", c.Kind)
	case c.Algorithm == Bidirectional && (c.Kind == Broadcast || c.Kind == AllToAll || c.Kind == SendRecv):
		return "algorithm", fmt.Errorf("%s has no bidirectional ring; all_reduce, all_gather and reduce_scatter have", c.Kind)
	case c.Algorithm == HalvingDoubling && (c.Kind == Broadcast || c.Kind == AllToAll || c.Kind == SendRecv):
		return "algorithm", fmt.Errorf("%s has no halving_doubling; all_reduce, all_gather and reduce_scatter have", c.Kind)
	case c.Algorithm == HalvingDoubling && c.Kind != AllReduce && n&(n-1) != 0:
		return "algorithm", fmt.Errorf("halving_doubling of %s needs a power of two of ranks, not %d", c.Kind, n)
	case c.Algorithm == HalvingDoubling && c.Chunk > 0:
		return "chunk", fmt.Errorf("halving_doubling has no chunks: a step needs all of the step before")
	case c.Hierarchical && (c.Kind == Broadcast || c.Kind == SendRecv):
		return "hierarchical", fmt.Errorf("%s is not hierarchical; all_reduce, all_gather, reduce_scatter and all_to_all may be", c.Kind)
	case c.Hierarchical && (c.Algorithm == Tree || c.Algorithm == Bidirectional):
		return "algorithm", fmt.Errorf("hierarchical uses ring or halving_doubling between hosts, not %s", c.Algorithm)
	case c.Hierarchical && (c.Skew > 0 || c.Parallel > 0):
		return "hierarchical", fmt.Errorf("a hierarchical all_to_all has neither skew nor parallel")
	case (c.Skew > 0 || c.Parallel > 0) && c.Kind != AllToAll:
		return "kind", fmt.Errorf("%s has neither skew nor parallel; all_to_all has", c.Kind)
	case c.Microbatches > 0 && c.Kind != SendRecv:
		return "microbatches", fmt.Errorf("%s has no microbatches; send_recv has", c.Kind)
	case int64(c.Size.From) < int64(n)*int64(max(c.Channels, 1))*2:
		return "size", fmt.Errorf("size is %v; with %d ranks and %d channels a message would have no byte", c.Size.From, n, max(c.Channels, 1))
	}
	for i, r := range c.Slow {
		if r < 0 || r >= n {
			return fmt.Sprintf("slow.%d", i), fmt.Errorf("rank %d is not one of 0 to %d", r, n-1)
		}
	}
	if len(c.Slow) > 0 && c.SlowBy == 0 {
		return "slow_by", fmt.Errorf("slow_by is missing: how many times as long slow ranks compute")
	}
	if m := c.messages(n) * float64(jobs); m > maxFlows/4 {
		return "size", fmt.Errorf("this makes about %.2g messages, more than %d; choose fewer ranks, iterations or sizes, larger chunks, or another algorithm", m, maxFlows/4)
	}
	hosts := make(map[int]bool)
	for i, s := range slots[:n*jobs] {
		if c.Hierarchical {
			if per := c.perHost(t, s.node); s.local != i%per || per > 1 && c.Place == Rail {
				return "hierarchical", fmt.Errorf("hierarchical needs place packed or random, and as many ranks on each host")
			}
		}
		hosts[t.Nodes[s.node].Host] = true
	}
	if c.Hierarchical && n%c.perHost(t, slots[0].node) != 0 {
		return "ranks", fmt.Errorf("hierarchical needs as many ranks on each host; %d ranks are not a multiple of %d", n, c.perHost(t, slots[0].node))
	}
	if len(hosts) < 2 {
		return "on", fmt.Errorf("all ranks are on %s, so that nothing uses the network", t.Nodes[slots[0].node].Name)
	}
	return "", nil
}

// messages estimates the number of messages of all iterations of a job.
func (c *Collective) messages(n int) (sum float64) {
	for _, size := range c.Size.all() {
		per := float64(n) * float64(n) * float64(max(c.Channels, 1))
		block := float64(size) / float64(n) / float64(max(c.Channels, 1))
		switch c.Kind {
		case AllReduce:
			per *= 2
		case Broadcast:
			per, block = float64(n)*float64(max(c.Channels, 1)), block*float64(n)
		case SendRecv:
			per, block = float64(n)*float64(max(2*c.Microbatches, 1)), float64(size)
		}
		if c.Algorithm == Tree || c.Algorithm == HalvingDoubling {
			per, block = 4*float64(n)*float64(max(c.Channels, 1)), float64(size)/float64(max(c.Channels, 1))
		}
		if chunk := c.chunk(); chunk > 0 {
			per *= max(block/float64(chunk), 1)
		}
		sum += per * float64(max(c.Iterations, 1)+c.Warmup)
	}
	return sum
}

// chunk returns the greatest size of a message, or zero.
func (c *Collective) chunk() int64 {
	if c.Chunk == 0 && (c.Algorithm == Tree || c.Kind == Broadcast) {
		return 512 * int64(vtime.KB)
	}
	return int64(c.Chunk)
}

// slot is a place for a rank: the adapter that it uses, the first of one in each plane,
// and the rank's number in the host.
type slot struct{ node, local int }

// perHost returns the number of ranks of a node's host.
func (c *Collective) perHost(t *topo.Topology, node int) int {
	if c.PerHost > 0 {
		return c.PerHost
	}
	return max(len(adapters(t, t.Nodes[node].Host))/planes(t), 1)
}

// planes returns the number of planes of a network.
func planes(t *topo.Topology) int { return max(t.Planes, 1) }

// adapters returns the adapters of a host, itself first.
func adapters(t *topo.Topology, host int) (list []int) {
	for i := range t.Nodes {
		if t.Nodes[i].Kind == topo.Host && t.Nodes[i].Host == host {
			list = append(list, i)
		}
	}
	return list
}

// slots returns the places of the hosts, in the order of place packed.
func (c *Collective) slots(t *topo.Topology) (list []slot, key string, err error) {
	ids, key, err := c.On.pickFor(t, "on")
	if err != nil {
		return nil, key, err
	}
	byHost := make(map[int][]int)
	for i := range t.Nodes {
		if t.Nodes[i].Kind == topo.Host && t.Nodes[i].Stub == topo.NoStub {
			byHost[t.Nodes[i].Host] = append(byHost[t.Nodes[i].Host], i)
		}
	}
	seen := make(map[int]bool)
	for _, id := range ids {
		h := t.Nodes[id].Host
		if seen[h] {
			continue
		}
		seen[h] = true
		own := byHost[h]
		k := c.PerHost
		p := planes(t)
		if k == 0 {
			k = max(len(own)/p, 1)
		}
		for l := range k {
			list = append(list, slot{own[l*p%len(own)], l})
		}
	}
	return list, "", nil
}

func (c *Collective) flows(g *gen) {
	slots, _, _ := c.slots(g.t)
	slots = c.place(g, slots)
	jobs := max(c.Jobs, 1)
	n := c.Ranks
	if n == 0 {
		n = len(slots) / jobs
	}
	for j := range jobs {
		name := fmt.Sprintf("part %d", g.base.Group)
		if jobs > 1 {
			name += fmt.Sprintf(", job %d", j+1)
		}
		b := newBuilder(g, c, name, slots[j*n:(j+1)*n])
		b.run()
	}
	g.base.Plan, g.base.Step, g.base.Port, g.base.Pair = nil, 0, 0, 0
}

// place returns the slots in the order in which jobs get them.
func (c *Collective) place(g *gen, slots []slot) []slot {
	switch c.Place {
	case Rail:
		return byRail(g.t, slots)
	case Random:
		return shuffled(g, slots)
	}
	return slots
}

// redop and root are columns of nccl-tests.
func opOf(c *Collective, size int64, n, iteration int, warmup bool) fabric.Op {
	op := fabric.Op{Kind: string(c.Kind), Bytes: size, Base: size, Ranks: n, Iteration: iteration, Warmup: warmup, Root: -1}
	switch c.Kind {
	case AllGather, ReduceScatter, AllToAll:
		op.Base = size / int64(n)
	case Broadcast:
		op.Root = c.Root
	}
	return op
}
