// SPDX-License-Identifier: Apache-2.0

// Package model is a reference switch in plain Go that the generated P4 programs
// are compared with. It has what all programs share: routes, headers, queues,
// state, the order of the stages that a packet passes, and the measurements that
// several schemes use. A scheme's own part is the package model in the scheme's
// folder of gen/schemes: it transcribes the paper, word for word, and registers
// itself with Add under the name of the manifest's feature.
//
// The transcriptions were written from the papers without looking at the
// programs: where the two differ, the paper is right. Comments give the paper's
// line numbers or section. A remark that starts with "Reading:" says how we read a
// place where the paper is open or contradicts itself.
// What a Tofino cannot do as the paper says is a difference of its own, in
// files called tofino.go, with the reasons in docs/tofino.md.
//
// Everything is integer arithmetic on exact values: times are ticks of the
// program's unit, queues are bytes, and a comparison with a quotient is done
// by multiplying out, in 128 bits. Random numbers are those of the program, in
// the same order, so there is exactly one right outcome.
//
// Package bmv2tests/model/judge plays random cases to a program and to this
// model.
package model

import "math/bits"

// Time is a time or a duration in ticks: microseconds or nanoseconds, as the
// program's manifest has it.
type Time = int64

// Bytes is an amount of data.
type Bytes = int64

// A Path is an uplink of the source leaf towards one destination leaf, counted
// from zero.
type Path = int

// A Ratio is a fraction: the time of a byte, say.
type Ratio struct{ Num, Den int64 }

// Times returns x times the ratio, rounded down, for x ≥ 0.
func (r Ratio) Times(x int64) int64 {
	hi, lo := bits.Mul64(uint64(x), uint64(r.Num))
	q, _ := bits.Div64(hi, lo, uint64(r.Den))
	return int64(q)
}

// FractionAtMost reports a/b ≤ c/d for b, d > 0 and a, c ≥ 0, exactly.
func FractionAtMost(a, b, c, d int64) bool {
	hi1, lo1 := bits.Mul64(uint64(a), uint64(d))
	hi2, lo2 := bits.Mul64(uint64(c), uint64(b))
	return hi1 < hi2 || hi1 == hi2 && lo1 <= lo2
}

// InTurn is the path after p of n.
func InTurn(p Path, n int) Path { return (p + 1) % n }

// Least is the path of the least metric, the first of them in turn from a
// given one.
func Least(n int, from Path, metric func(Path) int64) Path {
	best := from
	for range n {
		if metric(from) < metric(best) {
			best = from
		}
		from = InTurn(from, n)
	}
	return best
}

// Share is the path of a part of 256: of a hash, or of a random number. It is
// how a Tofino, which does not multiply, looks paths up.
func Share(part int64, n int) Path { return Path(part * int64(n) >> 8) }

// Mod32 is a time, or a difference of times, on a clock of 32 bits.
func Mod32(t Time) Time { return t & (1<<32 - 1) }

// Since reports whether a time lies at least a span before now, on a clock of
// 32 bits: after 4.3 s without an event, a span begins again.
func Since(last, now, span uint32) bool { return now-last >= span }

// Bit is 1 for true.
func Bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// Mask has a bit for each path, the first one at the left.
func Mask(paths []bool) int64 {
	m := int64(0)
	for p, on := range paths {
		m |= Bit(on) << (len(paths) - 1 - p)
	}
	return m
}

// Unmask is the reverse for n paths.
func Unmask(m int64, n int) []bool {
	paths := make([]bool, n)
	for p := range paths {
		paths[p] = m>>(n-1-p)&1 == 1
	}
	return paths
}
