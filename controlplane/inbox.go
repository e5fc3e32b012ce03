// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"iter"
	"sync"
)

// inboxSize is the number of messages that may wait for each consumer.
const inboxSize = 4096

// inbox distributes the messages of a stream to consumers. Each consumer gets all
// messages from the time that it subscribed. A slow consumer loses the newest
// messages, and never blocks the stream.
type inbox[T any] struct {
	mu     sync.Mutex
	subs   map[*subscriber[T]]bool
	closed bool
}

type subscriber[T any] struct {
	ch      chan T
	dropped int // since the last report
}

// put passes v to all consumers. It returns the number of messages dropped since
// the last report, if that is to be reported now: when there is room again, or
// when inboxSize messages are lost.
func (b *inbox[T]) put(v T) (dropped int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subs {
		select {
		case s.ch <- v:
			dropped += s.dropped
			s.dropped = 0
		default:
			s.dropped++
			if s.dropped == inboxSize {
				dropped += s.dropped
				s.dropped = 0
			}
		}
	}
	return dropped
}

func (b *inbox[T]) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for s := range b.subs {
		close(s.ch)
	}
	b.subs = nil
}

// subscribe starts to collect messages at once. The result yields them until ctx
// is done or the inbox is closed.
func (b *inbox[T]) subscribe(ctx context.Context) iter.Seq[T] {
	s := &subscriber[T]{ch: make(chan T, inboxSize)}
	b.mu.Lock()
	if b.closed {
		close(s.ch)
	} else {
		if b.subs == nil {
			b.subs = make(map[*subscriber[T]]bool)
		}
		b.subs[s] = true
	}
	b.mu.Unlock()
	return func(yield func(T) bool) {
		defer func() {
			b.mu.Lock()
			delete(b.subs, s)
			b.mu.Unlock()
		}()
		for {
			select {
			case <-ctx.Done():
				return
			case v, ok := <-s.ch:
				if !ok || !yield(v) {
					return
				}
			}
		}
	}
}
