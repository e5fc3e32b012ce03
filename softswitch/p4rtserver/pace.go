// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/status"
)

// DefaultShare is Options.Share if that is zero.
const DefaultShare = 0.1

// What may be taken at once: primaries have time to write a million entries.
const (
	primaryBurst = 5 * time.Second
	otherBurst   = time.Second
)

// messageTime is what a bid counts, and each message of a controller that is not
// primary, about: decoding it, and an answer. By default
// that makes 5,000 a second.
const messageTime = 20 * time.Microsecond

// pace bounds the time that work of one kind takes of the processors. Packets
// wait where the garbage collector stops the world, so what is bounded is work,
// and the garbage that it makes with it.
type pace struct {
	share float64       // of a processor, in the long run
	burst time.Duration // that may be taken at once

	mu   sync.Mutex
	debt time.Duration // what was taken and not made up for
	at   time.Time     // when that was so
}

// spend adds to what was taken, and returns how long to wait until more may be.
func (p *pace) spend(d time.Duration) (wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.debt = max(0, p.debt-time.Duration(p.share*float64(now.Sub(p.at)))) + d
	p.at = now
	return time.Duration(float64(p.debt-p.burst) / p.share)
}

// wait returns when more may be taken, or with an error when ctx is done.
func (p *pace) wait(ctx context.Context) error {
	if p.share >= 1 {
		return nil
	}
	for d := p.spend(0); d > 0; d = p.spend(0) {
		t := time.NewTimer(d)
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return status.FromContextError(ctx.Err()).Err()
		}
	}
	return nil
}
