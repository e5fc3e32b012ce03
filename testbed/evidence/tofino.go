// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/pauseless/pauseless/internal/tofino"
)

// tofinoReport is the report of `pauseless tofino report -o json`.
const tofinoReport = "docs/results/tofino.json"

// resources writes the page of tofinoReport.
func (d *documents) resources() {
	var rows []tofino.Row
	if err := json.Unmarshal(d.page(tofinoReport), &rows); err != nil {
		d.problem("%s: %w", tofinoReport, err)
		return
	}
	base := make(map[string]string)
	for _, r := range rows {
		base[r.Program] = r.Base
	}
	programs, err := tofino.ReadRows(filepath.Join(d.root, tofinoReport))
	if err != nil {
		d.problem("%w", err)
		return
	}
	var text, page strings.Builder
	if err := tofino.NewReport(programs, func(program string) string { return base[program] }).WriteText(&text); err != nil {
		d.problem("%w", err)
	}
	page.WriteString(`# Resources of the programs for Tofino

What p4c's open Tofino backend reports for each program, as numbers and as shares of the resources of all stages; what each adds to the program that it builds on; and the shares in table I of the RLB paper, which its authors measured for their own programs.
This is the output of

    pauseless tofino report docs/results

` + "```\n" + text.String() + "```\n")
	d.files["docs/results/tofino.md"] = []byte(page.String())
}
