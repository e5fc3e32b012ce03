// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"encoding/binary"
	"fmt"
	"sync"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/softswitch/interp"
	"google.golang.org/grpc/status"
)

// A Loader starts switches of one process that have the same program. What they have in
// common exists once: the pipeline, entries that several switches have, and the contents
// of tables that are equal in all entries. A switch whose table changes later gets a copy
// of its own. Several goroutines may use a Loader; it should be dropped when all switches
// have started, because it keeps what it has seen.
type Loader struct {
	pipeline *pipeline
	shares   bool // no value is translated: decoded entries are the same for all switches
	sparse   bool // registers take memory when they are first written

	mu sync.RWMutex
	// entries are the entries seen so far, by entryKey. nil: only one switch had it.
	entries  map[string]*sharedEntry
	numbered uint32 // identifiers that entries have
	// known are those that updates of several switches refer to by the same pointer, which
	// is found faster than a key.
	known map[*p4v1.TableEntry]*sharedEntry
	// contents are those of tables, by number and the entries' identifiers.
	contents map[string]*sharedContents
}

// sharedEntry is an entry that several switches have.
type sharedEntry struct {
	id   uint32
	u    *tableUpdate
	from *p4v1.TableEntry // that it was decoded from
}

// sharedContents are the entries of a table that several switches may have.
type sharedContents struct {
	contents *interp.Contents // nil: tables of this kind cannot share any
	cost     int64            // of all entries, see entryCost
}

// sparseAbove is the size of all switches' registers, in bytes, from which on they take
// memory when they are first written. Below, the faster huge pages are worth their memory.
const sparseAbove = 1 << 28

// NewLoader returns a loader for a number of switches with this configuration.
func NewLoader(cfg *p4v1.ForwardingPipelineConfig, o interp.Options, switches int) (*Loader, error) {
	p, err := bind(cfg, o)
	if err != nil {
		return nil, err
	}
	return &Loader{pipeline: p, shares: len(p.translations) == 0, sparse: p.prog.StateBytes()*int64(switches) > sparseAbove,
		entries: map[string]*sharedEntry{}, known: map[*p4v1.TableEntry]*sharedEntry{}, contents: map[string]*sharedContents{}}, nil
}

// Load sets the configuration of a switch and applies updates without a controller. Either
// all updates are applied or none.
func (l *Loader) Load(s *Server, updates []*p4v1.Update) error {
	s.serial.Lock()
	defer s.serial.Unlock()
	s.writes.Lock()
	defer s.writes.Unlock()
	newState := interp.NewState
	if l.sparse {
		newState = interp.NewSparseState
	}
	d, err := s.newDevice(l.pipeline, newState)
	if err != nil {
		return err
	}
	if err := l.apply(d, updates); err != nil {
		d.drop()
		return err
	}
	s.commit(d)
	return nil
}

// start is a table at the start of a switch.
type start struct {
	updates int
	entries []*sharedEntry // of the updates, if all are shared
	shared  bool           // has its contents from another switch
}

// UpdateError is the error of one of the updates with which a switch starts.
type UpdateError struct {
	Update  *p4v1.Update
	Index   int // in the list
	Message string
}

func (e *UpdateError) Error() string { return fmt.Sprintf("update %d: %s", e.Index+1, e.Message) }

func (l *Loader) apply(d *device, updates []*p4v1.Update) error {
	shared := l.sharedEntries(d, updates)
	tables := make([]start, len(d.state.Tables))
	for i, u := range updates {
		if t := d.tables[u.GetEntity().GetTableEntry().GetTableId()]; t != nil && !u.GetEntity().GetTableEntry().GetIsDefaultAction() {
			b := &tables[t.number]
			if b.updates++; shared[i] != nil {
				b.entries = append(b.entries, shared[i])
			}
		}
	}
	for number := range tables {
		b, t := &tables[number], d.state.Tables[number]
		if b.updates == 0 {
			continue
		}
		if len(b.entries) < b.updates || t.Len() > 0 {
			b.entries = nil
		}
		if c := l.contentsOf(number, b.entries); c != nil && c.contents != nil && d.grow(c.cost) == nil {
			t.Share(c.contents)
			b.shared = true
			continue
		}
		t.Reserve(t.Len() + b.updates)
	}
	learning, done := d.learning()
	defer done()
	for i, u := range updates {
		learning.begin()
		var err error
		switch x := shared[i]; {
		case x == nil:
			err = d.preload(u)
		case !tables[x.u.t.number].shared:
			err = x.u.apply(d)
		}
		if err != nil {
			return &UpdateError{u, i, status.Convert(err).Message()}
		}
		learning.keep(learning.uses())
	}
	for number := range tables {
		if b := &tables[number]; len(b.entries) > 0 && !b.shared {
			l.keep(number, b.entries, d.state.Tables[number])
		}
	}
	return nil
}

// sharedEntries returns, by update, the entries that other switches have, too.
func (l *Loader) sharedEntries(d *device, updates []*p4v1.Update) []*sharedEntry {
	shared := make([]*sharedEntry, len(updates))
	if !l.shares {
		return shared
	}
	var rest []int // of updates: they are not known, or new
	key := make([]byte, 0, 128)
	l.mu.RLock()
	for i, u := range updates {
		te := u.GetEntity().GetTableEntry()
		if shared[i] = l.known[te]; shared[i] != nil && u.Type == p4v1.Update_INSERT {
			continue
		}
		shared[i] = nil
		key = l.entryKey(key[:0], u)
		if len(key) == 0 {
			continue
		}
		if shared[i] = l.entries[string(key)]; shared[i] == nil || shared[i].from == te {
			rest = append(rest, i)
		}
	}
	l.mu.RUnlock()
	if len(rest) == 0 {
		return shared
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range rest {
		te := updates[i].GetEntity().GetTableEntry()
		if shared[i] != nil {
			l.known[te] = shared[i]
			continue
		}
		key = l.entryKey(key[:0], updates[i])
		e, seen := l.entries[string(key)]
		if seen && e == nil {
			if o, err := d.decode(updates[i]); err == nil {
				e = &sharedEntry{l.numbered, o.(*tableUpdate), te}
				l.numbered++
			}
		}
		l.entries[string(key)] = e
		shared[i] = e
	}
	return shared
}

// contentsOf returns the contents of a table that has these entries, or nil.
func (l *Loader) contentsOf(number int, entries []*sharedEntry) *sharedContents {
	if len(entries) == 0 {
		return nil
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.contents[contentsKey(number, entries)]
}

// keep keeps the contents of a table for other switches.
func (l *Loader) keep(number int, entries []*sharedEntry, t *interp.Table) {
	key := contentsKey(number, entries)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.contents[key] != nil { // another switch was faster
		return
	}
	c := &sharedContents{contents: t.Contents()}
	for _, e := range entries {
		c.cost += e.u.cost()
	}
	l.contents[key] = c
}

func contentsKey(number int, entries []*sharedEntry) string {
	key := binary.LittleEndian.AppendUint32(make([]byte, 0, 4*(len(entries)+1)), uint32(number))
	for _, e := range entries {
		key = binary.LittleEndian.AppendUint32(key, e.id)
	}
	return string(key)
}

// entryKey appends a key of an update that inserts an entry which can be shared: one with
// an action, and nothing that belongs to the entry of one switch. Otherwise it appends
// nothing.
func (l *Loader) entryKey(key []byte, u *p4v1.Update) []byte {
	e := u.GetEntity().GetTableEntry()
	t := l.pipeline.tables[e.GetTableId()]
	a := e.GetAction().GetAction()
	switch {
	case u.GetType() != p4v1.Update_INSERT, t == nil, a == nil, t.info.HasInitialEntries:
		return key
	case e.IsDefaultAction, e.IsConst, e.IdleTimeoutNs != 0, cookieOf(e) != 0, len(e.Metadata) > 0,
		e.CounterData != nil, e.MeterConfig != nil, e.MeterCounterData != nil, e.TimeSinceLastHit != nil:
		return key
	}
	from := len(key)
	number := func(n uint32) { key = binary.LittleEndian.AppendUint32(key, n) }
	text := func(b []byte) {
		number(uint32(len(b)))
		key = append(key, b...)
	}
	number(e.TableId)
	number(uint32(e.Priority))
	number(uint32(len(e.Match)))
	for _, m := range e.Match {
		number(m.GetFieldId())
		switch x := m.GetFieldMatchType().(type) {
		case *p4v1.FieldMatch_Exact_:
			number(1)
			text(x.Exact.GetValue())
		case *p4v1.FieldMatch_Lpm:
			number(2)
			text(x.Lpm.GetValue())
			number(uint32(x.Lpm.GetPrefixLen()))
		case *p4v1.FieldMatch_Ternary_:
			number(3)
			text(x.Ternary.GetValue())
			text(x.Ternary.GetMask())
		case *p4v1.FieldMatch_Range_:
			number(4)
			text(x.Range.GetLow())
			text(x.Range.GetHigh())
		case *p4v1.FieldMatch_Optional_:
			number(5)
			text(x.Optional.GetValue())
		default:
			return key[:from]
		}
	}
	number(a.GetActionId())
	for _, p := range a.GetParams() {
		number(p.GetParamId())
		text(p.GetValue())
	}
	return key
}
