// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"slices"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// marked is a PB-FS packet that requests a postcard.
var marked = roce{src: "h1", dst: "h2", sport: 5000, dscp: 26 | packet.DSCPMark}.bytes()

// slotsUntilNow fills the ring of a port with the bytes that arrived in each of the
// last nine slots, the current one first.
func slotsUntilNow(d *dut, port int, bytes, markedBytes [9]uint64) {
	d.Helper()
	// The slot of the next packet. A slot might end between these writes, so slots
	// are very long.
	now := int(uint64(d.now()) * slotsPerUnit >> 24)
	for i := range 9 {
		cell := (now - i) & 15
		d.set("slot_number", uint64(uint32(now-i)), port, cell)
		d.set("slot_bytes", bytes[i], port, cell)
		d.set("slot_marked", markedBytes[i], port, cell)
		d.set("slot_qlen", uint64(100*i), port, cell)
	}
}

// slotsPerUnit makes a slot 2^22 µs long, in 2^-24.
const slotsPerUnit = 4

func TestPBFSNotifiesTheSenderOfCongestion(t *testing.T) {
	t.Parallel()
	for _, profile := range []string{"pbfs", "rlb-pbfs", "hpcc-pbfs"} {
		t.Run(profile, func(t *testing.T) {
			eachTarget(t, func(t *testing.T, sw target) {
				d := load(t, sw, profile, leafSpine(2), "l1", nil)
				d.rule("slot default -> set_slot(per_unit=4)")
				// Eight full slots of 1000 bytes, the last one of 3000: 10000 arrived and
				// 8·3000 are expected. The queue length was 800 at their start.
				bytes := [9]uint64{500, 3000, 1000, 1000, 1000, 1000, 1000, 1000, 1000}
				marks := [9]uint64{100, 700, 300, 10, 10, 10, 10, 10, 10}
				size := uint64(len(marked))
				for _, c := range []struct {
					capacity string
					postcard bool
				}{{"34800", false}, {"34799", true}} {
					d.rule("pbfs_port out_port=2 -> set_capacity(round_trip_bytes=" + c.capacity + ", mbps=25000)")
					slotsUntilNow(d, 2, bytes, marks)
					d.send(1, marked)
					out := d.sent()
					if got := from(out, 2); len(got) != 1 || !slices.Equal(got[0], marked) {
						t.Fatalf("the packet came out as %v", out)
					}
					cards := from(out, 1)
					if !c.postcard {
						if len(cards) != 0 {
							t.Errorf("postcard with capacity for all: %v", cards)
						}
						continue
					}
					if len(cards) != 1 {
						t.Fatalf("%d postcards", len(cards))
					}
					eth := packet.AsEthernet(cards[0])
					ip := packet.AsIPv4(eth.Payload())
					udp := packet.AsUDP(ip.Payload())
					p := packet.AsPostcard(udp.Payload())
					if eth.Dst() != mac("h1") || eth.Src() != mac("h2") || ip.Src() != addr("h2") || ip.Dst() != addr("h1") ||
						!ip.ChecksumOK() || ip.DSCP() != packet.DSCPPostcard || ip.TotalLen() != len(cards[0])-14 ||
						udp.SrcPort() != 5000 || udp.DstPort() != packet.PortPostcard || udp.Len() != ip.TotalLen()-20 || p == nil {
						t.Fatalf("postcard % x", cards[0])
					}
					recent, recentMarked := p.Recent()
					if p.Switch() != 1 || p.DestQP() != 0x77 || p.Arriving() != 34000 || p.Queue() != 800 || p.Rate() != 25000 ||
						recent != uint32(500+size+3000+1000) || recentMarked != uint32(100+size+700+300) {
						t.Errorf("switch %d, QP %#x, I_p %d, Q1 %d, T %d, recent %d, marked %d", p.Switch(), p.DestQP(), p.Arriving(), p.Queue(), p.Rate(), recent, recentMarked)
					}
					d.want(1, "postcards", 2)
				}
				// Not requested: no postcard at any congestion.
				slotsUntilNow(d, 2, bytes, marks)
				d.passes(1, 2, roce{src: "h1", dst: "h2", sport: 5000}.bytes())
			})
		})
	}
}

func TestPBFSCountsByPortAndSlot(t *testing.T) {
	t.Parallel()
	eachTarget(t, func(t *testing.T, sw target) {
		d := load(t, sw, "pbfs", leafSpine(2), "l1", nil)
		d.rule("slot default -> set_slot(per_unit=4)")
		now := int(uint64(d.now()) * slotsPerUnit >> 24)
		cell := now & 15
		d.set("slot_number", uint64(uint32(now-16)), 2, cell) // of an earlier round of the ring
		d.set("slot_bytes", 777, 2, cell)
		d.set("slot_marked", 777, 2, cell)
		d.set("egress_qlen", 4242, 2, 3)
		plain := roce{src: "h1", dst: "h2", sport: 5000}.bytes()
		d.passes(1, 2, plain)
		d.want(uint64(now), "slot_number", 2, cell)
		d.want(uint64(len(plain)), "slot_bytes", 2, cell)
		d.want(0, "slot_marked", 2, cell)
		d.want(4242, "slot_qlen", 2, cell) // without this packet
		d.passes(1, 2, marked)
		d.want(uint64(len(plain)+len(marked)), "slot_bytes", 2, cell)
		d.want(uint64(len(marked)), "slot_marked", 2, cell)
		d.want(0, "slot_bytes", 1, cell)
	})
}

// withINT is a RoCEv2 packet with a telemetry block, as HPCC's hosts send it.
func withINT(r roce) []byte {
	f := r.bytes()
	const at = packet.EthernetLen + packet.IPv4Len + packet.UDPLen
	b := slices.Concat(f[:at], make([]byte, packet.INTLen), f[at:])
	ip := packet.IPv4(b[packet.EthernetLen:])
	n := len(b) - packet.EthernetLen
	ip.Set(ip.Src(), ip.Dst(), packet.ProtoUDP, ip.DSCP(), ip.ECN(), 1, n)
	packet.UDP(ip[packet.IPv4Len:]).Set(r.sport, packet.PortINT, n-packet.IPv4Len)
	return b
}

func TestTelemetryAddsARecordOfTheEgressPort(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, profile string
		dscp          uint8
	}{{"alone", "hpcc", 26}, {"with PB-FS", "hpcc-pbfs", 26}, {"marked", "hpcc-pbfs", 26 | packet.DSCPMark}} {
		t.Run(c.name, func(t *testing.T) {
			everyTarget(t, func(t *testing.T, sw target) {
				unit := uint32(1000)
				if sw.arch() == "tna" {
					unit = 1
				}
				d := load(t, sw, c.profile, leafSpine(2), "l1", nil)
				const at = packet.EthernetLen + packet.IPv4Len + packet.UDPLen
				in := withINT(roce{src: "h1", dst: "h2", sport: 5000, dscp: c.dscp})
				d.set("tx_bytes", 10_000_000, 2)
				for hops := range 6 {
					before := d.now()
					port, out := d.through(1, in)
					after := d.now()
					b := packet.AsINT(out[at:])
					if port != 2 || b == nil {
						t.Fatalf("port %d, % x", port, out[:90])
					}
					if hops == 5 { // the header is full
						if !slices.Equal(in, out) {
							t.Errorf("went in as % x, out as % x", in[:90], out[:90])
						}
						break
					}
					h := b.Hop(hops)
					sent := uint32(10_000_000+(hops+1)*len(in)) / packet.INTByteUnit
					if b.Hops() != hops+1 || b.Path() != uint16(hops+1)&1 || h.Rate() != 40*vtime.Gbps || h.TxBytes() != sent || h.Queue() != 0 {
						t.Errorf("hop %d: %d hops, path %d, rate %v, sent %d (want %d), queue %d", hops, b.Hops(), b.Path(), h.Rate(), h.TxBytes(), sent, h.Queue())
					}
					// Nanoseconds, modulo 2^24: 16 ms.
					if age := (after*unit - h.Time()) & (1<<24 - 1); age > (after-before)*unit && after-before < 16_000_000/unit {
						t.Errorf("hop %d: %d ns before %d ns, which took %d ns", hops, age, after*unit, (after-before)*unit)
					}
					if !slices.Equal(out[at+packet.INTLen:], in[at+packet.INTLen:]) || !slices.Equal(out[:at], in[:at]) {
						t.Error("something else has changed too")
					}
					in = out
				}
				// Packets without a block count as well.
				tx := d.get("tx_bytes", 2)
				plain := roce{src: "h1", dst: "h2", sport: 5000}.bytes()
				d.passes(1, 2, plain)
				d.want(tx+uint64(len(plain)), "tx_bytes", 2)
			})
		})
	}
}
