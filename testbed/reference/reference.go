// SPDX-License-Identifier: Apache-2.0

// Package reference has JSON Schemas of profiles, topologies and scenarios. The
// tests of this package make them, and the pages in docs/reference, of the Go types
// that the files are read into; `make golden` writes them.
package reference

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
)

//go:embed *.schema.json
var schemas embed.FS

// Kinds are the kinds of files that have a schema.
var Kinds = []string{"profile", "scenario", "experiment", "live", "topology"}

// Schema returns the JSON Schema (draft 2020-12) of a kind of file, or an error for an
// unknown kind.
func Schema(kind string) ([]byte, error) {
	file := kind
	if kind == "experiment" || kind == "live" {
		file = "scenario" // these files are scenarios
	}
	text, err := schemas.ReadFile(file + ".schema.json")
	if err != nil {
		return nil, fmt.Errorf("no kind of file is called %q%s; there are %s", kind, diag.DidYouMean(kind, Kinds), strings.Join(Kinds, ", "))
	}
	var lines bytes.Buffer
	if err := json.Indent(&lines, text, "", " "); err != nil {
		panic("BUG: " + err.Error())
	}
	return lines.Bytes(), nil
}
