// SPDX-License-Identifier: Apache-2.0

// Package bitvec does arithmetic on integers wider than a machine word, such as
// P4 fields and table keys. They are little-endian slices of 64-bit limbs, in
// two's complement modulo 2^(64·len). Only the functions that return a slice
// allocate.
package bitvec

import (
	"fmt"
	"math/bits"
)

// Limbs returns the number of limbs for n bits; at least one.
func Limbs(n int) int { return max(1, (n+63)/64) }

// Extend copies src to dst. If dst is longer, its other limbs are filled with
// the sign of src if signed, with zeros otherwise. If dst is shorter, it gets
// the low limbs. The slices may overlap only if they start at the same place.
func Extend(dst, src []uint64, signed bool) {
	n := copy(dst, src)
	if n == len(dst) {
		return
	}
	var fill uint64
	if signed && n > 0 && int64(dst[n-1]) < 0 {
		fill = ^uint64(0)
	}
	for i := n; i < len(dst); i++ {
		dst[i] = fill
	}
}

// Mask clears all but the low n bits.
func Mask(d []uint64, n int) {
	i := n / 64
	if i >= len(d) {
		return
	}
	d[i] &= 1<<(n%64) - 1
	clear(d[i+1:])
}

// SignExtend sets d to the signed number in its low n bits, n ≥ 1.
func SignExtend(d []uint64, n int) {
	i := (n - 1) / 64
	if i >= len(d) {
		return
	}
	shift := 63 - (n-1)%64
	d[i] = uint64(int64(d[i]<<shift) >> shift)
	fill := uint64(int64(d[i]) >> 63)
	for i++; i < len(d); i++ {
		d[i] = fill
	}
}

// Add sets d = a + b. All have the same length; d may be a or b.
func Add(d, a, b []uint64) {
	var carry uint64
	for i := range d {
		d[i], carry = bits.Add64(a[i], b[i], carry)
	}
}

// Sub sets d = a − b. All have the same length; d may be a or b.
func Sub(d, a, b []uint64) {
	var borrow uint64
	for i := range d {
		d[i], borrow = bits.Sub64(a[i], b[i], borrow)
	}
}

// Mul sets d = a · b. All have the same length; d is neither a nor b.
func Mul(d, a, b []uint64) {
	clear(d)
	for i, x := range a {
		var carry uint64
		for j := 0; i+j < len(d); j++ {
			hi, lo := bits.Mul64(x, b[j])
			var c uint64
			lo, c = bits.Add64(lo, carry, 0)
			hi += c
			d[i+j], c = bits.Add64(d[i+j], lo, 0)
			carry = hi + c
		}
	}
}

// Shl sets d = a << n. Both have the same length; d may be a.
func Shl(d, a []uint64, n uint64) {
	if n >= uint64(64*len(d)) {
		clear(d)
		return
	}
	words, bit := int(n/64), n%64
	for i := len(d) - 1; i >= 0; i-- {
		var x uint64
		if i >= words {
			x = a[i-words] << bit
			if bit != 0 && i > words {
				x |= a[i-words-1] >> (64 - bit)
			}
		}
		d[i] = x
	}
}

// Shr sets d = a >> n, filling with the sign of a if signed. Both have the
// same length; d may be a.
func Shr(d, a []uint64, n uint64, signed bool) {
	var fill uint64
	if signed && int64(a[len(a)-1]) < 0 {
		fill = ^uint64(0)
	}
	if n >= uint64(64*len(d)) {
		for i := range d {
			d[i] = fill
		}
		return
	}
	words, bit := int(n/64), n%64
	at := func(i int) uint64 {
		if i < len(a) {
			return a[i]
		}
		return fill
	}
	for i := range d {
		x := at(i+words) >> bit
		if bit != 0 {
			x |= at(i+words+1) << (64 - bit)
		}
		d[i] = x
	}
}

// Cmp compares a and b, of the same length, as unsigned numbers: −1, 0, 1.
func Cmp(a, b []uint64) int {
	for i := len(a) - 1; i >= 0; i-- {
		switch {
		case a[i] < b[i]:
			return -1
		case a[i] > b[i]:
			return 1
		}
	}
	return 0
}

// CmpSigned compares a and b, of the same length, as signed numbers.
func CmpSigned(a, b []uint64) int {
	n := len(a) - 1
	switch {
	case int64(a[n]) < int64(b[n]):
		return -1
	case int64(a[n]) > int64(b[n]):
		return 1
	}
	return Cmp(a, b)
}

// IsZero reports whether a is zero.
func IsZero(a []uint64) bool {
	for _, x := range a {
		if x != 0 {
			return false
		}
	}
	return true
}

// FromBytes sets d to the big-endian number in b, or to its low bits if it does
// not fit.
func FromBytes(d []uint64, b []byte) {
	clear(d)
	for i := range b {
		byteAt := len(b) - 1 - i // of weight 256^i
		if i/8 >= len(d) {
			return
		}
		d[i/8] |= uint64(b[byteAt]) << (8 * (i % 8))
	}
}

// AppendBytes appends the low n bytes of a, most significant first.
func AppendBytes(b []byte, a []uint64, n int) []byte {
	for i := n - 1; i >= 0; i-- {
		var x byte
		if i/8 < len(a) {
			x = byte(a[i/8] >> (8 * (i % 8)))
		}
		b = append(b, x)
	}
	return b
}

// BitLen returns the number of bits of the unsigned number a.
func BitLen(a []uint64) int {
	for i := len(a) - 1; i >= 0; i-- {
		if a[i] != 0 {
			return 64*i + bits.Len64(a[i])
		}
	}
	return 0
}

// ParseHex parses a number in BMv2 JSON's notation: hexadecimal digits with an
// optional 0x and sign. It returns the magnitude, and whether the number is
// negative.
func ParseHex(s string) ([]uint64, bool, error) {
	text := s
	neg := false
	if len(text) > 0 && text[0] == '-' {
		neg, text = true, text[1:]
	}
	if len(text) > 1 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') {
		text = text[2:]
	}
	if text == "" {
		return nil, false, fmt.Errorf("%q is not a hexadecimal number", s)
	}
	d := make([]uint64, Limbs(4*len(text)))
	for i := range text {
		c := text[len(text)-1-i]
		var v uint64
		switch {
		case '0' <= c && c <= '9':
			v = uint64(c - '0')
		case 'a' <= c && c <= 'f':
			v = uint64(c-'a') + 10
		case 'A' <= c && c <= 'F':
			v = uint64(c-'A') + 10
		default:
			return nil, false, fmt.Errorf("%q is not a hexadecimal number", s)
		}
		d[i/16] |= v << (4 * (i % 16))
	}
	return d, neg, nil
}
