// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"maps"
	"slices"

	"github.com/pauseless/pauseless/internal/model"
)

// Shrink returns the simplest case it finds that still shows a difference,
// and that difference: fewer events, fewer cells that are not zero, shorter
// frames and rounder numbers.
func (j *Judge) Shrink(c *model.Case) (*model.Case, *Mismatch) {
	s := &shrinker{j, c, j.Run(c), true}
	for s.again {
		s.again = false
		s.leaveOutEvents()
		s.leaveOutCells()
		s.simplify()
	}
	s.leaveOutConfig()
	return s.c, s.diff
}

// A shrinker has the simplest case so far.
type shrinker struct {
	j     *Judge
	c     *model.Case
	diff  *Mismatch
	again bool // something has become simpler
}

// try keeps a change of the case if it still shows a difference.
func (s *shrinker) try(change func(*model.Case)) bool {
	c := clone(s.c)
	change(c)
	diff := s.j.Run(c)
	if diff != nil {
		s.c, s.diff, s.again = c, diff, true
	}
	return diff != nil
}

// clone copies what changes of a case change.
func clone(c *model.Case) *model.Case {
	d, config := *c, *c.Config
	d.Config, d.Cells, d.Events = &config, slices.Clone(c.Cells), slices.Clone(c.Events)
	config.Routes, config.Groups, config.Tables = slices.Clone(config.Routes), maps.Clone(config.Groups), maps.Clone(config.Tables)
	for table, entries := range config.Tables {
		config.Tables[table] = maps.Clone(entries)
	}
	return &d
}

// tryDrawing is try, if need be with other random numbers: what is left out may
// have drawn some, or may matter only for the path that was drawn.
func (s *shrinker) tryDrawing(change func(*model.Case)) bool {
	found := s.try(change)
	for seed := uint64(0); seed < 16 && !found; seed++ {
		found = s.try(func(d *model.Case) { change(d); d.Seed = seed })
	}
	return found
}

// leaveOutEvents leaves out events: those behind the difference, each one, and
// pairs, such as an arrival and the departure of the packet.
func (s *shrinker) leaveOutEvents() {
	if n := s.diff.Event; n < len(s.c.Events) {
		s.try(func(d *model.Case) { d.Events = d.Events[:n] })
	}
	leaveOut := func(c *model.Case, i int) {
		after := c.Events[i].After
		if c.Events = slices.Delete(c.Events, i, i+1); i < len(c.Events) {
			c.Events[i].After += after
		}
	}
	for i := len(s.c.Events) - 1; i >= 0; i-- {
		found := s.tryDrawing(func(d *model.Case) { leaveOut(d, i) })
		for k := len(s.c.Events) - 2; k >= i && !found; k-- {
			found = s.try(func(d *model.Case) { leaveOut(d, i); leaveOut(d, k) })
		}
		i = min(i, len(s.c.Events))
	}
}

// leaveOutCells leaves out cells in halves, quarters and so on, and at last each
// one.
func (s *shrinker) leaveOutCells() {
	for size := (len(s.c.Cells) + 1) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(s.c.Cells); {
			if !s.try(func(d *model.Case) { d.Cells = slices.Delete(d.Cells, i, i+size) }) {
				i += size
			}
		}
	}
	for i := len(s.c.Cells) - 1; i >= 0; i-- {
		s.tryDrawing(func(d *model.Case) { d.Cells = slices.Delete(d.Cells, i, i+1) })
	}
}

// simplify tries zero and one instead of larger numbers.
func (s *shrinker) simplify() {
	for i := range s.c.Events {
		for k := range s.c.Events[i].Numbers() {
			for v := range min(*s.c.Events[i].Numbers()[k], 2) {
				if s.try(func(d *model.Case) { *d.Events[i].Numbers()[k] = v }) {
					break
				}
			}
		}
	}
}

// leaveOutConfig leaves out entries of the configuration, but no default
// actions.
func (s *shrinker) leaveOutConfig() {
	for i := len(s.c.Config.Routes) - 1; i >= 0; i-- {
		s.try(func(d *model.Case) { d.Config.Routes = slices.Delete(d.Config.Routes, i, i+1) })
	}
	for group := range s.c.Config.Groups {
		s.try(func(d *model.Case) { delete(d.Config.Groups, group) })
	}
	for table, entries := range s.c.Config.Tables {
		for i := range entries {
			if i != model.Default {
				s.try(func(d *model.Case) { delete(d.Config.Tables[table], i) })
			}
		}
	}
}
