// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/softswitch"
)

// ErrDropped reports that a lossless class lost packets: the results are not those of
// a lossless network.
var ErrDropped = errors.New("packets of a lossless class were dropped")

// Loss returns an error that wraps ErrDropped and says where and why packets of a
// lossless class were dropped, or nil if none were. Those beyond the limit of a queue
// that PFC.DropAlpha sets do not count: see BeyondLimit.
func (l *Lab) Loss() error {
	var dropped uint64
	var causes [softswitch.DropCauses]uint64
	var at string         // the port whose headroom lacked most
	var lack, ports int64 // how much it lacked, and the number of ports that did
	var link *topo.Link
	t := l.cfg.Topology
	for _, id := range t.Switches() {
		sw, n := l.switches[id], &t.Nodes[id]
		sw.Lock()
		for c, k := range sw.Stats().LosslessDrops {
			if softswitch.DropCause(c) == softswitch.DropQueue && t.Switch.PFC.DropAlpha > 0 {
				continue
			}
			dropped += k
			causes[c] += k
		}
		for p := range n.Ports {
			stats := sw.Port(p + 1)
			for class := range stats.Class {
				k := &stats.Class[class]
				over := k.MaxHeadroomBytes - k.Headroom
				if k.Headroom == 0 || over <= 0 {
					continue
				}
				if ports++; over > lack {
					lack, link = over, &t.Links[n.Ports[p].Link]
					at = fmt.Sprintf("switch %s, port %d from %s, class %d: the headroom is %d bytes, and %d were needed", n.Name, p+1, t.Nodes[n.Ports[p].Peer].Name, class, k.Headroom, k.MaxHeadroomBytes)
				}
			}
		}
		sw.Unlock()
	}
	if dropped == 0 {
		return nil
	}
	var text []string
	if at != "" {
		if ports > 1 {
			at += fmt.Sprintf(" (the most of %d ports)", ports)
		}
		if given, need := t.Switch.PFC.Headroom, t.Needs(link); given > 0 && given < need {
			at += fmt.Sprintf("; switch.pfc.headroom is %v, and this link can need %d bytes: raise it, or leave it out to have it computed", given, need)
		} else {
			at += "; a PAUSE was lost or late: check the scenario's faults"
		}
		text = append(text, at)
	}
	for c, advice := range map[softswitch.DropCause]string{
		softswitch.DropBuffer: "found a switch's buffer full: raise switch.buffer",
		softswitch.DropQueue:  "exceeded the limit of a queue, which only classes that are not lossless have without switch.pfc.drop_alpha",
		softswitch.DropLoop:   "passed a switch too often: the program recirculates them without an end",
	} {
		if causes[c] > 0 {
			text = append(text, fmt.Sprintf("%d %s", causes[c], advice))
		}
	}
	return fmt.Errorf("%w: %d of them; %s", ErrDropped, dropped, strings.Join(text, "; "))
}

// BeyondLimit returns a remark that counts the packets of lossless classes that were
// dropped because their queue had reached the limit that PFC.DropAlpha sets. It is
// empty if there are none.
func (l *Lab) BeyondLimit() string {
	alpha := l.cfg.Topology.Switch.PFC.DropAlpha
	if alpha == 0 {
		return ""
	}
	var dropped, most uint64
	at := ""
	for _, id := range l.cfg.Topology.Switches() {
		sw := l.switches[id]
		sw.Lock()
		k := sw.Stats().LosslessDrops[softswitch.DropQueue]
		sw.Unlock()
		if dropped += k; k > most {
			most, at = k, fmt.Sprintf(", %d of them at switch %s", k, l.cfg.Topology.Nodes[id].Name)
		}
	}
	if dropped == 0 {
		return ""
	}
	return fmt.Sprintf("%d packets of a lossless class were dropped because their queue had %g times the free buffer (drop_alpha, as in ConWeave's simulator)%s", dropped, alpha, at)
}
