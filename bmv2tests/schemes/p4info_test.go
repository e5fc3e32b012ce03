// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"testing"

	"github.com/pauseless/pauseless/compiler/p4info"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/golden"
)

// Each program under p4src has a file with the P4Info that the compiler writes. It
// is for authors of controllers, and the tests of package intent read it.
func TestCommittedP4InfoIsCompiled(t *testing.T) {
	t.Parallel()
	for _, name := range profiles() {
		p, err := gen.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		prog, err := gen.Generate(p, "v1model")
		if err != nil {
			t.Fatal(err)
		}
		_, info := compile(t, prog)
		golden.Check(t, "../../p4src/v1model/"+name+".p4info.txtpb", p4info.Text(info))
	}
}
