// SPDX-License-Identifier: Apache-2.0

package need

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Work returns the CPU time that do takes in its own goroutine. Unlike the time until it
// returns, it does not grow with what else the machine does.
func Work(do func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	used := func() time.Duration {
		var r unix.Rusage
		if unix.Getrusage(unix.RUSAGE_THREAD, &r) != nil {
			return 0
		}
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	begun := used()
	do()
	return used() - begun
}
