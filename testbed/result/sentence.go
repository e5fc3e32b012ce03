// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// comparatives are the words for less and more of metrics, by their names without
// selectors. Of others a time is shorter or longer, and a size, a share or a rate lower or
// higher.
var comparatives = func() map[string][2]string {
	words := map[string][2]string{
		"completion_us": {"earlier", "later"}, "incast_last_us": {"earlier", "later"}, "deadlock_us": {"earlier", "later"},
		"tree_links": {"fewer", "more"}, "deadlocked": {"less often", "more often"}, "postcards_per_flow": {"fewer", "more"},
		"max_queue_bytes": {"shorter", "longer"}, "avg_queue_bytes": {"shorter", "longer"},
	}
	for _, name := range []string{
		"flows", "finished", "stuck_flows", "stalled_flows", "pause_frames", "storms", "roots", "victims", "out_of_order", "resent", "resent_nak", "resent_timeout",
		"resent_selective", "timeouts", "cnps", "dropped", "trimmed", "trims_dropped", "overflowed", "hops", "packets_sent", "packets_received", "packets_lost",
		"packets_answered", "packets_marked", MarkedPackets, "packets_out_of_order",
	} {
		words[name] = [2]string{"fewer", "more"}
	}
	return words
}()

// comparative returns the word for less or more of a metric: "fewer" PAUSE frames.
func comparative(key, metric string) string {
	base, _, _ := strings.Cut(metric, ".")
	m, known := MetricOf(metric)
	words, ok := comparatives[base]
	switch {
	case ok:
	case !known: // counters of programs
		words = [2]string{"fewer", "more"}
	case m.Unit == "us":
		words = [2]string{"shorter", "longer"}
	default:
		words = [2]string{"lower", "higher"}
	}
	if key == "more" {
		return words[1]
	}
	return words[0]
}

// titleOf returns the title of a metric, or of a counter of a program.
func titleOf(metric string) string {
	if m, ok := MetricOf(metric); ok {
		return m.Title
	}
	return strings.ReplaceAll(metric, "_", " ")
}

// Sentence returns the claim as text: "average FCT: shorter with rlb-drill than with
// drill".
func (c *Claim) Sentence() string {
	key, metric := c.Relation()
	title, word := titleOf(metric), comparative(key, metric)
	at := ""
	for _, axis := range slices.Sorted(maps.Keys(c.ThanAt)) {
		at += fmt.Sprintf(" at %s %s", axis, c.ThanAt[axis])
	}
	number, isNumber := c.Number()
	switch {
	case key == "same" && isNumber:
		return fmt.Sprintf("%s: %s with %s", title, c.Than, c.With)
	case key == "same":
		return fmt.Sprintf("%s: the same with %s as with %s%s", title, c.With, c.Than, at)
	case key == "less" && number == 1 && isNumber && isCount(metric):
		return fmt.Sprintf("%s: none with %s", title, c.With)
	case isNumber:
		return fmt.Sprintf("%s: %s than %s with %s", title, word, c.Than, c.With)
	}
	return fmt.Sprintf("%s: %s with %s than with %s%s", title, word, c.With, c.Than, at)
}
