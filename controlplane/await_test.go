// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"testing"
)

// What a supervisor says last is heard by one who waits, though the session is
// over by the time they look.
func TestTheLastWordOfASupervisorIsHeard(t *testing.T) {
	refused := errors.New("refused")
	for range 64 { // of two channels that are ready, select takes any
		s := &Session{changed: make(chan struct{}), done: make(chan struct{})}
		asked := false
		st, err := s.await(t.Context(), func(st state) bool {
			if !asked {
				asked = true
				s.set(func(st *state) { st.fatal = refused })
				close(s.done)
			}
			return st.fatal != nil
		})
		if err != nil || st.fatal != refused {
			t.Fatalf("got %v, and %v", st.fatal, err)
		}
	}
}
