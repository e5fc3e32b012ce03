// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/pauseless/pauseless/fabric"
)

// progressBar shows the progress of a run in virtual time: a bar that is redrawn
// in place on a terminal, a line at long intervals elsewhere.
type progressBar struct {
	w        io.Writer
	terminal bool
	label    string
	begun    time.Time
	shown    time.Time
	last     fabric.Progress
	drawn    bool
	// What follows is about the run's beginning in virtual time, which is after its
	// network and flows have been made.
	since time.Time
	from  uint64 // hops
}

func newProgressBar(w io.Writer) *progressBar {
	f, ok := w.(*os.File)
	return &progressBar{w: w, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// begin starts a new run.
func (b *progressBar) begin(label string) {
	b.label, b.begun, b.shown, b.last, b.drawn, b.since = label, time.Now(), time.Now(), fabric.Progress{}, false, time.Time{}
	if !b.terminal {
		fmt.Fprintf(b.w, "%s: running\n", label)
	}
}

// How often the bar is redrawn, and a line is written elsewhere.
const (
	redrawEvery = 200 * time.Millisecond
	lineEvery   = 5 * time.Second
	// The first line follows sooner if it says that the run takes longer than a few others.
	firstAfter = time.Second
	longRun    = 4 * lineEvery
)

// update takes note of the run's progress.
func (b *progressBar) update(p fabric.Progress) {
	b.last = p
	if b.since.IsZero() {
		b.since, b.from = time.Now(), p.Hops
	}
	if left, ok := b.left(); time.Since(b.shown) < redrawEvery || !b.terminal && time.Since(b.shown) < lineEvery &&
		(b.drawn || time.Since(b.since) < firstAfter || !ok || left < longRun) {
		return
	}
	b.shown, b.drawn = time.Now(), true
	if b.terminal {
		fmt.Fprintf(b.w, "\r\x1b[K%s", b.text())
	} else {
		fmt.Fprintln(b.w, b.text())
	}
}

const barWidth = 20

func (b *progressBar) text() string {
	p := b.last
	share := 0.0
	if p.Flows > 0 {
		share = float64(p.FlowsDone) / float64(p.Flows)
	}
	n := int(share * barWidth)
	left := "?"
	if d, ok := b.left(); ok {
		left = d.Round(time.Second).String()
	}
	what := ""
	if p.Flows > 0 {
		what = fmt.Sprintf("%d of %d flows, ", p.FlowsDone, p.Flows)
	}
	if p.Ends > 0 {
		what = fmt.Sprintf("%d of %d collectives, %s", p.EndsDone*p.Ops/p.Ends, p.Ops, what)
	}
	return fmt.Sprintf("%s [%s%s] %svirtual time %.2f ms, %s hops/s, %s left", b.label,
		strings.Repeat("#", n), strings.Repeat("-", barWidth-n), what, p.Now.Seconds()*1000, count(b.rate()), left)
}

// left estimates the time until the flows so far have ended, from the packet-hops that
// they need. It returns false before the first ones, and if losses have made more of them.
func (b *progressBar) left() (time.Duration, bool) {
	done := b.last.Hops - b.from
	if done == 0 || b.last.Hops >= b.last.Expected {
		return 0, false
	}
	return time.Duration(float64(time.Since(b.since)) * float64(b.last.Expected-b.last.Hops) / float64(done)), true
}

// rate returns switch traversals per second of wall-clock time.
func (b *progressBar) rate() float64 {
	return float64(b.last.Hops) / max(time.Since(b.begun).Seconds(), 1e-9)
}

// end removes the bar and prints the time that the run took.
func (b *progressBar) end() {
	if b.terminal && b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
	flows := ""
	if b.last.Flows > 0 {
		flows = fmt.Sprintf("%d of %d flows in ", b.last.FlowsDone, b.last.Flows)
	}
	fmt.Fprintf(b.w, "%s: %s%.2f ms of virtual time, %.1f s, %s packet-hops, %s/s\n", b.label,
		flows, b.last.Now.Seconds()*1000, time.Since(b.begun).Seconds(), count(float64(b.last.Hops)), count(b.rate()))
}

// count prints a large number with three digits: "1.23M".
func count(v float64) string {
	switch { // 999.5k would be 1e+03k
	case v >= 999.5e6:
		return fmt.Sprintf("%.3gG", v/1e9)
	case v >= 999.5e3:
		return fmt.Sprintf("%.3gM", v/1e6)
	case v >= 999.5:
		return fmt.Sprintf("%.3gk", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}
