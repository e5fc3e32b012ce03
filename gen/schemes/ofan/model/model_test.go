// SPDX-License-Identifier: Apache-2.0

package ofan

import (
	"testing"

	"github.com/pauseless/pauseless/internal/model"
)

func TestEachPathHasItsTurn(t *testing.T) {
	next := int64(3) // path 2
	var took []model.Path
	for range 5 {
		took = append(took, turn(&next, 4, func() model.Path { t.Fatal("draws a path"); return 0 }))
	}
	for i, want := range []model.Path{2, 3, 0, 1, 2} {
		if took[i] != want {
			t.Fatalf("of four paths, takes %v", took)
		}
	}
}
