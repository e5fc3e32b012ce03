// SPDX-License-Identifier: Apache-2.0

package syntax

import (
	"fmt"
	"math/big"
	"strings"
)

// Limits of integer literals, far above the widest bit string.
const (
	maxLiteral = 4096    // digits
	maxPrefix  = 1 << 20 // the width in 8w1
)

// ParseInt returns the value of an integer literal without its width.
func ParseInt(text string) (*big.Int, bool) {
	var lit IntLit
	err := parseInt(text, &lit)
	return lit.Value, err == ""
}

// parseInt fills in value and type of an integer literal, or returns an error
// message (language spec 6.4.3.2).
func parseInt(text string, lit *IntLit) string {
	lit.Width, lit.Base = -1, 10
	whole := text
	i := 0
	for i < len(text) && isDigit(text[i]) {
		i++
	}
	if i > 0 && i < len(text) && (text[i] == 'w' || text[i] == 's') {
		width := 0
		for _, c := range text[:i] {
			if width = 10*width + int(c-'0'); width > maxPrefix {
				return "the width of " + whole + " is too large"
			}
		}
		lit.Width, lit.Signed = width, text[i] == 's'
		text = text[i+1:]
	}
	if len(text) > 1 && text[0] == '0' {
		switch text[1] | 0x20 {
		case 'x':
			lit.Base, text = 16, text[2:]
		case 'o':
			lit.Base, text = 8, text[2:]
		case 'b':
			lit.Base, text = 2, text[2:]
		case 'd':
			text = text[2:]
		}
	}
	digits := text
	if strings.IndexByte(text, '_') >= 0 {
		digits = strings.ReplaceAll(text, "_", "")
	}
	if len(digits) > maxLiteral {
		return fmt.Sprintf("a number has at most %d digits", maxLiteral)
	}
	if small, ok := smallInt(digits, lit.Base); ok {
		lit.Value = big.NewInt(small)
		return ""
	}
	v, ok := new(big.Int).SetString(digits, lit.Base)
	if !ok || digits[0] == '-' || digits[0] == '+' {
		return whole + " is not a number"
	}
	lit.Value = v
	return ""
}

// smallInt converts digits of a number that fits into 63 bits.
func smallInt(digits string, base int) (int64, bool) {
	if digits == "" || len(digits) > 12 {
		return 0, false
	}
	v := int64(0)
	for _, c := range []byte(digits) {
		d := 99
		switch {
		case isDigit(c):
			d = int(c - '0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			d = int(c|0x20-'a') + 10
		}
		if d >= base {
			return 0, false
		}
		v = v*int64(base) + int64(d)
	}
	return v, true
}
