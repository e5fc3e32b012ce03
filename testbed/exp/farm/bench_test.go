// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// Jobs that do nothing, from the queue to a worker and their results back: what
// the server and we need for each.
func BenchmarkEmptyJobs(b *testing.B) {
	s := serve(b, b.TempDir(), server.RANDOM_PORT)
	defer s.Shutdown()
	f := offer(b, "nats://"+s.Addr().String())
	ctx := context.Background()
	cons, err := f.jobs.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "empty", FilterSubject: f.subject("*"), AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Minute, MaxAckPending: -1,
	})
	if err != nil {
		b.Fatal(err)
	}
	record := make([]byte, 10<<10)
	work, err := cons.Consume(func(m jetstream.Msg) {
		if _, err := f.results.PutBytes(ctx, string(m.Data()), record); err != nil {
			m.Nak()
			return
		}
		m.Ack()
	})
	if err != nil {
		b.Fatal(err)
	}
	defer work.Stop()
	slots := make(chan struct{}, manyJobs)
	b.ResetTimer()
	for i := range b.N {
		key := "k" + time.Duration(i).String()
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			news := make(chan struct{})
			f.mu.Lock()
			f.waiting[key] = append(f.waiting[key], news)
			f.mu.Unlock()
			if _, err := f.js.Publish(ctx, f.subject(key), []byte(key)); err != nil {
				b.Error(err)
				return
			}
			for {
				select {
				case <-news:
				case <-time.After(f.lease):
				}
				if _, err := f.results.GetBytes(ctx, key); err == nil {
					break
				}
			}
			f.results.Delete(ctx, key)
		}()
	}
	for range manyJobs {
		slots <- struct{}{}
	}
	b.StopTimer()
	info, err := f.jobs.Info(ctx)
	if err != nil {
		b.Fatal(err)
	}
	if info.State.Msgs != 0 {
		b.Errorf("%d jobs are left", info.State.Msgs)
	}
}

const manyJobs = 100
