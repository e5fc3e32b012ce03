// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/infile"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/spf13/cobra"
)

func newCtlEntriesCmd(c *ctl) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "entries",
		Short: "Add, modify and delete entries by names",
		Long: `Entries writes table entries, multicast groups, clone sessions, action profile
members and groups, meters and digests. Each is one argument, or one line of a
file, in which # begins a comment. FILE.json is the runtime JSON of a switch in
p4lang's tutorials. All entries are checked against the program's P4Info before
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
			var lines []entryLine
			var runtime []byte
			var err error
			if filepath.Ext(file) == ".json" && len(args) == 0 {
				runtime, err = infile.Read(file)
			} else {
				lines, err = entryLines(cmd, args, file)
			}
			if err != nil {
				return err
			}
			var mu sync.Mutex // switches are written to at the same time
			return c.writeEach(cmd, func(ctx context.Context, s *controlplane.Session) error {
				sch, err := s.LoadSchema(ctx)
				if err != nil {
					return err
				}
				var updates []*p4v1.Update
				if runtime != nil {
					updates, err = runtimeEntries(sch, file, runtime, typ)
				} else {
					updates, err = parseEntries(sch, lines, typ)
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
	cmd.Flags().StringVarP(&file, "file", "f", "", "read entries from a `FILE`, one a line, or a runtime JSON of p4lang's tutorials; - is standard input")
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

// entryLine is the text of an entry and the place that it was read from, which
// is empty for the command line.
type entryLine struct{ where, text string }

func entryLines(cmd *cobra.Command, args []string, file string) ([]entryLine, error) {
	var lines []entryLine
	for _, a := range args {
		lines = append(lines, entryLine{"", a})
	}
	if file != "" {
		var in io.Reader = cmd.InOrStdin()
		if file != "-" {
			f, err := os.Open(file)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			in = f
		}
		sc := bufio.NewScanner(infile.Lines(in, file))
		for n := 1; sc.Scan(); n++ {
			text := strings.TrimSpace(sc.Text())
			if text != "" && text[0] != '#' {
				lines = append(lines, entryLine{fmt.Sprintf("%s:%d: ", file, n), text})
			}
		}
		if err := sc.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	if len(lines) == 0 {
		return nil, usageErrorf(cmd, "no entries: give them as arguments or with --file")
	}
	return lines, nil
}

// parseEntries parses all lines, or returns an error for the first that is wrong.
func parseEntries(sch *schema.Schema, lines []entryLine, typ p4v1.Update_Type) ([]*p4v1.Update, error) {
	var updates []*p4v1.Update
	for _, l := range lines {
		e, err := sch.ParseEntity(l.text)
		if err != nil {
			return nil, fmt.Errorf("%s%w", l.where, err)
		}
		updates = append(updates, update(e, typ))
	}
	return updates, nil
}

// runtimeEntries reads the runtime JSON of p4lang's tutorials.
func runtimeEntries(sch *schema.Schema, name string, data []byte, typ p4v1.Update_Type) ([]*p4v1.Update, error) {
	entities, err := sch.ParseRuntime(name, data)
	if err != nil {
		return nil, err
	}
	var updates []*p4v1.Update
	for _, e := range entities {
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
