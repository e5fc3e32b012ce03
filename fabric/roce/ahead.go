// SPDX-License-Identifier: Apache-2.0

package roce

import "github.com/pauseless/pauseless/internal/cache"

// Fetch has the processor fetch the host in step 0, and the flow that sends next,
// if it waits, in step 1.
func (h *Host) Fetch(step int) {
	if step == 0 {
		cache.Struct(h)
	} else if n := &h.nic; len(n.waiting) > 0 {
		cache.Struct(n.waiting[0])
	}
}
