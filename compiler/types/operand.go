// SPDX-License-Identifier: Apache-2.0

package types

import (
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
)

// mode is the kind of an operand.
type mode uint8

const (
	invalid  mode = iota // an error was reported
	novalue              // the call of a void function
	typexpr              // a type
	constant             // known at compile time; val is nil if only at instantiation
	value                // computed
	variable             // can be assigned to
	thing                // an object without a value: an instance, table, action or function
)

// operand is the result of checking an expression.
type operand struct {
	mode mode
	typ  Type
	val  Value
	expr syntax.Expr
	// readonly is the reason why a value that looks like a variable cannot be
	// assigned to.
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

// describe returns the operand as messages show it.
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

// typeText returns a type as messages show it.
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
