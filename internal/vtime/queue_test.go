// SPDX-License-Identifier: Apache-2.0

package vtime

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// timed is an event of other implementations than Queue.
type timed struct {
	at  Time
	seq uint64
	arg uint64
}

func (a *timed) before(b *timed) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

func TestTimersFireInOrderOfTimeThenAsking(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var q Queue
		var want []timed
		popped := 0
		for i := range 300 {
			if len(want)-popped > 0 && rng.IntN(3) == 0 {
				rest := want[popped:]
				slices.SortFunc(rest, func(a, b timed) int {
					if a.before(&b) {
						return -1
					}
					return 1
				})
				if q.Next() != rest[0].at {
					t.Fatalf("next is at %v, want %v", q.Next(), rest[0].at)
				}
				if at, _, arg := q.Pop(); arg != rest[0].arg || at != rest[0].at {
					t.Fatalf("popped %v at %v, want %v at %v", arg, at, rest[0].arg, rest[0].at)
				}
				popped++
				if q.Len() != len(want)-popped {
					t.Fatalf("%d left, want %d", q.Len(), len(want)-popped)
				}
				continue
			}
			at := Time(rng.IntN(20))
			q.Push(at, nil, uint64(i))
			want = append(want, timed{at: at, seq: uint64(i), arg: uint64(i)})
		}
	}
}

func TestHeapHasItsLeastKeyInFront(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		var h Heap
		var all []Key
		for order := range uint64(200) {
			k := Key{Time(rng.IntN(9)), order ^ 0x55}
			if rng.IntN(50) == 0 {
				k.At = Never
			}
			switch n := rng.IntN(5); {
			case len(all) == 0 || n < 2:
				h.Push(k)
				all = append(all, k)
			case n == 2:
				h.Pop()
				all = all[1:]
			default:
				h.Replace(k)
				all[0] = k
			}
			slices.SortFunc(all, func(a, b Key) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Order, b.Order)) })
			if len(h) != len(all) || len(all) > 0 && h[0] != all[0] {
				t.Fatalf("the heap is %v, want %v", h, all)
			}
		}
	}
}

// The benchmarks below hold the number of timers constant: each pops the first
// and adds another a little later, as switches and hosts do. The implementation
// of Queue is chosen by their results.

func BenchmarkTimers(b *testing.B) {
	for _, n := range []int{4, 32, 256, 4096} {
		b.Run(fmt.Sprintf("4-ary/%d", n), func(b *testing.B) {
			var q Queue
			rng := rand.New(rand.NewPCG(1, 2))
			for range n {
				q.Push(Time(rng.IntN(1000)), nil, 0)
			}
			for b.Loop() {
				at, _, _ := q.Pop()
				q.Push(at+Time(rng.Uint32N(1000)), nil, 0)
			}
		})
		b.Run(fmt.Sprintf("container-heap/%d", n), func(b *testing.B) {
			var q binaryHeap
			rng := rand.New(rand.NewPCG(1, 2))
			for range n {
				heap.Push(&q, timed{at: Time(rng.IntN(1000))})
			}
			for b.Loop() {
				a := &q[0]
				a.at += Time(rng.Uint32N(1000))
				a.seq++
				heap.Fix(&q, 0)
			}
		})
		b.Run(fmt.Sprintf("calendar/%d", n), func(b *testing.B) {
			q := newCalendar(n)
			rng := rand.New(rand.NewPCG(1, 2))
			for range n {
				q.push(timed{at: Time(rng.IntN(1000))})
			}
			for b.Loop() {
				a := q.pop()
				a.at += Time(rng.Uint32N(1000))
				q.push(a)
			}
		})
	}
}

type binaryHeap []timed

func (h binaryHeap) Len() int           { return len(h) }
func (h binaryHeap) Less(i, j int) bool { return h[i].before(&h[j]) }
func (h binaryHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *binaryHeap) Push(x any)        { *h = append(*h, x.(timed)) }
func (h *binaryHeap) Pop() any {
	x := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return x
}

// calendar is a calendar queue (Brown, CACM 1988) whose bucket width suits
// the load of the benchmark.
type calendar struct {
	buckets [][]timed
	width   Time
	now     Time
	n       int
}

func newCalendar(n int) *calendar {
	return &calendar{buckets: make([][]timed, 2*n), width: Time(max(500/n, 1))}
}

func (c *calendar) push(a timed) {
	b := &c.buckets[int(a.at/c.width)%len(c.buckets)]
	i := len(*b)
	*b = append(*b, a)
	for ; i > 0 && a.before(&(*b)[i-1]); i-- {
		(*b)[i] = (*b)[i-1]
	}
	(*b)[i] = a
	c.n++
}

func (c *calendar) pop() timed {
	for {
		b := &c.buckets[int(c.now/c.width)%len(c.buckets)]
		if len(*b) > 0 && (*b)[0].at < c.now+c.width-c.now%c.width {
			a := (*b)[0]
			*b = (*b)[:copy(*b, (*b)[1:])]
			c.n--
			c.now = a.at
			return a
		}
		c.now += c.width - c.now%c.width
	}
}
