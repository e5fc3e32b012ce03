// SPDX-License-Identifier: Apache-2.0

// Package exp has the built-in experiments, one file each, that test what the
// papers claim about their schemes. It runs these and a user's own experiments.
//
// A Plan is an experiment at a scale with the programs of its cases. A run of
// it is a pure function of its Job, whose key is the hash of all that it
// depends on: the programs, what the file says of the case, the seed and this
// build. A Store keeps each run under its key as soon as it is done, so no run is
// lost or made twice. Run makes the missing runs, adds seeds until the claims are
// precise enough, and decides the claims.
package exp

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/testbed/scenario"
)

//go:embed *.yaml
var files embed.FS

// Names returns the names of all experiments: a figure before its variants, and
// figure 2 before figure 10.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), path.Ext(e.Name())))
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Compare(sortKey(a), sortKey(b)) })
	return names
}

var number = regexp.MustCompile(`\d+`)

// sortKey is a name with its numbers filled up with zeros.
func sortKey(name string) string {
	return number.ReplaceAllStringFunc(name, func(n string) string { return strings.Repeat("0", 4-len(n)) + n })
}

// builtin returns the scenario of an experiment as text.
func builtin(name string) ([]byte, error) {
	text, err := files.ReadFile(name + ".yaml")
	if err != nil {
		text, err = realFiles.ReadFile("bmv2/" + name + ".yaml")
	}
	if err != nil {
		return nil, fmt.Errorf("no experiment is called %q%s; see `pauseless exp list`", name, diag.DidYouMean(name, append(Names(), RealNames()...)))
	}
	return text, nil
}

// Load returns an experiment, ready to run, at the scale of the paper.
func Load(name string) (*scenario.Scenario, error) { return LoadAt(name, scenario.Paper) }

// LoadAt returns an experiment at a scale. Name is that of a built-in experiment or
// of a file.
func LoadAt(name, scale string) (*scenario.Scenario, error) {
	text, err := builtin(name)
	if err == nil {
		return scenario.ParseAt(name+".yaml", text, scale)
	}
	if ext := path.Ext(name); ext != ".yaml" && ext != ".yml" {
		if _, serr := os.Stat(name); serr == nil {
			return nil, fmt.Errorf("%s: the name of an experiment's file must end in .yaml; built-in experiments: `pauseless exp list`", name)
		}
		return nil, err
	}
	if _, serr := os.Stat(name); errors.Is(serr, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: there is no such file, and no experiment of that name", name)
	}
	return scenario.ReadAt(name, scale)
}
