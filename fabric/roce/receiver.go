// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"cmp"
	"encoding/binary"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// receiver is the receiving end of a flow. What usual packets need is in the first two
// lines of the cache.
type receiver struct {
	h        *Host
	nic      *nic  // of acknowledgements
	expected int64 // next packet in order
	total    int64
	psn      uint32 // of packet 0
	task     int32  // list of tasks that wait for the flow, from 1; zero: none
	held     int32  // number of packets in early
	degree   int32  // maximum
	many     bool   // the queue pair has further messages
	class    uint8  // of acknowledgements
	cnpClass uint8
	started  bool
	stalled  bool         // a packet waited in a paused queue
	u        *uecReceiver // transport uec; nil: RoCE
	head     layout       // of acknowledgements

	first      vtime.Time // when the first packet arrived
	ended      vtime.Time // when the last packet in order arrived; zero: not yet
	nakAt      vtime.Time // when the NAK for nakFor may be repeated
	nakFor     int64      // the packet of the last NAK; -1: none
	cnpAt      vtime.Time // when the next notification may be sent
	outOfOrder int64
	duplicates int64
	degreeSum  int64

	marked  int64
	early   bitmap  // packets received above expected, if they are kept
	highest int64   // one past the highest of these
	report  *report // of PCN, while packets arrive
	hole    hole
}

func newReceiver(h *Host, from Address, f *Flow, remote uint32) *receiver {
	r := &receiver{h: h, nic: h.port(f.Ack[1]), total: h.cfg.Packets(f.Size), psn: f.PSN, class: f.Class, cnpClass: f.Class, nakFor: -1}
	if c := h.cfg.AckClass; c >= 0 {
		r.class = uint8(c)
	}
	if c := h.cfg.CNPClass; c >= 0 {
		r.cnpClass = uint8(c)
	}
	if h.cfg.Transport == UET {
		r.u = newUECReceiver(h, r, from, f, remote)
		return r
	}
	behind := packet.AETHLen
	if h.cfg.Recovery.keeps() {
		behind += sackLen
	}
	behind += h.kit.Telemetry.Len()
	back := *f
	back.Port = cmp.Or(f.AckPort, f.Port)
	r.head = h.headers(r.nic.self, from, &back, r.class, packet.NotECT, cc.NoTelemetry, behind)
	packet.BTH(r.head.bytes[r.head.bth():]).Set(packet.OpAcknowledge, remote, 0, false)
	return r
}

// data handles a data packet.
func (r *receiver) data(now vtime.Time, f *packet.Frame, ip packet.IPv4, telemetry []byte, bth packet.BTH) {
	if !r.started {
		r.started, r.first = true, now
	}
	r.stalled = r.stalled || f.Stalled
	marked := ip.ECN() == packet.CE
	if marked {
		r.marked++
	}
	d := ahead(bth.PSN()-r.psn, r.expected)
	if d > 0 {
		r.outOfOrder++
		r.degreeSum += d
		r.degree = max(r.degree, int32(d))
		r.h.Stats.OutOfOrder++
		r.h.Stats.Degree.Add(d)
		marked = marked || r.h.cfg.CNPOnReorder
	}
	echo := marked && r.h.cfg.Hermes.On
	switch r.h.kit.Receiver {
	case cc.Echo:
		echo = marked
	case cc.Notify:
		if marked && now >= r.cnpAt {
			r.cnpAt = now + r.h.cfg.CNPInterval
			r.notify(now, packet.CE, 0)
		}
	case cc.Report:
		r.count(now, f.Len()+r.h.cfg.Overhead, marked)
	}
	wanted := bth.AckReq() || echo && r.h.cfg.AckMarked
	switch {
	case d == 0:
		first := r.expected
		r.expected++
		for r.held > 0 && r.early.has(r.expected, r.expected) {
			r.early.clear(r.expected)
			r.held--
			r.expected++
		}
		if r.held > 0 {
			r.openHole(now)
		}
		if r.expected == r.total {
			r.ended = now
		}
		if filled := r.expected > first+1; filled || wanted {
			r.ack(now, packet.SyndromeACK, r.expected-1, bth.PSN(), echo, telemetry)
		}
		if r.task != 0 && r.expected == r.total {
			r.h.work.arrived(now, r.task)
		}
	case d < 0:
		r.duplicates++
		if wanted {
			r.ack(now, packet.SyndromeACK, r.expected-1, bth.PSN(), echo, telemetry)
		}
	case r.h.cfg.Recovery.keeps():
		r.keep(now, d, bth.PSN(), echo, telemetry)
	case r.nakFor != r.expected || now >= r.nakAt:
		r.nakFor, r.nakAt = r.expected, now+r.h.cfg.NAKInterval
		r.ack(now, packet.SyndromeNAKPSNSequence, r.expected, bth.PSN(), echo, telemetry)
	}
}

// ack sends an acknowledgement of packet n or a negative one, caused by the packet
// with the sequence number cause.
func (r *receiver) ack(now vtime.Time, syndrome uint8, n int64, cause uint32, echo bool, telemetry []byte) {
	f := r.h.net.Frames().Get()
	f.Data = append(f.Data, r.head.header()...)
	bth := packet.BTH(f.Data[r.head.bth():])
	binary.BigEndian.PutUint32(bth[8:], (r.psn+uint32(n))&0xffffff)
	if echo {
		bth.SetBECN()
	}
	f.Data = append(f.Data, syndrome, byte(r.expected>>16), byte(r.expected>>8), byte(r.expected))
	if r.h.cfg.Recovery.keeps() {
		f.Data = binary.BigEndian.AppendUint32(f.Data, cause)
	}
	if n := r.h.kit.Telemetry.Len(); n == len(telemetry) {
		f.Data = append(f.Data, telemetry...)
	} else {
		f.Data = append(f.Data, noTelemetry[:n]...)
	}
	f.Elided = icrcLen
	r.nic.send(now, r.class, f)
}

// noTelemetry is a block without records, and longer than a digest.
var noTelemetry [packet.INTLen]byte

// notify sends a congestion notification packet with an ECN field and a rate in
// Mb/s.
func (r *receiver) notify(now vtime.Time, ecn packet.ECN, rate uint32) {
	f := r.h.net.Frames().Get()
	f.Data = append(f.Data, r.head.header()...)
	f.Data = append(f.Data, make([]byte, packet.CNPLen-packet.BTHLen)...)
	ip := packet.IPv4(f.Data[r.head.ip:])
	ip.SetDSCP(DSCP(r.cnpClass))
	ip.SetECN(ecn)
	r.head.resize(f.Data, packet.CNPLen-packet.BTHLen)
	bth := packet.BTH(f.Data[r.head.bth():])
	bth.Set(packet.OpCongestionNotific, bth.DestQP(), 0, false)
	bth.SetBECN()
	packet.CNP(bth).SetRecRate(rate)
	f.Elided = icrcLen
	r.h.Stats.CNPs++
	r.nic.send(now, r.cnpClass, f)
}

// Incoming is a flow at its receiver.
type Incoming receiver

// Ended returns when the last packet in order arrived, or zero.
func (i *Incoming) Ended() vtime.Time { return i.ended }

// Delivered returns the number of packets received in order.
func (i *Incoming) Delivered() int64 { return i.expected }

// OutOfOrder returns the number of packets that arrived early, with a PSN above the
// expected one, their maximum distance to it, and the sum of the distances, in packets.
// RFC 4737 counts late packets instead.
func (i *Incoming) OutOfOrder() (packets, degree, sum int64) {
	return i.outOfOrder, int64(i.degree), i.degreeSum
}

// Marked returns the number of packets received with ECN CE.
func (i *Incoming) Marked() int64 { return i.marked }

// Stalled reports whether a packet of the flow waited in a paused queue of a
// switch that reports this.
func (i *Incoming) Stalled() bool { return i.stalled }
