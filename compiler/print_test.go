// SPDX-License-Identifier: Apache-2.0

package compiler

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/p4info"
	"github.com/pauseless/pauseless/compiler/syntax"
	"github.com/pauseless/pauseless/compiler/types"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/golden"
)

// indent is what precedes the text of a line: half of the JSON.
var indent = regexp.MustCompile(`(?m)^ +`)

// The output of each pass for a program with all features does not change.
func TestStages(t *testing.T) {
	const file = "testdata/print/features.p4"
	r, list := Compile(Options{File: file})
	for _, d := range list {
		t.Error(d)
	}
	if r.Program == nil {
		return
	}
	var tokens []syntax.Token
	for _, k := range r.Tokens {
		if r.Set.FileAt(k.Pos) == r.Set.Main() {
			tokens = append(tokens, k)
		}
	}
	tree := *r.Tree
	tree.Decls = nil
	for _, d := range r.Tree.Decls {
		if r.Set.FileAt(d.Pos()) == r.Set.Main() {
			tree.Decls = append(tree.Decls, d)
		}
	}
	for stage, text := range map[string]string{
		"tokens":       strings.ReplaceAll(syntax.PrintTokens(r.Set, tokens), file+":", ""),
		"ast":          syntax.PrintProgram(&tree),
		"types":        types.Print(r.Tree, r.Types, r.Set),
		"ir":           ir.Print(r.IR),
		"json":         indent.ReplaceAllString(string(bmv2json.Encode(r.Program)), ""),
		"p4info.txtpb": string(p4info.Text(r.P4Info)),
	} {
		golden.Check(t, filepath.Join("testdata", "print", "features."+stage), []byte(text))
	}
}
