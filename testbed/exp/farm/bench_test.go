// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"context"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/result"
)

// BenchmarkEmptyJobs measures the cost of a job without its run, from Make to a
// worker and back over NATS. A thousand jobs are queued at a time. Results have
// 10 KB, as those of small runs.
func BenchmarkEmptyJobs(b *testing.B) {
	s := serve(b, b.TempDir(), server.RANDOM_PORT)
	defer s.Shutdown()
	url := "nats://" + s.Addr().String()
	f := offer(b, url, 30*time.Second)
	p := plan(b, tiny)
	ctx, cancel := context.WithCancel(context.Background())
	at, err := Connect(ctx, Options{Secret: secret, URL: url})
	if err != nil {
		b.Fatal(err)
	}
	defer at.Close()
	text := strings.Repeat("0123456789abcdef", 640)
	var work sync.WaitGroup
	work.Go(func() {
		if err := at.Work(ctx, Worker{Parallel: 8, make: func(_ context.Context, j *job) (string, *exp.Record, error) {
			return "", &exp.Record{Key: j.Key, Build: exp.Version(), Run: &result.Run{Profile: text, Seed: j.Seed}}, nil
		}}); err != nil {
			b.Error(err)
		}
	})
	begun := processor()
	b.ResetTimer()
	jobs := make(chan exp.Job)
	var ask sync.WaitGroup
	for range 1000 {
		ask.Go(func() {
			for j := range jobs {
				rec, err := f.Make(ctx, p, j, func(string) {})
				if err != nil || rec.Key != j.Key {
					b.Errorf("seed %d: record %v, error %v", j.Seed, rec, err)
					continue
				}
				f.Kept(ctx, j)
			}
		})
	}
	for i := range b.N {
		jobs <- p.Job(0, uint64(i))
	}
	close(jobs)
	ask.Wait()
	b.StopTimer()
	b.ReportMetric(float64(processor()-begun)/float64(b.N)/1e6, "cpu-ms/op")
	cancel()
	work.Wait()
	info, err := f.jobs.Info(context.Background())
	if err != nil {
		b.Fatal(err)
	}
	if info.State.Msgs != 0 {
		b.Errorf("%d jobs are left", info.State.Msgs)
	}
}

// processor returns the processor time of this process, which unlike elapsed time
// does not depend on the machine's other load.
func processor() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
