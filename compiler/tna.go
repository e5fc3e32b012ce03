// SPDX-License-Identifier: Apache-2.0

package compiler

import (
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/tna"
	"github.com/pauseless/pauseless/internal/diag"
)

// CheckTNA checks a program for Tofino: its types, and that it asks for
// nothing that the hardware cannot do. Such programs are compiled by p4c's
// Tofino backend.
func CheckTNA(opts Options) (*Result, diag.List) {
	set := &source.Set{}
	rep := &source.Reporter{Set: set}
	r := &Result{Set: set}
	opts.Stop = AfterCheck
	opts.Defines = append([]string{"__TARGET_TOFINO__=1"}, opts.Defines...)
	r.compile(opts, rep)
	if !rep.Failed() {
		tna.Check(r.Tree, r.Types, rep)
	}
	rep.List.Sort()
	return r, rep.List
}
