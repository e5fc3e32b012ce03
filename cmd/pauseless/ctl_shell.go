// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/infile"
)

func newCtlShellCmd(c *ctl) *cobra.Command {
	return &cobra.Command{
		Use:   "shell",
		Short: "Run ctl's commands interactively, with completion, history and undo",
		Long: `Read ctl's commands line by line, without "pauseless ctl" and without the
flags that select switches. The tab key completes commands, flags, and names of
tables, registers and counters of the switch's program; the arrow keys recall
earlier lines. Further commands are:

  help [COMMAND]  list the commands, or explain one
  undo            revert the last entries add, modify or del, or registers set or
                  reset
  exit            leave, as Ctrl-D does

If standard input is not a terminal, its lines are executed until one fails.`,
		Example: `  pauseless ctl --addr 127.0.0.1:9559 shell
  echo 'registers egress_qlen' | pauseless ctl --topology fabric.yaml shell`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := c.targets(cmd); err != nil {
				return err
			}
			s := &shell{ctl: c, cmd: cmd, out: cmd.OutOrStdout(), fixed: fixedFlags(cmd)}
			if f, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
				return s.interactive(f)
			}
			return s.script(cmd.InOrStdin())
		},
	}
}

// fixedFlags returns the flags of ctl that were given to the shell. They apply to
// every line.
func fixedFlags(cmd *cobra.Command) []string {
	args := []string{"ctl"}
	for _, f := range []string{"addr", "thrift", "switch", "network", "topology", "election-id", "take-over", "output", "timeout", "tls-ca", "tls-cert", "tls-key"} {
		flag := cmd.InheritedFlags().Lookup(f)
		if flag == nil || !flag.Changed {
			continue
		}
		if list, ok := flag.Value.(interface{ GetSlice() []string }); ok {
			for _, v := range list.GetSlice() {
				args = append(args, "--"+f+"="+v)
			}
			continue
		}
		args = append(args, "--"+f+"="+flag.Value.String())
	}
	return args
}

// shell is an interactive session.
type shell struct {
	ctl   *ctl
	cmd   *cobra.Command
	out   io.Writer
	fixed []string
	undo  [][]string // lines that revert the last write, split into words
}

func (s *shell) script(in io.Reader) error {
	lines := bufio.NewScanner(infile.Lines(in, "the script"))
	for n := 1; lines.Scan(); n++ {
		done, err := s.line(lines.Text())
		if err != nil {
			return fmt.Errorf("line %d: %w", n, err)
		}
		if done {
			return nil
		}
	}
	return lines.Err()
}

func (s *shell) interactive(in *os.File) error {
	t := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{in, s.out}, "ctl> ")
	t.AutoCompleteCallback = func(line string, pos int, key rune) (string, int, bool) {
		if key != '\t' {
			return "", 0, false
		}
		found := s.complete(line[:pos])
		start := strings.LastIndexByte(line[:pos], ' ') + 1
		word := commonPrefix(found)
		if len(word) < pos-start {
			return line, pos, true
		}
		if len(found) == 1 {
			word += " "
		} else if word == line[start:pos] && len(found) > 1 {
			fmt.Fprintln(t, strings.Join(found, "  "))
		}
		return line[:start] + word + line[pos:], start + len(word), true
	}
	for {
		state, err := term.MakeRaw(int(in.Fd()))
		if err != nil {
			return err
		}
		line, err := t.ReadLine()
		// While a verb runs, the terminal is in its original mode.
		if rerr := term.Restore(int(in.Fd()), state); rerr != nil {
			return rerr
		}
		if err == io.EOF {
			fmt.Fprintln(s.out)
			return nil
		}
		if err != nil {
			return err
		}
		if done, err := s.line(line); err != nil {
			printError(s.cmd.ErrOrStderr(), err)
		} else if done {
			return nil
		}
	}
}

// complete returns the completions of the last word of a line.
func (s *shell) complete(line string) []string {
	words, err := splitWords(line)
	if err != nil {
		return nil
	}
	if line == "" || strings.HasSuffix(line, " ") {
		words = append(words, "")
	}
	if len(words) == 1 {
		var own []string
		for _, w := range []string{"help", "undo", "exit"} {
			if strings.HasPrefix(w, words[0]) {
				own = append(own, w)
			}
		}
		return append(own, s.offered(words)...)
	}
	if words[0] == "help" {
		words = words[1:]
	}
	return s.offered(words)
}

func (s *shell) offered(words []string) []string {
	var out bytes.Buffer
	root := newRootCmd()
	root.SetOut(&out)
	root.SetErr(io.Discard)
	root.SetArgs(append(append([]string{cobra.ShellCompNoDescRequestCmd}, s.fixed...), words...))
	if root.ExecuteContext(s.cmd.Context()) != nil {
		return nil
	}
	var list []string
	for word := range strings.Lines(out.String()) {
		// Names are offered in the program's spelling, whatever case was typed.
		if word = strings.TrimSpace(word); word != "" && word[0] != ':' && strings.HasPrefix(word, words[len(words)-1]) {
			list = append(list, word)
		}
	}
	return list
}

func commonPrefix(words []string) string {
	if len(words) == 0 {
		return ""
	}
	p := words[0]
	for _, w := range words[1:] {
		for !strings.HasPrefix(w, p) {
			p = p[:len(p)-1]
		}
	}
	return p
}

// line executes a line, and reports whether the session ends.
func (s *shell) line(text string) (done bool, err error) {
	words, err := splitWords(text)
	if err != nil || len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return false, err
	}
	switch words[0] {
	case "exit", "quit":
		return true, nil
	case "shell":
		return false, fmt.Errorf("this is the shell already; enter another verb, or help")
	case "undo":
		if s.undo == nil {
			return false, fmt.Errorf("nothing to undo: undo reverts the last entries add, modify or del, or registers set or reset")
		}
		lines := s.undo
		s.undo = nil
		for _, l := range lines {
			if rerr := s.run(l); rerr != nil { // it can be tried again
				s.undo, err = append(s.undo, l), errors.Join(err, rerr)
			}
		}
		return false, err
	case "help":
		return false, s.run(append(words[1:], "--help"))
	}
	switch verb := strings.Join(words[:min(2, len(words))], " "); verb {
	case "entries add", "entries modify", "entries del", "registers set", "registers reset":
		return false, s.write(words)
	case "pipeline set":
		s.undo = nil // the tables are empty
	}
	return false, s.run(words)
}

func (s *shell) run(words []string) error {
	root := newRootCmd()
	root.SetOut(s.out)
	root.SetErr(s.cmd.ErrOrStderr())
	root.SetIn(strings.NewReader(""))
	fixed := slices.Clone(s.fixed)
	if slices.ContainsFunc(words, isSwitch) { // it replaces the shell's, instead of adding to them
		fixed = slices.DeleteFunc(fixed, isSwitch)
	}
	root.SetArgs(append(fixed, words...))
	return root.ExecuteContext(s.cmd.Context())
}

func isSwitch(word string) bool { return word == "--switch" || strings.HasPrefix(word, "--switch=") }

// write executes a line that writes, and finds what reverts it, also if it fails: a
// part of it may have been written.
func (s *shell) write(words []string) error {
	f, err := s.ctl.forReading(s.cmd)
	if err != nil {
		return err
	}
	defer f.Close()
	before := s.present(f, words)
	err = s.run(words)
	after := s.present(f, words)
	s.undo = nil
	if len(after) != len(before) {
		return err // a switch does not answer any more
	}
	for i := len(before) - 1; i >= 0; i-- {
		s.revert(before[i], after[i])
	}
	return err
}

// present is what a switch has of something that a line names: an entry, as a line, or
// the cells of a register array.
type present struct {
	on    []string // --switch, if there are several
	entry string   // "": there is none
	fixed bool     // it can only be modified
	array string   // "": it is an entry
	first int
	cells []uint64
}

func (s *shell) present(f *controlplane.Fabric, words []string) (list []present) {
	ctx := s.cmd.Context()
	for _, session := range f.Sessions() {
		var h present
		if len(f.Sessions()) > 1 {
			h.on = []string{"--switch=" + session.Name()}
		}
		if words[0] == "registers" {
			for _, name := range words[2:] { // also flags and the value, which name no array
				cells, err := parseCells(name)
				if err != nil {
					continue
				}
				a, err := session.ReadRegister(ctx, cells.name)
				if err != nil {
					continue
				}
				h.array, h.first, h.cells = cells.name, 0, a.Values
				if cells.first >= 0 {
					h.first = min(cells.first, len(a.Values))
					h.cells = a.Values[h.first : min(cells.last, len(a.Values)-1)+1]
				}
				list = append(list, h)
			}
			continue
		}
		sch, err := session.LoadSchema(ctx)
		if err != nil {
			continue
		}
		for _, e := range s.named(sch, words[2:]) {
			if t := e.GetTableEntry(); t != nil {
				t.Action = nil
			}
			there, err := session.Read(ctx, e)
			if err != nil && status.Code(err) != codes.NotFound {
				continue
			}
			h.entry, h.fixed = "", schema.AlwaysThere(e)
			for _, x := range there {
				if schema.Key(x) == schema.Key(e) {
					h.entry = sch.FormatEntity(x)
				}
			}
			list = append(list, h)
		}
	}
	return list
}

// named returns the entries that a line names, itself or in a file.
func (s *shell) named(sch *schema.Schema, words []string) (list []*p4v1.Entity) {
	for i, w := range words {
		e, err := sch.ParseEntity(w)
		if err == nil {
			list = append(list, e)
		}
		file, isFile := strings.CutPrefix(w, "--file=")
		if i > 0 && (words[i-1] == "-f" || words[i-1] == "--file") {
			file, isFile = w, true
		}
		if !isFile || file == "-" {
			continue
		}
		if text, err := infile.Read(file); err == nil {
			updates, _, _ := entriesIn(sch, file, text, p4v1.Update_INSERT)
			for _, u := range updates {
				list = append(list, u.Entity)
			}
		}
	}
	return list
}

// revert adds what reverts a change to undo. The last change is reverted first.
func (s *shell) revert(was, is present) {
	for i := 0; i < min(len(was.cells), len(is.cells)); i++ {
		first, v := i, was.cells[i]
		if v == is.cells[i] {
			continue
		}
		for i+1 < min(len(was.cells), len(is.cells)) && was.cells[i+1] == v {
			i++
		}
		s.undo = append(s.undo, append(append([]string{"registers", "set"}, was.on...),
			fmt.Sprintf("%s[%d..%d]", was.array, was.first+first, was.first+i), strconv.FormatUint(v, 10)))
	}
	verb, text := "modify", was.entry
	switch {
	case was.entry == is.entry:
		return
	case was.entry == "" && is.fixed: // without an action it is the program's
		text, _, _ = strings.Cut(is.entry, " -> ")
	case was.entry == "":
		verb, text = "del", is.entry
	case is.entry == "":
		verb = "add"
	}
	line := append([]string{"entries", verb}, was.on...)
	if n := len(s.undo) - 1; n >= 0 && len(s.undo[n]) > len(line) && slices.Equal(s.undo[n][:len(line)], line) {
		if !slices.Contains(s.undo[n], text) {
			s.undo[n] = append(s.undo[n], text)
		}
		return
	}
	s.undo = append(s.undo, append(line, text))
}

// splitWords splits a line at spaces, but not within quotes.
func splitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	open, quote := false, rune(0)
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			open, quote = true, r
		case r == ' ' || r == '\t':
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		default:
			open = true
			word.WriteRune(r)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("missing the closing %c", quote)
	}
	if open {
		words = append(words, word.String())
	}
	return words, nil
}
