// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/pauseless/pauseless/fabric/cc"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

const (
	rate  = 40 * vtime.Gbps
	delay = 2 * vtime.Microsecond
)

// wire connects hosts by one cable each to a point that forwards every frame by
// its destination address after a delay, unless touch changes this.
type wire struct {
	t      testing.TB
	now    vtime.Time
	events vtime.Queue
	hosts  map[netip.Addr]*Host
	// touch is called for each frame before it crosses; false drops it.
	touch func(from *Host, f *packet.Frame, end vtime.Time) bool
	extra func(f *packet.Frame) vtime.Time // additional time on the wire
	late  func() vtime.Time                // by how much an event is late, as in wall time; nil: not
	cfg   Config
	kit   *cc.Kit
}

func newWire(t testing.TB, change func(*Config)) *wire {
	t.Helper()
	w := &wire{t: t, hosts: make(map[netip.Addr]*Host), cfg: Papers.Defaults()}
	if change != nil {
		change(&w.cfg)
	}
	if path, err := w.cfg.Check(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	kit, err := w.cfg.CC.Kit(rate)
	if err != nil {
		t.Fatal(err)
	}
	w.kit = kit
	return w
}

func (w *wire) at(t vtime.Time, do func()) { w.events.Push(t, action(do), 0) }

// action is an event that calls a function.
type action func()

func (do action) Fire(vtime.Time, uint64) { do() }

func (w *wire) until(t vtime.Time) {
	for w.events.Next() <= t {
		at, do, _ := w.events.Pop()
		w.now = at
		do.Fire(at, 0)
	}
	w.now = t
}

// port is a host's Network.
type port struct {
	*wire
	pool packet.Pool
	h    *Host
}

func (p *port) Now() vtime.Time { return p.now }

func (p *port) At(t vtime.Time, ev vtime.Event, arg uint64) {
	if t < p.now {
		p.t.Fatalf("event at %v, it is %v", t, p.now)
	}
	if p.late != nil {
		t += p.late()
	}
	p.at(t, func() { ev.Fire(t, arg) })
}

func (p *port) Frames() *packet.Pool { return &p.pool }

func (p *port) Send(number int, f *packet.Frame, end vtime.Time) {
	if number != 1 {
		p.t.Errorf("a frame on port %d", number)
	}
	if p.touch != nil && !p.touch(p.h, f, end) {
		return
	}
	way := delay
	if p.extra != nil {
		way += p.extra(f)
	}
	// The destination leaf removes a host's tag.
	if tag, ok := tagOf(f); ok {
		eth := packet.Ethernet(f.Data)
		eth.Set(eth.Dst(), eth.Src(), tag.etherType())
		f.Data = slices.Delete(f.Data, packet.EthernetLen, packet.EthernetLen+packet.TagLen)
	}
	ip := packet.FindIPv4(f.Data)
	dst := p.hosts[ip.Dst()]
	p.at(end+way, func() { dst.Receive(1, f) })
}

func (w *wire) host(n byte) *Host {
	self := Address{packet.MAC{2, 0, 0, 0, 0, n}, netip.AddrFrom4([4]byte{10, 0, 0, n})}
	p := &port{wire: w}
	p.h = New(p, &w.cfg, w.kit, self, rate)
	w.hosts[self.IP] = p.h
	return p.h
}

func (w *wire) connect(src, dst *Host, f Flow) (*Outgoing, *Incoming) {
	w.t.Helper()
	if f.Port == 0 {
		f.Port = 0xc001
	}
	if f.BaseRTT == 0 {
		f.BaseRTT, f.Path = 5*vtime.Microsecond, rate
	}
	o, i, err := Connect(src, dst, f)
	if err != nil {
		w.t.Fatal(err)
	}
	return o, i
}

// An independent decoder decodes the frames.
func TestFramesAreRoCEv2(t *testing.T) {
	w := newWire(t, func(c *Config) { c.CC.Algorithm = "dcqcn_paper" })
	var seen []string
	w.touch = func(_ *Host, f *packet.Frame, _ vtime.Time) bool {
		whole := append(slices.Clone(f.Data), make([]byte, f.Elided)...)
		p := gopacket.NewPacket(whole, layers.LayerTypeEthernet, gopacket.Default)
		ip := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
		udp := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
		if int(ip.Length) != len(whole)-14 || int(udp.Length) != len(whole)-34 || udp.DstPort != 4791 || !packet.IPv4(whole[14:]).ChecksumOK() {
			t.Errorf("ip %+v, udp %+v, frame of %d bytes", ip, udp, len(whole))
		}
		bth := packet.BTH(udp.Payload)
		seen = append(seen, fmt.Sprintf("%02x psn %d ack %v tos %d len %d", byte(bth.Opcode()), bth.PSN(), bth.AckReq(), ip.TOS, len(whole)))
		if bth.Opcode() == packet.OpSendLast {
			packet.IPv4(f.Data[14:]).SetECN(packet.CE)
			packet.IPv4(f.Data[14:]).UpdateChecksum()
		}
		return true
	}
	a, b := w.host(1), w.host(2)
	w.connect(a, b, Flow{Size: 2500, Class: 3})
	w.connect(a, b, Flow{Size: 70, Class: 0, Start: vtime.Millisecond})
	w.until(2 * vtime.Millisecond)
	want := []string{
		"00 psn 0 ack true tos 106 len 1058",
		"01 psn 1 ack true tos 106 len 1058",
		"02 psn 2 ack true tos 106 len 558",
		"11 psn 0 ack false tos 104 len 62",
		"11 psn 1 ack false tos 104 len 62",
		"81 psn 0 ack false tos 195 len 74", // for the mark; it is the first packet of its class
		"11 psn 2 ack false tos 104 len 62",
		"04 psn 0 ack true tos 2 len 128",
		"11 psn 0 ack false tos 0 len 62",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("frames were\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
}

func TestAcknowledgementsEverySoManyPackets(t *testing.T) {
	w := newWire(t, func(c *Config) { c.AckEvery = 4 })
	acks := 0
	w.touch = func(_ *Host, f *packet.Frame, _ vtime.Time) bool {
		if packet.BTH(f.Data[offBTH:]).Opcode() == packet.OpAcknowledge {
			acks++
		}
		return true
	}
	o, _ := w.connect(w.host(1), w.host(2), Flow{Size: 10_000})
	w.until(vtime.Millisecond)
	if o.Ended() == 0 || acks != 3 {
		t.Errorf("ended at %v with %d acknowledgements, want 3", o.Ended(), acks)
	}
}

// A marked packet is acknowledged at once, and its acknowledgement has the mark, unless
// marks are told by notifications, or only the packets that are acknowledged anyway count.
func TestMarkedPacketsAreAcknowledgedAtOnce(t *testing.T) {
	late := []string{"3", "7 marked", "9"}
	for _, c := range []struct {
		algorithm string
		atOnce    bool
		want      []string
	}{
		{"dcqcn", true, []string{"1 marked", "3", "4 marked", "7 marked", "9"}},
		{"dcqcn", false, late},
		{"dcqcn_paper", true, []string{"3", "7", "9"}},
	} {
		w := newWire(t, func(cfg *Config) { cfg.AckEvery, cfg.AckMarked, cfg.CC.Algorithm = 4, c.atOnce, c.algorithm })
		var acks []string
		w.touch = func(_ *Host, f *packet.Frame, _ vtime.Time) bool {
			bth := packet.BTH(f.Data[offBTH:])
			switch psn := bth.PSN(); {
			case bth.Opcode() == packet.OpAcknowledge:
				text := fmt.Sprint(psn)
				if bth.BECN() {
					text += " marked"
				}
				acks = append(acks, text)
			case bth.Opcode() != packet.OpCongestionNotific && (psn == 1 || psn == 4 || psn == 7):
				packet.IPv4(f.Data[14:]).SetECN(packet.CE)
				packet.IPv4(f.Data[14:]).UpdateChecksum()
			}
			return true
		}
		w.connect(w.host(1), w.host(2), Flow{Size: 10_000})
		w.until(vtime.Millisecond)
		if !slices.Equal(acks, c.want) {
			t.Errorf("%s, at once %v: acknowledgements of %q, want %q", c.algorithm, c.atOnce, acks, c.want)
		}
	}
}

func TestPacedFlowKeepsItsRate(t *testing.T) {
	for _, r := range []vtime.Rate{100 * vtime.Mbps, 1 * vtime.Gbps, 7 * vtime.Gbps, 39 * vtime.Gbps, rate} {
		w := newWire(t, func(c *Config) { c.CC = cc.Config{Algorithm: "fixed", Rate: r} })
		var ends []vtime.Time
		a, b := w.host(1), w.host(2)
		w.touch = func(from *Host, _ *packet.Frame, end vtime.Time) bool {
			if from == a {
				ends = append(ends, end)
			}
			return true
		}
		w.connect(a, b, Flow{Size: 50_000})
		w.until(100 * vtime.Millisecond)
		for i := 1; i < 49; i++ { // the last is shorter in nothing: all are full
			if d := ends[i] - ends[i-1]; d != r.TxTime(1082) {
				t.Fatalf("at %v packets follow one another in %v, want %v", r, d, r.TxTime(1082))
			}
		}
	}
}

func TestTwoPacedFlowsShareTheWire(t *testing.T) {
	w := newWire(t, func(c *Config) { c.CC = cc.Config{Algorithm: "fixed", Rate: 10 * vtime.Gbps} })
	a, b := w.host(1), w.host(2)
	o1, _ := w.connect(a, b, Flow{Size: 1_000_000})
	o2, _ := w.connect(a, b, Flow{Size: 1_000_000})
	w.until(10 * vtime.Millisecond)
	want := 1000*(10*vtime.Gbps).TxTime(1082) + 2*delay
	for _, o := range []*Outgoing{o1, o2} {
		if d := o.Ended() - want; d < -vtime.Microsecond || d > vtime.Microsecond {
			t.Errorf("ended at %v, want %v", o.Ended(), want)
		}
	}
}

func TestWindowLimitsBytesInFlight(t *testing.T) {
	w := newWire(t, func(c *Config) { c.Window = 2 })
	a, b := w.host(1), w.host(2)
	flying, most := 0, 0
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		if from == a {
			flying++
			most = max(most, flying)
		} else {
			w.at(w.now+delay, func() { flying-- })
		}
		return true
	}
	// 2 µs at 40 Gb/s are 10 KB; twice that are 20 packets.
	o, _ := w.connect(a, b, Flow{Size: 500_000, BaseRTT: 2 * vtime.Microsecond, Path: rate})
	w.until(vtime.Millisecond)
	if o.Ended() == 0 || most != 20 {
		t.Errorf("ended at %v, %d packets in flight, want 20", o.Ended(), most)
	}
}

// pfc makes h receive a PFC frame.
func pfc(h *Host, classes uint8, quanta uint16) {
	h.Receive(1, &packet.Frame{Data: packet.AppendPFC(nil, packet.MAC{9}, classes, quanta)})
}

func TestPauseHoldsItsClassUntilResumed(t *testing.T) {
	w := newWire(t, nil)
	a, b := w.host(1), w.host(2)
	o3, _ := w.connect(a, b, Flow{Size: 1_000_000, Class: 3})
	var last vtime.Time
	w.touch = func(from *Host, _ *packet.Frame, end vtime.Time) bool {
		if from == a {
			last = end
		}
		return true
	}
	w.until(10 * vtime.Microsecond)
	pfc(a, 1<<3, 0xffff)
	stopped := w.now
	o5, _ := w.connect(a, b, Flow{Size: 1000, Class: 5, Start: w.now})
	w.until(100 * vtime.Microsecond)
	if o5.Ended() == 0 || o5.Stalled() {
		t.Errorf("the other class ended at %v, stalled %v", o5.Ended(), o5.Stalled())
	}
	if last > stopped+rate.TxTime(2*1082) {
		t.Errorf("a frame ended at %v, the class was paused at %v", last, stopped)
	}
	if !o3.Stalled() {
		t.Error("the flow does not count as stalled")
	}
	pfc(a, 1<<3, 0)
	w.until(101 * vtime.Microsecond)
	if last < 100*vtime.Microsecond {
		t.Errorf("the last frame ended at %v, the class was resumed at 100us", last)
	}
}

func TestPauseEndsByItself(t *testing.T) {
	w := newWire(t, nil)
	a, b := w.host(1), w.host(2)
	w.connect(a, b, Flow{Size: 1_000_000, Class: 3})
	pfc(a, 0xff, 100) // 100 · 512 bits at 40 Gb/s: 1.28 µs
	var first vtime.Time
	w.touch = func(from *Host, _ *packet.Frame, end vtime.Time) bool {
		if from == a && first == 0 {
			first = end
		}
		return true
	}
	w.until(10 * vtime.Microsecond)
	if want := 1280*vtime.Nanosecond + rate.TxTime(1082); first != want {
		t.Errorf("the first frame ended at %v, want %v", first, want)
	}
}

// A flow that starts after a pause has ended without a RESUME was not delayed by it.
func TestPauseThatHasEndedStallsNoFlow(t *testing.T) {
	w := newWire(t, nil)
	a, b := w.host(1), w.host(2)
	o, _ := w.connect(a, b, Flow{Size: 1000, Class: 3, Start: vtime.Millisecond})
	pfc(a, 1<<3, 100) // 1.28 µs
	w.until(2 * vtime.Millisecond)
	if o.Ended() == 0 || o.Stalled() {
		t.Errorf("ended at %v, stalled %v", o.Ended(), o.Stalled())
	}
}

func TestPauseHoldsAcknowledgements(t *testing.T) {
	w := newWire(t, nil)
	a, b := w.host(1), w.host(2)
	o, i := w.connect(a, b, Flow{Size: 1000, Class: 3})
	pfc(b, 1<<3, 0xffff)
	w.until(100 * vtime.Microsecond)
	if i.Ended() == 0 || o.Ended() != 0 {
		t.Errorf("delivered at %v, acknowledged at %v", i.Ended(), o.Ended())
	}
	pfc(b, 1<<3, 0)
	w.until(200 * vtime.Microsecond)
	if o.Ended() == 0 {
		t.Error("no acknowledgement after the pause")
	}
}

// In wall time events are late. The host must not depend on an event at its
// scheduled time.
func TestLateEventsOnlyDelay(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for _, algorithm := range cc.Algorithms() {
		w := newWire(t, func(c *Config) {
			c.CC = cc.Config{Algorithm: algorithm, Rate: rate}
			if kit, _ := c.CC.Kit(rate); kit.UEC {
				c.Transport = UET
			}
		})
		w.late = func() vtime.Time { return vtime.Time(rng.Int64N(int64(3 * vtime.Microsecond))) }
		w.touch = func(_ *Host, f *packet.Frame, _ vtime.Time) bool {
			if rng.IntN(20) == 0 && packet.IPv4(f.Data[offIP:]).ECN() == packet.ECT0 {
				packet.IPv4(f.Data[offIP:]).SetECN(packet.CE)
			}
			return rng.IntN(50) > 0
		}
		a, b := w.host(1), w.host(2)
		var flows []*Outgoing
		for i := range 5 {
			o, _ := w.connect(a, b, Flow{Size: 100_000, Start: vtime.Time(i) * vtime.Microsecond, Class: uint8(i)})
			flows = append(flows, o)
		}
		for i := range 100 {
			w.until(w.now + 20*vtime.Microsecond)
			pfc(a, 0x1f, uint16(i%3*50))
		}
		w.until(w.now + vtime.Second)
		for i, o := range flows {
			if o.Ended() == 0 {
				t.Errorf("%s: flow %d did not end", algorithm, i)
			}
		}
	}
}

// The receiver sends one NAK for a missing packet, and another after an
// interval. The degree of a packet is its distance to the expected one.
func TestGoBackNSendsOneNAKPerGap(t *testing.T) {
	w := newWire(t, func(c *Config) { c.RTO = 0 })
	a, b := w.host(1), w.host(2)
	naks, lost := 0, false
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		bth := packet.BTH(f.Data[offBTH:])
		if from == b && packet.AETH(bth.Payload()).IsNAK() {
			naks++
			if bth.PSN() != 5 {
				t.Errorf("asked for packet %d, want 5", bth.PSN())
			}
		}
		if from == a && bth.PSN() == 5 && !lost {
			lost = true
			return false
		}
		return true
	}
	o, i := w.connect(a, b, Flow{Size: 100_000})
	w.until(vtime.Millisecond)
	total, sent := o.Packets()
	packets, degree, sum := i.OutOfOrder()
	if o.Ended() == 0 || naks != 1 || total != 100 || sent <= 100 {
		t.Fatalf("ended at %v, %d NAKs, %d packets sent", o.Ended(), naks, sent)
	}
	// Packets sent until the NAK arrived are out of order.
	if repeated := sent - total; packets != repeated-1+0 && packets != repeated {
		t.Errorf("%d out of order, %d repeated", packets, repeated)
	}
	if degree != packets || sum != packets*(packets+1)/2 {
		t.Errorf("%d packets, greatest degree %d, sum %d", packets, degree, sum)
	}
	if h := b.Stats.Degree; h.Count() != uint64(packets) || h.Quantile(1) != degree {
		t.Errorf("histogram has %d, up to %d", h.Count(), h.Quantile(1))
	}
}

func TestLostNAKIsRepeatedAfterAnInterval(t *testing.T) {
	w := newWire(t, func(c *Config) { c.RTO, c.NAKInterval = 0, 20*vtime.Microsecond })
	a, b := w.host(1), w.host(2)
	naks, lost := 0, false
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		bth := packet.BTH(f.Data[offBTH:])
		if from == b && packet.AETH(bth.Payload()).IsNAK() {
			naks++
			return naks > 1
		}
		if from == a && bth.PSN() == 5 && !lost {
			lost = true
			return false
		}
		return true
	}
	o, _ := w.connect(a, b, Flow{Size: 1_000_000})
	w.until(vtime.Millisecond)
	if o.Ended() == 0 || naks != 2 {
		t.Errorf("ended at %v, %d NAKs", o.Ended(), naks)
	}
}

func TestLostAcknowledgementIsMadeUpFor(t *testing.T) {
	w := newWire(t, nil)
	a, b := w.host(1), w.host(2)
	w.touch = func(from *Host, _ *packet.Frame, _ vtime.Time) bool { return from == a || w.now > 3*vtime.Millisecond }
	o, _ := w.connect(a, b, Flow{Size: 3000})
	w.until(10 * vtime.Millisecond)
	if _, sent := o.Packets(); o.Ended() == 0 || sent < 4 || a.Stats.Timeouts != 1 {
		t.Errorf("ended at %v, %d packets sent, %d timeouts", o.Ended(), sent, a.Stats.Timeouts)
	}
}

// IRN retransmits only lost packets.
func TestIRNRetransmitsOnlyLostPackets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for run := range 30 {
		w := newWire(t, func(c *Config) { c.Recovery, c.Window = IRN, float64(1+run%7) })
		a, b := w.host(1), w.host(2)
		lost, again := int64(0), make(map[uint32]bool)
		share := 0.002 * float64(run%10)
		w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
			psn := packet.BTH(f.Data[offBTH:]).PSN()
			// Retransmissions get through, and so does the tail, so that no timeout is
			// needed.
			if from == a && psn < 900 && !again[psn] && rng.Float64() < share {
				lost++
				again[psn] = true
				return false
			}
			return true
		}
		o, i := w.connect(a, b, Flow{Size: 1_000_000, BaseRTT: 5 * vtime.Microsecond, Path: rate})
		w.until(10 * vtime.Millisecond)
		total, sent := o.Packets()
		if o.Ended() == 0 || i.Delivered() != total || sent-total != lost || a.Stats.Timeouts != 0 {
			t.Errorf("run %d: ended at %v, %d lost, %d repeated, %d timeouts", run, o.Ended(), lost, sent-total, a.Stats.Timeouts)
		}
	}
}

func TestSequenceNumbersWrap(t *testing.T) {
	for n := int64(0); n < 1<<26; n += 999_983 {
		for _, d := range []int64{-1000, -1, 0, 1, 5, 1 << 22} {
			if got := ahead(uint32(n+d)&0xffffff, n); n+d >= 0 && got != d {
				t.Errorf("%d is %d ahead of %d", n+d, got, n)
			}
		}
	}
}

func TestNotificationsKeepTheirInterval(t *testing.T) {
	w := newWire(t, func(c *Config) { c.CC.Algorithm = "dcqcn_paper" })
	a, b := w.host(1), w.host(2)
	var times []vtime.Time
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		if from == a {
			packet.IPv4(f.Data[offIP:]).SetECN(packet.CE)
		} else if packet.BTH(f.Data[offBTH:]).Opcode() == packet.OpCongestionNotific {
			times = append(times, w.now)
			if packet.Priority(packet.IPv4(f.Data[offIP:]).DSCP()) != 6 {
				t.Error("a notification is not in class 6")
			}
		}
		return true
	}
	o, i := w.connect(a, b, Flow{Size: 1_000_000})
	w.until(10 * vtime.Millisecond)
	if len(times) < 100 || o.CNPs() != int64(len(times)) || i.Marked() != i.Delivered() {
		t.Fatalf("%d notifications, %d came, %d marks", len(times), o.CNPs(), i.Marked())
	}
	for k := 1; k < len(times); k++ {
		if d := times[k] - times[k-1]; d < 50*vtime.Microsecond {
			t.Errorf("%v between notifications", d)
		}
	}
}

func TestReorderingMayCountAsAMark(t *testing.T) {
	for _, on := range []bool{false, true} {
		w := newWire(t, func(c *Config) { c.CC.Algorithm, c.CNPOnReorder = "dcqcn_paper", on })
		a, b := w.host(1), w.host(2)
		w.touch = func(_ *Host, f *packet.Frame, _ vtime.Time) bool {
			return packet.BTH(f.Data[offBTH:]).PSN() != 5 || w.now > 10*vtime.Microsecond
		}
		o, _ := w.connect(a, b, Flow{Size: 100_000})
		w.until(10 * vtime.Millisecond)
		if got := o.CNPs() > 0; got != on {
			t.Errorf("cnp_on_reorder %v: %d notifications", on, o.CNPs())
		}
	}
}

func TestMarksAreEchoed(t *testing.T) {
	w := newWire(t, func(c *Config) { c.CC.Algorithm = "dcqcn" })
	a, b := w.host(1), w.host(2)
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		bth := packet.BTH(f.Data[offBTH:])
		if marked := bth.PSN()%3 == 0; from == a && marked {
			packet.IPv4(f.Data[offIP:]).SetECN(packet.CE)
		} else if from == b && bth.BECN() != marked {
			t.Errorf("acknowledgement %d has BECN %v", bth.PSN(), bth.BECN())
		}
		return true
	}
	o, _ := w.connect(a, b, Flow{Size: 300_000})
	w.until(100 * vtime.Millisecond)
	if o.Ended() == 0 || o.Rate() >= rate {
		t.Errorf("ended at %v with rate %v", o.Ended(), o.Rate())
	}
}

// PCN's receiver reports the rate of a flow with a fixed rate.
func TestReportsHaveTheReceivingRate(t *testing.T) {
	for _, c := range []struct {
		rate  vtime.Rate
		plain int // of so many packets one is not marked
		ce    bool
	}{{10 * vtime.Gbps, 1, false}, {10 * vtime.Gbps, 17, false}, {20 * vtime.Gbps, 1000, true}, {100 * vtime.Mbps, 1000, true}} {
		w := newWire(t, func(cfg *Config) { cfg.CC = cc.Config{Algorithm: "fixed", Rate: c.rate} })
		w.kit.Receiver = cc.Report
		a, b := w.host(1), w.host(2)
		var reports []uint32
		n := 0
		w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
			ip := packet.IPv4(f.Data[offIP:])
			if from == a {
				if n++; n%c.plain != 0 {
					ip.SetECN(packet.CE)
				}
				return true
			}
			if cnp := packet.AsCNP(f.Data[offBTH:]); cnp != nil {
				reports = append(reports, cnp.RecRate())
				if ce := ip.ECN() == packet.CE; ce != c.ce {
					t.Errorf("%v with one of %d not marked: CE is %v", c.rate, c.plain, ce)
				}
			}
			return true
		}
		w.connect(a, b, Flow{Size: 500_000})
		w.until(20 * vtime.Millisecond)
		if len(reports) < 3 {
			t.Fatalf("%v: %d reports", c.rate, len(reports))
		}
		// A period has a whole number of packets. If packets are farther apart than a
		// period, the gap counts, and the rate is exact. The first report has no gap.
		for _, r := range reports[1 : len(reports)-1] {
			tolerance := 1082 * 8 / 50.0
			if c.rate < 150*vtime.Mbps {
				tolerance = 1
			}
			if math.Abs(float64(r)-float64(c.rate)/1e6) > tolerance {
				t.Errorf("%v: reported as %d Mb/s", c.rate, r)
			}
		}
	}
}

// A flow that continues at its old rate after a long pause has the rate of the
// packets in the period. Before, the bytes were divided by the whole gap.
func TestReportsIgnoreThePauseBeforeTheirPackets(t *testing.T) {
	w := newWire(t, func(cfg *Config) { cfg.CC = cc.Config{Algorithm: "fixed", Rate: 10 * vtime.Gbps} })
	w.kit.Receiver = cc.Report
	a, b := w.host(1), w.host(2)
	var last uint32
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		if from == b {
			if cnp := packet.AsCNP(f.Data[offBTH:]); cnp != nil {
				last = cnp.RecRate()
			}
		}
		return true
	}
	w.connect(a, b, Flow{Size: 5_000_000, Class: 3})
	pause := func(quanta uint16) {
		a.Receive(1, &packet.Frame{Data: packet.AppendPFC(nil, packet.MAC{}, 1<<3, quanta)})
	}
	w.at(vtime.Millisecond, func() { pause(0xffff) })
	w.at(1500*vtime.Microsecond, func() { last = 0; pause(0) })
	w.until(1560 * vtime.Microsecond)
	if last < 9500 || last > 10500 {
		t.Errorf("the first report after a pause of 500 us says %d Mb/s; the flow has 10000", last)
	}
}

func TestTelemetryReturnsToTheSender(t *testing.T) {
	w := newWire(t, func(c *Config) { c.CC.Algorithm = "hpcc" })
	a, b := w.host(1), w.host(2)
	w.touch = func(from *Host, f *packet.Frame, end vtime.Time) bool {
		udp := packet.UDP(f.Data[offUDP:])
		if from == a {
			if udp.DstPort() != packet.PortINT || f.Len() > 1100 {
				t.Errorf("port %d, %d bytes", udp.DstPort(), f.Len())
			}
			block := packet.AsINT(f.Data[offBTH:])
			block[0] = 1 << 4
			// A link that is always twice too busy.
			block.Hop(0).Set(packet.INTRateCode(rate), uint32(end.Nanoseconds()), uint32(end.Nanoseconds()*5/128), 50_000)
		} else if udp.DstPort() != packet.PortRoCEv2 || f.Len() != AckLen+packet.INTLen {
			t.Errorf("acknowledgement on port %d with %d bytes", udp.DstPort(), f.Len())
		}
		return true
	}
	o, _ := w.connect(a, b, Flow{Size: 1_000_000})
	w.until(200 * vtime.Millisecond)
	if o.Ended() == 0 || o.Rate() > rate/4 {
		t.Errorf("ended at %v with rate %v", o.Ended(), o.Rate())
	}
}

func TestDigestReturnsToTheSender(t *testing.T) {
	w := newWire(t, func(c *Config) { c.CC.Algorithm = "hpcc_pint" })
	a, b := w.host(1), w.host(2)
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		udp := packet.UDP(f.Data[offUDP:])
		if from == a {
			if udp.DstPort() != packet.PortPINT || f.Len() > 1060 {
				t.Errorf("port %d, %d bytes", udp.DstPort(), f.Len())
			}
			packet.AsPINT(f.Data[offBTH:])[1] = 142 // a link that is always twice too busy
		} else if udp.DstPort() != packet.PortRoCEv2 || f.Len() != AckLen+packet.PINTLen {
			t.Errorf("acknowledgement on port %d with %d bytes", udp.DstPort(), f.Len())
		}
		return true
	}
	o, _ := w.connect(a, b, Flow{Size: 1_000_000})
	w.until(200 * vtime.Millisecond)
	if o.Ended() == 0 || o.Rate() > rate/4 {
		t.Errorf("ended at %v with rate %v", o.Ended(), o.Rate())
	}
}

func TestTagCarriesTheCoflow(t *testing.T) {
	w := newWire(t, func(c *Config) { c.Tag = true })
	a, b := w.host(1), w.host(2)
	tags := make(map[uint16]int)
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		if tag, ok := tagOf(f); ok {
			tags[tag.coflow()]++
			if leaf, agg := tag.path(); from != a || leaf != packet.TagNoPath || agg != packet.TagNoPath {
				t.Errorf("tag has path %d, %d", leaf, agg)
			}
			if ip := packet.AsIPv4(tag.payload()); ip == nil || !ip.ChecksumOK() || ip.TotalLen() != f.Len()-packet.EthernetLen-packet.TagLen {
				t.Errorf("behind the tag is %v", ip)
			}
		} else if from == a {
			tags[0]++
		}
		return true
	}
	o7, _ := w.connect(a, b, Flow{Size: 3500, Coflow: 7})
	o0, _ := w.connect(a, b, Flow{Size: 2000})
	w.until(vtime.Millisecond)
	if o7.Ended() == 0 || o0.Ended() == 0 || tags[7] != 4 || tags[0] != 2 {
		t.Errorf("tags were %v", tags)
	}
}

// Queue pairs 0 and 1 are reserved for management, and dissectors interpret
// packets to them as management datagrams. Frames to them have no receiver.
func TestQueuePairsOfManagementAreLeftFree(t *testing.T) {
	w := newWire(t, nil)
	a, b := w.host(1), w.host(2)
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		if qp := packet.BTH(f.Data[offBTH:]).DestQP(); qp < 2 {
			t.Errorf("a frame to queue pair %d", qp)
		}
		return true
	}
	o, _ := w.connect(a, b, Flow{Size: 3000})
	w.until(vtime.Millisecond)
	if o.Ended() == 0 {
		t.Error("the flow did not end")
	}
	for _, op := range []packet.Opcode{packet.OpSendOnly, packet.OpAcknowledge, packet.OpCongestionNotific} {
		for qp := range uint32(4) {
			d := make([]byte, offBTH+64)
			packet.Ethernet(d).Set(b.self.MAC, a.self.MAC, packet.EtherTypeIPv4)
			packet.IPv4(d[offIP:]).Set(a.self.IP, b.self.IP, packet.ProtoUDP, 0, packet.CE, 0, len(d)-offIP)
			packet.UDP(d[offUDP:]).Set(1, packet.PortRoCEv2, len(d)-offUDP)
			packet.BTH(d[offBTH:]).Set(op, qp, 0, false)
			b.Receive(1, &packet.Frame{Data: d})
		}
	}
	if b.Stats.Misdelivered != 11 { // all but one SEND to queue pair 2
		t.Errorf("%+v", b.Stats)
	}
}

// QCN: a switch returns a data packet's headers to its source, as a
// notification with feedback.
func TestSwitchFeedbackReachesItsFlow(t *testing.T) {
	w := newWire(t, func(c *Config) { c.CC.Algorithm = "qcn" })
	a, b, c := w.host(1), w.host(2), w.host(3)
	w.connect(c, b, Flow{Size: 1000}) // so that numbers of queue pairs differ
	o, _ := w.connect(a, b, Flow{Size: 1_000_000})
	sent := 0
	w.touch = func(from *Host, f *packet.Frame, _ vtime.Time) bool {
		if from != a || sent > 0 {
			return true
		}
		sent++
		data := packet.IPv4(f.Data[offIP:])
		n := make([]byte, offBTH+packet.CNPLen)
		packet.Ethernet(n).Set(a.self.MAC, packet.MAC{9}, packet.EtherTypeIPv4)
		packet.IPv4(n[offIP:]).Set(data.Dst(), data.Src(), packet.ProtoUDP, 48, packet.CE, 0, len(n)-offIP)
		packet.UDP(n[offUDP:]).Set(0xc001, packet.PortRoCEv2, len(n)-offUDP)
		packet.BTH(n[offBTH:]).Set(packet.OpCongestionNotific, packet.BTH(f.Data[offBTH:]).DestQP(), 0, false)
		packet.CNP(n[offBTH:]).SetFeedback(32)
		w.at(w.now+delay, func() { a.Receive(1, &packet.Frame{Data: n}) })
		return true
	}
	w.until(10 * vtime.Microsecond)
	if o.CNPs() != 1 || o.Rate() != rate*3/4 || a.Stats.Misdelivered != 0 {
		t.Errorf("%d notifications, rate %v, %+v", o.CNPs(), o.Rate(), a.Stats)
	}
}

func TestShortFlowsStayOutOfFastStart(t *testing.T) {
	w := newWire(t, func(c *Config) { c.PBFS.On, c.PBFS.RTT = true, 20*vtime.Microsecond })
	a, b := w.host(1), w.host(2)
	w.touch = func(_ *Host, f *packet.Frame, _ vtime.Time) bool {
		if packet.IPv4(f.Data[offIP:]).DSCP()&packet.DSCPMark != 0 {
			t.Error("a packet is marked")
		}
		return true
	}
	w.connect(a, b, Flow{Size: 49_000, Class: 3})
	w.until(vtime.Millisecond)
}

func TestConfigIsChecked(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"mtu":            func(c *Config) { c.MTU = 10 },
		"overhead":       func(c *Config) { c.Overhead = -21 },
		"recovery":       func(c *Config) { c.Recovery = "arq" },
		"ack_every":      func(c *Config) { c.AckEvery = 0 },
		"window":         func(c *Config) { c.Window = -1 },
		"ack_class":      func(c *Config) { c.AckClass = 8 },
		"cnp_class":      func(c *Config) { c.CNPClass = -2 },
		"cc.algorithm":   func(c *Config) { c.CC.Algorithm = "x" },
		"transport":      func(c *Config) { c.Transport = "tcp" },
		"uec.spraying":   func(c *Config) { c.Transport, c.UEC.Spraying = UET, "all" },
		"uec.paths":      func(c *Config) { c.Transport, c.UEC.Paths = UET, 3 },
		"uec.bitmap":     func(c *Config) { c.Transport, c.UEC.Bitmap = UET, 100 },
		"uec.rto":        func(c *Config) { c.Transport, c.UEC.RTO = UET, 0 },
		"pbfs.delta":     func(c *Config) { c.PBFS.On, c.PBFS.Delta = true, 0 },
		"pbfs.mu":        func(c *Config) { c.PBFS.On, c.PBFS.Mu = true, 2 },
		"pbfs.min_share": func(c *Config) { c.PBFS.On, c.PBFS.MinShare = true, 0 },
	} {
		c := Papers.Defaults()
		change(&c)
		if path, err := c.Check(); err == nil || path != want {
			t.Errorf("%s: got %q, %v", want, path, err)
		}
	}
	c := Papers.Defaults()
	if path, err := c.Check(); err != nil {
		t.Errorf("defaults: %s: %v", path, err)
	}
}

func TestHistogramQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for _, limit := range []int64{5, 200, 70_000, 1 << 40} {
		var h, half Histogram
		var values []int64
		for i := range 5000 {
			v := rng.Int64N(limit)
			values = append(values, v)
			if i%2 == 0 {
				h.Add(v)
			} else {
				half.Add(v)
			}
		}
		h.Merge(&half)
		slices.Sort(values)
		for _, q := range []float64{0, 0.01, 0.5, 0.99, 1} {
			want := values[max(int(math.Ceil(q*5000))-1, 0)]
			if got := h.Quantile(q); got > want || float64(want-got) > float64(want)/128 || want < 256 && got != want {
				t.Errorf("up to %d: quantile %g is %d, want %d", limit, q, got, want)
			}
		}
	}
	if h := new(Histogram); h.Quantile(0.5) != 0 {
		t.Error("an empty histogram has a quantile")
	}
}

// No input makes a host panic or stop.
func FuzzReceive(f *testing.F) {
	seed := func(algorithm string, recovery Recovery) {
		w := newWire(f, func(c *Config) {
			if c.CC.Algorithm, c.Recovery = algorithm, recovery; algorithm == "nscc_rccc" {
				c.Transport = UET
			}
		})
		w.touch = func(_ *Host, fr *packet.Frame, _ vtime.Time) bool {
			f.Add(slices.Clone(fr.Data), uint16(fr.Elided))
			return true
		}
		w.connect(w.host(1), w.host(2), Flow{Size: 2500, Class: 3})
		w.until(vtime.Millisecond)
	}
	seed("dcqcn_paper", GoBackN)
	seed("hpcc", IRN)
	seed("hpcc_pint", GoBackN)
	seed("nscc_rccc", GoBackN)
	f.Add(packet.AppendPFC(nil, packet.MAC{1}, 0xff, 7), uint16(0))
	f.Fuzz(func(t *testing.T, data []byte, elided uint16) {
		for _, algorithm := range []string{"dcqcn_paper", "hpcc", "hpcc_pint", "pcn", "nscc_rccc"} {
			w := newWire(t, func(c *Config) {
				if c.CC.Algorithm = algorithm; algorithm == "nscc_rccc" {
					c.Transport = UET
					return
				}
				c.PBFS.On, c.PBFS.RTT = true, 20*vtime.Microsecond
				c.Hermes.On = len(data)%3 == 0
				if len(data)%2 == 1 {
					c.Recovery = IRN
				}
			})
			a, b := w.host(1), w.host(2)
			o, _ := w.connect(a, b, Flow{Size: 20_000, Class: 3, Leaf: 1, Paths: [2]int{4}})
			w.until(3 * vtime.Microsecond)
			for range 3 {
				a.Receive(1, &packet.Frame{Data: slices.Clone(data), Elided: int32(elided)})
				b.Receive(1, &packet.Frame{Data: slices.Clone(data), Elided: int32(elided)})
				w.until(w.now + vtime.Microsecond)
			}
			// Unless the input ended it, the flow ends.
			w.until(w.now + 100*vtime.Millisecond)
			if o.Ended() == 0 {
				t.Errorf("%s: the flow did not end: %+v", algorithm, *o)
			}
		}
	})
}
