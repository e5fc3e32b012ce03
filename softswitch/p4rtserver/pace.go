// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc/status"
)

// DefaultShare is the default of Options.Share.
const DefaultShare = 0.1

// Processor time for bursts of calls: enough for primaries to write a million
// entries.
const (
	primaryBurst = 5 * time.Second
	otherBurst   = time.Second
)

// messageTime is the charge for an arbitration update, and for each message of
// a controller that is not primary: about the time of decoding it and
// answering. By default it permits 5,000 such messages per second.
const messageTime = 20 * time.Microsecond

// pace is a token bucket of processor time for one kind of work. Packets wait while
// the garbage collector stops the world, so it limits the work that makes garbage.
type pace struct {
	share float64       // of a processor, long-term average
	burst time.Duration // maximum burst

	mu   sync.Mutex
	debt time.Duration // time taken and not yet regained
	at   time.Time     // when debt was computed
}

// spend charges time, and returns the delay before the next work.
func (p *pace) spend(d time.Duration) (wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.debt = max(0, p.debt-time.Duration(p.share*float64(now.Sub(p.at)))) + d
	p.at = now
	return time.Duration(float64(p.debt-p.burst) / p.share)
}

// wait waits until the next work may begin. It returns an error if ctx is
// cancelled.
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
