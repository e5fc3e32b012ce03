// SPDX-License-Identifier: Apache-2.0

// Package include has the P4 files of the compiler: the core library and the
// declarations of the supported architectures. Names and signatures are p4c's,
// so that a program compiles with either compiler.
package include

import (
	"embed"
	"path"
	"strings"
)

// Files holds the P4 files.
//
//go:embed *.p4
var Files embed.FS

// Prefix precedes the names of these files in positions.
const Prefix = "p4include/"

// Is reports whether a file declares an architecture or the core library: it is one of
// Files, or has the name of one, such as p4c's own v1model.p4 in a folder of the user.
func Is(file string) bool {
	if strings.HasPrefix(file, Prefix) {
		return true
	}
	f, err := Files.Open(path.Base(file))
	if err != nil {
		return false
	}
	f.Close()
	return true
}

// Foreign says what the files of architectures are that the compiler does not have.
var Foreign = map[string]string{
	"t2na.p4":       "it is the architecture of Tofino 2; tna.p4 is that of Tofino 1",
	"psa.p4":        "it is the Portable Switch Architecture; use v1model.p4 or tna.p4",
	"pna.p4":        "it is the Portable NIC Architecture; use v1model.p4 or tna.p4",
	"ebpf_model.p4": "it is the architecture of eBPF filters; use v1model.p4 or tna.p4",
	"ubpf_model.p4": "it is the architecture of uBPF programs; use v1model.p4 or tna.p4",
}
