// SPDX-License-Identifier: Apache-2.0

package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/testbed/result"
)

type lineKey struct {
	node, register string
	port           int
}

// add adds a reading of an array that is indexed by port and priority, summed
// by port. It ignores other arrays.
func (l *lines) add(node, name string, at time.Duration, a register.Array) {
	if len(a.Index) == 0 || a.Index[0].Name != "port" {
		return
	}
	ports := len(l.t.NodeByName(node).Ports)
	sums := make([]uint64, ports+1)
	for i, v := range a.Values {
		if p := schema.Split(a.Index, i)[0]; p >= 1 && p <= ports {
			sums[p] += v
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := 1; p <= ports; p++ {
		k := lineKey{node, name, p}
		line := l.byKey[k]
		if line == nil {
			line = &result.Line{
				Name: fmt.Sprintf("%s port %d %s", node, p, strings.TrimSuffix(name, "_qlen")),
				Unit: a.Unit, Node: node, Port: p,
			}
			l.byKey[k] = line
		}
		line.TNS = append(line.TNS, at.Nanoseconds())
		line.V = append(line.V, sums[p])
	}
}

// done returns the lines that are not all zero, sorted by node, port and name.
func (l *lines) done() []result.Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []result.Line
	for _, line := range l.byKey {
		if slices.ContainsFunc(line.V, func(v uint64) bool { return v > 0 }) {
			out = append(out, *line)
		}
	}
	slices.SortFunc(out, func(a, b result.Line) int {
		return cmp.Or(strings.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port), strings.Compare(a.Name, b.Name))
	})
	return out
}
