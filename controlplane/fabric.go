// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Fabric is a session for each of several switches. Its methods may be called
// from any goroutine.
type Fabric struct {
	options Options

	mu       sync.Mutex
	sessions []*Session // replaced on changes, never modified
	byName   map[string]*Session
}

// maxAtOnce is the number of switches that Each handles at the same time.
const maxAtOnce = 64

// Open connects to all targets at once, as Connect does. If some fail, it closes
// all sessions and returns all errors.
func Open(ctx context.Context, targets []Target, options Options) (*Fabric, error) {
	f, err := startAll(targets, options, true)
	if err != nil {
		return nil, err
	}
	err = f.Each(ctx, func(ctx context.Context, s *Session) error {
		ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
		defer cancel()
		defer s.quiet.Store(false)
		return s.awaitFirst(ctx)
	})
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// StartAll opens sessions without waiting, as Start does.
func StartAll(targets []Target, options Options) (*Fabric, error) {
	return startAll(targets, options, false)
}

func startAll(targets []Target, options Options, quiet bool) (*Fabric, error) {
	f := &Fabric{options: options, byName: make(map[string]*Session)}
	for _, t := range targets {
		if _, err := f.add(t, quiet); err != nil {
			f.Close()
			return nil, err
		}
	}
	return f, nil
}

// Add opens a session to one more switch, as Start does.
func (f *Fabric) Add(t Target) (*Session, error) { return f.add(t, false) }

func (f *Fabric) add(t Target, quiet bool) (*Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if name := t.withDefaults().Name; f.byName[name] != nil {
		return nil, fmt.Errorf("two switches are called %s", name)
	}
	s, err := start(t, f.options, quiet) // which does not wait
	if err != nil {
		return nil, err
	}
	f.sessions = append(slices.Clip(f.sessions), s)
	f.byName[s.Name()] = s
	return s, nil
}

// Remove closes the session of a switch by name, if there is one. The switch
// itself is not changed.
func (f *Fabric) Remove(name string) {
	f.mu.Lock()
	s := f.byName[name]
	delete(f.byName, name)
	f.sessions = slices.DeleteFunc(slices.Clone(f.sessions), func(o *Session) bool { return o == s })
	f.mu.Unlock()
	if s != nil {
		s.Close()
	}
}

// Close closes all sessions.
func (f *Fabric) Close() error {
	var wg sync.WaitGroup
	for _, s := range f.Sessions() {
		wg.Go(func() { s.Close() })
	}
	wg.Wait()
	return nil
}

// Sessions returns all sessions in the order of the targets. The caller must not
// modify the slice.
func (f *Fabric) Sessions() []*Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sessions
}

// Session returns the session of a switch by name, or nil.
func (f *Fabric) Session(name string) *Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byName[name]
}

// Each calls do for all switches, several at a time, and waits for all. It returns
// all errors, joined in the order of the targets.
func (f *Fabric) Each(ctx context.Context, do func(context.Context, *Session) error) error {
	sessions := f.Sessions()
	errs := make([]error, len(sessions))
	slots := make(chan struct{}, maxAtOnce)
	var wg sync.WaitGroup
	for i, s := range sessions {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(ctx, s)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
