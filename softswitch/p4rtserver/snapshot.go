// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"encoding/binary"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/table"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A Read returns the state before or after any Write (13.4 of the specification), but
// no Write waits for it: the Read walks in pieces, and writes save what they replace for
// the snapshots that are open.

// snapshot is the state of a device at one moment. All fields are guarded by
// Server.writes: writes change them under Lock, readers use them under RLock.
type snapshot struct {
	// old has what writes replaced between this snapshot and the next. What is in no
	// later snapshot's old either has its current value.
	old map[place]any
	// removed has the keys that writes removed from maps.
	removed map[any][]uint32
	next    *snapshot // opened later; nil: none
	bytes   int64     // charged for old
	closed  bool
	lost    bool // there was no memory for old
}

// place is a part of a device's state that a write replaces as a whole: an entry of a
// table, by number and by match, a member, a group, a cell.
type place struct {
	of    any    // the table, profile, map or array
	at    uint64 // number, key or index
	match string // of an entry
}

// Places of a table or array besides those of its entries or cells.
const (
	defaultEntry = 1<<64 - 1
	allCells     = 1<<64 - 2
)

// open returns a snapshot of the device. The caller holds Server.writes.
func (d *device) open() *snapshot {
	s := &snapshot{}
	if n := len(d.snapshots); n > 0 {
		d.snapshots[n-1].next = s
	}
	d.snapshots = append(d.snapshots, s)
	return s
}

// close ends the use of a snapshot. The caller holds Server.writes. What it saved
// is kept while an earlier snapshot needs it.
func (d *device) close(s *snapshot) {
	s.closed = true
	for len(d.snapshots) > 0 && d.snapshots[0].closed {
		d.forget()
	}
}

// forget drops the oldest snapshot.
func (d *device) forget() {
	s := d.snapshots[0]
	d.snapshots = slices.Delete(d.snapshots, 0, 1)
	d.s.budget.answers.give(s.bytes)
	s.bytes, s.old, s.removed = 0, nil, nil
}

// placeBytes is about the memory of an element of snapshot.old, without its value.
const placeBytes = 160

// touch saves a place for the open snapshots. A write calls it before it changes the
// place. value is called if its value is needed; it also returns its size in bytes.
// Without memory the oldest snapshots are lost, and their reads fail.
func (d *device) touch(p place, value func() (any, int64)) {
	n := len(d.snapshots)
	if n == 0 {
		return
	}
	s := d.snapshots[n-1]
	if _, ok := s.old[p]; ok {
		return
	}
	if _, ok := s.old[place{of: p.of, at: allCells}]; ok {
		return
	}
	v, bytes := value()
	bytes += placeBytes
	for s.bytes += bytes; d.s.budget.answers.take(bytes, 1) != nil; {
		d.snapshots[0].lost = true
		if d.snapshots[0] == s {
			s.bytes -= bytes
			d.forget()
			return
		}
		d.forget()
	}
	if s.old == nil {
		s.old = map[place]any{}
	}
	s.old[p] = v
}

// touchEntry saves an entry.
func (d *device) touchEntry(t *interp.Table, id uint32) {
	if len(d.snapshots) == 0 {
		return
	}
	e := capture(t.Entry(id), true)
	m := t.Match(e)
	value := func() (any, int64) { return e, entryBytes + extendBytes }
	d.touch(place{of: t, at: uint64(id)}, value)
	d.touch(place{of: t, match: matchKey(&m)}, value)
}

// touchAbsent saves that there was no entry of this number or match.
func (d *device) touchAbsent(t *interp.Table, id uint32, m *table.Match) {
	if len(d.snapshots) == 0 {
		return
	}
	value := func() (any, int64) { return (*interp.Entry)(nil), 0 }
	d.touch(place{of: t, at: uint64(id)}, value)
	d.touch(place{of: t, match: matchKey(m)}, value)
}

// touchDefault saves a default entry.
func (d *device) touchDefault(t *interp.Table) {
	d.touch(place{of: t, at: defaultEntry}, func() (any, int64) { return capture(t.Default(), true), entryBytes + extendBytes })
}

// touchKey saves the value of a key in a map, which copied has made independent of
// later writes; nil if it has none.
func touchKey[V any](d *device, m *map[uint32]*V, key uint32, copied func(*V) *V) {
	n := len(d.snapshots)
	if n == 0 {
		return
	}
	p := place{of: m, at: uint64(key)}
	was := (*m)[key]
	if _, ok := d.snapshots[n-1].old[p]; !ok && was != nil {
		s := d.snapshots[n-1]
		if s.removed == nil {
			s.removed = map[any][]uint32{}
		}
		s.removed[m] = append(s.removed[m], key)
	}
	d.touch(p, func() (any, int64) {
		if was == nil {
			return (*V)(nil), 0
		}
		return copied(was), memberBytes
	})
}

// mostSaved is the number of bytes of an array up to which a write of all its cells saves
// them. Reads of larger arrays during which they are written fail.
const mostSaved = 1 << 19

// touchCells saves the cells of an array from first to before last: one, or all.
func touchCells[T any](d *device, of any, first, last, size, bytes int, cells func(first, last int) []T) {
	switch {
	case len(d.snapshots) == 0:
	case size > 1 && first == 0 && last == size:
		d.touch(place{of: of, at: allCells}, func() (any, int64) {
			if size*bytes > mostSaved {
				return nil, 0
			}
			return cells(0, size), int64(size * bytes)
		})
	default:
		d.touch(place{of: of, at: uint64(first)}, func() (any, int64) { return cells(first, first+1), int64(bytes) })
	}
}

// capture copies an entry, so that it can be formatted while packets and writes
// change the entry. Counters, meters and times are copied only with data, for which the
// caller holds the switch's lock.
func capture(e *interp.Entry, data bool) *interp.Entry {
	c := *e
	switch {
	case e.Ext == nil:
	case data:
		c.Ext = e.Ext.Clone()
	default:
		c.Ext = &interp.Extension{Hot: noExtension.Hot, Owner: e.Ext.Owner}
	}
	return &c
}

// matchKey returns a match as a key of a map.
func matchKey(m *table.Match) string {
	b := make([]byte, 0, 64)
	for _, list := range [][]uint64{m.Value, m.Mask} {
		for _, x := range list {
			b = binary.LittleEndian.AppendUint64(b, x)
		}
	}
	for _, r := range m.Ranges {
		for _, list := range [][]uint64{r.Low, r.High} {
			for _, x := range list {
				b = binary.LittleEndian.AppendUint64(b, x)
			}
		}
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(m.Prefix))
	return string(binary.LittleEndian.AppendUint32(b, uint32(m.Priority)))
}

// before returns the value that a place had at the time of the snapshot, if a write has
// replaced it since.
func (s *snapshot) before(p place) (any, bool) {
	for ; s != nil; s = s.next {
		if v, ok := s.old[p]; ok {
			return v, true
		}
	}
	return nil, false
}

// cellBefore is before for a cell of an array. whole is true if the value is that of all
// cells, which is nil if they were too many.
func (s *snapshot) cellBefore(of any, i int) (v any, whole, ok bool) {
	for ; s != nil; s = s.next {
		if len(s.old) == 0 {
			continue
		}
		if v, ok := s.old[place{of: of, at: uint64(i)}]; ok {
			return v, false, true
		}
		if v, ok := s.old[place{of: of, at: allCells}]; ok {
			return v, true, true
		}
	}
	return nil, false, false
}

// errLost is the error of a read whose snapshot could not be kept.
var errLost = status.Error(codes.Aborted, "writes changed more during this read than the switch keeps for it: read again, or fewer entities at once")

// saved copies for touchKey.

func copyMember(m *interp.Member) *interp.Member {
	return &interp.Member{ID: m.ID, Action: m.Action, Args: m.Args}
}

func copyGroup(g *interp.Group) *interp.Group {
	return &interp.Group{ID: g.ID, MaxSize: g.MaxSize, Members: g.Members}
}

func sameMulticast(g *p4v1.MulticastGroupEntry) *p4v1.MulticastGroupEntry { return g }
func sameSession(c *p4v1.CloneSessionEntry) *p4v1.CloneSessionEntry       { return c }
func sameDigest(c *p4v1.DigestEntry_Config) *p4v1.DigestEntry_Config      { return c }
