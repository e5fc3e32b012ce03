// SPDX-License-Identifier: Apache-2.0

package view

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/record"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/web/webtest"
)

// storm is a recording of 288 hosts on 12 leaves and 12 spines in which nearly
// every link is used, a tenth is paused, a fifth has a queue, and 300 warnings
// are sent in a millisecond.
func storm(b *testing.B) *record.Run {
	t, err := topo.Parse("storm.yaml", []byte("name: storm\nleaf_spine: {leaves: 12, spines: 12, hosts_per_leaf: 24, rate: 40Gbps, delay: 2us}\n"))
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	r := &record.Run{Scenario: "storm", Arm: "rlb", Seed: 1, Network: result.NewNetwork(t), EveryNS: 50_000, Registers: []record.Register{{Name: "reroutes", Unit: "packets"}}, Flows: []record.Flow{}}
	channels := 2 * len(t.Links)
	for i := range 1000 {
		at := int64(i+1) * r.EveryNS
		use, queues, values := make([]byte, channels), []int64{}, []uint64{}
		for ch := range use {
			use[ch] = byte(rng.IntN(256))
			if rng.IntN(5) == 0 {
				queues = append(queues, int64(ch), int64(rng.IntN(1_000_000)))
			}
		}
		for _, sw := range t.Switches() {
			values = append(values, uint64(sw), 0, uint64(i*10))
		}
		r.TNS, r.Use, r.Queues, r.Values, r.Paths = append(r.TNS, at), append(r.Use, use), append(r.Queues, queues), append(r.Values, values), append(r.Paths, []int32{})
		for range channels / 10 {
			start := at - rng.Int64N(r.EveryNS)
			r.Events = append(r.Events, record.Event{start, int64(record.Pause), int64(rng.IntN(channels)), 3, start + r.EveryNS})
		}
		for range 15 {
			r.Events = append(r.Events, record.Event{at - rng.Int64N(r.EveryNS), int64(record.Warning), int64(rng.IntN(channels)), 1, 3})
		}
	}
	slices.SortStableFunc(r.Events, func(a, b record.Event) int { return slices.Compare(a[:1], b[:1]) })
	return r
}

// BenchmarkReplayOf288Hosts plays a millisecond per second, in Chromium, for five
// seconds. It reports the frames shown per second, and the processor time per
// frame of all processes of the browser.
func BenchmarkReplayOf288Hosts(b *testing.B) {
	var page bytes.Buffer
	if err := WritePage(&page, "storm", []*record.Run{storm(b)}); err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "storm.html")
	if err := os.WriteFile(file, page.Bytes(), 0o666); err != nil {
		b.Fatal(err)
	}
	p := webtest.Open(b, file, 1400, 1000)
	b.ResetTimer()
	for range b.N {
		p.Do(chromedp.Click("#play", chromedp.ByQuery))
		cpu := p.CPU()
		shown := webtest.Eval[[]float64](p, `new Promise(done => {
			const from = pauseless.frames(), begin = performance.now();
			setTimeout(() => done([pauseless.frames() - from, (performance.now() - begin) / 1000]), 5000);
		})`)
		cpu = p.CPU() - cpu
		p.Do(chromedp.Click("#play", chromedp.ByQuery))
		b.ReportMetric(shown[0]/shown[1], "frames/s")
		b.ReportMetric(cpu.Seconds()*1000/shown[0], "cpu-ms/frame")
	}
	p.Screenshot("storm")
}
