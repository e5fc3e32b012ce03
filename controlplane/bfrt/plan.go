// SPDX-License-Identifier: Apache-2.0

package bfrt

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
	"google.golang.org/protobuf/proto"
)

// Change is a necessary write.
type Change struct {
	Op     bfrtpb.Update_Type
	Wanted Wanted // for a deletion, the present entry
}

// Plan compares the present with the desired entries of a switch. Tables of the
// program get exactly the desired entries, except constant ones. In the
// device's own tables and in registers, other entries stay. Deletions come
// first, then insertions and modifications in the desired order, except that
// multicast nodes precede their groups, and these the mirror sessions that
// refer to them.
func (c *Client) Plan(ctx context.Context, wanted []Wanted) ([]Change, error) {
	if c.info == nil {
		return nil, fmt.Errorf("BF Runtime: bind to a program first")
	}
	var changes []Change
	have := make(map[string]Entry)
	keep := make(map[string]bool)
	for _, t := range c.info.own() {
		list, err := c.Read(ctx, PipeAll, Entry{Table: t.Name}, false)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.Name, err)
		}
		for _, e := range list {
			if e.Default {
				continue
			}
			key, err := e.key(t)
			if err != nil {
				return nil, err
			}
			have[key] = e
		}
	}
	list := slices.Clone(wanted)
	slices.SortStableFunc(list, func(a, b Wanted) int { return rank(a.Entry.Table) - rank(b.Entry.Table) })
	var writes []Change
	for _, w := range list {
		t, err := c.info.Table(w.Entry.Table)
		if err != nil {
			return nil, err
		}
		key, err := w.Entry.key(t)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.Name, err)
		}
		keep[key] = true
		old, ok := have[key]
		if !ok && (w.Entry.Default || !t.ours()) {
			if old, ok, err = c.one(ctx, w); err != nil {
				return nil, fmt.Errorf("table %s: %w", t.Name, err)
			}
		}
		switch {
		case !ok && (w.Entry.Default || t.fixed()):
			writes = append(writes, Change{bfrtpb.Update_MODIFY, w})
		case !ok:
			writes = append(writes, Change{bfrtpb.Update_INSERT, w})
		default:
			fields, err := w.Entry.differs(t, old)
			if err != nil {
				return nil, fmt.Errorf("table %s: %w", t.Name, err)
			}
			writes = append(writes, change(w, fields)...)
		}
	}
	var gone []string
	for key := range have {
		if !keep[key] {
			gone = append(gone, key)
		}
	}
	sort.Strings(gone)
	for _, key := range gone {
		changes = append(changes, Change{bfrtpb.Update_DELETE, Wanted{Pipe: PipeAll, Entry: have[key]}})
	}
	return append(changes, writes...), nil
}

// change returns the writes for an entry of which these fields differ.
func change(w Wanted, fields []string) []Change {
	if len(fields) == 0 {
		return nil
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(fields, n) })
	}
	switch table := w.Entry.Table; {
	// A new rate or error correction stops the port, and the driver checks the rate with
	// the old error correction. A priority group stays with its port.
	case table == portTable && has("$SPEED", "$FEC"), table == groupTable && has("dev_port", ""):
		gone := w
		gone.Entry = Entry{Table: table, Match: w.Entry.Match}
		gone.Text = ""
		return []Change{{bfrtpb.Update_DELETE, gone}, {bfrtpb.Update_INSERT, w}}
	// Only what differs, because $SPEED stops a port even if it is the same. The driver
	// ignores one of the two maps of PFC classes without the other.
	case table == portTable:
		w.Entry.Data = maps.Clone(w.Entry.Data)
		maps.DeleteFunc(w.Entry.Data, func(name string, _ any) bool {
			pfc := name == txPFC || name == rxPFC
			return !has(name) && !(pfc && has(txPFC, rxPFC))
		})
	}
	return []Change{{bfrtpb.Update_MODIFY, w}}
}

// Apply gives a switch its desired state, and reads it afterwards. It returns what was
// written. A port that is set up anew loses its PFC, so that a second round may be
// needed. An error names the entries that the switch does not have then.
func (c *Client) Apply(ctx context.Context, wanted []Wanted) ([]Change, error) {
	var done []Change
	for range 3 {
		changes, err := c.Plan(ctx, wanted)
		if err != nil || len(changes) == 0 {
			return done, err
		}
		if err := c.Do(ctx, changes); err != nil {
			return done, err
		}
		done = append(done, changes...)
	}
	left, err := c.Plan(ctx, wanted)
	if err != nil || len(left) == 0 {
		return done, err
	}
	var text strings.Builder
	if err := Print(&text, left[:min(len(left), 5)], "  "); err != nil {
		return done, err
	}
	return done, fmt.Errorf("%d entries differ from what was written, although the switch reported no error:\n%sanother client may write them, or the driver does not accept these values: see its log, bf_drivers.log", len(left), text.String())
}

// Do executes the changes. It stops at the first error.
func (c *Client) Do(ctx context.Context, changes []Change) error {
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].Op == changes[0].Op && changes[n].Wanted.Pipe == changes[0].Wanted.Pipe {
			n++
		}
		entries := make([]Entry, n)
		for i := range n {
			entries[i] = changes[i].Wanted.Entry
		}
		if err := c.Write(ctx, changes[0].Wanted.Pipe, changes[0].Op, entries...); err != nil {
			return err
		}
		changes = changes[n:]
	}
	return nil
}

// Print prints one change per line: + for added, ~ for changed, - for deleted
// entries.
func Print(w io.Writer, changes []Change, indent string) error {
	for _, c := range changes {
		sign := map[bfrtpb.Update_Type]string{bfrtpb.Update_INSERT: "+", bfrtpb.Update_MODIFY: "~", bfrtpb.Update_DELETE: "-"}[c.Op]
		if _, err := fmt.Fprintf(w, "%s%s %s\n", indent, sign, &c.Wanted); err != nil {
			return err
		}
	}
	return nil
}

func (w *Wanted) String() string {
	if w.Text != "" {
		return w.Text
	}
	return w.Entry.String()
}

// rank orders tables by their references.
func rank(table string) int {
	switch table {
	case portTable:
		return 0
	case "$pre.node":
		return 1
	case "$pre.mgid":
		return 2
	}
	return 3
}

// one reads the entry with the key of a desired one.
func (c *Client) one(ctx context.Context, w Wanted) (Entry, bool, error) {
	list, err := c.Read(ctx, w.Pipe, w.Entry, false)
	switch {
	case Missing(err) || err == nil && len(list) == 0:
		return Entry{}, false, nil
	case err != nil:
		return Entry{}, false, err
	}
	return list[0], true, nil
}

// own returns the tables whose entries belong to the program's controller.
func (i *Info) own() []*Table {
	var list []*Table
	for _, t := range i.tables {
		if t.ours() && len(t.Key) > 0 {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b *Table) int { return strings.Compare(a.Name, b.Name) })
	return list
}

func (t *Table) ours() bool {
	return strings.HasPrefix(t.Kind, "MatchAction_") && !slices.Contains(t.Attributes, "ConstTable")
}

// ofDevice reports whether a table is the driver's own.
func (t *Table) ofDevice() bool {
	return strings.HasPrefix(t.Name, "$") || strings.HasPrefix(t.Name, "tf1.")
}

// fixed reports whether entries always exist, so that they are only modified.
func (t *Table) fixed() bool {
	return t.Kind == registers || strings.HasPrefix(t.Name, "tf1.tm.") && t.Name != groupTable
}

// key returns a text that is equal for all entries with the same key.
func (e *Entry) key(t *Table) (string, error) {
	x, err := e.encode(t, true)
	if err != nil {
		return "", err
	}
	slices.SortFunc(x.Key.GetFields(), func(a, b *bfrtpb.KeyField) int { return int(a.FieldId) - int(b.FieldId) })
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(x)
	return string(b), err
}

// differs returns the fields of e whose values an existing entry does not have, with
// "" for the action.
func (e *Entry) differs(t *Table, there Entry) ([]string, error) {
	want, err := e.encode(t, false)
	if err != nil {
		return nil, err
	}
	have, err := there.encode(t, false)
	if err != nil {
		return nil, err
	}
	if want.Data.ActionId != have.Data.ActionId {
		return []string{""}, nil
	}
	values := make(map[uint32]*bfrtpb.DataField)
	for _, d := range have.Data.Fields {
		values[d.FieldId] = d
	}
	var names []string
	action := t.ActionByID(want.Data.ActionId)
	for _, f := range t.DataFields(action) {
		i := slices.IndexFunc(want.Data.Fields, func(d *bfrtpb.DataField) bool { return d.FieldId == f.ID })
		if i < 0 {
			continue
		}
		a, b := want.Data.Fields[i], values[f.ID]
		none := b == nil && f.Repeated && len(a.GetIntArrVal().GetVal()) == 0 // an empty list
		same := a.GetStrVal() != "" && aliases[a.GetStrVal()] == b.GetStrVal()
		if !none && !same && !proto.Equal(a, b) {
			names = append(names, f.Name)
		}
	}
	return names, nil
}

// aliases are the names under which a switch returns a value, if they differ. The driver
// has two names of each error correction, and returns any of them.
var aliases = map[string]string{"BF_FEC_TYP_RS": "BF_FEC_TYP_REED_SOLOMON"}

// String returns the entry as text.
func (e *Entry) String() string {
	var b strings.Builder
	b.WriteString(e.Table)
	if e.Default {
		b.WriteString(" default")
	}
	for _, m := range e.Match {
		fmt.Fprintf(&b, " %s=%s", m.Field, number(m.Value))
		switch {
		case m.LPM:
			fmt.Fprintf(&b, "/%d", m.PrefixLen)
		case m.Mask != nil:
			fmt.Fprintf(&b, "&&&%s", number(m.Mask))
		case m.High != nil:
			fmt.Fprintf(&b, "..%s", number(m.High))
		}
	}
	b.WriteString(" ->")
	if e.Action != "" {
		b.WriteString(" " + e.Action)
	}
	names := make([]string, 0, len(e.Data))
	for name := range e.Data {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(&b, " %s=%s", name, number(e.Data[name]))
	}
	return b.String()
}

func number(v any) string {
	if b, ok := v.([]byte); ok {
		return fmt.Sprintf("%#x", b)
	}
	return fmt.Sprint(v)
}
