// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"unsafe"

	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// applyTable is the fastest implementation of apply that suits the table.
func (m *Machine) applyTable(t *Table) int32 {
	if !t.quick || m.Trace != nil {
		return m.apply(t)
	}
	t.Lookups++
	f := unsafe.Pointer(unsafe.SliceData(m.f))
	key := m.key1(t.Info.Parts)
	number := t.lookupQuick(key)
	args := unsafe.Add(f, 8*m.prog.Params)
	if number == none {
		copy(m.f[m.prog.Params:], t.def.limbs)
		return t.def.pc
	}
	t.Hits++
	stride := t.records.stride
	at := int(number) * stride
	record := t.records.data[at : at+stride]
	for i := 1; i < len(record); i++ {
		*(*uint64)(args) = record[i]
		args = unsafe.Add(args, 8)
	}
	return int32(record[0])
}

// lookupQuick returns the record for a key of a quick table, or none.
func (t *Table) lookupQuick(key uint64) uint32 {
	if t.direct != nil {
		return t.direct[key] - 1
	}
	var number uint32
	var ok bool
	if t.recent != nil {
		slot := t.recent.slot(key, t.Info.Width)
		if x := *slot; x>>32 == key && x != 0 {
			return uint32(x) - 2
		}
		if t.lpm32 != nil {
			number, ok = t.lpm32.Lookup1(key)
		} else {
			t.key[0] = key
			number, ok = t.index.Lookup(t.key)
		}
		if ok {
			number = t.recordOf[number]
		} else {
			number = none
		}
		*slot, t.recent.used = key<<32|uint64(number+2), true
		return number
	}
	if t.exact32 != nil {
		number, ok = t.exact32.Lookup1(key)
	} else {
		number, ok = t.exact.Lookup1(key)
	}
	if !ok {
		return none
	}
	return t.recordOf[number]
}

// apply looks the packet up in a table and returns the first instruction of its
// action. It copies the action's arguments to the parameter slots.
func (m *Machine) apply(t *Table) int32 {
	t.Lookups++
	if len(t.Info.Parts) != 0 {
		if number, ok := m.find(t); ok {
			t.Hits++
			if t.extras {
				if t.heavy {
					return m.applyHeavy(t, number)
				}
				m.count(t, t.hotOf(number))
			}
			if m.Trace != nil {
				m.traceHit(t)
			}
			at := int(t.recordOf[number]) * t.records.stride
			record := t.records.data[at : at+t.records.stride]
			args := m.f[m.prog.Params:]
			for i := 1; i < len(record); i++ {
				args[i-1] = record[i]
			}
			return int32(record[0])
		}
	}
	if s := t.Info.EntrySlot; s >= 0 {
		m.f[s] = 0
	}
	e := &t.def
	if t.counts {
		e.Ext.Counter.Packets++
		e.Ext.Counter.Bytes += m.f[m.prog.Sys+ops.SysIngressLen]
	}
	if m.Trace != nil {
		m.traceEntry(t, e, "miss", int(e.action), e.limbs)
		if len(t.Info.Parts) != 0 {
			m.traceNearest(t)
		}
		if e.action < 0 || strings.TrimPrefix(m.prog.Actions[e.action].Name, ".") == "NoAction" {
			m.Trace("    a miss does nothing: the default action is NoAction")
		}
	}
	copy(m.f[m.prog.Params:], e.limbs)
	return e.pc
}

// find returns the record of the packet's entry.
func (m *Machine) find(t *Table) (uint32, bool) {
	switch { // direct calls for the frequent cases
	case t.exact32 != nil:
		return t.exact32.Lookup1(m.key1(t.Info.Parts))
	case t.lpm32 != nil:
		return t.lpm32.Lookup1(m.key1(t.Info.Parts))
	case t.exact != nil && len(t.key) == 1:
		return t.exact.Lookup1(m.key1(t.Info.Parts))
	}
	m.packKey(t)
	if t.lpm != nil {
		return t.lpm.Lookup(t.key)
	}
	return t.index.Lookup(t.key)
}

// key1 packs a key of one limb.
func (m *Machine) key1(parts []ops.KeyPart) uint64 {
	f := m.f
	var key uint64
	for i := range parts {
		p := &parts[i]
		if p.Valid != ops.NoValid && f[p.Valid] == 0 {
			continue
		}
		key |= f[p.Slot] & p.Mask << p.Shift
	}
	return key
}

// packKey packs the key of a table.
func (m *Machine) packKey(t *Table) {
	f, key := m.f, t.key
	clear(key)
	for i := range t.Info.Parts {
		p := &t.Info.Parts[i]
		if p.Valid != ops.NoValid && f[p.Valid] == 0 {
			continue
		}
		x := f[p.Slot] & p.Mask
		if p.Shift >= 0 {
			key[p.Limb] |= x << p.Shift
		} else {
			key[p.Limb] |= x >> -p.Shift
		}
	}
}

// count records a hit of an entry.
func (m *Machine) count(t *Table, h *Hot) {
	h.LastHit = m.Now
	if t.counts {
		h.Counter.Packets++
		h.Counter.Bytes += m.f[m.prog.Sys+ops.SysIngressLen]
	}
}

// applyHeavy completes apply for a hit in a table with direct meters or an
// action profile, or whose actions need the entry's number.
func (m *Machine) applyHeavy(t *Table, number uint32) int32 {
	e := &t.entries[number]
	x := e.Ext
	m.count(t, x.Hot)
	if s := t.Info.EntrySlot; s >= 0 {
		m.f[s] = uint64(number) + 1
	}
	if t.Info.MeterSlot >= 0 {
		info := m.state.Meters[t.Info.Meter].Info
		m.f[t.Info.MeterSlot] = x.Meter.Execute(m.units(info), m.f[m.prog.Sys+ops.SysIngressLen], Green, m.Now) & t.Info.MeterMask
	}
	action, args, pc := int(e.action), e.limbs[t.argsAt:], e.pc
	member := x.Member
	if g := x.Group; g != nil {
		member = nil
		switch n := g.slots(); {
		case n == 0:
		case g.Random:
			member = g.pick(m.state.rng.Between(0, n-1))
		default:
			member = g.pick(m.hash(m.prog.Profiles[t.Info.Profile].Selector) % n)
		}
	}
	switch {
	case member != nil:
		action, args, pc = member.Action, member.Args, t.Info.ByAction[2*member.Action]
	case action < 0: // an empty group does nothing
		pc, args = t.Info.PCs[len(t.Info.PCs)-1], nil
	}
	if m.Trace != nil {
		m.traceEntry(t, e, "hit", action, args)
	}
	copy(m.f[m.prog.Params:], args)
	return pc
}

// traceHit traces a hit in a table without direct meters and action profile.
func (m *Machine) traceHit(t *Table) {
	if id, ok := m.find(t); ok {
		e := &t.entries[id]
		m.traceEntry(t, e, "hit", int(e.action), e.limbs[t.argsAt:])
	}
}

func (m *Machine) traceEntry(t *Table, e *Entry, what string, action int, args []uint64) {
	var key []string
	for i, v := range m.keyValues(t) {
		k := &t.Info.Key[i]
		key = append(key, k.Name+"="+valueText(k.Name, k.Width, v))
	}
	if what == "hit" {
		match := t.Match(e)
		var entry []string
		for i, f := range t.Info.Fields(&match) {
			k := &t.Info.Key[i]
			// The condition as text, which a value that cannot match shows.
			if k.Kind != "exact" && k.Kind != "valid" {
				entry = append(entry, conditionText(&f, k))
			}
		}
		if len(entry) > 0 {
			what += " (" + strings.Join(entry, ", ") + ")"
		}
	}
	m.Trace(fmt.Sprintf("  %s: %s → %s", what, strings.Join(key, ", "), m.actionText(action, args)))
}

// hash computes a calculation.
func (m *Machine) hash(n int) uint64 {
	k := &m.prog.Calcs[n]
	if k.Sums != nil && m.allValid(k.Valid) {
		return m.quickSum(k)
	}
	if k.Words != nil && m.allValid(k.Valid) {
		return m.quickCRC(k)
	}
	return k.Algo.Hash(m.input(k), &m.state.memos[n])
}

func (m *Machine) allValid(valid []ops.Slot) bool {
	for _, s := range valid {
		if m.f[s] == 0 {
			return false
		}
	}
	return true
}

func (m *Machine) quickSum(k *ops.Calc) uint64 {
	f := m.f
	var sum uint64
	for i := range k.Sums {
		p := &k.Sums[i]
		x := f[p.Slot] & p.Mask
		// 48 bits at most after this, so that thousands of fields cannot overflow.
		sum += (x>>32 + x&0xffffffff) << p.Shift
	}
	if k.Payload {
		sum += ops.Sum16(m.data[m.f[m.prog.Sys+ops.SysPayload]:])
	}
	return uint64(ops.Fold(sum))
}

// input concatenates the inputs of a calculation in scratch memory.
func (m *Machine) input(k *ops.Calc) []byte {
	b := m.scratch[:0]
	f := m.f
	if k.Aligned {
		for i := range k.Inputs {
			in := &k.Inputs[i]
			if in.Valid != ops.NoValid && f[in.Valid] == 0 {
				continue
			}
			switch {
			case in.Header != nil || in.Value != nil || in.Limbs != 1:
				b = m.appendInput(b, 8*len(b), in)
			case in.Width == 8:
				b = append(b, byte(f[in.Slot]))
			case in.Width == 16:
				b = binary.BigEndian.AppendUint16(b, uint16(f[in.Slot]))
			case in.Width == 32:
				b = binary.BigEndian.AppendUint32(b, uint32(f[in.Slot]))
			default:
				for shift := in.Width - 8; shift >= 0; shift -= 8 {
					b = append(b, byte(f[in.Slot]>>shift))
				}
			}
		}
	} else {
		at := 0
		for i := range k.Inputs {
			in := &k.Inputs[i]
			if in.Valid != ops.NoValid && f[in.Valid] == 0 {
				continue
			}
			b = m.appendInput(b, at, in)
			at += m.inputBits(in)
		}
	}
	if k.Payload {
		b = append(b, m.data[f[m.prog.Sys+ops.SysPayload]:]...)
		if k.Algo.Sum {
			// Elided zeros add nothing to a sum.
		} else {
			for range m.frame.Elided {
				b = append(b, 0)
			}
		}
	}
	m.scratch = b
	return b
}

func (m *Machine) inputBits(in *ops.CalcInput) int {
	switch {
	case in.Varbit:
		return int(m.f[in.Header.Base+ops.RelVarLen])
	case in.Header != nil && in.Header.Type.Varbit >= 0:
		return in.Width + int(m.f[in.Header.Base+ops.RelVarLen])
	}
	return in.Width
}

// appendInput appends an input, starting at the given bit.
func (m *Machine) appendInput(b []byte, at int, in *ops.CalcInput) []byte {
	bits := m.inputBits(in)
	for len(b) < (at+bits+7)/8 {
		b = append(b, 0)
	}
	switch {
	case in.Varbit:
		from := int(m.f[in.Header.Base+ops.RelVarOff])
		for done := 0; done < bits; done += 8 {
			ops.PutBits(b, at+done, 8, ops.GetBits(m.data, from+done, 8))
		}
	case in.Header != nil:
		for i, x := range m.emit(nil, in.Header) {
			ops.PutBits(b, at+8*i, 8, uint64(x))
		}
	default:
		value := in.Value
		if value == nil {
			value = m.f[in.Slot : int(in.Slot)+int(in.Limbs)]
		}
		for limb := len(value) - 1; limb >= 0; limb-- {
			n := min(64, in.Width-64*limb)
			ops.PutBits(b, at+in.Width-64*limb-n, n, value[limb])
		}
	}
	return b
}

// quickCRC computes a CRC directly from slots.
func (m *Machine) quickCRC(k *ops.Calc) uint64 {
	c := k.Algo.CRC
	t := &c.Tables
	x := c.Invert
	for _, w := range k.Words {
		v, n := m.f[w.Slot], w.Bytes
		for ; n >= 4; n -= 4 {
			x ^= bits.ReverseBytes32(uint32(v >> (8*n - 32)))
			x = t[3][byte(x)] ^ t[2][byte(x>>8)] ^ t[1][byte(x>>16)] ^ t[0][x>>24]
		}
		for ; n > 0; n-- {
			x = t[0][byte(x)^byte(v>>(8*n-8))] ^ x>>8
		}
	}
	return uint64(x ^ c.Invert)
}
