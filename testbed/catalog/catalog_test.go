// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"slices"
	"testing"
)

// A figure comes before its variants, and figure 3 before figure 10.
func TestNamesAreInOrder(t *testing.T) {
	names, last := Names(), -1
	for _, name := range []string{"clb-fig4", "clb-fig10", "clb-fig10-growth", "pbfs-fig5", "rlb-fig3", "rlb-fig3-all-paths", "rlb-fig4a", "rlb-fig4a-unthrottled", "rlb-fig4b", "rlb-fig10"} {
		i := slices.Index(names, name)
		if i <= last {
			t.Errorf("%s is number %d, and the one before it number %d", name, i, last)
		}
		last = i
	}
}
