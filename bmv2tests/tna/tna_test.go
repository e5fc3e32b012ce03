// SPDX-License-Identifier: Apache-2.0

// Package tna tests the parts of the Tofino Native Architecture around a program: the
// metadata of egress, mirroring, resubmission, recirculation and registers.
package tna

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/solo"
)

const (
	cpuPort       = 64
	recirculation = 68
)

// rig is a switch with a program, in virtual time.
type rig struct {
	*testing.T
	sw   *softswitch.Switch
	net  *solo.Net
	sent []sent
}

type sent struct {
	port int
	data []byte
	len  int
}

func newRig(t *testing.T, file string) *rig {
	t.Helper()
	res, list := compiler.Compile(compiler.Options{File: file})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	p, err := interp.Compile(res.Program, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	sw, err := softswitch.New(softswitch.Config{CPUPort: cpuPort, Ports: []softswitch.Port{
		{Number: 1, Rate: vtime.Gbps}, {Number: 2, Rate: vtime.Gbps}, {Number: 3, Rate: vtime.Gbps},
		{Number: recirculation, Internal: true, Rate: vtime.Gbps, Latency: 500 * vtime.Nanosecond},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{T: t, sw: sw, net: solo.New(sw)}
	take := func(port int, f *packet.Frame) {
		r.sent = append(r.sent, sent{port, slices.Clone(f.Data), f.Len()})
	}
	r.net.Sent = func(port int, f *packet.Frame, _ vtime.Time) {
		take(port, f)
		r.net.Frames().Put(f)
	}
	sw.Control(softswitch.Control{PacketIn: func(f *packet.Frame) { take(cpuPort, f) }})
	sw.Load(p)
	return r
}

// command is the header of a packet for path.p4, with its instructions.
type command struct {
	port                  uint16
	qid, cos              byte
	inDrop, outDrop       byte
	inSession, outSession uint16
	group                 uint16
	flags, note           byte
}

const (
	noPort   = 0x1ff
	resubmit = 1
	bypass   = 2
	toCPU    = 4
)

// Bytes of headers.
const (
	toldBytes      = 24
	commandBytes   = 14
	copyBytes      = 4
	intrinsicBytes = 27
	leaveBytes     = 6
)

func (c *command) bytes() []byte {
	be := binary.BigEndian
	b := be.AppendUint16(nil, c.port)
	b = append(b, c.qid, c.cos, c.inDrop, c.outDrop)
	b = be.AppendUint16(be.AppendUint16(be.AppendUint16(b, c.inSession), c.outSession), c.group)
	return append(b, c.flags, c.note)
}

// send injects a packet of size bytes into port 1, of which the command and the payload
// are in memory, and runs the switch.
func (r *rig) send(c command, size int) []sent {
	r.Helper()
	r.sent = nil
	r.net.Inject(1, append(c.bytes(), payload...), size-commandBytes-len(payload))
	r.net.Run()
	return r.sent
}

var payload = []byte("some data")

// egress has the metadata of egress for a packet.
type egress struct {
	port, enqDepth, enqTime, deqDepth, wait, rid, first, qid, cos, length int
}

func egressOf(b []byte) egress {
	be := binary.BigEndian
	u24 := func(b []byte) int { return int(b[0])<<16 | int(b[1])<<8 | int(b[2]) }
	return egress{int(be.Uint16(b)), u24(b[2:]), int(be.Uint32(b[6:])), u24(b[10:]), int(be.Uint32(b[15:])),
		int(be.Uint16(b[19:])), int(b[21]), int(b[22]), int(b[23]), int(be.Uint16(b[25:]))}
}

// told has the metadata of ingress for a packet.
type told struct {
	resubmitted byte
	port        uint16
	arrived     uint64
	time        uint64
	brought     uint64
}

func wide(b []byte) uint64 {
	return uint64(binary.BigEndian.Uint16(b))<<32 | uint64(binary.BigEndian.Uint32(b[2:]))
}

func toldOf(b []byte) told {
	return told{b[1], binary.BigEndian.Uint16(b[2:]), wide(b[4:]), wide(b[10:]), binary.BigEndian.Uint64(b[16:])}
}

// parts splits a sent packet: metadata of egress, metadata of ingress, time of egress,
// the note of the command, the rest.
func parts(b []byte) (eg egress, in told, time uint64, note byte, rest []byte) {
	at := intrinsicBytes + toldBytes
	end := at + leaveBytes + commandBytes
	return egressOf(b), toldOf(b[intrinsicBytes:]), wide(b[at:]), b[end-1], b[end:]
}

// A packet goes to the port that ingress sets, with the metadata of ingress and egress.
// Bytes that neither parses do not change.
func TestMetadataOfIngressAndEgress(t *testing.T) {
	r := newRig(t, "testdata/path.p4")
	const now = 300_000 // ns, beyond 18 bits
	r.net.RunUntil(now * vtime.Nanosecond)
	out := r.send(command{port: 2, qid: 5, cos: 3, note: 1}, 1000)
	if len(out) != 1 || out[0].port != 2 {
		t.Fatalf("sent %v, want one packet by port 2", out)
	}
	eg, in, time, note, rest := parts(out[0].data)
	if want := (egress{port: 2, enqTime: now & 0x3ffff, qid: 5, cos: 3, length: 1000 + toldBytes}); eg != want {
		t.Errorf("egress is told %+v, want %+v", eg, want)
	}
	if want := (told{port: 1, arrived: now, time: now}); in != want || time != now {
		t.Errorf("ingress is told %+v and egress %d, want %+v and %d", in, time, want, now)
	}
	if c := r.sw.Port(1).Class[3]; c.RxPackets != 1 || c.RxBytes != 1000 {
		t.Errorf("port 1 counts %d packets of %d bytes", c.RxPackets, c.RxBytes)
	}
	if note != 1+1+16 || string(rest) != string(payload) || out[0].len != 1000+intrinsicBytes+toldBytes+leaveBytes {
		t.Errorf("note %d, rest %q, %d bytes", note, rest, out[0].len)
	}
}

// Depths are in cells of 80 bytes, of the queue when the packet is enqueued and
// dequeued, without the packet. Times are in nanoseconds and wrap after 18 bits.
func TestDepthsAndTimes(t *testing.T) {
	r := newRig(t, "testdata/path.p4")
	const (
		packets = 20
		each    = 2000
		queued  = each + toldBytes                           // 26 cells
		takes   = 8 * (queued + intrinsicBytes + leaveBytes) // ns at 1 Gb/s
	)
	for range packets {
		r.net.Inject(1, (&command{port: 2}).bytes(), each-commandBytes)
	}
	r.net.Run()
	for i, s := range r.sent {
		// The first packet is on the link at once.
		want := egress{port: 2, enqDepth: 26 * max(i-1, 0), deqDepth: 26 * (packets - 1 - i), wait: i * takes & 0x3ffff, length: queued}
		if i == 0 {
			want.deqDepth = 0
		}
		if eg := egressOf(s.data); eg != want {
			t.Errorf("packet %d is told %+v, want %+v", i, eg, want)
		}
	}
	if last := (packets - 1) * takes; last < 1<<18 || len(r.sent) != packets {
		t.Errorf("%d packets, of which the last waits %d ns; want a wait that wraps", len(r.sent), last)
	}
}

// Ingress drops a packet without a port or with bit 0 of drop_ctl. Egress drops one with
// bit 0 of its drop_ctl.
func TestDrops(t *testing.T) {
	r := newRig(t, "testdata/path.p4")
	for _, tt := range []struct {
		name  string
		c     command
		cause softswitch.DropCause
	}{
		{"no port", command{port: noPort}, softswitch.DropIngress},
		{"ingress drops", command{port: 2, inDrop: 1}, softswitch.DropIngress},
		{"egress drops", command{port: 2, outDrop: 1}, softswitch.DropEgress},
		{"no such port", command{port: 99}, softswitch.DropPort},
		{"a group that is not there", command{port: noPort, group: 9}, softswitch.DropMulticast},
	} {
		before := r.sw.Stats().Drops[tt.cause]
		if out := r.send(tt.c, 100); len(out) != 0 || r.sw.Stats().Drops[tt.cause] != before+1 {
			t.Errorf("%s: sent %d, drops %v", tt.name, len(out), r.sw.Stats().Drops)
		}
	}
	before := r.sw.Stats().Drops[softswitch.DropParser]
	r.net.Inject(1, []byte{0, 2, 0}, 0) // too short to parse
	if r.sw.Stats().Drops[softswitch.DropParser] != before+1 {
		t.Error("a packet that cannot be parsed is not dropped")
	}
}

// Ingress mirrors the packet as received, egress as sent. Both insert a header before
// it, which counts in the session's length.
func TestMirror(t *testing.T) {
	r := newRig(t, "testdata/path.p4")
	to := []softswitch.Replica{{Port: 3, Instance: 7}}
	r.sw.SetSession(100, to, 6, 0)
	r.sw.SetSession(101, to, 6, 12)
	by := func(port int) []byte {
		t.Helper()
		i := slices.IndexFunc(r.sent, func(s sent) bool { return s.port == port })
		if i < 0 {
			t.Fatalf("nothing left by port %d", port)
		}
		return r.sent[i].data
	}
	c := command{port: 2, inSession: 100, note: 5}
	r.send(c, 60)
	if got, want := egressOf(by(3)), (egress{port: 3, rid: 7, first: 1, qid: 6, cos: 6, length: 60 + copyBytes}); got != want {
		t.Errorf("egress is told %+v of a copy, want %+v", got, want)
	}
	// 1 in three bits, 0x1234 in thirteen; the note that ingress made of it.
	want := append([]byte{0xcc, 0x32, 0x34, 6}, append(c.bytes(), payload...)...)
	if got := by(3)[intrinsicBytes:]; !slices.Equal(got, want) {
		t.Errorf("ingress' copy is % x, want % x", got, want)
	}
	r.send(command{port: 2, outSession: 100, note: 5}, 60)
	if got, want := by(3)[intrinsicBytes:], append([]byte{0xcc, 0x45, 0x67, 5 + 1 + 16}, by(2)...); !slices.Equal(got, want) {
		t.Errorf("egress' copy is % x, want % x", got, want)
	}
	r.send(command{port: 2, inSession: 101}, 60)
	if n := len(by(3)) - intrinsicBytes; n != 12 {
		t.Errorf("a copy cut to 12 bytes has %d", n)
	}
	for _, tt := range []struct {
		name   string
		c      command
		copies int
	}{
		{"bit 2 of ingress' drop_ctl", command{port: noPort, inSession: 100, inDrop: 4}, 0},
		{"bit 2 of egress' drop_ctl", command{port: 3, outSession: 100, outDrop: 4 | 1}, 0},
		{"a packet dropped in ingress", command{port: 2, inSession: 100, inDrop: 1}, 1},
		{"a packet dropped in egress", command{port: 2, outSession: 100, outDrop: 1}, 1},
		{"a session that is not there", command{port: noPort, inSession: 102}, 0},
	} {
		if out := r.send(tt.c, 60); len(out) != tt.copies {
			t.Errorf("%s: %d copies, want %d", tt.name, len(out), tt.copies)
		}
	}
}

// A resubmitted packet passes ingress again as received, with the program's resubmit
// header. It is not resubmitted a second time.
func TestResubmitOnce(t *testing.T) {
	r := newRig(t, "testdata/path.p4")
	out := r.send(command{port: 2, flags: resubmit, note: 5}, 100)
	if len(out) != 1 || r.sw.Stats().Resubmitted != 1 {
		t.Fatalf("%d packets, %d resubmissions", len(out), r.sw.Stats().Resubmitted)
	}
	eg, in, _, note, _ := parts(out[0].data)
	if in.resubmitted != 1 || in.brought != 0xdeadbeef<<32|6<<24 || note != 5+1+16 || eg.length != 100+toldBytes {
		t.Errorf("told %+v, note %d, length %d", in, note, eg.length)
	}
	if out := r.send(command{port: 2, flags: resubmit, inDrop: 1}, 100); len(out) != 0 || r.sw.Stats().Resubmitted != 1 {
		t.Error("bit 0 of drop_ctl does not prevent a resubmission")
	}
}

// With bypass_egress a packet is sent as ingress deparses it.
func TestBypassEgress(t *testing.T) {
	r := newRig(t, "testdata/path.p4")
	out := r.send(command{port: 2, flags: bypass, note: 5}, 100)
	if len(out) != 1 || out[0].len != 100+toldBytes || toldOf(out[0].data).port != 1 || out[0].data[toldBytes+commandBytes-1] != 6 {
		t.Errorf("sent %v", out)
	}
}

// A multicast group, a port and the controller get a copy each.
func TestCopies(t *testing.T) {
	r := newRig(t, "testdata/path.p4")
	r.sw.SetGroup(4, []softswitch.Replica{{Port: 1, Instance: 11}, {Port: 3, Instance: 12}})
	type sent struct{ port, rid, first int }
	for _, tt := range []struct {
		c    command
		want []sent
	}{
		{command{port: 2, group: 4, flags: toCPU}, []sent{{1, 11, 1}, {2, 0, 0}, {3, 12, 0}, {cpuPort, 0, 0}}},
		{command{port: 2, group: 4, flags: toCPU, inDrop: 1}, []sent{{cpuPort, 0, 0}}},
		{command{port: 2, flags: toCPU, inDrop: 2}, []sent{{2, 0, 0}}},
	} {
		var got []sent
		for _, s := range r.send(tt.c, 100) {
			eg := egressOf(s.data)
			got = append(got, sent{s.port, eg.rid, eg.first})
		}
		slices.SortFunc(got, func(a, b sent) int { return a.port - b.port })
		if !slices.Equal(got, tt.want) {
			t.Errorf("%+v: copies %v, want %v", tt.c, got, tt.want)
		}
	}
}

// A recirculation port receives the packets and copies that it sends. They do not count
// in the queue of their first ingress port.
func TestRecirculation(t *testing.T) {
	r := newRig(t, "testdata/path.p4")
	r.net.Inject(1, (&command{port: recirculation, cos: 3, note: 5}).bytes(), 100)
	if n := r.sw.Port(1).Class[3].IngressBytes; n != 0 {
		t.Errorf("port 1 is charged with %d bytes of a packet that was recirculated", n)
	}
	r.net.Run()
	if len(r.sent) != 1 || r.sent[0].port != 3 {
		t.Fatalf("sent %v, want one packet by port 3", r.sent)
	}
	eg, in, _, _, _ := parts(r.sent[0].data)
	// The frame of the first egress takes the time of 1 Gb/s, then that of the port.
	const back = 8*(commandBytes+100+toldBytes+intrinsicBytes+leaveBytes) + 500
	if in.port != recirculation || in.arrived != back || eg.port != 3 {
		t.Errorf("told %+v, egress %+v; want port %d at %d", in, eg, recirculation, back)
	}
	r.sw.SetSession(200, []softswitch.Replica{{Port: recirculation}, {Port: recirculation + 128}}, 7, 20)
	out := r.send(command{port: noPort, inSession: 200}, 100)
	if len(out) != 1 || out[0].port != 3 || out[0].data[intrinsicBytes] != 0xcc {
		t.Errorf("sent %v, want the copy by port 3", out)
	}
	if got := r.sw.Stats().Recirculated; got != 2 {
		t.Errorf("%d recirculations, want 2", got)
	}
}

// A packet and its mirrored copy allocate no memory, except for the events of the test's
// own network.
func TestPacketsAllocateNothing(t *testing.T) {
	r := newRig(t, "testdata/path.p4")
	r.sw.SetSession(100, []softswitch.Replica{{Port: recirculation}}, 6, 80)
	r.net.Sent = nil
	b := append((&command{port: 2, outSession: 100}).bytes(), payload...)
	pass := func() {
		r.net.Inject(1, b, 500)
		r.net.Run()
	}
	pass()
	if n := testing.AllocsPerRun(100, pass); n > 4 { // two events, boxed on their way in and out
		t.Errorf("%v allocations per packet", n)
	}
}

// ask injects a packet for registers.p4 and returns the results of ingress and, if b is
// 99, of egress.
func (r *rig) ask(op, index byte, a, b int32) (in, out int32) {
	r.Helper()
	be := binary.BigEndian
	data := be.AppendUint32(be.AppendUint32([]byte{op, index}, uint32(a)), uint32(b))
	r.sent = nil
	r.net.Inject(1, append(data, make([]byte, 8)...), 0)
	r.net.Run()
	if len(r.sent) != 1 {
		r.Fatalf("%d packets", len(r.sent))
	}
	answer := r.sent[0].data
	return int32(be.Uint32(answer[10:])), int32(be.Uint32(answer[14:]))
}

// A RegisterAction reads, computes and writes in one step: saturating sums,
// comparisons with and without sign, pairs, initial values. An index beyond the end
// reads zero and writes nothing.
func TestRegisterActions(t *testing.T) {
	const add, subtract, signedMost, unsignedMost, keepSmaller, firstOf = 1, 2, 3, 4, 5, 6
	r := newRig(t, "testdata/registers.p4")
	for i, tt := range []struct {
		op, index byte
		a, b      int32
		want      int32
	}{
		{add, 1, 3, 0, 253}, {add, 1, 3, 0, 255}, {add, 1, 0, 0, 255}, {add, 2, 0, 0, 250},
		{subtract, 0, 2, 0, 5}, {subtract, 0, 9, 0, 3}, {subtract, 0, 1, 0, 0},
		{signedMost, 3, -5, 0, 0}, {signedMost, 3, 5, 0, 5}, {signedMost, 3, -1, 0, 5},
		{unsignedMost, 3, 5, 0, 5}, {unsignedMost, 3, -1, 0, -1}, {unsignedMost, 3, 7, 0, -1},
		{keepSmaller, 7, 8, 50, 9}, {keepSmaller, 7, 6, 50, 9}, {keepSmaller, 7, 6, 51, 50}, {firstOf, 7, 0, 0, 6}, {firstOf, 6, 0, 0, 7},
		{firstOf, 8, 0, 0, 0}, {add, 8, 1, 0, 1}, {add, 8, 1, 0, 1},
	} {
		if got, _ := r.ask(tt.op, tt.index, tt.a, tt.b); got != tt.want {
			t.Errorf("%d: operation %d on cell %d with %d and %d gives %d, want %d", i, tt.op, tt.index, tt.a, tt.b, got, tt.want)
		}
	}
}

// A control that is in ingress and egress has separate registers in each.
func TestIngressAndEgressShareNoRegister(t *testing.T) {
	const add, egressToo = 1, 99
	r := newRig(t, "testdata/registers.p4")
	r.ask(add, 0, 4, 0)
	if in, out := r.ask(add, 0, 1, egressToo); in != 255 || out != 251 {
		t.Errorf("ingress has %d, egress %d; want 255 and 251", in, out)
	}
}
