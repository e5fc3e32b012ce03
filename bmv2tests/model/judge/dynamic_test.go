// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"testing"

	"github.com/pauseless/pauseless/gen"
)

// All built-in profiles whose PFC thresholds can be dynamic.
func TestDynamicThresholds(t *testing.T) {
	cases := count(100, 100_000)
	for _, name := range gen.Names() {
		p := small(t, name+"@dynamic", "v1model")
		if p.Check() != nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, p, "v1model", 1, cases)
		})
	}
}
