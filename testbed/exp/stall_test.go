// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/vtime"
)

// A run is ended if its virtual time stands still for the limit, and not while it advances,
// however slowly. Calls without progress are none.
func TestRunsWithoutProgressEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got, err := Watched(t.Context(), time.Hour, func(ctx context.Context, progress func(fabric.Progress)) (int, error) {
			for i := range 10 {
				progress(fabric.Progress{Now: vtime.Time(i)})
				time.Sleep(55 * time.Minute)
			}
			return 7, ctx.Err()
		})
		if got != 7 || err != nil {
			t.Errorf("a slow run: %d, %v", got, err)
		}
		begun := time.Now()
		_, err = Watched(t.Context(), time.Hour, func(ctx context.Context, progress func(fabric.Progress)) (int, error) {
			for ctx.Err() == nil {
				progress(fabric.Progress{Now: 3 * vtime.Microsecond})
				time.Sleep(time.Second)
			}
			return 0, ctx.Err()
		})
		var stalled Stalled
		if !errors.As(err, &stalled) || stalled.Left || time.Since(begun) > 66*time.Minute {
			t.Fatalf("after %v: %v", time.Since(begun), err)
		}
		if !strings.Contains(err.Error(), "no progress for 1h0m0s: virtual time stands at 3us") || !strings.Contains(stalled.Stacks, "TestRunsWithoutProgressEnd") {
			t.Errorf("%v\n%s", err, stalled.Stacks)
		}
		want := errors.New("its own")
		if _, err := Watched(t.Context(), 0, func(context.Context, func(fabric.Progress)) (int, error) { return 0, want }); err != want {
			t.Error(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := Watched(ctx, 0, func(ctx context.Context, _ func(fabric.Progress)) (int, error) { <-ctx.Done(); return 0, ctx.Err() }); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}
