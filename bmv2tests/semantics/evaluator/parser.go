// SPDX-License-Identifier: Apache-2.0

package evaluator

import (
	"math/big"

	"github.com/pauseless/pauseless/compiler/syntax"
)

// reject is the panic of a transition to reject, with its error.
type reject struct{ err string }

// packetIn is a packet that is parsed (13.8).
type packetIn struct {
	data []byte
	next int // bits
}

// take reads bits, or rejects (13.8.1).
func (p *packetIn) take(width int) *big.Int {
	if p.next+width > 8*len(p.data) {
		panic(reject{"PacketTooShort"})
	}
	r := new(big.Int)
	for i := p.next; i < p.next+width; i++ {
		r.Lsh(r, 1)
		r.Or(r, big.NewInt(int64(p.data[i/8]>>(7-i%8)&1)))
	}
	p.next += width
	return r
}

// width returns the size of a type without varbits (9).
func width(t Type) int {
	switch t := t.(type) {
	case *BitsType:
		return t.Width
	case BoolType:
		return 1
	case *EnumType:
		return t.Under.Width
	case *VarbitType:
		return 0
	case *StructType:
		n := 0
		for _, f := range t.Fields {
			n += width(f.typ)
		}
		return n
	case *StackType:
		return t.Size * width(t.Elem)
	}
	panic(fault("the size of a %T", t))
}

// read makes a value of bits of a packet. Headers are valid.
func read(p *packetIn, t Type, varbits int) Value {
	switch t := t.(type) {
	case *BitsType:
		return wrap(t, p.take(t.Width))
	case BoolType:
		return Bool{V: p.take(1).Sign() != 0}
	case *EnumType:
		return Enum{t, wrap(t.Under, p.take(t.Under.Width))}
	case *VarbitType:
		return Varbit{t, varbits, p.take(varbits)}
	case *StructType:
		s := &Struct{Type: t, Valid: Bool{V: true}}
		for _, f := range t.Fields {
			s.Fields = append(s.Fields, read(p, f.typ, varbits))
		}
		return s
	}
	panic(fault("a %T is extracted", t))
}

// callPacketIn calls a method of packet_in (13.8).
func (f *frame) callPacketIn(p *packetIn, method string, x *syntax.CallExpr) Value {
	switch method {
	case "extract":
		var to place
		if _, ok := x.Args[0].Value.(*syntax.DefaultExpr); ok {
			to = nowhere{f.resolve(x.TypeArgs[0])}
		} else {
			to, _ = f.place(x.Args[0].Value)
		}
		varbits := 0
		if len(x.Args) > 1 {
			varbits = int(known(convert(f.eval(x.Args[1].Value), &BitsType{Width: 32})).Int64())
		}
		t := typeOfValue(to.get()).(*StructType)
		if p.next+width(t)+varbits > 8*len(p.data) {
			panic(reject{"PacketTooShort"})
		}
		for _, fd := range t.Fields {
			if v, ok := fd.typ.(*VarbitType); ok && varbits > v.Max {
				panic(reject{"HeaderTooShort"})
			}
		}
		to.set(read(p, t, varbits))
		for of := to; ; {
			if e, ok := of.(element); ok && e.next {
				e.stack().Next++
			}
			m, ok := of.(member) // the element of a stack of unions
			if !ok {
				break
			}
			of = m.of
		}
		return nil
	case "lookahead":
		t := f.resolve(x.TypeArgs[0])
		at := p.next
		if at+width(t) > 8*len(p.data) {
			panic(reject{"PacketTooShort"})
		}
		v := read(p, t, 0)
		p.next = at
		return v
	case "advance":
		n := known(convert(f.eval(x.Args[0].Value), &BitsType{Width: 32}))
		if n.Cmp(big.NewInt(int64(8*len(p.data)-p.next))) > 0 {
			panic(reject{"PacketTooShort"})
		}
		p.next += int(n.Int64())
		return nil
	case "length":
		return wrap(&BitsType{Width: 32}, big.NewInt(int64(len(p.data))))
	}
	panic(fault("packet_in has no %s", method))
}

// callParser applies a parser. If it rejects, so does its caller (13.10);
// whether parameters are then copied is not specified.
func (f *frame) callParser(i *instance, d *syntax.ParserDecl, args []argument) {
	callee := f.activation(i, d.CtorParams)
	list := f.bind(d.Params, args, callee, callee)
	invoke(list, func() {
		defer func() {
			r := recover()
			if _, ok := r.(reject); ok {
				for _, b := range list {
					if b.place != nil {
						r = unspecified("a parser with parameters rejects")
					}
				}
			}
			if r != nil {
				panic(r)
			}
		}()
		callee.parse(d)
	})
}

// parse runs the states from start to accept (13.3). It panics with reject.
func (f *frame) parse(d *syntax.ParserDecl) {
	for _, l := range d.Locals {
		f.declare(l)
	}
	for name := "start"; name != "accept"; {
		f.step()
		if name == "reject" {
			panic(reject{"NoError"})
		}
		var state *syntax.StateDecl
		for _, s := range d.States {
			if s.Name.Name == name {
				state = s
			}
		}
		if state == nil {
			panic(fault("no state %s", name))
		}
		inner := f.inner()
		for _, s := range state.Body {
			inner.exec(s)
		}
		name = inner.transition(state.Next)
	}
}

// transition evaluates the name of the next state (13.5, 13.6).
func (f *frame) transition(next syntax.Expr) string {
	switch x := next.(type) {
	case nil:
		return "reject"
	case *syntax.NameExpr:
		return x.Name
	case *syntax.SelectExpr:
		var keys []Value
		for _, k := range x.Keys {
			keys = append(keys, f.eval(k))
		}
		for _, c := range x.Cases {
			if f.contains(c.Keys, keys) {
				return c.Next.Name
			}
		}
		panic(reject{"NoMatch"})
	}
	panic(fault("a transition to a %T", next))
}
