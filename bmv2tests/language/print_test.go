// SPDX-License-Identifier: Apache-2.0

package language

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/golden"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/stf"
)

// printed are the constructs whose translation is committed: before and after the
// optimiser, as machine code, and the steps of the construct's packets.
var printed = map[string]string{
	"nested calls": "calls", "lookahead and advance": "lookahead", "varbit": "varbit", "exact, lpm, ternary, range, optional": "tables",
	"priorities of entries": "priorities", "registers": "registers", "hashes": "hashes", "counting loop": "loop",
	"switch on action_run": "action-run", "stacks in loops": "stacks",
}

func compiled(t *testing.T, p *bmv2json.Program, opts interp.Options) *interp.Program {
	t.Helper()
	opts.Names = true
	r, err := interp.Compile(p, opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// folder is where a construct's program is for a test.
var folder = regexp.MustCompile(`\[[^\[]*[/\\]t\.p4:`)

func TestPrintedTranslations(t *testing.T) {
	found := 0
	each(t, func(t *testing.T, name string, p *bmv2json.Program, script *stf.Script) {
		file, ok := printed[name]
		if !ok {
			return
		}
		found++
		golden.Check(t, filepath.Join("testdata", "print", file+".plain"), []byte(compiled(t, p, interp.Options{Plain: true}).Print()))
		golden.Check(t, filepath.Join("testdata", "print", file+".ops"), []byte(compiled(t, p, interp.Options{}).Print()))
		if text, ok := compiled(t, p, interp.Options{}).PrintNative(); ok {
			golden.Check(t, filepath.Join("testdata", "print", file+".native"), []byte(text))
		}
		var steps strings.Builder
		if err := stf.Run(p, script, stf.Options{Trace: func(text string) { fmt.Fprintln(&steps, text) }}); err != nil {
			t.Error(err)
		}
		golden.Check(t, filepath.Join("testdata", "print", file+".trace"), folder.ReplaceAll([]byte(steps.String()), []byte("[t.p4:")))
	})
	if found != len(printed) {
		t.Errorf("%d of the %d constructs exist", found, len(printed))
	}
}

// The page about the compiler quotes the translation of the construct "registers".
func TestPageQuotesTheTranslation(t *testing.T) {
	page, err := os.ReadFile("../../docs/compiler.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## How the switch translates a program\n")
	section, _, _ = strings.Cut(section, "\n## ")
	texts := ""
	for _, stage := range []string{"plain", "ops", "native"} {
		text, err := os.ReadFile(filepath.Join("testdata", "print", "registers."+stage))
		if err != nil {
			t.Fatal(err)
		}
		texts += string(text)
	}
	quoted := 0
	for line := range strings.Lines(section) {
		if quote, ok := strings.CutPrefix(line, "    "); ok {
			quoted++
			if !strings.Contains(texts, strings.TrimLeft(quote, " ")) {
				t.Errorf("docs/compiler.md quotes %q, which no stage prints", strings.TrimSpace(quote))
			}
		}
	}
	if quoted < 10 {
		t.Errorf("docs/compiler.md quotes %d lines", quoted)
	}
}

var (
	machineLine = regexp.MustCompile(`(?m)^ +\[([0-9a-f]{5})\]  (.*)$`)
	jump        = regexp.MustCompile(`^(j\w+|call) \[([0-9a-f]{5})\]$`)
)

// The machine code of committed programs is decoded without a gap, its jumps lead
// to the start of an instruction, and it is printed the same twice.
func TestMachineCodeIsPrintedWhole(t *testing.T) {
	files, err := filepath.Glob("../../p4src/*/*.p4")
	if err != nil || len(files) == 0 {
		t.Fatal("no committed programs: ", err)
	}
	for i := 0; i < len(files); i += 6 { // a sample
		file := files[i]
		r, errs := compiler.Compile(compiler.Options{File: file})
		if errs.HasErrors() {
			t.Fatal(errs)
		}
		p := r.Program
		text, ok := compiled(t, p, interp.Options{}).PrintNative()
		if !ok {
			t.Skip("SKIP: programs are translated to machine code on x86-64 Linux only")
		}
		if again, _ := compiled(t, p, interp.Options{}).PrintNative(); again != text {
			t.Errorf("%s is printed differently the second time", file)
		}
		starts, jumps := map[int64]bool{}, map[int64]string{}
		for _, m := range machineLine.FindAllStringSubmatch(text, -1) {
			at, _ := strconv.ParseInt(m[1], 16, 64)
			starts[at] = true
			if strings.HasPrefix(m[2], "db ") {
				t.Errorf("%s: %s cannot be decoded", file, m[0])
			}
			if j := jump.FindStringSubmatch(m[2]); j != nil {
				to, _ := strconv.ParseInt(j[2], 16, 64)
				jumps[to] = m[0]
			}
		}
		for to, line := range jumps {
			if !starts[to] {
				t.Errorf("%s: %q leads to no instruction", file, line)
			}
		}
	}
}
