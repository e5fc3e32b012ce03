// SPDX-License-Identifier: Apache-2.0

// Package reference has JSON Schemas of the files that people write: profiles,
// topologies and scenarios (of which experiments and what real switches carry are two uses). They and the pages in docs/reference are made from
// the Go types that the files are read into, by the tests of this package:
// `make golden` writes them anew.
package reference

import (
	"embed"
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
)

//go:embed *.schema.json
var schemas embed.FS

// Kinds are the kinds of files that have a schema.
var Kinds = []string{"profile", "scenario", "experiment", "live", "topology"}

// Schema returns the JSON Schema (draft 2020-12) of a kind of file.
func Schema(kind string) ([]byte, error) {
	file := kind
	if kind == "experiment" || kind == "live" {
		file = "scenario" // the same files, looked at for another purpose
	}
	text, err := schemas.ReadFile(file + ".schema.json")
	if err != nil {
		return nil, fmt.Errorf("no kind of file is called %q%s; there are %s", kind, diag.DidYouMean(kind, Kinds), strings.Join(Kinds, ", "))
	}
	return text, nil
}
