// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"math"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// report is PCN's notification point for one flow (section 5.2 of the paper):
// after every period with packets it sends their rate, and whether nearly all
// were marked. Periods are contiguous while packets arrive. After a gap the
// next packet begins one.
type report struct {
	r       *receiver
	running bool
	last    vtime.Time // previous packet; -1: none
	gap     vtime.Time // before the first packet of the period
	bytes   int64      // on the link
	packets int64
	marked  int64
}

// count records a packet.
func (r *receiver) count(now vtime.Time, bytes int, marked bool) {
	if r.report == nil {
		r.report = &report{r: r, last: -1}
	}
	p := r.report
	period := r.h.cfg.CNPInterval
	if p.packets == 0 && p.last >= 0 {
		p.gap = now - p.last
	}
	p.packets++
	p.bytes += int64(bytes)
	if marked {
		p.marked++
	}
	p.last = now
	if !p.running && period > 0 {
		p.running = true
		r.h.net.At(now+period, p, 0)
	}
}

// Fire implements vtime.Event: a period has ended.
func (p *report) Fire(now vtime.Time, _ uint64) {
	if p.packets == 0 || p.r.ended > 0 {
		p.running = false
		return
	}
	ecn := packet.NotECT
	if float64(p.marked) >= cc.PCNMarked*float64(p.packets) {
		ecn = packet.CE
	}
	// The rate of a flow with less than one packet per period follows from the time
	// between two packets. With several packets in a period, an earlier gap, such
	// as a pause, is ignored.
	span := p.r.h.cfg.CNPInterval
	if p.packets == 1 {
		span = max(span, p.gap)
	}
	mbps := float64(p.bytes) * 8 / span.Microseconds()
	p.r.notify(now, ecn, uint32(min(mbps, math.MaxUint32)))
	p.bytes, p.packets, p.marked, p.gap = 0, 0, 0, 0
	p.r.h.net.At(now+p.r.h.cfg.CNPInterval, p, 0)
}
