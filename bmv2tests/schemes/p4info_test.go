// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler/p4info"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/golden"
)

// p4infoHead is the beginning of p4src/v1model/p4info.txtpb.
const p4infoHead = `# proto-file: p4/config/v1/p4info.proto
# proto-message: p4.config.v1.P4Info

# What controllers see of the programs in this folder: each object once, after a line
# with the programs that have it. The lines of a program are its P4Info, as
# "pauseless compile" writes it.
`

// The P4Info of the programs under p4src is committed, so that a changed name, number or
// type is seen. It is for authors of controllers, and the tests of package intent read it.
func TestCommittedP4InfoIsCompiled(t *testing.T) {
	t.Parallel()
	var objects []string
	programs := make(map[string][]string) // by object
	all := 0
	for _, name := range gen.Names() {
		p, err := gen.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if p.Choice("reading") != "default" { // not in p4src
			continue
		}
		all++
		prog, err := gen.Generate(p, "v1model")
		if err != nil {
			t.Fatal(err)
		}
		_, info := compile(t, prog)
		for _, o := range objectsOf(p4info.Text(info)) {
			if programs[o] == nil {
				objects = append(objects, o)
			}
			programs[o] = append(programs[o], name)
		}
	}
	var groups []string
	with := make(map[string][]string) // objects by the programs that have them
	for _, o := range objects {
		names := "all"
		if len(programs[o]) < all {
			names = strings.Join(programs[o], " ")
		}
		if with[names] == nil {
			groups = append(groups, names)
		}
		with[names] = append(with[names], o)
	}
	b := bytes.NewBufferString(p4infoHead)
	for _, names := range groups {
		fmt.Fprintf(b, "# %s\n%s\n", names, strings.Join(with[names], "\n"))
	}
	golden.Check(t, "../../p4src/v1model/p4info.txtpb", b.Bytes())
}

// objectsOf returns the fields of a P4Info, each on a line.
func objectsOf(text []byte) (objects []string) {
	var parts []string
	for line := range strings.Lines(string(text)) {
		if part := strings.TrimSpace(line); part != "" && !strings.HasPrefix(part, "#") {
			parts = append(parts, part)
		}
		if line == "}\n" {
			objects, parts = append(objects, strings.Join(parts, " ")), nil
		}
	}
	return objects
}
