// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/p4rttest"

	tea "github.com/charmbracelet/bubbletea"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// A terminal shows each reading, the number of changed cells, and the name of a
// switch that does not answer.
func TestWatchRedrawsItsTable(t *testing.T) {
	srv := p4rttest.Start(t, &p4rttest.Server{})
	srv.Load(&p4v1.ForwardingPipelineConfig{P4Info: p4rttest.Program()})
	target := controlplane.Target{Name: "l1", Addr: srv.Addr(), DeviceID: 1}
	f, err := controlplane.Open(t.Context(), []controlplane.Target{target}, controlplane.Options{ReadOnly: true, Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := &watch{c: &ctl{}, fabric: f, ranges: []cellRange{{"Readqlen", 2, 3}}, every: time.Second}
	if got := w.View(); got != "reading…\n" {
		t.Errorf("before the first reading: %q", got)
	}
	shows := func(what string, want ...string) {
		t.Helper()
		_, next := w.Update(w.read())
		if next == nil {
			t.Errorf("%s: there is no next reading", what)
		}
		for _, line := range want {
			if !strings.Contains(w.View(), line) {
				t.Errorf("%s: there is no %q in\n%s", what, line, w.View())
			}
		}
	}
	shows("first", "every 1s  (q ends)\n", "l1 Readqlen [packets]\n", "      2      0  port=2\n")
	s, err := controlplane.Connect(t.Context(), target, controlplane.Options{Probe: -1, Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.WriteRegister(t.Context(), "Readqlen", 3, 3, 44); err != nil {
		t.Fatal(err)
	}
	shows("changed", "      3     44  port=3\n", "1 of 8 cells changed\n")
	srv.Stop()
	shows("gone", "l1: cannot reach ", "; reading again in 1s\n")
	if _, quit := w.Update(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("q")}); quit == nil || quit() != tea.Quit() {
		t.Error("q does not end it")
	}
	w.times = w.readings + 1
	if _, quit := w.Update(w.read()); quit == nil || quit() != tea.Quit() {
		t.Error("the last reading does not end it")
	}
}
