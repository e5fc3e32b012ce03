// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"hash/crc32"
	"testing"
)

// Check values: the CRCs are those of the catalogue of parametrised CRC
// algorithms (G. Cook) for "123456789", XXH64's those of its specification
// and its reference program, the others computed by hand.
func TestHashesHaveTheirCheckValues(t *testing.T) {
	const digits = "123456789"
	long := make([]byte, 101)
	for i := range long {
		long[i] = byte(i)
	}
	for _, tt := range []struct {
		name, text string
		want       uint64
	}{
		{"crc16", digits, 0xbb3d}, // CRC-16/ARC
		{"crc16_custom", digits, 0xbb3d},
		{"crc32", digits, 0xcbf43926}, // CRC-32/ISO-HDLC
		{"crc32_custom", digits, 0xcbf43926},
		{"crcCCITT", digits, 0x29b1},                                             // CRC-16/IBM-3740
		{"crc8_custom", digits, 0xf4},                                            // CRC-8/SMBUS
		{"crc64_custom", digits, 0x46a5a9388a5beffe},                             // polynomial 0x1b, reflected, start and end 0
		{"csum16", "\x00\x01\xf2\x03\xf4\xf5\xf6\xf7", ^uint64(0xddf2) & 0xffff}, // RFC 1071, section 3
		{"csum16", "\xff", 0x00ff},                                               // padded with zero
		{"csum16", "", 0xffff},
		{"cksum16", "\xff\xff\x00\x01", 0xfffe},
		{"xor16", "\x12\x34\x56\x78\x9a", 0x1234 ^ 0x5678 ^ 0x9a00},
		{"xor32", "\x12\x34\x56\x78\x9a\xbc", 0x12345678 ^ 0x9abc0000},
		{"identity", "\x12\x34", 0x1234},
		{"identity", digits, 0x3132333435363738},
		{"xxh64", "", 0xef46db3751d8e999},
		{"xxh64", "a", 0xd24ec4f1a98c6e5b},
		{"xxh64", "abc", 0x44bc2cf5ad770999},
		{"xxh64", digits, 0x8cb841db40e6ae83},
		{"bmv2_hash", "abc", 0x44bc2cf5ad770999},
		{"hash_ex", "", uint64(fnvEmpty())},
		{"toeplitz", digits, 0},
	} {
		if got := Algorithms[tt.name].Hash([]byte(tt.text), nil); got != tt.want {
			t.Errorf("%s(%q) = %#x, want %#x", tt.name, tt.text, got, tt.want)
		}
	}
	if got, want := uint64(crc32.ChecksumIEEE(long)), Algorithms["crc32"].Hash(long, nil); got != want {
		t.Errorf("crc32 of 101 bytes is %#x, want %#x", got, want)
	}
}

// fnvEmpty is hash_ex of nothing: the last five steps on FNV's offset basis.
func fnvEmpty() uint32 {
	h := uint32(2166136261)
	h += h << 13
	h ^= h >> 7
	h += h << 3
	h ^= h >> 17
	return h + h<<5
}

func TestHashesThatRemember(t *testing.T) {
	memo := &HashMemo{Random: &Generator{State: 1}}
	next := func(name, text string) uint64 { return Algorithms[name].Hash([]byte(text), memo) }
	for i := range uint64(5) {
		if got := next("round_robin", "x"); got != i {
			t.Errorf("round_robin, call %d: %d", i, got)
		}
	}
	memo = &HashMemo{Random: &Generator{State: 1}}
	for _, tt := range []struct {
		text string
		want uint64
	}{{"a", 0}, {"b", 1}, {"a", 0}, {"c", 2}, {"b", 1}} {
		if got := next("round_robin_consistent", tt.text); got != tt.want {
			t.Errorf("round_robin_consistent(%s) = %d, want %d", tt.text, got, tt.want)
		}
	}
	a, b := next("random", ""), next("random", "")
	if a == b {
		t.Errorf("random gives %#x twice", a)
	}
	memo.Random = &Generator{State: 1}
	if got := next("random", ""); got != a {
		t.Errorf("random of the same seed gives %#x, then %#x", a, got)
	}
}

// The numbers of a range have about equal frequencies, and no other numbers
// occur.
func TestRandomNumbersFillTheirRange(t *testing.T) {
	g := &Generator{State: 7}
	var seen [6]int
	const n = 6000
	for range n {
		x := g.Between(10, 15)
		if x < 10 || x > 15 {
			t.Fatalf("%d is not of 10…15", x)
		}
		seen[x-10]++
	}
	for i, k := range seen {
		if k < n/6*8/10 || k > n/6*12/10 {
			t.Errorf("%d came %d times of %d", i+10, k, n)
		}
	}
	if x := g.Between(5, 5); x != 5 {
		t.Errorf("between(5, 5) = %d", x)
	}
	high := false
	for range 64 {
		high = high || g.Between(0, ^uint64(0))>>63 == 1
	}
	if !high {
		t.Error("the whole range has no great numbers")
	}
}
