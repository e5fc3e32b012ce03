// SPDX-License-Identifier: Apache-2.0

package program_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/program"
)

// The networks of p4-learning and p4-utils have their programs and entries, as the files name
// them. Exercises that are not solved may have none yet. PUBLIC_P4 lists checkouts.
func TestPublicNetworksHaveTheirPrograms(t *testing.T) {
	roots := filepath.SplitList(os.Getenv("PUBLIC_P4"))
	if len(roots) == 0 {
		need.No(t, errors.New("PUBLIC_P4 does not list checkouts of nsg-ethz/p4-utils or nsg-ethz/p4-learning"))
	}
	built, unsolved := 0, 0
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), "p4app") || filepath.Ext(path) != ".json" {
				return err
			}
			net, err := topo.Read(path)
			if err != nil {
				return nil // TestPublicNetworksForMininet judges it
			}
			_, err = new(program.Spec).Build(net.Addressed(), program.Files{Resolve: func(name string) string { return name }, Read: infile.Read})
			lacks := []string{"standard_metadata_t", "qid"} // v1model.p4 with fields that its readme adds
			switch {
			case err == nil:
				built++
			case slices.ContainsFunc(lacks, func(s string) bool { return strings.Contains(err.Error(), s) }):
				t.Log(err)
			case strings.Contains(path, "exercises") && !strings.Contains(path, "solution"):
				unsolved++
			default:
				t.Errorf("%s: %v", path, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d networks have programs and entries, %d exercises are not solved", built, unsolved)
	if built == 0 {
		t.Error("no network was built")
	}
}
