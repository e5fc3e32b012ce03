// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// PacketSeries is the outcome of single packets that a host sent besides flows.
type PacketSeries struct {
	Name string `json:"name"`
	From string `json:"from"`
	Sent int    `json:"sent"`
	// Received counts the packets that hosts received, copies included, and Lost those of
	// which none did. Answered counts answers to pings.
	Received int `json:"received"`
	Lost     int `json:"lost"`
	Answered int `json:"answered,omitempty"`
	// Marked have ECN CE; OutOfOrder were received after a later one of their series.
	Marked     int `json:"marked"`
	OutOfOrder int `json:"out_of_order"`
	// DelayUS are the times from the sender's call to the last bit at the receiver.
	AvgUS float64 `json:"avg_us,omitempty"`
	P50US float64 `json:"p50_us,omitempty"`
	P99US float64 `json:"p99_us,omitempty"`
	MaxUS float64 `json:"max_us,omitempty"`
	// At are the hosts that received packets.
	At []PacketsAt `json:"at,omitempty"`
}

// PacketsAt counts the packets of a series at a host.
type PacketsAt struct {
	Host     string `json:"host"`
	Received int    `json:"received"`
}

// packetMetrics are the metrics of single packets; a selector is the name of a series.
var packetMetrics = []Metric{
	{Name: "packets_sent", Title: "single packets sent", series: true},
	{Name: "packets_received", Title: "single packets received", Better: "more", series: true},
	{Name: "packets_lost", Title: "single packets lost", Better: "less", series: true},
	{Name: "packets_answered", Title: "pings answered", Better: "more", series: true},
	{Name: "packets_marked", Title: "single packets with ECN CE", Better: "less", series: true},
	{Name: "packets_out_of_order", Title: "single packets out of order", Better: "less", series: true},
	{Name: "avg_packet_us", Title: "average delay of single packets", Unit: "us", Better: "less", series: true},
	{Name: "p99_packet_us", Title: "p99 delay of single packets", Unit: "us", Better: "less", series: true},
}

// measurePackets sets the metrics of single packets. A delay of all is the mean over series.
func measurePackets(list []PacketSeries, v map[string]float64) {
	if len(list) == 0 {
		return
	}
	set := func(selector string, s *PacketSeries) {
		v["packets_sent"+selector], v["packets_received"+selector] = float64(s.Sent), float64(s.Received)
		v["packets_lost"+selector], v["packets_answered"+selector] = float64(s.Lost), float64(s.Answered)
		v["packets_marked"+selector], v["packets_out_of_order"+selector] = float64(s.Marked), float64(s.OutOfOrder)
		if s.Received > 0 {
			v["avg_packet_us"+selector], v["p99_packet_us"+selector] = s.AvgUS, s.P99US
		}
	}
	var all PacketSeries
	for i := range list {
		s := &list[i]
		set("."+s.Name, s)
		all.Sent, all.Received, all.Lost, all.Answered = all.Sent+s.Sent, all.Received+s.Received, all.Lost+s.Lost, all.Answered+s.Answered
		all.Marked, all.OutOfOrder = all.Marked+s.Marked, all.OutOfOrder+s.OutOfOrder
		all.AvgUS += s.AvgUS * float64(s.Received)
		all.P99US = max(all.P99US, s.P99US)
	}
	if all.Received > 0 {
		all.AvgUS /= float64(all.Received)
	}
	set("", &all)
}

// packetTable prints the series of single packets of each run, and what was expected of
// them and is not true; after an empty line if something is before it.
func packetTable(w io.Writer, runs []*Run, after bool) error {
	if !slices.ContainsFunc(runs, func(r *Run) bool { return len(r.Packets) > 0 || len(r.Unmet) > 0 }) {
		return nil
	}
	lines := [][]string{{"packets", "run", "sent", "lost", "received by", "out of order", "marked", "delay avg, p99"}}
	for _, r := range runs {
		for i := range r.Packets {
			s := &r.Packets[i]
			var at []string
			for _, a := range s.At {
				at = append(at, fmt.Sprintf("%s %d", a.Host, a.Received))
			}
			delay := "-"
			if s.Received > 0 {
				delay = fmt.Sprintf("%.2f, %.2f µs", s.AvgUS, s.P99US)
			}
			if len(at) == 0 {
				at = []string{"-"}
			}
			lines = append(lines, []string{s.Name, fmt.Sprintf("%s, seed %d", r.Label(), r.Seed), fmt.Sprint(s.Sent), fmt.Sprint(s.Lost), strings.Join(at, ", "),
				fmt.Sprint(s.OutOfOrder), fmt.Sprint(s.Marked), delay})
		}
	}
	if after {
		fmt.Fprintln(w)
	}
	if err := align(w, lines); err != nil {
		return err
	}
	for _, r := range runs {
		for _, u := range r.Unmet {
			if _, err := fmt.Fprintf(w, "not as expected: %s, seed %d: %s\n", r.Label(), r.Seed, u); err != nil {
				return err
			}
		}
	}
	return nil
}

// OfPackets reports whether a metric is of single packets.
func OfPackets(name string) bool {
	base, _, _ := strings.Cut(name, ".")
	return slices.ContainsFunc(packetMetrics, func(m Metric) bool { return m.Name == base })
}
