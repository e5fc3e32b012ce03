// SPDX-License-Identifier: Apache-2.0

package presto

import (
	"testing"

	"github.com/pauseless/pauseless/internal/model"
)

func TestPrestoStartsAFlowcellEvery64KB(t *testing.T) {
	f := Flowcell{}
	var paths []model.Path
	for range 132 {
		paths = append(paths, f.Packet(1000, 64<<10, 2, 3))
	}
	// 65 packets of 1000 bytes are the most that fit into 65,536.
	for i, p := range paths {
		if want := (2 + i/65) % 3; p != want {
			t.Fatalf("packet %d on path %d, want %d", i, p, want)
		}
	}
}
