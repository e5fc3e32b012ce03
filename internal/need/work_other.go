// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package need

import "time"

// Work calls do. The CPU time of a thread is not known on this system: it returns zero.
func Work(do func()) time.Duration {
	do()
	return 0
}
