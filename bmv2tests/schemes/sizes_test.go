// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/gen"
)

// Programs of the smallest and the largest sizes compile, each base with as many
// schemes on top as possible. Profiles with other sizes are refused.
func TestSizesAtTheirExtremes(t *testing.T) {
	t.Parallel()
	const (
		smallest = "{ports: 2, paths: 2, leaves: 2, hosts: 2, priorities: 1, flows: 16, coflows: 16}"
		largest  = "{ports: 509, paths: 64, leaves: 4096, hosts: 1048576, priorities: 8, flows: 1048576, coflows: 65536}"
	)
	for _, base := range []string{"ecmp", "presto", "letflow", "drill", "conga", "hermes", "clb", "plb"} {
		for _, sizes := range []string{smallest, largest} {
			if testing.Short() && sizes == largest {
				continue
			}
			rlb := "rlb_adaptive"
			if base == "clb" || base == "plb" {
				rlb = "off"
			}
			p, err := gen.Parse("size.yaml", fmt.Appendf(nil, "name: size\nbase: %s\nrlb: %s\npbfs: on\nint: on\necn: red\nsizes: %s\n", base, rlb, sizes))
			if err != nil {
				t.Fatal(err)
			}
			prog, err := gen.Generate(p, "v1model")
			if err != nil {
				t.Fatal(err)
			}
			res, list := compiler.Compile(compiler.Options{File: base + ".p4", Source: prog.P4})
			if len(list) > 0 {
				t.Fatalf("%s %s: %v", base, sizes, list)
			}
			if list := res.Program.UnalignedPrefixes(); list != nil {
				t.Errorf("%s %s: %v", base, sizes, list)
			}
			for _, r := range res.Program.RegisterArrays {
				if strings.HasSuffix(r.Name, "path_rtt") && r.Size != p.Sizes.Leaves*p.Sizes.Paths {
					t.Errorf("%s: %s has %d cells for %d leaves and %d paths", base, r.Name, r.Size, p.Sizes.Leaves, p.Sizes.Paths)
				}
			}
		}
	}
	for _, sizes := range []string{"paths: 1", "paths: 65", "ports: 1", "ports: 510", "leaves: 1", "leaves: 4097", "hosts: 1", "priorities: 4", "flows: 24"} {
		if _, err := gen.Parse("size.yaml", fmt.Appendf(nil, "name: size\nsizes: {%s}\n", sizes)); err == nil {
			t.Errorf("sizes of %s are accepted", sizes)
		}
	}
}
