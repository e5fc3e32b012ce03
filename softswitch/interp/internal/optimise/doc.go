// SPDX-License-Identifier: Apache-2.0

// Package optimise rewrites programs before they run: Run a Draft, whose instructions it
// moves and removes; KeepAll only what a Draft needs to run unoptimised; Fuse a finished
// Program, in which it merges instructions for the interpreter. Text before it:
// `pauseless compile --print plain`, and after it: `--print ops`.
//
//	optimise.go   the order of the passes; fields read where they are used; dead code; slots to clear and to keep
//	number.go     repeated computations, known values and decided branches
//	combine.go    pairs of instructions as one; the order of code
//	effects.go    what an instruction reads and writes
//	fuse.go       runs of instructions as one
package optimise
