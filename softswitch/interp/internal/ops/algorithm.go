// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"encoding/binary"
	"hash/crc32"
	"hash/crc64"
	"math/bits"
)

// An Algorithm hashes bytes like BMv2's algorithm of the same name. memo has
// the state of those that have one.
type Algorithm struct {
	Hash func(b []byte, memo *HashMemo) uint64
	// Sum is true if it is the Internet checksum.
	Sum bool
	// CRC has the tables for quickCRC; nil for other algorithms.
	CRC *crc
}

// HashMemo is the state of one calculation across packets.
type HashMemo struct {
	count uint64            // round robin
	seen  map[string]uint64 // round robin, consistent
	// Random draws the numbers of the algorithm random.
	Random *Generator
}

// Algorithms are those of BMv2 by name.
var Algorithms = map[string]*Algorithm{
	"crc16":        {Hash: func(b []byte, _ *HashMemo) uint64 { return uint64(crc16(b)) }, CRC: &crcARC},
	"crc32":        {Hash: func(b []byte, _ *HashMemo) uint64 { return uint64(crc32.ChecksumIEEE(b)) }, CRC: &crcIEEE},
	"crcCCITT":     {Hash: func(b []byte, _ *HashMemo) uint64 { return uint64(crcCCITT(b)) }},
	"crc8_custom":  {Hash: func(b []byte, _ *HashMemo) uint64 { return uint64(crc8(b)) }},
	"crc16_custom": {Hash: func(b []byte, _ *HashMemo) uint64 { return uint64(crc16(b)) }, CRC: &crcARC},
	"crc32_custom": {Hash: func(b []byte, _ *HashMemo) uint64 { return uint64(crc32.ChecksumIEEE(b)) }, CRC: &crcIEEE},
	"crc64_custom": {Hash: func(b []byte, _ *HashMemo) uint64 { return crcISO(b) }},
	"csum16":       {Hash: func(b []byte, _ *HashMemo) uint64 { return uint64(Fold(Sum16(b))) }, Sum: true},
	"cksum16":      {Hash: func(b []byte, _ *HashMemo) uint64 { return uint64(Fold(Sum16(b))) }, Sum: true},
	"xor16":        {Hash: xor16},
	"xor32":        {Hash: xor32},
	"xxh64":        {Hash: func(b []byte, _ *HashMemo) uint64 { return xxh64(b) }},
	"bmv2_hash":    {Hash: func(b []byte, _ *HashMemo) uint64 { return xxh64(b) }},
	"hash_ex":      {Hash: fnvEx},
	"identity":     {Hash: identity},
	// The key of a toeplitz hash is zero until it is configured, which P4Runtime
	// does not support.
	"toeplitz": {Hash: func([]byte, *HashMemo) uint64 { return 0 }},
	"random":   {Hash: func(_ []byte, m *HashMemo) uint64 { return m.Random.next() }},
	"round_robin": {Hash: func(_ []byte, m *HashMemo) uint64 {
		m.count++
		return m.count - 1
	}},
	"round_robin_consistent": {Hash: func(b []byte, m *HashMemo) uint64 {
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
	isoTable   = crc64.MakeTable(crc64.ISO)
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
	Tables [4][256]uint32
	Invert uint32 // initial value and final XOR
}

func newCRC(invert uint32, first func(i int) uint32) (k crc) {
	k.Invert = invert
	for i := range 256 {
		x := first(i)
		for t := range k.Tables {
			k.Tables[t][i] = x
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

// crcISO is CRC-64/GO-ISO without complement: polynomial 0x1b, reflected.
func crcISO(b []byte) uint64 { return ^crc64.Update(1<<64-1, isoTable, b) }

// Sum16 adds up 16-bit words, without folding.
func Sum16(b []byte) uint64 {
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

// Fold adds the carries of a sum, which gives an Internet checksum. It has no
// loop: the number of carries varies between packets, so the processor would
// often mispredict the branch.
func Fold(sum uint64) uint16 {
	sum = sum>>32 + sum&0xffffffff // 33 bits
	sum = sum>>32 + sum&0xffffffff // 32
	sum = sum>>16 + sum&0xffff     // 17
	sum = sum>>16 + sum&0xffff     // 16
	return ^uint16(sum)
}

func xor16(b []byte, _ *HashMemo) uint64 {
	var x uint16
	for ; len(b) >= 2; b = b[2:] {
		x ^= binary.BigEndian.Uint16(b)
	}
	if len(b) > 0 {
		x ^= uint16(b[0]) << 8
	}
	return uint64(x)
}

func xor32(b []byte, _ *HashMemo) uint64 {
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
func identity(b []byte, _ *HashMemo) uint64 {
	var x uint64
	for _, c := range b[:min(8, len(b))] {
		x = x<<8 | uint64(c)
	}
	return x
}

// fnvEx is simple_switch's hash_ex: FNV-1a with a final avalanche. Bytes are
// signed there.
func fnvEx(b []byte, _ *HashMemo) uint64 {
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

// Generator is SplitMix64. A seed gives the same numbers on every machine and
// in every version.
type Generator struct{ State uint64 }

const (
	RandomStep    = 0x9e3779b97f4a7c15
	RandomFactor1 = 0xbf58476d1ce4e5b9
	RandomFactor2 = 0x94d049bb133111eb
)

func (g *Generator) next() uint64 {
	g.State += RandomStep
	x := g.State
	x = (x ^ x>>30) * RandomFactor1
	x = (x ^ x>>27) * RandomFactor2
	return x ^ x>>31
}

// Between returns a uniformly distributed number of lo…hi.
func (g *Generator) Between(lo, hi uint64) uint64 {
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
