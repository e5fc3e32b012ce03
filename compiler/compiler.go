// SPDX-License-Identifier: Apache-2.0

// Package compiler compiles P4_16 programs of the architectures v1model and TNA
// to JSON and P4Info. The JSON is BMv2's; for TNA it has extensions that only
// softswitch supports. Each pass is a package, and reads only the output of the
// pass before it:
//
//	preproc  text to tokens: #include, macros
//	syntax   tokens to a tree
//	types    checks the tree: names, types, constants
//	tna      reports what a Tofino cannot execute, in programs for TNA
//	lower    the checked tree to an ir.Program: places, states, tables, actions
//	bmv2     the ir.Program to BMv2 JSON
//	p4info   the ir.Program to P4Info
package compiler

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/compiler/bmv2"
	"github.com/pauseless/pauseless/compiler/include"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/lower"
	"github.com/pauseless/pauseless/compiler/p4info"
	"github.com/pauseless/pauseless/compiler/preproc"
	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/tna"
	"github.com/pauseless/pauseless/compiler/types"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// Codes of diagnostics that belong to no pass.
const (
	CodeFile     diag.Code = "file"     // a file cannot be read
	CodeInternal diag.Code = "internal" // an error of the compiler
)

// Options are the options of Compile.
type Options struct {
	// File is the name of the program. Compile reads it unless Source is given.
	File   string
	Source []byte
	// Include are the folders to search for included files.
	Include []string
	// Defines are macros in the form NAME or NAME=TEXT.
	Defines []string
	// Open reads included files. nil reads from the file system.
	Open func(name string) (string, error)
	// NoSourceInfo leaves source positions out of the JSON.
	NoSourceInfo bool
	// Stop ends the compilation after a pass; the zero value runs all.
	Stop Pass

	tofino bool // the program is for Tofino
}

// Pass names a pass after which a compilation can stop.
type Pass uint8

// The passes.
const (
	AllPasses Pass = iota
	AfterPreproc
	AfterParse
	AfterCheck
	AfterLower
)

// Result is the output of a compilation, as far as it succeeded.
type Result struct {
	Program *bmv2json.Program
	P4Info  *p4configv1.P4Info

	// Output of the earlier passes.
	Tokens []syntax.Token
	Tree   *syntax.Program
	Types  *types.Info
	IR     *ir.Program
	Set    *source.Set
}

// Compile compiles a program. The list has errors and warnings, sorted by
// position. After errors the result has no Program.
func Compile(opts Options) (*Result, diag.List) {
	set := &source.Set{}
	rep := &source.Reporter{Set: set}
	r := &Result{Set: set}
	func() {
		defer func() {
			if e := recover(); e != nil {
				rep.List.Errorf(diag.FilePos(opts.File), CodeInternal, "the compiler failed: please report this program (%v, at %s)", e, panicPlace())
				rep.Fail()
			}
		}()
		r.compile(opts, rep)
	}()
	if rep.Failed() {
		r.Program, r.P4Info = nil, nil
		rep.List = slices.DeleteFunc(rep.List, func(d *diag.Diagnostic) bool {
			return d.Severity == diag.Warning && d.Code == types.CodeUnused // code with an error may have used it
		})
	}
	rep.List.Sort()
	return r, rep.List
}

func (r *Result) compile(opts Options, rep *source.Reporter) {
	open := opts.Open
	if open == nil {
		open = readFile
	}
	text := string(opts.Source)
	if opts.Source == nil {
		var err error
		if text, err = open(opts.File); err != nil {
			rep.List.Errorf(diag.FilePos(opts.File), CodeFile, "cannot be read: %v", cause(err))
			rep.Fail()
			return
		}
	}
	if !r.preprocess(opts, text, rep) || opts.Stop == AfterPreproc {
		return
	}
	r.Tree = syntax.Parse(r.Tokens, rep)
	if opts.Stop == AfterParse || rep.Failed() {
		return
	}
	r.Types = types.Check(r.Tree, rep)
	if !rep.Failed() && (opts.tofino || r.Set.Includes(tnaFile)) {
		tna.Check(r.Tree, r.Types, rep)
	}
	if opts.Stop == AfterCheck || rep.Failed() {
		return
	}
	r.IR = lower.Program(r.Tree, r.Types, rep)
	if opts.Stop == AfterLower || rep.Failed() {
		return
	}
	r.P4Info = p4info.Generate(r.IR, r.Types, rep)
	if rep.Failed() {
		return
	}
	r.Program = bmv2.Generate(r.IR, bmv2.Options{Name: opts.File, SourceInfo: !opts.NoSourceInfo}, rep)
}

// tnaFile is the file that programs for TNA include.
const tnaFile = "tna.p4"

// preprocess makes the tokens of a program and reports whether it succeeded. As
// with p4c, a macro distinguishes the targets: a program that includes tna.p4
// is read again with the macro for Tofino.
func (r *Result) preprocess(opts Options, text string, rep *source.Reporter) bool {
	const tofino = "__TARGET_TOFINO__"
	forTofino := opts.tofino || slices.ContainsFunc(opts.Defines, func(d string) bool {
		name, _, _ := strings.Cut(d, "=")
		return name == tofino
	})
	target := "__TARGET_BMV2__"
	if forTofino {
		target = tofino + "=1"
	}
	includes := opts.Open
	if includes == nil {
		includes = ReadIncluded
	}
	for {
		file := r.Set.Add(opts.File, text)
		if file == nil {
			rep.List.Errorf(diag.FilePos(opts.File), preproc.CodeTooLarge, "the file is too large")
			rep.Fail()
			return false
		}
		r.Tokens = preproc.Run(r.Set, rep, preproc.Options{
			Include:      opts.Include,
			Defines:      append([]string{target}, opts.Defines...),
			Open:         includes,
			System:       include.Files,
			SystemPrefix: include.Prefix,
			Foreign:      include.Foreign,
		}, file)
		if forTofino || !r.Set.Includes(tnaFile) {
			return true
		}
		forTofino, target = true, tofino+"=1"
		*r.Set = source.Set{}
		*rep = source.Reporter{Set: r.Set}
	}
}

// panicPlace returns the position in the compiler's code of the panic that is
// being recovered.
func panicPlace() string {
	pc := make([]uintptr, 32)
	frames := runtime.CallersFrames(pc[:runtime.Callers(2, pc)])
	panicked := false
	for {
		f, more := frames.Next()
		if panicked && !strings.HasPrefix(f.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line)
		}
		panicked = panicked || f.Function == "runtime.gopanic"
		if !more {
			return "an unknown place"
		}
	}
}

// readFile reads a file up to the largest size that can be compiled.
func readFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, source.MaxSize+1))
	return string(b), err
}

// ReadIncluded reads a file that a program names, as Compile does. It opens only
// regular files: a pipe may never deliver data, a device never end. A link must lead to a file of which
// the name, too, is that of a P4 file: messages quote its lines.
func ReadIncluded(name string) (string, error) {
	file, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", err
	}
	switch i, err := os.Stat(file); {
	case err != nil:
		return "", err
	case !i.Mode().IsRegular():
		return "", preproc.ErrNotRegular
	case !preproc.Included(name), !preproc.Included(filepath.ToSlash(file)):
		return "", preproc.ErrLink
	}
	return readFile(file)
}

// cause returns a file error without its operation and path.
func cause(err error) error {
	if p, ok := err.(*fs.PathError); ok {
		return p.Err
	}
	return err
}
