// SPDX-License-Identifier: Apache-2.0

package ops

// Native is a program as instructions of the processor.
//
// Each instruction of the register machine becomes a few of the processor's that
// work on the same slots in memory. Where the translator has none, as for most hashes and
// for keys of more than a few bits, the code returns to Go, which executes the
// instruction and enters the code again behind it.
type Native struct {
	Code []byte
	// Address has the addresses of the instructions at which Go may enter, zero for
	// others. The code itself uses them.
	Address []uintptr
	Clear   uintptr // address of the code that clears slots for a new packet
	Arrive  uintptr // address of the code that starts a packet and falls through to the parser
	Deparse [Gresses]Deparser
	// Of programs with Options.Names: where the code of each instruction begins, and the
	// addresses in Go's memory that the code contains.
	Starts []int
	Memory []uint64
}

// Leave is a flag of what the code returns, the number of an instruction that Go has
// to execute: Go then interprets the rest, because it cannot enter behind that
// instruction. This is rare: a packet is too short, or an index too large.
const Leave = 1 << 30

// Deparser has the addresses of code that does the work of a deparser, zero for none.
//
// The code at Find compares the valid headers with the parsed ones. If they are the
// same, it writes the changed fields over the packet's bytes. If bytes have to move,
// it moves them first. If they are too few or too many, or the frame has no room, it
// sets Machine.found to ToMove: Go moves them and enters at Place, which writes changed
// fields and new headers. What shift cannot do either is ToRewrite.
type Deparser struct{ Find, Place uintptr }

// What the code of a deparser leaves to do.
const (
	ToMove    = 1
	ToRewrite = 2 // Machine.found is 0 if nothing is to be done
)
