// SPDX-License-Identifier: Apache-2.0

// Package interp executes BMv2 JSON: it translates a program to the instructions of a
// register machine and executes them on the slots of one packet at a time. Queues, clones
// and ports between the pipelines belong to the architecture, which makes a Machine parse,
// run a pipeline and deparse, and reads the metadata.
//
// A Program is immutable code. A State is a program's state: tables, registers,
// counters, meters. A Machine executes a Program with a State.
//
// The stages are packages, and their text forms are what `pauseless compile --print` prints:
//
//	stage                 from → to                            text
//	internal/compile      BMv2 JSON → ops.Draft                plain: not optimised
//	internal/optimise     ops.Draft → ops.Draft, ops.Program   ops: what is interpreted
//	internal/native       ops.Program → ops.Native             native: machine code of x86-64 Linux
//	interp                ops.Program, State, packet → packet  Machine.Trace, as `pauseless trace` prints it
//
// internal/ops, the instructions with what they refer to, is what they exchange.
// ops imports no stage, optimise and native import ops, compile imports ops and optimise,
// and interp imports ops, compile and native; internal/archtest verifies it. Machine code
// returns to the interpreter for what it has no translation of: see enter.go.
package interp
