// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"maps"
	"reflect"
	"slices"

	"github.com/pauseless/pauseless/internal/model"
)

// Shrink returns the simplest case it finds that still shows a difference,
// and that difference: fewer events, fewer cells that are not zero, shorter
// frames and rounder numbers.
func (j *Judge) Shrink(c *model.Case) (*model.Case, *Mismatch) {
	diff := j.Run(c)
	try := func(d *model.Case) bool {
		m := j.Run(d)
		if m != nil {
			c, diff = d, m
		}
		return m != nil
	}
	for again := true; again; {
		again = false
		if n := diff.Event; n < len(c.Events) {
			d := *c
			d.Events = slices.Clone(c.Events[:n])
			again = try(&d) || again
		}
		for i := len(c.Events) - 1; i >= 0; i-- {
			again = try(without(c, i)) || again
		}
		again = shrinkEvents(&c, try) || again
		// Cells in halves, quarters and so on.
		for size := (len(c.Cells) + 1) / 2; size > 0; size /= 2 {
			for i := 0; i+size <= len(c.Cells); {
				d := *c
				d.Cells = slices.Delete(slices.Clone(c.Cells), i, i+size)
				if !try(&d) {
					i += size
				} else {
					again = true
				}
			}
		}
		again = j.simplify(&c, try) || again
	}
	shrinkConfig(&c, try)
	for _, table := range slices.Sorted(maps.Keys(c.Config.Tables)) {
		for _, i := range slices.Sorted(maps.Keys(c.Config.Tables[table])) {
			d, config := *c, *c.Config
			config.Tables = maps.Clone(config.Tables)
			config.Tables[table] = maps.Clone(config.Tables[table])
			delete(config.Tables[table], i)
			d.Config = &config
			if i != model.Default {
				try(&d)
			}
		}
	}
	return c, diff
}

// without is a case without one of its events.
func without(c *model.Case, i int) *model.Case {
	d := *c
	d.Events = slices.Delete(slices.Clone(c.Events), i, i+1)
	if i < len(d.Events) {
		d.Events[i].After += c.Events[i].After
	}
	return &d
}

// shrinkEvents leaves out an event together with another one, the departure of
// the packet it was the arrival of, say; or with other random numbers, since
// each packet draws some.
func shrinkEvents(c **model.Case, try func(*model.Case) bool) bool {
	for i := len((*c).Events) - 1; i >= 0; i-- {
		d := without(*c, i)
		for j := len(d.Events) - 1; j >= i; j-- {
			if try(without(d, j)) {
				return true
			}
		}
		for d.Seed = range uint64(16) {
			if try(d) {
				return true
			}
		}
	}
	return false
}

// shrinkConfig leaves out entries of the configuration.
func shrinkConfig(c **model.Case, try func(*model.Case) bool) {
	for f := range reflect.TypeFor[model.Config]().NumField() {
		field := func() reflect.Value { return reflect.ValueOf((*c).Config).Elem().Field(f) }
		with := func(v reflect.Value) bool {
			d := **c
			config := *d.Config
			reflect.ValueOf(&config).Elem().Field(f).Set(v)
			d.Config = &config
			return try(&d)
		}
		switch field().Kind() {
		case reflect.Map:
			if field().Type().Elem().Kind() == reflect.Map {
				continue // tables are shrunk by entries
			}
			for _, key := range field().MapKeys() {
				m := reflect.MakeMap(field().Type())
				for _, k := range field().MapKeys() {
					if k.Interface() != key.Interface() {
						m.SetMapIndex(k, field().MapIndex(k))
					}
				}
				with(m)
			}
		case reflect.Slice:
			for i := field().Len() - 1; i >= 0; i-- {
				v := reflect.MakeSlice(field().Type(), 0, 0)
				v = reflect.AppendSlice(v, field().Slice(0, i))
				with(reflect.AppendSlice(v, field().Slice(i+1, field().Len())))
			}
		}
	}
}

// simplify tries simpler values one by one.
func (j *Judge) simplify(c **model.Case, try func(*model.Case) bool) bool {
	changed := false
	for i := range (*c).Events {
		e := (*c).Events[i]
		for _, f := range []func(*model.Event) bool{
			func(e *model.Event) bool { ok := e.Elided > 0; e.Elided = 0; return ok },
			func(e *model.Event) bool { ok := e.After > 1; e.After = 1; return ok },
			func(e *model.Event) bool { ok := e.After > 0; e.After = 0; return ok },
			func(e *model.Event) bool { ok := e.Depth > 1; e.Depth = 1; return ok },
			func(e *model.Event) bool { ok := e.Depth != 0; e.Depth = 0; return ok },
			func(e *model.Event) bool { ok := e.Ahead != 0; e.Ahead = 0; return ok },
			func(e *model.Event) bool { ok := e.Waited != 0 && !e.Near; e.Waited = 0; return ok },
		} {
			e := e
			if !f(&e) {
				continue
			}
			d := **c
			d.Events = slices.Clone(d.Events)
			d.Events[i] = e
			if try(&d) {
				changed = true
				break
			}
		}
	}
	return changed
}
