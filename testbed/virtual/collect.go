// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// In a run, packets take memory and there is little garbage, but a collection reads all that
// is in use, and displaces it from the processor's cache. Before the next one the heap may
// therefore grow by this for each host, but not by more than mostSpare, besides what is usual.
const (
	hostSpare = 64 << 10 // bytes: some 250 packets
	mostSpare = 1 << 30
)

// leastHeap is the size in bytes up to which the heap grows without a collection: small
// networks have ended by then.
const leastHeap = 48 << 20

// A growth says when this process collects its garbage next.
type growth struct {
	percent uint64 // of what is in use after a collection, by which the heap may grow
	spare   uint64 // bytes besides
}

// starting applies until a network is open: reading files and compiling programs leave little
// in use.
var starting = growth{percent: 400}

// running applies in a network of so many hosts.
func running(hosts int) growth {
	return growth{percent: 100, spare: min(mostSpare, hostSpare*uint64(hosts))}
}

// heapMinimum is the size in bytes of the heap at which Go collects for the first time if the
// percentage is 100.
const heapMinimum = 4 << 20

// of returns the percentage for Go if so many bytes were in use after the last collection, 0
// without one.
func (g growth) of(live uint64) int {
	goal := max(leastHeap, live+live*g.percent/100+g.spare)
	if live == 0 {
		return int(100 * goal / heapMinimum)
	}
	return int(100 * (goal - live) / live)
}

// current is the growth in use, at first Go's.
var current = struct {
	sync.Mutex
	growth
	follows bool // it is applied again after each collection
}{growth: growth{percent: 100}}

// use applies g from now on.
func (g growth) use() {
	current.Lock()
	defer current.Unlock()
	current.growth = g
	if !current.follows {
		current.follows = true
		follow()
	}
	apply()
}

// apply sets the percentage, with current locked. The variable GOGC takes precedence.
func apply() {
	if os.Getenv("GOGC") != "" {
		return
	}
	var gc debug.GCStats
	var live uint64
	if debug.ReadGCStats(&gc); gc.NumGC > 0 {
		live = read("/gc/heap/live:bytes")
	}
	debug.SetGCPercent(current.of(live))
}

// follow applies the growth after each collection, which finds the object without a user.
func follow() {
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) {
		current.Lock()
		defer current.Unlock()
		apply()
		follow()
	})
}

// Begin is called when a command starts that opens a network.
func Begin() {
	enlarge(32 << 20)
	starting.use()
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
		running(hosts).use()
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
