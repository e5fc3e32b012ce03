// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"slices"
	"unsafe"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/table"
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

// update is a function as an op, with the number of cells or entries that it changes.
type update struct {
	cells int
	do    func(d *device) error
}

func (u update) apply(d *device) error { return u.do(d) }
func (u update) size() int             { return u.cells }

func (d *device) decodeCounter(e *p4v1.CounterEntry) (op, error) {
	k, err := lookup(d.counters, e.GetCounterId(), "counter")
	if err != nil {
		return nil, err
	}
	first, last, err := cells(e.Index, d.prog.Counters[k.number].Size, "counter "+k.name)
	if err != nil {
		return nil, err
	}
	return update{last - first, func(d *device) error {
		array := &d.state.Counters[k.number]
		if e.Data == nil {
			return nil
		}
		touchCells(d, array, first, last, len(array.Cells), counterBytes, func(first, last int) []interp.Counter { return slices.Clone(array.Cells[first:last]) })
		value := interp.Counter{Packets: uint64(e.Data.PacketCount), Bytes: uint64(e.Data.ByteCount)}
		return setCells(d, array.Cells, first, last, counterBytes, func(c *interp.Counter) { *c = value })
	}}, nil
}

// directEntry finds the table of a direct resource, and the match of its entry, which
// may be the default entry. Without a match it returns the table with the error.
func (d *device) directEntry(e *p4v1.TableEntry, has func(*boundTable) bool, what string) (t *boundTable, m table.Match, err error) {
	if t, err = d.table(e.GetTableId()); err != nil {
		return nil, m, err
	}
	if !has(t) {
		return nil, m, status.Errorf(codes.InvalidArgument, "table %s has no direct %s", t.name, what)
	}
	if !e.IsDefaultAction {
		m, err = t.match(d, e)
	}
	return t, m, err
}

// direct returns the entry of a direct resource, which a write is about to change.
func (d *device) direct(t *boundTable, isDefault bool, m *table.Match) (*interp.Entry, error) {
	tab := d.state.Tables[t.number]
	if isDefault {
		d.touchDefault(tab)
		return tab.Default(), nil
	}
	id, ok := tab.Find(m)
	if !ok {
		return nil, status.Errorf(codes.NotFound, "table %s: no such entry", t.name)
	}
	d.touchEntry(tab, id)
	return tab.Entry(id), nil
}

func hasCounter(t *boundTable) bool { return t.counter != nil }
func hasMeter(t *boundTable) bool   { return t.meter != nil }

func (d *device) decodeDirectCounter(e *p4v1.DirectCounterEntry) (op, error) {
	t, m, err := d.directEntry(e.GetTableEntry(), hasCounter, "counter")
	if err != nil {
		return nil, err
	}
	find := func(d *device) (*interp.Entry, error) { return d.direct(t, e.TableEntry.IsDefaultAction, &m) }
	return update{1, func(d *device) error {
		entry, err := find(d)
		if err != nil {
			return err
		}
		x := entry.Ext
		old := x.Counter
		if e.Data != nil {
			x.Counter = interp.Counter{Packets: uint64(e.Data.PacketCount), Bytes: uint64(e.Data.ByteCount)}
		}
		d.onRevert(func() {
			if entry, err := find(d); err == nil { // it may have been inserted again
				entry.Ext.Counter = old
			}
		})
		return nil
	}}, nil
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
	return update{last - first, func(d *device) error {
		array := &d.state.Meters[m.number]
		touchCells(d, array, first, last, len(array.Cells), meterBytes, func(first, last int) []interp.Meter { return slices.Clone(array.Cells[first:last]) })
		return setCells(d, array.Cells, first, last, meterBytes, func(c *interp.Meter) { d.setMeter(c, rates, e.CounterData != nil) })
	}}, nil
}

// Sizes of cells in bytes.
const (
	counterBytes = int(unsafe.Sizeof(interp.Counter{}))
	meterBytes   = int(unsafe.Sizeof(interp.Meter{}))
)

// setCells changes the cells of an array from first to before last.
func setCells[T any](d *device, c []T, first, last, bytes int, set func(*T)) error {
	var old []T
	if d.atomic {
		if err := d.borrow(int64((last - first) * bytes)); err != nil {
			return err
		}
		old = make([]T, 0, last-first)
		d.onRevert(func() { d.eachCell(first, last, func(i int) { c[i] = old[i-first] }) })
	}
	d.eachCell(first, last, func(i int) {
		if d.atomic {
			old = append(old, c[i])
		}
		set(&c[i])
	})
	return nil
}

// eachCell calls f with the numbers from first to before last. Packets may be forwarded in
// between, unless the batch is atomic for them.
func (d *device) eachCell(first, last int, f func(i int)) {
	for i := first; i < last; i++ {
		if i > first && (i-first)%cellChunk == 0 {
			d.breathe()
		}
		f(i)
	}
}

func optionalRates(c *p4v1.MeterConfig, spec *p4configv1.MeterSpec, what string) (*interp.MeterRates, error) {
	if c == nil {
		return nil, nil
	}
	r, err := meterRates(c, spec, what)
	return &r, err
}

func (d *device) decodeDirectMeter(e *p4v1.DirectMeterEntry) (op, error) {
	t, m, err := d.directEntry(e.GetTableEntry(), hasMeter, "meter")
	if err != nil {
		return nil, err
	}
	find := func(d *device) (*interp.Entry, error) { return d.direct(t, e.TableEntry.IsDefaultAction, &m) }
	rates, err := optionalRates(e.Config, t.meter.Spec, "table "+t.name)
	if err != nil {
		return nil, err
	}
	if e.CounterData != nil {
		if err := zeroColors(e.CounterData); err != nil {
			return nil, err
		}
	}
	return update{1, func(d *device) error {
		entry, err := find(d)
		if err != nil {
			return err
		}
		x := entry.Ext
		old := x.Meter
		d.setMeter(&x.Meter, rates, e.CounterData != nil)
		d.onRevert(func() {
			if entry, err := find(d); err == nil {
				entry.Ext.Meter = old
			}
		})
		return nil
	}}, nil
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
	return update{last - first, func(d *device) error {
		reg := d.state.Registers[r.number]
		n := reg.Limbs()
		touchCells(d, reg, first, last, reg.Info.Size, 8*n+24, func(first, last int) [][]uint64 {
			list := make([][]uint64, 0, last-first)
			for i := first; i < last; i++ {
				list = append(list, slices.Clone(reg.Cell(i)))
			}
			return list
		})
		var old []uint64
		if d.atomic {
			if err := d.borrow(int64((last - first) * n * 8)); err != nil {
				return err
			}
			old = make([]uint64, 0, (last-first)*n)
			d.onRevert(func() { d.eachCell(first, last, func(i int) { copy(reg.Cell(i), old[(i-first)*n:]) }) })
		}
		d.eachCell(first, last, func(i int) {
			if d.atomic {
				old = append(old, reg.Cell(i)...)
			}
			copy(reg.Cell(i), v)
		})
		return nil
	}}, nil
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

func (r *reading) readCounters(q *p4v1.CounterEntry) error {
	return eachArray(r.d.counters, q.CounterId, "counter", func(k *boundArray) error {
		array := &r.d.state.Counters[k.number]
		first, last, err := cells(q.Index, array.Info.Size, "counter "+k.name)
		if err != nil {
			return err
		}
		return readCells(r, array, "counter "+k.name, first, last, func(i int) interp.Counter { return array.Cells[i] }, func(i int, c interp.Counter) error {
			return r.emit(&p4v1.Entity{Entity: &p4v1.Entity_CounterEntry{CounterEntry: &p4v1.CounterEntry{CounterId: k.id, Index: index64(i), Data: counterProto(c)}}})
		})
	})
}

func (r *reading) readMeters(q *p4v1.MeterEntry) error {
	return eachArray(r.d.meters, q.MeterId, "meter", func(m *boundMeter) error {
		array := &r.d.state.Meters[m.number]
		first, last, err := cells(q.Index, array.Info.Size, "meter "+m.name)
		if err != nil {
			return err
		}
		return readCells(r, array, "meter "+m.name, first, last, func(i int) interp.Meter { return array.Cells[i] }, func(i int, cell interp.Meter) error {
			e := &p4v1.MeterEntry{MeterId: m.id, Index: index64(i), Config: meterProto(&cell)}
			if q.CounterData != nil {
				e.CounterData = colorsProto(&cell)
			}
			return r.emit(&p4v1.Entity{Entity: &p4v1.Entity_MeterEntry{MeterEntry: e}})
		})
	})
}

func (r *reading) readRegisters(q *p4v1.RegisterEntry) error {
	return eachArray(r.d.regs, q.RegisterId, "register", func(reg *boundRegister) error {
		array := r.d.state.Registers[reg.number]
		first, last, err := cells(q.Index, array.Info.Size, "register "+reg.name)
		if err != nil {
			return err
		}
		return readCells(r, array, "register "+reg.name, first, last, func(i int) []uint64 { return slices.Clone(array.Cell(i)) }, func(i int, cell []uint64) error {
			return r.emit(&p4v1.Entity{Entity: &p4v1.Entity_RegisterEntry{RegisterEntry: &p4v1.RegisterEntry{
				RegisterId: reg.id, Index: index64(i), Data: reg.format(r.view, cell),
			}}})
		})
	})
}

// readDirect reads the direct resources of one entry, of a table's entries, or
// of all tables.
func (r *reading) readDirect(q *p4v1.TableEntry, has func(*boundTable) bool, what string, emit func(*boundTable, *p4v1.TableEntry, *interp.Entry) error) error {
	one := func(t *boundTable, e *interp.Entry) error {
		return emit(t, r.view.entryProto(t, r.d.state.Tables[t.number], e, &p4v1.TableEntry{}, r.now), e)
	}
	all := func(t *boundTable) error {
		return r.entries(r.d.state.Tables[t.number], true, func(*interp.Entry) bool { return true }, func(e *interp.Entry) error { return one(t, e) })
	}
	if q.GetTableId() == 0 {
		for _, t := range r.d.order {
			if has(t) {
				if err := all(t); err != nil {
					return err
				}
			}
		}
		return nil
	}
	t, m, err := r.view.directEntry(q, has, what)
	switch {
	case err != nil && !(t != nil && len(q.Match) == 0):
		return err
	case len(q.Match) == 0 && !q.IsDefaultAction:
		return all(t)
	}
	e, err := r.one(r.d.state.Tables[t.number], q.IsDefaultAction, &m, true)
	switch {
	case err != nil:
		return err
	case e == nil:
		return status.Errorf(codes.NotFound, "table %s: no such entry", t.name)
	}
	return one(t, e)
}

func (r *reading) readDirectCounters(q *p4v1.DirectCounterEntry) error {
	return r.readDirect(q.TableEntry, hasCounter, "counter", func(t *boundTable, e *p4v1.TableEntry, entry *interp.Entry) error {
		return r.emit(&p4v1.Entity{Entity: &p4v1.Entity_DirectCounterEntry{DirectCounterEntry: &p4v1.DirectCounterEntry{
			TableEntry: e, Data: counterProto(entry.Ext.Counter),
		}}})
	})
}

func (r *reading) readDirectMeters(q *p4v1.DirectMeterEntry) error {
	return r.readDirect(q.TableEntry, hasMeter, "meter", func(t *boundTable, e *p4v1.TableEntry, entry *interp.Entry) error {
		m := &p4v1.DirectMeterEntry{TableEntry: e, Config: meterProto(&entry.Ext.Meter)}
		if q.CounterData != nil {
			m.CounterData = colorsProto(&entry.Ext.Meter)
		}
		return r.emit(&p4v1.Entity{Entity: &p4v1.Entity_DirectMeterEntry{DirectMeterEntry: m}})
	})
}
