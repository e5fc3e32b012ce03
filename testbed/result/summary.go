// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"math"
	"slices"
)

// A SummaryMetric is a number of a Summary by which profiles are compared.
type SummaryMetric struct {
	Name  string // as in the JSON of a Summary
	Title string // in a sentence: "fewer …"
	Unit  string
	of    func(*Summary) float64
}

var metrics = []SummaryMetric{
	{"avg_fct_us", "average FCT", "us", func(s *Summary) float64 { return s.AvgFCTUS }},
	{"p99_fct_us", "p99 FCT", "us", func(s *Summary) float64 { return s.P99FCTUS }},
	{"short_p95_fct_us", "p95 FCT of flows below 100 KB", "us", func(s *Summary) float64 { return s.ShortP95US }},
	{"avg_slowdown", "average slowdown", "", func(s *Summary) float64 { return s.AvgSlowdown }},
	{"p99_slowdown", "p99 slowdown", "", func(s *Summary) float64 { return s.P99Slowdown }},
	{"avg_cct_us", "average coflow completion time", "us", func(s *Summary) float64 { return s.AvgCCTUS }},
	{"stalled_flows", "stalled flows", "", func(s *Summary) float64 { return float64(s.Stalled) }},
	{"pause_frames", "PAUSE frames", "", func(s *Summary) float64 { return float64(s.PauseFrames) }},
	{"paused_us", "paused time of all ports", "us", func(s *Summary) float64 { return s.PausedUS }},
	{"out_of_order", "out-of-order packets", "", func(s *Summary) float64 { return float64(s.OutOfOrder) }},
	{"degree_p99", "p99 out-of-order degree", "packets", func(s *Summary) float64 { return float64(s.DegreeP99) }},
	{"resent", "retransmissions", "", func(s *Summary) float64 { return float64(s.Resent) }},
	{"max_queue_bytes", "longest egress queue", "bytes", func(s *Summary) float64 { return float64(s.MaxQueue) }},
}

// Of returns the metric's value in a summary.
func (m SummaryMetric) Of(s *Summary) float64 { return m.of(s) }

// In reports whether a run's value is one of the metric: not if the run was stopped
// before its end and, for completion times, if flows were left, which are the slowest.
func (m SummaryMetric) In(r *Run) bool {
	return !r.Partial && !(needsAllFlows(m.Name) && (r.Cut || len(r.Stuck) > 0))
}

// SummaryMetrics returns the metrics of summaries in the order of display.
func SummaryMetrics() []SummaryMetric { return slices.Clone(metrics) }

// SummaryMetricOf returns a metric of summaries by name. It panics if there is
// none.
func SummaryMetricOf(name string) SummaryMetric {
	return metrics[slices.IndexFunc(metrics, func(m SummaryMetric) bool { return m.Name == name })]
}

// number prints a mean with four digits or all of its integer part.
func number(x float64) string {
	switch size := math.Abs(x); {
	case x == 0:
		return "0" // "0.00" is not zero, but less than 0.005
	case size >= 1000:
		return fmt.Sprintf("%.0f", x)
	case size >= 10:
		return fmt.Sprintf("%.1f", x)
	default:
		return fmt.Sprintf("%.2f", x)
	}
}
