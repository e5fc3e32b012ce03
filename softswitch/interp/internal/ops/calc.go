// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"slices"

	"github.com/pauseless/pauseless/internal/bitvec"
)

// Calc is a hash or checksum over the concatenation of inputs. It omits fields
// of invalid headers.
type Calc struct {
	Name    string
	Algo    *Algorithm
	Inputs  []CalcInput
	Payload bool
	Bits    int // of all inputs if all are valid
	// Aligned is true if every input is whole bytes, so that no shifts are needed.
	Aligned bool
	// Sums are the summands of an Internet checksum, for use if all headers in
	// valid are valid.
	Sums  []SumPart
	Valid []Slot
	// Words are the inputs of a CRC, under the same condition.
	Words []CRCWord
}

// CalcInput is one input.
type CalcInput struct {
	Slot  Slot
	Limbs uint8
	Width int
	Valid Slot // NoValid: always present
	// Value is a constant; nil for fields.
	Value []uint64
	// Header is a whole header; nil for others.
	Header *Header
	Varbit bool // the variable-length field of header
}

// SumPart is a slot's part in an Internet checksum.
type SumPart struct {
	Slot  Slot
	Shift uint8 // left, to where the bits are in a 16-bit word
	Mask  uint64
}

// PlanSum prepares the fast computation of an Internet checksum: modulo 65535,
// the sum of 16-bit words is the sum of all fields, each shifted to the
// position of its last bit in its word.
func (k *Calc) PlanSum() {
	if k.Bits%8 != 0 || k.Payload && k.Bits%16 != 0 {
		return
	}
	at := 0
	for _, in := range k.Inputs {
		if in.Header != nil {
			k.Sums = nil
			return
		}
		if in.Valid != NoValid && !slices.Contains(k.Valid, in.Valid) {
			k.Valid = append(k.Valid, in.Valid)
		}
		at += in.Width
		if in.Value != nil {
			continue // added below
		}
		for limb := range int(in.Limbs) {
			end := at - 64*limb
			width := min(64, in.Width-64*limb)
			k.Sums = append(k.Sums, SumPart{in.Slot + Slot(limb), uint8((16 - end%16) % 16), MaskOf(width)})
		}
	}
	for _, in := range k.Inputs {
		if in.Value != nil && !bitvec.IsZero(in.Value) {
			k.Sums = nil // rare: the general method adds constants
			return
		}
	}
}

// CRCWord is a slot's bytes in a CRC: its low bytes, the highest first.
type CRCWord struct {
	Slot  Slot
	Bytes uint8
}

// PlanCRC prepares the fast computation of a CRC over fields of whole bytes,
// one slot each.
func (k *Calc) PlanCRC() {
	if !k.Aligned || k.Payload {
		return
	}
	for _, in := range k.Inputs {
		if in.Header != nil || in.Value != nil || in.Limbs != 1 {
			k.Words = nil
			return
		}
		if in.Valid != NoValid && !slices.Contains(k.Valid, in.Valid) {
			k.Valid = append(k.Valid, in.Valid)
		}
		k.Words = append(k.Words, CRCWord{in.Slot, uint8(in.Width / 8)})
	}
}

// Checksum is a checksum field to verify or update.
type Checksum struct {
	Name   string
	Calc   int
	Target FieldAt
	Valid  Slot // of the target's header
}
