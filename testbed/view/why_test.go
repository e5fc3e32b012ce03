// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/testbed/record"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/web/webtest"
)

const pausing = `
name: storm
network:
  leaf_spine: {leaves: 3, spines: 1, hosts_per_leaf: 3, rate: 40Gbps, delay: 1us}
  switch: {buffer: 9MB, pfc: {xoff: 60KB}}
profile: ecmp
hosts: {cc: {algorithm: none}}
faults: [{storm: h1, from: 50us, until: 60us}]
traffic:
- long: {from: h4, to: h1, size: 1MB}
- long: {from: h5, to: h2, size: 1MB}
until: 5ms
`

// explained returns a recording of the storm.
func explained(t *testing.T) *record.Run {
	t.Helper()
	s, err := scenario.Parse("storm.yaml", []byte(pausing))
	if err != nil {
		t.Fatal(err)
	}
	var rec *record.Recorder
	if _, err := s.Run(t.Context(), scenario.Options{Explain: true, Event: func(controlplane.Event) {}, Follow: func(s scenario.Start) scenario.Follower {
		rec = record.New(s, record.DefaultLimits)
		return rec
	}}); err != nil {
		t.Fatal(err)
	}
	run, _ := rec.Snapshot()
	return &run
}

// A recording of an explained run has its causes, also in a file.
func TestRecordingHasTheCauses(t *testing.T) {
	run := explained(t)
	var b bytes.Buffer
	if err := record.Write(&b, []*record.Run{run}); err != nil {
		t.Fatal(err)
	}
	again, err := record.Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*record.Run{run, again[0]} {
		if r.Causes == nil || len(r.Causes.Storms) == 0 || r.Causes.Storms[0].Root.Cause != result.CauseStorming || r.Causes.Storms[0].VictimCount != 1 {
			t.Fatalf("causes are %+v", r.Causes)
		}
	}
}

// A click on a paused link of the map says why it is paused: the chain to the root lights
// up, and the page names the flows there and the victims. So in a page of its own.
func TestClickOnAPausedLinkSaysWhy(t *testing.T) {
	run := explained(t)
	var b bytes.Buffer
	if err := WritePage(&b, "storm", []*record.Run{run}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "replay.html")
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	p := webtest.Open(t, file, 1200, 1000)
	p.Until("pauseless.state().samples > 0")
	clickPaused(t, p, run)
}

// And in the map of a run that goes on: the causes come when the page is open.
func TestClickOnAPausedLinkOfALiveMapSaysWhy(t *testing.T) {
	run := explained(t)
	run.Live = true
	begun := *run
	begun.TNS, begun.Use, begun.Queues, begun.Values, begun.Paths = run.TNS[:1], run.Use[:1], run.Queues[:1], run.Values[:1], run.Paths[:1]
	begun.Events, begun.Causes = run.Events[:0], nil
	var shown atomic.Pointer[record.Run]
	shown.Store(&begun)
	srv := httptest.NewServer(Handler("live", source(func() *record.Run { return shown.Load() })))
	defer srv.Close()
	p := webtest.Open(t, srv.URL, 1200, 1000)
	p.Until("pauseless.state().samples === 1")
	shown.Store(run)
	p.Until(fmt.Sprintf("pauseless.state().samples === %d", len(run.TNS)))
	clickPaused(t, p, run)
}

// source is a recording that is one of a run that goes on.
type source func() *record.Run

func (s source) Recordings() ([]Recording, bool) { return []Recording{s}, true }

func (s source) Snapshot() (record.Run, int) { return *s(), 0 }

// clickPaused clicks on the paused link that is farthest from the root.
func clickPaused(t *testing.T, p *webtest.Page, run *record.Run) {
	t.Helper()
	s := &run.Causes.Storms[0]
	i := slices.IndexFunc(s.Links, func(l result.PausedLink) bool { return l.Depth == 3 })
	var chain []int // of channels
	for k := i; k >= 0; k = s.Links[k].Parent {
		chain = append(chain, channel(t, run, s.Links[k].From, s.Links[k].Port))
	}
	if root := channel(t, run, s.Root.Node, s.Root.Port); !slices.Contains(chain, root) {
		chain = append(chain, root)
	}
	span := s.Links[i].SpansNS[0]
	webtest.Eval[any](p, fmt.Sprintf("pauseless.go(%d)", (span[0]+span[1])/2))
	// The colours of points on the line of each channel.
	points := fmt.Sprintf(`new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => {
		const map = document.querySelector('#map canvas'), scale = map.width / map.clientWidth;
		const ctx = new OffscreenCanvas(map.width, map.height).getContext('2d', {willReadFrequently: true});
		ctx.drawImage(map, 0, 0);
		r(Array.from({length: %d}, (_, ch) => Array.from({length: 30}, (_, i) => {
			const at = pauseless.place(ch, 0.3 + i / 75);
			return [...ctx.getImageData(Math.floor(at.x * scale), Math.floor(at.y * scale), 1, 1).data].join();
		}).join(' ')));
	})))`, 2*len(run.Network.Links))
	before := webtest.Eval[[]string](p, points)
	p.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		var at []float64
		if err := chromedp.Evaluate(fmt.Sprintf("(() => { const p = pauseless.place(%d), r = document.querySelector('#map canvas').getBoundingClientRect(); return [r.left + p.x, r.top + p.y]; })()", chain[0]), &at).Do(ctx); err != nil {
			return err
		}
		return chromedp.MouseClickXY(at[0], at[1]).Do(ctx)
	}))
	p.Until("document.querySelector('#about p')")
	got := webtest.Eval[string](p, "document.querySelector('#about p').textContent")
	for _, want := range []string{run.Network.LinkName(chain[0]/2, chain[0]%2), "← l1 port 1 to h1. Root: storming NIC: h1 sends PAUSE without end", "In the root: h4 to h1 100 %", "Victims of the storm: h5 to h2"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page says %q, without %q", got, want)
		}
	}
	var lit []int
	for ch, now := range webtest.Eval[[]string](p, points) {
		if now != before[ch] {
			lit = append(lit, ch)
		}
	}
	slices.Sort(chain)
	if len(chain) < 3 || !slices.Equal(lit, chain) {
		t.Errorf("channels %v light up, want %v", lit, chain)
	}
}

// channel returns the channel on which a node's port sends.
func channel(t *testing.T, run *record.Run, node string, port int) int {
	t.Helper()
	l, dir, ok := run.Network.Sender(node, port)
	if !ok {
		t.Fatalf("%s has no port %d", node, port)
	}
	return 2*l + dir
}
