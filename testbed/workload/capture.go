// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/pcap"
	"github.com/pauseless/pauseless/internal/vtime"
)

// A Capture has the RoCEv2 flows of a capture, in the order in which they begin.
type Capture struct {
	Flows   []CaptureFlow
	Packets int // data packets of the flows
	Others  int // other frames: acknowledgements, notifications, other protocols
}

// CaptureFlow is the data that one queue pair sends to another. A packet that is sent
// again counts again.
type CaptureFlow struct {
	Src, Dst netip.Addr
	Bytes    int64      // without Ethernet, IP, UDP, BTH and ICRC
	Start    vtime.Time // since the first frame of the capture
}

// ReadCapture reads the flows of a file in libpcap's format, of which the first 54 bytes
// of each frame are enough, or 58 with a VLAN tag. A queue pair that sent nothing for the
// time idle begins another flow; never, if idle is zero.
func ReadCapture(r io.Reader, idle vtime.Time) (*Capture, error) {
	file, err := pcap.NewReader(r)
	if err != nil {
		return nil, err
	}
	type pair struct {
		src, dst netip.Addr
		port     uint16
		qp       uint32
	}
	type latest struct {
		flow int
		at   vtime.Time
	}
	c, known := &Capture{}, make(map[pair]latest)
	var began time.Time
	for n := 0; ; n++ {
		f, err := file.Next()
		if errors.Is(err, io.EOF) {
			return c, nil
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			began = f.At
		}
		since := f.At.Sub(began)
		if since > maxCapture {
			return nil, fmt.Errorf("frame %d is %v after the first, more than %v: is its time right?", n+1, since, maxCapture)
		}
		at := vtime.Time(max(since, 0).Nanoseconds()) * vtime.Nanosecond // frames of several ports may be out of order
		ip, udp, bth := headersOf(f.Data)
		payload := 0
		if bth != nil {
			payload = ip.TotalLen() - ip.HeaderLen() - packet.UDPLen - packet.BTHLen - icrcLen
		}
		if payload <= 0 { // of a message without data, or a length of zero
			c.Others++
			continue
		}
		p := pair{ip.Src(), ip.Dst(), udp.SrcPort(), bth.DestQP()}
		was, ok := known[p]
		if !ok || idle > 0 && at-was.at > idle {
			if len(c.Flows) == maxFlows {
				return nil, fmt.Errorf("the capture has more than %d flows", maxFlows)
			}
			was.flow = len(c.Flows)
			c.Flows = append(c.Flows, CaptureFlow{Src: p.src, Dst: p.dst, Start: at})
		}
		known[p] = latest{was.flow, at}
		c.Packets++
		c.Flows[was.flow].Bytes += int64(payload)
	}
}

const (
	icrcLen    = 4                    // bytes of the checksum at the end of a RoCEv2 packet
	maxCapture = 100 * 24 * time.Hour // virtual time ends after 106 days
)

// headersOf returns the headers of a RoCEv2 packet with data, or nil.
func headersOf(frame []byte) (packet.IPv4, packet.UDP, packet.BTH) {
	eth := packet.AsEthernet(frame)
	if eth == nil {
		return nil, nil, nil
	}
	kind, rest := eth.EtherType(), eth.Payload()
	if kind == etherTypeVLAN && len(rest) >= 4 {
		kind, rest = uint16(rest[2])<<8|uint16(rest[3]), rest[4:]
	}
	ip := packet.AsIPv4(rest)
	if kind != packet.EtherTypeIPv4 || ip == nil || ip.Protocol() != packet.ProtoUDP {
		return nil, nil, nil
	}
	udp := packet.AsUDP(rest[ip.HeaderLen():])
	if udp == nil || udp.DstPort() != packet.PortRoCEv2 {
		return nil, nil, nil
	}
	bth := packet.AsBTH(udp[packet.UDPLen:])
	const sendOrWrite, response, responseEnd = 0x0b, 0x0d, 0x10 // of reliable connections
	if bth == nil || bth.Opcode() > sendOrWrite && (bth.Opcode() < response || bth.Opcode() > responseEnd) {
		return nil, nil, nil
	}
	return ip, udp, bth
}

const etherTypeVLAN = 0x8100

// WriteCSV writes the flows in the format of Trace. Names are of hosts; one without a name
// is an error. If names is nil, hosts are h1, h2, … in the order of their addresses.
func (c *Capture) WriteCSV(w io.Writer, names map[netip.Addr]string) error {
	if names == nil {
		var all []netip.Addr
		for _, f := range c.Flows {
			all = append(all, f.Src, f.Dst)
		}
		slices.SortFunc(all, netip.Addr.Compare)
		names = make(map[netip.Addr]string)
		for i, a := range slices.Compact(all) {
			names[a] = "h" + strconv.Itoa(i+1)
		}
	}
	out := csv.NewWriter(w)
	out.Write([]string{"src", "dst", "bytes", "start"})
	for _, f := range c.Flows {
		for _, a := range []netip.Addr{f.Src, f.Dst} {
			if names[a] == "" {
				return fmt.Errorf("host %v of the capture has no name: add a line %q to the file of --hosts", a, a.String()+" NAME")
			}
		}
		out.Write([]string{names[f.Src], names[f.Dst], strconv.FormatInt(f.Bytes, 10), fmt.Sprintf("%.3fus", f.Start.Seconds()*1e6)})
	}
	out.Flush()
	return out.Error()
}
