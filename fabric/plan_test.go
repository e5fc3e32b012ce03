// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/fabric/fabrictest"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// planned returns a plan over the hosts of a bed, and the flows of the steps that have
// a receiver.
func (b *bed) planned(steps []Step, flows map[int]Flow) (*Plan, []Flow) {
	p := &Plan{Name: "test", Hosts: b.net.Hosts(), Steps: steps}
	var list []Flow
	for k := range steps {
		if fl, ok := flows[k]; ok {
			fl.Plan, fl.Step = p, int32(k)
			list = append(list, fl)
		}
	}
	return p, list
}

// A message passes three hosts: each sends it on when it has received it and computed.
func TestStepsFollowWhatTheyWaitFor(t *testing.T) {
	b := newBed(t, "dumbbell: {left: 2, right: 2, rate: 40Gbps, delay: 1us}")
	const size, compute = 50_000, 7 * vtime.Microsecond
	_, flows := b.planned([]Step{
		{Rank: 0, Time: compute, Lane: 1},
		{Rank: 0, After: []Dep{{Step: 0}}},
		{Rank: 2, After: []Dep{{1, Received}}, Time: compute},
		{Rank: 1, After: []Dep{{2, Received}}},
		{Rank: 0, After: []Dep{{1, Done}}},
		{Rank: 0, After: []Dep{{1, Left}}},
	}, map[int]Flow{1: b.flow("h1", "h3", size, 0), 2: b.flow("h3", "h2", size, 0)})
	b.add(flows...)
	b.until(vtime.Millisecond)
	if !b.Done() {
		t.Fatal("the plan has not ended")
	}
	r := b.Results()
	s := r.Plans[0].Steps
	first := r.Flows[0]
	if first.Start != compute || s[1].Sent != compute || first.FCT != first.Ideal {
		t.Errorf("the first flow starts at %v and takes %v; want %v and %v", first.Start, first.FCT, compute, first.Ideal)
	}
	if arrived := first.Start + first.Delivered; s[2].Ready != arrived || s[2].Sent != arrived+compute || r.Flows[1].Start != arrived+compute {
		t.Errorf("the second step is ready at %v and sends at %v, want %v and %v after that", s[2].Ready, s[2].Sent, arrived, compute)
	}
	if s[3].Done != r.Flows[1].Start+r.Flows[1].Delivered {
		t.Errorf("the third rank ends at %v", s[3].Done)
	}
	if s[4].Done != first.Start+first.FCT || s[1].Done != s[4].Done {
		t.Errorf("the flow is acknowledged at %v; its successor ends at %v", first.Start+first.FCT, s[4].Done)
	}
	if left := compute + (40 * vtime.Gbps).TxTime(50*(1000+roce.DataOverhead+24)); s[5].Done != left {
		t.Errorf("the last packet leaves at %v, want %v", s[5].Done, left)
	}
	if idle, ok := b.estimate.Idle(r.Plans[0].Plan, flows); !ok || idle != r.Flows[1].Start+r.Flows[1].FCT {
		t.Errorf("an idle network would need %v, want %v, when the last acknowledgement comes", idle, r.Flows[1].Start+r.Flows[1].FCT)
	}
}

// Messages of one queue pair leave back to back, if each waits for the one before to
// leave, and their packets are numbered on. Other flows between the same hosts begin
// with 0.
func TestMessagesOfAPairLeaveBackToBack(t *testing.T) {
	seen := make(numbers)
	b := newBed(t, "dumbbell: {left: 1, right: 1, rate: 40Gbps, delay: 1us}", func(c *Config, _ *fabrictest.Config) {
		c.Tap = func(n *topo.Node) Tap {
			if n.Name != "h2" {
				return nil
			}
			return seen
		}
	})
	var steps []Step
	flows := make(map[int]Flow)
	for k := range 10 {
		s := Step{Rank: 0}
		if k > 0 {
			s.After = []Dep{{int32(k - 1), Left}}
		}
		steps = append(steps, s)
		fl := b.flow("h1", "h2", 10_000, 0)
		fl.Port, fl.Pair = 7, 1
		flows[k] = fl
	}
	other := b.flow("h1", "h2", 10_000, 900*vtime.Microsecond)
	other.Port = 8
	_, list := b.planned(steps, flows)
	b.add(append(list, other)...)
	b.until(vtime.Millisecond)
	for port, want := range map[uint16]int{7: 100, 8: 10} {
		if len(seen[port]) != want || !slices.IsSorted(seen[port]) || seen[port][0] != 0 || seen[port][want-1] != uint32(want-1) {
			t.Errorf("from port %d packets have the numbers %d, want 0 to %d", port, seen[port], want-1)
		}
	}
	r := b.Results()
	tx := (40 * vtime.Gbps).TxTime(10 * (1000 + roce.DataOverhead + 24))
	for i, fl := range r.Flows[:10] {
		if fl.Start != vtime.Time(i)*tx || !fl.Finished {
			t.Errorf("message %d starts at %v, want %v", i, fl.Start, vtime.Time(i)*tx)
		}
	}
}

// numbers has the sequence numbers of data packets by source port.
type numbers map[uint16][]uint32

// Arrive implements Tap.
func (n numbers) Arrive(_ vtime.Time, _ int, f *packet.Frame) {
	const udp, bth = packet.EthernetLen + packet.IPv4Len, packet.EthernetLen + packet.IPv4Len + packet.UDPLen
	if len(f.Data) < bth+packet.BTHLen {
		return
	}
	if h := packet.BTH(f.Data[bth:]); h.Opcode() <= packet.OpSendOnly {
		port := packet.UDP(f.Data[udp:]).SrcPort()
		n[port] = append(n[port], h.PSN())
	}
}

func TestStepsOfALaneComputeInTurn(t *testing.T) {
	b := newBed(t, "dumbbell: {left: 2, right: 1, rate: 40Gbps, delay: 1us}")
	us := vtime.Microsecond
	_, flows := b.planned([]Step{
		{Rank: 0, Time: 10 * us, Lane: 1}, {Rank: 0, Time: 10 * us, Lane: 1}, {Rank: 0, Time: 10 * us}, {Rank: 0, Time: 10 * us, Lane: 2},
		{Rank: 1, Time: 10 * us, Lane: 1}, {Rank: 0, Time: 5 * us, Start: 40 * us},
		// Two of three are enough, and the third does not start it again.
		{Rank: 0, Need: 2, After: []Dep{{Step: 0}, {Step: 1}, {Step: 2}}},
	}, map[int]Flow{6: b.flow("h1", "h3", 1000, 0)})
	b.add(flows...)
	b.until(vtime.Millisecond)
	s := b.Results().Plans[0].Steps
	for k, want := range []vtime.Time{10 * us, 20 * us, 10 * us, 10 * us, 10 * us, 45 * us} {
		if s[k].Done != want {
			t.Errorf("step %d ends at %v, want %v", k, s[k].Done, want)
		}
	}
	if s[6].Sent != 10*us {
		t.Errorf("the flow that needs two of three starts at %v", s[6].Sent)
	}
}

func TestPlansThatCannotBeginAreRefused(t *testing.T) {
	b := newBed(t, "dumbbell: {left: 2, right: 1, rate: 40Gbps, delay: 1us}")
	to := func(dst string) map[int]Flow { return map[int]Flow{0: b.flow("h1", dst, 1000, 0)} }
	for _, c := range []struct {
		steps []Step
		dst   string
		want  string
	}{
		{[]Step{{After: []Dep{{Step: 1}}}, {After: []Dep{{Step: 2}}}, {After: []Dep{{Step: 0}}}}, "h2",
			"in a circle, so that they can never begin: step 0 of rank 0 (h1 to h2, 1000 bytes) waits for step 1 of rank 0 waits for step 2 of rank 0 waits for step 0"},
		{[]Step{{After: []Dep{{Step: 0}}}}, "h2", "circle"},
		{[]Step{{Need: 2, After: []Dep{{Step: 1}}}, {}}, "h2", "needs 2 of 1 events: it can never begin"},
		{[]Step{{After: []Dep{{Step: 7}}}}, "h2", "waits for step 7, which does not exist"},
		{[]Step{{}, {Rank: 0, After: []Dep{{0, Received}}}}, "h2", "happens at another host, h2"},
		{[]Step{{}, {Rank: 1, After: []Dep{{0, Done}}}}, "h2", "happens at another host, h1"},
		{[]Step{{}, {}, {After: []Dep{{1, Left}}}}, "h2", "waits for a flow of step 1 of rank 0, which has none"},
		{[]Step{{Rank: 1}}, "h3", "does not start at the host of its step"},
		{[]Step{{Rank: 5}}, "h3", "rank 5 has no host"},
		// One of two events is in a circle, but the other one is enough.
		{[]Step{{Need: 1, After: []Dep{{Step: 1}, {Step: 2}}}, {}, {After: []Dep{{Step: 0}}}}, "h2", ""},
	} {
		_, flows := b.planned(c.steps, to(c.dst))
		err := b.AddFlows(flows)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v: got %v, want %q", c.steps, err, c.want)
		}
	}
	if n := b.Flows(); n != 1 {
		t.Errorf("%d flows were added, want only those of the valid plan", n)
	}
}

// Results of plans are the same with any number of threads.
func TestPlansDoNotDependOnThreads(t *testing.T) {
	var first *Results
	for _, n := range []int{1, 4} {
		b := newBed(t, "leaf_spine: {leaves: 4, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 1us}", threads(n))
		var steps []Step
		flows := make(map[int]Flow)
		for s := range 6 { // a ring of 16
			for r := range 16 {
				step := Step{Rank: int32(r), Time: vtime.Time(r) * vtime.Nanosecond, Lane: 1}
				if s > 0 {
					step.After = []Dep{{int32((s-1)*16 + (r+15)%16), Received}}
				}
				flows[len(steps)] = b.flow(fmt.Sprintf("h%d", r+1), fmt.Sprintf("h%d", (r+1)%16+1), 100_000, 0)
				steps = append(steps, step)
			}
		}
		_, list := b.planned(steps, flows)
		b.add(list...)
		b.until(2 * vtime.Millisecond)
		if !b.Done() {
			t.Fatal("not ended")
		}
		r := b.Results()
		for i := range r.Flows {
			r.Flows[i].Plan = nil
		}
		r.Plans[0].Plan = nil
		if first == nil {
			first = r
		} else if !reflect.DeepEqual(first, r) {
			t.Errorf("results with %d threads differ", n)
		}
	}
}
