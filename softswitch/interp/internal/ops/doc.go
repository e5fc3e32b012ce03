// SPDX-License-Identifier: Apache-2.0

// Package ops is what the stages of softswitch/interp exchange: the instructions of a
// register machine, what they refer to, such as headers, tables and calculations, and a
// Program or Draft of them. Program.Print is their text form. It refers to no stage.
//
//	instr.go                                  the instructions
//	program.go, draft.go, table.go, calc.go,
//	operands.go, mathunit.go                  what they refer to
//	architecture.go, layout.go, rows.go       fields of an architecture, slots of headers, cells of registers
//	move.go, match.go, algorithm.go           bytes of headers, entries of tables, hashes
//	native.go                                 a program as machine code
//	check.go, print.go                        the bounds of slots and jumps; the text form
package ops
