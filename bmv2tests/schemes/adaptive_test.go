// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"context"
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane"
)

// waitingPays prepares a recirculation: path 1, DRILL's best, is warned, and path 0
// is slower by a given time.
func waitingPays(d *dut, gain int) {
	d.Helper()
	noStamps(d)
	d.set("drill_best", 1, 1)
	d.set("warned", 0x40, 1)
	d.set("warned_until", far, 1, 1)
	d.set("path_rtt", 100, 1, 1)
	d.set("path_rtt_time", uint64(d.now()), 1, 1)
	d.set("path_rtt", uint64(100+gain), 1, 0)
}

// stoprecir sets the limits of recirculation.
func stoprecir(d *dut, args string) {
	d.Helper()
	d.rule("Stoprecir default -> limit_recirculation(" + args + ")")
}

func TestRLBAdaptiveLimitsRecirculationsByTheBufferLeft(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "rlb-adaptive-drill", leafSpine(2), "l1", nil)
		waitingPays(d, 1<<29-1)
		// One window for the whole test, and no arrivals: N_rc is the free buffer in
		// frames of 1024 bytes.
		d.rule("Compath default -> compare_paths(pass_time=0x10000000, byte_time=0, fresh=0x7fffffff)")
		stoprecir(d, "xoff=8192, inflow=0, per_mtu=4194304, average=0xffffffff, most=1000")
		d.set("ingress_qlen", 3072, 1, 3) // with the packet 4126, so that 4066 are free
		d.set("window_start", uint64(d.now()-2), 0)
		d.set("window_length", 1, 0)
		d.passes(1, 4, data) // recirculated once, then the gain is used up (Eq. 6)
		d.want(3, "window_budget", 0)
		d.want(1, "window_packets", 0)
		d.want(0x10000000, "window_length", 0)
		for range 3 {
			d.passes(1, 4, data)
		}
		d.want(3, "window_packets", 0)
		d.want(3, "recirculations", 4)
		d.want(4, "forwarded_warned", 4)

		// A queue above xoff: no recirculation, and N_rc is not negative.
		d.set("ingress_qlen", 1<<20, 1, 3)
		d.set("window_start", uint64(d.now()-2), 0)
		d.set("window_length", 1, 0)
		d.passes(1, 4, data)
		d.want(0, "window_budget", 0)
		d.want(3, "recirculations", 4)
	})
}

func TestRLBAdaptiveLimitsTheTimeOfRecirculation(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "rlb-adaptive-drill", leafSpine(2), "l1", nil)
		waitingPays(d, 50_000)
		d.rule("Compath default -> compare_paths(pass_time=10000, byte_time=0, fresh=0x7fffffff)")
		stoprecir(d, "xoff=0xffffffff, inflow=0, per_mtu=4194304, average=0xffffffff, most=1000")
		d.passes(1, 4, data)
		d.want(5, "recirculations", 4) // 5 · 10000 are not more than 50000
		d.want(1, "forwarded_warned", 4)
	})
}

// Algorithm 2: a path is faulty if packets recirculate for it too often in two
// consecutive windows.
func TestRLBAdaptiveFindsTheFaultyPath(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "rlb-adaptive-drill", leafSpine(2), "l1", nil)
		alerts := make(chan controlplane.Digest, 10)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		digests := d.session.Digests(ctx) // from now on
		go func() {
			for a := range digests {
				alerts <- a
			}
		}()
		waitingPays(d, 1<<28)
		d.rule("Compath default -> compare_paths(pass_time=0x1000000, byte_time=0, fresh=0x7fffffff)")
		stoprecir(d, "xoff=0xffffffff, inflow=0, per_mtu=4194304, average=512, most=1000")
		window := func(packets, passes uint64, port int) {
			t.Helper()
			d.set("window_packets", packets, 0)
			d.set("window_passes", passes, 0)
			d.set("top_port", uint64(port), 0)
			d.set("window_start", uint64(d.now()-0x1000000), 0)
			d.set("window_length", 0x1000000, 0)
			d.send(1, data)
			d.sent()
		}
		window(10, 20, 4) // two recirculations each are not above the limit of two
		d.want(0, "suspect_port", 0)
		window(10, 21, 4)
		d.want(4, "suspect_port", 0)
		window(10, 21, 3) // another path
		d.want(3, "suspect_port", 0)
		window(10, 20, 3) // a quiet window
		d.want(0, "suspect_port", 0)
		window(10, 21, 4)
		d.want(0, "faulty", 0)
		window(10, 30, 4)
		d.want(0x40, "faulty", 0)
		d.want(0, "suspect_port", 0)
		select {
		case a := <-alerts:
			want := map[string]uint64{"port": 4, "leaf": 1, "passes": 30, "packets": 10}
			for name, v := range want {
				if got := a.Uint(name); got != v {
					t.Errorf("alert %v: %s is %d, want %d", a, name, got, v)
				}
			}
		case <-time.After(2 * time.Minute):
			t.Error("no alert")
		}
		// The path is out of use, warned or not, until the controller clears it.
		d.set("warned", 0, 1)
		for range 4 {
			d.passes(1, 3, data)
		}
		d.set("faulty", 0, 0)
		d.set("drill_best", 1, 1)
		d.set("egress_qlen", 1000, 3, 3)
		d.passes(1, 4, data)
	})
}
