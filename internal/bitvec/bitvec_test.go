// SPDX-License-Identifier: Apache-2.0

package bitvec

import (
	"math/big"
	"math/rand/v2"
	"testing"
)

func toBig(a []uint64) *big.Int {
	return new(big.Int).SetBytes(AppendBytes(nil, a, 8*len(a)))
}

func signedBig(a []uint64) *big.Int {
	x := toBig(a)
	if int64(a[len(a)-1]) < 0 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(64*len(a))))
	}
	return x
}

// fromBig returns x modulo 2^(64n).
func fromBig(x *big.Int, n int) []uint64 {
	m := new(big.Int).Lsh(big.NewInt(1), uint(64*n))
	d := make([]uint64, n)
	FromBytes(d, new(big.Int).Mod(x, m).Bytes())
	return d
}

// Every operation agrees with math/big on numbers full of corner cases.
func TestAgreesWithBig(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	limb := func() uint64 {
		return [...]uint64{0, 1, 1 << 63, ^uint64(0), rng.Uint64(), rng.Uint64() >> rng.IntN(64)}[rng.IntN(6)]
	}
	for range 20000 {
		n := 1 + rng.IntN(4)
		a, b, d := make([]uint64, n), make([]uint64, n), make([]uint64, n)
		for i := range n {
			a[i], b[i] = limb(), limb()
		}
		shift := uint64(rng.IntN(64*n + 10))
		width := 1 + rng.IntN(64*n)
		A, B, S := toBig(a), toBig(b), signedBig(a)
		check := func(op string, want *big.Int) {
			t.Helper()
			if w := fromBig(want, n); Cmp(d, w) != 0 {
				t.Fatalf("%s of %x %x shift %d width %d = %x, want %x", op, a, b, shift, width, d, w)
			}
		}
		Add(d, a, b)
		check("add", new(big.Int).Add(A, B))
		Sub(d, a, b)
		check("sub", new(big.Int).Sub(A, B))
		Mul(d, a, b)
		check("mul", new(big.Int).Mul(A, B))
		Shl(d, a, shift)
		check("shl", new(big.Int).Lsh(A, uint(shift)))
		Shr(d, a, shift, false)
		check("shr", new(big.Int).Rsh(A, uint(shift)))
		Shr(d, a, shift, true)
		check("signed shr", new(big.Int).Rsh(S, uint(shift)))
		copy(d, a)
		Shl(d, d, shift)
		check("shl in place", new(big.Int).Lsh(A, uint(shift)))
		copy(d, a)
		Shr(d, d, shift, true)
		check("shr in place", new(big.Int).Rsh(S, uint(shift)))
		one := big.NewInt(1)
		low := new(big.Int).And(A, new(big.Int).Sub(new(big.Int).Lsh(one, uint(width)), one))
		copy(d, a)
		Mask(d, width)
		check("mask", low)
		copy(d, a)
		SignExtend(d, width)
		if low.Bit(width-1) == 1 {
			low.Sub(low, new(big.Int).Lsh(one, uint(width)))
		}
		check("sign extend", low)
		if got, want := Cmp(a, b), A.Cmp(B); got != want {
			t.Fatalf("Cmp(%x, %x) = %d", a, b, got)
		}
		if got, want := CmpSigned(a, b), S.Cmp(signedBig(b)); got != want {
			t.Fatalf("CmpSigned(%x, %x) = %d", a, b, got)
		}
		if got, want := BitLen(a), A.BitLen(); got != want {
			t.Fatalf("BitLen(%x) = %d", a, got)
		}
		wide := make([]uint64, n+2)
		Extend(wide, a, true)
		if signedBig(wide).Cmp(S) != 0 {
			t.Fatalf("Extend(%x) = %x", a, wide)
		}
		hex := A.Text(16)
		if got, neg, err := ParseHex("-0x" + hex); err != nil || !neg || toBig(got).Cmp(A) != 0 {
			t.Fatalf("ParseHex(%s) = %x, %v, %v", hex, got, neg, err)
		}
	}
}

func TestParseHexRefusesOtherText(t *testing.T) {
	for _, s := range []string{"", "0x", "-", "12g", "0x-1"} {
		if _, _, err := ParseHex(s); err == nil {
			t.Errorf("ParseHex(%q) succeeds", s)
		}
	}
}
