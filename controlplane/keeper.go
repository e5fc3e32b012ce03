// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Keeper keeps the switches of a fabric as desired: whenever this controller
// becomes primary, a switch comes back, the desired state changes or someone
// else has written, it applies the difference. Its sessions may be backups;
// it touches only switches of which they are the primary.
type Keeper struct {
	// Digest, if set before Run, is given every digest of the switches that
	// this controller is the primary of.
	Digest func(s *Session, d Digest)

	fabric *Fabric
	audit  time.Duration
	slots  chan struct{}

	mu      sync.Mutex
	desired map[string]*wanted
	keeping context.Context // of Run; nil before and after
	work    sync.WaitGroup
}

// wanted is the desired state of one switch.
type wanted struct {
	Desired
	session *Session
	stop    context.CancelFunc // nil while it is not kept
	done    chan struct{}      // closed when it is not kept any more
	version int                // 0: nothing is desired yet
	changed chan struct{}      // closed when a newer version is there
	kept    int                // version that the switch was last seen to have
	err     error              // why it does not have the newest
}

// NewKeeper returns a Keeper that keeps nothing yet. It looks for what others have
// written every audit; zero means every 10 s, below zero never.
func NewKeeper(f *Fabric, audit time.Duration) *Keeper {
	if audit == 0 {
		audit = 10 * time.Second
	}
	k := &Keeper{fabric: f, audit: audit, slots: make(chan struct{}, maxAtOnce), desired: make(map[string]*wanted)}
	for _, s := range f.Sessions() {
		k.Take(s)
	}
	return k
}

// Take looks after one more switch of the fabric.
func (k *Keeper) Take(s *Session) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := &wanted{session: s, changed: make(chan struct{})}
	k.desired[s.Name()] = w
	k.begin(w)
}

// Leave forgets a switch by name, and returns when nothing is done to it any
// more. It stays as it is.
func (k *Keeper) Leave(name string) {
	k.mu.Lock()
	w := k.desired[name]
	delete(k.desired, name)
	k.mu.Unlock()
	if w != nil && w.stop != nil {
		w.stop()
		<-w.done
	}
}

// begin keeps a switch, if Run has been called. The lock is held.
func (k *Keeper) begin(w *wanted) {
	if k.keeping == nil || k.keeping.Err() != nil {
		return
	}
	var ctx context.Context
	ctx, w.stop = context.WithCancel(k.keeping)
	w.done = make(chan struct{})
	k.work.Go(func() {
		defer close(w.done)
		var digests sync.WaitGroup
		if k.Digest != nil {
			digests.Go(func() {
				for d := range w.session.Digests(ctx) {
					k.Digest(w.session, d)
				}
			})
		}
		k.keep(ctx, w)
		digests.Wait()
	})
}

// Set changes what a switch shall be.
func (k *Keeper) Set(name string, d Desired) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := k.desired[name]
	if w == nil {
		return fmt.Errorf("no switch is called %s", name)
	}
	w.Desired = d
	w.version++
	close(w.changed)
	w.changed = make(chan struct{})
	return nil
}

// AwaitKept waits until every switch that something is desired of is as
// desired.
func (k *Keeper) AwaitKept(ctx context.Context) error {
	for {
		var missing []string
		k.mu.Lock()
		for _, s := range k.fabric.Sessions() {
			if w := k.desired[s.Name()]; w != nil && w.kept != w.version {
				text := s.Name()
				if w.err != nil {
					text = w.err.Error()
				}
				missing = append(missing, text)
			}
		}
		k.mu.Unlock()
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not as desired: %s: %w", strings.Join(missing, "; "), ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Run keeps the switches as desired until ctx is done. It may be called once.
func (k *Keeper) Run(ctx context.Context) error {
	k.mu.Lock()
	k.keeping = ctx
	for _, w := range k.desired {
		k.begin(w)
	}
	k.mu.Unlock()
	<-ctx.Done()
	k.mu.Lock()
	k.keeping = nil
	k.mu.Unlock()
	k.work.Wait()
	return ctx.Err()
}

// reasons for looking at a switch.
const (
	becamePrimary = "this controller became primary"
	newWish       = "the desired state changed"
	audited       = "someone else has written"
	tryAgain      = "the last attempt failed"
)

// keep looks after one switch.
func (k *Keeper) keep(ctx context.Context, of *wanted) {
	s := of.session
	term := 0 // of this controller as primary
	seen := 0 // version of what is wanted
	var pause time.Duration
	said := ""
	reason := becamePrimary
	for ctx.Err() == nil {
		k.mu.Lock()
		w := *of
		k.mu.Unlock()
		st, err := s.await(ctx, func(st state) bool { return st.role == rolePrimary })
		if err != nil {
			return
		}
		if w.version > 0 {
			if st.term != term {
				reason = becamePrimary
			} else if w.version != seen && reason != tryAgain {
				reason = newWish
			}
			term, seen = st.term, w.version
			err := k.once(ctx, of, w, reason)
			switch {
			case err == nil:
				pause, said = 0, ""
			case ctx.Err() != nil:
				return
			default:
				pause = min(max(2*pause, s.options.MinBackoff), s.options.MaxBackoff)
				var gone *NotConnectedError
				var backup *NotPrimaryError
				if text := err.Error(); text != said && !errors.As(err, &gone) && !errors.As(err, &backup) {
					said = text
					s.event(NotAsDesired, err, "not as desired: %s; trying again in %v", strings.TrimPrefix(text, s.Name()+": "), pause)
				}
			}
		}
		reason = k.sleep(ctx, s, st.term, w.changed, pause)
	}
}

// sleep waits for the next reason to look at the switch, and returns it.
func (k *Keeper) sleep(ctx context.Context, s *Session, term int, changed <-chan struct{}, pause time.Duration) string {
	var tick <-chan time.Time
	reason := audited
	if pause > 0 {
		reason = tryAgain
		tick = time.After(pause)
	} else if k.audit > 0 {
		tick = time.After(k.audit)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lost := make(chan struct{})
	go func() {
		defer close(lost)
		s.await(ctx, func(st state) bool { return st.role != rolePrimary || st.term != term })
	}()
	select {
	case <-ctx.Done():
		return ""
	case <-lost:
		return becamePrimary
	case <-changed:
		return newWish
	case <-tick:
		return reason
	}
}

// once applies what is wanted and says what it did.
func (k *Keeper) once(ctx context.Context, of *wanted, w wanted, reason string) error {
	s := of.session
	k.slots <- struct{}{}
	defer func() { <-k.slots }()
	c, err := s.Apply(ctx, w.Desired)
	k.mu.Lock()
	of.err = err
	if err == nil {
		of.kept = w.version
	}
	k.mu.Unlock()
	if err != nil {
		return err
	}
	if c.Empty() {
		return nil
	}
	if reason == audited {
		s.event(Foreign, nil, "someone else has written to the switch; put back as desired: %v", c)
		return nil
	}
	s.event(Reconciled, nil, "as desired: %v (%s)", c, reason)
	return nil
}
