// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Fabric is a session for each of several switches.
type Fabric struct {
	sessions []*Session
	byName   map[string]*Session
}

// maxAtOnce bounds how many switches are worked on at the same time.
const maxAtOnce = 64

// Open connects to all targets at once, as Connect does, and fails with all
// that went wrong if one fails; then no session stays open.
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
	f := &Fabric{byName: make(map[string]*Session)}
	for _, t := range targets {
		s, err := start(t, options, quiet)
		if err == nil && f.byName[s.Name()] != nil {
			s.Close()
			err = fmt.Errorf("two switches are called %s", s.Name())
		}
		if err != nil {
			f.Close()
			return nil, err
		}
		f.sessions = append(f.sessions, s)
		f.byName[s.Name()] = s
	}
	return f, nil
}

// Close closes all sessions.
func (f *Fabric) Close() error {
	var wg sync.WaitGroup
	for _, s := range f.sessions {
		wg.Go(func() { s.Close() })
	}
	wg.Wait()
	return nil
}

// Sessions returns all sessions in the order of the targets.
func (f *Fabric) Sessions() []*Session { return f.sessions }

// Session returns the session of a switch by name, or nil.
func (f *Fabric) Session(name string) *Session { return f.byName[name] }

// Each calls do for all switches, many at a time, and waits for all. It
// returns every error, in the order of the targets.
func (f *Fabric) Each(ctx context.Context, do func(context.Context, *Session) error) error {
	errs := make([]error, len(f.sessions))
	slots := make(chan struct{}, maxAtOnce)
	var wg sync.WaitGroup
	for i, s := range f.sessions {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			errs[i] = do(ctx, s)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
