// SPDX-License-Identifier: Apache-2.0

// Package result has the results of experiments: a Run, with its summary, flows, time lines
// and registers, and an Outcome, with the values of metrics by arm, point and seed. What
// follows from the values is computed: statistics (stats.go), verdicts (verdict.go) and
// premises (premise.go). The package writes results as JSON, CSV and Parquet, and prints
// tables; package report draws them.
package result

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Run is one arm at one point of a scenario with one seed.
type Run struct {
	Scenario string   `json:"scenario"`
	Profile  string   `json:"profile"`
	Arm      string   `json:"arm,omitempty"`
	Point    []string `json:"point,omitempty"` // value on each axis
	Seed     uint64   `json:"seed"`
	// Partial is true if the run was stopped before its end.
	Partial bool `json:"partial,omitempty"`
	// Cut is true if the time was up before all measured flows had ended.
	Cut bool `json:"cut,omitempty"`
	// Stuck has flows that could not proceed, which ended the run.
	Stuck []Stuck `json:"stuck,omitempty"`
	// Window is the window in which measured flows started; nil without one.
	Window  *Window `json:"window,omitempty"`
	Steady  *Steady `json:"steady,omitempty"`
	Summary Summary `json:"summary"`
	// Metrics are the numbers by which arms are compared, by name. Undefined ones
	// are missing.
	Metrics map[string]float64 `json:"metrics,omitempty"`
	// Links are the links that were paused within the window.
	Links []LinkPauses `json:"links,omitempty"`
	Flows []Flow       `json:"flows"`
	// Collectives and Jobs are those of the traffic's collectives.
	Collectives []Collective `json:"collectives,omitempty"`
	Jobs        []Job        `json:"jobs,omitempty"`
	Lines       []Line       `json:"lines,omitempty"`
	// Rates are the acknowledged bytes of measured flows over time, if there are few
	// flows.
	Rates []Line `json:"rates,omitempty"`
	// Watched are the registers that the scenario watches, over time: for each switch
	// the sum of an array's cells, or the largest if they are times.
	Watched   []Line     `json:"watched,omitempty"`
	Pauses    []Pause    `json:"pauses,omitempty"`
	Registers []Register `json:"registers,omitempty"`
	Network   *Network   `json:"network,omitempty"`
	// RegistersOver is the interface that the registers were read over; empty
	// means P4Runtime.
	RegistersOver string `json:"registers_over,omitempty"`
	// Causes are why links were paused, if somebody asked.
	Causes *Causes `json:"causes,omitempty"`
	// Packets are the series of single packets, and Unmet is what the scenario expects of
	// packets and is not true.
	Packets []PacketSeries `json:"packets,omitempty"`
	Unmet   []string       `json:"unmet,omitempty"`
	// Remarks are circumstances that make the run less reliable.
	Remarks []string `json:"remarks,omitempty"`
	// SHA256 is the checksum of all else, in a file that WriteJSON has written.
	SHA256 string `json:"sha256,omitempty"`
	// Raw is the argument of Collect, for other formats.
	Raw *fabric.Results `json:"-"`
}

// Summary is a run in numbers. Times are in microseconds. Files have no times and
// slowdowns of flows if none has finished.
type Summary struct {
	EndUS       float64 `json:"end_us"` // virtual time of the run
	Flows       int     `json:"flows"`
	Finished    int     `json:"finished"`
	AvgFCTUS    float64 `json:"avg_fct_us,omitempty"`
	P99FCTUS    float64 `json:"p99_fct_us,omitempty"`
	AvgSlowdown float64 `json:"avg_slowdown,omitempty"`
	P99Slowdown float64 `json:"p99_slowdown,omitempty"`
	// Packets are the data packets of the flows, Sent those that hosts sent,
	// Resent the retransmissions among these.
	Packets int64 `json:"packets"`
	Sent    int64 `json:"sent"`
	Resent  int64 `json:"resent"`
	// PauseFrames counts PAUSE frames; PausedUS is the paused time, summed over
	// all ports and classes.
	PauseFrames uint64  `json:"pause_frames"`
	PausedUS    float64 `json:"paused_us"`
	Stalled     int     `json:"stalled_flows"` // paused at least once
	// OutOfOrder counts packets that were not the next of their flow. Their degree
	// is the number of packets between the next one and them.
	OutOfOrder uint64 `json:"out_of_order"`
	DegreeP99  int64  `json:"degree_p99"`
	DegreeMax  int64  `json:"degree_max"`
	CNPs       uint64 `json:"cnps"`
	Timeouts   uint64 `json:"timeouts"`
	Dropped    uint64 `json:"dropped"` // of lossless classes; must be zero
	Hops       uint64 `json:"hops"`    // switch traversals
	// MaxQueue is the greatest length of an egress queue in bytes.
	MaxQueue int64 `json:"max_queue_bytes"`
	// ShortP95US is the 95th percentile of the FCT of flows below 100 KB.
	ShortP95US float64 `json:"short_p95_fct_us,omitempty"`
	// Coflows counts coflows whose flows have all finished; AvgCCTUS is the mean
	// time from the start of their first flow to the end of their last.
	Coflows  int     `json:"coflows,omitempty"`
	AvgCCTUS float64 `json:"avg_cct_us,omitempty"`
	// Scheme has the counters of the profile's program by name, summed over all
	// switches.
	Scheme map[string]uint64 `json:"scheme,omitempty"`
}

// Flow is a finished or unfinished flow. Times are in nanoseconds.
type Flow struct {
	Src        string `json:"src"`
	Dst        string `json:"dst"`
	Bytes      int64  `json:"bytes"`
	StartNS    int64  `json:"start_ns"`
	FCTNS      int64  `json:"fct_ns"` // zero: not finished
	IdealNS    int64  `json:"ideal_ns"`
	OutOfOrder int64  `json:"out_of_order"` // packets
	Degree     int64  `json:"degree"`       // maximum distance to the expected packet, in packets
	Resent     int64  `json:"resent"`       // retransmissions
	Stalled    bool   `json:"stalled"`      // a packet waited because of PFC
	Coflow     uint32 `json:"coflow,omitempty"`
	Part       int    `json:"part,omitempty"` // of the traffic, from 1
}

// Stuck is a flow that cannot proceed.
type Stuck struct {
	Src     string `json:"src"`
	Dst     string `json:"dst"`
	Bytes   int64  `json:"bytes"`
	StartNS int64  `json:"start_ns"`
	Acked   int64  `json:"acked"` // bytes
	Reason  string `json:"reason"`
	// Deadlock is true if the flow waits for a cycle of paused ports, which has
	// lasted since SinceNS.
	Deadlock bool  `json:"deadlock,omitempty"`
	SinceNS  int64 `json:"since_ns,omitempty"`
}

// String names the flow and the reason.
func (s *Stuck) String() string {
	return fmt.Sprintf("%s to %s, %d bytes started at %.3f ms, %d of them acknowledged: %s", s.Src, s.Dst, s.Bytes, float64(s.StartNS)/1e6, s.Acked, s.Reason)
}

// Window is the time in which measured flows started, in nanoseconds.
type Window struct {
	FromNS  int64 `json:"from_ns"`
	UntilNS int64 `json:"until_ns"`
}

// Label names the run among others of its scenario: its arm and its point.
func (r *Run) Label() string {
	return strings.Join(append([]string{cmp.Or(r.Arm, r.Profile)}, r.Point...), ", ")
}

// Line is a quantity over time.
type Line struct {
	Name string   `json:"name"` // as "l1 port 5 egress queue"
	Unit string   `json:"unit"`
	Node string   `json:"node"`
	Port int      `json:"port"`
	TNS  []int64  `json:"t_ns"`
	V    []uint64 `json:"v"`
}

// Pause is an interval in which a class of a port was paused.
type Pause struct {
	Node    string `json:"node"` // of the paused port
	Port    int    `json:"port"`
	Class   uint8  `json:"class"`
	StartNS int64  `json:"start_ns"`
	EndNS   int64  `json:"end_ns"`
}

// Register is a register array of a switch as the controller read it.
type Register struct {
	Switch string   `json:"switch"`
	Name   string   `json:"name"`
	TNS    int64    `json:"t_ns"`
	Unit   string   `json:"unit,omitempty"`
	Index  string   `json:"index,omitempty"`
	Values []uint64 `json:"values"`
}

// Collect makes a Run of the fabric's results, without lines and registers. Flows,
// their summary and jobs are the measured ones, or all of them if measured is nil.
func Collect(t *topo.Topology, r *fabric.Results, hops uint64, measured func(*fabric.FlowResult) bool) *Run {
	run := &Run{Raw: r, Network: NewNetwork(t), Summary: Summary{
		EndUS: r.End.Microseconds(), DegreeP99: r.Degree.Quantile(0.99),
		DegreeMax: r.Degree.Quantile(1), CNPs: r.CNPs, Timeouts: r.Timeouts, Dropped: r.Dropped, Hops: hops,
	}}
	s := &run.Summary
	fct, slow, short := make([]float64, 0, len(r.Flows)), make([]float64, 0, len(r.Flows)), []float64(nil)
	coflows := make(map[uint32]*coflow)
	for i := range r.Flows {
		f := &r.Flows[i]
		if measured != nil && !measured(f) {
			continue
		}
		s.Flows++
		s.OutOfOrder += uint64(f.OutOfOrder)
		if f.Coflow != 0 {
			c := coflows[f.Coflow]
			if c == nil {
				c = &coflow{start: f.Start}
				coflows[f.Coflow] = c
			}
			c.start, c.end = min(c.start, f.Start), max(c.end, f.Start+f.FCT)
			c.open = c.open || !f.Finished
		}
		if f.Finished && f.Size < shortFlow {
			short = append(short, f.FCT.Microseconds())
		}
		if run.Flows == nil {
			run.Flows = make([]Flow, 0, len(r.Flows)-i)
		}
		run.Flows = append(run.Flows, Flow{
			Src: t.Nodes[f.Src].Name, Dst: t.Nodes[f.Dst].Name, Bytes: f.Size, StartNS: f.Start.Nanoseconds(),
			FCTNS: f.FCT.Nanoseconds(), IdealNS: f.Ideal.Nanoseconds(), OutOfOrder: f.OutOfOrder, Degree: f.Degree,
			Resent: f.Resent, Stalled: f.Stalled, Coflow: f.Coflow, Part: f.Group,
		})
		s.Packets += f.Packets
		s.Sent += f.Sent
		s.Resent += f.Resent
		if f.Stalled {
			s.Stalled++
		}
		if f.Finished {
			s.Finished++
			fct = append(fct, f.FCT.Microseconds())
			slow = append(slow, f.Slowdown())
		}
	}
	var took []float64
	for _, c := range coflows {
		if !c.open {
			took = append(took, (c.end - c.start).Microseconds())
		}
	}
	slices.Sort(took) // rounding depends on the order, which a map does not define
	s.Coflows, s.AvgCCTUS = len(took), Mean(took)
	s.AvgFCTUS, s.P99FCTUS, s.ShortP95US = Mean(fct), Quantile(fct, 0.99), Quantile(short, 0.95)
	s.AvgSlowdown, s.P99Slowdown = Mean(slow), Quantile(slow, 0.99)
	for i := range r.Ports {
		s.PauseFrames += r.Ports[i].Pauses
		for _, p := range r.Ports[i].Paused {
			s.PausedUS += p.Microseconds()
		}
	}
	run.Pauses = Pauses(t, r)
	for i := range r.Plans {
		if !measures(measured, &r.Plans[i], r) {
			continue
		}
		run.Collectives = append(run.Collectives, collectives(&r.Plans[i])...)
		j := jobOf(&r.Plans[i])
		j.Lines, j.Last = rankLines(t, &r.Plans[i], r), lastOf(t, &r.Plans[i], r, run.Pauses)
		run.Jobs = append(run.Jobs, j)
	}
	return run
}

// shortFlow is the size in bytes below which a flow counts as short.
const shortFlow = 100_000

// coflow has the start of a coflow's first flow and the end of its last.
type coflow struct {
	start, end vtime.Time
	open       bool // some flow is not finished
}

// Pauses joins PAUSE and RESUME frames to intervals.
func Pauses(t *topo.Topology, r *fabric.Results) []Pause {
	type key struct {
		node, port int
		class      uint8
	}
	type span struct{ start, until vtime.Time }
	open := make(map[key]span)
	var out []Pause
	end := func(k key, s span, at vtime.Time) {
		out = append(out, Pause{t.Nodes[k.node].Name, k.port, k.class, s.start.Nanoseconds(), at.Nanoseconds()})
		delete(open, k)
	}
	for _, e := range r.Pauses {
		k := key{e.Node, e.Port, e.Class}
		s, on := open[k]
		if on && s.until < e.Time {
			end(k, s, s.until)
			on = false
		}
		link := t.Links[t.Nodes[e.Node].Ports[e.Port-1].Link]
		switch until := e.Time + link.Rate.TxTime(int(e.Quanta)*64); {
		case e.Quanta == 0 && on:
			end(k, s, e.Time)
		case e.Quanta > 0 && on:
			open[k] = span{s.start, until}
		case e.Quanta > 0:
			open[k] = span{e.Time, until}
		}
	}
	for k, s := range open {
		out = append(out, Pause{t.Nodes[k.node].Name, k.port, k.class, s.start.Nanoseconds(), min(s.until, r.End).Nanoseconds()})
	}
	slices.SortFunc(out, func(a, b Pause) int {
		return cmp.Or(cmp.Compare(a.StartNS, b.StartNS), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Class, b.Class))
	})
	return out
}

// Mean returns the average of v, or zero if there are none.
func Mean(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	var sum float64
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// Quantile returns the q-quantile of v by nearest rank, or zero if v is empty. It
// sorts v.
func Quantile(v []float64, q float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	rank := int(math.Ceil(q * float64(len(v))))
	return v[min(max(rank, 1), len(v))-1]
}

// WriteJSON writes runs as an indented JSON array, with the checksum of each.
func WriteJSON(w io.Writer, runs []*Run) error {
	sealed := make([]*Run, len(runs))
	for i, r := range runs {
		c := *r
		var err error
		if c.SHA256, err = r.sum(); err != nil {
			return err
		}
		sealed[i] = &c
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	return enc.Encode(sealed)
}

// sum returns the SHA-256 of a run's values in hexadecimal: of its JSON without white
// space and checksum.
func (r *Run) sum() (string, error) {
	c := *r
	c.SHA256 = ""
	text, err := json.Marshal(&c)
	// What is no UTF-8 is written as an escape, and read as a letter.
	sum := sha256.Sum256(bytes.ReplaceAll(text, []byte(`\ufffd`), []byte("\ufffd")))
	return hex.EncodeToString(sum[:]), err
}

// ReadJSON reads the JSON that WriteJSON writes. It returns an error for unknown
// fields, and for values that have another checksum. Runs without one are accepted.
func ReadJSON(r io.Reader) ([]*Run, error) {
	var runs []*Run
	if err := infile.JSONFrom(r, &runs, infile.DisallowUnknownFields); err != nil {
		return nil, err
	}
	if slices.Contains(runs, nil) {
		return nil, errors.New("one of the runs is null")
	}
	for i, r := range runs {
		sum, err := r.sum()
		if err != nil {
			return nil, err
		}
		if r.SHA256 != "" && r.SHA256 != sum {
			return nil, fmt.Errorf("run %d (%s, seed %d) is not as it was written: its checksum is another; copy the file again, or remove \"sha256\" if you have changed it on purpose", i+1, r.Label(), r.Seed)
		}
		r.SHA256 = ""
	}
	return runs, nil
}

// Watch adds a reading of a register array to lines of watched registers.
func Watch(lines []Line, node, name, unit string, tns int64, values []uint64) []Line {
	i := slices.IndexFunc(lines, func(l Line) bool { return l.Node == node && l.Name == node+" "+name })
	if i < 0 {
		i = len(lines)
		lines = append(lines, Line{Name: node + " " + name, Unit: unit, Node: node})
	}
	var sum uint64
	for _, v := range values {
		switch unit {
		case "us", "ns":
			sum = max(sum, v)
		default:
			sum += v
		}
	}
	l := &lines[i]
	l.TNS, l.V = append(l.TNS, tns), append(l.V, sum)
	return lines
}

// MarkedPackets is the name of the number of packets that receivers found marked.
const MarkedPackets = "marked_packets"

// Marked returns that number.
func Marked(r *fabric.Results) (n uint64) {
	for i := range r.Flows {
		n += uint64(r.Flows[i].Marked)
	}
	return n
}
