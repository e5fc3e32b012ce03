// SPDX-License-Identifier: Apache-2.0

// Package compile translates BMv2 JSON to the instructions of package ops: it declares
// the file's objects, finds which part of the program uses each field, gives the used
// ones slots, emits code for parsers, pipelines and deparsers, has package optimise
// rewrite it, and resolves labels and constants.
//
//	compile.go, compiler.go             order of the steps; code, labels, constants, errors
//	layout.go, usage.go                 slots of fields, and the uses of fields
//	genparser.go, genbytes.go           parsers, and transitions on the bytes of a header
//	gencontrol.go, genaction.go         controls with their tables, and actions
//	expr.go, genexpr.go, genheader.go   expressions, and operations on headers as a whole
//	gencalc.go, genmath.go, polynomial.go   hashes, checksums, deparsers; math units; CRCs
//	guess.go, names.go, trace.go        keys to prefetch, names for Print, steps to report
package compile
