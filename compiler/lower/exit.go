// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"github.com/pauseless/pauseless/compiler/ir"
)

// An exit copies out the parameters of all calls that it ends (language spec
// 12.5). One in the code of a control does so itself. One in an action of a
// table cannot, because the table may be applied in several calls. If a table
// is applied in a call with copies, its actions set a variable instead of
// ending the control, and where the table is applied the variable is checked.

// applied is called for each application of a table. It notes the copies that
// an exit in one of the table's actions must make.
func (l *lowerer) applied(a *ir.Apply) {
	if l.dead || !l.exitsFrom(a.Table) {
		return
	}
	l.exitCopies[a], _ = l.collect(l.copyAllOut)
}

// copyAllOut copies out the parameters of the calls that are being lowered, the
// innermost first.
func (l *lowerer) copyAllOut() {
	for i := len(l.copyOuts) - 1; i >= 0; i-- {
		l.copyOuts[i]()
	}
}

func (l *lowerer) exitsFrom(t *ir.Table) bool {
	for _, ref := range t.Actions {
		if hasExit(ref.Action) {
			return true
		}
	}
	return false
}

func hasExit(a *ir.Action) bool {
	found := false
	ir.WalkStmts(a.Body, func(s ir.Stmt) {
		_, exit := s.(*ir.Exit)
		found = found || exit
	})
	return found
}

// tableExits completes the exits in actions of tables that are applied in calls
// with copies.
func (l *lowerer) tableExits() {
	x := &exits{copies: l.exitCopies, ending: map[*ir.Action]*ir.Label{}}
	// An action that sets the variable does so for all tables that have it.
	for n := -1; n != len(x.ending); {
		n = len(x.ending)
		for a, copies := range x.copies {
			if len(copies) > 0 || x.mayEnd(a.Table) {
				x.mark(a.Table)
			}
		}
	}
	if len(x.ending) == 0 {
		return
	}
	x.ended = l.tempVar(ir.BoolType, "exited")
	for _, a := range l.prog.Actions {
		if to := x.ending[a]; to != nil {
			to.Name, to.Used = l.unique("label " + a.Decl.Name)[len("label "):], true
			body := dropLastLeave(x.setInstead(a.Body, to), to)
			a.Body = []ir.Stmt{&ir.Block{Base: ir.Base{Span: a.Span}, Label: to, Body: body}}
		}
	}
	for _, c := range l.prog.Controls {
		n := x.checks
		c.Body = x.check(c.Body)
		if x.checks > n {
			reset := &ir.Assign{Base: ir.Base{Span: c.Span}, Dst: x.ended, Src: boolConst(false)}
			c.Body = append([]ir.Stmt{reset}, c.Body...)
		}
	}
}

// exits is the state of tableExits.
type exits struct {
	copies map[*ir.Apply][]ir.Stmt
	ending map[*ir.Action]*ir.Label // the actions that set the variable
	ended  *ir.VarRef               // the variable
	checks int                      // of it
}

func (x *exits) mayEnd(t *ir.Table) bool {
	for _, ref := range t.Actions {
		if x.ending[ref.Action] != nil {
			return true
		}
	}
	return false
}

func (x *exits) mark(t *ir.Table) {
	for _, ref := range t.Actions {
		if x.ending[ref.Action] == nil && hasExit(ref.Action) {
			x.ending[ref.Action] = &ir.Label{}
		}
	}
}

// setInstead returns the statements of an action with each exit replaced by the
// variable's assignment and a leave.
func (x *exits) setInstead(list []ir.Stmt, to *ir.Label) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *ir.If:
			s.Then, s.Else = x.setInstead(s.Then, to), x.setInstead(s.Else, to)
		case *ir.Block:
			s.Body = x.setInstead(s.Body, to)
		case *ir.Loop:
			s.Before, s.Body, s.Update = x.setInstead(s.Before, to), x.setInstead(s.Body, to), x.setInstead(s.Update, to)
		case *ir.Exit:
			out = append(out, &ir.Assign{Base: s.Base, Dst: x.ended, Src: boolConst(true)}, &ir.Leave{Base: s.Base, Label: to})
			continue
		}
		out = append(out, s)
	}
	return out
}

// check returns the statements of a control with a check of the variable
// wherever an action may have set it.
func (x *exits) check(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		out = append(out, s)
		switch s := s.(type) {
		case *ir.If:
			s.Then, s.Else = x.check(s.Then), x.check(s.Else)
		case *ir.Block:
			s.Body = x.check(s.Body)
		case *ir.Loop:
			s.Before, s.Body, s.Update = x.check(s.Before), x.check(s.Body), x.check(s.Update)
		case *ir.Apply:
			s.Hit, s.Miss = x.check(s.Hit), x.check(s.Miss)
			for _, c := range s.Cases {
				c.Body = x.check(c.Body)
			}
			if x.mayEnd(s.Table) {
				out = x.checkAfter(s, out)
			}
		}
	}
	return out
}

// checkAfter adds the checks after a table to the statements that the table
// chooses, or to out.
func (x *exits) checkAfter(a *ir.Apply, out []ir.Stmt) []ir.Stmt {
	x.checks++
	check := func(body []ir.Stmt) []ir.Stmt {
		then := append(append([]ir.Stmt{}, x.copies[a]...), &ir.Exit{Base: a.Base})
		return append([]ir.Stmt{&ir.If{Base: a.Base, Cond: x.ended, CondSpan: a.Span, Then: then}}, body...)
	}
	switch {
	case len(a.Hit) > 0 || len(a.Miss) > 0:
		a.Hit, a.Miss = check(a.Hit), check(a.Miss)
	case len(a.Cases) > 0:
		listed := map[*ir.Action]bool{}
		var other *ir.Case
		for _, c := range a.Cases {
			ends := false
			for _, act := range c.Actions {
				listed[act] = true
				ends = ends || x.ending[act] != nil
			}
			if len(c.Actions) == 0 {
				other = c
			} else if ends {
				c.Body = check(c.Body)
			}
		}
		for _, ref := range a.Table.Actions {
			if x.ending[ref.Action] == nil || listed[ref.Action] {
				continue
			}
			if other == nil {
				other = &ir.Case{}
				a.Cases = append(a.Cases, other)
			}
			other.Body = check(other.Body)
			break
		}
	default:
		return append(out, check(nil)...)
	}
	return out
}
