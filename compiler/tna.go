// SPDX-License-Identifier: Apache-2.0

package compiler

import "github.com/pauseless/pauseless/internal/diag"

// CheckTNA checks a program for Tofino: its types, and that it asks for
// nothing that the hardware cannot do. Compile does so too, and goes on.
func CheckTNA(opts Options) (*Result, diag.List) {
	opts.Stop, opts.tofino = AfterCheck, true
	return Compile(opts)
}
