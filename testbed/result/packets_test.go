// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"strings"
	"testing"
)

// A run that has single packets and no flows is about its packets.
func TestTableOfPacketsAlone(t *testing.T) {
	run := &Run{Profile: "mine", Seed: 1, Packets: []PacketSeries{{Name: "ping", From: "h1", Sent: 2, Received: 2, AvgUS: 3, P99US: 4, At: []PacketsAt{{"h2", 2}}}}}
	for _, c := range []struct {
		pauses uint64
		want   string
	}{
		{0, "packets run sent lost"},
		{3, "mine PAUSE frames 3 packets run sent lost"},
	} {
		run.Summary.PauseFrames = c.pauses
		var text bytes.Buffer
		if err := Table(&text, []*Run{run}); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(text.String()), " "); !strings.HasPrefix(got, c.want) || strings.Contains(got, "FCT") {
			t.Errorf("%d pauses:\n%s", c.pauses, got)
		}
	}
}
