// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/pauseless/pauseless/testbed/record"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/web/webtest"
)

const incast = `
name: incast <&>
network:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
profiles: [rlb-drill]
paths: {h8: 1}
traffic:
- poisson: {sizes: websearch, load: 0.6, duration: 1ms, from: h1..h3, to: h5..h7}
- burst: {from: h4..h7, to: h8, flows: 8, size: 64KB, times: 2, interval: 1ms}
seeds: [1, 2]
until: 100ms
`

var recorded = sync.OnceValue(func() []*record.Recorder {
	s, err := scenario.Parse("incast.yaml", []byte(incast))
	if err != nil {
		panic(err)
	}
	var recs []*record.Recorder
	if _, err := s.Run(context.Background(), scenario.Options{Follow: func(s scenario.Start) scenario.Follower {
		recs = append(recs, record.New(s, record.DefaultLimits))
		return recs[len(recs)-1]
	}}); err != nil {
		panic(err)
	}
	return recs
})

func runs() (all []*record.Run) {
	for _, r := range recorded() {
		run, _ := r.Snapshot()
		all = append(all, &run)
	}
	return all
}

// pausedAt counts directions of links that are paused.
func pausedAt(r *record.Run, ns int64) int {
	on := make(map[int64]bool)
	for _, p := range r.Pauses(1 << 60) {
		if p.StartNS <= ns && ns < p.EndNS {
			on[p.Channel] = true
		}
	}
	return len(on)
}

// The self-contained page plays a recording: scrubbing, stepping, playing, ports
// and flows.
func TestPageShowsTheRecording(t *testing.T) {
	var b bytes.Buffer
	all := runs()
	if err := WritePage(&b, "incast <&>", all); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "replay.html")
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	p := webtest.Open(t, file, 1200, 1000)
	p.Until("pauseless.state().samples > 0")
	if got := webtest.Eval[string](p, "document.getElementById('title').textContent"); got != "incast <&>" {
		t.Errorf("title is %q", got)
	}
	run := all[0]
	if got := webtest.Eval[int](p, "pauseless.state().events"); got != len(run.Events) {
		t.Errorf("%d events, want %d", got, len(run.Events))
	}
	// At many instants the page shows as many paused directions as the recording has.
	end := run.TNS[len(run.TNS)-1]
	most := 0
	for i := range int64(40) {
		at := end / 80 * i
		want := pausedAt(run, at)
		most = max(most, want)
		webtest.Eval[any](p, fmt.Sprintf("pauseless.go(%d)", at))
		p.Until(fmt.Sprintf("document.getElementById('state').textContent.startsWith('%d of %d directions paused')", want, 2*len(run.Network.Links)))
	}
	if most == 0 {
		t.Error("no link was paused")
	}
	// Stepping goes from event to event.
	webtest.Eval[any](p, "pauseless.go(0)")
	p.Do(chromedp.Click("#forth", chromedp.ByQuery), chromedp.Click("#forth", chromedp.ByQuery))
	if got := webtest.Eval[int64](p, "pauseless.state().now"); got != run.Events[1][0] {
		t.Errorf("after two steps the time is %d, want %d, that of the second event", got, run.Events[1][0])
	}
	p.Do(chromedp.Click("#back", chromedp.ByQuery))
	if got := webtest.Eval[int64](p, "pauseless.state().now"); got != run.Events[0][0] {
		t.Errorf("after a step back the time is %d, want %d, that of the first event", got, run.Events[0][0])
	}
	// Play advances the time, and a second click stops it.
	p.Do(chromedp.Click("#play", chromedp.ByQuery))
	p.Until(fmt.Sprintf("pauseless.state().now > %d", run.Events[0][0]))
	// On a slow machine it may already have reached the end.
	webtest.Eval[any](p, "void (pauseless.state().playing && document.getElementById('play').click())")
	if webtest.Eval[bool](p, "pauseless.state().playing") {
		t.Error("it still plays")
	}
	// A click on a link shows its history, a click on a flow its path.
	p.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		var at []float64
		if err := chromedp.Evaluate("(() => { const p = pauseless.place(16), r = document.querySelector('#map canvas').getBoundingClientRect(); return [r.left + p.x, r.top + p.y]; })()", &at).Do(ctx); err != nil {
			return err
		}
		return chromedp.MouseClickXY(at[0], at[1]).Do(ctx)
	}))
	p.Until("document.querySelectorAll('#about .chart canvas').length === 2")
	if got, want := webtest.Eval[string](p, "document.querySelector('#about p').textContent"), run.Network.LinkName(8, 0); !strings.HasPrefix(got, want) {
		t.Errorf("a click on %q shows %q", want, got)
	}
	webtest.Eval[any](p, fmt.Sprintf("pauseless.go(%d)", run.Flows[0].StartNS+1000))
	p.Until("document.querySelector('#flows button')")
	p.Do(chromedp.Click("#flows button", chromedp.ByQuery))
	p.Until("pauseless.state().selected.flow !== undefined")
	// The other run, in the dark theme, on a phone.
	p.Do(emulation.SetDeviceMetricsOverride(360, 700, 1, false), chromedp.SetValue("#run", "1", chromedp.ByQuery), chromedp.Click("#theme", chromedp.ByQuery))
	p.Until(fmt.Sprintf("pauseless.state().events === %d && document.documentElement.dataset.theme === 'dark'", len(all[1].Events)))
	p.Until("document.documentElement.scrollWidth <= 360") // once all has been laid out anew
}

// A server's page shows the server's recordings, and follows them as they grow.
func TestPageFollowsTheServer(t *testing.T) {
	s := &growing{all: runs()}
	s.grow(3, 2)
	srv := httptest.NewServer(Handler("growing", s))
	defer srv.Close()
	p := webtest.Open(t, srv.URL, 1200, 900)
	p.Until("pauseless.state().samples === 3 && pauseless.state().events === 2")
	s.grow(10, 7)
	p.Until("pauseless.state().samples === 10 && pauseless.state().events === 7 && pauseless.state().runs === 1")
	s.end()
	p.Until(fmt.Sprintf("pauseless.state().runs === 2 && pauseless.state().samples === %d && pauseless.state().events === %d", len(s.all[0].TNS), len(s.all[0].Events)))
}

// growing is a source whose first recording grows.
type growing struct {
	mu              sync.Mutex
	all             []*record.Run
	samples, events int
	done            bool
}

func (g *growing) grow(samples, events int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.samples, g.events = samples, events
}

func (g *growing) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done = true
}

func (g *growing) Recordings() ([]Recording, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done {
		return []Recording{record.Finished(g.all[0]), record.Finished(g.all[1])}, false
	}
	part := *g.all[0]
	part.TNS, part.Use, part.Queues, part.Values = part.TNS[:g.samples], part.Use[:g.samples], part.Queues[:g.samples], part.Values[:g.samples]
	part.Paths, part.Events, part.Live = part.Paths[:g.samples], part.Events[:g.events], true
	return []Recording{record.Finished(&part)}, true
}
