// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"context"
	"iter"
	"maps"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/table"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// reading reads entities of a device as they were when it began. It takes the lock that
// orders reads and writes for one piece at a time, and formats without it: a piece copies
// pointers and numbers only, so that no write waits longer than for one piece, however
// much is read.
type reading struct {
	ctx  context.Context
	d    *device   // its changing parts are read only in pieces
	view *device   // d without what writes change, for parsing and formatting
	snap *snapshot // nil: nothing writes meanwhile, no lock is needed
	// rest is called before each piece, without a lock, if snap is not nil. It lets other
	// calls have their turn, and returns an error if the read is to end.
	rest func(context.Context) error
	emit func(*p4v1.Entity) error
	// now is the switch's time in the last piece.
	now vtime.Time
}

// A piece visits at most pieceVisits entries, keys or cells, and copies at most
// pieceCopies of them.
const (
	pieceVisits = 1024
	pieceCopies = 128
)

func (d *device) reading(ctx context.Context, emit func(*p4v1.Entity) error) *reading {
	return &reading{ctx: ctx, d: d, emit: emit, view: &device{pipeline: d.pipeline, s: d.s, state: d.state, names: d.names}}
}

// piece calls f under the lock that orders reads and writes, with data also under the
// switch's lock. It returns an error if the read is to end.
func (r *reading) piece(data bool, f func()) error {
	if r.snap == nil {
		f()
		return nil
	}
	if err := r.rest(r.ctx); err != nil {
		return err
	}
	s := r.d.s
	s.writes.RLock()
	lost := r.snap.lost
	if !lost {
		release := func() {}
		if data {
			release = r.d.lock()
			r.now = s.sw.Now()
		}
		f()
		release()
	}
	s.writes.RUnlock()
	if s.opts.ReadPiece != nil {
		s.opts.ReadPiece()
	}
	if lost {
		return errLost
	}
	return nil
}

// scan calls visit with the numbers from zero to before n() in pieces, and flush after
// each. visit reports whether it copied something.
func (r *reading) scan(data bool, n func() int, visit func(i int) bool, flush func() error) error {
	for i, end := 0, -1; i != end; {
		err := r.piece(data, func() {
			if end < 0 {
				end = n()
			}
			for visited, copied := 0, 0; i < end && visited < pieceVisits && copied < pieceCopies; i++ {
				if visited++; visit(i) {
					copied++
				}
			}
		})
		if err == nil {
			err = flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// entry returns an entry of a table by its number, or nil.
func (r *reading) entry(t *interp.Table, id uint32) *interp.Entry {
	if v, ok := r.snap.before(place{of: t, at: uint64(id)}); ok {
		return v.(*interp.Entry)
	}
	if e := t.Entry(id); e.Used() {
		return e
	}
	return nil
}

// defaultOf returns the default entry of a table.
func (r *reading) defaultOf(t *interp.Table) *interp.Entry {
	if v, ok := r.snap.before(place{of: t, at: defaultEntry}); ok {
		return v.(*interp.Entry)
	}
	return t.Default()
}

// find returns the entry of a table with a match, or nil.
func (r *reading) find(t *interp.Table, m *table.Match) *interp.Entry {
	if r.snap != nil && (len(r.snap.old) > 0 || r.snap.next != nil) {
		if v, ok := r.snap.before(place{of: t, match: matchKey(m)}); ok {
			return v.(*interp.Entry)
		}
	}
	if id, ok := t.Find(m); ok {
		return t.Entry(id)
	}
	return nil
}

// entries reads the entries of a table that keep accepts, with data under the
// switch's lock.
func (r *reading) entries(t *interp.Table, data bool, keep func(*interp.Entry) bool, each func(*interp.Entry) error) error {
	var copies []*interp.Entry
	return r.scan(data, func() int { return int(t.Slots()) }, func(i int) bool {
		e := r.entry(t, uint32(i))
		if e == nil || !keep(e) {
			return false
		}
		copies = append(copies, capture(e, data))
		return true
	}, func() error {
		for _, e := range copies {
			if err := each(e); err != nil {
				return err
			}
		}
		copies = copies[:0]
		return nil
	})
}

// one reads the default entry of a table, or the one with a match; nil if there is none.
func (r *reading) one(t *interp.Table, isDefault bool, m *table.Match, data bool) (e *interp.Entry, err error) {
	err = r.piece(data, func() {
		if isDefault {
			e = r.defaultOf(t)
		} else {
			e = r.find(t, m)
		}
		if e != nil {
			e = capture(e, data)
		}
	})
	return e, err
}

// readMap calls each with the values of a map by key, or with that of one key if want is
// not zero.
func readMap[V any](r *reading, m *map[uint32]*V, want uint32, copied func(*V) *V, each func(uint32, *V) error) error {
	get := func(key uint32) *V {
		if v, ok := r.snap.before(place{of: m, at: uint64(key)}); ok {
			return v.(*V)
		}
		if v := (*m)[key]; v != nil {
			return copied(v)
		}
		return nil
	}
	keys := []uint32{want}
	if want == 0 {
		var err error
		if keys, err = readKeys(r, m); err != nil {
			return err
		}
	}
	type pair struct {
		key uint32
		v   *V
	}
	var found []pair
	return r.scan(false, func() int { return len(keys) }, func(i int) bool {
		v := get(keys[i])
		if v != nil {
			found = append(found, pair{keys[i], v})
		}
		return v != nil
	}, func() error {
		for _, p := range found {
			if err := each(p.key, p.v); err != nil {
				return err
			}
		}
		found = found[:0]
		return nil
	})
}

// readKeys returns the keys that a map had, in order, and perhaps others. The map may
// change between pieces: an iteration then still has every key that stays.
func readKeys[V any](r *reading, m *map[uint32]*V) ([]uint32, error) {
	var keys []uint32
	next, stop := iter.Pull(maps.Keys(*m))
	defer stop()
	for more := true; more; {
		err := r.piece(false, func() {
			for range pieceVisits {
				key, ok := next()
				if !ok {
					more = false
					for s := r.snap; s != nil; s = s.next {
						keys = append(keys, s.removed[m]...)
					}
					return
				}
				keys = append(keys, key)
			}
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys), nil
}

// readCells calls each with copies of the cells of an array from first to before last.
func readCells[T any](r *reading, of any, what string, first, last int, live func(i int) T, each func(i int, c T) error) error {
	var copies []T
	var changed bool
	begin := first
	return r.scan(true, func() int { return last - first }, func(n int) bool {
		v, whole, ok := r.snap.cellBefore(of, first+n)
		cells, _ := v.([]T)
		switch {
		case !ok:
			copies = append(copies, live(first+n))
		case !whole:
			copies = append(copies, cells[0])
		case cells == nil:
			changed = true
			copies = append(copies, *new(T))
		default:
			copies = append(copies, cells[first+n])
		}
		return true
	}, func() error {
		if changed {
			return status.Errorf(codes.Aborted, "all cells of %s were written during this read: read again", what)
		}
		for i, c := range copies {
			if err := each(begin+i, c); err != nil {
				return err
			}
		}
		begin += len(copies)
		copies = copies[:0]
		return nil
	})
}
