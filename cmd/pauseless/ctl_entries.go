// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/infile"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/prototext"
)

func newCtlEntriesCmd(c *ctl) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "entries",
		Short: "Add, modify and delete entries by names",
		Long: `Write table entries, multicast groups, clone sessions, action profile
members and groups, meters and digests. Each is one argument, or one line of a
file, in which # begins a comment. FILE.json is the runtime JSON of a switch in
p4lang's tutorials. A file can also be a p4.v1.WriteRequest in protobuf text format. All entries are checked against the program's P4Info before
any is written.

  TABLE [prio N] FIELD=COND… -> ACTION(PARAM=VALUE, …)
  TABLE default -> ACTION(…)
  multicast N -> PORT, PORT/INSTANCE backup PORT, …
  clone N -> PORT, … [truncate BYTES]
  member PROFILE N -> ACTION(…)
  group PROFILE N -> MEMBER weight W watch PORT, …
  meter NAME[I] = cir N burst N pir N burst N [excess N]
  digest NAME timeout 1ms list 10 ack 10ms

COND is VALUE, VALUE/PREFIXLEN, VALUE&&&MASK, LOW..HIGH or *.`,
		Example: `  pauseless ctl --addr :9559 entries add 'route dst_addr=10.0.1.0/24 -> to_port(port=3)'
  pauseless ctl --addr :9559 entries modify 'route dst_addr=10.0.1.0/24 -> drop()'
  pauseless ctl --addr :9559 entries del 'route dst_addr=10.0.1.0/24'
  pauseless ctl --addr :9559 entries add --file entries.txt
  pauseless ctl --addr :9559 entries add --file s1-runtime.json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		c.entriesCmd("add", "Add entries", p4v1.Update_INSERT),
		c.entriesCmd("modify", "Change the actions of entries", p4v1.Update_MODIFY),
		c.entriesCmd("del", "Delete entries; the text after -> is ignored", p4v1.Update_DELETE),
	)
	return cmd
}

func (c *ctl) entriesCmd(verb, short string, typ p4v1.Update_Type) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: verb + " [ENTRY…]", Short: short,
		Example:           fmt.Sprintf("  pauseless ctl --addr :9559 entries %s 'route dst_addr=10.0.1.0/24 -> to_port(port=3)'", verb),
		ValidArgsFunction: c.complete(names(entryStarts)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && file == "" {
				return usageErrorf(cmd, "no entries: give them as arguments or with --file")
			}
			text, err := entriesText(cmd.InOrStdin(), file)
			if err != nil {
				return err
			}
			var mu sync.Mutex // switches are written to at the same time
			return c.writeEach(cmd, func(ctx context.Context, s *controlplane.Session) error {
				sch, err := s.LoadSchema(ctx)
				if err != nil {
					return err
				}
				updates, err := parseEntries(sch, args, typ)
				if err == nil && file != "" {
					var more []*p4v1.Update
					more, err = entriesIn(sch, file, text, typ)
					updates = append(updates, more...)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", s.Name(), err)
				}
				if err := s.Write(ctx, updates); err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				reportWritten(cmd.OutOrStdout(), s.Name(), sch, done[typ], updates)
				return nil
			})
		},
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "`FILE`: read entries from it: one a line, a runtime JSON of p4lang's tutorials, or a WriteRequest in protobuf text format; - is standard input")
	cmd.MarkFlagFilename("file")
	return cmd
}

var done = map[p4v1.Update_Type]string{p4v1.Update_INSERT: "added", p4v1.Update_MODIFY: "changed", p4v1.Update_DELETE: "deleted"}

// reportWritten prints what was written. Each entry is printed as the switch has
// it: the bits of a prefix beyond its length are 0.
func reportWritten(w io.Writer, name string, sch *schema.Schema, done string, updates []*p4v1.Update) {
	const few = 10
	if len(updates) > few {
		fmt.Fprintf(w, "%s: %d entries %s\n", name, len(updates), done)
		return
	}
	for _, u := range updates {
		fmt.Fprintf(w, "%s: %s %s\n", name, done, sch.FormatEntity(u.Entity))
	}
}

// entriesText reads a file of entries; - is standard input, and without a name there
// is nothing to read.
func entriesText(stdin io.Reader, file string) ([]byte, error) {
	switch file {
	case "":
		return nil, nil
	case "-":
		return infile.From(stdin, "standard input", infile.Text)
	}
	return infile.Read(file)
}

// writeRequest is the start of a p4.v1.WriteRequest in protobuf text format.
var writeRequest = regexp.MustCompile(`^(\s|#.*\n)*(updates|device_id|role|role_id|election_id|atomicity)\s*[:{<]`)

// entriesIn parses a file of entries in any of its formats: the runtime JSON of
// p4lang's tutorials, a p4.v1.WriteRequest, or an entry a line. All updates have the
// given type; without one, they have that of the WriteRequest, or insert.
func entriesIn(sch *schema.Schema, name string, text []byte, typ p4v1.Update_Type) ([]*p4v1.Update, error) {
	insert := cmp.Or(typ, p4v1.Update_INSERT)
	switch {
	case filepath.Ext(name) == ".json":
		entities, err := sch.ParseRuntime(name, text)
		if err != nil {
			return nil, err
		}
		var updates []*p4v1.Update
		for _, e := range entities {
			updates = append(updates, update(e, insert))
		}
		return updates, nil
	case writeRequest.Match(text):
		w := &p4v1.WriteRequest{}
		if err := prototext.Unmarshal(text, w); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for i, u := range w.Updates {
			if typ != p4v1.Update_UNSPECIFIED {
				w.Updates[i] = update(u.Entity, typ)
			}
		}
		return w.Updates, nil
	}
	var updates []*p4v1.Update
	for n, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		e, err := sch.ParseEntity(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n+1, err)
		}
		updates = append(updates, update(e, insert))
	}
	if len(updates) == 0 {
		return nil, fmt.Errorf("%s has no entries", name)
	}
	return updates, nil
}

// parseEntries parses all entries, or returns an error for the first that is wrong.
func parseEntries(sch *schema.Schema, lines []string, typ p4v1.Update_Type) ([]*p4v1.Update, error) {
	var updates []*p4v1.Update
	for _, l := range lines {
		e, err := sch.ParseEntity(l)
		if err != nil {
			return nil, err
		}
		updates = append(updates, update(e, typ))
	}
	return updates, nil
}

func update(e *p4v1.Entity, typ p4v1.Update_Type) *p4v1.Update {
	if typ == p4v1.Update_INSERT && alwaysThere(e) {
		typ = p4v1.Update_MODIFY
	}
	return &p4v1.Update{Type: typ, Entity: e}
}

// alwaysThere reports whether an entity can only be modified: a default entry,
// or a cell of an array.
func alwaysThere(e *p4v1.Entity) bool {
	switch e := e.Entity.(type) {
	case *p4v1.Entity_TableEntry:
		return e.TableEntry.IsDefaultAction
	case *p4v1.Entity_MeterEntry, *p4v1.Entity_CounterEntry, *p4v1.Entity_RegisterEntry:
		return true
	}
	return false
}
