// SPDX-License-Identifier: Apache-2.0

package port

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch"
)

func TestPortsOfTheCommandLine(t *testing.T) {
	for text, want := range map[string]Spec{
		"1@if:veth0":            {1, "if", "veth0"},
		"2@veth0":               {2, "if", "veth0"}, // simple_switch's form
		"0@pcap:in.pcap,o.pcap": {0, "pcap", "in.pcap,o.pcap"},
		"3@mem:a":               {3, "mem", "a"},
	} {
		if got, err := ParseSpec(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"veth0":      "write NUMBER@KIND:ARGUMENT",
		"x@if:a":     `expected a number before @, found "x"`,
		"-1@if:a":    `expected a number before @, found "-1"`,
		"1@if:":      "kind if needs an argument: INTERFACE",
		"1@pacp:a":   `unknown kind pacp (did you mean "pcap"?)`,
		"1@tap:tap0": "there are if, pcap, mem",
	} {
		if _, err := ParseSpec(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
	for want, specs := range map[string][]Spec{
		"port 1 is given twice":                         {{1, "mem", "a"}, {1, "mem", "a"}},
		"cable a has one end":                           {{1, "mem", "a"}},
		"port 1: open none.pcap":                        {{1, "pcap", "none.pcap"}},
		"port 2: this machine has no interface nowhere": {{1, "mem", "a"}, {2, "if", "nowhere"}},
		"read .: is a directory":                        {{1, "pcap", "."}},
		"in.pcap is read and would":                     {{1, "pcap", "in.pcap,in.pcap"}},
		"port 1: a.pcap is read":                        {{1, "pcap", ",a.pcap"}, {2, "pcap", "a.pcap"}},
	} {
		if links, err := Open(specs); err == nil || !strings.Contains(err.Error(), want) || links != nil {
			t.Errorf("%v: %v, error %v, want %q", specs, links, err, want)
		}
	}
}

// frames makes frames of these sizes with different bytes.
func frames(sizes ...int) []*packet.Frame {
	var list []*packet.Frame
	for i, n := range sizes {
		list = append(list, &packet.Frame{Data: bytes.Repeat([]byte{byte(i + 1)}, n)})
	}
	return list
}

// readAll reads a link to its end.
func readAll(t *testing.T, l Link) [][]byte {
	t.Helper()
	var list [][]byte
	for {
		b := NewBatch()
		err := l.Read(b)
		for i := range b.Len() {
			list = append(list, append([]byte(nil), b.Frame(i)...))
		}
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Frames written to a pcap file are read unchanged, including jumbo frames and
// elided bytes.
func TestPcapFilesKeepFrames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.pcap")
	out, err := OpenPcap("", file)
	if err != nil {
		t.Fatal(err)
	}
	want := frames(14, 60, 1514, 9216)
	want[1].Elided = 5000
	for range 100 { // more than a batch
		if err := out.Write(want); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(out.Close(), out.Close()); err != nil {
		t.Fatal(err)
	}
	in, err := OpenPcap(file, "")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	got := readAll(t, in)
	if len(got) != 400 {
		t.Fatalf("%d frames, want 400", len(got))
	}
	for i, b := range got {
		if w := wire(want[i%4]); !bytes.Equal(b, w) {
			t.Fatalf("frame %d has %d bytes, want %d", i, len(b), len(w))
		}
	}
}

// pcapFile writes a file of one packet.
func pcapFile(t *testing.T, order binary.ByteOrder, magic, link, captured, size uint32, data []byte) string {
	t.Helper()
	b := make([]byte, 40)
	order.PutUint32(b, magic)
	order.PutUint32(b[20:], link)
	order.PutUint32(b[32:], captured)
	order.PutUint32(b[36:], size)
	name := filepath.Join(t.TempDir(), "x.pcap")
	if err := os.WriteFile(name, append(b, data...), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestPcapFilesOfOthers(t *testing.T) {
	data := []byte("0123456789abcdef")
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, magic := range []uint32{0xa1b2c3d4, 0xa1b23c4d} {
			l, err := OpenPcap(pcapFile(t, order, magic, 1, 16, 16, data), "")
			if err != nil {
				t.Fatal(err)
			}
			if got := readAll(t, l); len(got) != 1 || !bytes.Equal(got[0], data) {
				t.Errorf("%v, %x: %q", order, magic, got)
			}
			l.Close()
		}
	}
	le := binary.LittleEndian
	for want, file := range map[string]string{
		"it begins with 78563412":             pcapFile(t, le, 0x12345678, 1, 16, 16, data),
		"a pcapng file":                       pcapFile(t, le, 0x0a0d0d0a, 1, 16, 16, data),
		"link type 113, expected 1, Ethernet": pcapFile(t, le, 0xa1b23c4d, 113, 16, 16, data),
		"ends within a frame":                 pcapFile(t, le, 0xa1b23c4d, 1, 17, 17, data),
		"of which 16 were captured":           pcapFile(t, le, 0xa1b23c4d, 1, 16, 60, data),
		"a frame of 4294967295 bytes":         pcapFile(t, le, 0xa1b23c4d, 1, 1<<32-1, 1<<32-1, data),
	} {
		l, err := OpenPcap(file, "")
		if err == nil {
			err = l.Read(NewBatch())
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), file) {
			t.Errorf("error %v, want %q with the file's name", err, want)
		}
	}
}

// A cable carries frames in both directions, and drops frames that its other
// end does not read.
func TestCables(t *testing.T) {
	a, b := Pipe()
	if err := errors.Join(a.Write(frames(20, 30)), b.Write(frames(40))); err != nil {
		t.Fatal(err)
	}
	for link, want := range map[Link]int{a: 1, b: 2} {
		got := NewBatch()
		if err := link.Read(got); err != nil || got.Len() != want {
			t.Errorf("%d frames, %v, want %d", got.Len(), err, want)
		}
	}
	for range cableFrames {
		if err := a.Write(frames(20, 20)); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for n < cableFrames {
		got := NewBatch()
		if err := b.Read(got); err != nil {
			t.Fatal(err)
		}
		n += got.Len()
	}
	a.Close()
	if err := b.Read(NewBatch()); !errors.Is(err, net.ErrClosed) || n != cableFrames {
		t.Errorf("%d frames came, then %v; want %d and the end", n, err, cableFrames)
	}
}

// The runner ends when all its ports have ended and everything is sent. Here
// the switch has no program and drops all frames.
func TestRunnerEndsWithItsPorts(t *testing.T) {
	file := filepath.Join(t.TempDir(), "in.pcap")
	l, err := OpenPcap("", file)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(l.Write(frames(60, 60, 60)), l.Close()); err != nil {
		t.Fatal(err)
	}
	links, err := Open([]Spec{{1, "pcap", file}})
	if err != nil {
		t.Fatal(err)
	}
	sw, err := softswitch.New(softswitch.Config{Ports: []softswitch.Port{{Number: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := NewRunner(sw, links).Run(ctx); !errors.Is(err, ErrDone) {
		t.Errorf("the runner ended with %v", err)
	}
	if st := sw.Stats(); st.Received != 3 || st.Drops[softswitch.DropNoProgram] != 3 {
		t.Errorf("%+v, want three frames received and dropped", st)
	}
}

// vnetHeader is a struct virtio_net_hdr.
func vnetHeader(flags, gso byte, size, start, offset int) []byte {
	h := make([]byte, vnetLen)
	h[0], h[1] = flags, gso
	binary.NativeEndian.PutUint16(h[4:], uint16(size))
	binary.NativeEndian.PutUint16(h[6:], uint16(start))
	binary.NativeEndian.PutUint16(h[8:], uint16(offset))
	return h
}

// transport makes an Ethernet frame with IPv4 or IPv6, and TCP with PSH and
// FIN set, or UDP.
func transport(v4 bool, proto byte, payload int) []byte {
	network, headers := 20, 20
	if !v4 {
		network = 40
	}
	if proto == packet.ProtoUDP {
		headers = 8
	}
	f := make([]byte, 14+network+headers+payload)
	ip, l4 := f[14:], f[14+network:]
	if v4 {
		binary.BigEndian.PutUint16(f[12:], 0x0800)
		ip[0], ip[8], ip[9] = 0x45, 64, proto
		binary.BigEndian.PutUint16(ip[2:], uint16(len(ip)))
		binary.BigEndian.PutUint16(ip[4:], 7)
		copy(ip[12:], []byte{10, 0, 0, 1, 10, 0, 0, 2})
	} else {
		binary.BigEndian.PutUint16(f[12:], 0x86dd)
		ip[0], ip[6], ip[7] = 0x60, proto, 64
		binary.BigEndian.PutUint16(ip[4:], uint16(len(ip)-40))
		ip[23], ip[39] = 1, 2
	}
	if proto == packet.ProtoTCP {
		binary.BigEndian.PutUint32(l4[4:], 1000)
		l4[12], l4[13] = 0x50, 0x19|0x80 // FIN, PSH, ACK, CWR
	} else {
		binary.BigEndian.PutUint16(l4[4:], uint16(len(l4)))
	}
	for i := range payload {
		l4[headers+i] = byte(i)
	}
	return f
}

// sumsToZero reports whether the transport checksum of a frame is correct.
func sumsToZero(f []byte, v4 bool, proto byte) bool {
	network := 14
	start := network + 20
	if !v4 {
		start = network + 40
	}
	return transportChecksum(f, network, start, v4, proto) == 0
}

// A packet that the kernel did not segment is split like a network card would:
// lengths, identifiers, sequence numbers, flags and checksums of each segment.
func TestSegmentation(t *testing.T) {
	for _, tt := range []struct {
		v4    bool
		gso   byte
		proto byte
	}{{true, gsoTCPv4, packet.ProtoTCP}, {false, gsoTCPv6, packet.ProtoTCP}, {true, gsoUDPL4, packet.ProtoUDP}, {false, gsoUDPL4, packet.ProtoUDP}} {
		frame := transport(tt.v4, tt.proto, 2500)
		start := 34
		if !tt.v4 {
			start = 54
		}
		headers := len(frame) - 2500
		b := NewBatch()
		finishOffload(vnetHeader(vnetNeedsCsum, tt.gso, 1000, start, 16), frame, b)
		if b.Len() != 3 {
			t.Fatalf("%+v: %d segments, want 3", tt, b.Len())
		}
		var payload []byte
		for i := range b.Len() {
			s := b.Frame(i)
			want := min(1000, 2500-1000*i)
			if len(s) != headers+want {
				t.Errorf("%+v: segment %d has %d bytes, want %d", tt, i, len(s), headers+want)
			}
			payload = append(payload, s[headers:]...)
			if !sumsToZero(s, tt.v4, tt.proto) {
				t.Errorf("%+v: segment %d has a wrong checksum", tt, i)
			}
			if tt.v4 {
				if id := binary.BigEndian.Uint16(s[18:]); packet.Checksum(s[14:34]) != 0 || id != uint16(7+i) || int(binary.BigEndian.Uint16(s[16:])) != len(s)-14 {
					t.Errorf("%+v: segment %d has a wrong IPv4 header: %x", tt, i, s[14:34])
				}
			} else if int(binary.BigEndian.Uint16(s[18:])) != len(s)-54 {
				t.Errorf("%+v: segment %d has a wrong IPv6 length", tt, i)
			}
			if tt.proto == packet.ProtoTCP {
				if seq := binary.BigEndian.Uint32(s[start+4:]); seq != uint32(1000+1000*i) {
					t.Errorf("%+v: segment %d has sequence number %d", tt, i, seq)
				}
				flags := s[start+13]
				if last := i == 2; (flags&0x09 == 0x09) != last || (flags&0x80 != 0) != (i == 0) {
					t.Errorf("%+v: segment %d has flags %#x", tt, i, flags)
				}
			} else if int(binary.BigEndian.Uint16(s[start+4:])) != len(s)-start {
				t.Errorf("%+v: segment %d has a wrong UDP length", tt, i)
			}
		}
		if !bytes.Equal(payload, frame[headers:]) {
			t.Errorf("%+v: the payload differs", tt)
		}
	}
}

// A checksum left to the hardware is computed. Frames that cannot be split are
// passed on unchanged.
func TestChecksumsLeftToTheCard(t *testing.T) {
	f := transport(true, packet.ProtoUDP, 11)
	l4 := f[34:]
	pseudo := append(append([]byte(nil), f[26:34]...), 0, packet.ProtoUDP, 0, byte(len(l4)))
	binary.BigEndian.PutUint16(l4[6:], ^packet.Checksum(pseudo)) // what the kernel leaves there
	b := NewBatch()
	finishOffload(vnetHeader(vnetNeedsCsum, gsoNone, 0, 34, 6), f, b)
	if b.Len() != 1 || !sumsToZero(b.Frame(0), true, packet.ProtoUDP) {
		t.Errorf("the checksum is wrong: %x", b.Frame(0))
	}
	short := []byte("no more than an address")
	b = NewBatch()
	finishOffload(vnetHeader(vnetNeedsCsum, gsoTCPv4, 1000, 60, 16), short, b)
	if b.Len() != 1 || !bytes.Equal(b.Frame(0), short) {
		t.Errorf("%d frames", b.Len())
	}
	tagged := insertTag(f, [4]byte{0x81, 0, 0, 5})
	if len(tagged) != len(f)+4 || !bytes.Equal(tagged[12:18], []byte{0x81, 0, 0, 5, 8, 0}) {
		t.Errorf("tagged: %x", tagged[:18])
	}
}

// Offsets in a frame's header are validated before use: invalid frames are
// passed on unsplit, and the switch continues.
func TestInvalidOffsetsAreNotSplit(t *testing.T) {
	tcp := func(change func(f []byte)) []byte {
		f := transport(true, packet.ProtoTCP, 2500)
		change(f)
		return f
	}
	for name, tt := range map[string]struct {
		head  []byte
		frame []byte
	}{
		"TCP data offset 0":            {vnetHeader(1, gsoTCPv4, 1000, 34, 16), tcp(func(f []byte) { f[46] = 0 })},
		"TCP data offset 4":            {vnetHeader(1, gsoTCPv4, 1000, 34, 16), tcp(func(f []byte) { f[46] = 4 << 4 })},
		"transport in the IPv4 header": {vnetHeader(1, gsoTCPv4, 1000, 15, 16), tcp(func([]byte) {})},
		"transport in the IPv6 header": {vnetHeader(1, gsoUDPL4, 100, 30, 6), transport(false, packet.ProtoUDP, 500)},
		"too many segments":            {vnetHeader(1, gsoTCPv4, 1, 34, 16), tcp(func([]byte) {})},
		"nothing to cut":               {vnetHeader(1, gsoTCPv4, 1000, 34, 16), transport(true, packet.ProtoTCP, 0)},
		"an address":                   {vnetHeader(1, gsoTCPv4, 1000, 34, 16), make([]byte, 14)},
		"a tag":                        {vnetHeader(1, gsoTCPv4, 1000, 34, 16), append(make([]byte, 12), 0x81, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			b := NewBatch()
			length := len(tt.frame)
			finishOffload(tt.head, tt.frame, b)
			if b.Len() != 1 || len(b.Frame(0)) != length {
				t.Errorf("%d frames, want the one that came", b.Len())
			}
		})
	}
}

// FuzzOffload: whatever the kernel reports of a frame, no byte beyond it is
// read, no frame is lost, and none is longer than the original.
func FuzzOffload(f *testing.F) {
	f.Add(vnetHeader(1, gsoTCPv4, 1000, 34, 16), transport(true, packet.ProtoTCP, 1500))
	f.Add(vnetHeader(1, gsoUDPL4, 100, 54, 6), transport(false, packet.ProtoUDP, 500))
	f.Fuzz(func(t *testing.T, head, frame []byte) {
		if len(head) < vnetLen || len(frame) < packet.EthernetLen {
			return
		}
		b := NewBatch()
		length := len(frame)
		finishOffload(head[:vnetLen], frame, b)
		if b.Len() == 0 {
			t.Fatal("the frame is gone")
		}
		for i := range b.Len() {
			if len(b.Frame(i)) > length {
				t.Fatalf("frame %d has %d bytes, of %d that came", i, len(b.Frame(i)), length)
			}
		}
	})
}
