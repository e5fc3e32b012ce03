// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/softswitch/interp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// lookup finds an object by its identifier.
func lookup[T any](m map[uint32]*T, id uint32, what string) (*T, error) {
	if x := m[id]; x != nil {
		return x, nil
	}
	if id == 0 {
		return nil, status.Errorf(codes.InvalidArgument, "the %s id is not set", what)
	}
	return nil, status.Errorf(codes.NotFound, "unknown %s id %d", what, id)
}

// cells returns the range of cells that an index selects, from the first to
// before the last. No index selects all.
func cells(i *p4v1.Index, size int, what string) (int, int, error) {
	switch {
	case i == nil:
		return 0, size, nil
	case i.Index < 0:
		return 0, 0, status.Errorf(codes.InvalidArgument, "%s: index %d is negative", what, i.Index)
	case i.Index >= int64(size):
		return 0, 0, status.Errorf(codes.OutOfRange, "%s: index %d, but it has %d cells", what, i.Index, size)
	}
	return int(i.Index), int(i.Index) + 1, nil
}

func counterProto(c interp.Counter) *p4v1.CounterData {
	return &p4v1.CounterData{PacketCount: int64(c.Packets), ByteCount: int64(c.Bytes)}
}

func index64(i int) *p4v1.Index { return &p4v1.Index{Index: int64(i)} }

// update is a function as an op.
type update func(d *device) (func(), error)

func (u update) apply(d *device) (func(), error) { return u(d) }

func (d *device) decodeCounter(e *p4v1.CounterEntry) (op, error) {
	k, err := lookup(d.counters, e.GetCounterId(), "counter")
	if err != nil {
		return nil, err
	}
	first, last, err := cells(e.Index, d.prog.Counters[k.number].Size, "counter "+k.name)
	if err != nil {
		return nil, err
	}
	return update(func(d *device) (func(), error) {
		c := d.state.Counters[k.number].Cells[first:last]
		if e.Data == nil {
			return func() {}, nil
		}
		old := append([]interp.Counter(nil), c...)
		for i := range c {
			c[i] = interp.Counter{Packets: uint64(e.Data.PacketCount), Bytes: uint64(e.Data.ByteCount)}
		}
		return func() { copy(c, old) }, nil
	}), nil
}

// directEntry finds the entry of a direct resource, which may be the default
// entry.
func (d *device) directEntry(e *p4v1.TableEntry, has func(*boundTable) bool, what string) (*boundTable, func(d *device) (*interp.Entry, error), error) {
	t, err := d.table(e.GetTableId())
	if err != nil {
		return nil, nil, err
	}
	if !has(t) {
		return nil, nil, status.Errorf(codes.InvalidArgument, "table %s has no direct %s", t.name, what)
	}
	if e.IsDefaultAction {
		return t, func(d *device) (*interp.Entry, error) { return d.state.Tables[t.number].Default(), nil }, nil
	}
	m, err := t.match(d, e)
	if err != nil {
		return nil, nil, err
	}
	return t, func(d *device) (*interp.Entry, error) {
		tab := d.state.Tables[t.number]
		id, ok := tab.Find(&m)
		if !ok {
			return nil, status.Errorf(codes.NotFound, "table %s: no such entry", t.name)
		}
		return tab.Entry(id), nil
	}, nil
}

func hasCounter(t *boundTable) bool { return t.counter != nil }
func hasMeter(t *boundTable) bool   { return t.meter != nil }

func (d *device) decodeDirectCounter(e *p4v1.DirectCounterEntry) (op, error) {
	_, find, err := d.directEntry(e.GetTableEntry(), hasCounter, "counter")
	if err != nil {
		return nil, err
	}
	return update(func(d *device) (func(), error) {
		entry, err := find(d)
		if err != nil {
			return nil, err
		}
		x := entry.Ext
		old := x.Counter
		if e.Data != nil {
			x.Counter = interp.Counter{Packets: uint64(e.Data.PacketCount), Bytes: uint64(e.Data.ByteCount)}
		}
		return func() {
			if entry, err := find(d); err == nil { // a later update may have inserted it again
				entry.Ext.Counter = old
			}
		}, nil
	}), nil
}

// meterRates checks the configuration of a meter against its type (9.4).
func meterRates(c *p4v1.MeterConfig, spec *p4configv1.MeterSpec, what string) (interp.MeterRates, error) {
	r := interp.MeterRates{CIR: c.Cir, CBurst: c.Cburst, PIR: c.Pir, PBurst: c.Pburst, EBurst: c.Eburst}
	bad := func(why string) (interp.MeterRates, error) {
		return r, status.Errorf(codes.InvalidArgument, "%s: meter configuration: %s", what, why)
	}
	if c.Cir < 0 || c.Cburst < 0 || c.Pir < 0 || c.Pburst < 0 || c.Eburst < 0 {
		return bad("a rate or burst is negative")
	}
	single := c.Pir == c.Cir && c.Pburst == c.Cburst
	switch spec.GetType() {
	case p4configv1.MeterSpec_SINGLE_RATE_THREE_COLOR:
		if !single {
			return bad("pir and pburst of a single-rate meter equal cir and cburst")
		}
		r.Single = true
	case p4configv1.MeterSpec_SINGLE_RATE_TWO_COLOR:
		if !single || c.Eburst != 0 {
			return bad("pir and pburst of a single-rate meter equal cir and cburst, and eburst is not set")
		}
	default:
		if c.Eburst != 0 {
			return bad("eburst is for single-rate meters")
		}
		if c.Pir < c.Cir {
			return bad("pir is less than cir")
		}
	}
	return r, nil
}

// zeroColors rejects nonzero values for the counters of colours, because they
// can only be cleared.
func zeroColors(m *p4v1.MeterCounterData) error {
	for _, c := range []*p4v1.CounterData{m.GetGreen(), m.GetYellow(), m.GetRed()} {
		if c.GetPacketCount() != 0 || c.GetByteCount() != 0 {
			return status.Error(codes.InvalidArgument, "counters of meter colours can only be set to zero")
		}
	}
	return nil
}

func meterProto(m *interp.Meter) *p4v1.MeterConfig {
	if !m.Configured {
		return nil
	}
	return &p4v1.MeterConfig{Cir: m.Rates.CIR, Cburst: m.Rates.CBurst, Pir: m.Rates.PIR, Pburst: m.Rates.PBurst, Eburst: m.Rates.EBurst}
}

func colorsProto(m *interp.Meter) *p4v1.MeterCounterData {
	return &p4v1.MeterCounterData{Green: counterProto(m.Colors[0]), Yellow: counterProto(m.Colors[1]), Red: counterProto(m.Colors[2])}
}

// setMeter sets the configuration of a meter, or resets it.
func (d *device) setMeter(m *interp.Meter, rates *interp.MeterRates, clearColors bool) {
	colors := m.Colors
	if rates != nil {
		m.Configure(*rates, d.s.sw.Now())
	} else {
		m.Reset()
	}
	m.Colors = colors
	if clearColors {
		m.Colors = interp.Colors{}
	}
}

func (d *device) decodeMeter(e *p4v1.MeterEntry) (op, error) {
	m, err := lookup(d.meters, e.GetMeterId(), "meter")
	if err != nil {
		return nil, err
	}
	first, last, err := cells(e.Index, d.prog.Meters[m.number].Size, "meter "+m.name)
	if err != nil {
		return nil, err
	}
	rates, err := optionalRates(e.Config, m.spec, "meter "+m.name)
	if err != nil {
		return nil, err
	}
	if err := zeroColors(e.GetCounterData()); e.CounterData != nil && err != nil {
		return nil, err
	}
	return update(func(d *device) (func(), error) {
		c := d.state.Meters[m.number].Cells[first:last]
		old := append([]interp.Meter(nil), c...)
		for i := range c {
			d.setMeter(&c[i], rates, e.CounterData != nil)
		}
		return func() { copy(c, old) }, nil
	}), nil
}

func optionalRates(c *p4v1.MeterConfig, spec *p4configv1.MeterSpec, what string) (*interp.MeterRates, error) {
	if c == nil {
		return nil, nil
	}
	r, err := meterRates(c, spec, what)
	return &r, err
}

func (d *device) decodeDirectMeter(e *p4v1.DirectMeterEntry) (op, error) {
	t, find, err := d.directEntry(e.GetTableEntry(), hasMeter, "meter")
	if err != nil {
		return nil, err
	}
	rates, err := optionalRates(e.Config, t.meter.Spec, "table "+t.name)
	if err != nil {
		return nil, err
	}
	if e.CounterData != nil {
		if err := zeroColors(e.CounterData); err != nil {
			return nil, err
		}
	}
	return update(func(d *device) (func(), error) {
		entry, err := find(d)
		if err != nil {
			return nil, err
		}
		x := entry.Ext
		old := x.Meter
		d.setMeter(&x.Meter, rates, e.CounterData != nil)
		return func() {
			if entry, err := find(d); err == nil {
				entry.Ext.Meter = old
			}
		}, nil
	}), nil
}

func (d *device) decodeRegister(e *p4v1.RegisterEntry) (op, error) {
	r, err := lookup(d.regs, e.GetRegisterId(), "register")
	if err != nil {
		return nil, err
	}
	first, last, err := cells(e.Index, d.prog.Registers[r.number].Size, "register "+r.name)
	if err != nil {
		return nil, err
	}
	v, err := r.parse(d, e.Data)
	if err != nil {
		return nil, err
	}
	return update(func(d *device) (func(), error) {
		reg := d.state.Registers[r.number]
		old := make([]uint64, 0, (last-first)*reg.Limbs())
		for i := first; i < last; i++ {
			old = append(old, reg.Cell(i)...)
			copy(reg.Cell(i), v)
		}
		return func() {
			for i := first; i < last; i++ {
				copy(reg.Cell(i), old[(i-first)*reg.Limbs():])
			}
		}, nil
	}), nil
}

// eachArray calls f with the object of an id, or with all for id zero.
func eachArray[T any](m map[uint32]*T, id uint32, what string, f func(*T) error) error {
	if id != 0 {
		x, err := lookup(m, id, what)
		if err != nil {
			return err
		}
		return f(x)
	}
	for _, id := range sortedKeys(m) {
		if err := f(m[id]); err != nil {
			return err
		}
	}
	return nil
}

// chunks calls f for parts of first…last, each in one critical section of the
// switch's lock.
func (d *device) chunks(first, last int, f func(i int)) {
	for first < last {
		unlock := d.lock()
		for n := 0; n < readChunk && first < last; n++ {
			f(first)
			first++
		}
		unlock()
	}
}

func (d *device) readCounters(r *p4v1.CounterEntry, emit func(*p4v1.Entity)) error {
	return eachArray(d.counters, r.CounterId, "counter", func(k *boundArray) error {
		first, last, err := cells(r.Index, d.prog.Counters[k.number].Size, "counter "+k.name)
		if err != nil {
			return err
		}
		d.chunks(first, last, func(i int) {
			emit(&p4v1.Entity{Entity: &p4v1.Entity_CounterEntry{CounterEntry: &p4v1.CounterEntry{
				CounterId: k.id, Index: index64(i), Data: counterProto(d.state.Counters[k.number].Cells[i]),
			}}})
		})
		return nil
	})
}

func (d *device) readMeters(r *p4v1.MeterEntry, emit func(*p4v1.Entity)) error {
	return eachArray(d.meters, r.MeterId, "meter", func(m *boundMeter) error {
		first, last, err := cells(r.Index, d.prog.Meters[m.number].Size, "meter "+m.name)
		if err != nil {
			return err
		}
		d.chunks(first, last, func(i int) {
			cell := &d.state.Meters[m.number].Cells[i]
			e := &p4v1.MeterEntry{MeterId: m.id, Index: index64(i), Config: meterProto(cell)}
			if r.CounterData != nil {
				e.CounterData = colorsProto(cell)
			}
			emit(&p4v1.Entity{Entity: &p4v1.Entity_MeterEntry{MeterEntry: e}})
		})
		return nil
	})
}

func (d *device) readRegisters(r *p4v1.RegisterEntry, emit func(*p4v1.Entity)) error {
	return eachArray(d.regs, r.RegisterId, "register", func(reg *boundRegister) error {
		first, last, err := cells(r.Index, d.prog.Registers[reg.number].Size, "register "+reg.name)
		if err != nil {
			return err
		}
		d.chunks(first, last, func(i int) {
			emit(&p4v1.Entity{Entity: &p4v1.Entity_RegisterEntry{RegisterEntry: &p4v1.RegisterEntry{
				RegisterId: reg.id, Index: index64(i), Data: reg.format(d, d.state.Registers[reg.number].Cell(i)),
			}}})
		})
		return nil
	})
}

// readDirect reads the direct resources of one entry, of a table's entries, or
// of all tables.
func (d *device) readDirect(e *p4v1.TableEntry, has func(*boundTable) bool, what string, emit func(*boundTable, *p4v1.TableEntry, *interp.Entry)) error {
	one := func(t *boundTable, entry *interp.Entry) {
		emit(t, d.entryProto(t, d.state.Tables[t.number], entry, &p4v1.TableEntry{}), entry)
	}
	all := func(t *boundTable) {
		tab := d.state.Tables[t.number]
		for from, more := uint32(0), true; more; {
			unlock := d.lock()
			n := 0
			from, more = tab.EachFrom(from, func(_ uint32, entry *interp.Entry) bool {
				one(t, entry)
				n++
				return n < readChunk
			})
			unlock()
		}
	}
	if e.GetTableId() == 0 {
		for _, t := range d.order {
			if has(t) {
				all(t)
			}
		}
		return nil
	}
	t, err := d.table(e.TableId)
	if err != nil {
		return err
	}
	if !has(t) {
		return status.Errorf(codes.InvalidArgument, "table %s has no direct %s", t.name, what)
	}
	if len(e.Match) == 0 && !e.IsDefaultAction {
		all(t)
		return nil
	}
	_, find, err := d.directEntry(e, has, what)
	if err != nil {
		return err
	}
	defer d.lock()()
	entry, err := find(d)
	if err != nil {
		return err
	}
	one(t, entry)
	return nil
}

func (d *device) readDirectCounters(r *p4v1.DirectCounterEntry, emit func(*p4v1.Entity)) error {
	return d.readDirect(r.TableEntry, hasCounter, "counter", func(t *boundTable, e *p4v1.TableEntry, entry *interp.Entry) {
		emit(&p4v1.Entity{Entity: &p4v1.Entity_DirectCounterEntry{DirectCounterEntry: &p4v1.DirectCounterEntry{
			TableEntry: e, Data: counterProto(entry.Ext.Counter),
		}}})
	})
}

func (d *device) readDirectMeters(r *p4v1.DirectMeterEntry, emit func(*p4v1.Entity)) error {
	return d.readDirect(r.TableEntry, hasMeter, "meter", func(t *boundTable, e *p4v1.TableEntry, entry *interp.Entry) {
		m := &p4v1.DirectMeterEntry{TableEntry: e, Config: meterProto(&entry.Ext.Meter)}
		if r.CounterData != nil {
			m.CounterData = colorsProto(&entry.Ext.Meter)
		}
		emit(&p4v1.Entity{Entity: &p4v1.Entity_DirectMeterEntry{DirectMeterEntry: m}})
	})
}
