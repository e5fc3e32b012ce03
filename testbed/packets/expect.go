// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/yamlfile"
)

// Expectation is what has to be true about the packets of a series at a host.
type Expectation struct {
	Packets string `yaml:"packets"` // the name of the series; empty: all packets
	At      string `yaml:"at"`      // the host that receives them; for ping, the one that sent it gets the answers
	// Count, Least and Most are limits of the number of packets that arrive. Without one
	// of them, all that were sent have to arrive. Zero is for packets that must not.
	Count *int `yaml:"count" limits:"0.."`
	Least *int `yaml:"least" limits:"0.."`
	Most  *int `yaml:"most" limits:"0.."`
	// Stream requires that a TCP connection has carried all its bytes and was closed, or, if
	// false, that it has not.
	Stream *bool `yaml:"stream"`
	// Order requires that they arrive in the order in which they were sent.
	Order bool `yaml:"order"`
	// Fields are values that each packet has, by names such as ipv4.ttl, and Bytes what it
	// begins with in hexadecimal, in which * is any digit.
	Fields map[string]string `yaml:"fields"`
	Bytes  string            `yaml:"bytes"`
	// Some requires Fields and Bytes of one packet at least instead of each.
	Some bool `yaml:"some"`
}

// Check reports errors in expectations at the keys of file f.
func Check(expect []Expectation, list []Spec, t *topo.Topology, f *yamlfile.File) {
	var names []string
	for i := range list {
		names = append(names, list[i].Name)
	}
	for i := range expect {
		e := &expect[i]
		at := func(key string) string { return fmt.Sprintf("expect.%d.%s", i, key) }
		if e.Packets != "" && !slices.Contains(names, e.Packets) {
			f.Errorf(at("packets"), "no series of packets is called %q%s", e.Packets, diag.OneOf(e.Packets, names))
		}
		if n := t.NodeByName(e.At); n == nil || n.Kind != topo.Host || n.Host != n.ID || n.Stub == topo.Nothing {
			f.Errorf(at("at"), "no host is called %q%s", e.At, diag.OneOf(e.At, ends(t)))
		}
		if k := slices.Index(names, e.Packets); e.Stream != nil && (k < 0 || !list[k].connection()) {
			f.Errorf(at("stream"), "stream is for the series of a TCP connection: tcp with bytes")
		}
		if e.Packets == "" && e.Count == nil && e.Least == nil && e.Most == nil {
			f.Errorf(fmt.Sprintf("expect.%d", i), "give packets, or the number: count, least or most")
		}
		for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
			if !slices.Contains(fieldNames, name) {
				f.Errorf(at("fields"), "no field is called %q%s; there are %s, and bytes is for any others", name, diag.DidYouMean(name, fieldNames), strings.Join(fieldNames, ", "))
			} else if _, err := valueOf(name, e.Fields[name]); err != nil {
				f.Errorf(at("fields"), "%v", err)
			}
		}
		for _, c := range e.Bytes {
			if !strings.ContainsRune("0123456789abcdefABCDEF* ", c) {
				f.Errorf(at("bytes"), "%q is not a hexadecimal digit", c)
				break
			}
		}
	}
}

// Verdict is the outcome of an expectation: empty if it is met, or else what is true.
func (e *Expectation) Verdict(r *Run) string {
	host := r.net.NodeByName(e.At).ID
	series := slices.IndexFunc(r.list, func(s Spec) bool { return s.Name == e.Packets })
	var got []Arrival
	for _, a := range r.At(host) {
		if e.Packets == "" || a.Series == series {
			got = append(got, a)
		}
	}
	name := "packets"
	if e.Packets != "" {
		name = "packets of " + e.Packets
	}
	n := len(got)
	switch {
	case e.Count != nil && n != *e.Count:
		return fmt.Sprintf("%s received %d %s, not %d", e.At, n, name, *e.Count)
	case e.Least != nil && n < *e.Least:
		return fmt.Sprintf("%s received %d %s, fewer than %d", e.At, n, name, *e.Least)
	case e.Most != nil && n > *e.Most:
		return fmt.Sprintf("%s received %d %s, more than %d", e.At, n, name, *e.Most)
	case e.Stream != nil:
		bytes, closed := r.Stream(series, host)
		if all := closed && bytes == uint64(r.list[series].TCP.Bytes); all != *e.Stream {
			return fmt.Sprintf("%s received %d bytes of the TCP connection %s, which has %d (closed: %t)", e.At, bytes, e.Packets, int64(r.list[series].TCP.Bytes), closed)
		}
	case e.Count == nil && e.Least == nil && e.Most == nil && r.Sent(series) == 0:
		return fmt.Sprintf("no packet of %s was sent before the end of the run: start it earlier, or raise until", e.Packets)
	case e.Count == nil && e.Least == nil && e.Most == nil && n != r.Sent(series):
		return fmt.Sprintf("%s received %d %s, and %d were sent", e.At, n, name, r.Sent(series))
	}
	if e.Order {
		for i := 1; i < n; i++ {
			if got[i].Series == got[i-1].Series && got[i].Index < got[i-1].Index {
				return fmt.Sprintf("%s received packet %d of %s after packet %d", e.At, got[i].Index+1, e.Packets, got[i-1].Index+1)
			}
		}
	}
	why := ""
	for i := range got {
		if got[i].Data == nil {
			return fmt.Sprintf("%s received more packets than are kept (%d), so that their fields are not known", e.At, i)
		}
		w := e.differs(got[i].Data)
		switch {
		case w == "" && e.Some:
			return ""
		case w != "" && !e.Some:
			return fmt.Sprintf("packet %d that %s received %s", i+1, e.At, w)
		case w != "":
			why = w
		}
	}
	if e.Some {
		return fmt.Sprintf("no packet that %s received is as expected; the last of %d %s", e.At, n, why)
	}
	return ""
}

// differs says how a packet differs from the expected one.
func (e *Expectation) differs(d []byte) string {
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		want, _ := valueOf(name, e.Fields[name])
		got, ok := field(name, d)
		if !ok {
			return fmt.Sprintf("has no %s", name)
		}
		if got != want {
			return fmt.Sprintf("has %s %s, not %s", name, show(name, got), e.Fields[name])
		}
	}
	pattern := strings.ToLower(strings.ReplaceAll(e.Bytes, " ", ""))
	digits := hex.EncodeToString(d)
	for i := range pattern {
		if i >= len(digits) || pattern[i] != '*' && pattern[i] != digits[i] {
			return fmt.Sprintf("is %s, which differs at byte %d", digits, i/2)
		}
	}
	return ""
}

// fieldNames are the fields that expectations can name.
var fieldNames = []string{"ethernet.destination", "ethernet.source", "ethernet.type", "ipv4.source", "ipv4.destination", "ipv4.ttl", "ipv4.tos", "ipv4.dscp", "ipv4.ecn",
	"ipv4.id", "ipv4.length", "ipv4.protocol", "ipv4.checksum", "udp.source", "udp.destination", "tcp.source", "tcp.destination", "icmp.type", "length", "text"}

// field returns a field of a frame. The value of ipv4.checksum is ok or wrong.
func field(name string, d []byte) (value string, ok bool) {
	number := func(n uint64) (string, bool) { return strconv.FormatUint(n, 10), true }
	layer, part, _ := strings.Cut(name, ".")
	eth := packet.AsEthernet(d)
	if eth == nil {
		return "", false
	}
	switch name {
	case "length":
		return number(uint64(len(d)))
	case "ethernet.destination":
		return eth.Dst().String(), true
	case "ethernet.source":
		return eth.Src().String(), true
	case "ethernet.type":
		return number(uint64(eth.EtherType()))
	}
	ip := packet.AsIPv4(d[packet.EthernetLen:])
	if ip == nil || eth.EtherType() != packet.EtherTypeIPv4 {
		return "", false
	}
	rest := ip.Payload()
	if n := ip.TotalLen(); n >= ip.HeaderLen() && n <= len(ip) {
		rest = ip[ip.HeaderLen():n]
	}
	switch name {
	case "ipv4.source":
		return ip.Src().String(), true
	case "ipv4.destination":
		return ip.Dst().String(), true
	case "ipv4.ttl":
		return number(uint64(ip.TTL()))
	case "ipv4.tos":
		return number(uint64(ip[1]))
	case "ipv4.dscp":
		return number(uint64(ip.DSCP()))
	case "ipv4.ecn":
		return number(uint64(ip.ECN()))
	case "ipv4.id":
		return number(uint64(ip.ID()))
	case "ipv4.length":
		return number(uint64(ip.TotalLen()))
	case "ipv4.protocol":
		return number(uint64(ip.Protocol()))
	case "ipv4.checksum":
		if ip.ChecksumOK() {
			return "ok", true
		}
		return "wrong", true
	}
	at := map[uint8]int{protoICMP: icmpLen, packet.ProtoUDP: packet.UDPLen, packet.ProtoTCP: tcpLen}[ip.Protocol()]
	if name == "text" && len(rest) >= at {
		return strings.TrimRight(string(rest[at:]), "\x00"), true
	}
	if len(rest) < 4 || map[string]uint8{"icmp": protoICMP, "udp": packet.ProtoUDP, "tcp": packet.ProtoTCP}[layer] != ip.Protocol() {
		return "", false
	}
	switch part {
	case "type":
		return number(uint64(rest[0]))
	case "source":
		return number(uint64(binary.BigEndian.Uint16(rest)))
	case "destination":
		return number(uint64(binary.BigEndian.Uint16(rest[2:])))
	}
	return "", false
}

// valueOf returns the value of a field as field returns it.
func valueOf(name, text string) (string, error) {
	switch name {
	case "text":
		return text, nil
	case "ipv4.checksum":
		if text != "ok" && text != "wrong" {
			return "", fmt.Errorf("ipv4.checksum is %q; use ok or wrong", text)
		}
		return text, nil
	case "ethernet.destination", "ethernet.source":
		mac, err := net.ParseMAC(text)
		if err != nil || len(mac) != 6 {
			return "", fmt.Errorf("%s is %q; write a MAC address, as 02:00:00:00:00:01", name, text)
		}
		return mac.String(), nil
	case "ipv4.source", "ipv4.destination":
		a, err := netip.ParseAddr(text)
		if err != nil || !a.Is4() {
			return "", fmt.Errorf("%s is %q; write an IPv4 address, as 10.0.0.1", name, text)
		}
		return a.String(), nil
	}
	n, err := strconv.ParseUint(text, 0, 32)
	if err != nil {
		return "", fmt.Errorf("%s is %q; write a number of at most 32 bits", name, text)
	}
	return strconv.FormatUint(n, 10), nil
}

func show(name, value string) string {
	if name == "ethernet.type" {
		n, _ := strconv.Atoi(value)
		return fmt.Sprintf("%#04x", n)
	}
	return value
}
