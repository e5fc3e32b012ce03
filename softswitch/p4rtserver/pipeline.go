// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"fmt"
	"strings"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/infocheck"
	"github.com/pauseless/pauseless/softswitch/interp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

type state = interp.State

// pipeline maps a P4Info to its program: identifiers to indices in the program.
// It is immutable.
type pipeline struct {
	config *p4v1.ForwardingPipelineConfig
	prog   *interp.Program

	tables   map[uint32]*boundTable
	order    []*boundTable // as in the P4Info
	actions  map[uint32]*boundAction
	byAction []*boundAction // by index in the program; nil: not in the P4Info
	profiles map[uint32]*boundProfile
	counters map[uint32]*boundArray
	meters   map[uint32]*boundMeter
	regs     map[uint32]*boundRegister
	vsets    map[uint32]*boundVSet
	digests  map[uint32]*boundDigest
	// directCounters and directMeters map the identifiers of direct resources to
	// tables.
	directCounters, directMeters map[uint32]*boundTable
	packetIn, packetOut          *packetHeader
	translations                 map[string]*translation
	preambles                    map[uint32]*p4configv1.Preamble
}

type boundTable struct {
	info    *p4configv1.Table
	name    string
	number  int // index in the program
	prog    *interp.TableInfo
	fields  []boundField
	refs    map[uint32]*p4configv1.ActionRef
	profile *boundProfile
	counter *p4configv1.DirectCounter
	meter   *p4configv1.DirectMeter
	// priority is true if entries have a priority.
	priority bool
}

type boundField struct {
	id    uint32
	name  string
	kind  p4configv1.MatchField_MatchType
	width int
	trans *translation // nil: none
}

type boundAction struct {
	id     uint32
	name   string
	number int // index in the program
	params []boundParam
}

type boundParam struct {
	id    uint32
	name  string
	width int
	trans *translation // nil: none
}

type boundProfile struct {
	info   *p4configv1.ActionProfile
	name   string
	number int
	tables []*boundTable
}

type boundArray struct {
	id     uint32
	name   string
	number int
}

type boundMeter struct {
	boundArray
	spec *p4configv1.MeterSpec
}

type boundRegister struct {
	boundArray
	width  int
	signed bool
	bool   bool
	enum   bool // serializable
	// members are those of a struct; the first has the highest bits.
	members []boundRegister
	trans   *translation // nil: none
}

type boundVSet struct {
	info   *p4configv1.ValueSet
	name   string
	number int
	width  int
	fields []boundField // as in the P4Info
}

type boundDigest struct {
	info    *p4configv1.Digest
	name    string
	numbers []int // of the program's lists: one for each call
	widths  []int
	format  func(d *device, values [][]uint64) *p4v1.P4Data
}

// bindings collects the errors of a configuration.
type bindings struct {
	p    *pipeline
	info *p4configv1.P4Info
	json *bmv2json.Program
	errs []string
}

func (b *bindings) errorf(format string, args ...any) {
	if len(b.errs) < 20 {
		b.errs = append(b.errs, fmt.Sprintf(format, args...))
	}
}

// bind compiles a configuration and maps its parts. Its errors are
// INVALID_ARGUMENT.
func bind(cfg *p4v1.ForwardingPipelineConfig, opts interp.Options) (*pipeline, error) {
	if cfg == nil || cfg.P4Info == nil {
		return nil, status.Error(codes.InvalidArgument, "the configuration has no P4Info")
	}
	if len(cfg.P4DeviceConfig) == 0 {
		return nil, status.Error(codes.InvalidArgument, "the configuration has no device configuration: this target takes BMv2 JSON")
	}
	if err := infocheck.Check(cfg.P4Info); err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "%v", err)
	}
	c, err := compile(cfg.P4DeviceConfig, opts)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "%v", err)
	}
	// The switches of a process share the bytes, too.
	cfg = &p4v1.ForwardingPipelineConfig{P4Info: cfg.P4Info, P4DeviceConfig: c.config, Cookie: cfg.Cookie}
	b := &bindings{p: &pipeline{config: cfg, prog: c.prog, translations: map[string]*translation{}}, info: cfg.P4Info, json: c.json}
	b.bindPreambles()
	b.bindActions()
	b.bindProfiles()
	b.bindTables()
	b.bindArrays()
	b.bindVSets()
	b.bindDigests()
	b.bindPacketIO()
	if len(b.errs) > 0 {
		return nil, status.Errorf(codes.InvalidArgument, "the P4Info does not fit the program:\n%s", strings.Join(b.errs, "\n"))
	}
	return b.p, nil
}

// index returns the indices of objects by name.
func index[T any](list []T, name func(*T) string) map[string]int {
	m := make(map[string]int, len(list))
	for i := range list {
		m[name(&list[i])] = i
	}
	return m
}

func (b *bindings) bindActions() {
	p := b.p
	p.actions, p.byAction = map[uint32]*boundAction{}, make([]*boundAction, len(p.prog.Actions))
	// One action of the source may be several in the program, one for each control
	// that uses it, with the same name and parameters.
	byName := map[string][]int{}
	for i := range p.prog.Actions {
		byName[p.prog.Actions[i].Name] = append(byName[p.prog.Actions[i].Name], i)
	}
	for _, a := range b.info.Actions {
		act := &boundAction{id: a.Preamble.GetId(), name: a.Preamble.GetName(), number: -1}
		for _, param := range a.Params {
			act.params = append(act.params, boundParam{id: param.Id, name: param.Name, width: int(param.Bitwidth)})
		}
		p.actions[act.id] = act
		for _, i := range byName[act.name] {
			info := &p.prog.Actions[i]
			if len(info.Params) != len(act.params) {
				b.errorf("action %s has %d parameters in the program, %d in the P4Info", act.name, len(info.Params), len(act.params))
				continue
			}
			for j := range act.params {
				param, width := &act.params[j], info.Params[j].Width
				what := "parameter " + param.name + " of action " + act.name
				param.trans = b.translated(a.Params[j].GetTypeName().GetName(), width, what)
				if param.trans == nil && param.width < width {
					b.errorf("%s has %d bits in the P4Info, %d in the program", what, param.width, width)
				}
				param.width = width
			}
			act.number = i
			p.byAction[i] = act
		}
	}
}

func (b *bindings) bindProfiles() {
	p := b.p
	p.profiles = map[uint32]*boundProfile{}
	names := index(p.prog.Profiles, func(i *interp.ProfileInfo) string { return i.Name })
	for _, ap := range b.info.ActionProfiles {
		n, ok := names[ap.Preamble.GetName()]
		if !ok {
			b.errorf("action profile %s is not in the program", ap.Preamble.GetName())
			continue
		}
		p.profiles[ap.Preamble.Id] = &boundProfile{info: ap, name: ap.Preamble.Name, number: n}
	}
}

func (b *bindings) bindTables() {
	p := b.p
	p.tables, p.directCounters, p.directMeters = map[uint32]*boundTable{}, map[uint32]*boundTable{}, map[uint32]*boundTable{}
	names := map[string]int{}
	for i, t := range p.prog.Tables {
		names[t.Name] = i
	}
	for _, t := range b.info.Tables {
		name := t.Preamble.GetName()
		n, ok := names[name]
		if !ok {
			b.errorf("table %s is not in the program", name)
			continue
		}
		bt := &boundTable{info: t, name: name, number: n, prog: p.prog.Tables[n], refs: map[uint32]*p4configv1.ActionRef{}}
		p.tables[t.Preamble.Id] = bt
		p.order = append(p.order, bt)
		b.bindKey(bt)
		for _, ref := range t.ActionRefs {
			if p.actions[ref.Id] == nil {
				b.errorf("table %s refers to action %d, which is not in the P4Info", name, ref.Id)
			}
			bt.refs[ref.Id] = ref
		}
		if t.ImplementationId != 0 {
			bt.profile = p.profiles[t.ImplementationId]
			if bt.profile == nil || bt.prog.Profile != bt.profile.number {
				b.errorf("table %s refers to action profile %d, which is not that of the program", name, t.ImplementationId)
				continue
			}
			bt.profile.tables = append(bt.profile.tables, bt)
		}
	}
	byID := func(id uint32) *boundTable {
		t := p.tables[id]
		if t == nil {
			b.errorf("a direct resource refers to table %d, which is not in the P4Info", id)
		}
		return t
	}
	for _, dc := range b.info.DirectCounters {
		if t := byID(dc.DirectTableId); t != nil {
			if !t.prog.Counters {
				b.errorf("table %s has a direct counter in the P4Info but not in the program", t.name)
			}
			t.counter = dc
			p.directCounters[dc.Preamble.GetId()] = t
		}
	}
	for _, dm := range b.info.DirectMeters {
		if t := byID(dm.DirectTableId); t != nil {
			if t.prog.Meter < 0 {
				b.errorf("table %s has a direct meter in the P4Info but not in the program", t.name)
			}
			t.meter = dm
			p.directMeters[dm.Preamble.GetId()] = t
		}
	}
}

// kinds maps the P4Info's match kinds to the program's.
var kinds = map[p4configv1.MatchField_MatchType]string{
	p4configv1.MatchField_EXACT: "exact", p4configv1.MatchField_LPM: "lpm", p4configv1.MatchField_TERNARY: "ternary",
	p4configv1.MatchField_RANGE: "range", p4configv1.MatchField_OPTIONAL: "ternary",
}

func (b *bindings) bindKey(t *boundTable) {
	if len(t.info.MatchFields) != len(t.prog.Key) {
		b.errorf("table %s has %d match fields in the P4Info, %d in the program", t.name, len(t.info.MatchFields), len(t.prog.Key))
		return
	}
	for i, f := range t.info.MatchFields {
		k := t.prog.Key[i]
		if kind := kinds[f.GetMatchType()]; kind != k.Kind && !(kind == "exact" && k.Kind == "valid") {
			b.errorf("match field %s of table %s is %v in the P4Info, %s in the program", f.Name, t.name, f.GetMatchType(), k.Kind)
		}
		what := fmt.Sprintf("match field %s of table %s", f.Name, t.name)
		trans := b.translated(f.GetTypeName().GetName(), k.Width, what)
		switch {
		case trans == nil && int(f.Bitwidth) < k.Width:
			b.errorf("%s has %d bits in the P4Info, %d in the program", what, f.Bitwidth, k.Width)
		case trans != nil && trans.text && !translatable(f.GetMatchType()):
			b.errorf("%s is translated to a string and is %v: strings are matched exactly or optionally", what, f.GetMatchType())
		}
		switch f.GetMatchType() {
		case p4configv1.MatchField_TERNARY, p4configv1.MatchField_RANGE, p4configv1.MatchField_OPTIONAL:
			t.priority = true
		}
		t.fields = append(t.fields, boundField{f.Id, f.Name, f.GetMatchType(), k.Width, trans})
	}
}

func (b *bindings) bindArrays() {
	p := b.p
	p.counters, p.meters, p.regs = map[uint32]*boundArray{}, map[uint32]*boundMeter{}, map[uint32]*boundRegister{}
	names := index(p.prog.Counters, func(i *interp.CounterInfo) string { return i.Name })
	for _, k := range b.info.Counters {
		if n, ok := names[k.Preamble.GetName()]; ok {
			p.counters[k.Preamble.Id] = &boundArray{k.Preamble.Id, k.Preamble.Name, n}
		} else {
			b.errorf("counter %s is not in the program", k.Preamble.GetName())
		}
	}
	names = index(p.prog.Meters, func(i *interp.MeterInfo) string { return i.Name })
	for _, m := range b.info.Meters {
		if n, ok := names[m.Preamble.GetName()]; ok {
			p.meters[m.Preamble.Id] = &boundMeter{boundArray{m.Preamble.Id, m.Preamble.Name, n}, m.Spec}
		} else {
			b.errorf("meter %s is not in the program", m.Preamble.GetName())
		}
	}
	names = index(p.prog.Registers, func(i *interp.RegisterInfo) string { return i.Name })
	for _, r := range b.info.Registers {
		n, ok := names[r.Preamble.GetName()]
		if !ok {
			b.errorf("register %s is not in the program", r.Preamble.GetName())
			continue
		}
		br := &boundRegister{boundArray: boundArray{r.Preamble.Id, r.Preamble.Name, n}, width: p.prog.Registers[n].Width}
		b.cellType(br, r.TypeSpec)
		p.regs[br.id] = br
	}
}

// cellType determines the type of a register array's cells.
func (b *bindings) cellType(r *boundRegister, spec *p4configv1.P4DataTypeSpec) {
	types := b.info.GetTypeInfo()
	if nt := spec.GetNewType(); nt != nil { // a new type of a simple one
		r.trans = b.translated(nt.Name, r.width, "register "+r.name)
		if t := types.GetNewTypes()[nt.Name]; t.GetOriginalType() != nil {
			spec = t.GetOriginalType()
		}
	}
	switch spec := spec.GetTypeSpec().(type) {
	case *p4configv1.P4DataTypeSpec_Bool:
		r.bool = true
	case *p4configv1.P4DataTypeSpec_Bitstring:
		r.signed = spec.Bitstring.GetInt() != nil
	case *p4configv1.P4DataTypeSpec_SerializableEnum:
		r.enum = true
	case *p4configv1.P4DataTypeSpec_NewType, nil:
	case *p4configv1.P4DataTypeSpec_Struct:
		sum := 0
		for _, m := range types.GetStructs()[spec.Struct.GetName()].GetMembers() {
			member := boundRegister{boundArray: boundArray{name: r.name + "." + m.Name}, width: 1}
			if bits := m.TypeSpec.GetBitstring(); bits != nil {
				member.width = int(bits.GetBit().GetBitwidth() + bits.GetInt().GetBitwidth())
			} else if m.TypeSpec.GetBool() == nil {
				b.errorf("register %s: a struct of numbers has a member of type %T", member.name, m.TypeSpec.GetTypeSpec())
			}
			b.cellType(&member, m.TypeSpec)
			sum += member.width
			r.members = append(r.members, member)
		}
		if sum != r.width {
			b.errorf("register %s has cells of %d bits in the P4Info, %d in the program", r.name, sum, r.width)
		}
	default:
		b.errorf("register %s has cells of type %T, which this target does not have", r.name, spec)
	}
}

func (b *bindings) bindVSets() {
	p := b.p
	p.vsets = map[uint32]*boundVSet{}
	names := index(p.prog.VSets, func(i *interp.VSetInfo) string { return i.Name })
	for _, v := range b.info.ValueSets {
		n, ok := names[v.Preamble.GetName()]
		if !ok {
			b.errorf("value set %s is not in the program", v.Preamble.GetName())
			continue
		}
		bv := &boundVSet{info: v, name: v.Preamble.Name, number: n}
		widths := p.prog.VSets[n].Widths()
		for i, m := range v.Match {
			f := boundField{id: m.Id, name: m.Name, kind: m.GetMatchType(), width: int(m.Bitwidth)}
			if i < len(widths) {
				f.trans = b.translated(m.GetTypeName().GetName(), widths[i], "value set "+bv.name)
			}
			if f.trans != nil {
				f.width = widths[i]
			}
			bv.width += f.width
			bv.fields = append(bv.fields, f)
		}
		if bv.width != p.prog.VSets[n].Width {
			b.errorf("value set %s has values of %d bits in the P4Info, %d in the program", bv.name, bv.width, p.prog.VSets[n].Width)
		}
		p.vsets[v.Preamble.Id] = bv
	}
}
