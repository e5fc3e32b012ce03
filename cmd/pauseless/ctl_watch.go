// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/register"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func newCtlWatchCmd(c *ctl) *cobra.Command {
	var every time.Duration
	var times int
	cmd := &cobra.Command{
		Use:   "watch NAME[INDEX]…",
		Short: "Read registers periodically",
		Long: `Read registers at a steady pace. On a terminal the table is redrawn in
place and shows the cells that changed since the last reading; q or Ctrl-C ends it.
Otherwise, or with -o json, each reading is one line of JSON per switch and
register. If a switch does not answer, an error is printed, and reading continues.`,
		Example: `  pauseless ctl --addr :9559 watch egress_qlen --every 1s
  pauseless ctl --topology fabric.yaml watch egress_qlen --every 100ms > queues.jsonl`,
		ValidArgsFunction: c.complete(names(registerNames)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageErrorf(cmd, "give the name of a register; `pauseless ctl registers` lists them")
			}
			if every == 0 {
				return usageErrorf(cmd, "--every must be above 0")
			}
			ranges, err := cellRanges(cmd, args)
			if err != nil {
				return err
			}
			return c.reading(cmd, func(p *printer, f *controlplane.Fabric) error {
				// An unknown name is an error at once: no later reading would find it.
				if _, err := readArrays(cmd.Context(), f, ranges); err != nil {
					return err
				}
				w := &watch{c: c, fabric: f, ranges: ranges, every: every, times: times}
				if out, ok := cmd.OutOrStdout().(*os.File); ok && !p.json && term.IsTerminal(int(out.Fd())) {
					return w.onTerminal(cmd.Context(), cmd.InOrStdin(), out)
				}
				return w.asLines(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
			})
		},
	}
	cmd.Flags().DurationVar(&every, "every", time.Second, "time between readings")
	cmd.Flags().IntVar(&times, "times", 0, "stop after this many readings (default: never)")
	return cmd
}

// watch reads registers at a steady pace.
type watch struct {
	c      *ctl
	fabric *controlplane.Fabric
	ranges []cellRange
	every  time.Duration
	times  int

	// On a terminal:
	readings    int
	before, now reading
}

// asLines writes each reading as JSON, until ctx is done.
func (w *watch) asLines(ctx context.Context, out, errs io.Writer) error {
	p := newPrinter(out, true)
	tick := time.NewTicker(w.every)
	defer tick.Stop()
	for n := 0; w.times == 0 || n < w.times; n++ {
		if n > 0 {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
		now := time.Now()
		arrays, err := readArrays(ctx, w.fabric, w.ranges)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			fmt.Fprintf(errs, "pauseless: %v; reading again in %v\n", err, w.every)
		}
		for _, s := range w.fabric.Sessions() {
			for i, a := range arrays[s.Name()] {
				if err := w.c.printArray(p, s.Name(), a, w.ranges[i], true, now.UTC().Format("2006-01-02T15:04:05.000Z")); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// onTerminal redraws a table in place.
func (w *watch) onTerminal(ctx context.Context, in io.Reader, out *os.File) error {
	_, err := tea.NewProgram(w, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out)).Run()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// reading is the result of one reading, as a message of the terminal program.
type reading struct {
	arrays map[string][]register.Array
	err    error
	at     time.Time
}

// Init implements tea.Model.
func (w *watch) Init() tea.Cmd { return func() tea.Msg { return w.read() } }

func (w *watch) read() tea.Msg {
	arrays, err := readArrays(context.Background(), w.fabric, w.ranges)
	return reading{arrays, err, time.Now()}
}

// Update implements tea.Model.
func (w *watch) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	switch m := m.(type) {
	case tea.KeyMsg:
		if k := m.String(); k == "q" || k == "ctrl+c" || k == "esc" {
			return w, tea.Quit
		}
	case reading:
		w.before, w.now = w.now, m
		if w.readings++; w.readings == w.times {
			return w, tea.Quit
		}
		return w, tea.Tick(w.every, func(time.Time) tea.Msg { return w.read() })
	}
	return w, nil
}

// View implements tea.Model.
func (w *watch) View() string {
	if w.readings == 0 {
		return "reading…\n"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  every %v  (q ends)\n", w.now.at.Format("15:04:05.0"), w.every)
	if w.now.err != nil {
		fmt.Fprintf(&b, "%v; reading again in %v\n", w.now.err, w.every)
	}
	for _, s := range w.fabric.Sessions() {
		for i, a := range w.now.arrays[s.Name()] {
			w.c.printArray(newPrinter(&b, false), s.Name(), a, w.ranges[i], false, nil)
			if before := w.before.arrays[s.Name()]; i < len(before) {
				fmt.Fprintf(&b, "  %d of %d cells changed\n", changed(before[i].Values, a.Values), len(a.Values))
			}
		}
	}
	return b.String()
}

// changed counts the cells that differ.
func changed(a, b []uint64) (n int) {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}
