// SPDX-License-Identifier: Apache-2.0

// Package include has the P4 files that come with the compiler: the core
// library and the declarations of the architectures it knows. They have the
// names and signatures that p4c's have, so that a program compiles with
// either.
package include

import "embed"

// Files holds the P4 files.
//
//go:embed *.p4
var Files embed.FS

// Prefix is put before the names of these files in positions.
const Prefix = "p4include/"
