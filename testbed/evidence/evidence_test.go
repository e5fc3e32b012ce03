// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/golden"
)

const checkout = "../.."

// The documents of the repository are those that `pauseless exp docs` writes.
func TestDocumentsSayWhatOutcomesShow(t *testing.T) {
	files, err := Documents(checkout)
	if err != nil {
		t.Error(err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		golden.Check(t, filepath.Join(checkout, name), files[name])
	}
}

// The example of section 3.2 of Benjamini and Hochberg's paper (1995), and one in which only
// the last limit is met, with which the procedure retains all.
func TestFalseDiscoveries(t *testing.T) {
	for _, c := range []struct {
		p    []float64
		want int
	}{
		{[]float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1}, 4},
		{[]float64{0.04, 0.045, 0.05}, 3},
		{[]float64{0.04, 0.045, 0.051}, 0},
		{nil, 0},
	} {
		if n := retained(c.p); n != c.want {
			t.Errorf("%v: %d are retained, want %d", c.p, n, c.want)
		}
	}
}
