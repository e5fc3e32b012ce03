// SPDX-License-Identifier: Apache-2.0

package playground

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/web/webtest"
)

const small = `
name: small
network: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}}
profiles: [drill, rlb-drill]
traffic:
- burst: {from: h1, to: h3, flows: 4, size: 64KB, times: 1, interval: 1ms}
until: 20ms
`

func natively(t *testing.T, text string) string {
	t.Helper()
	s, err := scenario.Parse("scenario.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	runs, err := s.Run(context.Background(), scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := result.WriteJSON(&b, runs); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func quiet(string, fabric.Progress) {}

func TestRunHasTheScenariosResults(t *testing.T) {
	out := Run(context.Background(), small, nil, quiet)
	if len(out.Problems) > 0 {
		t.Fatal(out.Problems)
	}
	if out.Results != natively(t, small) {
		t.Error("results differ")
	}
	if !strings.Contains(out.Report, "rlb-drill finishes flows") || !strings.Contains(out.Replay, `id="recording"`) {
		t.Error("the report has no sentence, or the replay no recording")
	}
}

func TestEditsTakeEffect(t *testing.T) {
	text, err := Profile("drill")
	if err != nil {
		t.Fatal(err)
	}
	p4, found := Generate(text)
	if len(found) > 0 {
		t.Fatal(found)
	}
	if got := Compile(p4); len(got) > 0 {
		t.Fatal(got)
	}
	same := Run(context.Background(), small, map[string]Edit{"drill": {Profile: text}}, quiet)
	plain := Run(context.Background(), small, nil, quiet)
	if same.Results == "" || same.Results != plain.Results {
		t.Errorf("the unchanged profile changes the results: %v", same.Problems)
	}
	broken := strings.Replace(p4, "control ", "contrl ", 1)
	if got := Compile(broken); len(got) == 0 || got[0].Line == 0 || got[0].Severity != "error" {
		t.Errorf("a misspelt word gives %v", got)
	}
	out := Run(context.Background(), small, map[string]Edit{"drill": {P4: broken}}, quiet)
	if len(out.Problems) == 0 || out.Problems[0].Line == 0 {
		t.Errorf("a run with it gives %v", out.Problems)
	}
	for _, c := range []struct {
		name  string
		found []Problem
	}{
		{"scenario", Check("name: x\nnetwork: {leaf_spine: {leafs: 2}}\n")},
		{"profile", second(Generate("base: drll\n"))},
		{"include", Compile("#include \"/etc/passwd\"\n")},
	} {
		if len(c.found) == 0 || c.found[0].Line == 0 || c.found[0].Text == "" {
			t.Errorf("%s: %v", c.name, c.found)
		}
	}
}

func second(_ string, found []Problem) []Problem { return found }

// folder returns the folder of the playground that `make playground-test` builds.
func folder(t *testing.T) string {
	dir := os.Getenv("PLAYGROUND")
	if dir == "" {
		need.No(t, errors.New("PLAYGROUND is not set to the built playground; `make playground-test` builds it and runs this"))
	}
	return dir
}

// The playground in a browser: typed text is checked, and the demo's results are
// the same bytes as those of the binary.
func TestPlaygroundInTheBrowser(t *testing.T) {
	dir := folder(t)
	total := int64(0)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	if total > 12<<20 {
		t.Errorf("the folder has %d bytes, more than 12 MiB", total)
	}
	srv := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer srv.Close()
	p := webtest.Open(t, srv.URL, 1200, 1100)
	p.UntilWithin(time.Minute, "!document.getElementById('run').disabled && document.documentElement.dataset.checked")
	t.Logf("%d bytes; first screen after %.2f s, ready to run after %.2f s", total, webtest.Eval[float64](p, "performance.getEntriesByName('first-contentful-paint')[0].startTime")/1000, webtest.Eval[float64](p, "window.readyToRun")/1000)
	// A misspelt key is marked at its line.
	webtest.Eval[any](p, `(() => { const t = document.getElementById('text'); t.value = t.value.replace('spines: 2', 'spnes: 2'); t.dispatchEvent(new Event('input')); })()`)
	p.Until("document.querySelector('#problems li')?.textContent.includes('did you mean')")
	if got := webtest.Eval[string](p, "document.querySelector('#gutter .error').textContent"); got != "4" {
		t.Errorf("line %s is marked, want 4", got)
	}
	p.Screenshot("playground-problem")
	// P4 text is checked too.
	p.Do(chromedp.Click("#tab-p4", chromedp.ByQuery))
	p.Until("document.getElementById('text').value.includes('V1Switch') && document.querySelectorAll('#problems li').length === 0")
	p.Do(chromedp.Focus("#text", chromedp.ByQuery), chromedp.KeyEvent("nonsense "+kb.Enter))
	p.Until("document.querySelectorAll('#problems .error').length > 0")
	p.Do(chromedp.Click("#restore", chromedp.ByQuery))
	p.Until("document.querySelectorAll('#problems li').length === 0")
	// The demo.
	p.Do(chromedp.Click("#tab-scenario", chromedp.ByQuery), chromedp.SetValue("#preset", "the demo", chromedp.ByQuery))
	p.Until("document.getElementById('text').value.includes('name: demo') && document.querySelectorAll('#problems li').length === 0")
	p.Do(chromedp.Click("#share", chromedp.ByQuery))
	p.Until("location.hash.length > 100")
	began := time.Now()
	p.Do(chromedp.Click("#run", chromedp.ByQuery))
	p.UntilWithin(4*time.Minute, "document.documentElement.dataset.done === '1'")
	t.Logf("the demo took %.0f s in the browser", time.Since(began).Seconds())
	got := webtest.Eval[string](p, "window.outcome.results")
	demo, err := os.ReadFile("../../cmd/pauseless/demo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if want := natively(t, string(demo)); got != want {
		t.Error("the demo's results are not those of the binary")
	}
	if !json.Valid([]byte(got)) {
		t.Error("results.json is not JSON")
	}
	p.Do(chromedp.Click("#show-replay", chromedp.ByQuery))
	webtest.Eval[bool](p, "new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(true))))") // the screenshot shows the replay
	p.Screenshot("playground")
	// The link has the same text.
	link := webtest.Eval[string](p, "location.href")
	q := webtest.Open(t, link, 360, 800)
	if text := webtest.Eval[string](q, "document.getElementById('text').value"); !strings.Contains(text, "name: demo") {
		t.Errorf("the link leads to %q", text)
	}
	q.Until("document.documentElement.scrollWidth <= 360") // once all has been laid out anew
}
