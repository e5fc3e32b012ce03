// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// A click on a paused link of the map says why it is paused: the chain to the root, the
// flows there, and the victims.
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
	s := &run.Causes.Storms[0]
	i := slices.IndexFunc(s.Links, func(l result.PausedLink) bool { return l.Depth == 3 })
	l, dir, ok := run.Network.Sender(s.Links[i].From, s.Links[i].Port)
	if !ok {
		t.Fatalf("no link %+v", s.Links[i])
	}
	span := s.Links[i].SpansNS[0]
	webtest.Eval[any](p, fmt.Sprintf("pauseless.go(%d)", (span[0]+span[1])/2))
	p.Do(chromedp.ActionFunc(func(ctx context.Context) error {
		var at []float64
		if err := chromedp.Evaluate(fmt.Sprintf("(() => { const p = pauseless.place(%d), r = document.querySelector('#map canvas').getBoundingClientRect(); return [r.left + p.x, r.top + p.y]; })()", 2*l+dir), &at).Do(ctx); err != nil {
			return err
		}
		return chromedp.MouseClickXY(at[0], at[1]).Do(ctx)
	}))
	p.Until("document.querySelector('#about p')")
	got := webtest.Eval[string](p, "document.querySelector('#about p').textContent")
	for _, want := range []string{run.Network.LinkName(l, dir), "← l1 port 1 to h1. Root: storming NIC: h1 sends PAUSE without end", "In the root: h4 to h1 100 %", "Victims of the storm: h5 to h2"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page says %q, without %q", got, want)
		}
	}
}
