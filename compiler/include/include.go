// SPDX-License-Identifier: Apache-2.0

// Package include has the P4 files of the compiler: the core library and the
// declarations of the supported architectures. Names and signatures are p4c's,
// so that a program compiles with either compiler.
package include

import "embed"

// Files holds the P4 files.
//
//go:embed *.p4
var Files embed.FS

// Prefix precedes the names of these files in positions.
const Prefix = "p4include/"
