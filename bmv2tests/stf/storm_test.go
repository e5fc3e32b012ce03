// SPDX-License-Identifier: Apache-2.0

package stf

import (
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
)

// A host that pauses its port for ever, and another that sends to it and ignores PAUSE,
// cost others nothing: the buffer of the ports is bounded. When a third sends to the
// paused port, too, and is paused for that, the watchdog frees it.
func TestAStormCostsOthersNothing(t *testing.T) {
	for _, action := range []string{"off", "drop", "forward", "alert"} {
		t.Run(action, func(t *testing.T) { stormCostsNothing(t, action) })
	}
}

func stormCostsNothing(t *testing.T, action string) {
	const ms = vtime.Millisecond
	r := newRig(t, softswitch.Config{Ports: []softswitch.Port{{Number: 1, Rate: vtime.Gbps}, {Number: 2, Rate: vtime.Gbps}, {Number: 4, Rate: vtime.Gbps}},
		Buffer: softswitch.Buffer{Size: 2 * vtime.MB},
		PFC: softswitch.PFC{Lossless: 1 << 3, Thresholds: softswitch.Thresholds{XOFF: 100_000, Headroom: 333_000},
			Watchdog: softswitch.Watchdog{Detection: 200 * ms, Action: action}}})
	var storms []softswitch.Storm
	r.sw.OnStorm(func(s softswitch.Storm) { storms = append(storms, s) })
	pause := packet.AppendPFC(nil, packet.MAC{}, 1<<3, 65535)
	at := vtime.Time(0)
	// step is 10 ms: the storm goes on, h1 sends to it, and h2 sends n packets to h1.
	step := func(storm bool, n int, h1, h2 bool) {
		if storm {
			r.net.Inject(4, pause, 0)
		}
		for range 50 {
			if h1 {
				r.in(1, 3, 4, 1400)
			}
			if h2 {
				r.in(2, 3, 4, 1400)
			}
		}
		for range n {
			r.in(2, 3, 1, 1000)
			r.in(2, 0, 1, 1000)
		}
		at += 10 * ms
		r.net.RunUntil(at)
	}
	arrived := func() (lossless, lossy int) {
		for _, s := range r.sent {
			if s.port == 1 && len(s.data) == 34 {
				if s.data[0] == 3 {
					lossless++
				} else {
					lossy++
				}
			}
		}
		r.sent = nil
		return lossless, lossy
	}
	for range 100 { // a second
		step(true, 0, true, false)
	}
	arrived()
	for range 10 {
		step(true, 10, true, false)
	}
	if lossless, lossy := arrived(); lossless != 100 || lossy != 100 {
		t.Errorf("in the storm %d of 100 lossless packets arrive, and %d of 100 lossy ones", lossless, lossy)
	}
	st := r.sw.Port(4).Class[3]
	switch drops := r.sw.Stats().Drops; {
	case action == "off" && (st.Storms != 0 || drops[softswitch.DropHeadroom] == 0),
		action == "drop" && (st.Storms != 1 || drops[softswitch.DropStorm] != st.StormDrops || st.StormDrops < 4000),
		action == "forward" && (st.Storms != 1 || st.StormSent < 4000),
		action == "alert" && (st.Storms != 1 || !st.Storm || drops[softswitch.DropHeadroom] == 0):
		t.Errorf("%+v, drops %v", st, drops)
	}
	// A third sends to the paused port and is paused for it, until the watchdog acts.
	for range 10 {
		step(true, 0, false, true)
	}
	if paused := r.sw.Port(2).Class[3].PauseSent > 0; paused == (action == "drop" || action == "forward") {
		t.Errorf("h2 was paused: %v", paused)
	}
	for range 60 { // the last PAUSE ends after 34 ms
		step(false, 0, false, false)
	}
	r.sent = nil
	for range 10 {
		step(false, 10, true, false)
	}
	if lossless, lossy := arrived(); lossless != 100 || lossy != 100 {
		t.Errorf("after the storm %d of 100 lossless packets arrive, and %d of 100 lossy ones", lossless, lossy)
	}
	if st := r.sw.Port(4).Class[3]; st.Storms != st.Restored || st.Storm || st.TxPackets < 500 || len(storms) != int(st.Storms+st.Restored) {
		t.Errorf("after the storm: %+v, notified of %+v", st, storms)
	}
	if n := r.sw.HeldFrames(); n != 0 || r.net.Frames().Out() != 0 {
		t.Errorf("%d frames are held, %d are out", n, r.net.Frames().Out())
	}
}
