// SPDX-License-Identifier: Apache-2.0

package packet

import (
	"net/netip"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/pauseless/pauseless/internal/vtime"
)

func roceFrame() []byte {
	b := make([]byte, EthernetLen+IPv4Len+UDPLen+BTHLen+AETHLen)
	Ethernet(b).Set(MAC{2, 0, 0, 0, 0, 2}, MAC{2, 0, 0, 0, 0, 1}, EtherTypeIPv4)
	ip := IPv4(b[EthernetLen:])
	ip.Set(netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.1.1"), ProtoUDP, 26, ECT0, 7, len(ip))
	udp := UDP(ip[IPv4Len:])
	udp.Set(49152, PortRoCEv2, len(udp))
	BTH(udp.Payload()).Set(OpAcknowledge, 0x123456, 0xabcdef, true)
	AETH(BTH(udp.Payload()).Payload()).Set(SyndromeNAKPSNSequence, 9)
	return b
}

// An independent decoder reads the written headers.
func TestHeadersAgreeWithGopacket(t *testing.T) {
	b := roceFrame()
	p := gopacket.NewPacket(b, layers.LayerTypeEthernet, gopacket.Default)
	ip, _ := p.Layer(layers.LayerTypeIPv4).(*layers.IPv4)
	udp, _ := p.Layer(layers.LayerTypeUDP).(*layers.UDP)
	if ip == nil || udp == nil {
		t.Fatalf("gopacket reads %v", p)
	}
	if ip.SrcIP.String() != "10.0.0.1" || ip.DstIP.String() != "10.0.1.1" || ip.TOS != 26<<2|2 || ip.TTL != 64 {
		t.Errorf("IPv4 header reads back as %+v", ip)
	}
	if udp.SrcPort != 49152 || udp.DstPort != 4791 || int(udp.Length) != UDPLen+BTHLen+AETHLen {
		t.Errorf("UDP header reads back as %+v", udp)
	}
	if !AsIPv4(b[EthernetLen:]).ChecksumOK() {
		t.Error("IPv4 checksum is wrong")
	}
	b[EthernetLen+8]--
	if AsIPv4(b[EthernetLen:]).ChecksumOK() {
		t.Error("IPv4 checksum holds after the TTL changed")
	}
}

func TestTransportHeaderReadsBack(t *testing.T) {
	bth := AsBTH(roceFrame()[EthernetLen+IPv4Len+UDPLen:])
	if bth.Opcode() != OpAcknowledge || bth.DestQP() != 0x123456 || bth.PSN() != 0xabcdef || !bth.AckReq() {
		t.Errorf("BTH reads back as %v % x", bth.Opcode(), []byte(bth))
	}
	aeth := AsAETH(bth.Payload())
	if !aeth.IsNAK() || aeth.MSN() != 9 {
		t.Errorf("AETH reads back as % x", []byte(aeth))
	}
}

func TestPFCFrame(t *testing.T) {
	b := AppendPFC(nil, MAC{2, 0, 0, 0, 0, 9}, 1<<3, 0xffff)
	if len(b) != PFCFrameLen {
		t.Fatalf("PFC frame has %d bytes, want %d", len(b), PFCFrameLen)
	}
	f := AsPFC(b)
	if f == nil || f.Enabled() != 1<<3 || f.Quanta(3) != 0xffff || f.Quanta(2) != 0 {
		t.Fatalf("PFC frame reads back as % x", b)
	}
	if Ethernet(b).Dst() != PFCDestination {
		t.Errorf("PFC frame goes to %v", Ethernet(b).Dst())
	}
	if got, want := PauseTime(0xffff, 40*vtime.Gbps), vtime.Time(65535)*12800; got != want {
		t.Errorf("65535 quanta at 40 Gb/s pause for %v, want %v", got, want)
	}
	if AsPFC(roceFrame()) != nil || AsPFC(b[:20]) != nil {
		t.Error("AsPFC accepts what is no PFC frame")
	}
}

func TestTruncateCountsElidedBytes(t *testing.T) {
	f := &Frame{Data: make([]byte, 60), Elided: 1000}
	f.Truncate(500)
	if f.Len() != 500 || len(f.Data) != 60 {
		t.Errorf("truncated to %d bytes, %d in memory", f.Len(), len(f.Data))
	}
	f.Truncate(20)
	if f.Len() != 20 || f.Elided != 0 {
		t.Errorf("truncated to %d bytes, %d elided", f.Len(), f.Elided)
	}
	f.Truncate(100)
	if f.Len() != 20 {
		t.Errorf("truncating longer than the frame changed it to %d bytes", f.Len())
	}
}

func TestIPv4IsFoundBehindOtherHeaders(t *testing.T) {
	plain := roceFrame()
	behind := func(etherType uint16, header ...byte) []byte {
		b := append([]byte(nil), plain[:EthernetLen]...)
		Ethernet(b).Set(MAC{1}, MAC{2}, etherType)
		return append(append(b, header...), plain[EthernetLen:]...)
	}
	for name, b := range map[string][]byte{
		"at once":                plain,
		"behind a fabric header": behind(EtherTypeFabric, 8, 0, 0x45, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12),
		"behind a tag":           behind(EtherTypeLocal, KindTag, 0xff, 0xff, 0, 0, 7, 8, 0),
	} {
		if ip := FindIPv4(b); ip == nil || ip.Dst() != IPv4(plain[EthernetLen:]).Dst() {
			t.Errorf("%s: found %v", name, ip)
		}
	}
	if ip := FindIPv4(AppendPFC(nil, MAC{}, 1, 5)); ip != nil {
		t.Errorf("found %v in a PFC frame", ip)
	}
	if ip := FindIPv4(behind(EtherTypeFabric)[:20]); ip != nil {
		t.Errorf("found %v in a frame cut short", ip)
	}
}

// After frames with more bytes than a new one's capacity were put back, new
// frames have a larger capacity and need not grow.
func TestPoolCapacityFollowsReturnedFrames(t *testing.T) {
	var p Pool
	f := p.Get()
	f.Data = append(f.Data, make([]byte, shortBytes)...)
	if cap(f.Data) != shortBytes {
		t.Errorf("a frame has room for %d bytes, want %d", cap(f.Data), shortBytes)
	}
	f.Data = append(f.Data, 0)
	p.Put(f)
	p.Get()
	if f = p.Get(); cap(f.Data) != tallBytes {
		t.Errorf("after one with %d bytes a frame has room for %d, want %d", shortBytes+1, cap(f.Data), tallBytes)
	}
}

// Frames of which more is expected in memory have room for it from the first one on.
func TestFramesHaveTheRoomThatIsExpected(t *testing.T) {
	for _, c := range []struct{ bytes, added, want int }{{62, 0, 64}, {62, 11, 96}, {62, 60, 96}, {70, 0, 96}, {104, 0, 128}, {104, 20, 128}} {
		var p Pool
		p.Expect(c.bytes, c.added)
		if got := cap(p.Get().Data); got != c.want {
			t.Errorf("a frame of %d bytes, to which switches add %d, has room for %d, want %d", c.bytes, c.added, got, c.want)
		}
	}
}
