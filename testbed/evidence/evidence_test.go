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
