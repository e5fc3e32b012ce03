// SPDX-License-Identifier: Apache-2.0

package bmv2

import (
	"strings"

	"github.com/pauseless/pauseless/compiler/arch"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/types"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
)

// Codes of the warnings of this package.
const (
	CodeEmptyList diag.Code = "empty-field-list"
	CodeUnusedObj diag.Code = "unused"
	CodeIgnored   diag.Code = "ignored"
	CodeTooEarly  diag.Code = "too-early"
)

// objects writes counters, meters and registers.
func (g *generator) objects() {
	for _, o := range g.prog.Objects {
		info := g.where(o.Span)
		switch o.Kind {
		case "counter":
			g.out.CounterArrays = append(g.out.CounterArrays, &bmv2json.CounterArray{
				Name: o.Name, ID: len(g.out.CounterArrays), SourceInfo: info, Size: g.sizeArg(o, 0)})
		case "direct_counter":
			t := g.bindings[o]
			if t == nil {
				g.rep.Warnf(o.Span.Start, CodeUnusedObj, "direct counter %s is the \"counters\" of no table", o.Name)
				continue
			}
			g.out.CounterArrays = append(g.out.CounterArrays, &bmv2json.CounterArray{
				Name: o.Name, ID: len(g.out.CounterArrays), SourceInfo: info, IsDirect: true, Binding: t.Name})
		case "meter":
			g.out.MeterArrays = append(g.out.MeterArrays, &bmv2json.MeterArray{
				Name: o.Name, ID: len(g.out.MeterArrays), SourceInfo: info, Size: g.sizeArg(o, 0), RateCount: 2, Type: strings.ToLower(o.Args[1].Member)})
		case "direct_meter":
			g.directMeter(o)
		case "register":
			g.register(o)
		case "direct_register":
			g.directRegister(o)
		case "log":
			g.out.RegisterArrays = append(g.out.RegisterArrays, &bmv2json.RegisterArray{
				Name: o.Name, ID: len(g.out.RegisterArrays), SourceInfo: info, Size: 1, Width: 32})
		case "action_profile", "action_selector", "Checksum16":
		default:
			if g.prog.Arch == arch.TNA && (tnaObjects[o.Type.Name] || g.passive(o)) {
				continue
			}
			g.fail(o.Span, "extern %s is not supported on this target", o.Type.Name)
		}
	}
}

// sizeArg returns argument i of the object's constructor.
func (g *generator) sizeArg(o *ir.Object, i int) int {
	k, ok := o.Args[i].X.(*ir.Const)
	if !ok || !k.Val.IsInt64() || k.Val.Int64() > 1<<31-1 {
		g.fail(o.Span, "the size of %s must be known at compile time and less than 2^31", o.Name)
	}
	return int(k.Val.Int64())
}

func (g *generator) register(o *ir.Object) {
	t := o.Type.TypeArgs[0]
	b, ok := numberType(t)
	if !ok && g.prog.Arch == arch.TNA {
		b, ok = types.Width(t)
	}
	if !ok {
		g.fail(o.Span, "register %s must be of bit<W> or int<W>, not %v", o.Name, t)
	}
	size := g.sizeArg(o, 0)
	if size == 0 {
		g.fail(o.Span, "register %s must have a size: BMv2 has no direct registers", o.Name)
	}
	g.out.RegisterArrays = append(g.out.RegisterArrays, &bmv2json.RegisterArray{
		Name: o.Name, ID: len(g.out.RegisterArrays), SourceInfo: g.where(o.Span), Size: size, Width: b, Initial: g.initial(o)})
}

// numberType returns the width of a type that is bits after removing new types
// and enums.
func numberType(t types.Type) (int, bool) {
	for {
		switch u := t.(type) {
		case *types.Bits:
			return u.Width, true
		case *types.NewType:
			t = u.Base
		case *types.Enum:
			if u.Underlying == nil {
				return 0, false
			}
			return u.Underlying.Width, true
		default:
			return 0, false
		}
	}
}

func (g *generator) directMeter(o *ir.Object) {
	t, dst := g.bindings[o], g.results[o]
	if g.prog.Arch == arch.TNA && t != nil {
		g.out.MeterArrays = append(g.out.MeterArrays, &bmv2json.MeterArray{
			Name: o.Name, ID: len(g.out.MeterArrays), SourceInfo: g.where(o.Span), IsDirect: true, RateCount: 2,
			Type: strings.ToLower(o.Args[0].Member), Size: g.tableSize(t), Binding: t.Name})
		return
	}
	switch {
	case t == nil && dst == nil:
		g.rep.Warnf(o.Span.Start, CodeUnusedObj, "direct meter %s is the \"meters\" of no table", o.Name)
		return
	case t == nil:
		g.fail(o.Span, "direct meter %s is read, but it is the \"meters\" of no table", o.Name)
	case dst == nil:
		g.fail(o.Span, "direct meter %s is the \"meters\" of table %s, but none of its actions reads it", o.Name, t.Name)
	}
	g.out.MeterArrays = append(g.out.MeterArrays, &bmv2json.MeterArray{
		Name: o.Name, ID: len(g.out.MeterArrays), SourceInfo: g.where(o.Span), IsDirect: true, RateCount: 2,
		Type: o.Args[0].Member, Size: g.tableSize(t), Binding: t.Name, ResultTarget: dst})
}

// noteMeters records the destinations of direct meters' results.
func (g *generator) noteMeters(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) {
		call, ok := s.(*ir.Call)
		if !ok || externName(call) != "direct_meter.read" {
			return
		}
		v := g.place(call.Args[0].X)
		if v == nil || v.Type != bmv2json.TypeField {
			g.fail(call.CallSpan, "the result of a direct meter must go to a variable or field")
		}
		ref := &bmv2json.FieldRef{Header: v.Name, Field: v.Field}
		if old := g.results[call.Object]; old != nil && *old != *ref {
			g.fail(call.CallSpan, "the result of direct meter %s goes to %s.%s already: all reads must have one destination", call.Object.Name, old.Header, old.Field)
		}
		g.results[call.Object] = ref
	})
}

// profile writes the action profile or selector of a table, unless another
// table of the pipeline did.
func (g *generator) profile(p *bmv2json.Pipeline, t *ir.Table, o *ir.Object) {
	profile := o.Profile()
	var ap *bmv2json.ActionProfile
	for _, old := range p.ActionProfiles {
		if old.Name == profile.Name {
			ap = old
		}
	}
	if ap == nil {
		ap = &bmv2json.ActionProfile{Name: profile.Name, ID: g.profiles, SourceInfo: g.where(profile.Span)}
		g.profiles++
		p.ActionProfiles = append(p.ActionProfiles, ap)
		size := 0
		if profile.Kind == "action_selector" && g.prog.Arch != arch.TNA {
			size = 1
		}
		ap.MaxSize = g.sizeArg(profile, size)
	}
	switch {
	case o.Kind != "action_selector":
	case ap.Selector != nil:
		g.sameSelector(ap, t, o)
	default:
		algo := algorithm{name: o.Args[0].Member}
		if a := o.Arg("hash"); a != nil {
			algo = g.selectorHash(o, a.Object)
		}
		ap.Selector = &bmv2json.Selector{Algo: algo.name, CRC: algo.crc, Input: g.selectorInput(t)}
	}
}

// selectorInput returns the keys of a table that the selector hashes.
func (g *generator) selectorInput(t *ir.Table) []*bmv2json.Value {
	input := []*bmv2json.Value{}
	for _, k := range t.Keys {
		if k.Match == "selector" {
			input = append(input, g.place(g.keyExpr(k)))
		}
	}
	return input
}

// sameSelector checks that tables that share a selector hash the same keys.
func (g *generator) sameSelector(ap *bmv2json.ActionProfile, t *ir.Table, o *ir.Object) {
	input := g.selectorInput(t)
	same := len(input) == len(ap.Selector.Input)
	for i := range input {
		if same && (input[i].Name != ap.Selector.Input[i].Name || input[i].Field != ap.Selector.Input[i].Field) {
			same = false
		}
	}
	if !same {
		g.fail(t.Span, "table %s shares action selector %s with a table that has other selector keys", t.Name, o.Name)
	}
}
