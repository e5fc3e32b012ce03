// SPDX-License-Identifier: Apache-2.0

// Package model transcribes the algorithms of the papers into plain Go, word
// for word, to judge the P4 programs by. It was written from the papers
// without looking at the programs: where the two differ, the paper decides.
//
// There is one file per algorithm. Symbols are those of the paper, comments
// give its line numbers or section, and a remark that starts with "Reading:"
// tells how a place that the paper leaves open, or contradicts itself in, is
// understood. Papers that are not at hand line by line (the base load
// balancers) are cited by section.
//
// Everything is integer arithmetic on exact values: times are ticks of the
// profile's unit, queues are bytes, and a comparison with a quotient is done
// by multiplying out, in 128 bits. Nothing is random: an algorithm that draws
// gets its draws as arguments.
//
// Package judge runs the programs against these transcriptions.
package model

import "math/bits"

// Time is a time or a duration in ticks: microseconds or nanoseconds, as the
// profile has it.
type Time = int64

// Bytes is an amount of data.
type Bytes = int64

// fractionAtMost reports a/b ≤ c/d for b, d > 0 and a, c ≥ 0, exactly.
func fractionAtMost(a, b, c, d int64) bool {
	hi1, lo1 := bits.Mul64(uint64(a), uint64(d))
	hi2, lo2 := bits.Mul64(uint64(c), uint64(b))
	return hi1 < hi2 || hi1 == hi2 && lo1 <= lo2
}

// A Ratio is a fraction: the time of a byte, say.
type Ratio struct{ Num, Den int64 }

// Times returns x times the ratio, rounded down, for x ≥ 0.
func (r Ratio) Times(x int64) int64 {
	hi, lo := bits.Mul64(uint64(x), uint64(r.Num))
	q, _ := bits.Div64(hi, lo, uint64(r.Den))
	return int64(q)
}
