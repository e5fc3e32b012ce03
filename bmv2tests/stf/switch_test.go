// SPDX-License-Identifier: Apache-2.0

package stf

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/solo"
)

// rig is a switch with queues.p4, in virtual time.
type rig struct {
	*testing.T
	sw   *softswitch.Switch
	net  *solo.Net
	sent []sent
}

type sent struct {
	port int
	at   vtime.Time // when its last bit left
	data []byte
}

func newRig(t *testing.T, cfg softswitch.Config) *rig {
	t.Helper()
	sw, err := softswitch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, sw: sw, net: solo.New(sw)}
	r.net.Sent = func(port int, f *packet.Frame, end vtime.Time) {
		r.sent = append(r.sent, sent{port, end, slices.Clone(f.Data)})
		r.net.Frames().Put(f)
	}
	p, err := interp.Compile(compile(t, "testdata/queues.p4"), interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sw.Load(p)
	return r
}

// in injects a packet of size bytes into a port, for a queue of another port.
func (r *rig) in(port int, queue, out byte, size int) {
	data := make([]byte, 34)
	data[0], data[1] = queue, out
	r.net.Inject(port, data, size-len(data))
}

// report has the fields of a sent packet after queue and port.
type report struct{ enqTime, enqDepth, deqDelta, deqDepth, inTime, outTime, length uint64 }

func reportOf(b []byte) report {
	be := binary.BigEndian
	wide := func(b []byte) uint64 { return uint64(be.Uint16(b))<<32 | uint64(be.Uint32(b[2:])) }
	return report{uint64(be.Uint32(b[2:])), uint64(be.Uint32(b[6:])), uint64(be.Uint32(b[10:])), uint64(be.Uint32(b[14:])),
		wide(b[18:]), wide(b[24:]), uint64(be.Uint32(b[30:]))}
}

// Three packets of 1000 bytes at 1 Gb/s, 8 µs each, 100 µs after the start: depths and
// times in each unit. The depth of a packet counts the packets before it, without
// itself and without the one on the link.
func TestUnitsOfQueueMetadata(t *testing.T) {
	for _, tt := range []struct {
		units softswitch.Units
		want  []report
	}{
		{softswitch.Units{}, []report{{100, 0, 0, 0, 100, 100, 1000}, {100, 0, 8, 1, 100, 108, 1000}, {100, 1, 16, 0, 100, 116, 1000}}},
		{softswitch.Units{Time: "us", Depth: "packets"}, []report{{100, 0, 0, 0, 100, 100, 1000}, {100, 0, 8, 1, 100, 108, 1000}, {100, 1, 16, 0, 100, 116, 1000}}},
		// The clock of a network that is 1000 times slower.
		{softswitch.Units{Time: "us", Depth: "packets", Slower: 1000}, []report{{100_000, 0, 0, 0, 100_000, 100_000, 1000}, {100_000, 0, 8000, 1, 100_000, 108_000, 1000}, {100_000, 1, 16000, 0, 100_000, 116_000, 1000}}},
		{softswitch.Units{Time: "ns", Depth: "cells80"}, []report{{100_000, 0, 0, 0, 100_000, 100_000, 1000}, {100_000, 0, 8000, 13, 100_000, 108_000, 1000}, {100_000, 13, 16000, 0, 100_000, 116_000, 1000}}},
		{softswitch.Units{Time: "ns", Depth: "bytes"}, []report{{100_000, 0, 0, 0, 100_000, 100_000, 1000}, {100_000, 0, 8000, 1000, 100_000, 108_000, 1000}, {100_000, 1000, 16000, 0, 100_000, 116_000, 1000}}},
	} {
		r := newRig(t, softswitch.Config{Ports: []softswitch.Port{{Number: 1, Rate: vtime.Gbps}, {Number: 2, Rate: vtime.Gbps}}, Units: tt.units})
		r.net.RunUntil(100 * vtime.Microsecond)
		for range 3 {
			r.in(1, 0, 2, 1000)
		}
		r.net.Run()
		if len(r.sent) != 3 {
			t.Fatalf("%+v: %d packets", tt.units, len(r.sent))
		}
		for i, s := range r.sent {
			if got := reportOf(s.data); got != tt.want[i] {
				t.Errorf("%+v: packet %d says %+v, want %+v", tt.units, i, got, tt.want[i])
			}
		}
	}
}

// The program's priority is the queue: 7 is served before 0, and queues with weights
// by weight.
func TestPriorityIsTheQueue(t *testing.T) {
	r := newRig(t, softswitch.Config{Ports: []softswitch.Port{{Number: 1}, {Number: 2, Rate: vtime.Gbps}}})
	for _, q := range []byte{0, 1, 7, 3} {
		r.in(1, q, 2, 100)
	}
	r.net.Run()
	var order []byte
	for _, s := range r.sent {
		order = append(order, s.data[0])
	}
	if !slices.Equal(order, []byte{0, 7, 3, 1}) { // the link was free for the first packet
		t.Errorf("queues left in order %v, want 0 7 3 1", order)
	}
}

// A switch pauses its sender when the sender's packets use too much of the buffer,
// stops a class that the receiver pauses, and loses no packet of a lossless class.
func TestPauseThroughTheSwitch(t *testing.T) {
	r := newRig(t, softswitch.Config{
		Ports:  []softswitch.Port{{Number: 1, Rate: vtime.Gbps}, {Number: 2, Rate: vtime.Gbps}},
		Buffer: softswitch.Buffer{Size: 50_000}, PFC: softswitch.PFC{Lossless: 1 << 3, Thresholds: softswitch.Thresholds{XOFF: 5000, XON: 2000, Headroom: 4000}},
	})
	pfc := func(quanta uint16) {
		f := r.net.Frames().Get()
		f.Data = packet.AppendPFC(f.Data, packet.MAC{}, 1<<3, quanta)
		r.sw.Receive(2, f)
	}
	pauses := func() (list []uint16) {
		for _, s := range r.sent {
			if f := packet.AsPFC(s.data); f != nil && s.port == 1 {
				list = append(list, f.Quanta(3))
			}
		}
		return list
	}
	pfc(0xffff)
	for range 9 {
		r.in(1, 3, 2, 1000)
	}
	r.in(1, 0, 2, 1000) // another class is not paused
	r.net.RunUntil(50 * vtime.Microsecond)
	if got := pauses(); !slices.Equal(got, []uint16{65535}) {
		t.Errorf("port 1 was sent PFC %v, want one pause", got)
	}
	if n := len(r.sent); n != 2 {
		t.Errorf("%d frames were sent, want the pause and the packet of class 0", n)
	}
	pfc(0)
	r.net.RunUntil(vtime.Millisecond)
	if got := pauses(); !slices.Equal(got, []uint16{65535, 0}) {
		t.Errorf("port 1 was sent PFC %v, want a pause and a resume", got)
	}
	st := r.sw.Port(1).Class[3]
	if r.sw.LosslessDrops() != 0 || st.RxPackets != 9 || st.MaxIngressBytes != 9000 || st.PauseSent != 1 || st.ResumeSent != 1 {
		t.Errorf("%d lossless drops, %+v", r.sw.LosslessDrops(), st)
	}
	if got := r.sw.Port(2).Class[3]; got.TxPackets != 9 || got.PauseReceived != 1 || got.ResumeReceived != 1 || got.PausedTime != 50*vtime.Microsecond {
		t.Errorf("port 2: %+v", got)
	}
}

// If the switch is configured so, the DSCP of a packet decides the class that it counts
// in, for any queue that the program chooses.
func TestClassByDSCP(t *testing.T) {
	classes := &[64]uint8{26: 3}
	r := newRig(t, softswitch.Config{Ports: []softswitch.Port{{Number: 1}, {Number: 2, Rate: vtime.Gbps}},
		PFC: softswitch.PFC{Lossless: 1 << 3, Thresholds: softswitch.Thresholds{XOFF: 50_000}, Classify: classes}})
	data := make([]byte, 60)
	packet.Ethernet(data).Set(packet.MAC{0, 2}, packet.MAC{4}, packet.EtherTypeIPv4) // queue 0, port 2
	data[15] = 26 << 2
	r.net.Inject(1, data, 0)
	r.net.Inject(1, data, 0)
	if now, _ := r.sw.Port(1).Class[3].IngressBytes, 0; now != 60 {
		t.Errorf("%d bytes on the account of class 3, want the 60 that wait", now)
	}
	if got := r.sw.Port(2).Class[0].QueuePackets; got != 1 {
		t.Errorf("%d packets in queue 0, want 1", got)
	}
}

// Each cause of a drop has its own counter, and is reported.
func TestDropsAreCountedByCause(t *testing.T) {
	r := newRig(t, softswitch.Config{Ports: []softswitch.Port{{Number: 1}, {Number: 2, Rate: vtime.Gbps}, {Number: 3}, {Number: 509, Internal: true}},
		Buffer: softswitch.Buffer{QueuePackets: 1}, MaxPasses: 5})
	told := map[softswitch.DropCause]int{}
	r.sw.Observe(&softswitch.Observer{Drop: func(_ vtime.Time, port, _ int, cause softswitch.DropCause, _ *packet.Frame) {
		told[cause]++
		if port != 1 {
			t.Errorf("%v on port %d, want 1", cause, port)
		}
	}})
	r.in(1, 0, 0xff, 100) // dropped by the program
	r.in(1, 0, 77, 100)   // no such port
	for range 3 {
		r.in(1, 0, 2, 100) // one on the link, one in the queue
	}
	r.sw.LinkChanged(3, false)
	r.in(1, 0, 3, 100)
	r.net.Run()
	want := map[softswitch.DropCause]uint64{softswitch.DropIngress: 1, softswitch.DropPort: 1, softswitch.DropQueue: 1, softswitch.DropLink: 1}
	for cause := range softswitch.DropCauses {
		if got := r.sw.Stats().Drops[cause]; got != want[cause] || told[cause] != int(got) {
			t.Errorf("%v: %d were counted, %d told, want %d", cause, got, told[cause], want[cause])
		}
	}
	in := uint64(0) // whether sent or dropped
	for _, c := range r.sw.Port(1).Class {
		in += c.RxPackets
	}
	if in != r.sw.Stats().Received {
		t.Errorf("port 1 has received %d packets, the switch %d", in, r.sw.Stats().Received)
	}
}

func TestConfigurationsThatCannotBe(t *testing.T) {
	one := []softswitch.Port{{Number: 1}}
	pfc := softswitch.PFC{Lossless: 1}
	for want, cfg := range map[string]softswitch.Config{
		"port numbers are 0 to":             {Ports: []softswitch.Port{{Number: -1}}},
		"port -1: port numbers are":         {Ports: one, CPUPort: -1},
		"port 70000: port numbers are":      {Ports: one, CPUPort: 70000},
		"port 9 is the drop port":           {Ports: one, CPUPort: 9, DropPort: 9},
		"port 1 is given twice":             {Ports: []softswitch.Port{{Number: 1}, {Number: 1}}},
		"port 511 is the drop port":         {Ports: []softswitch.Port{{Number: 511}}},
		"may pass at most 65534 times":      {Ports: []softswitch.Port{{Number: 1}}, MaxPasses: 65536},
		"port 510 is the CPU port":          {Ports: []softswitch.Port{{Number: 510}}},
		`unit of time "s"`:                  {Ports: one, Units: softswitch.Units{Time: "s"}},
		`unit of queue depth "frames"`:      {Ports: one, Units: softswitch.Units{Depth: "frames"}},
		"PFC without a threshold":           {Ports: one, PFC: pfc},
		"a dynamic PFC threshold needs":     {Ports: one, PFC: softswitch.PFC{Lossless: 1, Thresholds: softswitch.Thresholds{Alpha: 1}}},
		"above the 1KB at which it pauses":  {Ports: one, PFC: softswitch.PFC{Lossless: 1, Thresholds: softswitch.Thresholds{XOFF: 1000, XON: 2000}}},
		"port 2: PFC resumes at 2KB":        {Ports: []softswitch.Port{{Number: 2}}, Buffer: softswitch.Buffer{Size: 10_000}, PFC: softswitch.PFC{Lossless: 1, Thresholds: softswitch.Thresholds{Alpha: 1, XOFF: 1000, XON: 2000}}},
		"must be 0 to 65536":                {Ports: []softswitch.Port{{Number: 1, Weights: [8]int{1 << 58}}}}, // a round would have 1600 · 2⁵⁸ bytes: zero
		"weights [0 -1 0":                   {Ports: []softswitch.Port{{Number: 1, Weights: [8]int{0, -1}}}},
		"headroom and reserve of all ports": {Ports: one, Buffer: softswitch.Buffer{Size: 1000}, PFC: softswitch.PFC{Lossless: 1, Thresholds: softswitch.Thresholds{XOFF: 1, Headroom: 2000}}},
	} {
		if _, err := softswitch.New(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
