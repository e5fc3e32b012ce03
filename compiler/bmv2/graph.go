// SPDX-License-Identifier: Apache-2.0

package bmv2

import (
	"fmt"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

// pipeline writes a control as a graph of tables, conditionals and action
// calls. The graph is built backwards, because a node refers to its successor.
func (g *generator) pipeline(c *ir.Control) {
	p := &bmv2json.Pipeline{Name: c.Role, ID: len(g.out.Pipelines), SourceInfo: g.where(c.Span),
		Tables: []*bmv2json.Table{}, ActionProfiles: []*bmv2json.ActionProfile{}, Conditionals: []*bmv2json.Conditional{}}
	g.out.Pipelines = append(g.out.Pipelines, p)
	g.noteMeters(c.Body)
	for _, t := range c.Tables {
		for _, a := range t.Actions {
			g.noteMeters(a.Action.Body)
		}
	}
	gr := &graph{g: g, p: p, name: c.Name, labels: map[*ir.Label]string{}, tables: map[*ir.Table]*tableNode{}}
	p.InitTable = gr.stmts(g.computeKeys(c.Body), "")
	gr.finish()
}

// graph is a control being written.
type graph struct {
	g      *generator
	p      *bmv2json.Pipeline
	name   string
	labels map[*ir.Label]string // the successors of blocks
	tables map[*ir.Table]*tableNode
	order  []*tableNode
	spans  map[*bmv2json.Conditional]source.Pos
}

// tableNode is a table with its successors.
type tableNode struct {
	t    *ir.Table
	next []nextNode // __HIT__ and __MISS__, or actions, or "" for any other
	at   source.Span
}

type nextNode struct {
	on   string
	node string
}

// stmts returns the first node of statements, whose successor is the node next.
func (gr *graph) stmts(list []ir.Stmt, next string) string {
	end := len(list)
	for end > 0 {
		// The longest run of statements that fits into one action.
		start := end
		for start > 0 && isStraight(list[start-1]) {
			start--
		}
		if start < end {
			next = gr.actionCall(list[start:end], next)
			end = start
			continue
		}
		next = gr.stmt(list[end-1], next)
		end--
	}
	return next
}

// isStraight reports whether a statement can be part of an action call without
// tables.
func isStraight(s ir.Stmt) bool {
	switch s := s.(type) {
	case *ir.If, *ir.Block, *ir.Leave, *ir.Apply, *ir.Exit:
		return false
	case *ir.Loop:
		return !hasTable([]ir.Stmt{s}) && !leavesLoop(s)
	}
	return true
}

func hasTable(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) {
		if _, ok := s.(*ir.Apply); ok {
			found = true
		}
	})
	return found
}

// leavesLoop reports whether a statement in the loop leaves more than the loop.
func leavesLoop(l *ir.Loop) bool {
	inside := map[*ir.Label]bool{}
	ir.WalkStmts([]ir.Stmt{l}, func(s ir.Stmt) {
		if b, ok := s.(*ir.Block); ok {
			inside[b.Label] = true
		}
	})
	leaves := false
	ir.WalkStmts([]ir.Stmt{l}, func(s ir.Stmt) {
		if v, ok := s.(*ir.Leave); ok && !inside[v.Label] {
			leaves = true
		}
	})
	return leaves
}

func (gr *graph) stmt(s ir.Stmt, next string) string {
	switch s := s.(type) {
	case *ir.If:
		return gr.conditional(s, s.CondSpan, s.Cond, gr.stmts(s.Then, next), gr.stmts(s.Else, next))
	case *ir.Block:
		if blockIsStraight(s) {
			return gr.actionCall([]ir.Stmt{s}, next)
		}
		gr.labels[s.Label] = next
		return gr.stmts(s.Body, next)
	case *ir.Leave:
		return gr.labels[s.Label]
	case *ir.Exit:
		return ""
	case *ir.Apply:
		return gr.apply(s, next)
	case *ir.Loop:
		return gr.loop(s, next)
	}
	panic(fmt.Sprintf("BUG: %T in a graph", s))
}

// blockIsStraight reports whether a block is a loop with its breaks, which fits
// into one action.
func blockIsStraight(b *ir.Block) bool {
	loops, ok := 0, true
	ir.WalkStmts(b.Body, func(s ir.Stmt) {
		switch s.(type) {
		case *ir.Loop:
			loops++
		case *ir.Apply, *ir.Exit:
			ok = false
		}
	})
	if loops == 0 || !ok {
		return false
	}
	return !leavesLoop(&ir.Loop{Body: []ir.Stmt{b}})
}

// conditional adds a conditional node.
func (gr *graph) conditional(s ir.Stmt, span source.Span, cond ir.Expr, yes, no string) string {
	if yes == no {
		return yes
	}
	c := &bmv2json.Conditional{
		Name:       gr.nodeName("if", span),
		SourceInfo: gr.g.where(span),
		Expression: gr.g.logic(cond),
		TrueNext:   yes,
		FalseNext:  no,
	}
	gr.add(c, span)
	return c.Name
}

func (gr *graph) add(c *bmv2json.Conditional, span source.Span) {
	if gr.spans == nil {
		gr.spans = map[*bmv2json.Conditional]source.Pos{}
	}
	gr.spans[c] = span.Start
	gr.p.Conditionals = append(gr.p.Conditionals, c)
}

// nodeName returns a name for a node, which contains its line.
func (gr *graph) nodeName(what string, span source.Span) string {
	line := gr.g.rep.Set.Position(span.Start).Line
	return gr.g.unique(fmt.Sprintf("%s.%s_%d", gr.name, what, line))
}

// actionCall adds a node that executes statements.
func (gr *graph) actionCall(list []ir.Stmt, next string) string {
	prims := gr.g.straight(list)
	if len(prims) == 0 {
		return next
	}
	span := list[0].Where()
	name := gr.nodeName("line", span)
	a := gr.g.newAction(name)
	a.Primitives = prims
	gr.p.ActionCalls = append(gr.p.ActionCalls, &bmv2json.ActionCall{Name: name, SourceInfo: gr.g.where(span), ActionID: a.ID, NextNode: next})
	return name
}

// loop adds the nodes of a loop that contains tables, or whose statements leave
// more than it.
func (gr *graph) loop(s *ir.Loop, next string) string {
	c := &bmv2json.Conditional{Name: gr.nodeName("loop", s.Span), SourceInfo: gr.g.where(s.Span), Expression: gr.g.logic(s.Cond), FalseNext: next}
	gr.add(c, s.Span)
	again := c.Name
	if len(s.Before) > 0 {
		again = gr.stmts(s.Before, c.Name)
	}
	c.TrueNext = gr.stmts(s.Body, gr.stmts(s.Update, again))
	return again
}

// apply makes the node of a table. A table that is applied in several places
// must be followed by the same everywhere: BMv2 has one node for it.
func (gr *graph) apply(s *ir.Apply, next string) string {
	n := &tableNode{t: s.Table, at: s.Span}
	switch {
	case len(s.Hit) > 0 || len(s.Miss) > 0:
		n.next = []nextNode{
			{bmv2json.NextHit, gr.stmts(s.Hit, next)},
			{bmv2json.NextMiss, gr.stmts(s.Miss, next)},
		}
	case len(s.Cases) > 0:
		other := next
		for _, c := range s.Cases {
			node := gr.stmts(c.Body, next)
			if len(c.Actions) == 0 {
				other = node
			}
			for _, a := range c.Actions {
				n.next = append(n.next, nextNode{a.Name, node})
			}
		}
		n.next = append(n.next, nextNode{"", other})
	default:
		n.next = []nextNode{{"", next}}
	}
	if old := gr.tables[s.Table]; old != nil {
		if !sameNext(old, n) {
			gr.g.fail(s.Span, "table %s is applied in several places and followed by different statements, which BMv2 does not support", s.Table.Name)
		}
		return s.Table.Name
	}
	gr.tables[s.Table] = n
	gr.order = append(gr.order, n)
	return s.Table.Name
}

func sameNext(a, b *tableNode) bool {
	if len(a.next) != len(b.next) {
		return false
	}
	for i := range a.next {
		if a.next[i] != b.next[i] {
			return false
		}
	}
	return true
}

// finish writes the tables and sorts all nodes by source position.
func (gr *graph) finish() {
	g, p := gr.g, gr.p
	sortBy(gr.order, func(n *tableNode) source.Pos { return n.t.Span.Start })
	for _, n := range gr.order {
		p.Tables = append(p.Tables, g.table(p, n))
	}
	sortBy(p.Conditionals, func(c *bmv2json.Conditional) source.Pos { return gr.spans[c] })
	for _, c := range p.Conditionals {
		c.ID = g.conditionals
		g.conditionals++
	}
	for i, j := 0, len(p.ActionCalls)-1; i < j; i, j = i+1, j-1 {
		p.ActionCalls[i], p.ActionCalls[j] = p.ActionCalls[j], p.ActionCalls[i]
	}
	for _, c := range p.ActionCalls {
		c.ID = g.calls
		g.calls++
	}
}

// computeKeys inserts assignments for computed keys before their tables.
func (g *generator) computeKeys(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *ir.If:
			s.Then, s.Else = g.computeKeys(s.Then), g.computeKeys(s.Else)
		case *ir.Block:
			s.Body = g.computeKeys(s.Body)
		case *ir.Loop:
			s.Before, s.Body, s.Update = g.computeKeys(s.Before), g.computeKeys(s.Body), g.computeKeys(s.Update)
		case *ir.Apply:
			for _, k := range s.Table.Keys {
				if v, ok := g.keyExpr(k).(*ir.VarRef); ok && ir.Expr(v) != k.X {
					out = append(out, &ir.Assign{Base: s.Base, Dst: v, Src: k.X})
				}
			}
			s.Hit, s.Miss = g.computeKeys(s.Hit), g.computeKeys(s.Miss)
			for _, c := range s.Cases {
				c.Body = g.computeKeys(c.Body)
			}
		}
		out = append(out, s)
	}
	return out
}

// keyExpr returns the expression that BMv2 matches for a key: the key if it is
// a field, otherwise the variable that computeKeys assigns.
func (g *generator) keyExpr(k *ir.Key) ir.Expr {
	switch x := k.X.(type) {
	case *ir.VarRef:
		return x
	case *ir.FieldRef:
		if _, ok := x.Header.(*ir.Header); ok {
			return x
		}
	case *ir.Valid:
		if _, ok := x.Header.(*ir.Header); ok {
			return x
		}
	}
	if g.keyVars[k] == nil {
		g.keyVars[k] = g.newVar(k.X.Type(), "key")
	}
	return g.keyVars[k]
}
