// SPDX-License-Identifier: Apache-2.0

package live

import (
	"testing"
	"time"

	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/testbed/real/wire"
	"github.com/pauseless/pauseless/testbed/result"
)

// network1000 returns the collector of a network 1000 times slower than its
// topology: a millisecond of wall time is a microsecond.
func network1000(t *testing.T) *collector {
	t.Helper()
	net, err := topo.Parse("t.yaml", []byte("leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, rate: 40Gbps, delay: 2us}"))
	if err != nil {
		t.Fatal(err)
	}
	return &collector{t: net, scale: 1000, epoch: time.Unix(1000, 0), watch: &watch{}}
}

func (c *collector) wall(us int) time.Time { return c.epoch.Add(time.Duration(us) * time.Millisecond) }

func (c *collector) port(node string, port int) topo.End {
	return topo.End{Node: c.t.NodeByName(node).ID, Port: port}
}

// pause adds a PFC frame of the lossless class from spine to leaf.
func (c *collector) pause(us int, quanta int32) {
	f := pauseFrame{at: c.wall(us), from: c.port("s1", 1), to: c.port("l1", 2)}
	for i := range f.classes {
		f.classes[i] = -1
	}
	f.classes[losslessClass] = quanta
	c.watch.pauses = append(c.watch.pauses, f)
}

func (c *collector) warn(us int, origin string, active bool) {
	c.watch.warns = append(c.watch.warns, warning{c.wall(us), c.port("s1", 1), uint16(c.t.NodeByName(origin).DeviceID), active})
}

func TestPauseFramesBecomeIntervalsInTheTopologysTime(t *testing.T) {
	c := network1000(t)
	c.pause(10, 0xffff)
	c.pause(15, 0xffff) // renewed
	c.pause(30, 0)
	c.pause(50, 100) // 100 × 512 bits at 40 Gb/s: 1.28 µs, and no RESUME
	c.pause(90, 0)
	c.reports = []*wire.Report{{Outgoing: []wire.Outgoing{}}}
	r := c.run()
	if len(r.Pauses) != 2 || r.Pauses[0].Node != "l1" || r.Pauses[0].Port != 2 ||
		r.Pauses[0].StartNS != 10_000 || r.Pauses[0].EndNS != 30_000 || r.Pauses[1].EndNS != 51_280 {
		t.Errorf("pauses are %+v", r.Pauses)
	}
	if s := r.Summary; s.PauseFrames != 3 || s.Scheme["resume_frames"] != 2 || s.PausedUS != 21.28 {
		t.Errorf("%d PAUSE, %d RESUME, %v us", s.PauseFrames, s.Scheme["resume_frames"], s.PausedUS)
	}
}

func TestPauseNeedsAnOwnWarningInForce(t *testing.T) {
	c := network1000(t)
	c.warn(1, "l2", true) // forwarded
	c.pause(2, 0xffff)    // without a warning
	c.pause(3, 0)
	c.warn(10, "s1", true)
	c.warn(12, "s1", true)
	c.pause(14, 0xffff) // 4 µs after the warning
	c.pause(15, 0)
	c.pause(16, 0xffff) // 6 µs after it, still in force
	c.pause(17, 0)
	c.warn(18, "s1", false)
	c.pause(20, 0xffff) // after the warning's end
	s := c.run().Summary.Scheme
	want := map[string]uint64{"warnings_on_the_wire": 4, "pauses_between_switches": 4, "pauses_warned_of_before": 2, "median_warning_lead_ns": 4000}
	for name, n := range want {
		if s[name] != n {
			t.Errorf("%s is %d, want %d", name, s[name], n)
		}
	}
}

func TestUndeliveredPacketsCountAsDropped(t *testing.T) {
	c := network1000(t)
	c.watch.entered, c.watch.left = 100, 97
	c.watch.kept = make([]int64, len(c.t.Nodes))
	c.watch.kept[c.t.NodeByName("s1").ID] = 3
	if s := c.run().Summary; s.Dropped != 3 || s.Scheme["dropped_at_s1"] != 3 || len(s.Scheme) != 1 {
		t.Errorf("%d dropped, %v", s.Dropped, s.Scheme)
	}
}

func TestQueueLengthsAreSummedByPort(t *testing.T) {
	c := network1000(t)
	l := lines{t: c.t, byKey: make(map[lineKey]*result.Line)}
	index := []schema.Dim{{Name: "port", Size: 4}, {Name: "priority", Size: 2}}
	l.add("l1", "egress_qlen", time.Microsecond, register.Array{Unit: "bytes", Index: index, Values: []uint64{9, 9, 0, 0, 3, 4, 9, 9}})
	l.add("l1", "egress_qlen", 2*time.Microsecond, register.Array{Unit: "bytes", Index: index, Values: []uint64{9, 9, 0, 0, 1, 0, 9, 9}})
	l.add("l1", "no_ports", 0, register.Array{Values: []uint64{1}})
	got := l.done()
	if len(got) != 1 || got[0].Name != "l1 port 2 egress" || got[0].V[0] != 7 || got[0].V[1] != 1 || got[0].TNS[1] != 2000 {
		t.Errorf("lines are %+v", got)
	}
}
