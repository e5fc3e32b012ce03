// SPDX-License-Identifier: Apache-2.0

package program

import (
	"fmt"
	"sync"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/bmv2json"
)

// Cache compiles each P4 text once, also if several profiles generate it. The zero
// Cache is empty. It may be used by several goroutines.
type Cache struct {
	mu   sync.Mutex
	done map[string]*compiled
}

type compiled struct {
	once   sync.Once
	json   []byte
	info   *p4configv1.P4Info
	cookie uint64
	growth Growth
	err    error
}

// BuildFor is the function BuildFor with the cache.
func (c *Cache) BuildFor(p *gen.Profile, target string) (*Program, error) {
	g, err := gen.Generate(p, target)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	if c.done == nil {
		c.done = make(map[string]*compiled)
	}
	key := g.Name + "\x00" + string(g.P4)
	one := c.done[key]
	if one == nil {
		one = &compiled{}
		c.done[key] = one
	}
	c.mu.Unlock()
	one.once.Do(func() {
		out, list := compiler.Compile(compiler.Options{File: g.Name + ".p4", Source: g.P4})
		if one.err = list.Err(); one.err != nil {
			one.err = fmt.Errorf("generated program of profile %s: %w", p.Name, one.err)
			return
		}
		one.growth = growth(out.Program)
		one.json, one.info = bmv2json.Encode(out.Program), out.P4Info
		one.cookie = controlplane.Pipeline{P4Info: one.info, Config: one.json}.ID()
	})
	if one.err != nil {
		return nil, one.err
	}
	return &Program{Name: g.Name, P4: g.P4, Manifest: g.Manifest, JSON: one.json, P4Info: one.info, Growth: one.growth, cookie: one.cookie}, nil
}
