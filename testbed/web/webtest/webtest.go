// SPDX-License-Identifier: Apache-2.0

// Package webtest opens pages in Chromium, for tests. Without Chromium the tests
// are skipped visibly.
package webtest

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/outfile"
)

// A Page is a page open in the browser. Any message on its console fails the test,
// the page's own and the browser's (uncaught exceptions, refused or missing resources).
type Page struct {
	t       testing.TB
	ctx     context.Context
	profile string // the browser's user data folder
	at      atomic.Value
}

// Open starts a browser of the given size in pixels, opens a page, and waits
// for data-ready on its html element. The URL may be a file's path; more are
// options of the browser.
func Open(t testing.TB, url string, width, height int, more ...chromedp.ExecAllocatorOption) *Page {
	t.Helper()
	path := need.Tool(t, "CHROMIUM", "chromium")
	if !strings.Contains(url, "://") {
		abs, err := filepath.Abs(url)
		if err != nil {
			t.Fatal(err)
		}
		url = "file://" + abs
	}
	// Not t.TempDir, whose removal fails if the browser's processes still write.
	profile, err := os.MkdirTemp("", "pauseless-chromium-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(profile) })
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.NoFirstRun, chromedp.DisableGPU,
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("hide-scrollbars", true),
		chromedp.WSURLReadTimeout(2*time.Minute), chromedp.UserDataDir(profile), chromedp.WindowSize(width, height))
	opts = append(opts, more...)
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc,
		// A newer browser sends values that this version of the client cannot decode.
		chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(func() {
		chromedp.Cancel(ctx) // waits until the browser is gone
		cancel()
	})
	p := &Page{t: t, ctx: ctx, profile: profile}
	chromedp.ListenTarget(ctx, func(ev any) {
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("%s threw: %s", p.at.Load(), ev.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			var words []string
			for _, a := range ev.Args {
				words = append(words, cmp.Or(string(a.Value), a.Description, string(a.UnserializableValue)))
			}
			t.Errorf("%s writes to the console (%s): %s", p.at.Load(), ev.Type, strings.Join(words, " "))
		case *log.EventEntryAdded:
			t.Errorf("%s: the browser reports (%s, %s): %s %s", p.at.Load(), ev.Entry.Source, ev.Entry.Level, ev.Entry.Text, ev.Entry.URL)
		}
	})
	if err := chromedp.Run(ctx); err != nil { // starts the browser, which lives as long as ctx
		t.Fatal(err)
	}
	p.Do(emulation.SetDeviceMetricsOverride(int64(width), int64(height), 1, false))
	p.Go(url)
	return p
}

// Go opens another page in the same window, and waits as Open does.
func (p *Page) Go(url string) {
	p.t.Helper()
	p.at.Store(url)
	p.Do(chromedp.Navigate(url), chromedp.WaitReady("html[data-ready]", chromedp.ByQuery))
	Eval[bool](p, `new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))`) // figures are drawn in the frame after the first layout
}

// Do executes actions; an error fails the test.
func (p *Page) Do(actions ...chromedp.Action) {
	p.t.Helper()
	if err := p.run(actions...); err != nil {
		p.t.Fatal(err)
	}
}

// run executes actions. With a page that hangs it fails before the test's own deadline.
func (p *Page) run(actions ...chromedp.Action) error {
	ctx, cancel := context.WithTimeout(p.ctx, 5*time.Minute)
	defer cancel()
	return chromedp.Run(ctx, actions...)
}

// Eval evaluates an expression of JavaScript and awaits a promise.
func Eval[T any](p *Page, expression string) (v T) {
	p.t.Helper()
	if err := p.run(chromedp.Evaluate(expression, &v, func(q *runtime.EvaluateParams) *runtime.EvaluateParams { return q.WithAwaitPromise(true) })); err != nil {
		p.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Until waits up to two minutes until an expression is true.
func (p *Page) Until(expression string) {
	p.t.Helper()
	p.UntilWithin(2*time.Minute, expression)
}

// UntilWithin is Until with another limit.
func (p *Page) UntilWithin(limit time.Duration, expression string) {
	p.t.Helper()
	if err := p.run(chromedp.Poll(expression, nil, chromedp.WithPollingTimeout(limit))); err != nil {
		p.t.Fatalf("waiting for %s: %v", expression, err)
	}
}

// Screenshot writes the window's content to name.png in the folder that the
// environment variable SCREENSHOTS names; without it, nothing.
func (p *Page) Screenshot(name string) {
	p.t.Helper()
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	var png []byte
	p.Do(chromedp.CaptureScreenshot(&png))
	if err := outfile.Write(filepath.Join(dir, name+".png"), png, 0o666); err != nil {
		p.t.Fatal(err)
	}
}

// CPU returns the processor time of the browser's processes so far. Unlike the
// elapsed time it does not depend on the machine's other load.
func (p *Page) CPU() time.Duration {
	p.t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		p.t.Fatal(err)
	}
	// The first process has the folder on its command line; the others are its
	// descendants.
	type process struct {
		parent string
		ticks  int64
	}
	all := make(map[string]process)
	first := ""
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // the process has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		f := strings.Fields(rest)
		if len(f) < 15 {
			continue
		}
		user, _ := strconv.ParseInt(f[11], 10, 64)
		system, _ := strconv.ParseInt(f[12], 10, 64)
		pid := filepath.Base(filepath.Dir(name))
		all[pid] = process{f[1], user + system}
		if line, _ := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline")); strings.Contains(string(line), "--user-data-dir="+p.profile) && !strings.Contains(string(line), "--type=") {
			first = pid
		}
	}
	if first == "" {
		p.t.Fatal("the browser is not among the processes")
	}
	var ticks int64
	for pid, of := range all {
		for at := pid; at != "" && at != "1" && at != "0"; at = all[at].parent {
			if at == first {
				ticks += of.ticks
				break
			}
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond // USER_HZ is 100 on Linux
}
