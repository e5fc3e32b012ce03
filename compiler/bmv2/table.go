// SPDX-License-Identifier: Apache-2.0

package bmv2

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

func (g *generator) tableSize(t *ir.Table) int {
	switch {
	case t.HasEntries && t.ConstEntries && len(t.Entries) > 0:
		return len(t.Entries)
	case t.SizeSet && t.Size > 0:
		return int(max(t.Size, int64(len(t.Entries))))
	case len(t.Entries) > g.prog.Arch.TableSize:
		return len(t.Entries)
	}
	return g.prog.Arch.TableSize
}

// table writes a table and its successors.
func (g *generator) table(p *bmv2json.Pipeline, n *tableNode) *bmv2json.Table {
	t := n.t
	out := &bmv2json.Table{Name: t.Name, ID: g.tables, SourceInfo: g.where(t.Span), Key: []*bmv2json.Key{},
		Type: "simple", MaxSize: g.tableSize(t), ActionIDs: []int{}, Actions: []string{}}
	g.tables++
	if t.SizeSet && (t.Size < 0 || t.Size > 1<<31-1) {
		g.fail(t.Span, "table %s cannot have the size %d", t.Name, t.Size)
	}
	out.MatchType = g.keys(t, out)
	g.props(p, t, out)
	for _, ref := range t.Actions {
		a := g.action(ref.Action)
		out.ActionIDs = append(out.ActionIDs, a.ID)
		out.Actions = append(out.Actions, a.Name)
	}
	g.next(n, out)
	if t.Default != nil {
		if out.Type != "simple" {
			if !g.isNoAction(t.Default) {
				g.rep.Warnf(t.Span.Start, CodeIgnored, "table %s has an action profile, with which BMv2 ignores default_action", t.Name)
			}
		} else {
			g.needAll(t, t.Default, t.Span.Start)
			out.DefaultEntry = &bmv2json.DefaultEntry{
				ActionID: g.action(t.Default.Action).ID, ActionConst: t.ConstDefault, ActionData: g.actionData(t.Default), EntryConst: t.ConstDefault}
		}
	}
	largest := maxPriority(t)
	for i, e := range t.Entries {
		if !matchesNothing(t, e) {
			out.Entries = append(out.Entries, g.entry(t, e, i, largest))
		}
	}
	return out
}

// matchesNothing reports whether an entry has an empty range.
func matchesNothing(t *ir.Table, e *ir.Entry) bool {
	for i, k := range e.Keys {
		if k.High != nil && emptyRange(k, t.Keys[i].X.Type()) {
			return true
		}
	}
	return false
}

func (g *generator) isNoAction(c *ir.ActionCall) bool { return c.Action.Name == "NoAction" }

// partition is the match kind of a key that says which part of an Atcam table to
// search.
const partition = "atcam_partition_index"

// keys writes the key of a table and returns its match type: range if a key is
// a range, otherwise ternary if one is ternary or optional, otherwise lpm if
// one is lpm.
func (g *generator) keys(t *ir.Table, out *bmv2json.Table) string {
	rank := map[string]int{"exact": 0, partition: 0, "lpm": 1, "ternary": 2, "optional": 2, "range": 3}
	worst, prefixes := 0, 0
	for _, k := range t.Keys {
		if k.Match == "selector" {
			continue
		}
		r, ok := rank[k.Match]
		if !ok {
			g.fail(syntax.Span(k.Decl), "match kind %s is not supported on this target", k.Match)
		}
		if k.Match == "lpm" {
			if prefixes++; prefixes > 1 {
				g.fail(syntax.Span(k.Decl), "table %s has two lpm keys, BMv2 allows one", t.Name)
			}
		}
		worst = max(worst, r)
		x := g.keyExpr(k)
		g.at = syntax.Span(k.Decl)
		g.read(x)
		target := g.place(x)
		if target == nil || target.Type != bmv2json.TypeField {
			g.fail(syntax.Span(k.Decl), "this key is not supported on this target")
		}
		match := k.Match
		switch match {
		case "optional":
			match = "ternary"
		case partition:
			match = "exact"
		}
		out.Key = append(out.Key, &bmv2json.Key{MatchType: match, Name: k.Name, Target: bmv2json.FieldRef{Header: target.Name, Field: target.Field}})
	}
	return [...]string{"exact", "lpm", "ternary", "range"}[worst]
}

// props writes counters, meters, timeouts and action profiles.
func (g *generator) props(p *bmv2json.Pipeline, t *ir.Table, out *bmv2json.Table) {
	if prop := t.Props["counters"]; prop != nil {
		if o := g.object(prop, "direct_counter", "counter"); o != nil {
			if old := g.bindings[o]; old != nil && old != t {
				g.fail(syntax.Span(prop.Decl), "direct counter %s is the counters of table %s already", o.Name, old.Name)
			}
			g.bindings[o] = t
		}
		out.WithCounters = true
	}
	if prop := t.Props["meters"]; prop != nil {
		if o := g.object(prop, "direct_meter"); o != nil {
			if old := g.bindings[o]; old != nil && old != t {
				g.fail(syntax.Span(prop.Decl), "direct meter %s is the meters of table %s already", o.Name, old.Name)
			}
			g.bindings[o] = t
			out.DirectMeters = o.Name
		}
	}
	for _, name := range []string{"support_timeout", "idle_timeout"} { // the latter is TNA's
		if prop := t.Props[name]; prop != nil {
			if prop.Const == nil || prop.Const.T.Kind != ir.Bool {
				g.fail(syntax.Span(prop.Decl), "%s must be true or false", name)
			}
			out.SupportTimeout = prop.Const.Val.Sign() != 0
		}
	}
	if g.prog.Arch == arch.TNA {
		g.entryTarget(t, out)
	}
	if prop := t.Props["implementation"]; prop != nil && !inParts(prop.Object) {
		if o := g.object(prop, "action_profile", "action_selector"); o != nil {
			out.Type = "indirect"
			if o.Kind == "action_selector" {
				out.Type = "indirect_ws"
			}
			out.ActionProfile = o.Profile().Name
			g.profile(p, t, o)
		}
	}
}

// object returns the object that a property names. Its extern must be one of
// the given kinds.
func (g *generator) object(p *ir.Prop, kinds ...string) *ir.Object {
	if p.Object != nil {
		for _, k := range kinds {
			if p.Object.Kind == k {
				return p.Object
			}
		}
	}
	g.fail(syntax.Span(p.Decl), "property %s must be a %s", p.Decl.Name.Name, kinds[0])
	return nil
}

// next writes the successors of a table.
func (g *generator) next(n *tableNode, out *bmv2json.Table) {
	if n.next[0].on == bmv2json.NextHit {
		for _, nx := range n.next {
			out.NextTables = append(out.NextTables, bmv2json.NextTable{Action: nx.on, Node: nx.node})
		}
		return
	}
	other := n.next[len(n.next)-1].node
	out.BaseDefaultNext = other
	for _, a := range out.Actions {
		node := other
		for _, nx := range n.next[:len(n.next)-1] {
			if nx.on == a {
				node = nx.node
			}
		}
		out.NextTables = append(out.NextTables, bmv2json.NextTable{Action: a, Node: node})
	}
}

func (g *generator) actionData(c *ir.ActionCall) []string {
	list := []string{}
	for _, a := range c.Args {
		list = append(list, hex(unsigned(a.Val, a.T.Width), 0))
	}
	return list
}

// unsigned returns the bits of v as an unsigned number.
func unsigned(v *big.Int, width int) *big.Int {
	if v.Sign() < 0 {
		return new(big.Int).And(v, types.Mask(width))
	}
	return v
}

func (g *generator) entry(t *ir.Table, e *ir.Entry, index int, largest int64) *bmv2json.Entry {
	out := &bmv2json.Entry{SourceInfo: g.where(syntax.Span(e.Decl)), Priority: index + 1, Const: e.Const && !t.ConstEntries}
	switch {
	case e.Rank != nil:
		out.Priority = int(e.Rank.Int64())
	case e.Priority != nil && t.LargestWins:
		out.Priority = int(largest - e.Priority.Int64() + 1)
	case e.Priority != nil:
		out.Priority = int(e.Priority.Int64())
	}
	for i, ks := range e.Keys {
		if i < len(t.Keys) {
			out.MatchKey = append(out.MatchKey, g.match(t.Keys[i], ks, e))
		}
	}
	g.needAll(t, e.Call, e.Decl.Pos())
	out.ActionEntry = bmv2json.ActionEntry{ActionID: g.action(e.Call.Action).ID, ActionData: g.actionData(e.Call)}
	return out
}

// maxPriority returns the largest priority of a table's entries.
func maxPriority(t *ir.Table) int64 {
	p := int64(0)
	for _, e := range t.Entries {
		if e.Priority != nil {
			p = max(p, e.Priority.Int64())
		}
	}
	return p
}

// needAll checks that an action call has all arguments.
func (g *generator) needAll(t *ir.Table, c *ir.ActionCall, pos source.Pos) {
	if len(c.Args) != len(c.Action.Params) {
		g.rep.Errorf(pos, CodeTarget, "action %s of table %s needs %d arguments, not %d", c.Action.Name, t.Name, len(c.Action.Params), len(c.Args))
		panic(giveUp{})
	}
}

// match writes the match key of an entry.
func (g *generator) match(k *ir.Key, ks ir.KeySet, e *ir.Entry) *bmv2json.Match {
	width := k.X.Type().Width
	all := types.Mask(width)
	m := &bmv2json.Match{MatchType: k.Match}
	value := func() string { return hex(ks.Value, width) }
	switch k.Match {
	case "exact", partition:
		m.MatchType = "exact"
		if ks.Any || ks.Mask != nil || ks.High != nil {
			g.fail(syntax.Span(e.Decl), "the exact key %s needs one value", k.Name)
		}
		m.Key = value()
	case "lpm":
		length := width
		switch {
		case ks.Any:
			length, m.Key = 0, hex(new(big.Int), width)
		case ks.High != nil:
			g.fail(syntax.Span(e.Decl), "the lpm key %s needs a value or a mask", k.Name)
		default:
			m.Key = value()
			if ks.Mask != nil {
				length = popCount(ks.Mask)
			}
		}
		m.PrefixLen = &length
	case "ternary", "optional":
		m.MatchType = "ternary"
		switch {
		case ks.Any:
			m.Key, m.Mask = hex(new(big.Int), width), hex(new(big.Int), width)
		case ks.High != nil:
			g.fail(syntax.Span(e.Decl), "the ternary key %s needs a value or a mask", k.Name)
		default:
			m.Key, m.Mask = value(), hex(all, width)
			if ks.Mask != nil {
				m.Mask = hex(ks.Mask, width)
			}
		}
	case "range":
		switch {
		case ks.Any:
			m.Start, m.End = hex(new(big.Int), width), hex(all, width)
		case ks.High != nil:
			if wrapsAround(ks, k.X.Type()) {
				g.fail(syntax.Span(e.Decl), "the range of key %s begins below 0 and ends above: targets compare keys as unsigned numbers, so it needs an entry for each part", k.Name)
			}
			m.Start, m.End = value(), hex(ks.High, width)
		case ks.Mask != nil:
			g.fail(syntax.Span(e.Decl), "the range key %s needs a value or a range", k.Name)
		default:
			m.Start, m.End = value(), value()
		}
	default:
		g.fail(syntax.Span(e.Decl), "entries cannot have keys of match kind %s", k.Match)
	}
	return m
}

// popCount returns the number of ones in a mask.
func popCount(v *big.Int) int {
	n := 0
	for i := range v.BitLen() {
		n += int(v.Bit(i))
	}
	return n
}
