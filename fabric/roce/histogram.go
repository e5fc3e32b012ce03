// SPDX-License-Identifier: Apache-2.0

package roce

import "math/bits"

// Histogram counts values of at least 0: exactly below 256, and above with an
// error of less than one part in 128.
type Histogram struct {
	count []uint64
	n     uint64
}

// exactBits is the number of leading bits that distinguish values.
const exactBits = 8

// Add counts a value.
func (h *Histogram) Add(v int64) { h.AddN(v, 1) }

// AddN counts a value n times.
func (h *Histogram) AddN(v int64, n uint64) {
	i := bucket(uint64(max(v, 0)))
	for i >= len(h.count) {
		h.count = append(h.count, make([]uint64, i+1-len(h.count))...)
	}
	h.count[i] += n
	h.n += n
}

// Merge adds the values of another histogram.
func (h *Histogram) Merge(o *Histogram) {
	for i, n := range o.count {
		if n > 0 {
			h.AddN(int64(lower(i)), n)
		}
	}
}

// Count returns the number of values.
func (h *Histogram) Count() uint64 { return h.n }

// Quantile returns the smallest value that at least a share q of all values
// does not exceed, or zero without values.
func (h *Histogram) Quantile(q float64) int64 {
	if h.n == 0 {
		return 0
	}
	rank := uint64(q * float64(h.n))
	if float64(rank) < q*float64(h.n) {
		rank++
	}
	rank = max(rank, 1)
	var seen uint64
	for i, n := range h.count {
		if seen += n; seen >= rank {
			return int64(lower(i))
		}
	}
	return int64(lower(len(h.count) - 1))
}

// bucket returns the bucket of a value: the value itself below 2^exactBits,
// then 128 buckets for each power of two.
func bucket(v uint64) int {
	if v < 1<<exactBits {
		return int(v)
	}
	shift := bits.Len64(v) - exactBits
	return 1<<(exactBits-1)*(shift+1) + int(v>>shift) - 1<<(exactBits-1)
}

// lower returns the smallest value of a bucket.
func lower(i int) uint64 {
	if i < 1<<exactBits {
		return uint64(i)
	}
	shift := i>>(exactBits-1) - 1
	return (uint64(i&(1<<(exactBits-1)-1)) | 1<<(exactBits-1)) << shift
}
