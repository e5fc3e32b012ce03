// SPDX-License-Identifier: Apache-2.0

package result

import (
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Causes are why links of a run were paused. Times are in microseconds, flows are
// numbered from 1 in the order in which the run got them. docs/pauses.md has the
// definitions.
type Causes struct {
	Storms []PauseStorm `json:"storms"` // worst first: by the time that flows waited
	// PausedUS is the paused time of all links; WaitedUS that which flows waited, summed
	// over flows, and VictimUS that of flows that none of the storms' roots had to do with.
	PausedUS float64 `json:"paused_us"`
	WaitedUS float64 `json:"waited_us"`
	VictimUS float64 `json:"victim_us"`
	// VictimPausedUS is the part of PausedUS in which a victim waited.
	VictimPausedUS float64 `json:"victim_paused_us"`
	// Victims counts the flows that were victims of a storm.
	Victims int `json:"victims"`
	// Cut says what is missing because the memory is bounded.
	Cut string `json:"cut,omitempty"`
	// Coarse is true if only pauses by time and port are known, as in networks of real
	// processes: no flow is known to have waited, or not.
	Coarse bool `json:"coarse,omitempty"`
	// Flows has the times of the flows that waited, by index.
	Flows map[int]FlowTime `json:"-"`
}

// FlowTime is for how long a flow waited because of storms, and as a victim of these, in
// microseconds.
type FlowTime struct{ Waited, Victim float64 }

// UsualRate returns the rate that most of the links between the same tiers as a given one
// have.
func UsualRate(t *topo.Topology, id int) vtime.Rate {
	tiers := func(l *topo.Link) [2]topo.Tier {
		a, b := t.Nodes[l.A.Node].Tier, t.Nodes[l.B.Node].Tier
		return [2]topo.Tier{min(a, b), max(a, b)}
	}
	self := &t.Links[id]
	rates := make(map[vtime.Rate]int)
	for i := range t.Links {
		if l := &t.Links[i]; tiers(l) == tiers(self) {
			rates[l.Rate]++
		}
	}
	rate := self.Rate
	for k, n := range rates {
		if n > rates[rate] || n == rates[rate] && k > rate {
			rate = k
		}
	}
	return rate
}

// PauseStorm is pauses that spread from one root without a gap of 100 us.
type PauseStorm struct {
	Root   PauseRoot `json:"root"`
	FromNS int64     `json:"from_ns"`
	// UntilNS is the end of the last pause.
	UntilNS int64 `json:"until_ns"`
	// Links are those that were paused, each behind that which leads to it.
	Links    []PausedLink `json:"links"`
	PausedUS float64      `json:"paused_us"` // summed over links
	Packets  int64        `json:"packets"`   // that waited in switches at the end of a pause
	WaitedUS float64      `json:"waited_us"` // summed over flows
	VictimUS float64      `json:"victim_us"`
	// VictimPausedUS is the part of PausedUS in which a victim waited.
	VictimPausedUS float64 `json:"victim_paused_us"`
	// RootFlows are the flows in the root with their shares, RootFlowCount is their number.
	RootFlows     []RootFlow `json:"root_flows"`
	RootFlowCount int        `json:"root_flow_count"`
	// Waiting counts the flows that waited; -1: not known. Victims are those of them of which no packet
	// was in the root since the storm began, worst first; VictimCount is their number.
	Waiting     int          `json:"waiting"`
	Victims     []FlowWait   `json:"victims"`
	VictimCount int          `json:"victim_count"`
	Lost        *LostToCause `json:"lost,omitempty"`
}

// PauseRoot is where a storm began.
type PauseRoot struct {
	Node  string `json:"node"` // that has the queue, or the host that pauses
	Port  int    `json:"port"` // of the queue; zero: the node is a host, or no port of it
	Peer  string `json:"peer,omitempty"`
	Class uint8  `json:"class"`
	// Cause is one of the names of causes, and Why a sentence.
	Cause string `json:"cause"`
	Why   string `json:"why"`
	// Loop has the nodes of a loop of pauses.
	Loop []string `json:"loop,omitempty"`
}

// Causes of a storm.
const (
	CauseIncast    = "incast"        // more senders to a host than its link takes
	CauseOverload  = "overload"      // more arrives than all paths take
	CauseHash      = "unlucky hash"  // more arrives than one path takes, and others are free
	CauseSlowLink  = "slow link"     // the link is slower than others of its kind
	CauseLinkDown  = "link down"     // another link is down, and this one has its traffic
	CauseBacklog   = "backlog"       // packets that earlier pauses held arrive at once
	CauseReceiver  = "slow receiver" // a host pauses its switch again and again
	CauseStorming  = "storming NIC"  // a host pauses its switch without end
	CauseLoop      = "loop"          // links wait for each other
	CauseHeadroom  = "headroom"      // the headroom is too small: lossless packets were dropped
	CauseThreshold = "threshold"     // the threshold is less than what two packets and a round trip need
	CauseUnknown   = "unknown"       // it was not recorded
)

// PausedLink is a link in the tree of a storm.
type PausedLink struct {
	From   string `json:"from"` // the paused node
	Port   int    `json:"port"`
	To     string `json:"to"`     // that paused it
	Parent int    `json:"parent"` // index of the link that is paused because of its root; -1: the root itself
	Depth  int    `json:"depth"`  // from the root, from 1
	Pauses int    `json:"pauses"`
	// PausedUS is their time; the others are as those of the storm.
	PausedUS       float64 `json:"paused_us"`
	Packets        int64   `json:"packets"`
	WaitedUS       float64 `json:"waited_us"`
	VictimUS       float64 `json:"victim_us"`
	VictimPausedUS float64 `json:"victim_paused_us"`
	// SpansNS are the begins and ends of the pauses; neighbours are joined if there are many.
	SpansNS [][2]int64 `json:"spans_ns"`
}

// RootFlow is a flow in a root, with its share of the bytes that were there when the
// switch paused its senders.
type RootFlow struct {
	Flow  int     `json:"flow"`
	Src   string  `json:"src"`
	Dst   string  `json:"dst"`
	Share float64 `json:"share"`
}

// FlowWait is how long a flow waited.
type FlowWait struct {
	Flow     int     `json:"flow"`
	Src      string  `json:"src"`
	Dst      string  `json:"dst"`
	WaitedUS float64 `json:"waited_us"`
}

// LostToCause compares the run with one of the same seed without the cause.
type LostToCause struct {
	Without string  `json:"without"` // what it does not have
	Flows   int     `json:"flows"`   // that ended in both
	FCTUS   float64 `json:"fct_us"`  // sum over these flows of what they lost
	// BusBW is the mean bus bandwidth of the collectives, GB/s, and BusBWWithout that of the
	// run without the cause; zero: none has ended.
	BusBW        float64 `json:"busbw,omitempty"`
	BusBWWithout float64 `json:"busbw_without,omitempty"`
}
