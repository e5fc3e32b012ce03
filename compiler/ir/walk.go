// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// A DigestCall is a call of v1model's digest with its name for the control plane: that of
// its struct, or one with a number if its data has no name of its own (Unnamed).
type DigestCall struct {
	Call    *Call
	Name    string
	Unnamed bool
}

// Digests returns the calls of v1model's digest.
func (p *Program) Digests() (list []DigestCall) {
	unnamed := 0
	find := func(s Stmt) {
		call, ok := s.(*Call)
		if !ok || call.Object != nil || call.Name != "digest" || len(call.TypeArgs) != 1 {
			return
		}
		t, ok := call.TypeArgs[0].(*types.Struct)
		if !ok || t.Decl == nil {
			list = append(list, DigestCall{call, fmt.Sprintf("digest_%d", unnamed), true})
			unnamed++
			return
		}
		name := t.Name
		if a := syntax.Annot(t.Decl.Annotations, "name"); a != nil {
			if s, ok := syntax.AnnotString(a); ok {
				name = s
			}
		}
		list = append(list, DigestCall{call, strings.TrimPrefix(name, "."), false})
	}
	for _, a := range p.Actions {
		WalkStmts(a.Body, find)
	}
	for _, c := range p.Controls {
		WalkStmts(c.Body, find)
	}
	return list
}

// WalkStmts calls f for all statements of the list, recursively.
func WalkStmts(list []Stmt, f func(Stmt)) {
	for _, s := range list {
		f(s)
		switch s := s.(type) {
		case *If:
			WalkStmts(s.Then, f)
			WalkStmts(s.Else, f)
		case *Block:
			WalkStmts(s.Body, f)
		case *Loop:
			WalkStmts(s.Before, f)
			WalkStmts(s.Body, f)
			WalkStmts(s.Update, f)
		case *Apply:
			WalkStmts(s.Hit, f)
			WalkStmts(s.Miss, f)
			for _, c := range s.Cases {
				WalkStmts(c.Body, f)
			}
		}
	}
}
