// SPDX-License-Identifier: Apache-2.0

// Package catalog has the built-in experiments, one YAML file each, in a folder per paper.
// The files in bmv2 are for real switches. Nothing here reads or runs them: see package exp.
package catalog

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
)

//go:embed */*.yaml
var files embed.FS

const real = "bmv2"

// Names returns the names of all experiments in virtual time: a figure before its
// variants, and figure 2 before figure 10.
func Names() []string { return names(func(folder string) bool { return folder != real }) }

// RealNames returns the names of the experiments for real switches, which are not among
// Names: `exp run all` does not run them.
func RealNames() []string { return names(func(folder string) bool { return folder == real }) }

// Text returns the file of an experiment.
func Text(name string) ([]byte, error) {
	for _, p := range paths() {
		if path.Base(p) == name+".yaml" {
			return files.ReadFile(p)
		}
	}
	return nil, fmt.Errorf("no experiment is called %q%s; see `pauseless exp list`", name, diag.DidYouMean(name, append(Names(), RealNames()...)))
}

func paths() []string {
	found, err := fs.Glob(files, "*/*.yaml")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return found
}

func names(in func(folder string) bool) (names []string) {
	for _, p := range paths() {
		if in(path.Dir(p)) {
			names = append(names, strings.TrimSuffix(path.Base(p), ".yaml"))
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(sortKey(a), sortKey(b)) })
	return names
}

var number = regexp.MustCompile(`\d+`)

// sortKey is a name with its numbers filled up with zeros.
func sortKey(name string) string {
	return number.ReplaceAllStringFunc(name, func(n string) string { return strings.Repeat("0", 4-len(n)) + n })
}
