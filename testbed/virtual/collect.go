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

// startPercent is the percentage by which the heap may grow between collections until a
// network is open: reading files and compiling programs leave little in use.
const startPercent = 400

// Begin is called when a command starts that opens a network.
func Begin() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(startPercent)
	}
}

// gcPercent returns the percentage by which the heap may grow between collections in a
// network of so many hosts, if so many bytes were in use after the last one.
func gcPercent(live uint64, hosts int) int {
	return 100 + int(100*min(mostSpare, hostSpare*uint64(hosts))/max(live, 1<<20))
}

// manyHosts is the number of hosts from which on a network's start leaves so much garbage
// that it is worth a collection.
const manyHosts = 1024

// The heap of a large network is in huge pages for so many bytes per host, most of what it
// takes, but not for more than mostHuge.
const (
	hugePerHost = 128 << 10
	mostHuge    = 1 << 30
)

// Ready is called when the first flows have been added. It collects the garbage that the
// start of a large network has left, so that packets take its memory, and a collection
// during the run is unlikely.
func (l *Lab) Ready() {
	if hosts := len(l.cfg.Topology.Hosts()); hosts >= manyHosts && os.Getenv("GOGC") == "" {
		runtime.GC()
		collectLess(hosts)
	}
}

// What is made of the results takes flowBytes for each flow. From a share of the heap on,
// 1/mostShare, that is worth a collection.
const (
	flowBytes = 400
	mostShare = 20
)

// Over is called when the run has ended and the fabric's results are gathered. If there are
// many flows, what is made of them takes the memory of frames that are no longer needed.
func (l *Lab) Over() {
	if os.Getenv("GOGC") == "" && worthTrimming(len(l.cfg.Topology.Hosts()), l.Fabric.Flows(), read("/memory/classes/heap/objects:bytes")) {
		l.Fabric.Trim()
		runtime.GC()
	}
}

// worthTrimming reports whether a network of so many hosts and flows should collect its
// garbage at its end, if so many bytes are in use.
func worthTrimming(hosts, flows int, used uint64) bool {
	return hosts >= manyHosts && uint64(flows)*flowBytes > used/mostShare
}

// read returns one of the runtime's metrics.
func read(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// collectLess sets when this process collects its garbage next. The variable GOGC takes
// precedence.
func collectLess(hosts int) {
	if os.Getenv("GOGC") != "" {
		return
	}
	if read("/gc/cycles/total:gc-cycles") == 0 {
		runtime.GC() // or it is unknown what is in use
	}
	debug.SetGCPercent(gcPercent(read("/gc/heap/live:bytes"), hosts))
}
