// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"context"
	"fmt"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

// BenchmarkW1 runs benchmark W1 with a plain switch in Go. It measures the cost of
// hosts, links and engine.
func BenchmarkW1(b *testing.B) {
	for _, threads := range []int{1, 2} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			for range b.N {
				f := w1(b, threads, 0, nil)
				for !f.Done() {
					if err := f.RunUntil(context.Background(), f.Now()+vtime.Millisecond); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(f.Progress().Hops), "ns/hop")
			}
		})
	}
}
