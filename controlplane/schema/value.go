// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"math/bits"
	"net/netip"
	"strconv"
	"strings"

	"github.com/antoninbas/p4runtime-go-client/pkg/util/conversion"

	"github.com/pauseless/pauseless/internal/diag"
)

// Format is the format in which a value is printed. Parse reads all formats.
type Format uint8

// Formats. The P4 annotation @format(…) selects one. Otherwise width and name
// determine it: 48 bits of a field called …mac, …addr, or in a header called
// eth… are a MAC address, and so on.
const (
	Decimal Format = iota
	Hex
	IPv4
	IPv6
	MAC
	Text
)

func formatOf(name string, bits int, annotations []string) Format {
	if bits == 0 {
		return Text
	}
	switch Annotation(annotations, "format") {
	case "IPV4_ADDRESS":
		if bits == 32 {
			return IPv4
		}
	case "IPV6_ADDRESS":
		if bits == 128 {
			return IPv6
		}
	case "MAC_ADDRESS":
		if bits == 48 {
			return MAC
		}
	case "HEX_STRING":
		return Hex
	}
	lower := strings.ToLower(name)
	last := lower[strings.LastIndexByte(lower, '.')+1:]
	isAddr := strings.Contains(last, "addr") || strings.HasSuffix(last, "ip") || last == "dst" || last == "src" || last == "dip" || last == "sip"
	switch {
	case bits == 48 && (isAddr || strings.Contains(last, "mac") || strings.Contains(lower, "ethernet.")):
		return MAC
	case bits == 32 && isAddr:
		return IPv4
	case bits == 128 && isAddr:
		return IPv6
	case bits > 64:
		return Hex
	}
	return Decimal
}

// Uint returns the canonical byte string of a number: big-endian, no leading
// zero bytes, at least one byte (P4Runtime specification, Bytestrings).
func Uint(v uint64) []byte {
	return Canonical(binary.BigEndian.AppendUint64(nil, v))
}

// Canonical removes the leading zero bytes of a byte string.
func Canonical(b []byte) []byte { return conversion.ToCanonicalBytestring(b) }

// ToUint returns the number in a byte string. ok is false if it has more than
// 64 bits.
func ToUint(b []byte) (v uint64, ok bool) {
	b = bytes.TrimLeft(b, "\x00")
	if len(b) > 8 {
		return 0, false
	}
	for _, x := range b {
		v = v<<8 | uint64(x)
	}
	return v, true
}

// bitLen returns the number of bits without leading zeros.
func bitLen(b []byte) int {
	b = bytes.TrimLeft(b, "\x00")
	if len(b) == 0 {
		return 0
	}
	return 8*(len(b)-1) + bits.Len8(b[0])
}

// Parse parses a value: a decimal, 0x…, 0b… or 0o… number (optionally with _
// between digits), an IPv4 or IPv6 address or a MAC address of the field's width, for
// one bit true or false. It returns the canonical byte string.
func (f *Field) Parse(text string) ([]byte, error) {
	if f.Format == Text {
		return []byte(text), nil
	}
	raw, err := parseNumber(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	}
	switch n := 8 * len(raw); {
	case (text == "true" || text == "false") && f.Bits != 1:
		return nil, fmt.Errorf("%s: %s is for a field of one bit, the field has %d", f.Name, text, f.Bits)
	case strings.ContainsAny(text, ":.") && n != f.Bits:
		return nil, fmt.Errorf("%s: %s is an address of %d bits, the field has %d", f.Name, text, n, f.Bits)
	}
	if n := bitLen(raw); n > f.Bits {
		return nil, fmt.Errorf("%s: %s needs %d bits, the field has %d", f.Name, text, n, f.Bits)
	}
	return Canonical(raw), nil
}

func parseNumber(text string) ([]byte, error) {
	switch text {
	case "":
		return nil, fmt.Errorf("value is missing")
	case "true":
		return []byte{1}, nil
	case "false":
		return []byte{0}, nil
	}
	if strings.ContainsAny(text, ":.") {
		if mac, err := parseMAC(text); err == nil {
			return mac, nil
		}
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("%q is neither an IP nor a MAC address", text)
		}
		return addr.AsSlice(), nil
	}
	if len(text) > 4096 {
		return nil, fmt.Errorf("the value has %d digits, which is too long", len(text))
	}
	n, ok := new(big.Int).SetString(text, 0)
	if !ok || n.Sign() < 0 {
		return nil, fmt.Errorf("%q is not a number from 0 up (write 26, 0x1a, 10.0.0.1 or 02:00:00:00:00:01)", text)
	}
	if n.Sign() == 0 {
		return []byte{0}, nil
	}
	return n.Bytes(), nil
}

func parseMAC(text string) ([]byte, error) {
	if len(text) != len("00:00:00:00:00:00") {
		return nil, fmt.Errorf("%q is not a MAC address", text)
	}
	for i := 2; i < len(text); i += 3 {
		if text[i] != ':' {
			return nil, fmt.Errorf("%q is not a MAC address", text)
		}
	}
	return hex.DecodeString(strings.ReplaceAll(text, ":", ""))
}

// Print returns a value in the field's format. A byte string that is too wide for
// the format is printed in hexadecimal.
func (f *Field) Print(value []byte) string {
	return string(appendValue(nil, f.Format, f.Bits, value))
}

func appendValue(out []byte, format Format, bits int, value []byte) []byte {
	if format == Text {
		return append(out, diag.Printable(string(value))...)
	}
	trimmed := bytes.TrimLeft(value, "\x00")
	switch format {
	case IPv4:
		if len(trimmed) <= 4 {
			var a [4]byte
			copy(a[4-len(trimmed):], trimmed)
			return netip.AddrFrom4(a).AppendTo(out)
		}
	case IPv6:
		if len(trimmed) <= 16 {
			var a [16]byte
			copy(a[16-len(trimmed):], trimmed)
			return netip.AddrFrom16(a).AppendTo(out)
		}
	case MAC:
		if len(trimmed) <= 6 {
			var a [6]byte
			copy(a[6-len(trimmed):], trimmed)
			for i, x := range a {
				if i > 0 {
					out = append(out, ':')
				}
				out = hex.AppendEncode(out, []byte{x})
			}
			return out
		}
	case Decimal:
		if v, ok := ToUint(trimmed); ok {
			return strconv.AppendUint(out, v, 10)
		}
	}
	out = append(out, "0x"...)
	if len(trimmed) == 0 {
		return append(out, '0')
	}
	return append(out, strings.TrimLeft(hex.EncodeToString(trimmed), "0")...)
}

// prefixMask returns a byte string of width bits whose first n bits are 1.
func prefixMask(bits, n int) []byte {
	mask := make([]byte, (bits+7)/8)
	low := len(mask)*8 - bits // unused bits in front
	for i := low; i < low+n; i++ {
		mask[i/8] |= 0x80 >> (i % 8)
	}
	return mask
}

// masked returns value AND mask in canonical form. Both are aligned at their
// last byte.
func masked(value, mask []byte) []byte {
	n := max(len(value), len(mask), 1)
	out := make([]byte, n)
	for i := range n {
		out[n-1-i] = at(value, i) & at(mask, i)
	}
	return Canonical(out)
}

// at returns the i-th byte from the end, 0 beyond the start.
func at(b []byte, i int) byte {
	if i >= len(b) {
		return 0
	}
	return b[len(b)-1-i]
}

func isZero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

// prefixLen returns the number of leading ones in a mask of the given width if
// all other bits are 0, otherwise -1.
func prefixLen(bits int, mask []byte) int {
	for n := range bits + 1 {
		if bytes.Equal(Canonical(prefixMask(bits, n)), Canonical(mask)) {
			return n
		}
	}
	return -1
}
