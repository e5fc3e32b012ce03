// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"math/rand/v2"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Two queue pairs between the same hosts, of several messages each, whose sequence numbers
// wrap around. Packets and acknowledgements are lost and late, so that those of several
// messages are under way.
func TestMessagesOfAQueuePairHaveItsNumber(t *testing.T) {
	for _, how := range []Recovery{GoBackN, SlowRestart, IRN, OutOfOrder, TCP} {
		w := newWire(t, func(c *Config) { c.Recovery = how })
		a, b := w.host(1), w.host(2)
		rng := rand.New(rand.NewPCG(1, 2))
		const messages, packets = 9, 40
		start := [2]uint32{0, 1<<24 - 100}
		numbers := [2]map[uint32]map[packet.Opcode]int{{}, {}} // of data, and of what answers
		w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
			bth, way := packet.BTH(f.Data[offBTH:]), 0
			if from == b {
				way = 1
			}
			if numbers[way][bth.DestQP()] == nil {
				numbers[way][bth.DestQP()] = make(map[packet.Opcode]int)
			}
			numbers[way][bth.DestQP()][bth.Opcode()]++
			return rng.IntN(50) > 0
		}
		w.extra = func(*packet.Frame) vtime.Time {
			return vtime.Time(rng.IntN(20)) * vtime.Microsecond
		}
		var outs []*Outgoing
		var ins []*Incoming
		var qp [2][2]uint32
		for m := range messages {
			for p := range qp {
				if m == 0 {
					qp[p] = [2]uint32{a.NextSender(), b.NextReceiver()}
				}
				f := Flow{Size: packets * 1000, PSN: (start[p] + uint32(m*packets)) & 0xffffff, Start: vtime.Time(m) * 9 * vtime.Microsecond}
				if m > 0 {
					f.QP = qp[p]
				}
				o, i := w.connect(a, b, f)
				outs, ins = append(outs, o), append(ins, i)
			}
		}
		w.until(2 * vtime.Second)
		for k := range outs {
			if outs[k].Ended() == 0 || ins[k].Delivered() != packets {
				t.Fatalf("%s: message %d of queue pair %d: %d of %d packets, ended at %v", how, k/2, k%2, ins[k].Delivered(), packets, outs[k].Ended())
			}
		}
		if len(numbers[0]) != 2 || len(numbers[1]) != 2 {
			t.Errorf("%s: frames have the numbers %v, want two in each direction", how, numbers)
		}
		for p := range qp {
			if n := numbers[0][qp[p][1]][packet.OpSendLast]; n < messages {
				t.Errorf("%s: %d last packets to queue pair %d, want at least %d", how, n, qp[p][1], messages)
			}
			if n := numbers[1][qp[p][0]][packet.OpAcknowledge]; n < messages {
				t.Errorf("%s: %d acknowledgements to queue pair %d", how, n, qp[p][0])
			}
		}
		if a.Stats.Misdelivered+b.Stats.Misdelivered+a.Stats.Unknown+b.Stats.Unknown > 0 {
			t.Errorf("%s: %+v %+v", how, a.Stats, b.Stats)
		}
	}
}

// A notification has the number of a queue pair: it slows the message that is being sent.
func TestNotificationSlowsTheMessageThatIsSent(t *testing.T) {
	w := newWire(t, func(c *Config) { c.CC.Algorithm = "dcqcn_paper" })
	a, b := w.host(1), w.host(2)
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		if bth := packet.BTH(f.Data[offBTH:]); from == a && bth.PSN() == 9 { // the last packet of the first message
			packet.IPv4(f.Data[offIP:]).SetECN(packet.CE)
			packet.IPv4(f.Data[offIP:]).UpdateChecksum()
		}
		return true
	}
	qp := [2]uint32{a.NextSender(), b.NextReceiver()}
	first, _ := w.connect(a, b, Flow{Size: 10_000})
	second, _ := w.connect(a, b, Flow{Size: 1_000_000, PSN: 10, QP: qp, Start: 2 * vtime.Microsecond})
	third, _ := w.connect(a, b, Flow{Size: 1_000_000, PSN: 1010, QP: qp, Start: vtime.Millisecond})
	w.until(20 * vtime.Microsecond)
	if first.CNPs() != 0 || second.CNPs() != 1 || third.CNPs() != 0 || second.Rate() >= rate {
		t.Errorf("notifications of the messages: %d, %d, %d; the second has rate %v", first.CNPs(), second.CNPs(), third.CNPs(), second.Rate())
	}
}
