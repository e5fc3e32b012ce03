// SPDX-License-Identifier: Apache-2.0

package live

import (
	"errors"
	"fmt"
	"time"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/real/relay"
)

// errStorm reports a fault that no relay makes.
var errStorm = errors.New("a storm is for virtual time: hosts here send no PAUSE without a cause")

// Faults returns what a relay does for faults of a network that runs slower by scale,
// and whose time began at epoch. Its cables are the topology's links by their numbers.
func Faults(t *topo.Topology, faults []fabric.Fault, epoch time.Time, scale int64) ([]relay.Fault, error) {
	list := []relay.Fault{}
	at := func(v vtime.Time) time.Time { return epoch.Add(time.Duration(v.Nanoseconds() * scale)) }
	for i := range faults {
		ft := &faults[i]
		if _, err := ft.Check(t); err != nil {
			return nil, fmt.Errorf("fault %d: %w", i+1, err)
		}
		if ft.Storm != "" {
			return nil, fmt.Errorf("fault %d: %w", i+1, errStorm)
		}
		r := relay.Fault{From: at(ft.From), Loss: ft.Loss}
		if ft.Until != 0 {
			r.Until = at(ft.Until)
		}
		if ft.Down {
			r.Loss = 1
		}
		if ft.Corrupt > 0 { // its receiver discards it
			r.Loss = 1 - (1-r.Loss)*(1-ft.Corrupt)
		}
		for _, pair := range ft.Pairs {
			src, dst := t.Pair(pair)
			r.Pairs = append(r.Pairs, [2]string{src.IP.String(), dst.IP.String()})
		}
		for k := range t.Links {
			for to, end := range []topo.End{t.Links[k].A, t.Links[k].B} {
				if ft.Touches(t, k, end) {
					r.Cable, r.To = k, to
					list = append(list, r)
				}
			}
		}
	}
	return list, nil
}
