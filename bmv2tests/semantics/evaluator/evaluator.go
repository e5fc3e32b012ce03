// SPDX-License-Identifier: Apache-2.0

// Package evaluator executes P4_16 programs for v1model directly on their syntax
// tree, as the language specification (1.2.5) describes it, without regard to
// speed. It shares only the preprocessor and the parser with our compiler, so
// that it can judge the rest of it and the switch. Numbers in parentheses are
// clauses of the specification.
//
// Values that the specification leaves undefined are tracked: bits of a packet
// that depend on one are unknown, and a program whose course depends on one ends
// with Unspecified.
package evaluator

import (
	"fmt"
	"math/big"
	"runtime"
	"slices"

	"github.com/pauseless/pauseless/compiler/include"
	"github.com/pauseless/pauseless/compiler/preproc"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
)

// Program is a program with the state of its tables and registers.
type Program struct {
	Tree *syntax.Program

	text   *source.Set
	errors *NameType
	added  map[string][]Entry // by the path of a table
	cells  map[string][]Value // of registers
}

// Entry is an entry of the control plane.
type Entry struct {
	Key      []Match
	Priority int // larger wins
	Action   string
	Args     []*big.Int // for the parameters without a direction
}

// Match is one field of a key: masked, or in a range if Mask is nil.
type Match struct {
	Value, Mask *big.Int
	Low, High   *big.Int
}

func (m Match) contains(v *big.Int) bool {
	if m.Mask == nil {
		return m.Low.Cmp(v) <= 0 && v.Cmp(m.High) <= 0
	}
	return new(big.Int).And(v, m.Mask).Cmp(new(big.Int).And(m.Value, m.Mask)) == 0
}

// Packet is a packet that is sent. Bits that are zero in Known may have any
// value.
type Packet struct {
	Port        int
	Data, Known []byte
}

// dropPort is v1model's port for packets that are dropped.
const dropPort = 511

// Parse reads a program.
func Parse(name, text string) (*Program, error) {
	p := &Program{errors: &NameType{"error", "NoError"}, added: map[string][]Entry{}, cells: map[string][]Value{}, text: &source.Set{}}
	rep := &source.Reporter{Set: p.text}
	tokens := preproc.Run(p.text, rep, preproc.Options{System: include.Files, SystemPrefix: include.Prefix,
		Open: func(string) (string, error) { return "", fmt.Errorf("only the compiler's own files are included") }}, p.text.Add(name, text))
	p.Tree = syntax.Parse(tokens, rep)
	if rep.Failed() {
		return nil, rep.List.Err()
	}
	return p, nil
}

// Own returns the declarations of the program itself, without included files.
func (p *Program) Own() []syntax.Decl {
	var list []syntax.Decl
	for _, d := range p.Tree.Decls {
		if p.text.FileAt(d.Pos()) == p.text.Main() {
			list = append(list, d)
		}
	}
	return list
}

// Add adds an entry to a table. The path is that of its control plane, as
// "ingress.inner.t".
func (p *Program) Add(table string, e Entry) { p.added[table] = append(p.added[table], e) }

// run is the execution for one packet.
type run struct {
	program *Program
	steps   int
}

// Run processes a packet of a port. It returns the packets that leave the
// switch. The error is an *Unspecified if the specification does not say; registers
// then keep what they had before the packet.
func (p *Program) Run(port int, data []byte) (sent []Packet, err error) {
	before := make(map[string][]Value, len(p.cells))
	for path, cells := range p.cells {
		before[path] = slices.Clone(cells)
	}
	defer func() {
		if err != nil {
			p.cells = before
		}
	}()
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Unspecified:
			err = r
		case *faultError:
			err = fmt.Errorf("the evaluator cannot execute this: %w", r)
		case runtime.Error: // the program is not well typed
			err = fmt.Errorf("the evaluator cannot execute this: %w", r)
		default:
			panic(r)
		}
	}()
	r := &run{program: p}
	global := &frame{run: r, names: map[string]any{}}
	var main *syntax.InstanceDecl
	for _, d := range p.Tree.Decls {
		global.declare(d)
		if i, ok := d.(*syntax.InstanceDecl); ok && i.Name.Name == "main" {
			main = i
		}
	}
	if main == nil || len(main.Call.Args) != 6 {
		return nil, fmt.Errorf("the program has no V1Switch(…) main")
	}
	return global.pipeline(main, port, data), nil
}

// pipeline is V1Switch, as v1model.p4 describes it.
func (f *frame) pipeline(main *syntax.InstanceDecl, port int, data []byte) []Packet {
	blocks := make([]any, 6)
	for i, a := range main.Call.Args {
		c, ok := a.Value.(*syntax.CallExpr)
		if !ok {
			panic(fault("block %d of main", i))
		}
		var name string
		switch fun := c.Fun.(type) {
		case *syntax.TypeNameExpr:
			name = fun.Type.(*syntax.NamedType).Name
		case *syntax.NameExpr:
			name = fun.Name
		}
		blocks[i] = f.find(name)
	}
	parser := blocks[0].(*syntax.ParserDecl)
	in := &packetIn{data: data}
	hdr := &variable{undefined(f.resolve(parser.Params[1].Type))}
	meta := &variable{zero(f.resolve(parser.Params[2].Type))}
	std := &variable{zero(f.resolve(parser.Params[3].Type))}
	s := std.value.(*Struct)
	setStd := func(name string, v int64) {
		i := s.Type.index(name)
		s.Fields[i] = wrap(s.Type.Fields[i].typ.(*BitsType), big.NewInt(v))
	}
	setStd("ingress_port", int64(port))
	setStd("packet_length", int64(len(data)))
	apply := func(b any, args ...place) {
		d := b.(*syntax.ControlDecl)
		list := make([]argument, len(args))
		for i, a := range args {
			list[i].place = a
		}
		defer func() { // exit ends the whole control (12.5)
			if r := recover(); r != nil {
				if _, ok := r.(exiting); !ok {
					panic(r)
				}
			}
		}()
		f.callControl(&instance{decl: d, path: d.Name.Name}, d, list)
	}
	f.parsePacket(parser, &variable{in}, hdr, meta, std)
	s = std.value.(*Struct)
	apply(blocks[1], hdr, meta)
	apply(blocks[2], hdr, meta, std)
	s = std.value.(*Struct)
	out := known(s.Fields[s.Type.index("egress_spec")])
	if out.Int64() == dropPort {
		return nil
	}
	setStd("egress_port", out.Int64())
	setStd("egress_spec", 0)
	apply(blocks[3], hdr, meta, std)
	s = std.value.(*Struct)
	if known(s.Fields[s.Type.index("egress_spec")]).Int64() == dropPort {
		return nil
	}
	apply(blocks[4], hdr, meta)
	deparsed := &packetOut{}
	apply(blocks[5], &variable{deparsed}, hdr)
	rest := &packetIn{data: data, next: in.next}
	if n := 8*len(data) - in.next; n > 0 {
		deparsed.write(Bits{&BitsType{Width: n}, rest.take(n)})
	}
	known, payload := deparsed.bytes()
	return []Packet{{int(out.Int64()), payload, known}}
}

// parsePacket runs the parser. After reject, what was parsed goes on, with the
// error in standard_metadata.
func (f *frame) parsePacket(d *syntax.ParserDecl, in, hdr, meta, std *variable) {
	callee := f.activation(&instance{decl: d, path: d.Name.Name}, nil)
	for i, v := range []*variable{in, hdr, meta, std} {
		callee.names[d.Params[i].Name.Name] = v
	}
	defer func() {
		r := recover()
		if e, ok := r.(reject); ok {
			s := std.value.(*Struct)
			s.Fields[s.Type.index("parser_error")] = Name{Type: f.run.program.errors, V: e.err}
		} else if r != nil {
			panic(r)
		}
	}()
	callee.parse(d)
}

// packetOut is a packet that is made (16).
type packetOut struct {
	value, known *big.Int
	width        int
}

// emit appends valid headers (16.1).
func (p *packetOut) emit(v Value) {
	switch v := v.(type) {
	case *Struct:
		if v.Type.Kind == syntax.Header {
			if truth(v.Valid) {
				for _, f := range v.Fields {
					p.write(f)
				}
			}
			return
		}
		for _, f := range v.Fields {
			p.emit(f)
		}
	case *Stack:
		for _, e := range v.Elems {
			p.emit(e)
		}
	default:
		panic(fault("a %T is emitted", v))
	}
}

// write appends the bits of a value.
func (p *packetOut) write(v Value) {
	if p.value == nil {
		p.value, p.known = new(big.Int), new(big.Int)
	}
	var n int
	var x *big.Int
	switch v := v.(type) {
	case Bits:
		n = v.Type.Width
		if v.V != nil {
			x = pattern(v)
		}
	case Bool:
		n = 1
		if !v.Undefined {
			x = numberOf(v)
		}
	case Enum:
		p.write(v.V)
		return
	case Varbit:
		n, x = v.Len, v.V
	default:
		panic(fault("a %T is emitted", v))
	}
	p.value.Lsh(p.value, uint(n))
	p.known.Lsh(p.known, uint(n))
	p.width += n
	if x != nil {
		p.value.Or(p.value, x)
		p.known.Or(p.known, allOnes(n))
	}
}

// bytes returns the packet, and which of its bits are known.
func (p *packetOut) bytes() (known, data []byte) {
	if p.value == nil {
		return nil, nil
	}
	if p.width%8 != 0 {
		panic(fault("a packet of %d bits", p.width))
	}
	known, data = make([]byte, p.width/8), make([]byte, p.width/8)
	p.known.FillBytes(known)
	p.value.FillBytes(data)
	return known, data
}
