// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/pauseless/pauseless/testbed/web/webtest"
)

// The page in a browser: figures are drawn, values are those of the results, a
// series is switched off in all figures, zooms are synchronised, and saved SVG
// is well formed.
func TestReportInTheBrowser(t *testing.T) {
	page := write(t, "demo", run("drill", 1, 3), run("drill", 2, 4), run("rlb-drill", 1, 2), run("rlb-drill", 2, 3), run("a<b>&c", 1, 5))
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
	p := webtest.Open(t, file, 1200, 1000)
	// 3 charts of curves, 3 arms of queues and pauses, 3 maps.
	if got := webtest.Eval[int](p, "document.querySelectorAll('.chart canvas').length"); got != 12 {
		t.Errorf("%d figures", got)
	}
	// The arrow key moves to the last value of the distribution: all flows.
	p.Do(chromedp.Focus(".plot", chromedp.ByQuery), chromedp.KeyEvent(strings.Repeat(kb.ArrowRight, 210)))
	for i, want := range []string{"100 %", "100 %"} {
		got := webtest.Eval[string](p, fmt.Sprintf("document.querySelectorAll('.chart')[0].querySelectorAll('.value')[%d].textContent", i))
		if !strings.Contains(got, want) {
			t.Errorf("the distribution of arm %d ends at %q", i, got)
		}
	}
	// The slowdown of run(…, 3) is 3, of run(…, 4) 4; their mean is 3.5.
	p.Do(chromedp.ScrollIntoView(`[data-number="1"] .plot`, chromedp.ByQuery), chromedp.Focus(`[data-number="1"] .plot`, chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowRight))
	if got := webtest.Eval[string](p, `document.querySelector('[data-number="1"] .value').textContent`); got != " 3.5 (3 to 4)" {
		t.Errorf("the slowdown is %q", got)
	}
	// A click on one arm's button hides the arm in all figures.
	p.Do(chromedp.Click(`[data-number="1"] button.series`, chromedp.ByQuery))
	if got := webtest.Eval[int](p, `[...document.querySelectorAll('[data-figure=curves] button.series[aria-pressed=false]')].length`); got != 3 {
		t.Errorf("drill is off in %d figures, want 3", got)
	}
	// Plus zooms the time lines of all arms.
	before := webtest.Eval[string](p, axes)
	p.Do(chromedp.ScrollIntoView(`[data-figure=runs] .plot`, chromedp.ByQuery), chromedp.Focus(`[data-figure=runs] .plot`, chromedp.ByQuery), chromedp.KeyEvent(strings.Repeat(kb.ArrowRight, 50)+"+"))
	if after := webtest.Eval[string](p, axes); after == before {
		t.Error("a zoom changed nothing")
	}
	// The saved pictures are SVG with text.
	webtest.Eval[any](p, `window.saved = []; URL.createObjectURL = b => { saved.push(b); return '#'; }; HTMLAnchorElement.prototype.click = () => {}; for (const b of document.querySelectorAll('.tools button')) b.click();`)
	p.Until("saved.length === 12")
	texts := webtest.Eval[[]string](p, "Promise.all(saved.map(b => b.text()))")
	for i, text := range texts {
		dec := xml.NewDecoder(strings.NewReader(text))
		words, shapes := 0, 0
		for {
			tok, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("picture %d is not well formed: %v\n%s", i, err, text)
			}
			if s, ok := tok.(xml.StartElement); ok {
				switch s.Name.Local {
				case "text":
					words++
				case "path":
					shapes++
					for _, a := range s.Attr {
						if a.Name.Local == "d" && !strings.HasPrefix(a.Value, "M") {
							t.Errorf("picture %d has a path that begins nowhere: %.40s", i, a.Value)
						}
					}
				}
			}
		}
		if words < 3 || shapes < 3 {
			t.Errorf("picture %d has %d texts and %d shapes", i, words, shapes)
		}
	}
	// On a phone, in the dark theme: nothing is wider than the screen but
	// tables, which scroll.
	p.Do(emulation.SetDeviceMetricsOverride(360, 700, 1, false), chromedp.Click("#theme", chromedp.ByQuery))
	p.Until("document.documentElement.dataset.theme === 'dark' && document.querySelector('.chart').clientWidth < 360")
	p.Until("document.documentElement.scrollWidth <= 360") // once all has been laid out anew
	// Printed figures are SVG.
	webtest.Eval[any](p, "dispatchEvent(new Event('beforeprint'))")
	if got := webtest.Eval[int](p, "document.querySelectorAll('.paper svg').length"); got != 12 {
		t.Errorf("%d figures on paper", got)
	}
	webtest.Eval[any](p, "dispatchEvent(new Event('afterprint'))")
}

// axes returns the widths and pixels of the time lines, which a zoom changes.
const axes = `[...document.querySelectorAll('[data-figure=runs] .u-over')].map(o => o.getBoundingClientRect().width).join() + [...document.querySelectorAll('[data-figure=runs] canvas')].map(c => c.toDataURL()).join()`
