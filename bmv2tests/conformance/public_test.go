// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/compiler/p4c"
	"github.com/pauseless/pauseless/internal/need"
)

// saiP4 are the instantiations of SAI P4 in a checkout of sonic-net/sonic-pins:
// the largest public v1model programs.
var saiP4 = []string{"middleblock.p4", "tor.p4", "wbb.p4", "fabric_border_router.p4"}

var isProgram = regexp.MustCompile(`(?m)^\s*V1Switch\s*\(|^V1Switch\b`)

// The v1model programs of public repositories that p4c accepts compile here, with
// the same P4Info. PUBLIC_P4 lists checkouts with the separator of PATH:
// p4lang/tutorials, nsg-ethz/p4-learning, omec-project/up4 and
// sonic-net/sonic-pins.
func TestPublicPrograms(t *testing.T) {
	roots := filepath.SplitList(os.Getenv("PUBLIC_P4"))
	if len(roots) == 0 {
		need.No(t, errors.New("PUBLIC_P4 does not list checkouts of p4lang/tutorials, nsg-ethz/p4-learning, omec-project/up4 or sonic-net/sonic-pins"))
	}
	var files []string
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".p4" {
				return err
			}
			text, err := os.ReadFile(path)
			if isProgram.Match(text) {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	reference := found(t, "p4c-bm2-ss", p4c.Find)
	var compiled, accepted, same atomic.Int64 // here, by p4c, and of these with the same P4Info
	each(files, func(file string) {
		include := []string{filepath.Dir(file)}
		r, list := compiler.Compile(compiler.Options{File: file, Include: include})
		how := firstError(list)
		if how == "" {
			compiled.Add(1)
		}
		sai := strings.Contains(filepath.ToSlash(file), "/sai_p4/instantiations/") && slices.Contains(saiP4, filepath.Base(file))
		switch {
		case reference:
			want, err := p4c.Compile(context.Background(), p4c.Options{File: file, Include: include})
			if err != nil {
				t.Error(err)
				return
			}
			if want.List.HasErrors() {
				return
			}
			accepted.Add(1)
			if how == "" {
				how = difference(want.P4Info, r.P4Info)
			}
			if how == "" {
				same.Add(1)
			}
		case !sai:
			// It is not known whether p4c would accept it.
			if how != "" {
				t.Logf("%s: %s", file, how)
			}
			how = ""
		}
		if how != "" {
			t.Errorf("%s: %s", file, how)
		}
	})
	t.Logf("%d of %d programs compile", compiled.Load(), len(files))
	if reference {
		t.Logf("of %d that p4c-bm2-ss accepts, %d compile here with the same P4Info", accepted.Load(), same.Load())
	}
	if compiled.Load() == 0 || reference && accepted.Load() == 0 {
		t.Error("no program was judged")
	}
}
