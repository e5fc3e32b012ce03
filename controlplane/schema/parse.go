// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strconv"
	"strings"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// ParseEntity parses an entity from a line of text:
//
//	TABLE [prio N] FIELD=COND… -> ACTION(PARAM=VALUE, …) [timeout 5s]
//	TABLE default -> ACTION(…)         the default entry
//	TABLE default                      the default entry as the program has it
//	TABLE FIELD=COND… -> member N | group N
//	TABLE FIELD=COND… -> {ACTION(…) weight 2 watch PORT, ACTION(…) weight 1}
//	member PROFILE N -> ACTION(…)
//	group PROFILE N -> MEMBER [weight W] [watch PORT], …
//	multicast N -> PORT[/INSTANCE] [backup PORT[/INSTANCE]]…, …
//	clone N -> PORT[/INSTANCE], … [cos N] [truncate BYTES]
//	register NAME[I] = VALUE
//	counter NAME[I] = N packets M bytes
//	meter NAME[I] = cir N burst N pir N burst N [excess N]
//	digest NAME timeout 1ms list 10 ack 10ms
//
// A member whose watch port is down gets no packets. Among a replica and its
// backups, the first whose port is up gets the copy. The excess burst belongs
// to single-rate three-colour meters.
//
// A condition is VALUE, VALUE/PREFIXLEN, VALUE&&&MASK, LOW..HIGH or *,
// depending on the field's match kind. Values are those of Field.Parse. For a
// delete, the part from -> on may be omitted.
func (s *Schema) ParseEntity(line string) (*p4v1.Entity, error) {
	in, err := scan(line)
	if err != nil {
		return nil, err
	}
	p := parser{scanner: in, s: s}
	e, err := p.entity()
	if err != nil {
		return nil, err
	}
	if in.more() {
		return nil, in.errorf("unexpected %s at the end", in.found())
	}
	return e, nil
}

type parser struct {
	*scanner
	s *Schema
}

func (p *parser) entity() (*p4v1.Entity, error) {
	first, err := p.word("the name of a table, or one of: member, group, multicast, clone, register, counter, meter, digest")
	if err != nil {
		return nil, err
	}
	// A table may have the name of a keyword; the next token distinguishes them.
	isTable := p.peek(1).is("=") || p.peek(0).is("->") || p.peek(0).is("default") || p.peek(0).is("prio")
	if !isTable {
		switch first {
		case "member":
			return p.member()
		case "group":
			return p.group()
		case "multicast":
			return p.multicast()
		case "clone":
			return p.clone()
		case "register":
			return p.register()
		case "counter":
			return p.counter()
		case "meter":
			return p.meter()
		case "digest":
			return p.digest()
		}
	}
	return p.table(first)
}

func (p *parser) table(name string) (*p4v1.Entity, error) {
	t, err := p.s.Table(name)
	if err != nil {
		return nil, err
	}
	te := &p4v1.TableEntry{TableId: t.ID}
	var conditions []Match
	for p.more() && !p.peek(0).is("->") && !p.peek(0).is("timeout") {
		switch {
		case p.peek(0).is("default") && !p.peek(1).is("="):
			p.next++
			te.IsDefaultAction = true
		case p.peek(0).is("prio") && !p.peek(1).is("="):
			p.next++
			n, err := p.number("priority", 31)
			if err != nil {
				return nil, err
			}
			te.Priority = int32(n)
		default:
			field, err := p.word("-> and an action or a match field")
			if err != nil {
				return nil, err
			}
			if err := p.expect("="); err != nil {
				return nil, err
			}
			value, err := p.word("a value for " + field)
			if err != nil {
				return nil, err
			}
			conditions = append(conditions, Match{Field: field, text: value})
		}
	}
	if te.Match, err = t.match(conditions); err != nil {
		return nil, err
	}
	if p.accept("->") {
		if te.Action, err = p.tableAction(t); err != nil {
			return nil, err
		}
	}
	if p.accept("timeout") {
		d, err := p.duration("timeout")
		if err != nil {
			return nil, err
		}
		te.IdleTimeoutNs = d.Nanoseconds()
	}
	if err := t.check(te); err != nil {
		return nil, err
	}
	return &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: te}}, nil
}

func (p *parser) tableAction(t *Table) (*p4v1.TableAction, error) {
	if p.peek(1).is("(") || t.Profile == nil {
		a, err := p.action(t.action)
		if err != nil {
			return nil, err
		}
		return &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: a}}, nil
	}
	switch {
	case p.accept("member"):
		n, err := p.number("member", 32)
		return &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileMemberId{ActionProfileMemberId: uint32(n)}}, err
	case p.accept("group"):
		n, err := p.number("group", 32)
		return &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileGroupId{ActionProfileGroupId: uint32(n)}}, err
	case p.accept("{"):
		set := &p4v1.ActionProfileActionSet{}
		for {
			a, err := p.action(t.action)
			if err != nil {
				return nil, err
			}
			x := &p4v1.ActionProfileAction{Action: a}
			if x.Weight, err = p.weight(); err != nil {
				return nil, err
			}
			port, err := p.watch()
			if err != nil {
				return nil, err
			}
			if port != nil {
				x.WatchKind = &p4v1.ActionProfileAction_WatchPort{WatchPort: port}
			}
			set.ActionProfileActions = append(set.ActionProfileActions, x)
			if !p.accept(",") {
				break
			}
		}
		if err := p.expect("}"); err != nil {
			return nil, err
		}
		return &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileActionSet{ActionProfileActionSet: set}}, nil
	}
	return nil, p.errorf("table %s takes its actions from %s: expected member N, group N or {ACTION(…) weight 1, …}, not %s", t.Name, t.Profile.Name, p.found())
}

func (p *parser) weight() (int32, error) {
	if !p.accept("weight") {
		return 1, nil
	}
	n, err := p.number("weight", 31)
	return int32(n), err
}

// watch parses the watch port of a member, nil if absent.
func (p *parser) watch() ([]byte, error) {
	if !p.accept("watch") {
		return nil, nil
	}
	n, err := p.number("port to watch", 32)
	return Uint(n), err
}

// action parses NAME(PARAM=VALUE, …). The parentheses may be omitted without
// parameters, and the name of a single parameter.
func (p *parser) action(find func(string) (*Action, error)) (*p4v1.Action, error) {
	name, err := p.word("an action")
	if err != nil {
		return nil, err
	}
	a, err := find(name)
	if err != nil {
		return nil, err
	}
	args := make(map[uint32][]byte)
	if p.accept("(") && !p.accept(")") {
		for i := 0; ; i++ {
			var f *Field
			if p.peek(1).is("=") {
				name, err := p.word("a parameter")
				if err != nil {
					return nil, err
				}
				p.next++
				if f = a.Param(name); f == nil {
					return nil, noParam(a, name)
				}
			} else if i < len(a.Params) {
				f = a.Params[i]
			} else {
				return nil, p.errorf("action %s takes no more than %d arguments", a.Name, len(a.Params))
			}
			text, err := p.word("a value for " + f.Name)
			if err != nil {
				return nil, err
			}
			if _, ok := args[f.ID]; ok {
				return nil, fmt.Errorf("action %s: parameter %s is given twice", a.Name, f.Name)
			}
			if args[f.ID], err = f.Parse(text); err != nil {
				return nil, fmt.Errorf("action %s: %w", a.Name, err)
			}
			if !p.accept(",") {
				break
			}
		}
		if err := p.expect(")"); err != nil {
			return nil, err
		}
	}
	call := &p4v1.Action{ActionId: a.ID}
	for _, f := range a.Params {
		v, ok := args[f.ID]
		if !ok {
			return nil, fmt.Errorf("action %s: parameter %s is missing", a.Name, f.Name)
		}
		call.Params = append(call.Params, &p4v1.Action_Param{ParamId: f.ID, Value: v})
	}
	return call, nil
}

// parseCondition parses the condition on a field. The kind of the result is
// opText for *, which matches any value.
func (f *Field) parseCondition(text string) (Match, error) {
	m := Match{Field: f.Name, kind: opEq}
	if text == "*" {
		if f.Match == Exact {
			return m, fmt.Errorf("field %s is matched exactly; give a value instead of *", f.Name)
		}
		return Match{kind: opText}, nil
	}
	if f.Format != Text {
		if v, mask, ok := strings.Cut(text, "&&&"); ok {
			m.kind, m.a, m.b = opMask, v, mask
			return m, nil
		}
		if v, n, ok := strings.Cut(text, "/"); ok {
			plen, err := strconv.Atoi(n)
			if err != nil {
				return m, fmt.Errorf("%s: prefix length %q is not a number", f.Name, n)
			}
			m.kind, m.a, m.plen = opPrefix, v, plen
			return m, nil
		}
		if low, high, ok := strings.Cut(text, ".."); ok {
			m.kind, m.a, m.b = opBetween, low, high
			return m, nil
		}
	}
	m.a = text
	return m, nil
}

func (p *parser) member() (*p4v1.Entity, error) {
	prof, id, err := p.profileAndID("member")
	if err != nil {
		return nil, err
	}
	m := &p4v1.ActionProfileMember{ActionProfileId: prof.ID, MemberId: id}
	if p.accept("->") {
		one := &Table{Name: prof.Name, Actions: prof.Actions}
		if m.Action, err = p.action(one.action); err != nil {
			return nil, err
		}
	}
	return &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileMember{ActionProfileMember: m}}, nil
}

func (p *parser) profileAndID(what string) (*Profile, uint32, error) {
	name, err := p.word("an action profile")
	if err != nil {
		return nil, 0, err
	}
	prof, err := p.s.Profile(name)
	if err != nil {
		return nil, 0, err
	}
	id, err := p.number("number of the "+what, 32)
	return prof, uint32(id), err
}

func (p *parser) group() (*p4v1.Entity, error) {
	prof, id, err := p.profileAndID("group")
	if err != nil {
		return nil, err
	}
	g := &p4v1.ActionProfileGroup{ActionProfileId: prof.ID, GroupId: id}
	if p.accept("size") {
		n, err := p.number("size", 31)
		if err != nil {
			return nil, err
		}
		g.MaxSize = int32(n)
	}
	if p.accept("->") && p.more() {
		for {
			id, err := p.number("member", 32)
			if err != nil {
				return nil, err
			}
			m := &p4v1.ActionProfileGroup_Member{MemberId: uint32(id)}
			if m.Weight, err = p.weight(); err != nil {
				return nil, err
			}
			port, err := p.watch()
			if err != nil {
				return nil, err
			}
			if port != nil {
				m.WatchKind = &p4v1.ActionProfileGroup_Member_WatchPort{WatchPort: port}
			}
			g.Members = append(g.Members, m)
			if !p.accept(",") {
				break
			}
		}
	}
	return &p4v1.Entity{Entity: &p4v1.Entity_ActionProfileGroup{ActionProfileGroup: g}}, nil
}

// Replica returns a copy to a port. It uses the numeric field, because
// P4Runtime's field for ports as byte strings is newer than most servers.
func Replica(port, instance uint32) *p4v1.Replica {
	//lint:ignore SA1019 servers in use do not know the younger field
	return &p4v1.Replica{PortKind: &p4v1.Replica_EgressPort{EgressPort: port}, Instance: instance}
}

func (p *parser) replicas() ([]*p4v1.Replica, error) {
	var out []*p4v1.Replica
	if !p.accept("->") || !p.more() || p.peek(0).is("cos") || p.peek(0).is("truncate") {
		return out, nil
	}
	for {
		port, instance, err := p.replica()
		if err != nil {
			return nil, err
		}
		r := Replica(port, instance)
		for p.accept("backup") {
			port, instance, err := p.replica()
			if err != nil {
				return nil, err
			}
			r.BackupReplicas = append(r.BackupReplicas, &p4v1.BackupReplica{Port: Uint(uint64(port)), Instance: instance})
		}
		out = append(out, r)
		if !p.accept(",") {
			return out, nil
		}
	}
}

// replica parses PORT or PORT/INSTANCE.
func (p *parser) replica() (port, instance uint32, err error) {
	text, err := p.word("a port")
	if err != nil {
		return 0, 0, err
	}
	portText, instText, hasInst := strings.Cut(text, "/")
	n, err := strconv.ParseUint(portText, 0, 32)
	var inst uint64
	if err == nil && hasInst {
		inst, err = strconv.ParseUint(instText, 0, 32)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%q is not a port or PORT/INSTANCE", text)
	}
	return uint32(n), uint32(inst), nil
}

func (p *parser) multicast() (*p4v1.Entity, error) {
	id, err := p.number("number of the multicast group", 32)
	if err != nil {
		return nil, err
	}
	g := &p4v1.MulticastGroupEntry{MulticastGroupId: uint32(id)}
	if g.Replicas, err = p.replicas(); err != nil {
		return nil, err
	}
	return Multicast(g), nil
}

// Multicast returns a multicast group as an entity.
func Multicast(g *p4v1.MulticastGroupEntry) *p4v1.Entity {
	return &p4v1.Entity{Entity: &p4v1.Entity_PacketReplicationEngineEntry{PacketReplicationEngineEntry: &p4v1.PacketReplicationEngineEntry{
		Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{MulticastGroupEntry: g}}}}
}

// Clone returns a clone session as an entity.
func Clone(c *p4v1.CloneSessionEntry) *p4v1.Entity {
	return &p4v1.Entity{Entity: &p4v1.Entity_PacketReplicationEngineEntry{PacketReplicationEngineEntry: &p4v1.PacketReplicationEngineEntry{
		Type: &p4v1.PacketReplicationEngineEntry_CloneSessionEntry{CloneSessionEntry: c}}}}
}

func (p *parser) clone() (*p4v1.Entity, error) {
	id, err := p.number("number of the clone session", 32)
	if err != nil {
		return nil, err
	}
	c := &p4v1.CloneSessionEntry{SessionId: uint32(id)}
	if c.Replicas, err = p.replicas(); err != nil {
		return nil, err
	}
	if p.accept("cos") {
		n, err := p.number("class of service", 32)
		if err != nil {
			return nil, err
		}
		c.ClassOfService = uint32(n)
	}
	if p.accept("truncate") {
		n, err := p.number("bytes", 31)
		if err != nil {
			return nil, err
		}
		c.PacketLengthBytes = int32(n)
	}
	return Clone(c), nil
}

// index parses [I]; all reports [*].
func (p *parser) index(name string, size int64) (i int64, err error) {
	if err := p.expect("["); err != nil {
		return 0, err
	}
	n, err := p.number("index", 63)
	if err != nil {
		return 0, err
	}
	if size > 0 && int64(n) >= size {
		return 0, fmt.Errorf("%s has %d cells, numbered from 0; there is no %s[%d]", name, size, name, n)
	}
	return int64(n), p.expect("]")
}

func (p *parser) register() (*p4v1.Entity, error) {
	name, err := p.word("a register")
	if err != nil {
		return nil, err
	}
	r, err := p.s.Register(name)
	if err != nil {
		return nil, err
	}
	i, err := p.index(r.Name, int64(r.Size))
	if err != nil {
		return nil, err
	}
	e := &p4v1.RegisterEntry{RegisterId: r.ID, Index: &p4v1.Index{Index: i}}
	if p.accept("=") {
		text, err := p.word("a value")
		if err != nil {
			return nil, err
		}
		if r.Bits == 0 || len(r.Members) > 0 {
			return nil, fmt.Errorf("a cell of register %s is not a single number", r.Name)
		}
		f := &Field{Name: r.Name, Bits: r.Bits}
		v, err := f.Parse(text)
		if err != nil {
			return nil, err
		}
		e.Data = &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: v}}
	}
	return &p4v1.Entity{Entity: &p4v1.Entity_RegisterEntry{RegisterEntry: e}}, nil
}

func (p *parser) counter() (*p4v1.Entity, error) {
	name, err := p.word("a counter")
	if err != nil {
		return nil, err
	}
	c, err := p.s.Counter(name)
	if err != nil {
		return nil, err
	}
	i, err := p.index(c.Name, c.Size)
	if err != nil {
		return nil, err
	}
	e := &p4v1.CounterEntry{CounterId: c.ID, Index: &p4v1.Index{Index: i}}
	if p.accept("=") {
		e.Data = &p4v1.CounterData{}
		for p.more() {
			n, err := p.number("count", 63)
			if err != nil {
				return nil, err
			}
			switch {
			case p.accept("packets"):
				e.Data.PacketCount = int64(n)
			case p.accept("bytes"):
				e.Data.ByteCount = int64(n)
			default:
				return nil, p.errorf("expected packets or bytes, not %s", p.found())
			}
		}
	}
	return &p4v1.Entity{Entity: &p4v1.Entity_CounterEntry{CounterEntry: e}}, nil
}

func (p *parser) meter() (*p4v1.Entity, error) {
	name, err := p.word("a meter")
	if err != nil {
		return nil, err
	}
	m, err := p.s.Meter(name)
	if err != nil {
		return nil, err
	}
	i, err := p.index(m.Name, m.Size)
	if err != nil {
		return nil, err
	}
	e := &p4v1.MeterEntry{MeterId: m.ID, Index: &p4v1.Index{Index: i}}
	if p.accept("=") {
		c := &p4v1.MeterConfig{}
		for _, f := range []struct {
			word string
			v    *int64
		}{{"cir", &c.Cir}, {"burst", &c.Cburst}, {"pir", &c.Pir}, {"burst", &c.Pburst}} {
			if err := p.expect(f.word); err != nil {
				return nil, err
			}
			n, err := p.number(f.word, 63)
			if err != nil {
				return nil, err
			}
			*f.v = int64(n)
		}
		if p.accept("excess") {
			n, err := p.number("excess burst", 63)
			if err != nil {
				return nil, err
			}
			c.Eburst = int64(n)
		}
		e.Config = c
	}
	return &p4v1.Entity{Entity: &p4v1.Entity_MeterEntry{MeterEntry: e}}, nil
}

func (p *parser) digest() (*p4v1.Entity, error) {
	name, err := p.word("a digest")
	if err != nil {
		return nil, err
	}
	d, err := p.s.Digest(name)
	if err != nil {
		return nil, err
	}
	e := &p4v1.DigestEntry{DigestId: d.ID}
	if p.more() {
		c := &p4v1.DigestEntry_Config{MaxListSize: 1}
		for p.more() {
			switch {
			case p.accept("timeout"):
				t, err := p.duration("timeout")
				if err != nil {
					return nil, err
				}
				c.MaxTimeoutNs = t.Nanoseconds()
			case p.accept("ack"):
				t, err := p.duration("ack")
				if err != nil {
					return nil, err
				}
				c.AckTimeoutNs = t.Nanoseconds()
			case p.accept("list"):
				n, err := p.number("list", 31)
				if err != nil {
					return nil, err
				}
				c.MaxListSize = int32(n)
			default:
				return nil, p.errorf("expected timeout, list or ack, not %s", p.found())
			}
		}
		e.Config = c
	}
	return &p4v1.Entity{Entity: &p4v1.Entity_DigestEntry{DigestEntry: e}}, nil
}
