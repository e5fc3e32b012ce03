// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/spf13/cobra"
)

func newCtlEntriesCmd(c *ctl) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "entries",
		Short: "Add, modify and delete entries by names",
		Long: `Write table entries, multicast groups, clone sessions, action profile
members and groups, meters and digests. Each is one argument, or one line of a
file, in which # begins a comment. FILE.json is the runtime JSON of a switch in
p4lang's tutorials. A file can also be a p4.v1.WriteRequest in protobuf text format,
or have commands of simple_switch_CLI (table_add and so on). All entries are checked
against the program's P4Info before any is written.

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
					more, _, err = entriesIn(sch, file, text, typ)
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
	cmd.Flags().StringVarP(&file, "file", "f", "", "`FILE`: read entries from it: one a line, a runtime JSON of p4lang's tutorials, a WriteRequest in protobuf text format, or commands of simple_switch_CLI; - is standard input")
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

// entriesIn parses a file of entries in any of the formats of schema.ParseUpdates. All
// updates have the given type; without one, they have that of the file. Each has a place
// in the file.
func entriesIn(sch *schema.Schema, name string, text []byte, typ p4v1.Update_Type) (updates []*p4v1.Update, at []diag.Pos, err error) {
	updates, at, err = sch.ParseUpdates(name, text)
	if err != nil {
		return nil, nil, err
	}
	for i, u := range updates {
		if typ != p4v1.Update_UNSPECIFIED {
			updates[i] = update(u.Entity, typ)
		}
	}
	if len(updates) == 0 {
		return nil, nil, fmt.Errorf("%s has no entries", name)
	}
	return updates, at, nil
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
	if typ == p4v1.Update_INSERT {
		return schema.Insert(e)
	}
	return &p4v1.Update{Type: typ, Entity: e}
}
