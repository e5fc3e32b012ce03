// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// In a run, packets take memory and there is little garbage, but a collection reads all that
// is in use, and displaces it from the processor's cache. Before the next one the heap may
// therefore grow by this for each host, but not by more than mostSpare, besides what is usual.
const (
	hostSpare = 64 << 10 // bytes: some 250 packets
	mostSpare = 1 << 30
)

// gcPercent returns the percentage by which the heap may grow between collections in a
// network of so many hosts, if so many bytes were in use after the last one.
func gcPercent(live uint64, hosts int) int {
	return 100 + int(100*min(mostSpare, hostSpare*uint64(hosts))/max(live, 1<<20))
}

// manyHosts is the number of hosts from which on a network's start leaves so much garbage
// that it is worth a collection.
const manyHosts = 1024

// Ready is called when the first flows have been added. It collects the garbage that the
// start of a large network has left, so that packets take its memory, and a collection
// during the run is unlikely.
func (l *Lab) Ready() {
	if hosts := len(l.cfg.Topology.Hosts()); hosts >= manyHosts && os.Getenv("GOGC") == "" {
		runtime.GC()
		collectLess(hosts)
	}
}

// collectLess sets when this process collects its garbage next. The variable GOGC takes
// precedence.
func collectLess(hosts int) {
	if os.Getenv("GOGC") != "" {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(gcPercent(live[0].Value.Uint64(), hosts))
}
