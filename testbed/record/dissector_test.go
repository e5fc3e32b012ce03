// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/virtual"
)

// capture writes the frames that arrive at switches to a pcap, and counts them.
type capture struct {
	out    bytes.Buffer
	frames int
	kinds  map[string]int
}

// Arrive implements fabric.Tap.
func (c *capture) Arrive(now vtime.Time, _ int, f *packet.Frame) {
	if c.frames == 0 {
		c.kinds = make(map[string]int)
		binary.Write(&c.out, binary.LittleEndian, []uint32{0xa1b23c4d, 4<<16 | 2, 0, 0, 65535, 1}) // nanoseconds, Ethernet
	}
	if c.frames >= 10_000 {
		return
	}
	c.frames++
	ns := now.Nanoseconds()
	binary.Write(&c.out, binary.LittleEndian, []uint32{uint32(ns / 1e9), uint32(ns % 1e9), uint32(len(f.Data)), uint32(f.Len())})
	c.out.Write(f.Data)
	switch kind := be.Uint16(f.Data[12:]); {
	case kind == 0x8808:
		c.kinds["pfc"]++
	case kind == packet.EtherTypeLocal && f.Data[14] == packet.KindWarning:
		c.kinds["warning"]++
	case kind == packet.EtherTypeLocal && f.Data[14] == packet.KindKickOut:
		c.kinds["kick"]++
	case kind == packet.EtherTypeFabric:
		c.kinds["fabric"]++
	}
}

func (c *capture) Tap(n *topo.Node) fabric.Tap {
	if n.Kind == topo.Switch {
		return c
	}
	return nil
}
func (c *capture) Next() vtime.Time    { return vtime.Never }
func (c *capture) Look(*virtual.Lab)   {}
func (c *capture) End(*fabric.Results) {}

// Wireshark dissects the programs' headers and messages, postcards and telemetry,
// in the numbers that were sent, and dissects RoCEv2 behind all headers.
func TestDissector(t *testing.T) {
	tshark := need.Tool(t, "TSHARK", "tshark")
	for profile, want := range map[string][]string{
		"rlb-drill": {"fabric", "warning"}, "rlb-conga": {"fabric"}, "plb": {"fabric"}, "clb": {}, "pbfs": {}, "hpcc": {}, "hpcc-pint": {}, "conweave": {"fabric"},
	} {
		t.Run(profile, func(t *testing.T) {
			s, err := scenario.Parse("incast.yaml", []byte(strings.ReplaceAll(incast, "rlb-drill", profile)))
			if err != nil {
				t.Fatal(err)
			}
			c := &capture{}
			if _, err := s.Run(context.Background(), scenario.Options{Follow: func(scenario.Start) scenario.Follower { return c }}); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "x.pcap")
			if err := os.WriteFile(file, c.out.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
			fields := []string{"frame.protocols", "pauseless.path", "pauseless_message.kind", "pauseless_postcard.version", "pauseless_int.hops", "_ws.malformed", "udp.dstport", "pauseless_pint.code"}
			args := []string{"-r", file, "-X", "lua_script:../../cmd/pauseless/pauseless.lua", "-T", "fields"}
			for _, f := range fields {
				args = append(args, "-e", f)
			}
			cmd := exec.Command(tshark, args...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil || strings.Contains(stderr.String(), "Lua") {
				t.Fatalf("tshark: %v\n%s", err, &stderr)
			}
			got := make(map[string]int)
			frames := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
			if len(frames) != c.frames {
				t.Fatalf("%d frames of %d", len(frames), c.frames)
			}
			for i, line := range frames {
				v := strings.Split(line, "\t")
				stack := ":" + v[0] + ":"
				if v[1] != "" {
					got["fabric"]++
				}
				switch v[2] {
				case "1":
					got["warning"]++
				case "2":
					got["kick"]++
				}
				if v[3] != "" {
					got["postcard"]++
				}
				if v[4] != "" {
					got["telemetry"]++
				}
				if v[7] != "" {
					got["digest"]++
				}
				if strings.Contains(stack, ":macc:") {
					got["pfc"]++
				}
				if strings.Contains(stack, ":udp:") && v[3] == "" && !strings.Contains(stack, ":infiniband:") {
					t.Fatalf("frame %d is no RoCEv2: %s, UDP port %s", i+1, v[0], v[6])
				}
				if v[1] != "" && !strings.Contains(stack, ":udp:") && !strings.Contains(stack, ":arp:") && profile != "plb" {
					t.Fatalf("frame %d: the packet behind the header between leaves is not dissected: %s", i+1, v[0])
				}
			}
			for _, kind := range []string{"fabric", "warning", "kick", "pfc"} {
				if got[kind] != c.kinds[kind] {
					t.Errorf("%d frames of kind %s, want %d", got[kind], kind, c.kinds[kind])
				}
			}
			for _, kind := range want {
				if got[kind] == 0 {
					t.Errorf("no %s", kind)
				}
			}
			if more := map[string]string{"pbfs": "postcard", "hpcc": "telemetry", "hpcc-pint": "digest"}[profile]; more != "" && got[more] == 0 {
				t.Errorf("no %s", more)
			}
			t.Log(fmt.Sprint(c.frames, " frames: ", got))
		})
	}
}

// Whatever an operator sends through the leaves is dissected behind the header of
// every length, also if the header's own fields look like the start of a packet.
func TestDissectorOfOtherPackets(t *testing.T) {
	tshark := need.Tool(t, "TSHARK", "tshark")
	ip := func(protocol layers.IPProtocol, rest ...gopacket.SerializableLayer) []byte {
		head := &layers.IPv4{Version: 4, TTL: 63, Protocol: protocol, SrcIP: net.IP{10, 0, 1, 1}, DstIP: net.IP{10, 0, 2, 9}}
		for _, l := range rest {
			switch l := l.(type) {
			case *layers.TCP:
				l.SetNetworkLayerForChecksum(head)
			case *layers.UDP:
				l.SetNetworkLayerForChecksum(head)
			}
		}
		b := gopacket.NewSerializeBuffer()
		if err := gopacket.SerializeLayers(b, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, append([]gopacket.SerializableLayer{head}, rest...)...); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	roce := append([]byte{4, 0, 0xff, 0xff, 0, 0, 1, 1, 0, 0, 0, 7}, make([]byte, 68)...)
	arp := gopacket.NewSerializeBuffer()
	if err := (&layers.ARP{AddrType: layers.LinkTypeEthernet, Protocol: layers.EthernetTypeIPv4, HwAddressSize: 6, ProtAddressSize: 4, Operation: 1,
		SourceHwAddress: []byte{2, 0, 0, 0, 0, 1}, SourceProtAddress: []byte{10, 0, 1, 1}, DstHwAddress: make([]byte, 6), DstProtAddress: []byte{10, 0, 2, 9}}).SerializeTo(arp, gopacket.SerializeOptions{}); err != nil {
		t.Fatal(err)
	}
	packets := []struct {
		want string // ends frame.protocols
		kind uint16
		data []byte
	}{
		{"ip:tcp", 0x0800, ip(layers.IPProtocolTCP, &layers.TCP{SrcPort: 40000, DstPort: 5201, Seq: 1, ACK: true, Window: 1000})},
		{"ip:icmp:data", 0x0800, ip(layers.IPProtocolICMPv4, &layers.ICMPv4{TypeCode: layers.CreateICMPv4TypeCode(8, 0), Id: 3, Seq: 1}, gopacket.Payload(make([]byte, 48)))},
		{"ip:udp:infiniband", 0x0800, ip(layers.IPProtocolUDP, &layers.UDP{SrcPort: 50000, DstPort: 4791}, gopacket.Payload(roce))},
		{"arp", 0x0806, arp.Bytes()},
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var file bytes.Buffer
	binary.Write(&file, binary.LittleEndian, []uint32{0xa1b23c4d, 4<<16 | 2, 0, 0, 65535, 1})
	var wants []string
	for range 60 {
		for _, length := range []int{5, 8, 11, 14, 15, 18, 24} {
			for _, p := range packets {
				frame := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}, be.AppendUint16(nil, p.kind)...)
				for len(frame) < 14+length { // bytes with which an IPv4 header begins are frequent
					frame = append(frame, []byte{0x45, 0, byte(rng.Uint32()), 17, 40}[rng.IntN(5)])
				}
				frame = append(frame, p.data...)
				frame = append(frame, make([]byte, max(0, 60-len(frame)))...) // Ethernet's padding
				binary.Write(&file, binary.LittleEndian, []uint32{uint32(len(wants)), 0, uint32(len(frame)), uint32(len(frame))})
				file.Write(frame)
				wants = append(wants, "pauseless:"+p.want)
			}
		}
	}
	name := filepath.Join(t.TempDir(), "x.pcap")
	if err := os.WriteFile(name, file.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tshark, "-r", name, "-X", "lua_script:../../cmd/pauseless/pauseless.lua", "-T", "fields", "-e", "frame.protocols", "-e", "_ws.malformed", "-e", "ip.checksum.status").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "eth:") {
			lines = append(lines, strings.TrimSuffix(line, "\n"))
		}
	}
	if len(lines) != len(wants) {
		t.Fatalf("%d lines for %d frames:\n%s", len(lines), len(wants), out)
	}
	for i, line := range lines {
		if v := strings.Split(line, "\t"); !strings.Contains(v[0]+":", wants[i]+":") || v[1] != "" {
			t.Errorf("frame %d is %q, want %s", i+1, line, wants[i])
		}
	}
}
