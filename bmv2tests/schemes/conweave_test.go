// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
)

// Kinds of ConWeave's packets between leaves, and parts of an answer.
const (
	cwData = 1 + iota
	cwRequest
	cwTail
	cwRerouted

	cwAnswer = 0x80
	cwReply  = 1
	cwClear  = 2
	cwNotify = 4
)

// cwHeader is the part of the header between leaves that is ConWeave's.
type cwHeader struct {
	leaf, path, kind, epoch int
	mark                    uint32
}

func (h cwHeader) on(f []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(packet.EtherTypeIPv4))
	b = binary.BigEndian.AppendUint16(b, uint16(h.leaf))
	b = append(b, byte(h.path), byte(h.kind), byte(h.epoch))
	return behindEthernet(f, packet.EtherTypeFabric, binary.BigEndian.AppendUint32(b, h.mark))
}

// cwOf reads the header of a frame that a leaf sent.
func cwOf(t *testing.T, f []byte) cwHeader {
	t.Helper()
	b := fabric(f)
	if len(b) < 11 {
		t.Fatalf("no header between leaves: % x", f)
	}
	return cwHeader{int(binary.BigEndian.Uint16(b[2:])), int(b[4]), int(b[5]), int(b[6]), binary.BigEndian.Uint32(b[7:])}
}

// flowOf is the hash of a packet's flow, and its row in the registers of ConWeave.
func flowOf(f []byte) (hash uint32, row int) {
	ip := f[packet.EthernetLen:]
	hash = crc32.ChecksumIEEE(slices.Concat(ip[12:20], ip[9:10], ip[20:24]))
	return hash, int(hash & 0xfff)
}

// A flow asks for an answer. While none has come, packets keep the path. When it is
// late, the packet at hand is TAIL, and those after it are rerouted until CLEAR; then a
// new epoch begins. Epochs wrap.
func TestConWeaveLeavesAPathWhoseAnswerIsLate(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "conweave", leafSpine(2), "l1", map[string]string{"conweave.idle": "1000s", "conweave.pause": "1000s"})
		d.rule("source default -> ask(idle=1000000000, reply=100000000, pause=1000000000)")
		hash, row := flowOf(data)
		d.set("flow_epoch", 254, row)
		next := func() (int, cwHeader) {
			port, f := d.through(1, data)
			return port, cwOf(t, f)
		}
		answer := func(kind, epoch int) { d.drops(3, cwHeader{1, 0, cwAnswer | kind, epoch, hash}.on(down)) }
		first, h := next()
		if h.kind != cwRequest || h.epoch != 255 || h.path != first-3 {
			t.Fatalf("the first packet: %+v", h)
		}
		if port, h := next(); port != first || h.kind != cwData || h.epoch != 255 {
			t.Fatalf("before an answer: port %d, %+v", port, h)
		}
		answer(cwReply, 254) // of another epoch
		if _, h := next(); h.kind != cwData {
			t.Fatalf("after the answer of another epoch: %+v", h)
		}
		answer(cwReply, 255)
		if port, h := next(); port != first || h.kind != cwRequest || h.epoch != 0 {
			t.Fatalf("after an answer in time: port %d, %+v", port, h)
		}
		d.set("reply_until", uint64(d.now()-1), row)
		d.set("notified_at", uint64(d.now()), 1, first-3) // there was a mark on its path
		port, h := next()
		tail := h.mark
		if port != first || h.kind != cwTail || h.epoch != 0 || h.path != first-3 {
			t.Fatalf("the answer is late: port %d, %+v", port, h)
		}
		answer(cwReply, 0) // too late
		path := int(d.get("flow_path", row)) - 1
		if port, h := next(); port != 3+path || h.kind != cwRerouted || h.epoch != 0 || h.mark != tail || h.path != path {
			t.Fatalf("after TAIL: port %d, %+v", port, h)
		}
		if moved := d.get("reroutes", first); moved == 1 != (3+path != first) {
			t.Errorf("%d reroutes, from port %d to %d", moved, first, 3+path)
		}
		answer(cwClear, 0)
		if port, h := next(); port != 3+path || h.kind != cwRequest || h.epoch != 1 {
			t.Fatalf("after CLEAR: port %d, %+v", port, h)
		}
	})
}

// NOTIFY marks a path, and a new flow takes a path with a mark only if both random
// ones are that path.
func TestConWeaveAvoidsMarkedPaths(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "conweave", leafSpine(2), "l1", nil)
		d.rule("source default -> ask(idle=1000000000, reply=100000000, pause=1000000000)")
		d.drops(3, cwHeader{1, 1, cwAnswer | cwNotify, 7, 0}.on(down))
		if d.get("notified_at", 1, 1) == 0 {
			t.Fatal("NOTIFY has no effect")
		}
		marked := 0
		for i := range 40 {
			if port, _ := d.through(1, roce{src: "h1", dst: "h3", sport: uint16(5000 + i)}.bytes()); port == 4 {
				marked++
			}
		}
		if marked < 1 || marked > 20 { // a quarter draws it twice
			t.Errorf("%d of 40 flows took the marked path", marked)
		}
	})
}

// The destination leaf answers the source leaf, once for each request, TAIL and mark.
// Answers are packets of 65 bytes to the sender. A packet of an earlier epoch has none.
func TestConWeaveAnswers(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "conweave", leafSpine(2), "l1", nil)
		hash, _ := flowOf(down)
		marked := roce{src: "h3", dst: "h1", sport: 6000, ecn: packet.CE}.bytes()
		for _, c := range []struct {
			f           []byte
			kind, epoch int
			want        int
		}{
			{down, cwRequest, 9, cwReply},
			{down, cwData, 9, 0},
			{marked, cwData, 9, cwNotify},
			{marked, cwTail, 9, cwClear | cwNotify},
			{down, cwRerouted, 9, 0},
			{marked, cwRequest, 8, 0},
			{down, 0, 0, 0},
		} {
			d.send(4, cwHeader{1, 1, c.kind, c.epoch, 5}.on(c.f))
			out := d.sent()
			if got := from(out, 1); len(got) != 1 || !slices.Equal(got[0], c.f) {
				t.Fatalf("kind %d: the host gets %v", c.kind, out)
			}
			answers := from(out, 4)
			if c.want == 0 {
				if len(answers) != 0 {
					t.Errorf("kind %d of epoch %d is answered: % x", c.kind, c.epoch, answers)
				}
				continue
			}
			if len(answers) != 1 || len(answers[0]) != 65 {
				t.Fatalf("kind %d: answers % x", c.kind, answers)
			}
			if h := cwOf(t, answers[0]); h != (cwHeader{0, 1, cwAnswer | c.want, c.epoch, hash}) {
				t.Errorf("kind %d is answered by %+v", c.kind, h)
			}
			ip := packet.AsIPv4(fabric(answers[0])[11:])
			if ip == nil || ip.Src() != addr("h1") || ip.Dst() != addr("h3") || ip.DSCP() != 56 || ip.ECN() != 0 || packet.Checksum(ip[:20]) != 0 {
				t.Errorf("header of the answer % x", []byte(ip))
			}
		}
	})
}

// A rerouted packet that comes before TAIL waits by recirculation until the time has
// passed at which TAIL should have come. Packets of hosts are not ConWeave's messages.
func TestConWeaveHoldsReroutedPackets(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "conweave", leafSpine(2), "l1", nil)
		d.rule("order default -> restore(idle=1000000000, wait=1, extra=1)")
		_, row := flowOf(down)
		d.passesAs(4, 1, cwHeader{1, 1, cwData, 1, 5}.on(down), down)
		d.wait(1000)
		d.passesAs(3, 1, cwHeader{1, 0, cwRerouted, 1, 6}.on(down), down) // too late for TAIL
		d.want(1, "held_packets", 1)
		d.want(1, "tail_seen", row)
		d.want(0, "holding", row)
		d.want(1, "first_ticket", row, 0)
		d.passesAs(3, 1, cwHeader{1, 0, cwRerouted, 1, 6}.on(down), down)
		d.want(1, "held_packets", 1)
		d.drops(1, cwHeader{1, 0, cwAnswer | cwNotify, 1, 6}.on(data))
	})
}
