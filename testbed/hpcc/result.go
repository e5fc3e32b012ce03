// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/vtime"
)

// FCT is a line of an FCT file.
type FCT struct {
	Src, Dst         int // nodes
	SrcPort, DstPort int
	Bytes            int64
	Start            vtime.Time
	FCT              vtime.Time
	Standalone       vtime.Time // the simulator's FCT in an empty network
}

// Slowdown returns FCT divided by Standalone, at least one, as in the simulator's
// scripts.
func (f *FCT) Slowdown() float64 { return max(1, float64(f.FCT)/float64(f.Standalone)) }

// ParseFCT reads the text of an FCT file of a simulator or of WriteFCT. The name is
// for errors, which are diag.Lists.
func ParseFCT(name, text string) ([]FCT, Dialect, error) { return newReader(name, text).fcts() }

func (r *reader) fcts() ([]FCT, Dialect, error) {
	var fcts []FCT
	dialect := ConWeave
	for r.skip() {
		var f FCT
		f.Src = r.node("the source", &dialect)
		f.Dst = r.node("the destination", &dialect)
		f.SrcPort = int(r.int("the source port", 0, 65535))
		f.DstPort = int(r.int("the destination port", 0, 65535))
		f.Bytes = r.int("the size in bytes", 1, 1<<42)
		f.Start = r.nanoseconds("the start")
		f.FCT = r.nanoseconds("the FCT")
		f.Standalone = r.nanoseconds("the standalone FCT")
		if f.Standalone == 0 {
			r.errorf(r.at, "the standalone FCT is zero")
		}
		if r.failed() {
			return nil, dialect, r.err()
		}
		fcts = append(fcts, f)
	}
	return fcts, dialect, nil
}

func (r *reader) nanoseconds(what string) vtime.Time {
	return vtime.Time(r.int(what+" in nanoseconds", 0, int64(vtime.Never/vtime.Nanosecond))) * vtime.Nanosecond
}

// node returns the next word as a node: HPCC's address of eight hexadecimal digits,
// or ConWeave's number.
func (r *reader) node(what string, d *Dialect) int {
	w := r.word(what)
	if r.failed() {
		return 0
	}
	if len(w) == 8 && strings.HasPrefix(w, "0b") {
		*d = HPCC
		a, err := strconv.ParseUint(w, 16, 32)
		if node := int(a-0x0b000001)>>16*256 + int(a>>8&0xff); err == nil && uint64(address(node)) == a {
			return node
		}
		r.errorf(r.at, "%s is %q, which is not the address of a node", what, w)
		return 0
	}
	v, err := strconv.Atoi(w)
	if err != nil || v < 0 || v > maxNodes {
		r.errorf(r.at, "%s is %q, must be a node's number or address", what, w)
	}
	return v
}

// PFC is a line of a PFC file.
type PFC struct {
	At         vtime.Time
	Node, Port int
	Switch     bool // the node is a switch, not a host
	Pause      bool // PAUSE, not RESUME
}

// ParsePFC reads the text of a PFC file of a simulator or of WritePFC. The name is
// for errors, which are diag.Lists.
func ParsePFC(name, text string) ([]PFC, error) { return newReader(name, text).pfcs() }

func (r *reader) pfcs() ([]PFC, error) {
	var events []PFC
	for r.skip() {
		e := PFC{
			At: r.nanoseconds("the time"), Node: int(r.int("the node", 0, maxNodes)),
			Switch: r.int("the node's kind", 0, 1) == 1, Port: int(r.int("the port", 0, 1<<16)),
			Pause: r.int("PAUSE or RESUME", 0, 1) == 1,
		}
		if r.failed() {
			return nil, r.err()
		}
		events = append(events, e)
	}
	return events, nil
}
