// SPDX-License-Identifier: Apache-2.0

package need

import "time"

// Patience is how long Poll waits.
const Patience = 2 * time.Minute

// Poll asks every 2 ms whether ok, and returns true as soon as it is. After Patience it
// returns false. It is for what other processes do, and in a synctest bubble its time is
// that of the bubble. Other waits need no polls: see testing/synctest, and channels.
func Poll(ok func() bool) bool {
	for end := time.Now().Add(Patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}
