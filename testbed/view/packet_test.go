// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/record"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/trace"
	"github.com/pauseless/pauseless/testbed/web/webtest"
)

const lost = `
name: lost
network: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 2, rate: 10Gbps, delay: 1us}}
program: {p4: hosts.p4}
packets:
- {name: there, from: h1, to: h3, ping: true}
- {name: nowhere, from: h1, to: h3, ipv4: {destination: 10.9.9.9}}
until: 1ms
`

// traced returns a recording of the run with a packet of a series.
func traced(t *testing.T, series string) *record.Run {
	t.Helper()
	s, err := scenario.ParseIn("lost.yaml", []byte(lost), "../scenario/testdata", scenario.Paper, nil)
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cases()[0]
	p, err := c.Build(new(program.Cache))
	if err != nil {
		t.Fatal(err)
	}
	tr := trace.New(trace.Want{Series: series, Packet: 1})
	var rec *record.Recorder
	if _, err := c.Run(t.Context(), p, 1, scenario.Options{Trace: tr, Event: func(controlplane.Event) {}, Follow: func(s scenario.Start) scenario.Follower {
		rec = record.New(s, record.DefaultLimits)
		return rec
	}}); err != nil {
		t.Fatal(err)
	}
	run, _ := rec.Snapshot()
	tr.Record(&run)
	return &run
}

// A click on a switch of the replay shows what its program did with the traced packet; the
// list of its visits leads from switch to switch.
func TestClickShowsWhatBecameOfThePacket(t *testing.T) {
	runs := []*record.Run{traced(t, "nowhere"), traced(t, "there")}
	var b bytes.Buffer
	if err := WritePage(&b, "lost", runs); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "replay.html")
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	p := webtest.Open(t, file, 1200, 1000)
	p.Until("pauseless.state().samples > 0 && document.querySelector('#packet button')")
	click := func(name string) {
		p.Do(chromedp.ActionFunc(func(ctx context.Context) error {
			var at []float64
			if err := chromedp.Evaluate(fmt.Sprintf("(() => { scrollTo(0, 0); const p = pauseless.node(%d), r = document.querySelector('#map canvas').getBoundingClientRect(); return [r.left + p.x, r.top + p.y]; })()", node(t, runs[0], name)), &at).Do(ctx); err != nil {
				return err
			}
			return chromedp.MouseClickXY(at[0], at[1]).Do(ctx)
		}))
		p.Until(fmt.Sprintf("pauseless.state().selected?.node === %d", node(t, runs[0], name)))
	}
	shows := func(want ...string) {
		t.Helper()
		p.Until("document.querySelector('#about .steps li')")
		got := webtest.Eval[string](p, "document.querySelector('#about').textContent")
		for _, w := range want {
			if !strings.Contains(got, w) {
				t.Errorf("the page says %q, without %q", got, w)
			}
		}
	}
	// The one that no table knows: a click on the first switch says why it is dropped.
	click("l1")
	shows("packet at l1, ", "from h1", "extract ip: ", "h.ip.dst=10.9.9.9", "nearest", "dropped: ")
	if n := webtest.Eval[int](p, "document.querySelectorAll('#packet button').length"); n != 1 {
		t.Errorf("it has visited %d nodes, want 1", n)
	}
	if got := webtest.Eval[string](p, "document.querySelector('#packet').textContent"); !strings.Contains(got, "packet 1 of nowhere") || !strings.Contains(got, "dropped: ") {
		t.Errorf("the list says %q", got)
	}
	p.Screenshot("packet")
	// The ping and its answer visit four nodes and four; a click on a visit goes to its time.
	p.Do(chromedp.SetValue("#run", "1", chromedp.ByQuery))
	p.Until("document.querySelectorAll('#packet button').length === 8")
	p.Do(chromedp.Click("#packet li:nth-child(8) button", chromedp.ByQuery))
	shows("answer at h1, ", "received: ")
	last := runs[1].Steps[len(runs[1].Steps)-1]
	if got := webtest.Eval[float64](p, "pauseless.state().now"); got != last.AtNS {
		t.Errorf("the time is %v ns, want %v, that of the last step", got, last.AtNS)
	}
	click("s1")
	shows("packet at s1, ", "answer at s1, ", "h.ip.dst=10.0.1.1", "h.ip.dst=10.0.0.1")
}

// node returns the number of a node.
func node(t *testing.T, r *record.Run, name string) int {
	t.Helper()
	for i, n := range r.Network.Nodes {
		if n.Name == name {
			return i
		}
	}
	t.Fatalf("there is no %s", name)
	return 0
}

// The steps are in the file, and one of a node that does not exist is refused.
func TestTracedPacketIsReadBack(t *testing.T) {
	run := traced(t, "there")
	write := func() (*bytes.Buffer, error) {
		var b bytes.Buffer
		return &b, record.Write(&b, []*record.Run{run})
	}
	b, err := write()
	if err != nil {
		t.Fatal(err)
	}
	again, err := record.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	if got := again[0]; got.Packet != "packet 1 of there" || len(got.Steps) != len(run.Steps) || got.Steps[3] != run.Steps[3] {
		t.Errorf("read back: %s, %d steps of %d", got.Packet, len(got.Steps), len(run.Steps))
	}
	run.Steps[3].Node = len(run.Network.Nodes)
	if b, err = write(); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Read(b); err == nil || !strings.Contains(err.Error(), "step 3") {
		t.Errorf("the error is %v", err)
	}
}
