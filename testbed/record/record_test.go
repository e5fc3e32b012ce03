// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// incast is a scenario with pauses and warnings.
const incast = `
name: incast
network:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
profiles: [rlb-drill]
hosts: {defaults: papers}
paths: {h8: 1}
traffic:
- poisson: {sizes: websearch, load: 0.6, duration: 1ms, from: h1..h3, to: h5..h7}
- burst: {from: h4..h7, to: h8, flows: 8, size: 64KB, times: 2, interval: 1ms}
until: 100ms
`

var recorded = sync.OnceValues(func() (*Run, *result.Run) {
	s, err := scenario.Parse("incast.yaml", []byte(incast))
	if err != nil {
		panic(err)
	}
	var rec *Recorder
	runs, err := s.Run(context.Background(), scenario.Options{Follow: func(s scenario.Start) scenario.Follower {
		rec = New(s, DefaultLimits)
		return rec
	}})
	if err != nil {
		panic(err)
	}
	run, _ := rec.Snapshot()
	return &run, runs[0]
})

// Recording does not change a run's results.
func TestRecordingChangesNoResult(t *testing.T) {
	_, with := recorded()
	same(t, with, run(t, incast, false))
}

// early ends in the first half of the interval of 100 µs in which runs check for
// their end; samples are taken twice as often.
const early = `
name: early
network:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 2us}
profiles: [rlb-drill]
traffic:
- burst: {from: h1..h3, to: h8, flows: 2, size: 100KB, times: 2, interval: 1ms}
until: 100ms
`

// A recorded run ended at a sample, earlier than without recording.
func TestRecordingDoesNotEndARun(t *testing.T) {
	with, without := run(t, early, true), run(t, early, false)
	last := int64(0)
	for _, f := range without.Flows {
		last = max(last, f.StartNS+f.FCTNS)
	}
	if last%100_000 > 50_000 {
		t.Fatalf("the last flow ends at %d ns, in the second half of the interval", last)
	}
	same(t, with, without)
}

func run(t *testing.T, text string, recorded bool) *result.Run {
	t.Helper()
	s, err := scenario.Parse("test.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var o scenario.Options
	if recorded {
		o.Follow = func(s scenario.Start) scenario.Follower { return New(s, DefaultLimits) }
	}
	runs, err := s.Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return runs[0]
}

func same(t *testing.T, with, without *result.Run) {
	t.Helper()
	var a, b bytes.Buffer
	if err := result.WriteJSON(&a, []*result.Run{with}); err != nil {
		t.Fatal(err)
	}
	if err := result.WriteJSON(&b, []*result.Run{without}); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() {
		t.Errorf("results differ: the end is at %v us with a recording, and at %v without", with.Summary.EndUS, without.Summary.EndUS)
	}
}

// The recording has the fabric's pauses, the final values of the switches'
// counters, and the first and last link of all flows.
func TestRecordingAgreesWithTheResults(t *testing.T) {
	run, res := recorded()
	if err := run.check(); err != nil {
		t.Fatal(err)
	}
	var got []result.Pause
	for _, p := range run.Pauses(int64(res.Summary.EndUS * 1000)) {
		l := run.Network.Links[p.Channel/2]
		node, port := l.A, l.AP
		if p.Channel%2 == 1 {
			node, port = l.B, l.BP
		}
		got = append(got, result.Pause{Node: run.Network.Nodes[node].Name, Port: port, Class: uint8(p.Class), StartNS: p.StartNS, EndNS: p.EndNS})
	}
	key := func(p result.Pause) string { return fmt.Sprint(p.StartNS, p.Node, p.Port, p.Class, p.EndNS) }
	order := func(a, b result.Pause) int { return strings.Compare(key(a), key(b)) }
	want := slices.Clone(res.Pauses)
	slices.SortFunc(got, order)
	slices.SortFunc(want, order)
	if len(want) < 10 || len(got) != len(want) {
		t.Fatalf("%d pauses, the fabric has %d", len(got), len(want))
	}
	for i := range got {
		// Times are truncated to nanoseconds once more.
		g, w := got[i], want[i]
		if g.Node != w.Node || g.Port != w.Port || g.Class != w.Class || g.StartNS != w.StartNS || max(g.EndNS-w.EndNS, w.EndNS-g.EndNS) > 1 {
			t.Fatalf("pause %d is %+v, the fabric has %+v", i, g, w)
		}
	}

	sums := make(map[string]uint64)
	last := make(map[[2]uint64]uint64)
	for _, v := range run.Values {
		for k := 0; k < len(v); k += 3 {
			last[[2]uint64{v[k], v[k+1]}] = v[k+2]
		}
	}
	for k, v := range last {
		sums[run.Registers[k[1]].Name] += v
	}
	for _, name := range []string{"reroutes", "warnings_sent", "recirculations"} {
		if sums[name] != res.Summary.Scheme[name] || name != "recirculations" && sums[name] == 0 {
			t.Errorf("%s: recorded %d, at the end %d", name, sums[name], res.Summary.Scheme[name])
		}
	}

	warnings := 0
	for _, e := range run.Events {
		if Kind(e[1]) == Warning {
			warnings++
		}
	}
	if warnings == 0 {
		t.Error("no warning was recorded")
	}
	// Every flow was recorded on its first and last link.
	first, final := make(map[int32]bool), make(map[int32]bool)
	for _, p := range run.Paths {
		for k := 0; k < len(p); k += 2 {
			l, dir := run.Network.Links[p[k+1]/2], p[k+1]%2
			from, to := l.A, l.B
			if dir == 1 {
				from, to = to, from
			}
			f := run.Flows[p[k]]
			first[p[k]] = first[p[k]] || from == f.Src
			final[p[k]] = final[p[k]] || to == f.Dst
		}
	}
	for i, f := range run.Flows {
		if f.FCTNS != res.Flows[i].FCTNS || f.FCTNS == 0 {
			t.Errorf("flow %d took %d ns, the results have %d", i, f.FCTNS, res.Flows[i].FCTNS)
		}
		if f.Bytes > 100 && (!first[int32(i)] || !final[int32(i)]) {
			t.Errorf("flow %d of %d bytes was not recorded on its first or last link", i, f.Bytes)
		}
	}
	used := false
	for _, u := range run.Use {
		used = used || slices.Max(u) > 200
	}
	if !used {
		t.Error("no link was busy")
	}
}

func TestFileIsReadAsWritten(t *testing.T) {
	run, _ := recorded()
	var b bytes.Buffer
	if err := Write(&b, []*Run{run, run}); err != nil {
		t.Fatal(err)
	}
	size := b.Len()
	runs, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if len(runs) != 2 || !reflect.DeepEqual(runs[0], run) {
		t.Error("what was read is not what was written")
	}
	if size > 400_000 {
		t.Errorf("2 times 2 ms of 8 hosts take %d bytes", size)
	}
}

// encode writes the same bytes as json.Encoder.
func TestFileIsTheJSONOfTheRun(t *testing.T) {
	run, _ := recorded()
	hard := *run
	hard.Scenario = `a "t_ns":null in the name <&>`
	hard.Left, hard.Note, hard.Live = 3, "note", true
	hard.Queues = append([][]int64{{}, {-1, math.MinInt64, math.MaxInt64}}, run.Queues[2:]...)
	hard.Values = append([][]uint64{{math.MaxUint64}}, run.Values[1:]...)
	for _, r := range []*Run{run, &hard, {Scenario: "empty", TNS: []int64{}, Queues: [][]int64{}, Values: [][]uint64{}, Paths: [][]int32{}, Events: []Event{}}} {
		var want, got bytes.Buffer
		if err := json.NewEncoder(&want).Encode(r); err != nil {
			t.Fatal(err)
		}
		if err := r.WriteJSON(&got); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%s: %d bytes, which differ from the %d bytes of json.Encoder", r.Scenario, got.Len(), want.Len())
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	run, _ := recorded()
	for b.Loop() {
		if err := Write(io.Discard, []*Run{run}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	zip := func(text string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write([]byte(text))
		z.Close()
		return b.String()
	}
	head := `{"format":"pauseless recording","version":1}` + "\n"
	network := `"network":{"nodes":[{"name":"a","tier":0},{"name":"b","tier":1}],"links":[{"a":0,"ap":1,"b":1,"bp":1,"rate":1}]}`
	for _, c := range []struct{ text, want string }{
		{"nonsense", "not a recording"},
		{zip("nonsense"), "first line"},
		{zip(`{"format":"pauseless recording","version":2}`), "version 2"},
		{zip(head), "has no runs"},
		{zip(head + "{}"), "no network"},
		{zip(head + `{` + network + `,"t_ns":[1]}`), "1 samples, but 0 of use"},
		{zip(head + `{` + network + `,"t_ns":[1],"use":["AA=="],"queues":[[]],"values":[[]],"paths":[[]]}`), "utilisation of 1 directions"},
		{zip(head + `{` + network + `,"t_ns":[1],"use":["AAA="],"queues":[[2,5]],"values":[[]],"paths":[[]]}`), "queue of direction 2"},
		{zip(head + `{` + network + `,"t_ns":[1],"use":["AAA="],"queues":[[]],"values":[[0,0,1]],"paths":[[]]}`), "register"},
		{zip(head + `{` + network + `,"t_ns":[1],"use":["AAA="],"queues":[[]],"values":[[]],"paths":[[0,0]]}`), "flow 0"},
		{zip(head + `{` + network + `,"events":[[1,0,9,3,0]]}`), "direction 9"},
		{zip(head + `{` + network + `,"events":[[2,0,0,3,0],[1,0,0,3,0]]}`), "event 1 has an earlier time than event 0"},
		{zip(head + `{` + network + `,"flows":[{"src":7}]}`), "flow 0"},
		{zip(head + `{"network":{"nodes":[{"name":"a"}],"links":[{"a":-1}]}}`), "link 0"},
		{zip(head + `{"network":`)[:40], "recording"},
	} {
		if _, err := Read(strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want one with %q", err, c.want)
		}
	}
}

// A recording stays within its limits and keeps the last sample.
func TestLongRecordingsStaySmall(t *testing.T) {
	s := &Store{limits: Limits{Samples: 16, Events: 10, Paths: 100}}
	s.run.EveryNS = 10
	next := int64(10)
	for i := range 1000 {
		s.addEvents([]Event{{int64(i), 0, 0, 3, 0}})
		if int64(i+1)*10 < next && i != 999 {
			continue
		}
		next = int64(i+1)*10 + s.run.EveryNS
		s.add(int64(i+1)*10, []byte{byte(i)}, []int64{0, int64(i)}, []uint64{0, 0, uint64(i)}, []int32{0, 0, int32(i % 7), 1})
	}
	run, version := s.Snapshot()
	if len(run.TNS) >= 16 || len(run.Use) != len(run.TNS) || len(run.Queues) != len(run.TNS) || len(run.Values) != len(run.TNS) || len(run.Paths) != len(run.TNS) {
		t.Errorf("%d samples", len(run.TNS))
	}
	if version < 6 || run.EveryNS != 10<<version {
		t.Errorf("merged %d times, %d ns apart", version, run.EveryNS)
	}
	if len(run.Events) != 10 || run.Left != 990 {
		t.Errorf("%d events, %d left out", len(run.Events), run.Left)
	}
	end := len(run.TNS) - 1
	if run.TNS[end] != 10_000 || run.Queues[end][1] != 999 || run.Values[end][len(run.Values[end])-1] != 999 {
		t.Errorf("the last sample is at %d, %v, %v", run.TNS[end], run.Queues[end], run.Values[end])
	}
	paths := 0
	for _, p := range run.Paths {
		paths += len(p)
	}
	if paths > 200 {
		t.Errorf("%d entries of paths", paths)
	}
}

// In a large network samples are merged until they fit into the memory of a recording, and
// registers have their last values.
func TestRecordingsOfLargeNetworksStaySmall(t *testing.T) {
	const most, channels = 100_000, 1000
	s := &Store{limits: Limits{Samples: 2048, Events: 10, Paths: 100, Bytes: most}}
	s.run.EveryNS = 10
	next := int64(10)
	for i := range int64(1000) {
		if (i+1)*10 < next && i != 999 {
			continue
		}
		next = (i+1)*10 + s.run.EveryNS
		s.add((i+1)*10, make([]byte, channels), []int64{0, i}, []uint64{0, 0, uint64(i), 1, 0, uint64(i)}, nil)
	}
	run, version := s.Snapshot()
	bytes, values := 0, map[uint64]uint64{}
	for i := range run.TNS {
		bytes += len(run.Use[i]) + 8*(len(run.Queues[i])+len(run.Values[i]))
		for v := range slices.Chunk(run.Values[i], 3) {
			values[v[0]] = v[2]
		}
	}
	if bytes > most || len(run.TNS) < most/channels/4 || run.EveryNS != 10<<version {
		t.Errorf("%d samples with %d bytes, merged %d times, %d ns apart", len(run.TNS), bytes, version, run.EveryNS)
	}
	if end := len(run.TNS) - 1; run.TNS[end] != 10_000 || values[0] != 999 || values[1] != 999 {
		t.Errorf("the last sample is at %d, the registers are %v", run.TNS[end], values)
	}
}

func TestSamplesAreMerged(t *testing.T) {
	if got := latest([]uint64{1, 0, 5, 2, 0, 6, 1, 0, 7}); !slices.Equal(got, []uint64{2, 0, 6, 1, 0, 7}) {
		t.Errorf("values %v", got)
	}
	if got := greater([]int64{1, 10, 3, 30}, []int64{1, 11, 2, 20}); !slices.Equal(got, []int64{1, 11, 2, 20, 3, 30}) {
		t.Errorf("queues %v", got)
	}
	if got := united([]int32{5, 1, 6, 2}, []int32{6, 2, 5, 3}); !slices.Equal(got, []int32{5, 1, 6, 2, 5, 3}) {
		t.Errorf("paths %v", got)
	}
}

// The trace has the Chrome trace event format: each event has the fields that its
// phase requires, and each slice has an end.
func TestTraceIsInTheChromeFormat(t *testing.T) {
	run, res := recorded()
	var b bytes.Buffer
	if err := WriteTrace(&b, []*Run{run, run}, nil); err != nil {
		t.Fatal(err)
	}
	var trace struct {
		DisplayTimeUnit string
		TraceEvents     []map[string]any
	}
	if err := json.Unmarshal(b.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	need := map[string][]string{
		"X": {"name", "ts", "dur", "pid", "tid"}, "C": {"name", "ts", "pid", "args"}, "i": {"name", "ts", "pid", "tid", "s"},
		"b": {"name", "cat", "id", "ts", "pid"}, "e": {"name", "cat", "id", "ts", "pid"}, "M": {"name", "pid", "args"},
	}
	count := make(map[string]int)
	open := make(map[any]bool)
	named := make(map[any]bool)
	type thread struct{ pid, tid any }
	threads := make(map[thread]bool)
	over := make(map[thread]float64) // end of the latest slice
	for i, e := range trace.TraceEvents {
		ph, _ := e["ph"].(string)
		keys, ok := need[ph]
		if !ok {
			t.Fatalf("event %d has phase %q", i, ph)
		}
		for _, k := range keys {
			if e[k] == nil {
				t.Fatalf("event %d of phase %s lacks %s: %v", i, ph, k, e)
			}
		}
		for _, k := range []string{"ts", "dur", "pid", "tid"} {
			if v, ok := e[k].(float64); e[k] != nil && (!ok || v < 0) {
				t.Fatalf("event %d has %s %v", i, k, e[k])
			}
		}
		switch ph {
		case "M":
			if e["name"] == "process_name" {
				named[e["pid"]] = true
			} else {
				threads[thread{e["pid"], e["tid"]}] = true
			}
		case "X", "i":
			at := thread{e["pid"], e["tid"]}
			if !threads[at] && e["s"] != "p" {
				t.Fatalf("event %d is of thread %v, which has no name", i, at)
			}
			if ph == "i" {
				break
			}
			// Perfetto drops slices of a thread that overlap and do not nest. Times
			// are in microseconds and whole nanoseconds.
			ts, dur := e["ts"].(float64), e["dur"].(float64)
			if ts < over[at]-1e-6 {
				t.Fatalf("event %d begins at %v us, before the end of the previous slice at %v us", i, ts, over[at])
			}
			over[at] = ts + dur
			if ns := ts * 1000; math.Abs(ns-math.Round(ns)) > 1e-3 {
				t.Fatalf("event %d is at %v ns", i, ns)
			}
		case "C":
			for k, v := range e["args"].(map[string]any) {
				if _, ok := v.(float64); !ok {
					t.Fatalf("counter %v has %s %v", e["name"], k, v)
				}
			}
		case "b":
			open[e["id"]] = true
		case "e":
			if !open[e["id"]] {
				t.Fatalf("event %d ends a slice that did not begin", i)
			}
			delete(open, e["id"])
		}
		if !named[e["pid"]] {
			t.Fatalf("event %d is of process %v, which has no name", i, e["pid"])
		}
		count[ph]++
	}
	if count["X"] != 2*len(res.Pauses) || count["b"] != 2*len(run.Flows) || len(open) != 0 || count["C"] == 0 || count["i"] == 0 {
		t.Errorf("%v events, for 2 times %d pauses and %d flows", count, len(res.Pauses), len(run.Flows))
	}
}

// sealedFile returns gzip of lines.
func sealedFile(t *testing.T, write func(w io.Writer)) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(z, `{"format":"pauseless recording","version":1}`+"\n")
	write(z)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A short file that stands for gigabytes is refused, whatever it repeats.
func TestRecordingsDoNotExplode(t *testing.T) {
	network := `{"network":{"nodes":[{"name":"a"}]},`
	repeat := func(before, unit, after string, n int) []byte {
		return sealedFile(t, func(w io.Writer) {
			io.WriteString(w, before)
			block := strings.Repeat(unit, 10_000)
			for range n / 10_000 {
				io.WriteString(w, block)
			}
			io.WriteString(w, after)
		})
	}
	for what, file := range map[string][]byte{
		"events":    repeat(network+`"events":[`, `[],`, "[]]}\n", 8_000_000),
		"some more": repeat(network+`"events":[`, `[],`, "[]]}\n", 500_000),
		"runs":      repeat("", `{"network":{"nodes":[{}]}}`+"\n", "", 20_000),
		"nodes":     repeat(`{"network":{"nodes":[`, `{},`, "{}]}}\n", 4_000_000),
		"links":     repeat(`{"network":{"nodes":[{}],"links":[`, `{},`, "{}]}}\n", 4_000_000),
		"flows":     repeat(network+`"flows":[`, `{},`, "{}]}\n", 7_000_000),
		"registers": repeat(network+`"registers":[`, `{},`, "{}]}\n", 300_000),
		"samples":   repeat(network+`"use":[`, `"",`, `""]}`+"\n", 12_000_000),
		"one line":  repeat("", "                    ", "\n", 14_000_000),
		"no end":    repeat(network, " ", "", 10_000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Read(bytes.NewReader(file))
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: %d bytes were accepted", what, len(file))
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 3<<30 {
			t.Errorf("%s: %d bytes took %d MB: %v", what, len(file), took>>20, err)
		}
	}
}

// A recording with any bit flipped is an error, or has the same runs: some bits of
// gzip have no meaning.
func TestEveryFlippedBitOfARecordingIsFound(t *testing.T) {
	var b bytes.Buffer
	first, _ := recorded()
	second := *first
	second.Seed++
	want := []*Run{first, &second}
	if err := Write(&b, want); err != nil {
		t.Fatal(err)
	}
	good := b.Bytes()
	if runs, err := Read(bytes.NewReader(good)); err != nil || !reflect.DeepEqual(runs, want) {
		t.Fatalf("%v", err)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	for n := range 400 + 8*10 + 8*8 {
		bit := rng.IntN(8 * len(good))
		switch {
		case n < 8*10:
			bit = n
		case n < 8*18:
			bit = 8*len(good) - 1 - (n - 80)
		}
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		if runs, err := Read(bytes.NewReader(bad)); err == nil && !reflect.DeepEqual(runs, want) {
			t.Errorf("bit %d was flipped, and other runs were accepted", bit)
		}
	}
	for n := range 40 {
		if _, err := Read(bytes.NewReader(good[:len(good)-1-n*len(good)/41])); err == nil {
			t.Errorf("without the last %d bytes it was accepted", 1+n*len(good)/41)
		}
	}
	for _, more := range [][]byte{{0}, []byte("x"), good} {
		if _, err := Read(bytes.NewReader(append(bytes.Clone(good), more...))); err == nil {
			t.Errorf("%d bytes after the end were accepted", len(more))
		}
	}
}
