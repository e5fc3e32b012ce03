// SPDX-License-Identifier: Apache-2.0

package compiler

import "github.com/pauseless/pauseless/internal/diag"

// CheckTNA checks a program for Tofino: its types, and whether the hardware can
// execute it. Compile makes the same checks before it generates code.
func CheckTNA(opts Options) (*Result, diag.List) {
	opts.Stop, opts.tofino = AfterCheck, true
	return Compile(opts)
}
