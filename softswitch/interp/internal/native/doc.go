// SPDX-License-Identifier: Apache-2.0

// Package native translates programs to machine code of x86-64 Linux: Translate, and Print
// for the text, which is `pauseless compile --print native`. The code works on the slots
// of the register machine; what it shares with the Machine that executes it are the
// constants of package ops, and Offsets. On other platforms there is no code.
//
//	translate_amd64.go   instructions, and registers that hold slots
//	table_amd64.go       tables that are indexed, or whose recent keys are kept
//	hash_amd64.go        CRCs
//	chain_amd64.go       the start of a packet; from a phase to the next
//	clear_amd64.go       the slots that a new packet needs empty
//	deparse_amd64.go     deparsers
package native
