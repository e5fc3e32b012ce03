// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"math/big"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
	"github.com/pauseless/pauseless/softswitch/interp/internal/optimise"
)

// Options of a compilation.
type Options struct {
	// Trace adds instructions that report each step to Machine.Trace. Without it
	// tracing costs nothing.
	Trace bool
	// Plain disables the optimiser, for comparison.
	Plain bool
	// Interpret leaves the program untranslated, for comparison.
	Interpret bool
	// Names keeps the names of slots and the positions of machine code, for Print and
	// PrintNative.
	Names bool
}

// Compile translates a file to the instructions of a Program for the architecture named
// in the file. The error is a diag.List with all errors.
func Compile(p *bmv2json.Program, opts Options) (_ *ops.Program, err error) {
	arch := &ops.V1Model
	switch p.Architecture {
	case "":
	case bmv2json.TNA:
		arch = &ops.TNA
	default:
		var list diag.List
		list.Errorf(p.Pos, CodeProgram, "the program is for architecture %q, expected %q or none, for v1model", p.Architecture, bmv2json.TNA)
		return nil, list.Err()
	}
	c := &compiler{
		json: p, arch: arch, opts: opts,
		Draft: ops.Draft{Prog: &ops.Program{Name: p.Program, Errors: map[string]int{}, ErrorNames: map[int]string{}, FieldLists: map[int]*ops.FieldList{},
			Fields: map[string]ops.FieldAt{}, Unwritten: map[[2]string]string{}, Assigned: map[string]bool{}, Arch: arch, Finishes: ops.NoValid}},
		headers: map[string]*ops.Header{}, stacks: map[string]*ops.Stack{}, unions: map[string]*ops.Union{}, unionStacks: map[string]*ops.UnionStack{},
		aliases: map[string]bmv2json.FieldRef{}, actions: map[int]*action{}, usedActions: map[int]ops.Use{},
		registers: map[string]int{}, counters: map[string]int{}, meters: map[string]int{}, calcs: map[string]int{}, calcsNamed: map[string][]*bmv2json.Calculation{}, usedCalcs: map[string]bool{}, vsets: map[string]int{},
		profiles: map[string]int{}, tables: map[string]int{}, consts: map[string]int{},
	}
	defer func() {
		if r := recover(); r == (enough{}) {
			err = c.list.Err()
		} else if r != nil {
			panic(r)
		}
	}()
	c.version()
	c.declare()
	if c.list.HasErrors() {
		return nil, c.list.Err()
	}
	c.declareObjects()
	c.findUses()
	if c.list.HasErrors() {
		return nil, c.list.Err()
	}
	c.allocate()
	c.archFields()
	c.genCalculations()
	c.genFieldLists()
	c.genParsers()
	c.genPipelines()
	c.genDeparsers()
	if c.list.HasErrors() {
		return nil, c.list.Err()
	}
	if opts.Trace {
		for _, h := range c.Order {
			if h.Slots == nil {
				c.Prog.All = append(c.Prog.All, h)
			}
		}
	}
	if opts.Plain || opts.Trace {
		optimise.KeepAll(&c.Draft)
	} else {
		optimise.Run(&c.Draft)
	}
	c.finish()
	c.guessKeys()
	if opts.Names {
		c.nameSlots()
	}
	if err := c.list.Err(); err != nil {
		return nil, err
	}
	if !opts.Plain && !opts.Trace {
		optimise.Fuse(c.Prog)
	}
	c.Prog.Check()
	return c.Prog, nil
}

// version rejects files of another major version, like BMv2.
func (c *compiler) version() {
	if v := c.json.Meta.Version; len(v) > 0 && v[0] != 2 {
		c.errorf(c.json.Pos, "the file has version %d of the format, expected 2", v[0])
	}
}

// coreErrors are the errors of core.p4. BMv2 has them even if the file does not
// list them.
var coreErrors = []string{"NoError", "PacketTooShort", "NoMatch", "StackOutOfBounds", "HeaderTooShort", "ParserTimeout", "ParserInvalidArgument"}

// declareObjects reads the declarations of actions, arrays and errors.
func (c *compiler) declareObjects() {
	p, prog := c.json, c.Prog
	once := func(m map[string]int, kind, name string, pos diag.Pos, n int) {
		if _, ok := m[name]; ok {
			c.errorf(pos, "%s %s is declared twice", kind, name)
		}
		m[name] = n
	}
	used := map[int]bool{}
	for _, e := range p.Errors {
		prog.Errors[e.Name] = e.Value
		prog.ErrorNames[e.Value] = e.Name
		used[e.Value] = true
	}
	for _, name := range coreErrors {
		if _, ok := prog.Errors[name]; !ok {
			v := 0
			for used[v] {
				v++
			}
			used[v] = true
			prog.Errors[name], prog.ErrorNames[v] = v, name
		}
	}
	prog.ErrNone, prog.ErrShort, prog.ErrStack = prog.Errors["NoError"], prog.Errors["PacketTooShort"], prog.Errors["StackOutOfBounds"]
	prog.ErrHeader, prog.ErrTimeout, prog.ErrArgument = prog.Errors["HeaderTooShort"], prog.Errors["ParserTimeout"], prog.Errors["ParserInvalidArgument"]
	prog.ErrCounter = prog.Errors["CounterRange"] // of TNA
	for _, r := range p.RegisterArrays {
		once(c.registers, "register array", r.Name, r.Pos, len(prog.Registers))
		if r.Size < 0 || r.Width < 0 || r.Width > 1<<16 || r.Size > maxCells/max(1, (r.Width+63)/64) {
			c.errorf(r.Pos, "register array %s has %d cells of %d bits; it may have %d cells of 64", r.Name, r.Size, r.Width, maxCells)
			continue
		}
		info := ops.RegisterInfo{Name: r.Name, Size: r.Size, Width: r.Width, Table: r.Binding}
		if r.Initial != "" {
			v := c.hex(r.Initial, r.Pos)
			if v.Sign() < 0 || v.BitLen() > r.Width {
				c.errorf(r.Pos, "register array %s starts with %s, which does not fit its %d bits", r.Name, r.Initial, r.Width)
				continue
			}
			info.Initial = limbsOfBig(v, ops.LimbsOf(r.Width))
		}
		prog.Registers = append(prog.Registers, info)
	}
	prog.PlaceRegisters()
	for _, k := range p.CounterArrays {
		once(c.counters, "counter array", k.Name, k.Pos, len(prog.Counters))
		if k.Size < 0 || k.Size > maxCells {
			c.errorf(k.Pos, "counter array %s has %d cells; it may have %d", k.Name, k.Size, maxCells)
			continue
		}
		prog.Counters = append(prog.Counters, ops.CounterInfo{Name: k.Name, Size: k.Size, Direct: k.IsDirect, Table: k.Binding})
	}
	for _, m := range p.MeterArrays {
		once(c.meters, "meter array", m.Name, m.Pos, len(prog.Meters))
		if m.Size < 0 || m.Size > maxCells/8 {
			c.errorf(m.Pos, "meter array %s has %d cells; it may have %d", m.Name, m.Size, maxCells/8)
			continue
		}
		if m.Type != "bytes" && m.Type != "packets" {
			c.errorf(m.Pos, "meter array %s counts %q, expected bytes or packets", m.Name, m.Type)
		}
		prog.Meters = append(prog.Meters, ops.MeterInfo{Name: m.Name, Size: m.Size, Bytes: m.Type == "bytes", Direct: m.IsDirect, Table: m.Binding})
	}
	for i, k := range p.Calculations {
		once(c.calcs, "calculation", k.Name, k.Pos, i)
	}
	for i, v := range p.ParseVSets {
		once(c.vsets, "parse value set", v.Name, v.Pos, i)
		if v.Width < 1 || v.Width > 1<<14 {
			c.errorf(v.Pos, "parse value set %s has values of %d bits", v.Name, v.Width)
		}
		prog.VSets = append(prog.VSets, ops.VSetInfo{Name: v.Name, Width: v.Width, Size: v.MaxSize})
	}
	for _, a := range p.Actions {
		if c.actions[a.ID] != nil {
			c.errorf(a.Pos, "action id %d is given twice", a.ID)
		}
		act := &action{json: a}
		info := ops.ActionInfo{Name: a.Name, ID: a.ID}
		for _, r := range a.RuntimeData {
			if r.Width < 0 || r.Width > 1<<14 {
				c.errorf(a.Pos, "parameter %s of action %s has %d bits", r.Name, a.Name, r.Width)
				continue
			}
			act.params = append(act.params, param{r.Name, act.slots, r.Width})
			info.Params = append(info.Params, ops.ParamInfo{Name: r.Name, Width: r.Width, Slot: act.slots})
			act.slots += (max(1, r.Width) + 63) / 64
		}
		for _, prim := range a.Primitives {
			act.exits = act.exits || prim.Op == "exit"
		}
		info.Slots = act.slots
		c.ParamSlots = max(c.ParamSlots, act.slots)
		c.actions[a.ID] = act
		c.actionNumbers = append(c.actionNumbers, a.ID)
		prog.Actions = append(prog.Actions, info)
	}
}

// maxCells limits an array, because a file could otherwise exhaust memory.
const maxCells = 1 << 26

// archFields finds the fields that the architecture uses.
func (c *compiler) archFields() {
	for name := range c.arch.Fields {
		if h, i, ok := c.lookupField(name); ok {
			f := h.Type.Fields[i]
			if at := h.Field(i); at != ops.NoSlot {
				c.Prog.Fields[name] = ops.FieldAt{Slot: at, Limbs: ops.LimbsOf(f.Width), Width: f.Width, Signed: f.Signed}
			}
			if h.Slots != nil && h.Use[i]&ops.UseWrite != 0 {
				c.Prog.Assigned[name] = true
			}
		}
	}
}

func argsOf(params []param, args []*big.Int) []uint64 {
	var data []uint64
	for i, p := range params {
		n := ops.LimbsOf(p.width)
		x := new(big.Int).And(args[i], new(big.Int).Sub(pow2(p.width), bigOne))
		for range n {
			data = append(data, low(x))
			x.Rsh(x, 64)
		}
	}
	return data
}
