// SPDX-License-Identifier: Apache-2.0

// Package hpcc reads and writes the text formats of the HPCC simulator and its
// descendants, such as ConWeave's: it reads topologies, flows and configurations,
// and writes flow completion times and PFC events. So their experiments run here,
// and their scripts read the results.
package hpcc

import (
	"math"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/vtime"
)

// code is the code of this package's diagnostics.
const code diag.Code = "hpcc-format"

// reader reads words of a text, separated by white space; line breaks have no
// meaning in these formats. After the first error all words are empty and all
// numbers zero.
type reader struct {
	name *string
	rest string
	line int32
	col  int32
	at   diag.Pos // of the last word
	list diag.List
}

func open(name string) (*reader, error) {
	data, err := infile.ReadLines(name)
	if err != nil {
		return nil, err
	}
	return newReader(name, string(data)), nil
}

func newReader(name, text string) *reader {
	return &reader{name: &name, rest: text, line: 1, col: 1}
}

func (r *reader) errorf(pos diag.Pos, format string, args ...any) {
	if len(r.list) == 0 {
		r.list.Errorf(pos, code, format, args...)
	}
}

func (r *reader) err() error { return r.list.Err() }

func (r *reader) failed() bool { return len(r.list) > 0 }

// skip drops white space and reports whether text is left.
func (r *reader) skip() bool {
	for i := 0; i < len(r.rest); i++ {
		switch r.rest[i] {
		case '\n':
			r.line++
			r.col = 1
		case ' ', '\t', '\r':
			r.col++
		default:
			r.rest = r.rest[i:]
			return true
		}
	}
	r.rest = ""
	return false
}

// word returns the next word; what describes it in errors.
func (r *reader) word(what string) string {
	if r.failed() {
		return ""
	}
	more := r.skip()
	r.at = diag.MakePos(r.name, r.line, r.col)
	if !more {
		r.errorf(r.at, "the file ends before %s", what)
		return ""
	}
	n := strings.IndexAny(r.rest, " \t\r\n")
	if n < 0 {
		n = len(r.rest)
	}
	w := r.rest[:n]
	r.rest = r.rest[n:]
	r.col += int32(n)
	return w
}

// int returns the next number, which must be from low to high.
func (r *reader) int(what string, low, high int64) int64 {
	w := r.word(what)
	if r.failed() {
		return 0
	}
	v, err := strconv.ParseInt(w, 10, 64)
	if err != nil || v < low || v > high {
		r.errorf(r.at, "%s is %q, must be a whole number from %d to %d", what, w, low, high)
		return 0
	}
	return v
}

// float returns the next number, which must be from low to high.
func (r *reader) float(what string, low, high float64) float64 {
	w := r.word(what)
	if r.failed() {
		return 0
	}
	v, err := strconv.ParseFloat(w, 64)
	if err != nil || math.IsNaN(v) || v < low || v > high {
		r.errorf(r.at, "%s is %q, must be a number from %g to %g", what, w, low, high)
		return 0
	}
	return v
}

// rate returns the next word as a rate in ns-3's formats: "40Gbps", "100Mb/s" or a
// number of bits per second.
func (r *reader) rate(what string) vtime.Rate {
	w := r.word(what)
	if r.failed() {
		return 0
	}
	v, err := parseRate(w)
	if err != nil || v <= 0 {
		r.errorf(r.at, "%s is %q, must be a rate such as 40Gbps", what, w)
	}
	return v
}

func parseRate(w string) (vtime.Rate, error) {
	if v, err := strconv.ParseInt(w, 10, 64); err == nil {
		return vtime.Rate(v), nil
	}
	return vtime.ParseRate(w)
}

// time returns the next word as a time in ns-3's formats: "5000ns", "0.001ms" or a
// number of seconds.
func (r *reader) time(what string) vtime.Time {
	w := r.word(what)
	if r.failed() {
		return 0
	}
	if v, err := strconv.ParseFloat(w, 64); err == nil && v >= 0 && v < 1e6 {
		return seconds(v)
	}
	v, err := vtime.ParseTime(w)
	if err != nil || v < 0 {
		r.errorf(r.at, "%s is %q, must be a time such as 1000ns", what, w)
	}
	return v
}

// seconds converts seconds to a time, rounded to a picosecond.
func seconds(s float64) vtime.Time {
	return vtime.Time(math.Round(s * float64(vtime.Second)))
}

// KindOf says what a file of a simulator looks like: "config", "topology" or "flows";
// empty if it does not.
func KindOf(name string) string {
	data, err := infile.Read(name)
	if err != nil {
		return ""
	}
	words := strings.Fields(string(data[:min(len(data), 1<<12)]))
	if len(words) == 0 {
		return ""
	}
	if _, ok := settings[words[0]]; ok {
		return "config"
	}
	numbers := 0
	for _, w := range words[:min(len(words), 3)] {
		if _, err := strconv.Atoi(w); err == nil {
			numbers++
		}
	}
	first, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	switch {
	case numbers < min(len(words), 3):
		return ""
	case len(strings.Fields(first)) == 3:
		return "topology"
	case len(strings.Fields(first)) == 1:
		return "flows"
	}
	return ""
}
