// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
)

var (
	h1 = &topo.Node{Kind: topo.Host, Name: "h1", MAC: packet.MAC{2, 0, 0, 0, 0, 1}, IP: netip.MustParseAddr("10.0.0.1")}
	h2 = &topo.Node{ID: 1, Host: 1, Kind: topo.Host, Name: "h2", MAC: packet.MAC{2, 0, 0, 0, 0, 2}, IP: netip.MustParseAddr("10.0.0.2")}
)

// Frames are what gopacket makes of the same fields: lengths and checksums, with options
// and payloads of odd lengths, too.
func TestFramesAreThoseOfGopacket(t *testing.T) {
	for _, options := range []string{"", "1f04 0000", "1f 04 00 00 01 01 01 01"} {
		raw, err := fromHex(options)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"", "P", "P4 is cool", "\xff\xff\xff\xff\xff\xfe"} {
			for _, size := range []int{0, 200, 201} {
				ip := &layers.IPv4{Version: 4, TTL: 64, Id: 1, SrcIP: h1.IP.AsSlice(), DstIP: h2.IP.AsSlice()}
				if len(raw) > 0 {
					ip.Options = []layers.IPv4Option{{OptionType: raw[0], OptionLength: raw[1], OptionData: raw[2:4]}}
					for _, o := range raw[4:] {
						ip.Options = append(ip.Options, layers.IPv4Option{OptionType: o, OptionLength: 1})
					}
				}
				udp, tcp := &layers.UDP{SrcPort: 7, DstPort: 9}, &layers.TCP{SrcPort: 7, DstPort: 9, Seq: 5, SYN: true, Window: 0x2000, DataOffset: 5}
				udp.SetNetworkLayerForChecksum(ip)
				tcp.SetNetworkLayerForChecksum(ip)
				for _, c := range []struct {
					name     string
					spec     Spec
					protocol layers.IPProtocol
					layer    gopacket.SerializableLayer
					header   int
				}{
					{"udp", Spec{UDP: &Ports{Source: 7, Destination: 9}}, layers.IPProtocolUDP, udp, packet.UDPLen},
					{"tcp", Spec{TCP: &TCP{Source: 7, Destination: 9, Seq: 5}}, layers.IPProtocolTCP, tcp, tcpLen},
					{"ping", Spec{Ping: true}, layers.IPProtocolICMPv4, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0), Seq: 1}, icmpLen},
				} {
					s := c.spec
					s.IPv4.Options, s.Text, s.Size = options, text, vtime.Size(size)
					payload := []byte(text)
					if size > 0 {
						payload = append(payload, make([]byte, size-packet.EthernetLen-packet.IPv4Len-len(raw)-c.header-len(text))...)
					}
					if key, err := s.build(nil, h1, h2); err != nil {
						t.Fatal(key, err)
					}
					ip.Protocol = c.protocol
					buf := gopacket.NewSerializeBuffer()
					err := gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true},
						&layers.Ethernet{SrcMAC: h1.MAC[:], DstMAC: h2.MAC[:], EthernetType: layers.EthernetTypeIPv4}, ip, c.layer, gopacket.Payload(payload))
					if err != nil {
						t.Fatal(err)
					}
					want := buf.Bytes()
					want = append(want, make([]byte, max(0, minFrame-len(want)))...)
					if got := s.numbered(0, nil); !bytes.Equal(got, want) {
						t.Errorf("%s, options %q, text %q, size %d:\n%x, want\n%x", c.name, options, text, size, got, want)
					}
				}
			}
		}
	}
}

// A host answers a ping for it as gopacket reads it, and nothing else makes it fail.
func FuzzAnswer(f *testing.F) {
	ping := Spec{Ping: true, Text: "P4 is cool"}
	if key, err := ping.build(nil, h1, h2); err != nil {
		f.Fatal(key, err)
	}
	frame := bytes.Clone(ping.numbered(0, nil))
	f.Add(frame)
	arp := append(append(append(bytes.Clone(frame[:12]), 8, 6), 0, 1, 8, 0, 6, 4, 0, 1), make([]byte, 20)...)
	copy(arp[packet.EthernetLen+24:], h2.IP.AsSlice())
	f.Add(arp)
	short := bytes.Clone(frame)
	short[packet.EthernetLen+3] = packet.IPv4Len // its length ends before ICMP
	f.Add(short)
	f.Fuzz(func(t *testing.T, d []byte) {
		e := &end{self: h2}
		for _, name := range fieldNames {
			field(name, d)
		}
		out := e.answer(d)
		if out == nil {
			return
		}
		p := gopacket.NewPacket(out, layers.LayerTypeEthernet, gopacket.Default)
		if p.Layer(layers.LayerTypeARP) == nil && p.NetworkLayer() == nil && gopacket.NewPacket(d, layers.LayerTypeEthernet, gopacket.Default).ErrorLayer() == nil {
			t.Errorf("%x is answered with %x", d, out)
		}
		if ip, ok := p.NetworkLayer().(*layers.IPv4); ok && !packet.IPv4(ip.Contents).ChecksumOK() {
			t.Errorf("the answer %x has a wrong checksum", out)
		}
	})
}
