// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"cmp"
	"fmt"
	"math/bits"
	"net/netip"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// HeaderValue is a valid header of a packet and the values of its fields.
type HeaderValue struct {
	Name    string
	Fields  []FieldValue
	Emitted bool // the deparser of egress emits it
	Offset  int  // in the packet that arrived, in bytes; -1: it was added
}

// FieldValue is a field of a header as text.
type FieldValue struct{ Name, Value string }

// String returns the header as "ipv4: ttl=64 dstAddr=10.0.1.1".
func (h *HeaderValue) String() string {
	var b strings.Builder
	b.WriteString(h.Name + ":")
	for _, f := range h.Fields {
		b.WriteString(" " + f.Name + "=" + f.Value)
	}
	return b.String()
}

// Headers returns the valid headers of the packet, those that the deparser emits in its
// order first. The program must have been compiled for tracing.
func (m *Machine) Headers() (list []HeaderValue) {
	add := func(h *ops.Header, emitted bool) {
		if m.f[h.Base+ops.RelValid] != 0 {
			list = append(list, HeaderValue{h.Name, m.fieldsOf(h, h.Base), emitted, int(m.f[h.Base+ops.RelOffset]) - 1})
		}
	}
	seen := make(map[*ops.Header]bool)
	for i := range m.prog.Deparse[ops.Out] {
		h := m.prog.Deparse[ops.Out][i].Header
		seen[h] = true
		add(h, true)
	}
	for _, h := range m.prog.All {
		if !seen[h] {
			add(h, false)
		}
	}
	return list
}

// fieldsOf returns the fields of a header with a block: those that the program uses have
// slots, the others are in the packet.
func (m *Machine) fieldsOf(h *ops.Header, base int) (list []FieldValue) {
	offset := int(m.f[base+ops.RelOffset])
	for i := range h.Type.Fields {
		f := &h.Type.Fields[i]
		if f.Width == 0 {
			list = append(list, FieldValue{f.Name, fmt.Sprintf("%d bits", m.f[base+ops.RelVarLen])})
			continue
		}
		limbs := make([]uint64, ops.LimbsOf(f.Width))
		switch {
		case f.Rel >= 0:
			copy(limbs, m.f[base+f.Rel:base+f.Rel+len(limbs)])
			bitvec.Mask(limbs, f.Width)
		case offset > 0:
			at := 8*(offset-1) + f.Bit
			if f.AfterVar {
				at += int(m.f[base+ops.RelVarLen])
			}
			for limb := range limbs {
				n := min(64, f.Width-64*limb)
				if from := at + f.Width - 64*limb - n; (from+n+7)/8 <= len(m.data) {
					limbs[limb] = ops.GetBits(m.data, from, n)
				}
			}
		}
		list = append(list, FieldValue{f.Name, valueText(f.Name, f.Width, limbs)})
	}
	return list
}

// valueText writes a value as a reader knows it: addresses as such, short numbers in
// decimal, others in hexadecimal.
func valueText(name string, width int, limbs []uint64) string {
	b := bitvec.AppendBytes(nil, limbs, (width+7)/8)
	lower := strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
	address := strings.Contains(lower, "addr") || strings.Contains(lower, "src") || strings.Contains(lower, "dst") || strings.Contains(lower, "ip") || strings.Contains(lower, "mac")
	switch {
	case width == 48:
		return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5])
	case width == 32 && address:
		return netip.AddrFrom4([4]byte(b)).String()
	case width == 128 && address:
		return netip.AddrFrom16([16]byte(b)).String()
	case width == 16 && strings.Contains(lower, "type"):
		return fmt.Sprintf("0x%04x", limbs[0])
	case width <= 32:
		return fmt.Sprint(limbs[0])
	}
	return fmt.Sprintf("0x%x", b)
}

// keyValues returns the values of a table's key for the packet.
func (m *Machine) keyValues(t *Table) [][]uint64 {
	if len(t.key) == 1 {
		t.key[0] = m.key1(t.Info.Parts)
	} else {
		m.packKey(t)
	}
	var list [][]uint64
	for _, k := range t.Info.Key {
		limbs := make([]uint64, ops.LimbsOf(k.Width))
		copy(limbs, ops.ExtractField(t.key, k))
		list = append(list, limbs)
	}
	return list
}

// nearestEntries is how many entries a missed lookup names.
const nearestEntries = 3

// traceNearest traces the entries that a key misses by the fewest fields, and of these
// by the fewest bits.
func (m *Machine) traceNearest(t *Table) {
	type near struct {
		fields, bits int
		id           uint32
		why          []string
	}
	key := m.keyValues(t)
	var list []near
	total := 0
	t.Each(func(id uint32, e *Entry) bool {
		total++
		match := t.Match(e)
		n := near{id: id}
		for i, f := range t.Info.Fields(&match) {
			k := &t.Info.Key[i]
			far, want, swapped := distance(key[i], &f, k)
			if far == 0 {
				continue
			}
			n.fields++
			n.bits += far
			why := fmt.Sprintf("%s is %s, the entry has %s", k.Name, valueText(k.Name, k.Width, key[i]), want)
			if swapped {
				why += ", which is the same with its bytes in the other order"
				n.bits -= far // the most likely mistake
			}
			n.why = append(n.why, why)
		}
		list = append(list, n)
		return true
	})
	for i, k := range t.Info.Key {
		if why := m.prog.Unwritten[[2]string{t.Info.Name, k.Name}]; why != "" && bitvec.IsZero(key[i]) {
			m.Trace(fmt.Sprintf("    %s is 0: %s", k.Name, why))
		}
	}
	for i := range t.Info.Parts {
		if p := &t.Info.Parts[i]; p.Valid != ops.NoValid && m.f[p.Valid] == 0 {
			m.Trace("    a header of the key is not valid, and its fields count as 0: the parser has not extracted it, or it was removed")
			break
		}
	}
	if total == 0 {
		m.Trace("    the table has no entries")
		return
	}
	slices.SortStableFunc(list, func(a, b near) int { return cmp.Or(cmp.Compare(a.fields, b.fields), cmp.Compare(a.bits, b.bits)) })
	for _, n := range list[:min(len(list), nearestEntries)] {
		e := &t.entries[n.id]
		m.Trace(fmt.Sprintf("    nearest of %d: %s → %s", total, strings.Join(n.why, "; "), m.actionText(int(e.action), e.limbs[min(t.argsAt, len(e.limbs)):])))
	}
}

// distance returns how many bits a value differs in from an entry's condition, the
// condition as text, and whether the bytes in the other order match.
func distance(value []uint64, f *FieldMatch, k *KeyInfo) (far int, want string, swapped bool) {
	full := make([]uint64, len(value))
	for i := range full {
		full[i] = ^uint64(0)
	}
	bitvec.Mask(full, k.Width)
	mask := slices.Clone(full)
	want = conditionText(f, k)
	switch k.Kind {
	case "lpm":
		bitvec.Shr(mask, full, uint64(k.Width-f.Prefix), false)
		bitvec.Shl(mask, mask, uint64(k.Width-f.Prefix))
	case "ternary":
		copy(mask, padded(f.Mask, len(value)))
	case "range":
		if bitvec.Cmp(value, padded(f.Low, len(value))) < 0 || bitvec.Cmp(value, padded(f.High, len(value))) > 0 {
			far = 1
		}
		return far, want, false
	}
	entry := padded(f.Value, len(value))
	for i := range value {
		far += bits.OnesCount64((value[i] ^ entry[i]) & mask[i])
	}
	if far > 0 && k.Width%8 == 0 && k.Width > 8 && slices.Equal(mask, full) {
		b := bitvec.AppendBytes(nil, value, k.Width/8)
		slices.Reverse(b)
		swapped = slices.Equal(b, bitvec.AppendBytes(nil, entry, k.Width/8))
	}
	return far, want, swapped
}

// conditionText returns an entry's condition on a field as text.
func conditionText(f *FieldMatch, k *KeyInfo) string {
	n := ops.LimbsOf(k.Width)
	value := valueText(k.Name, k.Width, padded(f.Value, n))
	switch k.Kind {
	case "lpm":
		return fmt.Sprintf("%s/%d", value, f.Prefix)
	case "ternary":
		mask := padded(f.Mask, n)
		switch full := k.Width - ops.BitCount(mask); {
		case full == k.Width:
			return "any " + k.Name
		case full > 0:
			return value + "&&&" + fmt.Sprintf("0x%x", bitvec.AppendBytes(nil, mask, (k.Width+7)/8))
		}
	case "range":
		return valueText(k.Name, k.Width, padded(f.Low, n)) + ".." + valueText(k.Name, k.Width, padded(f.High, n))
	}
	return value
}

func padded(x []uint64, n int) []uint64 {
	out := make([]uint64, n)
	copy(out, x)
	return out
}

// actionText returns an action with its arguments.
func (m *Machine) actionText(action int, args []uint64) string {
	if action < 0 {
		return "no action"
	}
	a := &m.prog.Actions[action]
	var list []string
	for i, v := range m.state.Program.UnpackArgs(action, args) {
		list = append(list, a.Params[i].Name+"="+valueText(a.Params[i].Name, a.Params[i].Width, v))
	}
	return a.Name + "(" + strings.Join(list, ", ") + ")"
}
