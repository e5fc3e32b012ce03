// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"cmp"
	"fmt"
	"slices"
)

// closure is what a program is made of: the blocks that its profile picks, and
// all that these need.
type closure struct {
	*catalogue
	target string
	needs  map[string]bool // blocks and options
	blocks []*block        // in the order of their places
}

// close follows needs from the blocks picked, on a target; with none, only
// those that are the same on all.
func (c *catalogue) close(picked []*block, target string) *closure {
	all := &closure{catalogue: c, target: target, needs: make(map[string]bool)}
	all.add(root)
	for _, b := range picked {
		all.add(b.Name)
	}
	// What is needed unless something else is, last.
	all.follow(false)
	all.follow(true)
	all.follow(false)
	slices.SortFunc(all.blocks, func(a, b *block) int {
		return cmp.Or(cmp.Compare(a.place(target), b.place(target)), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// add adds a need, and the block whose option it is.
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

// follow adds what is needed until there is nothing new.
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

// holds reports whether a condition does.
func (all *closure) holds(c condition) bool { return c.name == "" || all.needs[c.name] != c.unless }

// need reports whether a block is there, or an option is needed. Templates
// call it.
func (all *closure) need(name string) (bool, error) {
	if err := all.exists(name); err != nil {
		return false, err
	}
	return all.needs[name], nil
}

// refused reports the first reason that each block has against others.
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

// steps returns the controls of ingress or egress by stage, in their order.
func (all *closure) steps(of func(*onTarget) []step) ([]string, map[string][]string) {
	var order []string
	list := make(map[string][]string)
	for _, b := range all.blocks {
		for _, s := range of(b.on(all.target)) {
			if all.holds(s.condition) {
				if list[s.stage] == nil {
					order = append(order, s.stage)
				}
				list[s.stage] = append(list[s.stage], s.control)
			}
		}
	}
	return order, list
}

// features are the names of the blocks that are no plumbing, in order.
func (all *closure) features() []string {
	var list []string
	for _, b := range all.blocks {
		if !b.Hidden && !b.on(all.target).Plumbing {
			list = append(list, b.Name)
		}
	}
	return list
}

// options are those that something needs, in order.
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

// supported says why the target cannot have the blocks.
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
