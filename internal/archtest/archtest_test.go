// SPDX-License-Identifier: Apache-2.0

// Package archtest verifies the direction rule of ARCHITECTURE.md and the other
// rules for all files.
package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/pauseless/pauseless/"

// importers has the folders that may be imported, each with the folders that
// may import it besides itself. The reason explains the resulting bans.
var importers = []struct {
	folder string
	by     []string
	reason string
}{
	{"internal", []string{"compiler", "softswitch", "fabric", "gen", "controlplane", "testbed", "bmv2tests", "cmd", "p4src"},
		"leaves: all may use them, they use no other package"},
	{"compiler", []string{"testbed", "bmv2tests", "cmd"},
		"meets the switch at BMv2 JSON + P4Info, so that p4c can take its place"},
	{"softswitch", []string{"testbed", "bmv2tests", "cmd"},
		"meets the controller at P4Runtime, so that BMv2 or Tofino can take its place"},
	{"fabric", []string{"testbed", "bmv2tests", "cmd"},
		"sees switches through its own small interfaces"},
	{"gen", []string{"testbed", "bmv2tests", "cmd"},
		"meets the compiler at P4_16 text"},
	{"controlplane", []string{"testbed", "bmv2tests", "cmd"},
		"never knows which target it talks to"},
	{"p4src", []string{"testbed", "bmv2tests", "cmd"},
		"is generated output, embedded where programs are run"},
	{"testbed", []string{"bmv2tests", "cmd"}, "wires the parts"},
	{"bmv2tests", nil, "tests from outside"},
	{"cmd", nil, "the top"},
}

// Packages in internal may only import those before them in this list.
var leaves = []string{"archtest", "bitvec", "diag", "infile", "outfile", "golden", "tool", "bmv2", "need", "bmv2json", "vtime", "packet", "yamlfile", "topo", "manifest", "tofino"}

// bans are imports that are forbidden in a folder, or in all if none is named.
var bans = []struct{ folder, path, reason string }{
	{"fabric", "math/rand", "results must not depend on a global generator; math/rand/v2 with a seed"},
	{"softswitch", "math/rand", "results must not depend on a global generator; math/rand/v2 with a seed"},
	{"compiler", "google.golang.org/grpc", "the compiler has no wire"},
	{"gen", "google.golang.org/grpc", "the generator has no wire"},
	{"fabric", "google.golang.org/grpc", "the fabric has no wire"},
}

// stages has the packages of softswitch/interp with those that each may import: what
// crosses from a stage to the next is in ops.
var stages = map[string][]string{
	"softswitch/interp/internal/ops":      nil,
	"softswitch/interp/internal/optimise": {"ops"},
	"softswitch/interp/internal/native":   {"ops"},
	"softswitch/interp/internal/compile":  {"ops", "optimise"},
	"softswitch/interp":                   {"ops", "compile", "native"},
}

func TestStagesOfTheInterpreter(t *testing.T) {
	eachGoFile(t, func(file string, f *ast.File, _ []byte) {
		from, ok := strings.CutPrefix(path.Dir(file), "softswitch/interp/internal/")
		for _, spec := range f.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			to, stage := strings.CutPrefix(imp, module+"softswitch/interp/internal/")
			switch may, known := stages[path.Dir(file)]; {
			case imp == module+"softswitch/interp" && ok:
				t.Errorf("%s imports %s: %s is a stage of it", file, imp, from)
			case stage && !known:
				t.Errorf("%s imports %s, but TestStagesOfTheInterpreter does not list what its folder may import", file, imp)
			case stage && !strings.HasSuffix(file, "_test.go") && !slices.Contains(may, to):
				t.Errorf("%s imports %s: stages exchange instructions and programs of package ops", file, imp)
			}
		}
	})
}

func TestDirectionRule(t *testing.T) {
	eachGoFile(t, func(path string, file *ast.File, _ []byte) {
		from, _, _ := strings.Cut(path, "/")
		for _, spec := range file.Imports {
			imp, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, b := range bans {
				if (b.folder == "" || from == b.folder) && (imp == b.path || strings.HasPrefix(imp, b.path+"/") && b.path != "math/rand" && b.path != "text/template") { // their other packages are allowed
					t.Errorf("%s imports %s: %s", path, imp, b.reason)
				}
			}
			rel, ok := strings.CutPrefix(imp, module)
			if !ok {
				continue
			}
			to, _, _ := strings.Cut(rel, "/")
			i := slices.IndexFunc(importers, func(r struct {
				folder string
				by     []string
				reason string
			}) bool {
				return r.folder == to
			})
			switch {
			case i < 0:
				t.Errorf("%s imports %s, a folder the direction rule does not know", path, imp)
			case from != to && !slices.Contains(importers[i].by, from):
				t.Errorf("%s imports %s: %s %s", path, imp, to, importers[i].reason)
			}
		}
	})
}

// ARCHITECTURE.md names all packages. Those called …test are only for tests.
func TestPackagesAreInTheArchitecture(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	eachGoFile(t, func(file string, _ *ast.File, _ []byte) {
		dir := path.Dir(file)
		name := path.Base(dir)
		if seen[dir] || dir == "." || strings.HasSuffix(name, "test") {
			return
		}
		seen[dir] = true
		if s := string(text); !strings.Contains(s, "`"+name+"`") && !strings.Contains(s, "/"+name+"`") {
			t.Errorf("ARCHITECTURE.md does not name %s", dir)
		}
	})
}

func TestInternalPackagesAreLeaves(t *testing.T) {
	eachGoFile(t, func(path string, file *ast.File, _ []byte) {
		parts := strings.Split(path, "/")
		if parts[0] != "internal" || strings.HasSuffix(path, "_test.go") {
			return
		}
		for _, spec := range file.Imports {
			imp, _ := strconv.Unquote(spec.Path.Value)
			rel, ok := strings.CutPrefix(imp, module+"internal/")
			if ok && slices.Index(leaves, rel) >= rank(parts[1]) {
				t.Errorf("%s imports internal/%s, which is no leaf below it", path, rel)
			}
		}
	})
}

// rank is the index of an internal package in leaves. A package outside of the
// list may import all of them.
func rank(pkg string) int {
	if i := slices.Index(leaves, pkg); i >= 0 {
		return i
	}
	return len(leaves)
}

// Code that forwards packets uses only virtual time.
func TestNoWallClockInTheDataPath(t *testing.T) {
	eachGoFile(t, func(path string, file *ast.File, _ []byte) {
		if strings.HasSuffix(path, "_test.go") ||
			!strings.HasPrefix(path, "fabric/") && !strings.HasPrefix(path, "softswitch/tm/") && !strings.HasPrefix(path, "softswitch/interp/") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains([]string{"Now", "Since", "Sleep", "After", "NewTimer", "NewTicker"}, sel.Sel.Name) {
					t.Errorf("%s uses time.%s; it must ask its vtime.Scheduler", path, sel.Sel.Name)
				}
			}
			return true
		})
	})
}

// writers are the files that may write files directly, each with its reason.
// All others use internal/outfile, which replaces regular files only.
var writers = map[string]string{
	"internal/outfile/outfile.go":         "is the place",
	"internal/outfile/durable.go":         "is the place, too",
	"internal/golden/golden.go":           "rewrites files of this repository, for its authors",
	"internal/need/alone_unix.go":         "a lock that stays",
	"internal/need/written_unix.go":       "opens, and writes nothing",
	"testbed/real/netns/link_linux.go":    "a setting of the kernel in /proc",
	"testbed/result/archive.go":           "file by file, each of which is limited",
	"testbed/real/netns/journal.go":       "a journal in a folder that it has just made",
	"testbed/real/netns/process_linux.go": "a log that programs append to",
}

func TestFilesAreWrittenInOnePlace(t *testing.T) {
	calls := []string{"WriteFile", "Create", "Rename", "OpenFile", "CreateTemp"}
	eachGoFile(t, func(path string, file *ast.File, _ []byte) {
		if strings.HasSuffix(path, "_test.go") || writers[path] != "" {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && x.Name == "os" && slices.Contains(calls, sel.Sel.Name) {
					t.Errorf("%s uses os.%s: use internal/outfile, which leaves devices, pipes, links, owners and modes as they are", path, sel.Sel.Name)
				}
			}
			return true
		})
	})
}

// readers are the files that may read files directly, each with its reason. All
// others use internal/infile, which limits the size while it reads.
var readers = map[string]string{
	"internal/infile/infile.go":                   "is the place",
	"internal/infile/json.go":                     "is the place, too",
	"internal/outfile/durable.go":                 "syncs a folder",
	"internal/golden/golden.go":                   "files of this repository, for its authors",
	"internal/need/written_unix.go":               "what a process of a test has written",
	"internal/licence/sbom/main.go":               "the binary that the Makefile has just built",
	"compiler/compiler.go":                        "ends after source.MaxSize",
	"cmd/pauseless/live.go":                       "a recording: record.Read limits it",
	"cmd/pauseless/report.go":                     "outcomes and figures: result and report limit them",
	"cmd/pauseless/ctl_entries.go":                "limited by infile.Lines",
	"cmd/pauseless/deploy_capture.go":             "limited by infile.Limit",
	"cmd/pauseless/fabric_flows.go":               "limited by infile.Limit",
	"softswitch/port/pcap.go":                     "frame by frame, each of which is limited",
	"softswitch/stf/simpleswitch/simpleswitch.go": "the log of a child, and the kernel",
	"testbed/exp/plan.go":                         "this executable",
	"testbed/exp/store.go":                        "locks a folder",
	"testbed/result/archive.go":                   "file by file, each of which is limited",
	"testbed/real/netns/journal.go":               "line by line, in a folder of this program",
	"testbed/real/netns/process_linux.go":         "the kernel, and the log of a child",
}

func TestFilesAreReadInOnePlace(t *testing.T) {
	eachGoFile(t, func(path string, file *ast.File, _ []byte) {
		if strings.HasSuffix(path, "_test.go") || readers[path] != "" || strings.Contains(path, "webtest/") || strings.Contains(path, "goclient/") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok && slices.Contains([]string{"os.ReadFile", "os.Open", "io.ReadAll", "ioutil.ReadAll",
					"tls.LoadX509KeyPair", "nats.ClientCert", "nats.RootCAs", "nats.UserCredentials", "credentials.NewServerTLSFromFile", "credentials.NewClientTLSFromFile"}, x.Name+"."+sel.Sel.Name) {
					t.Errorf("%s uses %s.%s: use internal/infile, which limits the size of what it reads", path, x.Name, sel.Sel.Name)
				}
			}
			return true
		})
	})
}

// Commands are never executed by a shell, because it would interpret names from
// files.
func TestNoShell(t *testing.T) {
	eachGoFile(t, func(path string, file *ast.File, _ []byte) {
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && slices.Contains([]string{"sh", "bash", "/bin/sh", "/bin/bash"}, text) {
					t.Errorf("%s names the shell %s: give a program its arguments one by one", path, text)
				}
			}
			return true
		})
	})
	walk(t, func(path string) {
		if !strings.HasSuffix(path, ".py.tmpl") {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{".cmd(", "quietRun", "os.system", "shell=True", ".pexec(f", ".pexec(\"", ".popen(f"} {
			if strings.Contains(string(text), bad) {
				t.Errorf("%s has %q, which a shell reads: give a list of words", path, bad)
			}
		}
	})
}

// wallClock are the files of long-running code that may read the wall clock,
// which may be set while they run.
var wallClock = map[string]string{
	"controlplane/digest.go":             "shows when the switch says that a digest was made",
	"softswitch/p4rtserver/server.go":    "P4Runtime wants digests' times as wall clock",
	"testbed/real/live/busy.go":          "notices that the clock was set",
	"testbed/real/netns/socket_linux.go": "a deadline in the past",
	"testbed/packets/endpoint.go":        "a file of frames has virtual times",
	"testbed/real/relay/socket_linux.go": "the kernel's stamps of frames",
}

// Timers, deadlines and differences of times from time.Now use Go's monotonic
// clock, so setting the wall clock does not affect sessions and switches.
// Long-running code must not use functions that lose the monotonic reading.
func TestTimesKeepTheirMonotonicClock(t *testing.T) {
	eachGoFile(t, func(path string, file *ast.File, _ []byte) {
		if strings.HasSuffix(path, "_test.go") || wallClock[path] != "" ||
			!strings.HasPrefix(path, "controlplane/") && !strings.HasPrefix(path, "softswitch/") && !strings.HasPrefix(path, "testbed/") {
			return
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			name := sel.Sel.Name
			if name == "Round" && len(call.Args) == 1 {
				if zero, ok := call.Args[0].(*ast.BasicLit); ok && zero.Value == "0" {
					name = "Round(0)"
				}
			}
			if slices.Contains([]string{"Unix", "UnixNano", "UnixMicro", "UnixMilli", "UTC", "Local", "AddDate", "Round(0)"}, name) {
				t.Errorf("%s uses %s: it loses the monotonic clock, or compares with another; if it must, say why in wallClock", path, name)
			}
			return true
		})
	})
}

func TestEveryFileNamesItsLicence(t *testing.T) {
	walk(t, func(path string) {
		switch filepath.Ext(path) {
		case ".go", ".p4", ".tmpl", ".proto", ".thrift":
			text, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(path, "/testdata/") {
				return
			}
			head, _, _ := strings.Cut(string(text), "\n\n")
			if !strings.Contains(head, "SPDX-License-Identifier: Apache-2.0") {
				t.Errorf("%s has no SPDX line at its top", path)
			}
		}
	})
}

func TestFilesStayReadable(t *testing.T) {
	const maxLines = 1000
	eachGoFile(t, func(path string, _ *ast.File, text []byte) {
		if n := strings.Count(string(text), "\n"); n > maxLines && !strings.HasSuffix(path, ".pb.go") {
			t.Errorf("%s has %d lines; split it by concept, %d is the limit", path, n, maxLines)
		}
	})
}

const root = "../.."

func eachGoFile(t *testing.T, do func(path string, file *ast.File, text []byte)) {
	t.Helper()
	fset := token.NewFileSet()
	walk(t, func(path string) {
		if filepath.Ext(path) != ".go" {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		do(path, file, text)
	})
}

// walk visits the files of the module with slash-separated paths from its root.
func walk(t *testing.T, do func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if rel != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || rel == "out" || rel == "bin" {
				return filepath.SkipDir
			}
			return nil
		}
		do(filepath.ToSlash(rel))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
