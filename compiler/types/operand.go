// SPDX-License-Identifier: Apache-2.0

package types

import (
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
)

// mode says what an operand is besides its type.
type mode uint8

const (
	invalid  mode = iota // reported already
	novalue              // the call of a void function
	typexpr              // a type
	constant             // known at compile time; val is nil if only at instantiation
	value                // computed
	variable             // can be assigned to
	thing                // an instance, table, action, function: what has no value
)

// operand is what an expression was found to be.
type operand struct {
	mode mode
	typ  Type
	val  Value
	expr syntax.Expr
	// readonly says, of a value that looks like a variable, why it is none.
	readonly string
}

func (x *operand) pos() source.Pos { return x.expr.Pos() }

func (x *operand) invalidate() {
	x.mode, x.typ, x.val = invalid, Invalid, nil
}

func (x *operand) set(m mode, t Type, v Value) {
	x.mode, x.typ, x.val = m, t, v
	x.readonly = ""
}

// isConst reports whether x is known at compile time.
func (x *operand) isConst() bool { return x.mode == constant }

// describe names an operand in messages.
func (x *operand) describe() string {
	text := syntax.Text(x.expr)
	if len(text) > 60 {
		text = text[:57] + "…"
	}
	switch x.mode {
	case novalue:
		return text + " (no value)"
	case typexpr:
		return text + " (a type)"
	}
	return text + " (" + typeText(x.typ) + ")"
}

// typeText names a type in messages.
func typeText(t Type) string {
	switch t := t.(type) {
	case *Struct:
		return t.Kind.String() + " " + t.String()
	case *Enum:
		return "enum " + t.Name
	case *Extern:
		return "extern " + t.String()
	case *Block:
		return t.Kind.String() + " " + t.String()
	case *Basic:
		if t == Default {
			return "a default value"
		}
	}
	return t.String()
}
