// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"context"
	"fmt"
	"log"

	"github.com/pauseless/pauseless/testbed/scenario"
)

// A program of another module runs a scenario: it needs no package but this one.
func Example() {
	s, err := scenario.Parse("incast.yaml", []byte(`
name: incast
network:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 2us}
profiles: [drill, rlb-drill]
traffic:
- incast: {degree: 4, from: "leaf:l2", size: 64KB, to: h1}
until: 10ms
`))
	if err != nil {
		log.Fatal(err) // with the place and the cause
	}
	runs, err := s.Run(context.Background(), scenario.Options{Threads: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, run := range runs {
		fmt.Printf("%s: %d of %d flows, %d packets lost\n", run.Profile, run.Summary.Finished, len(run.Flows), run.Summary.Dropped)
		for _, f := range run.Flows {
			fmt.Printf("  %s to %s: %.1f us\n", f.Src, f.Dst, float64(f.FCTNS)/1000)
		}
	}
}
