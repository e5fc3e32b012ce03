// SPDX-License-Identifier: Apache-2.0

package pfc_emulated

import (
	"testing"

	"github.com/pauseless/pauseless/internal/model"
)

func TestPFCPausesAndResumes(t *testing.T) {
	p := Pauser{XOFF: 100, XON: 60, Refresh: 50}
	for _, c := range []struct {
		q    model.Bytes
		now  model.Time
		want PFCFrame
	}{{100, 0, NoFrame}, {101, 1, PauseFrame}, {200, 50, NoFrame}, {101, 51, PauseFrame}} {
		if got := p.Arrive(c.q, c.now); got != c.want {
			t.Errorf("%d bytes at %d: %v, want %v", c.q, c.now, got, c.want)
		}
	}
	if p.Depart(61) != NoFrame || p.Depart(60) != ResumeFrame || p.Depart(0) != NoFrame {
		t.Error("want one RESUME, at XON")
	}
}
