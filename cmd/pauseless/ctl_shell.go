// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/pauseless/pauseless/controlplane"
)

func newCtlShellCmd(c *ctl) *cobra.Command {
	return &cobra.Command{
		Use:   "shell",
		Short: "An interactive session: ctl's verbs, with completion, history and undo",
		Long: `Shell reads ctl's commands line by line, without "pauseless ctl" and without the
flags that select switches. The tab key completes commands, flags, and names of
tables, registers and counters of the switch's program; the arrow keys recall
earlier lines. Further commands are:

  help [VERB]   list the commands, or explain one
  undo          revert the last entries add, modify or del, or registers set or
                reset
  exit          leave, as Ctrl-D does

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
	lines := bufio.NewScanner(in)
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
			if err := s.run(l); err != nil {
				return false, err
			}
		}
		return false, nil
	case "help":
		return false, s.run(append(words[1:], "--help"))
	}
	undo, err := s.before(words)
	if err != nil {
		return false, err
	}
	if err := s.run(words); err != nil {
		return false, err
	}
	if undo != nil {
		s.undo = undo
	}
	return false, nil
}

func (s *shell) run(words []string) error {
	root := newRootCmd()
	root.SetOut(s.out)
	root.SetErr(s.cmd.ErrOrStderr())
	root.SetIn(strings.NewReader(""))
	root.SetArgs(append(append([]string{}, s.fixed...), words...))
	return root.ExecuteContext(s.cmd.Context())
}

// before returns the lines that would revert a write, computed from the present
// state of each switch.
func (s *shell) before(words []string) ([][]string, error) {
	if len(words) < 3 || strings.HasPrefix(words[2], "-") {
		return nil, nil
	}
	change := s.entriesBefore
	if words[0] == "registers" && (words[1] == "set" || words[1] == "reset") {
		change = s.registersBefore
	} else if words[0] != "entries" {
		return nil, nil
	}
	f, err := s.ctl.forReading(s.cmd)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return change(f, words)
}

// registersBefore returns a line for each run of equal cells. It ignores errors
// in the words: the verb itself reports them.
func (s *shell) registersBefore(f *controlplane.Fabric, words []string) ([][]string, error) {
	names := words[2:]
	if words[1] == "set" {
		names = words[2:3]
	}
	var lines [][]string
	for _, session := range f.Sessions() {
		for _, name := range names {
			cells, err := parseCells(name)
			if err != nil {
				return nil, nil
			}
			a, err := session.ReadRegister(s.cmd.Context(), cells.name)
			if err != nil {
				return nil, nil
			}
			first, last := 0, len(a.Values)-1
			if cells.first >= 0 {
				first, last = cells.first, min(cells.last, last)
			}
			for i := first; i <= last; {
				end := i
				for end < last && a.Values[end+1] == a.Values[i] {
					end++
				}
				undo := []string{"registers", "set"}
				if len(f.Sessions()) > 1 {
					undo = append(undo, "--switch="+session.Name())
				}
				lines = append(lines, append(undo, fmt.Sprintf("%s[%d..%d]", cells.name, i, end), strconv.FormatUint(a.Values[i], 10)))
				i = end + 1
			}
		}
	}
	return lines, nil
}

func (s *shell) entriesBefore(f *controlplane.Fabric, words []string) ([][]string, error) {
	var lines [][]string
	for _, session := range f.Sessions() {
		undo := []string{"entries", map[string]string{"add": "del", "modify": "modify", "del": "add"}[words[1]]}
		if len(f.Sessions()) > 1 {
			undo = append(undo, "--switch="+session.Name())
		}
		n := len(undo)
		for _, text := range words[2:] {
			was := text
			if words[1] != "add" {
				var err error
				if was, err = s.present(s.cmd.Context(), session, text); err != nil {
					return nil, err
				}
			}
			if was != "" {
				undo = append(undo, was)
			}
		}
		if len(undo) > n {
			lines = append(lines, undo)
		}
	}
	return lines, nil
}

// present returns the switch's entry with the same key as the entry in text. It
// returns "" if there is none, and if text is wrong: the verb reports that.
func (s *shell) present(ctx context.Context, session *controlplane.Session, text string) (string, error) {
	sch, err := session.LoadSchema(ctx)
	if err != nil {
		return "", err
	}
	e, err := sch.ParseEntity(text)
	if err != nil {
		return "", nil
	}
	if t := e.GetTableEntry(); t != nil {
		t.Action = nil
		e = &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: t}}
	}
	list, err := session.Read(ctx, e)
	if err != nil || len(list) != 1 {
		return "", nil
	}
	return sch.FormatEntity(list[0]), nil
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
