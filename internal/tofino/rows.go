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
	// Percentages have two digits behind the point: what there is of a resource is the
	// number with which all of them are right.
	var of [resources]int
	for k := range resources {
		least, most := 0.0, math.Inf(1)
		for _, r := range rows {
			if used, percent := float64(r.Used[k.String()]), r.Percent[k.String()]; used > 0 && percent > 0 {
				least = max(least, 100*used/(percent+0.005))
				most = min(most, 100*used/max(percent-0.005, 0))
			}
		}
		if !math.IsInf(most, 1) {
			of[k] = int(math.Round((least + most) / 2))
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
