// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/vtime"
)

// DefaultStall is the time without progress after which a run is ended.
const DefaultStall = 15 * time.Minute

// Stalled is the error of a run whose virtual time has stood still for too long.
type Stalled struct {
	For    time.Duration // how long
	At     vtime.Time    // where virtual time stood; -1 if it had not begun
	Left   bool          // the run did not end when it was cancelled; it may still use a processor
	Stacks string        // what its goroutines did
}

func (e Stalled) Error() string {
	at := "before virtual time began"
	if e.At >= 0 {
		at = fmt.Sprintf("virtual time stands at %v", e.At)
	}
	text := fmt.Sprintf("no progress for %v: %s; --stall sets the limit", e.For, at)
	if e.Left {
		text += "; the run cannot be stopped, and keeps its processor until the process ends"
	}
	return text
}

// Watched calls do, which makes a run and reports its progress. If virtual time does not
// advance for the time limit, the context of do is cancelled, and the error is Stalled. It
// returns even if do does not. Time in which this process was stopped does not count.
// A limit of zero is DefaultStall.
func Watched[R any](ctx context.Context, limit time.Duration, do func(ctx context.Context, progress func(fabric.Progress)) (R, error)) (R, error) {
	const looks = 20
	if limit == 0 {
		limit = DefaultStall
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var now atomic.Int64
	now.Store(-1)
	type end struct {
		made     R
		err      error
		panicked any
	}
	ended := make(chan end, 1)
	name := fmt.Sprintf("%p", &now)
	go pprof.Do(ctx, pprof.Labels("run", name), func(ctx context.Context) {
		var e end
		defer func() {
			e.panicked = recover()
			ended <- e
		}()
		e.made, e.err = do(ctx, func(p fabric.Progress) { now.Store(int64(p.Now)) })
	})
	result := func(e end) (R, error) {
		if e.panicked != nil {
			panic(e.panicked)
		}
		return e.made, e.err
	}
	tick := time.NewTicker(max(limit/looks, 1))
	defer tick.Stop()
	last, same := now.Load(), 0
	for same < looks {
		select {
		case e := <-ended:
			return result(e)
		case <-tick.C: // one after a pause of the process, however long
			if at := now.Load(); at != last {
				last, same = at, 0
			} else {
				same++
			}
		}
	}
	stalled := Stalled{For: limit, At: vtime.Time(last), Stacks: stacks(name)}
	cancel()
	select {
	case e := <-ended:
		if e.err == nil && e.panicked == nil {
			return e.made, nil // it has just finished
		}
	case <-time.After(limit / looks):
		stalled.Left = true
	}
	var none R
	return none, stalled
}

// stacks returns what the goroutines with a label do.
func stacks(label string) string {
	var all bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&all, 1)
	var mine []string
	for _, part := range strings.Split(all.String(), "\n\n") {
		if strings.Contains(part, `"run":"`+label+`"`) {
			mine = append(mine, part)
		}
	}
	return strings.Join(mine, "\n\n")
}
