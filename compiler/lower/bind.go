// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"slices"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
)

// bindParam makes a parameter stand for v in the current frame.
func (l *lowerer) bindParam(p *types.Param, v value) {
	if o := l.info.ParamObj(p); o != nil {
		l.frame.vals[o] = v
	}
}

// bindArgs binds parameters to arguments in frame f. It returns the statements'
// generator that must run after the call.
//
// The language copies arguments in and results out. The copy is left out, and
// the parameter is an alias of the argument, if no other code in the call can
// observe the difference: no later argument has effects, no other argument
// overlaps it and, in an action, no variable of the control that the body names.
func (l *lowerer) bindArgs(c *types.Call, args []arg, f *frame) func() {
	old := l.frame
	l.frame = f
	defer func() { l.frame = old }()
	visible := l.visible(c, old)
	var outs copies
	for i, a := range args {
		p := a.param
		if a.v == nil {
			continue
		}
		switch p.Dir {
		case syntax.DirOut, syntax.DirInout:
			if a.in == nil && l.canAlias(args, i, visible) {
				if p.Dir == syntax.DirOut {
					l.invalidate(a.v)
				}
				l.bindParam(p, a.v)
				continue
			}
			tmp := a.in
			switch {
			case tmp != nil:
			case p.Dir == syntax.DirInout:
				tmp = l.temp(a.t, p.Name)
				l.copyIn(old, tmp, a)
			default:
				tmp = l.temp(a.t, p.Name)
				l.invalidate(tmp)
			}
			l.bindParam(p, tmp)
			outs.add(a, l.copyOut(old, a, tmp))
		default:
			l.bindParam(p, l.inValue(args, i, visible))
		}
	}
	return outs.run
}

// visible returns the places that the called code can reach without its
// parameters.
func (l *lowerer) visible(c *types.Call, f *frame) (list []*places) {
	if c.Action == nil {
		return nil
	}
	for o := range l.objectsIn(c.Action.Decl.Body) {
		list = append(list, l.placesOf(f.lookup(o)))
	}
	return list
}

// canAlias reports whether the parameter of argument i can be an alias of the
// argument.
func (l *lowerer) canAlias(args []arg, i int, visible []*places) bool {
	switch v := args[i].v.(type) {
	case element, sliceOf:
		return false
	case scalar:
		if f, ok := v.x.(*ir.FieldRef); ok {
			if _, ok := f.Header.(*ir.Header); !ok {
				return false // the index may change
			}
		}
	case header:
		if h, ok := v.ref.(*ir.Header); !ok || h.Union != nil {
			return false
		}
	}
	mine := l.placesOf(args[i].v)
	if slices.ContainsFunc(visible, mine.meets) {
		return false
	}
	for k, b := range args {
		if k != i && b.v != nil && mine.meets(l.placesOf(b.v)) {
			return false
		}
	}
	return true
}

// inValue returns the value that the parameter of argument i is bound to. Its
// direction is in or none.
func (l *lowerer) inValue(args []arg, i int, visible []*places) value {
	v := args[i].v
	mine := l.placesOf(v)
	if mine.empty() {
		return v // a constant or an instance
	}
	shared := slices.ContainsFunc(visible, mine.meets)
	for k, b := range args {
		if k != i && b.v != nil && b.param.Dir >= syntax.DirOut && mine.meets(l.placesOf(b.v)) {
			shared = true
		}
	}
	if !shared && isStable(v) {
		return v
	}
	return l.copyOf(v)
}

// isStable reports whether v can be read repeatedly: it is a place or is made
// of places.
func isStable(v value) bool {
	switch v := v.(type) {
	case scalar:
		switch x := v.x.(type) {
		case *ir.Const, *ir.VarRef, *ir.ParamRef:
			return true
		case *ir.FieldRef:
			_, ok := x.Header.(*ir.Header)
			return ok
		}
		return false
	case aggregate:
		for _, e := range v.elems {
			if !isStable(e) {
				return false
			}
		}
		return true
	case headerLit:
		for _, e := range v.elems {
			if !isStable(e) {
				return false
			}
		}
		return true
	case header:
		_, ok := v.ref.(*ir.Header)
		return ok
	}
	return true
}

// copyIn assigns an argument, evaluated in frame f, to the place of its
// parameter.
func (l *lowerer) copyIn(f *frame, tmp value, a arg) {
	old := l.frame
	l.frame = f
	if a.in != nil {
		l.assign(tmp, a.in)
	} else {
		l.assign(tmp, l.load(a.v))
	}
	l.frame = old
}

// copyOut returns a function that assigns the place of a parameter to its
// argument.
func (l *lowerer) copyOut(f *frame, a arg, tmp value) func() {
	return func() {
		old := l.frame
		l.frame = f
		l.assign(a.v, tmp)
		l.frame = old
	}
}

// bindCopies binds the parameters of an instance that is applied more than
// once. All calls share its tables and objects, whose keys must therefore be
// the same, so each parameter has a place of its own.
func (l *lowerer) bindCopies(inst *instance, c *types.Call, args []arg, f *frame) func() {
	var outs copies
	old := l.frame
	for _, a := range args {
		p := a.param
		if a.v == nil {
			continue
		}
		switch a.v.(type) {
		case packet, object, *instance:
			f.vals[l.info.ParamObj(p)] = a.v
			continue
		}
		own := inst.params[p]
		if own == nil {
			own = l.temp(a.t, p.Name)
			inst.params[p] = own
		}
		f.vals[l.info.ParamObj(p)] = own
		switch p.Dir {
		case syntax.DirOut:
			l.invalidate(own)
			outs.add(a, l.copyOut(old, a, own))
		case syntax.DirInout:
			l.copyIn(old, own, a)
			outs.add(a, l.copyOut(old, a, own))
		default:
			l.assign(own, a.v)
		}
	}
	return outs.run
}
