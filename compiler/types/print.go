// SPDX-License-Identifier: Apache-2.0

package types

import (
	"fmt"
	"sort"
	"strings"

	"github.com/pauseless/pauseless/compiler/source"
	"github.com/pauseless/pauseless/compiler/syntax"
)

// Print returns the checker's result as text: a line for every expression of
// the main file that has a type, in the order of the source.
func Print(prog *syntax.Program, info *Info, set *source.Set) string {
	type line struct {
		pos  source.Pos
		id   int
		text string
	}
	var lines []line
	see := func(x syntax.Expr) bool {
		t := info.types[x.ID()]
		if t == nil || t == Invalid {
			return true
		}
		pos := set.Position(x.Pos())
		text := fmt.Sprintf("%d:%d %s: %s", pos.Line, pos.Col, oneLine(syntax.Text(x)), typeText(t))
		if v := info.values[x.ID()]; v != nil {
			if s := v.String(); s != syntax.Text(x) {
				text += " = " + s
			}
		}
		lines = append(lines, line{x.Pos(), x.ID(), text})
		return true
	}
	main := set.Main()
	for _, d := range prog.Decls {
		if set.FileAt(d.Pos()) == main {
			syntax.WalkDecl(d, see)
		}
	}
	sort.SliceStable(lines, func(i, j int) bool {
		if lines[i].pos != lines[j].pos {
			return lines[i].pos < lines[j].pos
		}
		return lines[i].id < lines[j].id
	})
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text)
		b.WriteByte('\n')
	}
	return b.String()
}

// oneLine cuts a text at its first line end.
func oneLine(s string) string {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i] + " …"
	}
	return s
}
