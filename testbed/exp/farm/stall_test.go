// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/result"
)

// A run that hangs at a worker which sends life signs is given to another worker. If it
// hangs there too, the run fails, with both workers and causes. A run that hangs once has
// a result. A run that cannot be stopped ends its worker.
func TestRunThatHangsEnds(t *testing.T) {
	for _, tt := range []struct {
		name        string
		hangs       int  // of how many workers
		stops       bool // when cancelled
		wantText    []string
		wantAnswers string // to the message, at each delivery
	}{
		{"once", 1, true, nil, "[term] [term] [ack]"},
		{"at two workers", 2, true, []string{"the run hung at 2 workers: ", "no progress for 7m0s: before virtual time began; --stall sets the limit; ", "testbed/exp/farm.TestRunThatHangsEnds"}, "[term] [term] [ack]"},
		{"without end", 2, false, []string{"the run hung at 2 workers: ", "the run cannot be stopped, and keeps its processor"}, "[term] [term] [ack]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, b := farmInMemory()
				end := make(chan struct{})
				made := 0
				b.w.make = func(ctx context.Context, j *job) (string, *exp.Record, error) {
					made++
					if made > tt.hangs {
						return "a run", &exp.Record{Key: j.Key, Build: "b", Run: &result.Run{}}, nil
					}
					if tt.stops {
						<-ctx.Done()
						return "a run", nil, ctx.Err()
					}
					<-end
					return "a run", nil, nil
				}
				text, err := json.Marshal(job{Key: "k", Try: "this", Stall: 7 * time.Minute})
				if err != nil {
					t.Fatal(err)
				}
				var answers []string
				for range 3 { // Make queues a terminated job again
					m := &message{subject: f.subject("k"), data: secret.sign("b", "job", "k", text)}
					begun := time.Now()
					b.handle(t.Context(), m)
					if took := time.Since(begun); took > 8*time.Minute {
						t.Errorf("a worker was busy for %v", took)
					}
					answers = append(answers, fmt.Sprint(m.answers))
					if b.leftBehind() != nil == tt.stops {
						t.Errorf("runs that cannot be stopped: %v", b.leftBehind())
					}
				}
				if got := strings.Join(answers, " "); got != tt.wantAnswers || made != 2 {
					t.Errorf("%d runs, answers %v; want 2 and %v", made, got, tt.wantAnswers)
				}
				close(end)
				rec, err := f.result(t.Context(), exp.Job{Key: "k"}, "this")
				if (rec != nil) != (tt.wantText == nil) {
					t.Errorf("result %v, error %v", rec, err)
				}
				for _, want := range tt.wantText {
					if !strings.Contains(fmt.Sprint(err), want) {
						t.Errorf("error %v\nwant: %s", err, want)
					}
				}
				// Another request has nothing to do with these hangs.
				if rec, err := f.result(t.Context(), exp.Job{Key: "k"}, "another"); tt.wantText != nil && (rec != nil || err != nil) {
					t.Errorf("another request: %v, %v", rec, err)
				}
			})
		})
	}
}
