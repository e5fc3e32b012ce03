// SPDX-License-Identifier: Apache-2.0

package syntax

// Walk calls f for x and, while f returns true, for the expressions in x.
func Walk(x Expr, f func(Expr) bool) {
	if x == nil || !f(x) {
		return
	}
	switch x := x.(type) {
	case *ListExpr:
		walkList(x.Elems, f)
	case *StructExpr:
		for _, v := range x.Fields {
			Walk(v.Value, f)
		}
	case *UnaryExpr:
		Walk(x.X, f)
	case *BinaryExpr:
		Walk(x.X, f)
		Walk(x.Y, f)
	case *CondExpr:
		Walk(x.Cond, f)
		Walk(x.X, f)
		Walk(x.Y, f)
	case *CastExpr:
		Walk(x.X, f)
	case *MemberExpr:
		Walk(x.X, f)
	case *IndexExpr:
		Walk(x.X, f)
		Walk(x.Index, f)
	case *SliceExpr:
		Walk(x.X, f)
		Walk(x.Hi, f)
		Walk(x.Lo, f)
	case *CallExpr:
		Walk(x.Fun, f)
		for _, a := range x.Args {
			Walk(a.Value, f)
		}
	case *TupleExpr:
		walkList(x.Elems, f)
	case *SelectExpr:
		walkList(x.Keys, f)
		for _, c := range x.Cases {
			Walk(c.Keys, f)
		}
	}
}

func walkList(list []Expr, f func(Expr) bool) {
	for _, x := range list {
		Walk(x, f)
	}
}

// WalkStmts calls f for s and for the statements in it.
func WalkStmts(s Stmt, f func(Stmt)) {
	if s == nil {
		return
	}
	f(s)
	switch s := s.(type) {
	case *BlockStmt:
		for _, t := range s.Stmts {
			WalkStmts(t, f)
		}
	case *IfStmt:
		WalkStmts(s.Then, f)
		WalkStmts(s.Else, f)
	case *SwitchStmt:
		for _, c := range s.Cases {
			if c.Body != nil {
				WalkStmts(c.Body, f)
			}
		}
	case *ForStmt:
		for _, t := range s.Init {
			WalkStmts(t, f)
		}
		for _, t := range s.Update {
			WalkStmts(t, f)
		}
		WalkStmts(s.Body, f)
	case *ForInStmt:
		WalkStmts(s.Body, f)
	}
}

// WalkStmt calls f for all expressions in a statement.
func WalkStmt(s Stmt, f func(Expr) bool) {
	WalkStmts(s, func(s Stmt) {
		switch s := s.(type) {
		case *DeclStmt:
			switch d := s.Decl.(type) {
			case *VarDecl:
				Walk(d.Init, f)
			case *ConstDecl:
				Walk(d.Value, f)
			}
		case *AssignStmt:
			Walk(s.X, f)
			Walk(s.Y, f)
		case *CallStmt:
			Walk(s.Call, f)
		case *IfStmt:
			Walk(s.Cond, f)
		case *SwitchStmt:
			Walk(s.X, f)
			for _, c := range s.Cases {
				Walk(c.Label, f)
			}
		case *ForStmt:
			Walk(s.Cond, f)
		case *ForInStmt:
			Walk(s.X, f)
		case *ReturnStmt:
			Walk(s.X, f)
		}
	})
}

// WalkDecl calls f for all expressions in a declaration.
func WalkDecl(d Decl, f func(Expr) bool) {
	params := func(list []*Param) {
		for _, p := range list {
			Walk(p.Default, f)
		}
	}
	block := func(b *BlockStmt) {
		if b != nil {
			WalkStmt(b, f)
		}
	}
	switch d := d.(type) {
	case *ConstDecl:
		Walk(d.Value, f)
	case *VarDecl:
		Walk(d.Init, f)
	case *InstanceDecl:
		Walk(d.Call, f)
		for _, b := range d.Body {
			WalkDecl(b, f)
		}
	case *FuncDecl:
		params(d.Params)
		block(d.Body)
	case *ActionDecl:
		params(d.Params)
		block(d.Body)
	case *ExternDecl:
		for _, m := range d.Methods {
			WalkDecl(m, f)
		}
	case *ParserDecl:
		params(d.CtorParams)
		for _, l := range d.Locals {
			WalkDecl(l, f)
		}
		for _, s := range d.States {
			WalkDecl(s, f)
		}
	case *StateDecl:
		for _, s := range d.Body {
			WalkStmt(s, f)
		}
		Walk(d.Next, f)
	case *ControlDecl:
		params(d.CtorParams)
		for _, l := range d.Locals {
			WalkDecl(l, f)
		}
		block(d.Body)
	case *EnumDecl:
		for _, m := range d.Members {
			Walk(m.Value, f)
		}
	case *TypedefDecl:
		if d.Decl != nil {
			WalkDecl(d.Decl, f)
		}
	case *ValueSetDecl:
		Walk(d.Size, f)
	case *TableDecl:
		for _, p := range d.Props {
			walkProperty(p, f)
		}
	}
}

func walkProperty(p *Property, f func(Expr) bool) {
	Walk(p.Value, f)
	for _, k := range p.Keys {
		Walk(k.X, f)
	}
	for _, a := range p.Actions {
		Walk(a.X, f)
	}
	for _, e := range p.Entries {
		Walk(e.Priority, f)
		Walk(e.Keys, f)
		Walk(e.Action.X, f)
	}
}
