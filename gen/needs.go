// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"cmp"
	"fmt"
	"slices"
)

// closure are the blocks of a program: those that its profile picks, and all
// that these need.
type closure struct {
	*catalogue
	target string
	needs  map[string]bool // blocks and options
	blocks []*block        // in the order of their places
}

// close computes the closure of the blocks picked, on a target. Without a
// target it follows only the needs common to all targets.
func (c *catalogue) close(picked []*block, target string) *closure {
	all := &closure{catalogue: c, target: target, needs: make(map[string]bool)}
	all.add(root)
	for _, b := range picked {
		all.add(b.Name)
	}
	// Needs with "unless" are followed last.
	all.follow(false)
	all.follow(true)
	all.follow(false)
	slices.SortFunc(all.blocks, func(a, b *block) int {
		return cmp.Or(cmp.Compare(a.place(target), b.place(target)), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// add adds a need. For an option it also adds the block of that option.
func (all *closure) add(name string) {
	if all.needs[name] {
		return
	}
	all.needs[name] = true
	if b := all.catalogue.blocks[name]; b != nil {
		all.blocks = append(all.blocks, b)
		return
	}
	all.add(blockOf(name))
}

func blockOf(name string) string {
	for i, r := range name {
		if r == '.' {
			return name[:i]
		}
	}
	return name
}

// follow adds needs until a fixed point is reached.
func (all *closure) follow(unless bool) {
	for before := -1; before != len(all.needs); {
		before = len(all.needs)
		for i := 0; i < len(all.blocks); i++ {
			list := all.blocks[i].Needs
			if all.target != "" {
				list = slices.Concat(list, all.blocks[i].on(all.target).Needs)
			}
			for _, n := range list {
				if n.unless == unless && all.holds(n.condition) {
					all.add(n.name)
				}
			}
		}
	}
}

// holds reports whether a condition is true.
func (all *closure) holds(c condition) bool { return c.name == "" || all.needs[c.name] != c.unless }

// need reports whether a block is included, or an option needed. Templates call
// it.
func (all *closure) need(name string) (bool, error) {
	if err := all.exists(name); err != nil {
		return false, err
	}
	return all.needs[name], nil
}

// refused reports for each block the first reason why it cannot be combined
// with the others.
func (all *closure) refused(errorf func(path, format string, args ...any)) {
	for _, b := range all.blocks {
		refuses := b.Refuses
		if all.target != "" {
			refuses = b.on(all.target).Refuses
		}
		for _, r := range refuses {
			if r.If != "" && all.needs[r.If] || r.Unless != "" && !all.needs[r.Unless] {
				errorf(r.At, "%s", r.Because)
				break
			}
		}
	}
}

// steps returns the stages of ingress or egress, in the order of their first
// blocks, and what each applies.
func (all *closure) steps(of func(*onTarget) []step) ([]string, map[string][]*step) {
	var order []string
	list := make(map[string][]*step)
	for _, b := range all.blocks {
		steps := of(b.on(all.target))
		for i := range steps {
			if s := &steps[i]; all.holds(s.condition) {
				if list[s.stage] == nil {
					order = append(order, s.stage)
				}
				list[s.stage] = append(list[s.stage], s)
			}
		}
	}
	return order, list
}

// features returns the names of the blocks that are features on the target, in
// order.
func (all *closure) features() []string {
	var list []string
	for _, b := range all.blocks {
		if !b.Hidden && !b.on(all.target).Plumbing {
			list = append(list, b.Name)
		}
	}
	return list
}

// options returns the options that are needed, sorted.
func (all *closure) options() []string {
	var list []string
	for name := range all.needs {
		if blockOf(name) != name {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// supported returns an error if the target cannot run the blocks.
func (all *closure) supported() error {
	for _, b := range all.blocks {
		if why := b.on(all.target).Unsupported; why != "" {
			return fmt.Errorf("%s", why)
		}
	}
	var err error
	all.refused(func(_, format string, args ...any) {
		if err == nil {
			err = fmt.Errorf(format, args...)
		}
	})
	return err
}
