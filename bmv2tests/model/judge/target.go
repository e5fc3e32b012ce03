// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/model"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch/interp"
)

// Program is a compiled P4 program.
type Program struct {
	Name      string
	prog      *interp.Program
	tables    map[string]int // of the controller: by name without the leading dot
	actions   map[string]map[string]int
	registers map[string]int
}

// Load prepares a program in BMv2's format.
func Load(name string, file *bmv2json.Program) (*Program, error) {
	prog, err := interp.Compile(file, interp.Options{})
	if err != nil {
		return nil, err
	}
	p := &Program{Name: name, prog: prog, tables: map[string]int{}, actions: map[string]map[string]int{}, registers: map[string]int{}}
	for i, t := range prog.Tables {
		p.tables[plain(t.Name)] = i
		acts := map[string]int{}
		for _, a := range t.Actions {
			acts[plain(prog.Actions[a].Name)] = a
		}
		p.actions[plain(t.Name)] = acts
	}
	for i, r := range prog.Registers {
		p.registers[plain(r.Name)] = i
	}
	return p, nil
}

// plain is a name without the dot of an @name at the top level.
func plain(name string) string {
	if name != "" && name[0] == '.' {
		return name[1:]
	}
	return name
}

// A Target is a program at work: the pipelines of a target without the queues
// and ports around them, which the judge plays. What comes between ingress
// and egress, and when, is thus entirely in its hand. tofino.go has what is
// different there.
type Target struct {
	*Program
	st *interp.State
	m  *interp.Machine

	tofino bool
	copies int // of packets are cut to so many bytes, on a Tofino

	inserted []entry // by insert
	changed  []int   // tables whose default action setDefault replaced

	inPort, spec, outPort, instance, length, inTime, outTime, group, priority, enqTime, delta, depth field
}

// An entry of a table, by their numbers.
type entry struct {
	table int
	id    uint32
}

type field struct {
	interp.Field
	ok bool
}

// New returns the program in its first state.
func (p *Program) New(of *model.Program) *Target {
	t := &Target{Program: p, st: interp.NewState(p.prog, 0), tofino: of.Tofino, copies: 100}
	if of.ParsesINT() { // telemetry is in the way of what copies need
		t.copies = 142
	}
	t.m = interp.NewMachine(t.st)
	if t.tofino {
		return t
	}
	t.m.DropPort = DropPort
	for _, f := range []struct {
		to   *field
		name string
	}{
		{&t.inPort, "standard_metadata.ingress_port"},
		{&t.spec, "standard_metadata.egress_spec"},
		{&t.outPort, "standard_metadata.egress_port"},
		{&t.instance, "standard_metadata.instance_type"},
		{&t.length, "standard_metadata.packet_length"},
		{&t.inTime, "intrinsic_metadata.ingress_global_timestamp"},
		{&t.outTime, "intrinsic_metadata.egress_global_timestamp"},
		{&t.group, "intrinsic_metadata.mcast_grp"},
		{&t.priority, "intrinsic_metadata.priority"},
		{&t.enqTime, "queueing_metadata.enq_timestamp"},
		{&t.delta, "queueing_metadata.deq_timedelta"},
		{&t.depth, "queueing_metadata.deq_qdepth"},
	} {
		f.to.Field, f.to.ok = p.prog.Field(f.name)
	}
	return t
}

// reset takes away what the controller wrote, and starts the random numbers
// from seed. Registers stay: who resets sets them all.
func (t *Target) reset(seed uint64) {
	t.st.Seed(seed)
	for _, e := range t.inserted {
		t.st.Tables[e.table].Delete(e.id)
	}
	for _, i := range t.changed {
		t.st.Tables[i].ResetDefault()
	}
	t.inserted, t.changed = t.inserted[:0], t.changed[:0]
}

func (t *Target) register(name string) *interp.Register { return t.st.Registers[t.registers[name]] }

// counted is how often entries of a table have taken an action.
func (t *Target) counted(table, action string) (packets uint64) {
	a := t.actions[table][action]
	for _, e := range t.st.Tables[t.tables[table]].Each {
		if e.Action() == a {
			packets += e.Ext.Counter.Packets
		}
	}
	return packets
}

func (t *Target) set(f *field, v uint64) {
	if f.ok {
		t.m.Set(f.Field, v)
	}
}

func (t *Target) get(f *field) uint64 {
	if !f.ok {
		return 0
	}
	return t.m.Get(f.Field)
}

// Values of standard_metadata.instance_type.
const (
	isNormal = 0
	isIClone = 1
	isEClone = 2
	isRecirc = 4
	isCopy   = 5
)

// DropPort is the egress_spec that drops.
const DropPort = 511

// held is what the target keeps of a packet in a queue, or on its way from
// egress to ingress.
type held struct {
	frame *packet.Frame
	state interp.Saved
	list  int // field list that a recirculated packet brings, with its values
	keep  []uint64
}

// ingress runs a packet through ingress. again is nil for one from a link.
func (t *Target) ingress(frame *packet.Frame, again *held, port int, now model.Time) (o model.Outcome, h, clone *held) {
	if t.tofino {
		return t.tofinoIngress(frame, again != nil && again.frame == nil, port, now)
	}
	m := t.m
	asCame := (&packet.Pool{}).Clone(frame)
	m.Start(frame, frame.Len())
	if again == nil {
		t.set(&t.inPort, uint64(port))
		t.set(&t.inTime, uint64(now))
		t.set(&t.instance, isNormal)
	} else {
		m.SetList(again.list, again.keep)
		t.set(&t.instance, isRecirc)
	}
	t.set(&t.length, uint64(frame.Len()))
	m.Parse()
	m.Ingress()
	ask := m.Ask
	if d := t.digest(ask); d != nil {
		o.Digest = append(o.Digest, d)
	}
	group, spec, class := int(t.get(&t.group)), int(t.get(&t.spec)), int(t.get(&t.priority))&7
	switch {
	case group != 0:
		o.Group, o.Class = group, class
		t.set(&t.instance, isCopy)
	case spec == DropPort:
		o.Drop = true
	default:
		o.Port, o.Class = spec, class
		t.set(&t.instance, isNormal)
	}
	if !o.Drop {
		h = &held{frame: frame, state: m.Save(nil)}
	}
	if ask.Clone {
		o.Cloned, o.Session = true, int(ask.CloneSession)
		keep := m.List(ask.CloneList, nil)
		m.Start(asCame, asCame.Len())
		t.set(&t.inPort, uint64(port))
		m.Parse()
		m.ResetMetadata()
		m.SetList(ask.CloneList, keep)
		t.set(&t.instance, isIClone)
		clone = &held{frame: asCame, state: m.Save(nil)}
	}
	return o, h, clone
}

// digest returns the fields of a digest in order, if one was asked for.
func (t *Target) digest(ask interp.Requests) []int64 {
	if ask.Digest == 0 {
		return nil
	}
	_, values, _ := t.m.Digest(ask.Digest)
	var list []int64
	for _, v := range values {
		list = append(list, int64(v[0]))
	}
	return list
}

// copyOf returns a copy of a packet in a queue, for multicast.
func (h *held) copyOf() *held {
	return &held{frame: (&packet.Pool{}).Clone(h.frame), state: slices.Clone(h.state)}
}

// egress runs a packet that leaves a queue through egress.
func (t *Target) egress(h *held, p *model.Packet) (o model.Departure, again, clone *held) {
	if t.tofino {
		return t.tofinoEgress(h.frame, p)
	}
	m := t.m
	m.Resume(h.frame, h.state)
	t.set(&t.outTime, uint64(p.Left))
	t.set(&t.enqTime, uint64(p.Came))
	t.set(&t.delta, uint64(p.Left-p.Came))
	t.set(&t.depth, uint64(p.Behind))
	t.set(&t.outPort, uint64(p.Queue.Port))
	t.set(&t.spec, DropPort+1)
	t.set(&t.length, uint64(m.Length()))
	m.Egress()
	ask := m.Ask
	if ask.Clone {
		o.Cloned, o.Session = true, int(ask.CloneSession)
		keep := m.List(ask.CloneList, nil)
		saved := m.SaveAll(nil)
		m.ResetMetadata()
		m.SetList(ask.CloneList, keep)
		t.set(&t.instance, isEClone)
		clone = &held{frame: (&packet.Pool{}).Clone(h.frame), state: m.Save(nil)}
		m.ResumeAll(h.frame, saved)
		m.Ask = ask
	}
	if t.get(&t.spec) == DropPort {
		o.Drop = true
		return o, nil, clone
	}
	m.Finish()
	if ask.Recirculate != 0 {
		o.Recirculate = true
		again = &held{frame: h.frame, list: ask.Recirculate, keep: m.List(ask.Recirculate, nil)}
		return o, again, clone
	}
	o.Data, o.Elided = h.frame.Data, h.frame.Elided
	return o, nil, clone
}

// install gives a program the entries of a configuration: routes and ports that
// all programs have, and those of its own tables by the names of arguments.
func (t *Target) install(p *model.Program, c *model.Config) {
	toHost := "to_port"
	if _, ok := t.actions["route"]["to_host"]; ok {
		toHost = "to_host"
	}
	for _, r := range c.Routes {
		port := model.Args{"port": int64(r.First)}
		switch {
		case r.ToHost():
			t.insert("route", []int64{r.Addr}, 32, toHost, port)
		case r.Paths == 0 || r.Paths == 1 && t.tofino:
			t.insert("route", []int64{r.Addr}, 24, "to_port", port)
		default:
			t.insert("route", []int64{r.Addr}, 24, "to_leaf", model.Args{"leaf": r.Leaf, "first_port": int64(r.First), "last_path": int64(r.Paths - 1), "hash_shift": int64(r.Shift)})
		}
	}
	for port := 1; port < p.Ports && t.tofino; port++ {
		t.insert("port_number", []int64{int64(port)}, 0, "is_port", model.Args{"port": int64(port)})
	}
	for _, table := range slices.Sorted(maps.Keys(c.Tables)) {
		action, entries := t.filledIn(table), c.Tables[table]
		for _, i := range slices.Sorted(maps.Keys(entries)) {
			args := entries[i]
			switch keys := p.TableKeys[table]; {
			case i == model.Default:
				t.setDefault(table, action, args)
			case keys == 2:
				t.insert(table, []int64{int64(i / p.Classes), int64(i % p.Classes)}, 0, action, args)
			default:
				t.insert(table, []int64{int64(i)}, 0, action, args)
			}
		}
	}
}

// filledIn is the action of a table that the controller fills in: the one that
// has arguments, or else is not the default.
func (t *Target) filledIn(table string) (action string) {
	for name, a := range t.actions[table] {
		if len(t.prog.Actions[a].Params) > 0 {
			return name
		}
		if a != t.prog.Tables[t.tables[table]].Default.Action {
			action = name
		}
	}
	return action
}

// has reports whether the program has a table.
func (t *Program) has(table string) bool { _, ok := t.tables[table]; return ok }

// setDefault gives a table a default action, if the program has the table.
func (t *Target) setDefault(table, action string, args model.Args) {
	if t.has(table) {
		a, packed := t.args(table, action, args)
		i := t.tables[table]
		t.st.Tables[i].SetDefault(a, packed)
		t.changed = append(t.changed, i)
	}
}

// insert adds an entry, if the program has the table. The key is an address
// and the length of its prefix, or one or two exact fields.
func (t *Target) insert(table string, key []int64, prefix int, action string, args model.Args) {
	if !t.has(table) {
		return
	}
	a, packed := t.args(table, action, args)
	number := t.tables[table]
	tab := t.st.Tables[number]
	match := make([]interp.FieldMatch, len(tab.Info.Key))
	if len(key) < len(match) {
		panic(fmt.Sprintf("BUG: table %s has %d keys", table, len(match)))
	}
	for i := range match {
		match[i] = interp.FieldMatch{Value: []uint64{uint64(key[i])}, Prefix: prefix}
	}
	m := tab.Info.Match(match, 0)
	id, err := tab.Insert(&m, a, packed)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	t.inserted = append(t.inserted, entry{number, id})
}

func (t *Target) args(table, action string, args model.Args) (int, []uint64) {
	a, ok := t.actions[table][action]
	if !ok {
		panic(fmt.Sprintf("BUG: table %s has no action %s", table, action))
	}
	var limbs [][]uint64
	for _, p := range t.prog.Actions[a].Params {
		v, ok := args[p.Name]
		if !ok {
			panic(fmt.Sprintf("BUG: nobody draws argument %s of action %s of table %s", p.Name, action, table))
		}
		limbs = append(limbs, []uint64{uint64(v)})
	}
	return a, t.prog.PackArgs(a, limbs)
}
