// SPDX-License-Identifier: Apache-2.0

package tna

import (
	"maps"
	"slices"

	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// ages reports comparisons of the age of a cell, a difference of the cell and a
// field, that are wrong for some values of the clock, in the expressions of a
// RegisterAction. own has the names of its parameters and variables.
//
// The sign of an age is wrong for half of the clock. The stateful ALU extends the
// operands of an unsigned comparison to 34 bits (p4c's CheckStatefulAlu), so a
// difference does not wrap with the clock. Two signed comparisons in one condition,
// with the limit and with the present time, hold for all ages.
func (c *checker) ages(d *syntax.InstanceDecl, body *syntax.BlockStmt, own map[string]bool) {
	if quiet(d.Annotations) {
		return
	}
	values := make(map[string]syntax.Expr) // of variables of the RegisterAction
	syntax.WalkStmts(body, func(s syntax.Stmt) {
		switch s := s.(type) {
		case *syntax.AssignStmt:
			if n, ok := s.X.(*syntax.NameExpr); ok {
				if _, local := values[n.Name]; local {
					values[n.Name] = s.Y
				}
			}
		case *syntax.DeclStmt:
			if v, ok := s.Decl.(*syntax.VarDecl); ok {
				values[v.Name.Name] = v.Init
			}
		}
	})
	signed := make(map[string][]source.Pos) // of one condition, by the cell's field
	see := func(x syntax.Expr) bool {
		b, ok := x.(*syntax.BinaryExpr)
		if !ok || !orders(b.Op) {
			return true
		}
		for _, sides := range [][2]syntax.Expr{{b.X, b.Y}, {b.Y, b.X}} {
			if n := root(uncast(sides[0])); n != nil && own[n.Name] && values[n.Name] == nil && c.isTime(sides[1]) {
				c.rep.Warnf(b.OpPos, CodeAge,
					"%s is compared with a time itself: when the clock has wrapped, the smaller number is the later time: compare the difference, as in `(int<32>) (last - before) <= 0 || (int<32>) (last - now) > 0`",
					syntax.Text(sides[0]))
			}
		}
		for _, side := range []syntax.Expr{b.X, b.Y} {
			if n, ok := uncast(side).(*syntax.NameExpr); ok && values[n.Name] != nil {
				side = values[n.Name]
			}
			cell := c.ageOf(side, own)
			if cell == "" {
				continue
			}
			if t, ok := c.info.TypeOf(side).(*types.Bits); ok && t.Signed {
				signed[cell] = append(signed[cell], b.OpPos)
			} else {
				c.rep.Warnf(b.OpPos, CodeAge,
					"the stateful ALU extends %s to 34 bits, so from a wrap of the clock on it is negative instead of an age: compare with the limit as (int<32>) and add a comparison with 0, as in `(int<32>) (now - last) > limit || (int<32>) (now - last) < 0`",
					syntax.Text(side))
			}
		}
		return false
	}
	syntax.WalkStmt(body, func(x syntax.Expr) bool {
		clear(signed)
		syntax.Walk(x, see)
		for _, cell := range slices.Sorted(maps.Keys(signed)) {
			if at := signed[cell]; len(at) == 1 {
				c.rep.Warnf(at[0], CodeAge,
					"%s counts as later than now for half of the values of the clock, for instance with its initial value: compare it with the present time, too, as in `(int<32>) (last - before) <= 0 || (int<32>) (last - now) > 0`",
					cell)
			}
		}
		return false
	})
}

// quiet reports whether an annotation turns the warning off.
func quiet(list []*syntax.Annotation) bool {
	return slices.ContainsFunc(list, func(a *syntax.Annotation) bool {
		s, ok := syntax.AnnotString(a)
		return ok && a.Name == "noWarn" && (s == "" || s == string(CodeAge))
	})
}

// shortTimes reports each use of a time of the traffic manager, which has 18 bits of
// nanoseconds: a wait above 262 µs counts as the rest.
func (c *checker) shortTimes(body *syntax.BlockStmt, annotations []*syntax.Annotation) {
	if quiet(annotations) {
		return
	}
	syntax.WalkStmt(body, func(x syntax.Expr) bool {
		m, ok := x.(*syntax.MemberExpr)
		if !ok || m.Sel.Name != "deq_timedelta" && m.Sel.Name != "enq_tstamp" {
			return true
		}
		if s, ok := c.info.TypeOf(m.X).(*types.Struct); ok && s.Name == "egress_intrinsic_metadata_t" {
			c.rep.Warnf(m.Sel.Pos(), CodeAge,
				"%s has 18 bits and wraps after 262 µs: have ingress put its time of arrival, global_tstamp[31:0], into a header for egress, and subtract that from the global_tstamp of egress", m.Sel.Name)
		}
		return true
	})
}

// ageOf returns the text of the cell whose difference to a field x is, or nothing.
func (c *checker) ageOf(x syntax.Expr, own map[string]bool) string {
	b, ok := uncast(x).(*syntax.BinaryExpr)
	if !ok || b.Op != syntax.Minus || c.info.ValueOf(b.X) != nil || c.info.ValueOf(b.Y) != nil {
		return ""
	}
	l, r := root(uncast(b.X)), root(uncast(b.Y))
	switch {
	case l == nil || r == nil || own[l.Name] == own[r.Name]:
		return ""
	case own[l.Name]:
		return syntax.Text(b.X)
	}
	return syntax.Text(b.Y)
}
