// SPDX-License-Identifier: Apache-2.0

package p4info

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

var matchTypes = map[string]p4configv1.MatchField_MatchType{
	"exact":    p4configv1.MatchField_EXACT,
	"lpm":      p4configv1.MatchField_LPM,
	"ternary":  p4configv1.MatchField_TERNARY,
	"range":    p4configv1.MatchField_RANGE,
	"optional": p4configv1.MatchField_OPTIONAL,

	"atcam_partition_index": p4configv1.MatchField_EXACT,
}

func (g *generator) table(t *ir.Table) {
	out := &p4configv1.Table{
		Preamble:          g.preamble(kindTable, t.Name, t.Decl.Table.Decl.Annotations),
		Size:              t.Size,
		IsConstTable:      t.HasEntries && t.ConstEntries,
		HasInitialEntries: len(t.Entries) > 0,
	}
	if t.Size == 0 {
		out.Size = int64(g.prog.Arch.TableSize)
	}
	g.out.Tables = append(g.out.Tables, out)
	g.typeInfo()
	g.defaultAction(t, out)
	for _, ref := range t.Actions {
		out.ActionRefs = append(out.ActionRefs, g.actionRef(t, ref))
	}
	g.matchFields(t, out)
	g.properties(t, out)
}

func (g *generator) defaultAction(t *ir.Table, out *p4configv1.Table) {
	if t.Default == nil {
		return
	}
	a := t.Default.Action
	id := g.symbols.id(kindAction, a.Name)
	if t.ConstDefault {
		out.ConstDefaultActionId = id
	}
	def := &p4configv1.TableActionCall{ActionId: id}
	ids := g.paramIDs(a)
	for i, arg := range t.Default.Args {
		def.Arguments = append(def.Arguments, &p4configv1.TableActionCall_Argument{ParamId: ids[i], Value: bytesOf(arg.Val, a.Params[i].Type.Width)})
	}
	out.InitialDefaultAction = def
}

// bytesOf returns a number in as many bytes as its width requires.
func bytesOf(v *big.Int, width int) []byte {
	if v.Sign() < 0 {
		v = new(big.Int).And(v, types.Mask(width))
	}
	return v.FillBytes(make([]byte, max((width+7)/8, (v.BitLen()+7)/8)))
}

func (g *generator) actionRef(t *ir.Table, ref *ir.ActionRef) *p4configv1.ActionRef {
	out := &p4configv1.ActionRef{Id: g.symbols.id(kindAction, ref.Action.Name)}
	if ref.Ref == nil { // the implicit NoAction
		out.Annotations = []string{"@defaultonly"}
		out.Scope = p4configv1.ActionRef_DEFAULT_ONLY
		return out
	}
	annots := ref.Ref.Annotations
	out.Annotations, out.StructuredAnnotations = g.annotations(annots)
	tableOnly := syntax.Annot(annots, "tableonly") != nil
	defaultOnly := syntax.Annot(annots, "defaultonly") != nil
	switch {
	case tableOnly && defaultOnly:
		g.errorf(ref.Ref.Pos(), "action %s of table %s is both @tableonly and @defaultonly", ref.Action.Name, t.Name)
	case tableOnly:
		out.Scope = p4configv1.ActionRef_TABLE_ONLY
	case defaultOnly:
		out.Scope = p4configv1.ActionRef_DEFAULT_ONLY
	}
	return out
}

func (g *generator) matchFields(t *ir.Table, out *p4configv1.Table) {
	annots := func(i int) []*syntax.Annotation { return t.Keys[i].Decl.Annotations }
	ids := g.symbols.fieldIDs(len(t.Keys), annots, func(i int) source.Pos { return t.Keys[i].Decl.Pos() })
	for i, k := range t.Keys {
		if k.Match == "selector" {
			continue
		}
		f := &p4configv1.MatchField{Id: ids[i], Name: k.Name, Bitwidth: int32(g.width(k.Source, k.Decl.Pos())), Doc: documentation(annots(i))}
		f.Annotations, f.StructuredAnnotations = g.annotations(annots(i))
		g.typeSpec(k.Source, k.Decl.Pos())
		f.TypeName = newTypeName(k.Source)
		if m, ok := matchTypes[k.Match]; ok {
			f.Match = &p4configv1.MatchField_MatchType_{MatchType: m}
		} else {
			f.Match = &p4configv1.MatchField_OtherMatchType{OtherMatchType: k.Match}
		}
		out.MatchFields = append(out.MatchFields, f)
	}
}

// properties sets the fields that table properties of the architecture define.
func (g *generator) properties(t *ir.Table, out *p4configv1.Table) {
	if p := t.Props["implementation"]; p != nil && p.Object != nil {
		out.ImplementationId = g.symbols.id(kindProfile, p.Object.Profile().Name) // 0 for Atcam and Alpm of TNA
	}
	if p := t.Props["counters"]; p != nil && p.Object != nil && p.Object.Kind == "direct_counter" {
		id := g.symbols.id(kindDirectCounter, p.Object.Name)
		out.DirectResourceIds = append(out.DirectResourceIds, id)
		g.out.DirectCounters = append(g.out.DirectCounters, &p4configv1.DirectCounter{
			Preamble:      g.preamble(kindDirectCounter, p.Object.Name, p.Object.Annotations),
			Spec:          counterSpec(p.Object.Args[0]),
			DirectTableId: out.Preamble.Id,
		})
	}
	if p := t.Props["meters"]; p != nil && p.Object != nil && p.Object.Kind == "direct_meter" {
		id := g.symbols.id(kindDirectMeter, p.Object.Name)
		out.DirectResourceIds = append(out.DirectResourceIds, id)
		g.out.DirectMeters = append(g.out.DirectMeters, &p4configv1.DirectMeter{
			Preamble:      g.preamble(kindDirectMeter, p.Object.Name, p.Object.Annotations),
			Spec:          meterSpec(p.Object.Args[0]),
			DirectTableId: out.Preamble.Id,
		})
	}
	for _, name := range []string{"support_timeout", "idle_timeout"} { // the latter is TNA's
		if p := t.Props[name]; p != nil && p.Const != nil && p.Const.Val.Sign() != 0 {
			out.IdleTimeoutBehavior = p4configv1.Table_NOTIFY_CONTROL
		}
	}
}

// paramIDs returns the ids of an action's parameters.
func (g *generator) paramIDs(a *ir.Action) []uint32 {
	return g.symbols.fieldIDs(len(a.Params),
		func(i int) []*syntax.Annotation { return a.Params[i].Decl.Decl.Annotations },
		func(i int) source.Pos { return a.Params[i].Decl.Decl.Pos() })
}

func (g *generator) action(a *ir.Action) {
	id := g.symbols.id(kindAction, a.Name)
	if g.seen[id] {
		return // the program has a copy of it with other bound arguments
	}
	g.seen[id] = true
	out := &p4configv1.Action{Preamble: g.preamble(kindAction, a.Name, a.Decl.Decl.Annotations)}
	ids := g.paramIDs(a)
	for i, p := range a.Params {
		pos := p.Decl.Decl.Pos()
		annots := p.Decl.Decl.Annotations
		q := &p4configv1.Action_Param{Id: ids[i], Name: p.Name, Doc: documentation(annots)}
		q.Annotations, q.StructuredAnnotations = g.annotations(annots)
		g.typeSpec(p.Source, pos)
		if e, ok := p.Source.(*types.Enum); ok && e.Underlying == nil {
			q.TypeName = &p4configv1.P4NamedType{Name: typeName(e.Decl.Annotations, e.Name)}
		} else {
			q.Bitwidth = int32(g.width(p.Source, pos))
			q.TypeName = newTypeName(p.Source)
		}
		g.typeInfo()
		out.Params = append(out.Params, q)
	}
	g.out.Actions = append(g.out.Actions, out)
}
