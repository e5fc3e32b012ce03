// SPDX-License-Identifier: Apache-2.0

package types

import (
	"strings"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// isCoreFile reports whether a declaration is in a file named core.p4.
func (c *Checker) isCoreFile(n syntax.Node) bool {
	f := c.rep.Set.FileAt(n.Pos())
	return f != nil && (f.Name == "core.p4" || strings.HasSuffix(f.Name, "/core.p4"))
}

// coreCall checks the core library's requirements on calls of its methods that
// their declarations do not express (language spec, sections 13.8 and 16.1).
func (c *Checker) coreCall(e *syntax.CallExpr, call *Call, s Subst) bool {
	f := call.Func
	if !c.isCoreFile(f.Decl) {
		return true
	}
	bad := func(n syntax.Node, format string, args ...any) bool {
		c.errorf(n.Pos(), CodeArgument, format, args...)
		return false
	}
	if call.Kind == CallFunction {
		if f.Name == "verify" && c.ctx.kind != inState && c.ctx.kind != inParser {
			c.errorf(e.Pos(), CodePlacement, "verify can only be called in a parser")
			return false
		}
		return true
	}
	if len(f.TypeParams) != 1 {
		return true
	}
	t := s[f.TypeParams[0]]
	switch call.Extern.Name + "." + f.Name {
	case "packet_in.extract":
		h, ok := t.(*Struct)
		if call.Args[0] == nil || c.info.types[call.Args[0].ID()] == Dontcare && !ok {
			return true
		}
		if !ok || h.Kind != Header {
			return bad(call.Args[0], "extract needs a header, not a value of type %s", typeText(t))
		}
		n := 0
		for _, f := range h.Fields {
			if isVarbit(f.Type) {
				n++
			}
		}
		switch {
		case len(call.Params) == 1 && n > 0:
			return bad(call.Args[0], "header %s has a varbit field, whose size must be the second argument", h.Name)
		case len(call.Params) == 2 && n != 1:
			return bad(call.Args[0], "extract with a size needs a header with one varbit field, %s has %d", h.Name, n)
		}
	case "packet_in.lookahead":
		if !fixedSize(t) {
			return bad(e, "lookahead needs a type of fixed size, not %s", typeText(t))
		}
	case "packet_out.emit":
		if !emittable(t) {
			return bad(e, "emit needs headers, not a value of type %s", typeText(t))
		}
	}
	return true
}

// fixedSize reports whether all values of type t have the same number of
// bits.
func fixedSize(t Type) bool {
	if _, ok := t.(*TypeParam); ok {
		return true
	}
	most, ok := Width(t)
	least, _ := minWidth(t)
	return ok && most == least && !hasUnion(t)
}

func hasUnion(t Type) bool {
	switch t := t.(type) {
	case *Struct:
		if t.Kind == HeaderUnion {
			return true
		}
		for _, f := range t.Fields {
			if hasUnion(f.Type) {
				return true
			}
		}
	case *Array:
		return hasUnion(t.Elem)
	}
	return false
}

// emittable reports whether t consists of headers only.
func emittable(t Type) bool {
	switch t := t.(type) {
	case *Struct:
		if t.Kind != PlainStruct {
			return true
		}
		for _, f := range t.Fields {
			if !emittable(f.Type) {
				return false
			}
		}
		return true
	case *Array:
		return t.IsStack()
	case *Tuple:
		for _, e := range t.Elems {
			if !emittable(e) {
				return false
			}
		}
		return true
	case *TypeParam:
		return true
	}
	return false
}
