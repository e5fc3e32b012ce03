// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"slices"
)

// An algorithm hashes bytes like BMv2's algorithm of the same name. memo has
// the state of those that have one.
type algorithm struct {
	hash func(b []byte, memo *hashMemo) uint64
	// sum is true if it is the Internet checksum.
	sum bool
	// crc has the tables for quickCRC; nil for other algorithms.
	crc *crc
}

// hashMemo is the state of one calculation across packets.
type hashMemo struct {
	count uint64            // round robin
	seen  map[string]uint64 // round robin, consistent
	rng   *generator
}

var algorithms = map[string]*algorithm{
	"crc16":        {hash: func(b []byte, _ *hashMemo) uint64 { return uint64(crc16(b)) }, crc: &crcARC},
	"crc32":        {hash: func(b []byte, _ *hashMemo) uint64 { return uint64(crc32.ChecksumIEEE(b)) }, crc: &crcIEEE},
	"crcCCITT":     {hash: func(b []byte, _ *hashMemo) uint64 { return uint64(crcCCITT(b)) }},
	"crc8_custom":  {hash: func(b []byte, _ *hashMemo) uint64 { return uint64(crc8(b)) }},
	"crc16_custom": {hash: func(b []byte, _ *hashMemo) uint64 { return uint64(crc16(b)) }, crc: &crcARC},
	"crc32_custom": {hash: func(b []byte, _ *hashMemo) uint64 { return uint64(crc32.ChecksumIEEE(b)) }, crc: &crcIEEE},
	"crc64_custom": {hash: func(b []byte, _ *hashMemo) uint64 { return crc64(b) }},
	"csum16":       {hash: func(b []byte, _ *hashMemo) uint64 { return uint64(fold(sum16(b))) }, sum: true},
	"cksum16":      {hash: func(b []byte, _ *hashMemo) uint64 { return uint64(fold(sum16(b))) }, sum: true},
	"xor16":        {hash: xor16},
	"xor32":        {hash: xor32},
	"xxh64":        {hash: func(b []byte, _ *hashMemo) uint64 { return xxh64(b) }},
	"bmv2_hash":    {hash: func(b []byte, _ *hashMemo) uint64 { return xxh64(b) }},
	"hash_ex":      {hash: fnvEx},
	"identity":     {hash: identity},
	// The key of a toeplitz hash is zero until it is configured, which P4Runtime
	// does not support.
	"toeplitz": {hash: func([]byte, *hashMemo) uint64 { return 0 }},
	"random":   {hash: func(_ []byte, m *hashMemo) uint64 { return m.rng.next() }},
	"round_robin": {hash: func(_ []byte, m *hashMemo) uint64 {
		m.count++
		return m.count - 1
	}},
	"round_robin_consistent": {hash: func(b []byte, m *hashMemo) uint64 {
		if n, ok := m.seen[string(b)]; ok {
			return n
		}
		if m.seen == nil {
			m.seen = map[string]uint64{}
		}
		m.seen[string(b)] = m.count
		m.count++
		return m.count - 1
	}},
}

// table16 is the table of a reflected 16-bit CRC.
func table16(poly uint16) (t [256]uint16) {
	for i := range t {
		x := uint16(i)
		for range 8 {
			if x&1 != 0 {
				x = x>>1 ^ poly
			} else {
				x >>= 1
			}
		}
		t[i] = x
	}
	return t
}

// tableCCITT is the table of a 16-bit CRC that is not reflected.
func tableCCITT(poly uint16) (t [256]uint16) {
	for i := range t {
		x := uint16(i) << 8
		for range 8 {
			if x&0x8000 != 0 {
				x = x<<1 ^ poly
			} else {
				x <<= 1
			}
		}
		t[i] = x
	}
	return t
}

var (
	crc16Table = table16(bits.Reverse16(0x8005))
	ccittTable = tableCCITT(0x1021)
	crc64Table = func() (t [256]uint64) {
		poly := bits.Reverse64(0x1b)
		for i := range t {
			x := uint64(i)
			for range 8 {
				if x&1 != 0 {
					x = x>>1 ^ poly
				} else {
					x >>= 1
				}
			}
			t[i] = x
		}
		return t
	}()
)

// crc16 is CRC-16/ARC: polynomial 0x8005, reflected.
func crc16(b []byte) uint16 {
	var x uint16
	for _, c := range b {
		x = crc16Table[byte(x)^c] ^ x>>8
	}
	return x
}

// crc is a reflected CRC of up to 32 bits that processes four bytes at a time.
// tables[i] has each byte's contribution when i bytes follow it.
type crc struct {
	tables [4][256]uint32
	invert uint32 // initial value and final XOR
}

func newCRC(invert uint32, first func(i int) uint32) (k crc) {
	k.invert = invert
	for i := range 256 {
		x := first(i)
		for t := range k.tables {
			k.tables[t][i] = x
			x = x>>8 ^ first(int(x&0xff))
		}
	}
	return k
}

var (
	crcIEEE = newCRC(allOnes32, func(i int) uint32 { return crc32.IEEETable[i] })
	crcARC  = newCRC(0, func(i int) uint32 { return uint32(crc16Table[i]) })
)

const allOnes32 = 1<<32 - 1

// quickCRC computes a CRC directly from slots.
func (m *Machine) quickCRC(k *calc) uint64 {
	c := k.algo.crc
	t := &c.tables
	x := c.invert
	for _, w := range k.words {
		v, n := m.f[w.slot], w.bytes
		for ; n >= 4; n -= 4 {
			x ^= bits.ReverseBytes32(uint32(v >> (8*n - 32)))
			x = t[3][byte(x)] ^ t[2][byte(x>>8)] ^ t[1][byte(x>>16)] ^ t[0][x>>24]
		}
		for ; n > 0; n-- {
			x = t[0][byte(x)^byte(v>>(8*n-8))] ^ x>>8
		}
	}
	return uint64(x ^ c.invert)
}

// crcCCITT is CRC-16/CCITT-FALSE: polynomial 0x1021, start 0xffff.
func crcCCITT(b []byte) uint16 {
	x := uint16(0xffff)
	for _, c := range b {
		x = ccittTable[byte(x>>8)^c] ^ x<<8
	}
	return x
}

// crc8 is CRC-8: polynomial 0x07.
func crc8(b []byte) uint8 {
	var x uint8
	for _, c := range b {
		x ^= c
		for range 8 {
			if x&0x80 != 0 {
				x = x<<1 ^ 0x07
			} else {
				x <<= 1
			}
		}
	}
	return x
}

// crc64 is CRC-64/GO-ISO without complement: polynomial 0x1b, reflected.
func crc64(b []byte) uint64 {
	var x uint64
	for _, c := range b {
		x = crc64Table[byte(x)^c] ^ x>>8
	}
	return x
}

// sum16 adds up 16-bit words, without folding.
func sum16(b []byte) uint64 {
	var sum uint64
	for ; len(b) >= 4; b = b[4:] {
		sum += uint64(binary.BigEndian.Uint32(b))
	}
	if len(b) >= 2 {
		sum += uint64(binary.BigEndian.Uint16(b))
		b = b[2:]
	}
	if len(b) > 0 {
		sum += uint64(b[0]) << 8
	}
	return sum
}

// fold adds the carries of a sum, which gives an Internet checksum. It has no
// loop: the number of carries varies between packets, so the processor would
// often mispredict the branch.
func fold(sum uint64) uint16 {
	sum = sum>>32 + sum&0xffffffff // 33 bits
	sum = sum>>32 + sum&0xffffffff // 32
	sum = sum>>16 + sum&0xffff     // 17
	sum = sum>>16 + sum&0xffff     // 16
	return ^uint16(sum)
}

func xor16(b []byte, _ *hashMemo) uint64 {
	var x uint16
	for ; len(b) >= 2; b = b[2:] {
		x ^= binary.BigEndian.Uint16(b)
	}
	if len(b) > 0 {
		x ^= uint16(b[0]) << 8
	}
	return uint64(x)
}

func xor32(b []byte, _ *hashMemo) uint64 {
	var x uint32
	for ; len(b) >= 4; b = b[4:] {
		x ^= binary.BigEndian.Uint32(b)
	}
	for i, c := range b {
		x ^= uint32(c) << (24 - 8*i)
	}
	return uint64(x)
}

// identity is the first eight bytes as a number.
func identity(b []byte, _ *hashMemo) uint64 {
	var x uint64
	for _, c := range b[:min(8, len(b))] {
		x = x<<8 | uint64(c)
	}
	return x
}

// fnvEx is simple_switch's hash_ex: FNV-1a with a final avalanche. Bytes are
// signed there.
func fnvEx(b []byte, _ *hashMemo) uint64 {
	h := uint32(2166136261)
	for _, c := range b {
		h = (h ^ uint32(int32(int8(c)))) * 16777619
	}
	h += h << 13
	h ^= h >> 7
	h += h << 3
	h ^= h >> 17
	h += h << 5
	return uint64(h)
}

// xxh64 is XXH64 with seed zero.
func xxh64(b []byte) uint64 {
	const (
		p1 = 11400714785074694791
		p2 = 14029467366897019727
		p3 = 1609587929392839161
		p4 = 9650029242287828579
		p5 = 2870177450012600261
	)
	le := binary.LittleEndian
	round := func(acc, in uint64) uint64 { return bits.RotateLeft64(acc+in*p2, 31) * p1 }
	n := uint64(len(b))
	h := uint64(p5)
	if len(b) >= 32 {
		var p1v, p2v uint64 = p1, p2
		v := [4]uint64{p1v + p2v, p2v, 0, -p1v}
		for ; len(b) >= 32; b = b[32:] {
			for i := range v {
				v[i] = round(v[i], le.Uint64(b[8*i:]))
			}
		}
		h = bits.RotateLeft64(v[0], 1) + bits.RotateLeft64(v[1], 7) + bits.RotateLeft64(v[2], 12) + bits.RotateLeft64(v[3], 18)
		for _, x := range v {
			h = (h^round(0, x))*p1 + p4
		}
	}
	h += n
	for ; len(b) >= 8; b = b[8:] {
		h = bits.RotateLeft64(h^round(0, le.Uint64(b)), 27)*p1 + p4
	}
	if len(b) >= 4 {
		h = bits.RotateLeft64(h^uint64(le.Uint32(b))*p1, 23)*p2 + p3
		b = b[4:]
	}
	for _, c := range b {
		h = bits.RotateLeft64(h^uint64(c)*p5, 11) * p1
	}
	h = (h ^ h>>33) * p2
	h = (h ^ h>>29) * p3
	return h ^ h>>32
}

// generator is SplitMix64. A seed gives the same numbers on every machine and
// in every version.
type generator struct{ state uint64 }

const (
	randomStep    = 0x9e3779b97f4a7c15
	randomFactor1 = 0xbf58476d1ce4e5b9
	randomFactor2 = 0x94d049bb133111eb
)

func (g *generator) next() uint64 {
	g.state += randomStep
	x := g.state
	x = (x ^ x>>30) * randomFactor1
	x = (x ^ x>>27) * randomFactor2
	return x ^ x>>31
}

// between returns a uniformly distributed number of lo…hi.
func (g *generator) between(lo, hi uint64) uint64 {
	n := hi - lo + 1
	if n == 0 {
		return g.next()
	}
	x, rest := bits.Mul64(g.next(), n)
	if rest < n {
		for limit := -n % n; rest < limit; {
			x, rest = bits.Mul64(g.next(), n)
		}
	}
	return lo + x
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}
