// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/compiler/format"
	"github.com/pauseless/pauseless/compiler/ir"
	"github.com/pauseless/pauseless/compiler/p4info"
)

// Formatting does not change the meaning of p4c's programs, and formatting them
// twice changes nothing more.
func TestFormat(t *testing.T) {
	same := &tally{question: "programs mean the same when they are formatted", want: 100}
	each(programs(t, filepath.Join(testdata(t), "p4_16_samples")), func(file string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			return
		}
		name := strings.TrimSuffix(filepath.Base(file), ".p4")
		once, list := format.Source(file, text)
		if list != nil {
			same.count(name, firstError(list))
			return
		}
		how := ""
		if twice, _ := format.Source(file, once); string(twice) != string(once) {
			how = "formatting it again changes it"
		}
		a, _ := compiler.Compile(compiler.Options{File: file, Source: text})
		b, _ := compiler.Compile(compiler.Options{File: file, Source: once})
		switch {
		case (a.Program == nil) != (b.Program == nil):
			how = "one compiles and the other does not"
		case a.Program != nil && ir.Print(a.IR) != ir.Print(b.IR):
			how = "the programs differ"
		case a.Program != nil && string(p4info.Text(a.P4Info)) != string(p4info.Text(b.P4Info)):
			how = "P4Info differs"
		}
		same.count(name, how)
	})
	same.report(t)
}
