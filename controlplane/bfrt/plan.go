// SPDX-License-Identifier: Apache-2.0

package bfrt

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
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
			same, err := w.Entry.within(t, old)
			if err != nil {
				return nil, fmt.Errorf("table %s: %w", t.Name, err)
			}
			if !same {
				writes = append(writes, Change{bfrtpb.Update_MODIFY, w})
			}
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
	case "$PORT":
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
	case status.Code(err) == codes.NotFound || err == nil && len(list) == 0:
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

// fixed reports whether entries always exist, so that they are only modified.
func (t *Table) fixed() bool {
	return t.Kind == "Register" || strings.HasPrefix(t.Name, "tf1.tm.port.") || strings.HasPrefix(t.Name, "tf1.tm.queue.")
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

// within reports whether an existing entry has all values of e.
func (e *Entry) within(t *Table, there Entry) (bool, error) {
	want, err := e.encode(t, false)
	if err != nil {
		return false, err
	}
	have, err := there.encode(t, false)
	if err != nil {
		return false, err
	}
	if want.Data.ActionId != have.Data.ActionId {
		return false, nil
	}
	values := make(map[uint32][]byte)
	for _, d := range have.Data.Fields {
		if values[d.FieldId], err = proto.Marshal(d); err != nil {
			return false, err
		}
	}
	for _, d := range want.Data.Fields {
		b, err := proto.Marshal(d)
		if err != nil || !bytes.Equal(b, values[d.FieldId]) {
			return false, err
		}
	}
	return true, nil
}

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
