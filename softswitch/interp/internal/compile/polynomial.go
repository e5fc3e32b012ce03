// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"math/bits"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// polynomial is a CRC of up to 64 bits with parameters as in the CRC catalogue. The
// bits of a CRC that is not reflected are the highest of the word, so that all
// widths have the same steps.
type polynomial struct {
	width     int
	reflect   bool
	init, xor uint64
	extend    int
	table     [256]uint64
}

// polynomial returns the algorithm of a calculation with CRC parameters, nil after
// an error.
func (c *compiler) polynomial(k *bmv2json.Calculation) *ops.Algorithm {
	d := k.CRC
	if d.Width < 1 || d.Width > 64 || d.Extend < 0 || d.Extend > 1<<16 {
		c.errorf(k.Pos, "calculation %s has a CRC of %d bits; it may have 1 to 64", k.Name, d.Width)
		return nil
	}
	var v [3]uint64
	for i, text := range []string{d.Poly, d.Init, d.Xor} {
		x := c.hex(text, k.Pos)
		if x.Sign() < 0 || x.BitLen() > d.Width {
			c.errorf(k.Pos, "calculation %s has the CRC parameter %s, which does not fit %d bits", k.Name, text, d.Width)
			return nil
		}
		v[i] = x.Uint64()
	}
	p := &polynomial{width: d.Width, reflect: d.Reflect, init: v[1], xor: v[2], extend: d.Extend}
	p.fill(v[0])
	return &ops.Algorithm{Hash: func(b []byte, _ *ops.HashMemo) uint64 { return p.sum(b) }}
}

// fill computes the table of a polynomial.
func (p *polynomial) fill(poly uint64) {
	unused := 64 - p.width
	if p.reflect {
		poly, p.init = bits.Reverse64(poly)>>unused, bits.Reverse64(p.init)>>unused
	} else {
		poly, p.init = poly<<unused, p.init<<unused
	}
	for i := range p.table {
		x := uint64(i)
		if !p.reflect {
			x <<= 56
		}
		for range 8 {
			switch {
			case p.reflect && x&1 != 0:
				x = x>>1 ^ poly
			case p.reflect:
				x >>= 1
			case x>>63 != 0:
				x = x<<1 ^ poly
			default:
				x <<= 1
			}
		}
		p.table[i] = x
	}
}

// sum returns the CRC of bytes, repeated up to extend bits.
func (p *polynomial) sum(b []byte) uint64 {
	x := p.init
	if p.reflect {
		for _, c := range b {
			x = p.table[byte(x)^c] ^ x>>8
		}
	} else {
		for _, c := range b {
			x = p.table[byte(x>>56)^c] ^ x<<8
		}
		x >>= 64 - p.width
	}
	x ^= p.xor
	for n := p.width; n < min(p.extend, 64); n += p.width {
		x |= x & ops.MaskOf(p.width) << n
	}
	return x
}
