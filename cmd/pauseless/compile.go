// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/p4c"
	"github.com/pauseless/pauseless/compiler/p4info"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/softswitch/interp"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// compileFlags are the options of the verb compile.
type compileFlags struct {
	include, defines []string
	out, info        string
	print, with      string
	diagnostics      string
	infoVersion      string
}

func newCompileCmd() *cobra.Command {
	var f compileFlags
	cmd := &cobra.Command{
		Use:   "compile PROGRAM.p4",
		Short: "Compile a P4_16 program for v1model or TNA to JSON and P4Info",
		Long: `Compile a P4_16 program of the v1model architecture to BMv2 JSON, or one of the
Tofino Native Architecture for "pauseless switch". The file that the program
includes, v1model.p4 or tna.p4, decides which.

Without -o, --p4info and --print the program is only checked. The files core.p4,
v1model.p4 and tna.p4 are built in; files found by -I take precedence.
P4Info is written as text, or in binary to a file whose name ends in .bin or .pb.
Controllers with older stubs refuse its newer fields: --p4info-version 1.3 leaves
them out, for p4runtime-go-client and p4runtime-shell for example.
--print shows a stage as text: tokens, ast, types and ir of the compiler, then the
switch's: plain (instructions of its register machine), ops (the same after its
optimiser), native (the machine code that it makes of them on x86-64 Linux).
"pauseless trace" shows what a packet does in them.
"--compiler p4c" runs p4c-bm2-ss, from PATH or $` + p4c.Variable + `, instead.

The exit code is 1 if the program has errors; warnings do not change it.`,
		Example: `  pauseless compile ecmp.p4        # check only
  pauseless compile ecmp.p4 -o ecmp.json --p4info ecmp.p4info.txtpb
  pauseless compile ecmp.p4 -I include -D PORTS=32
  pauseless compile ecmp.p4 --p4info old.p4info.txtpb --p4info-version 1.3
  pauseless compile ecmp.p4 --print ir
  pauseless compile ecmp.p4 --print native
  pauseless compile ecmp.p4 --compiler p4c -o ecmp.json`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageErrorf(cmd, "expected one program, found %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return compileProgram(cmd, args[0], &f) },
	}
	fl := cmd.Flags()
	fl.StringArrayVarP(&f.include, "include", "I", nil, "`FOLDER`: search for included files there (repeatable)")
	fl.StringArrayVarP(&f.defines, "define", "D", nil, "`NAME[=TEXT]`: define a macro (repeatable)")
	fl.StringVarP(&f.out, "output", "o", "", "`FILE`: write the JSON there; - is standard output (default: nowhere)")
	fl.StringVar(&f.info, "p4info", "", "`FILE`: write the P4Info there; - is standard output (default: nowhere)")
	fl.StringVar(&f.infoVersion, "p4info-version", p4info.Versions[0], "`VERSION`: version of P4Runtime that the P4Info's reader supports: "+strings.Join(p4info.Versions, " or "))
	cmd.RegisterFlagCompletionFunc("p4info-version", cobra.FixedCompletions(p4info.Versions, cobra.ShellCompDirectiveNoFileComp))
	fl.StringVar(&f.print, "print", "", "`STAGE`: print a stage instead: tokens, ast, types, ir, plain, ops or native")
	fl.StringVar(&f.with, "compiler", "pauseless", "`COMPILER`: pauseless or p4c")
	fl.StringVar(&f.diagnostics, "diagnostics", "text", "`FORM`: form of errors and warnings: text or json")
	return cmd
}

func compileProgram(cmd *cobra.Command, file string, f *compileFlags) error {
	if _, err := p4info.ForVersion(nil, f.infoVersion); err != nil {
		return usageErrorf(cmd, "--p4info-version: %v", err)
	}
	if f.diagnostics != "text" && f.diagnostics != "json" {
		return usageErrorf(cmd, "--diagnostics is text or json, not %q", f.diagnostics)
	}
	if err := checkFiles(cmd.Flags().Args(), f.out, f.info); err != nil {
		return err
	}
	switch f.with {
	case "p4c":
		return compileWithP4C(cmd, file, f)
	case "pauseless":
	default:
		return usageErrorf(cmd, "--compiler is pauseless or p4c, not %q", f.with)
	}
	stop, ok := map[string]compiler.Pass{"": compiler.AllPasses, "tokens": compiler.AfterPreproc, "ast": compiler.AfterParse,
		"types": compiler.AfterCheck, "ir": compiler.AfterLower,
		"plain": compiler.AllPasses, "ops": compiler.AllPasses, "native": compiler.AllPasses}[f.print]
	if !ok {
		return usageErrorf(cmd, "--print is tokens, ast, types, ir, plain, ops or native, not %q", f.print)
	}
	if ext := filepath.Ext(file); ext == ".yaml" || ext == ".yml" || ext == ".json" {
		return usageErrorf(cmd, "%s is not a P4 program: `pauseless gen --profile` writes the program of a profile, `pauseless fabric run` reads scenarios", file)
	}
	r, list := compiler.Compile(compiler.Options{File: file, Include: f.include, Defines: f.defines, Stop: stop})
	if err := reportDiagnostics(cmd, f, file, list, r.Set.Source); err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	switch f.print {
	case "tokens":
		return writeAll(out, syntax.PrintTokens(r.Set, r.Tokens))
	case "ast":
		return writeAll(out, syntax.PrintProgram(r.Tree))
	case "types":
		return writeAll(out, types.Print(r.Tree, r.Types, r.Set))
	case "ir":
		return writeAll(out, ir.Print(r.IR))
	case "plain", "ops", "native":
		return printTranslation(out, r.Program, f.print)
	}
	return writeOutputs(cmd, f, func() []byte { return bmv2json.Encode(r.Program) }, r.P4Info)
}

// printTranslation prints a stage of the switch's translation of a program.
func printTranslation(out io.Writer, program *bmv2json.Program, stage string) error {
	p, err := interp.Compile(program, interp.Options{Plain: stage == "plain", Interpret: stage != "native", Names: true})
	if err != nil {
		return err
	}
	text := p.Print()
	if stage == "native" {
		var ok bool
		if text, ok = p.PrintNative(); !ok {
			return errors.New("this system has no machine code of programs: it needs x86-64 Linux that lets processes make memory executable; --print ops shows what the switch interprets")
		}
	}
	return writeAll(out, text)
}

func writeAll(w io.Writer, text string) error {
	_, err := io.WriteString(w, text)
	return err
}

func compileWithP4C(cmd *cobra.Command, file string, f *compileFlags) error {
	if f.print != "" {
		return usageErrorf(cmd, "--print shows stages of our own compiler; leave it or --compiler p4c out")
	}
	r, err := p4c.Compile(cmd.Context(), p4c.Options{File: file, Include: f.include, Defines: f.defines})
	if err != nil {
		return err
	}
	if err := reportDiagnostics(cmd, f, file, r.List, nil); err != nil {
		return err
	}
	return writeOutputs(cmd, f, func() []byte { return r.JSON }, r.P4Info)
}

// reportDiagnostics writes the compiler's diagnostics. If there are errors
// among them, it returns an error with their number.
func reportDiagnostics(cmd *cobra.Command, f *compileFlags, file string, list diag.List, source func(string) []byte) error {
	if f.diagnostics == "json" {
		if err := printDiagnosticsJSON(cmd.OutOrStdout(), list); err != nil {
			return err
		}
	} else if len(list) == 1 && list[0].Code == "file" { // the program cannot be read
		return fmt.Errorf("%s %s; expected a P4 program", file, list[0].Msg)
	} else {
		diag.Print(cmd.ErrOrStderr(), list, func(name string) []byte {
			if source != nil {
				if text := source(name); text != nil {
					return text
				}
			}
			if name != file { // as #line says
				text, err := compiler.ReadIncluded(name)
				if err != nil {
					return nil
				}
				return []byte(text)
			}
			text, err := infile.Read(name)
			if err != nil {
				return nil
			}
			return text
		})
	}
	n := 0
	for _, d := range list {
		if d.Severity == diag.Error {
			n++
		}
	}
	switch n {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s has an error", file)
	}
	return fmt.Errorf("%s has %d errors", file, n)
}

func printDiagnosticsJSON(w io.Writer, list diag.List) error {
	type row struct {
		File     string `json:"file"`
		Line     int32  `json:"line"`
		Column   int32  `json:"column"`
		Severity string `json:"severity"`
		Code     string `json:"code"`
		Message  string `json:"message"`
	}
	rows := []row{}
	for _, d := range list {
		rows = append(rows, row{d.Pos.File(), d.Pos.Line, d.Pos.Col, d.Severity.String(), string(d.Code), d.Msg})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(rows)
}

// writeOutputs writes the files that the flags name.
func writeOutputs(cmd *cobra.Command, f *compileFlags, program func() []byte, info *p4configv1.P4Info) error {
	if f.out != "" {
		if err := writeOutput(cmd, f.out, program()); err != nil {
			return err
		}
	}
	if f.info == "" {
		return nil
	}
	info, err := p4info.ForVersion(info, f.infoVersion)
	if err != nil {
		return err
	}
	data := p4info.Text(info)
	if ext := filepath.Ext(f.info); ext == ".bin" || ext == ".pb" {
		if data, err = (proto.MarshalOptions{Deterministic: true}).Marshal(info); err != nil {
			return err
		}
	}
	return writeOutput(cmd, f.info, data)
}

// writeOutput writes a file as a whole or not at all.
func writeOutput(cmd *cobra.Command, name string, data []byte) error {
	if name == "-" {
		_, err := cmd.OutOrStdout().Write(data)
		return err
	}
	return outfile.Write(name, data, 0o666)
}
