// SPDX-License-Identifier: Apache-2.0

// Package p4src has the generated programs of the built-in profiles without a
// reading, so that they can be read without generating anything and run from the binary. A test
// of package gen keeps them equal to what the generator writes. Those for
// Tofino, in tna, are for readers and for Tofino's compiler.
package p4src

import "embed"

// FS has v1model/NAME.p4, v1model/NAME.entries and v1model/NAME.manifest.json, and
// v1model/p4info.txtpb, the objects of all programs that controllers see.
//
//go:embed v1model
var FS embed.FS
