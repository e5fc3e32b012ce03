// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"math/big"
	"slices"

	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/ir"
)

// listed has the functions of v1model.p4 that name fields in the call instead of by
// @field_list, and those that replace them.
var listed = map[string]string{
	"clone3":      "clone_preserving_field_list",
	"resubmit":    "resubmit_preserving_field_list",
	"recirculate": "recirculate_preserving_field_list",
}

// preserve replaces a call of a deprecated function: the user's metadata in its last argument
// become a field list of their own. Other values there, such as headers, are not preserved:
// the parser writes them again.
func (l *lowerer) preserve(call *ir.Call) {
	now, old := listed[call.Name]
	if !old || call.Object != nil || l.arch != arch.V1Model {
		return
	}
	last := len(call.Args) - 1
	var vars []*ir.Var
	metadata(call.Args[last], &vars)
	n := slices.IndexFunc(l.preserved, func(have []*ir.Var) bool { return slices.Equal(have, vars) })
	if n < 0 {
		n = len(l.preserved)
		l.preserved = append(l.preserved, vars)
		for _, v := range vars {
			v.Lists = append(slices.Clip(v.Lists), ir.FirstNamelessList+n)
		}
	}
	call.Name = now
	call.Args[last] = ir.Arg{X: &ir.Const{T: ir.Bit32, Val: big.NewInt(int64(ir.FirstNamelessList + n))}, Span: call.Args[last].Span}
}

// metadata appends the variables of the user's metadata in an argument, each once.
func metadata(a ir.Arg, vars *[]*ir.Var) {
	if r, ok := a.X.(*ir.VarRef); ok && r.Var.Meta && !slices.Contains(*vars, r.Var) {
		*vars = append(*vars, r.Var)
	}
	for _, e := range a.List {
		metadata(e, vars)
	}
}
