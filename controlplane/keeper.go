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

// Keeper keeps the switches of a fabric in their desired states. It applies the
// difference whenever this controller becomes the primary, a switch reconnects,
// the desired state changes, or another controller has written. Its sessions may
// be backups; it writes only to switches of which they are the primary.
type Keeper struct {
	// Digest, if set before Run, is called with every digest of the switches of
	// which this controller is the primary.
	Digest func(s *Session, d Digest)

	fabric *Fabric
	audit  time.Duration
	slots  chan struct{}

	mu      sync.Mutex
	desired map[string]*wanted
	keeping context.Context // the context of Run; nil before and after
	work    sync.WaitGroup
}

// wanted is the desired state of one switch.
type wanted struct {
	Desired
	session *Session
	stop    context.CancelFunc // nil if the switch is not kept
	done    chan struct{}      // closed when the switch is no longer kept
	version int                // 0: there is no desired state yet
	changed chan struct{}      // closed when there is a newer version
	kept    int                // last version that the switch was known to have
	err     error              // cause why it does not have the newest version
}

// NewKeeper returns a Keeper without desired states. It looks for writes of other
// controllers at intervals of audit; zero means 10 s, below zero means never.
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

// Take adds a switch of the fabric.
func (k *Keeper) Take(s *Session) {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := &wanted{session: s, changed: make(chan struct{})}
	k.desired[s.Name()] = w
	k.begin(w)
}

// Leave removes a switch by name, and returns when the Keeper has stopped writing
// to it. The switch itself is not changed.
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

// begin starts to keep a switch, if Run has been called. The caller holds the lock.
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

// Set changes the desired state of a switch.
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

// AwaitKept waits until every switch with a desired state has that state.
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

// Run keeps the switches in their desired states until ctx is done. It may be
// called once.
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

// Reasons for comparing a switch with its desired state.
const (
	becamePrimary = "this controller became primary"
	newState      = "the desired state changed"
	audited       = "another controller has written"
	tryAgain      = "the last attempt failed"
)

// keep keeps one switch.
func (k *Keeper) keep(ctx context.Context, of *wanted) {
	s := of.session
	term := 0 // number of the term as primary
	seen := 0 // version of the desired state
	var pause time.Duration
	said := ""
	reason := becamePrimary
	for ctx.Err() == nil {
		st, err := s.await(ctx, func(st state) bool { return st.role == rolePrimary })
		if err != nil {
			return
		}
		k.mu.Lock()
		w := *of // after a standby may have waited for days
		k.mu.Unlock()
		if w.version > 0 {
			if st.term != term {
				reason = becamePrimary
			} else if w.version != seen && reason != tryAgain {
				reason = newState
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

// sleep waits for the next reason to check the switch, and returns it.
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
		return newState
	case <-tick:
		return reason
	}
}

// once applies the desired state and reports the changes.
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
		s.event(Foreign, nil, "another controller has written to the switch; desired state restored: %v", c)
		return nil
	}
	s.event(Reconciled, nil, "as desired: %v (%s)", c, reason)
	return nil
}
