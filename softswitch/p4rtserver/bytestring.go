// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"math/bits"

	"github.com/pauseless/pauseless/internal/bitvec"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Byte strings (section 8.4 of the specification) are big-endian. Any number of
// leading zeros is accepted, none are sent.

// parseBytes parses an unsigned value of at most width bits. An empty string or
// a value that does not fit is OUT_OF_RANGE.
func parseBytes(b []byte, width int, what string) ([]uint64, error) {
	if len(b) == 0 {
		return nil, status.Errorf(codes.OutOfRange, "%s: the byte string is empty", what)
	}
	n := len(b)
	for len(b) > 1 && b[0] == 0 {
		b = b[1:]
	}
	if 8*(len(b)-1)+bits.Len8(b[0]) > width {
		return nil, status.Errorf(codes.OutOfRange, "%s: the %d bytes do not fit %d bits", what, n, width)
	}
	v := make([]uint64, bitvec.Limbs(width))
	bitvec.FromBytes(v, b)
	return v, nil
}

// invalid converts OUT_OF_RANGE to INVALID_ARGUMENT, which the specification
// requires for any error in a match or an action (9.1.1).
func invalid(err error) error {
	if status.Code(err) == codes.OutOfRange {
		return status.Error(codes.InvalidArgument, status.Convert(err).Message())
	}
	return err
}

// parseSigned parses a signed value of width bits.
func parseSigned(b []byte, width int, what string) ([]uint64, error) {
	if len(b) == 0 {
		return nil, status.Errorf(codes.OutOfRange, "%s: the byte string is empty", what)
	}
	n := len(b)
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	limbs := bitvec.Limbs(8*len(b) + 1)
	v := make([]uint64, limbs)
	bitvec.FromBytes(v, b)
	bitvec.SignExtend(v, 8*len(b))
	cut := make([]uint64, max(limbs, bitvec.Limbs(width)))
	bitvec.Extend(cut, v, true)
	again := append([]uint64(nil), cut...)
	bitvec.SignExtend(again, width)
	if bitvec.Cmp(cut, again) != 0 {
		return nil, status.Errorf(codes.OutOfRange, "%s: the %d bytes do not fit %d signed bits", what, n, width)
	}
	bitvec.Mask(cut, width)
	return cut[:bitvec.Limbs(width)], nil
}

// formatBytes returns an unsigned value as the shortest string.
func formatBytes(v []uint64) []byte {
	return bitvec.AppendBytes(nil, v, max(1, (bitvec.BitLen(v)+7)/8))
}

// portBytes returns the number of a port as the shortest string.
func portBytes(port int) []byte { return formatBytes([]uint64{uint64(port)}) }

// formatSigned returns a value of width bits in two's complement as the
// shortest string.
func formatSigned(v []uint64, width int) []byte {
	wide := make([]uint64, bitvec.Limbs(width+1))
	copy(wide, v)
	bitvec.SignExtend(wide, width)
	b := bitvec.AppendBytes(nil, wide, 8*len(wide))
	for len(b) > 1 && (b[0] == 0 && b[1] < 0x80 || b[0] == 0xff && b[1] >= 0x80) {
		b = b[1:]
	}
	return b
}
