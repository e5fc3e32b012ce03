// SPDX-License-Identifier: Apache-2.0

// Package exp runs experiments: those of package catalog, which test what the papers
// claim about their schemes, and a user's own.
//
// A Plan is an experiment at a scale with the programs of its cases. A run of
// it is a pure function of its Job, whose key is the hash of all that it
// depends on: the programs, what the file says of the case, the seed and this
// build. A Store keeps each run under its key as soon as it is done, so no run is
// lost or made twice. Run makes the missing runs, adds seeds until the claims are
// precise enough, and decides the claims.
package exp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/pauseless/pauseless/testbed/catalog"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// Load returns an experiment, ready to run, at the scale of the paper.
func Load(name string) (*scenario.Scenario, error) { return LoadAt(name, scenario.Paper) }

// LoadAt returns an experiment at a scale. Name is that of a built-in experiment or
// of a file.
func LoadAt(name, scale string) (*scenario.Scenario, error) {
	text, err := catalog.Text(name)
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
		return nil, fmt.Errorf("there is no file %s; expected an experiment, in YAML or by a name of `pauseless exp list`", name)
	}
	return scenario.ReadAt(name, scale)
}
