// SPDX-License-Identifier: Apache-2.0

package syntax

import "github.com/pauseless/pauseless/compiler/source"

// Decl is a declaration. Declarations inside blocks are statements too.
type Decl interface {
	Node
	aDecl()
}

// NamedDecl is a declaration of one thing with a name.
type NamedDecl interface {
	Decl
	Ident() *Ident
	Annots() []*Annotation
}

type decl struct {
	node
	Annotations []*Annotation
	Name        *Ident
}

func (*decl) aDecl()                  {}
func (d *decl) Ident() *Ident         { return d.Name }
func (d *decl) Annots() []*Annotation { return d.Annotations }

// Declarations.
type (
	// BadDecl is in the place of a syntax error.
	BadDecl struct{ decl }

	// ConstDecl is const Type Name = Value.
	ConstDecl struct {
		decl
		Type  TypeExpr
		Value Expr
	}

	// VarDecl is Type Name = Init, where Init may be nil.
	VarDecl struct {
		decl
		Type TypeExpr
		Init Expr
	}

	// InstanceDecl is Type(Args) Name, optionally with abstract methods in Body.
	InstanceDecl struct {
		decl
		Call    *CallExpr
		HasBody bool
		Body    []Decl
	}

	// FuncDecl is a function, method, extern function or constructor prototype.
	// Body is nil in a prototype, Result in a constructor.
	FuncDecl struct {
		decl
		Result     TypeExpr
		TypeParams []*Ident
		Params     []*Param
		Body       *BlockStmt
		Abstract   bool
		Extern     bool
	}

	// ActionDecl is an action.
	ActionDecl struct {
		decl
		Params []*Param
		Body   *BlockStmt
	}

	// ExternDecl is an extern object type.
	ExternDecl struct {
		decl
		TypeParams []*Ident
		Methods    []*FuncDecl
	}

	// ParserDecl is a parser or, without HasBody, a parser type.
	ParserDecl struct {
		decl
		TypeParams []*Ident
		Params     []*Param
		HasBody    bool
		CtorParams []*Param
		Locals     []Decl
		States     []*StateDecl
	}

	// ControlDecl is a control or, without HasBody, a control type.
	ControlDecl struct {
		decl
		TypeParams []*Ident
		Params     []*Param
		HasBody    bool
		CtorParams []*Param
		Locals     []Decl
		Body       *BlockStmt
	}

	// PackageDecl is a package type.
	PackageDecl struct {
		decl
		TypeParams []*Ident
		Params     []*Param
	}

	// StructDecl is a header, header_union or struct, depending on Kind.
	StructDecl struct {
		decl
		Kind       Kind
		TypeParams []*Ident
		Fields     []*Field
	}

	// EnumDecl is an enum; Type is nil if it has no underlying type.
	EnumDecl struct {
		decl
		Type    TypeExpr
		Members []*EnumMember
	}

	// ErrorDecl adds errors, MatchKindDecl match kinds.
	ErrorDecl struct {
		decl
		Members []*Ident
	}
	MatchKindDecl struct {
		decl
		Members []*Ident
	}

	// TypedefDecl is typedef or, with New, type. If it declares a type, Decl is set
	// instead of Type.
	TypedefDecl struct {
		decl
		New  bool
		Type TypeExpr
		Decl Decl
	}

	// ValueSetDecl is a parser value set.
	ValueSetDecl struct {
		decl
		Elem TypeExpr
		Size Expr
	}

	// StateDecl is a parser state. Next is nil, a NameExpr or a SelectExpr.
	StateDecl struct {
		decl
		Body []Stmt
		Next Expr
	}

	// TableDecl is a table.
	TableDecl struct {
		decl
		Props []*Property
	}
)

// Field is a field of a struct-like type.
type Field struct {
	node
	Annotations []*Annotation
	Type        TypeExpr
	Name        *Ident
}

// EnumMember is a member of an enum. Value is nil without an underlying type.
type EnumMember struct {
	node
	Name  *Ident
	Value Expr
}

// Property is a property of a table. The name determines which of Keys,
// Actions, Entries and Value is set.
type Property struct {
	node
	Annotations []*Annotation
	Name        *Ident
	Const       bool
	Keys        []*KeyElement
	Actions     []*ActionRef
	Entries     []*Entry
	Value       Expr
}

// KeyElement is expression : match kind.
type KeyElement struct {
	node
	Annotations []*Annotation
	X           Expr
	Match       *Ident
}

// ActionRef is an action in a table's list or entry. X is the name, or a
// CallExpr of it.
type ActionRef struct {
	node
	Annotations []*Annotation
	X           Expr
}

// Entry is an entry of a table.
type Entry struct {
	node
	Annotations []*Annotation
	Const       bool
	Priority    Expr // or nil
	Keys        Expr // a TupleExpr if there are several
	Action      *ActionRef
}

// Stmt is a statement.
type Stmt interface {
	Node
	aStmt()
}

type stmt struct{ node }

func (*stmt) aStmt() {}

// Statements.
type (
	// BadStmt is in the place of a syntax error.
	BadStmt struct{ stmt }

	// DeclStmt is a constant, variable or instance in a block.
	DeclStmt struct {
		stmt
		Decl Decl
	}

	// EmptyStmt is a lone semicolon.
	EmptyStmt struct{ stmt }

	// AssignStmt is X = Y or X op= Y.
	AssignStmt struct {
		stmt
		Op    Kind
		OpPos source.Pos
		X, Y  Expr
	}

	// CallStmt is a call, including T.apply(…).
	CallStmt struct {
		stmt
		Call *CallExpr
	}

	// BlockStmt is { … }.
	BlockStmt struct {
		stmt
		Annotations []*Annotation
		Stmts       []Stmt
	}

	// IfStmt is if (Cond) Then else Else, where Else may be nil.
	IfStmt struct {
		stmt
		Cond       Expr
		Then, Else Stmt
	}

	// SwitchStmt is switch (X) { … }.
	SwitchStmt struct {
		stmt
		X     Expr
		Cases []*SwitchCase
	}

	// ForStmt is for (Init; Cond; Update) Body.
	ForStmt struct {
		stmt
		Annotations []*Annotation
		Init        []Stmt
		Cond        Expr
		Update      []Stmt
		Body        Stmt
	}

	// ForInStmt is for (Var in X) Body. X is a BinaryExpr with Range, or a
	// list or stack.
	ForInStmt struct {
		stmt
		Annotations []*Annotation
		Var         *VarDecl
		X           Expr
		Body        Stmt
	}

	// ReturnStmt is return X, where X may be nil.
	ReturnStmt struct {
		stmt
		X Expr
	}

	ExitStmt     struct{ stmt }
	BreakStmt    struct{ stmt }
	ContinueStmt struct{ stmt }
)

// SwitchCase is one case. Without Body it falls through.
type SwitchCase struct {
	node
	Label Expr // a DefaultExpr for default
	Body  *BlockStmt
}

// Annot returns the annotation of the given name, or nil.
func Annot(list []*Annotation, name string) *Annotation {
	for _, a := range list {
		if a.Name == name {
			return a
		}
	}
	return nil
}
