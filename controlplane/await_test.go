// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"errors"
	"testing"
)

// A caller that waits receives the supervisor's last state, even if the session
// has ended by then.
func TestTheLastWordOfASupervisorIsHeard(t *testing.T) {
	refused := errors.New("refused")
	for range 64 { // select takes any of two ready channels
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
