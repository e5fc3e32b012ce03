// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"strings"
)

// A Case is a state of the switch and what happens to it.
type Case struct {
	Seed   uint64 // of the program's random numbers
	Now    Time   // when the first event is counted from
	Config *Config
	Cells  []Cell
	Events []Event
}

// A Cell is a cell of the model's state that is not as in a new switch.
type Cell struct {
	Row, Index int
	Value      int64
}

// An Event is the arrival of a frame, or the departure of the packet at the
// head of a queue.
type Event struct {
	After Time // since the event before

	Data   []byte // of the frame that arrives; nil for a departure
	Elided int
	Port   int

	Pick  int   // which of the queues that have packets
	Depth int64 // what the target says is left in it; −1: what is in it
}

// describe prints a case so that a person can follow it.
func (c *Case) describe(f *Features) string {
	var b strings.Builder
	fmt.Fprintf(&b, "profile %s, time %d\n", f.Name, c.Now)
	fmt.Fprintf(&b, "config %s\n", c.Config.relevant(f))
	for _, x := range c.Cells {
		r := &rows[x.Row]
		fmt.Fprintf(&b, "state  %s[%d] (%s) = %s\n", r.register, x.Index, r.symbol, c.relative(x.Value))
	}
	for i, e := range c.Events {
		if e.Data != nil {
			fmt.Fprintf(&b, "event %d: +%d port %d receives %s\n", i+1, e.After, e.Port, f.describe(e.Data, e.Elided))
		} else {
			fmt.Fprintf(&b, "event %d: +%d queue %d departs, depth behind %d\n", i+1, e.After, e.Pick, e.Depth)
		}
	}
	return b.String()
}

// relative prints a value, and as a time relative to the start if it is near.
func (c *Case) relative(v int64) string {
	if d := v - c.Now; d > -1<<31 && d < 1<<31 {
		return fmt.Sprintf("%d (start%+d)", v, d)
	}
	return fmt.Sprint(v)
}

// relevant prints the settings of the features there are.
func (c *Config) relevant(f *Features) string {
	var s []string
	add := func(when bool, format string, args ...any) {
		if when {
			s = append(s, fmt.Sprintf(format, args...))
		}
	}
	add(true, "leaf %d, hosts %v, nets %v, neighbours %v, groups %v, ports %v", c.Leaf, c.Hosts, c.Nets, c.Neighbours, c.Groups, c.Forward)
	add(f.RTT, "RTT interval %d", c.RTTInterval)
	add(f.Base == "presto", "flowcell %d", c.FlowcellBytes)
	add(f.Flowlets, "flowlet gap %d", c.FlowletGap)
	add(f.CONGA, "metric age %d", c.MetricAge)
	add(f.RLB, "watch %+v, predict %+v, CNM %+v, pass time %d, byte time %d/1024, fresh %d, most %d", c.Watch, c.Predict, c.CNMOut, c.PassTime, c.ByteTime, c.Fresh, c.Most)
	add(f.Adaptive, "XOFF %d, inflow %d/1024, MTU %d, N_rc %d/256", c.XOFF, c.Inflow, c.MTU, c.NRC)
	add(f.CLB, "Q_thr %d, interval %d, tie %d", c.CLBThreshold, c.CLBInterval, c.CLBTie)
	add(f.DRE, "link weights %v", c.LinkWeight)
	add(f.PLB, "RTT_low %d, full %d, probe interval %d, byte times %v, tell again %d", c.RTTLow, c.Full, c.ProbeInterval, c.PauseByteTime, c.TellAgain)
	add(f.PFC, "quanta %v", c.Quantum)
	add(f.Emulated, "thresholds %+v, holds %d", c.PFCThreshold, c.MaxHolds)
	add(f.PBFS, "slots per tick %d/2^32, capacity %+v", c.SlotsPerTick, c.Capacity)
	add(f.QCN, "QCN %+v", c.QCN)
	add(f.RED, "RED %+v, default %+v", c.RED, c.REDDefault)
	add(f.INT, "telemetry %+v", c.Telemetry)
	return strings.Join(s, "\n       ")
}
