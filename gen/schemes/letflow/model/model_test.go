// SPDX-License-Identifier: Apache-2.0

package letflow

import (
	"testing"

	"github.com/pauseless/pauseless/internal/model"
)

func TestLetFlowDrawsAfterAGap(t *testing.T) {
	var f model.Flowlet
	for _, c := range []struct {
		now        model.Time
		draw, want model.Path
	}{{0, 3, 3}, {100, 1, 3}, {201, 2, 2}, {301, 0, 2}, {402, 0, 0}} {
		if got := Decide(&f, c.now, 100, func() model.Path { return c.draw }); got != c.want {
			t.Errorf("at %d: path %d, want %d", c.now, got, c.want)
		}
	}
}
