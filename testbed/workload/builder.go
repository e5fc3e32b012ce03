// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"math"
	"slices"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// builder makes the steps of a job.
type builder struct {
	g     *gen
	c     *Collective
	p     *fabric.Plan
	slots []slot
	host  []int // by rank
	op    int32
	// last has the last flow of each queue pair, whose messages leave in order.
	last map[pair]int32
	// numbers has the numbers of queue pairs, of the first plane's: those of the others
	// follow.
	numbers map[pair]int32
	count   int32 // of these
	local   vtime.Rate
	sent    map[pair]int // messages of each queue pair, which use planes in turn
	paths   *topo.Paths  // for the way of acknowledgements; made on demand
	err     error        // the first one
	// at is the place in a file of the steps to come, and places has those of all steps:
	// a line, or one more than the index of a node of the rank's trace; zero: none.
	at     int32
	places []int32
}

// pair is a queue pair of a rank: to a peer, for a channel.
type pair struct{ rank, peer, channel int }

// message is a step that sends; local if within a host.
type message struct {
	step  int32
	local bool
}

// received is the event that the message has arrived.
func (m message) received() fabric.Dep {
	if m.local {
		return fabric.Dep{Step: m.step, On: fabric.Done}
	}
	return fabric.Dep{Step: m.step, On: fabric.Received}
}

// left is the event that the sender's data has left it.
func (m message) left() fabric.Dep {
	if m.local {
		return fabric.Dep{Step: m.step, On: fabric.Done}
	}
	return fabric.Dep{Step: m.step, On: fabric.Left}
}

// deps are what each rank waits for.
type deps [][]fabric.Dep

func (d deps) add(rank int, e ...fabric.Dep) { d[rank] = append(d[rank], e...) }

// join returns what ranks wait for in both.
func (d deps) join(o deps) {
	for r := range o {
		d.add(r, o[r]...)
	}
}

func newBuilder(g *gen, c *Collective, name string, slots []slot) *builder {
	b := &builder{g: g, c: c, slots: slots, p: &fabric.Plan{Name: name}, last: make(map[pair]int32), numbers: make(map[pair]int32), sent: make(map[pair]int), local: c.LocalRate}
	if b.local == 0 {
		b.local = 3600 * vtime.Gbps
	}
	for _, s := range slots {
		b.p.Hosts = append(b.p.Hosts, s.node)
		b.host = append(b.host, g.t.Nodes[s.node].Host)
	}
	return b
}

func (b *builder) none() deps { return make(deps, len(b.slots)) }

// fail records the first error.
func (b *builder) fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// free is send for a message that does not wait for others: it begins a queue pair.
func (b *builder) free(rank, peer, channel int, bytes int64, after []fabric.Dep) message {
	p := pair{rank, peer, channel}
	delete(b.last, p)
	delete(b.numbers, p)
	return b.send(rank, peer, channel, bytes, after)
}

// startAt makes steps that wait for nothing begin at the start of the job.
func (b *builder) startAt() {
	for k := range b.p.Steps {
		if s := &b.p.Steps[k]; len(s.After) == 0 {
			s.Start = max(s.Start, b.c.Start)
		}
	}
}

// step adds a step.
func (b *builder) step(rank int, mark fabric.Mark, after []fabric.Dep) *fabric.Step {
	b.p.Steps = append(b.p.Steps, fabric.Step{Rank: int32(rank), Op: b.op, Mark: mark, After: after})
	if b.p.Where != nil {
		b.places = append(b.places, b.at)
	}
	return &b.p.Steps[len(b.p.Steps)-1]
}

// inFile makes errors about the steps to come name their places in a file.
func (b *builder) inFile(name func(rank int, place int32) string) {
	b.p.Where = func(k int) string {
		if b.places[k] == 0 {
			return ""
		}
		return name(int(b.p.Steps[k].Rank), b.places[k])
	}
}

// inLine is inFile for a text.
func (b *builder) inLine() {
	b.inFile(func(_ int, line int32) string { return fmt.Sprintf("line %d", line) })
}

func (b *builder) latest() int32 { return int32(len(b.p.Steps) - 1) }

// Lanes of a rank at its host: computing and copying.
func (b *builder) computeLane(rank int) int32 { return int32(2*b.slots[rank].local + 1) }
func (b *builder) copyLane(rank int) int32    { return int32(2*b.slots[rank].local + 2) }

// compute adds a time of computing of a rank and returns its end.
func (b *builder) compute(rank int, d vtime.Time, after []fabric.Dep) []fabric.Dep {
	if d == 0 {
		return after
	}
	s := b.step(rank, fabric.Compute, after)
	s.Time, s.Lane = d, b.computeLane(rank)
	return []fabric.Dep{{Step: b.latest()}}
}

// send adds a message of a rank to a peer over a channel.
func (b *builder) send(rank, peer, channel int, bytes int64, after []fabric.Dep) message {
	bytes = max(bytes, 1)
	if b.host[rank] == b.host[peer] {
		s := b.step(rank, fabric.Move, after)
		s.Time, s.Lane, s.Size = b.c.LocalDelay+txTime(b.local, bytes), b.copyLane(rank), bytes
		return message{b.latest(), true}
	}
	p := pair{rank, peer, channel}
	after = slices.Clip(after)
	if last, ok := b.last[p]; ok {
		after = append(after, fabric.Dep{Step: last, On: fabric.Left})
	}
	b.step(rank, fabric.Other, after)
	n := b.latest()
	b.last[p] = n
	g := b.g
	src, dst := b.slots[rank].node, b.slots[peer].node
	g.base.Plan, g.base.Step, g.base.Port = b.p, n, portOf(src, dst, channel, rank, b.slots[peer].local)
	k := planes(g.t)
	if b.numbers[p] == 0 {
		b.numbers[p] = b.count + 1
		b.count += int32(k)
	}
	g.base.Pair = b.numbers[p]
	if k > 1 {
		plane := (channel + b.sent[p]) % k
		b.sent[p]++
		src, dst = src+plane, dst+plane // a host's adapters follow one another
		g.base.Pair += int32(plane)
	}
	g.add(src, dst, bytes, b.c.Start)
	return message{n, false}
}

// txTime is Rate.TxTime for any number of bytes.
func txTime(r vtime.Rate, bytes int64) vtime.Time {
	return vtime.Time(math.Ceil(float64(bytes) * 8 / float64(r) * float64(vtime.Second)))
}

// portOf returns the UDP source port of a queue pair: a hash, so that the pairs of a
// job take different paths. Local is the number of the peer at its host.
func portOf(src, dst, channel, rank, local int) uint16 {
	x := uint64(src)<<40 ^ uint64(dst)<<16 ^ uint64(channel)<<8 ^ uint64(local)<<56 ^ uint64(rank)*0x9e3779b97f4a7c15
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return 0xc000 | uint16(x)&0x3fff
}

// chunks returns the sizes of the messages of some bytes.
func (b *builder) chunks(bytes int64) []int64 {
	limit := b.c.chunk()
	if limit == 0 || bytes <= limit {
		return []int64{bytes}
	}
	n := int((bytes + limit - 1) / limit)
	list := make([]int64, n)
	for i := range list {
		list[i] = part(bytes, n, i)
	}
	return list
}

// part returns the size of the i-th of n parts of some bytes.
func part(bytes int64, n, i int) int64 {
	size := bytes / int64(n)
	if int64(i) < bytes%int64(n) {
		size++
	}
	return size
}

// run makes all iterations of all sizes.
func (b *builder) run() {
	n := len(b.slots)
	done := b.none() // the end of the iteration before
	for _, size := range b.c.Size.all() {
		for it := range b.c.Warmup + max(b.c.Iterations, 1) {
			b.op = int32(len(b.p.Ops))
			warm := it < b.c.Warmup
			b.p.Ops = append(b.p.Ops, opOf(b.c, size, n, it-b.c.Warmup, warm))
			in := b.none()
			for r := range n {
				after := done[r]
				if b.c.Microbatches == 0 {
					after = b.compute(r, b.computing(r), after)
				}
				s := b.step(r, fabric.Begin, after)
				if len(after) == 0 {
					s.Start = b.c.Start
				}
				in.add(r, fabric.Dep{Step: b.latest()})
			}
			out := b.collective(ranks(n), size, in)
			for r := range n {
				b.step(r, fabric.End, out[r])
				done[r] = []fabric.Dep{{Step: b.latest()}}
			}
			clear(b.last)
		}
	}
}

// computing draws a time of computing.
func (b *builder) computing(rank int) vtime.Time {
	d := b.c.Compute
	if b.c.Spread > 0 {
		d += b.g.jitter(b.c.Spread)
	}
	if slices.Contains(b.c.Slow, rank) {
		d = vtime.Time(float64(d) * b.c.SlowBy)
	}
	return d
}

// collective makes one operation of some ranks. It begins at each of them after in; the
// result is what its end waits for.
func (b *builder) collective(all []int, size int64, in deps) deps {
	n := len(all)
	switch {
	case b.c.Kind == SendRecv && b.c.Microbatches > 0:
		return b.pipeline(size, in)
	case b.c.Kind == SendRecv:
		return b.shift(size, in)
	case b.c.Hierarchical:
		return b.hierarchical(size, in)
	}
	out := b.none()
	channels := max(b.c.Channels, 1)
	for ch := range channels {
		bytes := part(size, channels, ch)
		order := b.order(all, ch)
		switch {
		case b.c.Kind == AllToAll:
			out.join(b.allToAll(all, ch, bytes, in))
		case b.c.Kind == Broadcast && b.c.Algorithm == Tree:
			rotated := slices.Concat(all[b.c.Root:], all[:b.c.Root])
			out.join(b.tree(treeParents(n, false), rotated, ch, bytes, false, in))
		case b.c.Kind == Broadcast:
			out.join(b.chain(order, all[b.c.Root], ch, bytes, in))
		case b.c.Algorithm == Tree:
			for k, second := range []bool{false, true} {
				out.join(b.tree(treeParents(n, second), all, 2*ch+k, part(bytes, 2, k), true, in))
			}
		case b.c.Algorithm == HalvingDoubling:
			out.join(b.halvingDoubling(all, ch, bytes, in))
		case b.c.Algorithm == Bidirectional:
			back := slices.Clone(order)
			slices.Reverse(back)
			out.join(b.ring(order, 2*ch, part(bytes, 2, 0), in))
			out.join(b.ring(back, 2*ch+1, part(bytes, 2, 1), in))
		default:
			out.join(b.ring(order, ch, bytes, in))
		}
	}
	return out
}

func ranks(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// order returns ranks in the order of a channel's ring: within each host it begins
// at another rank for each channel, so that channels leave hosts by different
// adapters.
func (b *builder) order(all []int, channel int) (order []int) {
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && b.host[all[j]] == b.host[all[i]] {
			j++
		}
		for k := range j - i {
			order = append(order, all[i+(k+channel)%(j-i)])
		}
		i = j
	}
	return order
}

// ring makes a reduce-scatter, an all-gather or both over a ring: in each step every
// rank passes a block on to the next one.
func (b *builder) ring(order []int, ch int, bytes int64, in deps) deps {
	steps := len(order) - 1
	if b.c.Kind == AllReduce {
		steps *= 2
	}
	return b.ringSteps(order, ch, bytes, steps, in)
}

func (b *builder) ringSteps(order []int, ch int, bytes int64, steps int, in deps) deps {
	n := len(order)
	var before, now [][]message // by position: what it sent in the last step, and in this one
	for s := range steps {
		now = make([][]message, n)
		for i, r := range order {
			block := ((i-s)%n + n) % n
			for j, size := range b.chunks(part(bytes, n, block)) {
				after := slices.Clone(in[r])
				if s > 0 {
					after = []fabric.Dep{before[(i+n-1)%n][j].received()}
				}
				now[i] = append(now[i], b.send(r, order[(i+1)%n], ch, size, after))
			}
		}
		before = now
	}
	out := b.none()
	for i, r := range order {
		for _, m := range before[(i+n-1)%n] {
			out.add(r, m.received())
		}
		out.add(r, before[i][len(before[i])-1].left())
	}
	return out
}

// chain is a broadcast from the root through all others, chunk by chunk.
func (b *builder) chain(order []int, first, ch int, bytes int64, in deps) deps {
	n := len(order)
	root := slices.Index(order, first)
	out := b.none()
	for _, size := range b.chunks(bytes) {
		after := slices.Clone(in[first])
		for k := range n - 1 {
			from, to := order[(root+k)%n], order[(root+k+1)%n]
			m := b.send(from, to, ch, size, after)
			out.add(from, m.left())
			after = []fabric.Dep{m.received()}
			if k+2 < n {
				after = append(after, in[to]...)
			} else {
				out.add(to, m.received())
			}
		}
	}
	for _, r := range order {
		out.add(r, in[r]...)
	}
	return out
}

// treeParents returns the parent of each of n places in the binary tree of NCCL, or in
// its second one, whose inner places are leaves of the first; -1 for the root.
func treeParents(n int, second bool) []int {
	parent := func(i int) int {
		if i == 0 {
			return -1
		}
		bit := 1
		for bit&i == 0 {
			bit <<= 1
		}
		up := (i ^ bit) | bit<<1
		if up >= n {
			up = i ^ bit
		}
		return up
	}
	list := make([]int, n)
	for i := range list {
		switch {
		case !second:
			list[i] = parent(i)
		case n%2 == 1: // shifted by one
			if list[i] = parent((i - 1 + n) % n); list[i] >= 0 {
				list[i] = (list[i] + 1) % n
			}
		default: // mirrored
			if list[i] = parent(n - 1 - i); list[i] >= 0 {
				list[i] = n - 1 - list[i]
			}
		}
	}
	return list
}

// tree passes chunks down a tree of places, after having reduced them up the tree if
// both is set.
func (b *builder) tree(parent []int, rank []int, ch int, bytes int64, both bool, in deps) deps {
	n := len(parent)
	children := make([][]int, n)
	root := 0
	for i, p := range parent {
		if p < 0 {
			root = i
			continue
		}
		children[p] = append(children[p], i)
	}
	var down []int // places from the root on
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		down = append(down, queue[0])
		queue = append(queue, children[queue[0]]...)
	}
	out := b.none()
	for _, size := range b.chunks(bytes) {
		have := make([][]fabric.Dep, n) // what a place must have received
		for i := range n {
			have[i] = slices.Clone(in[rank[i]])
		}
		if both {
			for _, i := range slices.Backward(down) {
				if i == root {
					continue
				}
				m := b.send(rank[i], rank[parent[i]], ch, size, have[i])
				out.add(rank[i], m.left())
				have[parent[i]] = append(have[parent[i]], m.received())
			}
		}
		for _, i := range down {
			for _, k := range children[i] {
				m := b.send(rank[i], rank[k], ch, size, slices.Clone(have[i]))
				out.add(rank[i], m.left())
				have[k] = append(slices.Clone(in[rank[k]]), m.received())
			}
			out.add(rank[i], have[i]...)
		}
	}
	return out
}

// halvingDoubling halves the data that a rank reduces in each step of a
// reduce-scatter, and doubles what it has in each step of an all-gather. Ranks beyond
// a power of two give their data to a neighbour before, and get the result after.
func (b *builder) halvingDoubling(all []int, ch int, bytes int64, in deps) deps {
	n := len(all)
	pow := 1
	for 2*pow <= n {
		pow *= 2
	}
	out := b.none()
	have := make(deps, len(in))
	for r := range in {
		have[r] = slices.Clone(in[r])
	}
	extra := n - pow
	var main []int
	for i := range n {
		switch {
		case i >= 2*extra:
			main = append(main, all[i])
		case i%2 == 0: // the first of main
			main = append(main, all[i])
			m := b.send(all[i+1], all[i], ch, bytes, slices.Clone(in[all[i+1]]))
			have.add(all[i], m.received())
			out.add(all[i+1], m.left())
		}
	}
	if extra > 0 {
		// A rank that waits for its neighbour's data tells its first partner when it has
		// them, so that the partner's data do not meet them on its link.
		ready := make(deps, len(in))
		first := pow / 2
		if b.c.Kind == AllGather {
			first = 1
		}
		for i, r := range main[:extra] {
			ready.add(main[i^first], b.send(r, main[i^first], ch, 1, slices.Clone(have[r])).received())
		}
		have.join(ready)
	}
	last := make(deps, len(in)) // the last data of each rank have left
	exchange := func(distance int, size int64) {
		next := make(deps, len(in))
		for i, r := range main {
			m := b.send(r, main[i^distance], ch, size, slices.Clone(have[r]))
			next.add(main[i^distance], m.received())
			out.add(r, m.left())
			last[r] = []fabric.Dep{m.left()}
			// What it had received before still counts: the peer may be ahead.
			next.add(r, have[r]...)
		}
		for _, r := range main {
			have[r] = b.merged(r, next[r])
		}
	}
	if b.c.Kind != AllGather {
		for d, size := pow/2, bytes; d > 0; d /= 2 {
			size /= 2
			exchange(d, size)
		}
	}
	if b.c.Kind != ReduceScatter {
		for d, size := 1, bytes/int64(pow); d < pow; d *= 2 {
			exchange(d, size)
			size *= 2
		}
	}
	for i := range extra {
		m := b.send(all[2*i], all[2*i+1], ch, bytes, append(slices.Clone(have[all[2*i]]), last[all[2*i]]...))
		out.add(all[2*i], m.left())
		out.add(all[2*i+1], m.received())
	}
	for _, r := range main {
		out.add(r, have[r]...)
	}
	return out
}

// merged returns one event for several.
func (b *builder) merged(rank int, after []fabric.Dep) []fabric.Dep {
	if len(after) < 2 {
		return after
	}
	b.step(rank, fabric.Other, after)
	return []fabric.Dep{{Step: b.latest()}}
}

// allToAll makes every rank send a part to every other one: to its neighbour first.
func (b *builder) allToAll(all []int, ch int, bytes int64, in deps) deps {
	n := len(all)
	out := b.none()
	share := b.shares(n)
	for i, r := range all {
		var sent []message
		for k := 1; k < n; k++ {
			to := (i + k) % n
			size := part(bytes, n, to)
			if share != nil {
				size = int64(float64(bytes) * share[to])
			}
			for _, c := range b.chunks(size) {
				after := slices.Clone(in[r])
				if p := b.c.Parallel; p > 0 && len(sent) >= p {
					after = append(after, fabric.Dep{Step: sent[len(sent)-p].step})
				}
				m := b.send(r, all[to], ch, c, after)
				sent = append(sent, m)
				out.add(r, m.left())
				out.add(all[to], m.received())
			}
		}
	}
	return out
}

// shares returns the share of all data that goes to each rank, or nil if they are
// equal.
func (b *builder) shares(n int) []float64 {
	if b.c.Skew == 0 {
		return nil
	}
	share := make([]float64, n)
	sum := 0.0
	for i := range share {
		share[i] = math.Pow(float64(i+1), -b.c.Skew)
		sum += share[i]
	}
	for i := range share {
		share[i] /= sum
	}
	b.g.rng.Shuffle(n, func(i, j int) { share[i], share[j] = share[j], share[i] })
	return share
}

// shift makes every rank send to the next one.
func (b *builder) shift(size int64, in deps) deps {
	n := len(b.slots)
	channels := max(b.c.Channels, 1)
	out := b.none()
	for ch := range channels {
		for r := range n {
			for _, c := range b.chunks(part(size, channels, ch)) {
				m := b.send(r, (r+1)%n, ch, c, slices.Clone(in[r]))
				out.add(r, m.left())
				out.add((r+1)%n, m.received())
			}
		}
	}
	return out
}

// pipeline sends microbatches through all ranks forwards, and then backwards.
func (b *builder) pipeline(size int64, in deps) deps {
	n := len(b.slots)
	channels := max(b.c.Channels, 1)
	out := b.none()
	pass := func(order []int) {
		for range b.c.Microbatches {
			have := slices.Clone(in[order[0]])
			for i, r := range order {
				done := b.compute(r, b.computing(r), have)
				if i == n-1 {
					out.add(r, done...)
					break
				}
				have = slices.Clone(in[order[i+1]])
				for ch := range channels {
					for _, c := range b.chunks(part(size, channels, ch)) {
						m := b.send(r, order[i+1], ch, c, slices.Clone(done))
						out.add(r, m.left())
						have = append(have, m.received())
					}
				}
			}
		}
	}
	order := ranks(n)
	pass(order)
	// The backward pass of the last rank follows its forward passes.
	in[n-1] = append(in[n-1], out[n-1]...)
	slices.Reverse(order)
	pass(order)
	return out
}

// hierarchical exchanges within hosts and, between ranks of the same place in their
// hosts, over the network.
func (b *builder) hierarchical(size int64, in deps) deps {
	per := 1
	for per < len(b.slots) && b.host[per] == b.host[0] {
		per++
	}
	hosts := len(b.slots) / per
	rail := func(l int) (list []int) {
		for h := range hosts {
			list = append(list, h*per+l)
		}
		return list
	}
	have := in
	// within makes each rank give each other one of its host some bytes.
	within := func(bytes int64) {
		if per == 1 {
			return
		}
		next := b.none()
		for h := range hosts {
			for l := range per {
				r := h*per + l
				for k := 1; k < per; k++ {
					to := h*per + (l+k)%per
					m := b.send(r, to, 0, bytes, slices.Clone(have[r]))
					next.add(to, m.received())
				}
				next.add(r, have[r]...)
			}
		}
		for r := range next {
			next[r] = b.merged(r, next[r])
		}
		have = next
	}
	channels := max(b.c.Channels, 1)
	between := func(do func(order []int, ch int, in deps) deps) {
		next := b.none()
		for l := range per {
			for ch := range channels {
				next.join(do(rail(l), ch, have))
			}
		}
		for r := range next {
			next[r] = b.merged(r, next[r])
		}
		have = next
	}
	block := size / int64(per) // of a rank after the exchange within its host
	over := func(steps int) func([]int, int, deps) deps {
		return func(order []int, ch int, in deps) deps {
			if b.c.Algorithm == HalvingDoubling {
				return b.halvingDoubling(order, ch, part(block, channels, ch), in)
			}
			return b.ringSteps(order, ch, part(block, channels, ch), steps*(len(order)-1), in)
		}
	}
	switch b.c.Kind {
	case AllReduce:
		within(block)
		between(over(2))
		within(block)
	case ReduceScatter:
		within(block)
		between(over(1))
	case AllGather:
		between(over(1))
		within(block)
	case AllToAll:
		// What goes to another host is given to the rank of the receiver's place first.
		within(block)
		between(func(order []int, ch int, in deps) deps {
			return b.allToAll(order, ch, part(size, channels, ch), in)
		})
	}
	return have
}
