// SPDX-License-Identifier: Apache-2.0

package p4c

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/need"
)

// The output of version 1.2.5.16, and the diagnostics read from it.
func TestParseDiagnostics(t *testing.T) {
	const text = `wrong.p4(3): [--Werror=not-found] error: twoo: declaration not found
const bit<8> a = twoo;
                 ^^^^
wrong.p4(2): [--Wwarn=unused] warning: 'two' is unused
const bit<8> two = 2;
             ^^^
/usr/share/p4c/p4include/v1model.p4(751): [--Werror=type-error] error: 'package V1Switch'
package V1Switch<H, M>(Parser<H, M> p,
        ^^^^^^^^
  ---- Actual error:
  /usr/share/p4c/p4include/v1model.p4(752): vr: No argument supplied for parameter
                         VerifyChecksum<H, M> vr,
                                              ^^
  ---- Originating from:
  wrong.p4(4): Constructor invocation '<Method call>' does not match declaration 'V1Switch'
  V1Switch() main;
             ^^^^
a b.p4(7):syntax error, unexpected ;
x = ;
    ^
error: Could not open p4runtime file
[--Wwarn=mismatch] warning: no line
some chatter
`
	const want = `wrong.p4:3:18: twoo: declaration not found [p4c-not-found]
wrong.p4:2:14: warning: 'two' is unused [p4c-unused]
/usr/share/p4c/p4include/v1model.p4:751:9: 'package V1Switch': vr: No argument supplied for parameter [p4c-type-error]
a b.p4:7:5: syntax error, unexpected ; [p4c]
-: Could not open p4runtime file [p4c]
-: warning: no line [p4c-mismatch]`
	if got := ParseDiagnostics(text).Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestFind(t *testing.T) {
	t.Setenv(Variable, filepath.Join(t.TempDir(), "none"))
	if _, err := Find(); err == nil || !strings.Contains(err.Error(), Variable) {
		t.Errorf("a file that is not there: %v", err)
	}
	t.Setenv(Variable, "")
	t.Setenv("PATH", t.TempDir())
	if _, err := Find(); err == nil || !strings.Contains(err.Error(), "not on PATH") {
		t.Errorf("nothing on PATH: %v", err)
	}
}

// The real p4c-bm2-ss gives both outputs, and errors in our form.
func TestCompile(t *testing.T) {
	_, err := Find()
	need.No(t, err)
	r, err := Compile(t.Context(), Options{File: "../../p4src/v1model/ecmp.p4"})
	if err != nil || r.List.HasErrors() || len(r.JSON) == 0 || len(r.P4Info.GetTables()) == 0 {
		t.Errorf("%v %v", err, r)
	}
	file := filepath.Join(t.TempDir(), "wrong.p4")
	if err := os.WriteFile(file, []byte("const bit<8> a = b;\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err = Compile(t.Context(), Options{File: file})
	if want := file + ":1:18: b: declaration not found [p4c-not-found]"; err != nil || r.List.Error() != want || r.JSON != nil {
		t.Errorf("got %v, %v, want %s", r.List, err, want)
	}
}
