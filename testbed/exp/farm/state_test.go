// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"context"
	"fmt"
	"maps"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// state describes a farm that does not finish: what it waits for, what the server
// has of it, and what this process does.
func (f *Farm) state() string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var b strings.Builder
	f.mu.Lock()
	fmt.Fprintf(&b, "connection: %v, last error %v\nwaiting for results of %q\n", f.nc.Status(), f.nc.LastError(), slices.Sorted(maps.Keys(f.waiting)))
	f.mu.Unlock()
	for _, name := range []string{"pauseless_jobs", "OBJ_pauseless_plans", "OBJ_pauseless_results", "KV_pauseless_failed", "KV_pauseless_builds"} {
		s, err := f.js.Stream(ctx, name)
		if err != nil {
			fmt.Fprintf(&b, "stream %s: %v\n", name, err)
			continue
		}
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(">"))
		if err != nil {
			fmt.Fprintf(&b, "stream %s: %v\n", name, err)
			continue
		}
		fmt.Fprintf(&b, "stream %s: messages %d, first %d, last %d\n", name, info.State.Msgs, info.State.FirstSeq, info.State.LastSeq)
		for _, subject := range slices.Sorted(maps.Keys(info.State.Subjects)) {
			fmt.Fprintf(&b, "\t%d of %s\n", info.State.Subjects[subject], subject)
			if strings.Contains(subject, ".M.") {
				m, err := s.GetLastMsgForSubject(ctx, subject)
				if err != nil {
					fmt.Fprintf(&b, "\t\t%v\n", err)
					continue
				}
				fmt.Fprintf(&b, "\t\t%s\n", m.Data)
			}
		}
		consumers := s.ListConsumers(ctx)
		for c := range consumers.Info() {
			fmt.Fprintf(&b, "\tconsumer %s: waiting requests %d, undelivered %d, unacknowledged %d, delivered again %d, last delivered %+v, acknowledged up to %+v\n",
				c.Name, c.NumWaiting, c.NumPending, c.NumAckPending, c.NumRedelivered, c.Delivered, c.AckFloor)
		}
		if err := consumers.Err(); err != nil {
			fmt.Fprintf(&b, "\tconsumers: %v\n", err)
		}
	}
	pprof.Lookup("goroutine").WriteTo(&b, 1)
	return b.String()
}
