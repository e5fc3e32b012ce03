// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Config is the configuration of one host and its traffic.
type Config struct {
	Topology *topo.Topology
	Host     int // index in Topology.Nodes
	// Hosts with MTU zero fill the MTU of the port. All hosts need the same.
	Hosts roce.Config
	// Flows are the flows of all hosts. The host sends and receives its own;
	// the numbers of queue pairs follow from the whole list.
	Flows []fabric.Flow
	// Scale is the factor by which the real network is slower than the
	// topology, from 1 to topo.MaxScale.
	Scale int64
	// Epoch is the wall time of time zero; the same for all hosts.
	Epoch time.Time
	// Linger is the wall time without a frame after which a host with finished
	// flows ends; until then it acknowledges retransmissions. Zero means the
	// retransmission timeout and a second, or nothing if the host receives no flow.
	Linger time.Duration
	// Finished, if set, is called when the host's flows are done. If Stay is
	// set, the host ends when it is closed; Linger is not used then. With both,
	// the hosts of one process end together.
	Finished func()
	Stay     <-chan struct{}
}

// fit sets the hosts' MTU to what that of the port leaves if it is zero, and returns an
// error if their packets are longer than the port carries.
func (c *Config) fit(mtu int) error {
	frame, err := c.Hosts.LargestFrame()
	if err != nil {
		return err
	}
	headers := frame - packet.EthernetLen - c.Hosts.MTU
	switch {
	case c.Hosts.MTU == 0 && mtu == 0:
		c.Hosts.MTU = roce.Papers.Defaults().MTU // any interface carries it
	case c.Hosts.MTU == 0:
		if c.Hosts.MTU = min(mtu-headers, roce.MaxMTU); c.Hosts.MTU < roce.MinMTU {
			return fmt.Errorf("the interface's MTU is %d, too small for RoCEv2 packets with %d bytes of headers: raise it", mtu, headers)
		}
	case mtu > 0 && c.Hosts.MTU+headers > mtu:
		return fmt.Errorf("packets have up to %d bytes, and the interface's MTU is %d: set the hosts' mtu to at most %d, or raise the MTU: ip link set INTERFACE mtu %d", c.Hosts.MTU+headers, mtu, mtu-headers, c.Hosts.MTU+headers)
	}
	return nil
}

// linger returns the wall time without a frame after which the host ends.
func (c *Config) linger(receives bool) time.Duration {
	switch {
	case c.Linger > 0 || c.Stay != nil:
		return c.Linger
	case !receives:
		return 0
	}
	const spare = time.Second
	return time.Duration(c.Hosts.RTO.Nanoseconds()*c.Scale) + spare
}

// Report has the results of one host. Times are those of the scaled clock, in
// nanoseconds.
type Report struct {
	Host     string     `json:"host"`
	Scale    int64      `json:"scale"`             // the network was slower by this factor
	Partial  bool       `json:"partial,omitempty"` // stopped before all flows were done
	Outgoing []Outgoing `json:"outgoing"`
	Incoming []Incoming `json:"incoming"`
	Timeouts uint64     `json:"timeouts"`
	Unknown  uint64     `json:"unknown_frames"` // received frames that are not RoCEv2
	// FastStarts are the flows that began with PB-FS.
	FastStarts uint64 `json:"fast_starts,omitempty"`
}

// Outgoing is a flow at its sender.
type Outgoing struct {
	Flow    int    `json:"flow"` // number in Config.Flows, from 1
	Dst     string `json:"dst"`
	Bytes   int64  `json:"bytes"`
	StartNS int64  `json:"start_ns"`
	FCTNS   int64  `json:"fct_ns"`   // zero: not finished
	IdealNS int64  `json:"ideal_ns"` // FCT in an empty network
	Packets int64  `json:"packets"`  // of the flow
	Sent    int64  `json:"sent"`     // packets, with retransmissions
	Resent  int64  `json:"resent"`   // retransmissions
	Acked   int64  `json:"acked"`    // payload bytes
	CNPs    int64  `json:"cnps"`     // received
	Stalled bool   `json:"stalled"`  // a packet waited because of PFC
}

// Incoming is a flow at its receiver.
type Incoming struct {
	Flow       int    `json:"flow"`
	Src        string `json:"src"`
	Delivered  int64  `json:"delivered_packets"` // in order
	EndNS      int64  `json:"end_ns"`            // time of the last packet in order; zero: not finished
	OutOfOrder int64  `json:"out_of_order"`      // packets
	Degree     int64  `json:"degree"`            // maximum distance to the expected packet, in packets
	Marked     int64  `json:"marked"`            // packets with ECN CE
}

// outgoing and incoming are the host's flows while it runs.
type outgoing struct {
	number int
	flow   *fabric.Flow
	ideal  vtime.Time
	*roce.Outgoing
}

type incoming struct {
	number int
	src    int
	total  int64
	*roce.Incoming
}

// Run runs a host on a port until its flows are done or ctx is; in both cases
// it returns a report. It returns an error if the configuration is invalid or
// the port fails.
func Run(ctx context.Context, cfg Config, port Port) (*Report, error) {
	self := &cfg.Topology.Nodes[cfg.Host]
	if cfg.Scale < 1 || cfg.Scale > topo.MaxScale {
		return nil, fmt.Errorf("scale is %d, must be from 1 to %d", cfg.Scale, int64(topo.MaxScale))
	}
	if err := cfg.fit(port.MTU()); err != nil {
		return nil, err
	}
	if _, err := cfg.Hosts.Check(); err != nil {
		return nil, err
	}
	rate := cfg.Topology.Links[self.Ports[0].Link].Rate
	kit, err := cfg.Hosts.CC.Kit(rate)
	if err != nil {
		return nil, err
	}
	estimate, err := fabric.NewEstimator(cfg.Topology, &cfg.Hosts)
	if err != nil {
		return nil, err
	}
	if cfg.Hosts.PBFS.On && cfg.Hosts.PBFS.RTT == 0 {
		cfg.Hosts.PBFS.RTT = estimate.LongestRTT()
	}
	l := &loop{port: port, epoch: cfg.Epoch, scale: cfg.Scale}
	h := roce.New(l, &cfg.Hosts, kit, address(self), rate)

	var outs []outgoing
	var ins []incoming
	sent, received := make(map[int]uint32), make(map[int]uint32)
	for i := range cfg.Flows {
		fl := &cfg.Flows[i]
		est, ok := estimate.Flow(fl)
		if !ok {
			return nil, fmt.Errorf("flow %d: no path from %s to %s", i+1, cfg.Topology.Nodes[fl.Src].Name, cfg.Topology.Nodes[fl.Dst].Name)
		}
		rf := roce.Flow{
			Size: fl.Size, Start: fl.Start, Class: fl.Class, Port: fl.Port, Coflow: uint16(fl.Coflow),
			BaseRTT: est.BaseRTT, Path: est.Rate, Leaf: cfg.Topology.Nodes[fl.Dst].Leaf, Paths: est.Paths,
		}
		if rf.Port == 0 {
			rf.Port = fabric.DefaultPort(i)
		}
		sender, receiver := roce.FirstQP+sent[fl.Src], roce.FirstQP+received[fl.Dst]
		sent[fl.Src]++
		received[fl.Dst]++
		if fl.Src == cfg.Host {
			o, err := h.Send(rf, address(&cfg.Topology.Nodes[fl.Dst]), receiver)
			if err != nil {
				return nil, fmt.Errorf("flow %d: %w", i+1, err)
			}
			outs = append(outs, outgoing{i + 1, fl, est.FCT, o})
		}
		if fl.Dst == cfg.Host {
			ins = append(ins, incoming{i + 1, fl.Src, cfg.Hosts.Packets(fl.Size), h.Expect(rf, address(&cfg.Topology.Nodes[fl.Src]), sender)})
		}
	}

	finished := func() bool {
		for _, o := range outs {
			if o.Ended() == 0 {
				return false
			}
		}
		for _, in := range ins {
			if in.Delivered() < in.total {
				return false
			}
		}
		return true
	}
	var since time.Time
	linger := cfg.linger(len(ins) > 0)
	err = l.run(ctx, func(f *packet.Frame) {
		h.Receive(1, f)
		if !since.IsZero() {
			since = time.Now() // a peer still sends
		}
	}, func() bool {
		if since.IsZero() {
			if !finished() {
				return false
			}
			since = time.Now()
			if cfg.Finished != nil {
				cfg.Finished()
			}
		}
		if cfg.Stay != nil {
			select {
			case <-cfg.Stay:
				return true
			default:
				return false
			}
		}
		return time.Since(since) >= linger
	})
	r := &Report{Host: self.Name, Scale: cfg.Scale, Partial: !finished(), Timeouts: h.Stats.Timeouts, Unknown: h.Stats.Unknown, FastStarts: h.Stats.FastStarts}
	for _, o := range outs {
		total, sent := o.Packets()
		line := Outgoing{
			Flow: o.number, Dst: cfg.Topology.Nodes[o.flow.Dst].Name, Bytes: o.flow.Size, StartNS: o.flow.Start.Nanoseconds(),
			IdealNS: o.ideal.Nanoseconds(), Packets: total, Sent: sent, Resent: o.Resent(), Acked: o.Acked(), CNPs: o.CNPs(), Stalled: o.Stalled(),
		}
		if t := o.Ended(); t > 0 {
			line.FCTNS = (t - o.flow.Start).Nanoseconds()
		}
		r.Outgoing = append(r.Outgoing, line)
	}
	for _, in := range ins {
		packets, degree, _ := in.OutOfOrder()
		r.Incoming = append(r.Incoming, Incoming{
			Flow: in.number, Src: cfg.Topology.Nodes[in.src].Name, Delivered: in.Delivered(), EndNS: in.Ended().Nanoseconds(),
			OutOfOrder: packets, Degree: degree, Marked: in.Marked(),
		})
	}
	if ctx.Err() != nil {
		err = nil // the report says that it is partial
	}
	return r, err
}

func address(n *topo.Node) roce.Address { return roce.Address{MAC: n.MAC, IP: n.IP} }

// WriteJSON writes the report as one JSON document.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteTable writes the report as text.
func (r *Report) WriteTable(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(r.Outgoing) > 0 {
		fmt.Fprintln(tw, "FLOW\tTO\tBYTES\tFCT\tSLOWDOWN\tRETRANSMISSIONS\tCNPS\tSTALLED")
		for _, o := range r.Outgoing {
			fct, slowdown := "unfinished", "-"
			if o.FCTNS > 0 {
				fct = (vtime.Time(o.FCTNS) * vtime.Nanosecond).String()
				slowdown = fmt.Sprintf("%.2f", float64(o.FCTNS)/float64(o.IdealNS))
			}
			fmt.Fprintf(tw, "%d\t%s\t%d\t%s\t%s\t%d\t%d\t%v\n", o.Flow, o.Dst, o.Bytes, fct, slowdown, o.Resent, o.CNPs, o.Stalled)
		}
	}
	if len(r.Incoming) > 0 {
		fmt.Fprintln(tw, "FLOW\tFROM\tPACKETS\tOUT OF ORDER\tDEGREE\tMARKED")
		for _, in := range r.Incoming {
			fmt.Fprintf(tw, "%d\t%s\t%d\t%d\t%d\t%d\n", in.Flow, in.Src, in.Delivered, in.OutOfOrder, in.Degree, in.Marked)
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	state := "all flows are done"
	if r.Partial {
		state = "stopped before all flows were done"
	}
	if _, err := fmt.Fprintf(w, "%s: %s; %d timeouts, %d other frames\n", r.Host, state, r.Timeouts, r.Unknown); err != nil || r.Scale == 1 {
		return err
	}
	_, err := fmt.Fprintf(w, "times are those of the topology; the real network took %d times as long\n", r.Scale)
	return err
}
