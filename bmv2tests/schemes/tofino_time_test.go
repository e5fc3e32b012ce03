// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

// The clock of a Tofino's program has 32 bits of nanoseconds.
const wrap = vtime.Time(1<<32) * vtime.Nanosecond

// starts are values of the clock from which tests begin: before and after each change
// of its sign, and others over its whole range.
func starts(r *rand.Rand, n int) []vtime.Time {
	list := []vtime.Time{vtime.Millisecond, wrap/2 - vtime.Millisecond, wrap/2 + vtime.Millisecond, wrap - vtime.Millisecond, wrap - 50*vtime.Microsecond}
	for range n {
		list = append(list, wrap+vtime.Time(r.Int64N(int64(wrap))))
	}
	return list
}

// idle draws a time without packets, from 1 µs to 10 s. It is not close to a limit, and
// not a multiple of the clock's period, after which a cell is as new.
func idle(r *rand.Rand, limit vtime.Time) vtime.Time {
	for {
		t := vtime.Time(math.Exp(r.Float64()*math.Log(1e7)) * float64(vtime.Microsecond))
		if t > limit*9/10 && t < limit*11/10 || t > limit && t%wrap < 2*limit {
			continue
		}
		return t
	}
}

// clocked is a switch whose packets arrive at given times.
type clocked struct {
	*dut
	sw *soft
}

func eachClocked(t *testing.T, profile string, set map[string]string, do func(t *testing.T, c clocked)) {
	for _, target := range []string{"v1model", "tofino"} {
		t.Run(target, func(t *testing.T) {
			t.Parallel()
			if target == "tofino" {
				sw := new(tofino)
				do(t, clocked{load(t, sw, profile, leafSpine(2), "l1", set), &sw.soft})
				return
			}
			sw := new(soft)
			do(t, clocked{load(t, sw, profile, leafSpine(2), "l1", set), sw})
		})
	}
}

// sendAt sends a packet to another leaf at a time and returns the frames that leave.
func (c clocked) sendAt(at vtime.Time, data []byte) []frame {
	c.sw.sw.Lock()
	c.sw.at = at
	c.sw.sw.Unlock()
	c.send(1, data)
	return c.sent()
}

// A path is stamped if its last stamp is an interval old, at every clock, from the
// first packet, and after any idle time, as on v1model.
func TestPathsAreStampedAtEveryClock(t *testing.T) {
	t.Parallel()
	const interval = 30 * vtime.Microsecond
	set := map[string]string{"rtt.interval": "30us", "plb.probe_interval": "1s", "plb.idle": "1s"}
	eachClocked(t, "plb", set, func(t *testing.T, c clocked) {
		r := rand.New(rand.NewPCG(1, 2))
		at := vtime.Time(0)
		stamps := 0
		last := make(map[byte]vtime.Time) // by path
		for _, start := range starts(r, 20) {
			at += wrap - at%wrap + start%wrap // later, at this value of the clock
			for range 12 {
				for _, f := range c.sendAt(at, data) {
					h := fabric(f.data)
					if len(f.data) < 200 { // a probe, which has a stamp
						last[h[4]] = at
						continue
					}
					stamped := h[5]&0x80 != 0
					age, before := at-last[h[4]], last[h[4]] != 0
					if before && age > interval && age%wrap < 2*interval || age > interval*9/10 && age < interval*11/10 {
						break // as old as new, or close to the limit
					}
					if due := !before || age >= interval; stamped != due {
						t.Errorf("at %v, clock %#x: path %d, last stamped %v ago, has a stamp: %v", at, uint32(at/vtime.Nanosecond), h[4], age, stamped)
					}
					if stamped {
						last[h[4]] = at
						stamps++
					}
				}
				at += idle(r, interval)
			}
		}
		if stamps < 50 {
			t.Errorf("%d stamps", stamps)
		}
	})
}

// A flow keeps its path until a gap, and LetFlow takes a random one of two after it, at
// every clock, as on v1model.
func TestFlowletsEndAtEveryClock(t *testing.T) {
	t.Parallel()
	const gap = 200 * vtime.Microsecond
	for profile, parameter := range map[string]string{
		"letflow": "letflow.gap", "conga": "conga.gap", "caver": "caver.gap", "clb": "clb.gap", "ar-flowlet": "ar.gap", "ar-flow": "ar.idle", "rlb-letflow": "letflow.gap",
	} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			eachClocked(t, profile, map[string]string{parameter: "200us"}, func(t *testing.T, c clocked) {
				r := rand.New(rand.NewPCG(3, 4))
				at := vtime.Time(0)
				begun, moved := 0, 0
				for _, start := range starts(r, 8) {
					at += wrap - at%wrap + start%wrap
					path, since := 0, vtime.Time(0)
					for n := range 12 {
						out := c.sendAt(at, data)
						if len(out) != 1 {
							t.Fatalf("%d packets leave", len(out))
						}
						switch {
						case n == 0:
						case since < gap && out[0].port != path:
							t.Errorf("at %v, clock %#x: %v after its last packet, the flow leaves port %d for %d", at, uint32(at/vtime.Nanosecond), since, path, out[0].port)
						case since >= gap:
							begun++
							if out[0].port != path {
								moved++
							}
						}
						path, since = out[0].port, idle(r, gap)
						at += since
					}
				}
				if strings.HasSuffix(profile, "letflow") && (moved < begun/4 || begun < 30) {
					t.Errorf("%d of %d flowlets took the other path", moved, begun)
				}
			})
		})
	}
}

// Egress reports a queue to ingress, once in an interval, at every clock.
func TestQueuesAreReportedAtEveryClock(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"drill", "clb", "ar", "plb"} {
		t.Run(profile, func(t *testing.T) {
			t.Parallel()
			sw := new(tofino)
			c := clocked{load(t, sw, profile, leafSpine(2), "l1", nil), &sw.soft}
			r := rand.New(rand.NewPCG(5, 6))
			at := vtime.Time(0)
			for _, start := range starts(r, 6) {
				at += wrap - at%wrap + start%wrap
				for range 6 {
					var port int
					for _, f := range c.sendAt(at, data) {
						if len(f.data) >= 200 {
							port = f.port
						}
					}
					if told := uint32(c.get("queue_told_at", port, 3)); uint32(at/vtime.Nanosecond)-told > 100_000 {
						t.Errorf("at clock %#x: the last report was at %#x", uint32(at/vtime.Nanosecond), told)
					}
					at += idle(r, 200*vtime.Microsecond)
				}
			}
		})
	}
}
