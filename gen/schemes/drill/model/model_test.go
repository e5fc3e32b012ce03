// SPDX-License-Identifier: Apache-2.0

package drill

import (
	"testing"

	"github.com/pauseless/pauseless/internal/model"
)

func TestDRILLRemembersTheShortest(t *testing.T) {
	queues := []model.Bytes{50, 20, 20, 90}
	q := func(p model.Path) model.Bytes { return queues[p] }
	best := 3
	for _, c := range []struct{ s1, s2, best model.Path }{
		{0, 1, 1},
		{2, 0, 1}, // as short as the remembered one
		{0, 3, 1},
	} {
		if best = Shortest([]model.Path{best, c.s1, c.s2}, q); best != c.best {
			t.Errorf("samples %d, %d: %d, want %d", c.s1, c.s2, best, c.best)
		}
	}
}
