// SPDX-License-Identifier: Apache-2.0

package bmv2json

import "github.com/pauseless/pauseless/internal/diag"

// A Value is the format's {"type": …, "value": …} object: an operand of an
// expression, a parameter of a primitive or parser operation, an element of a
// key or of a field list. Type decides which fields are used: see the constants.
type Value struct {
	Type string

	Name   string // text, or the name of an object
	Field  string // of the header, stack or union member
	Member string // of a union stack
	Bool   bool
	Index  int
	Width  int      // bits; 0 if the file has none
	Op     *Op      // an operation on operands
	Inner  *Value   // a wrapped operand, or an index
	List   []*Value // parameters

	Pos diag.Pos
}

// Types of values, and the fields that each uses.
const (
	TypeField           = "field"              // Name is the header, Field the field
	TypeHexStr          = "hexstr"             // Name is the text; Width in calculations and field lists
	TypeBool            = "bool"               // Bool
	TypeString          = "string"             // Name is the text
	TypeHeader          = "header"             // Name
	TypeHeaderStack     = "header_stack"       // Name
	TypeHeaderUnion     = "header_union"       // Name
	TypeUnionStack      = "header_union_stack" // Name
	TypeStackField      = "stack_field"        // Name is the stack, Field the field of its last header
	TypeUnionStackField = "union_stack_field"  // Name is the stack, Member the header, Field the field
	TypeRuntimeData     = "runtime_data"       // Index of the action parameter
	TypeLocal           = "local"              // Index of the action parameter, inside an expression
	TypeLookahead       = "lookahead"          // Index is the bit offset, Width the bits
	TypeRegister        = "register"           // Name is the array, Inner the index
	TypeExpression      = "expression"         // Op, or Inner for a wrapped operand
	TypeParams          = "parameters_vector"  // List
	TypeFieldList       = "field_list"         // List
	TypeCalculation     = "calculation"        // Name
	TypeMeterArray      = "meter_array"        // Name
	TypeCounterArray    = "counter_array"      // Name
	TypeRegisterArray   = "register_array"     // Name
	TypeExtern          = "extern"             // Name
	TypePayload         = "payload"            // nothing

	// Types of an extract operation's first parameter.
	TypeRegular   = "regular"     // Name is the header
	TypeNext      = "stack"       // Name is the stack
	TypeNextUnion = "union_stack" // Name is the stack, Field the member
)

// Op is an operation in an expression: arithmetic (+ - * << >> & | ^ ~),
// comparison (== != < <= > >=), logic (and or not), ?, valid, valid_union,
// d2b, b2d, two_comp_mod, sat_cast, usat_cast, dereference_header_stack,
// dereference_union_stack, last_stack_index, size_stack, access_field and
// access_union_header.
type Op struct {
	Op    string
	Left  *Value // nil for unary operations
	Right *Value
	Cond  *Value // of ? only
	// Offset takes Right's place in access_field and access_union_header: the
	// number of the field or member.
	Offset int

	Pos diag.Pos
}

// Field returns the value that stands for a field of a header.
func Field(header, field string) *Value {
	return &Value{Type: TypeField, Name: header, Field: field}
}

// Hex returns a constant, its text in the format's notation: "0x1f".
func Hex(text string) *Value { return &Value{Type: TypeHexStr, Name: text} }

// Named returns a value that refers to an object by name: a header, a stack,
// an array, a calculation; or a string.
func Named(typ, name string) *Value { return &Value{Type: typ, Name: name} }

// RuntimeData returns the value of an action parameter, as a parameter of a
// primitive.
func RuntimeData(index int) *Value { return &Value{Type: TypeRuntimeData, Index: index} }

// Local returns the value of an action parameter, inside an expression.
func Local(index int) *Value { return &Value{Type: TypeLocal, Index: index} }

// Expr returns an operation. The left operand of a unary one is nil.
func Expr(op string, left, right *Value) *Value {
	return &Value{Type: TypeExpression, Op: &Op{Op: op, Left: left, Right: right}}
}

// Wrap returns v inside one more expression object: the form of expressions that
// are parameters of primitives.
func Wrap(v *Value) *Value { return &Value{Type: TypeExpression, Inner: v} }
