// SPDX-License-Identifier: Apache-2.0

package tofino

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/pauseless/pauseless/internal/infile"
)

// ReadRows reads a report that "pauseless tofino report -o json" printed: the
// JSON of Rows. The total of each resource is computed from the program that uses
// most of it.
func ReadRows(file string) ([]*Program, error) {
	data, err := infile.Read(file)
	if err != nil {
		return nil, err
	}
	var rows []Row
	if err := json.Unmarshal(data, &rows); err != nil || len(rows) == 0 {
		return nil, fmt.Errorf("%s is not a report of `pauseless tofino report -o json`: %v", file, err)
	}
	var of, most [resources]int
	for _, r := range rows {
		for k := range resources {
			if used := r.Used[k.String()]; used > most[k] && r.Percent[k.String()] > 0 {
				most[k] = used
				of[k] = int(math.Round(100 * float64(used) / r.Percent[k.String()]))
			}
		}
	}
	var list []*Program
	for _, r := range rows {
		p := &Program{Name: r.Program, Compiler: r.Compiler, Stages: r.Stages, Of: r.Of, Total: Use{Of: of}}
		for k := range resources {
			p.Total.Used[k] = r.Used[k.String()]
		}
		list = append(list, p)
	}
	return list, nil
}
