// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
)

// A packet's fields live in slots of 64 bits, f[0], f[1], …; a field wider
// than that has several, low bits first. A signed field is kept sign-extended.
//
//	fields of metadata that only parser and ingress use
//	─ shared ─ what a packet keeps while it is queued:
//	fields of metadata that egress uses too
//	one block for each header: its validity, where its bytes are, its fields
//	stack counters, what the architecture keeps (SysSlots)
//	─ FieldsEnd ─ not cleared from packet to packet:
//	action parameters, temporaries, constants
//
// Only fields that some part of the program uses have slots. The deparser
// leaves the bytes of others in the packet unchanged.
type Slot = uint16

// MaxSlots limits the slots of a program, because slot numbers have 16 bits.
const MaxSlots = 1 << 16

// NoSlot marks a field that the program does not use.
const NoSlot = -1

// HeaderType is the layout of a header and of the block of each instance.
type HeaderType struct {
	Name   string
	Fields []FieldType
	Bits   int // of the fixed-width fields
	Varbit int // index of the variable-length field, or −1
	// MaxBytes limits a header with a variable-length field; 0 is no limit.
	MaxBytes int
	Size     int      // slots of a block
	Loads    []Move   // for extraction
	Stores   []Move   // for deparsing over the packet's bytes
	All      []Move   // for deparsing a header that was not extracted
	Words    []Bytes8 // as all, if the header has at least eight bytes and no variable-length field
	Pos      diag.Pos
}

// Positions in a block.
const (
	RelValid  = 0 // 1 if the header is valid
	RelOffset = 1 // offset of its bytes in the packet, plus one; 0: none
	RelDirty  = 2 // of simple headers: a bit for each of the type's stores to execute
	RelVarLen = 3 // bits of the varbit field, if the type has one
	RelVarOff = 4 // its offset in the packet, in bits
)

// RelFields returns the position of the fields in a block.
func (t *HeaderType) RelFields() int {
	if t.Varbit >= 0 {
		return 5
	}
	return 3
}

// FieldType is a field of a header type.
type FieldType struct {
	Name       string
	Width      int // 0 for the varbit field
	Signed     bool
	Saturating bool
	Bit        int // offset in the header; the varbit field counts 0
	AfterVar   bool
	Use        Use
	Rel        int // position in a block, or NoSlot
}

// Use is how a program uses a field.
type Use uint8

const (
	UseIngress Use = 1 << iota // parser, checks after it, ingress
	UseEgress                  // egress and everything after it
	UseWrite                   // assigned, apart from extraction
	UseSet                     // metadata: can have a value in ingress
)

// Header is a header or metadata instance.
type Header struct {
	Name string
	Type *HeaderType
	Base int // of its block; metadata has none
	// Slots are those of the fields of metadata; nil for headers.
	Slots []int
	Union *Union
	Stack *Stack
	Use   []Use // metadata: of the fields
	// Simple is true if the deparser writes only fields marked in RelDirty.
	Simple bool
	Pos    diag.Pos
}

// Field returns the first slot of a field, or NoSlot.
func (h *Header) Field(i int) int {
	if h.Slots != nil {
		return h.Slots[i]
	}
	if rel := h.Type.Fields[i].Rel; rel >= 0 {
		return h.Base + rel
	}
	return NoSlot
}

// Stack is an array of headers with adjacent blocks.
type Stack struct {
	Name     string
	Type     *HeaderType
	Elements []*Header
	Base     int
	Next     int // slot of the counter
}

// Union is a header union whose members have adjacent blocks.
type Union struct {
	Name    string
	Type    *bmv2json.HeaderUnionType
	Members []*Header
	Stack   *UnionStack
}

// Siblings returns the distances of the other members' blocks from that of
// member i.
func (u *Union) Siblings(i int) []int {
	var rel []int
	for j, h := range u.Members {
		if j != i {
			rel = append(rel, h.Base-u.Members[i].Base)
		}
	}
	return rel
}

// UnionStack is an array of unions.
type UnionStack struct {
	Name     string
	Elements []*Union
	Next     int
}

// Stride returns the distance between elements, in slots.
func (s *UnionStack) Stride() int {
	if len(s.Elements) < 2 {
		return 0
	}
	return s.Elements[1].Members[0].Base - s.Elements[0].Members[0].Base
}

// Slots that the architecture and the machine use in every packet.
const (
	SysPayload    = iota // offset of the unparsed rest of the packet
	SysTruncate          // maximum length after deparsing, plus one; 0: none
	SysLength            // simple_switch's packet length register
	SysIngressLen        // length on arrival, for counters and meters
	SysExit              // set by exit until the pipeline ends
	SysSlots
)

// AllBits is the mask of a slot.
const AllBits = ^uint64(0)

// MaskOf returns the mask of the low width bits of a slot.
func MaskOf(width int) uint64 {
	if width >= 64 {
		return AllBits
	}
	return 1<<width - 1
}
