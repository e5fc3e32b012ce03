// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/outfile"
)

// usageError is an error in the command line; the program exits with 2.
type usageError struct{ msg string }

func (e usageError) Error() string { return e.msg }

func usageErrorf(cmd *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Sprintf(format, args...) + fmt.Sprintf("; see `%s --help`", cmd.CommandPath())}
}

// noArgs returns a usage error if there are arguments. For a command that has
// verbs, the error suggests one of them, or lists them.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !cmd.HasAvailableSubCommands() {
		return usageErrorf(cmd, "unknown argument %q", args[0])
	}
	var verbs []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			verbs = append(verbs, c.Name())
		}
	}
	like := diag.DidYouMean(args[0], verbs)
	if like == "" {
		like = ", expected one of " + strings.Join(verbs, ", ")
	}
	return usageErrorf(cmd, "no command %q%s", args[0], like)
}

// oneArg returns a check that there is one argument, which what describes.
func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return usageErrorf(cmd, "expected %s, found %d arguments", what, len(args))
	}
}

// named is a flag's value with the placeholder that help shows for it.
type named struct {
	pflag.Value
	placeholder string
}

func (n named) Type() string { return n.placeholder }

// namedList is named for a flag that may be given several times.
type namedList struct {
	named
	pflag.SliceValue
}

// namePlaceholders gives the flags of a command and of all below it their
// placeholders. A usage that begins with one, as in "`FILE`: topology", is shown as
// "--flag FILE   topology": pflag would show the word in both columns.
func namePlaceholders(cmd *cobra.Command) {
	name := func(f *pflag.Flag) {
		rest, ok := strings.CutPrefix(f.Usage, "`")
		word, usage, ok2 := strings.Cut(rest, "`: ")
		if !ok || !ok2 {
			return
		}
		f.Usage = usage
		n := named{f.Value, word}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			f.Value = namedList{n, list}
		} else {
			f.Value = n
		}
		if f.DefValue == "[]" {
			f.DefValue = ""
		}
	}
	cmd.PersistentFlags().VisitAll(name)
	cmd.LocalNonPersistentFlags().VisitAll(name)
	for _, c := range cmd.Commands() {
		namePlaceholders(c)
	}
}

// bounded is a flag that is a number: finite, and not below zero unless its default is.
// Durations, which the standard library also reads below zero, are at most longest.
type bounded struct {
	pflag.Value
	without string // the default
}

func (b bounded) Set(text string) error {
	if err := b.Value.Set(text); err != nil {
		if b.Type() == "duration" {
			return errors.New("write a number and a unit, as in 500ms, 30s or 1h30m")
		}
		return err
	}
	now := b.String()
	if x, err := strconv.ParseFloat(now, 64); err == nil && (math.IsNaN(x) || math.IsInf(x, 0)) {
		return errors.New("expected a finite number")
	}
	if strings.HasPrefix(now, "-") && now != "-0" && now != b.without {
		return errors.New("it cannot be negative")
	}
	if d, err := time.ParseDuration(now); err == nil && b.Type() == "duration" && d > longest {
		return fmt.Errorf("it is at most %v", longest)
	}
	return nil
}

// longest is the longest duration of a flag. Virtual time, which counts picoseconds in 63
// bits, ends after 106 days.
const longest = 100 * 24 * time.Hour

// boundNumbers makes the numeric flags of a command and of all below it bounded.
func boundNumbers(cmd *cobra.Command) {
	bound := func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "int", "int32", "int64", "float64", "duration":
			f.Value = bounded{f.Value, f.DefValue}
			if f.DefValue == "0s" {
				f.DefValue = "0" // which help does not print
			}
		}
	}
	cmd.PersistentFlags().VisitAll(bound)
	cmd.LocalNonPersistentFlags().VisitAll(bound)
	for _, c := range cmd.Commands() {
		boundNumbers(c)
	}
}

// likeFlag suggests a flag for one that does not exist.
func likeFlag(cmd *cobra.Command, err error) string {
	var missing *pflag.NotExistError
	if !errors.As(err, &missing) {
		return ""
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return diag.DidYouMean(missing.GetSpecifiedName(), names)
}

// missingFile names what a command expects in the place of a file that does not
// exist, or is a folder: of a flag its usage, of an argument the command's.
func missingFile(cmd *cobra.Command, err error) error {
	var missing *fs.PathError
	if !errors.As(err, &missing) || err.Error() != missing.Error() {
		return err
	}
	what := "there is no file " + missing.Path
	switch {
	case errors.Is(missing, syscall.EISDIR):
		what = missing.Path + " is a folder"
	case !errors.Is(missing, fs.ErrNotExist) || missing.Op != "open" && missing.Op != "lstat":
		return err
	}
	kind := ""
	if slices.Contains(cmd.Flags().Args(), missing.Path) {
		kind = fmt.Sprintf("; expected `%s`", cmd.UseLine())
	}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if f.Value.String() == missing.Path {
			name, usage := pflag.UnquoteUsage(f)
			kind = fmt.Sprintf("; --%s needs %s: %s", f.Name, name, usage)
		}
	})
	if kind == "" {
		return err
	}
	return errors.New(what + kind)
}

// strict makes cobra's own commands help and completion return an error for a
// name that does not exist.
func strict(root *cobra.Command, args []string) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd(args...)
	for _, c := range root.Commands() {
		switch c.Name() {
		case "completion":
			c.Args, c.RunE = noArgs, func(c *cobra.Command, _ []string) error { return c.Help() }
		case "help":
			c.Args = func(_ *cobra.Command, args []string) error {
				topic, rest, err := root.Find(args)
				return cmp.Or(err, noArgs(topic, rest))
			}
		}
	}
}

// atLeastOne is a flag with a number of at least 1.
type atLeastOne int

func (n *atLeastOne) String() string { return strconv.Itoa(int(*n)) }
func (n *atLeastOne) Type() string   { return "int" }

func (n *atLeastOne) Set(text string) error {
	v, err := strconv.Atoi(text)
	if err != nil || v < 1 {
		return fmt.Errorf("expected a whole number of at least 1")
	}
	*n = atLeastOne(v)
	return nil
}

// threadsFlag adds the flag --threads, whose default is 1.
func threadsFlag(f *pflag.FlagSet, threads *int, usage string) {
	*threads = 1
	f.Var((*atLeastOne)(threads), "threads", usage)
}

// checkFiles returns an error if a verb cannot write one of its files, or reads it,
// or if two are the same. Names may be empty.
func checkFiles(read []string, written ...string) error {
	for i, name := range written {
		if name == "" {
			continue
		}
		if err := outfile.Check(name); err != nil {
			return err
		}
		to, err := os.Stat(name)
		for _, in := range read {
			if from, ferr := os.Stat(in); err == nil && ferr == nil && os.SameFile(from, to) {
				return fmt.Errorf("%s is read and would be overwritten: give another file to write", name)
			}
		}
		if slices.Contains(written[:i], name) && (err != nil || to.Mode().IsRegular()) {
			return fmt.Errorf("%s would be written twice: give another file", name)
		}
	}
	return nil
}

// shellWord returns a word as a shell reads it, quoted if necessary.
func shellWord(s string) string {
	special := func(r rune) bool {
		return !strings.ContainsRune("-_./:@%+=,", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}
	if s != "" && !strings.ContainsFunc(s, special) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Set by the linker for releases.
var (
	version = ""
	commit  = ""
	date    = ""
)

// versionText returns the version: the one set by the linker, or else the one
// that Go recorded for the module and its checkout.
func versionText() string {
	v, c, d := version, commit, date
	changed := ""
	if info, ok := debug.ReadBuildInfo(); ok && v == "" {
		v = info.Main.Version
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				c = s.Value
			case "vcs.time":
				d = s.Value
			case "vcs.modified":
				if s.Value == "true" {
					changed = ", changed since"
				}
			}
		}
	}
	if v == "" || v == "(devel)" {
		v = "unreleased"
	}
	var more []string
	if c != "" {
		more = append(more, "commit "+c[:min(len(c), 12)])
	}
	if d != "" {
		more = append(more, d)
	}
	if len(more) > 0 {
		v += " (" + strings.Join(more, ", ") + changed + ")"
	}
	return v
}
