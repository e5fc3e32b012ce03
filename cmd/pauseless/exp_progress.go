// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/pauseless/pauseless/testbed/exp"
)

// stuckError reports that runs did not finish; the program exits with 3.
type stuckError struct{ msg string }

func (e stuckError) Error() string { return e.msg }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// expBar prints the progress of an experiment: a line for every run that is over
// and, on a terminal, a line at the bottom with the runs that are being executed.
type expBar struct {
	w        io.Writer
	terminal bool
	shown    time.Time
	kept     int // runs in the store
	over     int
	left     exp.Estimate
	all      exp.Estimate // including the experiments after this one
	total    int
	going    map[exp.Job]exp.Event
	drawn    bool
	more     bool // experiments come after this
}

func newExpBar(w io.Writer) *expBar {
	f, ok := w.(*os.File)
	return &expBar{w: w, terminal: ok && term.IsTerminal(int(f.Fd())), shown: time.Now(), going: make(map[exp.Job]exp.Event)}
}

// event takes note of an event, and prints it.
func (b *expBar) event(e exp.Event) {
	b.total, b.left, b.all = e.Total, e.Left, e.All
	line := ""
	switch e.Kind {
	case exp.Started, exp.Progressing:
		b.going[e.Job] = e
	case exp.Cached:
		b.kept++
		b.over++
	case exp.Finished:
		b.kept++
		b.over++
		line = fmt.Sprintf("run %d of %d: %s: %.1f s", e.Index, e.Total, e.Name, e.Took.Seconds())
		if n := e.Note; len(n.Stuck) > 0 {
			line += fmt.Sprintf("; %d flows cannot proceed: %s", len(n.Stuck), n.Stuck[0].String())
		}
		delete(b.going, e.Job)
	case exp.RunFailed:
		b.over++
		text, _, _ := strings.Cut(e.Err.Error(), "\n")
		line = fmt.Sprintf("run %d of %d: %s: failed: %s", e.Index, e.Total, e.Name, text)
		delete(b.going, e.Job)
	case exp.Waiting:
		line = fmt.Sprintf("run %d of %d: %s: another process executes it; waiting for its result", e.Index, e.Total, e.Name)
	case exp.SeedsAdded:
		line = fmt.Sprintf("claims are not precise enough yet: now %d runs", e.Total)
	}
	if line != "" {
		b.clear()
		fmt.Fprintln(b.w, line)
	}
	every := redrawEvery
	if !b.terminal {
		every = 10 * time.Second
	}
	if e.Kind == exp.Progressing && time.Since(b.shown) >= every || line != "" && b.terminal {
		b.draw()
	}
}

// draw prints the runs that are being executed.
func (b *expBar) draw() {
	b.shown = time.Now()
	var names []string
	for _, e := range b.going {
		share := ""
		if e.At.Flows > 0 {
			share = fmt.Sprintf(" %.2f ms, %d of %d flows", e.At.Now.Seconds()*1000, e.At.FlowsDone, e.At.Flows)
		}
		names = append(names, e.Name+share)
	}
	slices.Sort(names)
	left := ""
	if text := b.left.String(); b.over > 0 && text != "" {
		left = fmt.Sprintf(", %s to go", text)
		if all := b.all.String(); all != "" && b.more {
			left += fmt.Sprintf(" (%s for all)", all)
		}
	}
	text := fmt.Sprintf("%d of %d runs are done%s; running: %s", b.over, b.total, left, strings.Join(names, "; "))
	if !b.terminal {
		fmt.Fprintln(b.w, text)
		return
	}
	if width, _, err := term.GetSize(int(b.w.(*os.File).Fd())); err == nil && len(text) >= width {
		text = text[:max(width-1, 0)]
	}
	fmt.Fprintf(b.w, "\r\x1b[K%s", text)
	b.drawn = true
}

func (b *expBar) clear() {
	if b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
		b.drawn = false
	}
}

// interrupt prints a line in place of a bar on the same terminal.
func (b *expBar) interrupt(line string) {
	if b.terminal {
		line = "\r\x1b[K" + line
	}
	fmt.Fprintln(b.w, line)
}

// end removes the bar.
func (b *expBar) end() { b.clear() }
