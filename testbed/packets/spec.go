// SPDX-License-Identifier: Apache-2.0

// Package packets sends single packets from hosts of the fabric, besides the flows of a
// workload, and records what arrives: packets given by fields, pings, UDP at a rate, and
// frames of pcap files. docs/reference/program.md lists the keys.
package packets

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/pcap"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile"
)

// ends returns the names of nodes that can send.
func ends(t *topo.Topology) (names []string) {
	for _, id := range slices.Concat(t.Hosts(), t.CPUs()) {
		names = append(names, t.Nodes[id].Name)
	}
	return names
}

// Spec is a series of packets that a host sends.
type Spec struct {
	Name string `yaml:"name"` // for expect and metrics; the number of the series if left out
	From string `yaml:"from"` // the host that sends, an adapter of it (h1.2), or the CPU of a switch (s1-cpu)
	To   string `yaml:"to"`   // the host whose addresses are the destination
	// Start is the time of the first packet, Every that between two of Count packets.
	Start vtime.Time `yaml:"start"`
	Every vtime.Time `yaml:"every"`
	Count int        `yaml:"count" limits:"0..10000000"` // number of packets; one unless given
	// Rate and Duration send packets of Size at a rate on the link instead. With Poisson
	// the times between packets are exponentially distributed.
	Rate     vtime.Rate `yaml:"rate"`
	Duration vtime.Time `yaml:"duration"`
	Poisson  bool       `yaml:"poisson"`

	// UDP, TCP and Ping are what follows the IPv4 header, and Pcap the name of a file whose
	// frames are sent at their times, from Start on.
	UDP  *Ports `yaml:"udp"`
	TCP  *TCP   `yaml:"tcp"`
	Ping bool   `yaml:"ping"`
	Pcap string `yaml:"pcap"`
	// IPv4 and Ethernet change fields of these headers.
	IPv4     IPv4     `yaml:"ipv4"`
	Ethernet Ethernet `yaml:"ethernet"`
	// Insert are bytes between the Ethernet and the IPv4 header, and Hex those that
	// replace everything after the Ethernet header; both in hexadecimal.
	Insert string     `yaml:"insert"`
	Hex    string     `yaml:"hex"`
	Text   string     `yaml:"text"` // the payload
	Size   vtime.Size `yaml:"size"` // length of the frame without check sequence, filled with zeros

	frames []frame   // of the file
	first  time.Time // of the first of them
	base   []byte    // a frame, whose IPv4 identification counts
	ip     int       // offset of its IPv4 header, or 0
	head   int       // of what follows that
	src    int       // the host's node
	by     int       // its adapter that sends
}

// Ports are the ports of UDP.
type Ports struct {
	Source      uint16 `yaml:"source"`      // port of the sender
	Destination uint16 `yaml:"destination"` // port of the receiver
}

// TCP are the ports and flags of a TCP header, or with Bytes a connection.
type TCP struct {
	Source      uint16   `yaml:"source"`      // port of the sender
	Destination uint16   `yaml:"destination"` // port of the receiver
	Flags       []string `yaml:"flags"`       // some of fin, syn, rst, psh, ack, urg, ece, cwr; syn unless given
	Seq         uint32   `yaml:"seq"`         // sequence number
	Ack         uint32   `yaml:"ack"`         // acknowledgement number
	// Bytes, if given, are carried by a TCP connection to the other host, instead of a
	// segment that is sent as it is.
	Bytes vtime.Size `yaml:"bytes"`
}

// IPv4 has fields of an IPv4 header. Those that are left out follow from the hosts.
type IPv4 struct {
	Source      string  `yaml:"source"`              // address of the sender
	Destination string  `yaml:"destination"`         // address of the receiver
	TTL         *uint8  `yaml:"ttl"`                 // 64 unless given
	TOS         *uint8  `yaml:"tos"`                 // DSCP and ECN
	DSCP        *uint8  `yaml:"dscp" limits:"0..63"` // the upper six bits of tos
	ECN         *uint8  `yaml:"ecn" limits:"0..3"`   // the lower two bits of tos
	ID          *uint16 `yaml:"id"`                  // identification; counts from 1 unless given
	Protocol    *uint8  `yaml:"protocol"`            // that of what follows unless given
	Options     string  `yaml:"options"`             // up to 40 bytes in hexadecimal
}

// Ethernet has fields of an Ethernet header. Those that are left out follow from the
// hosts.
type Ethernet struct {
	Source string `yaml:"source"` // address of the sender
	// Destination is the address of the receiver: the gateway that the network's file
	// gives, or else that of To, unless given.
	Destination string `yaml:"destination"`
	Type        string `yaml:"type"` // 0x0800 unless given
}

// frame is a frame of a file, and its time after the first one.
type frame struct {
	at   vtime.Time
	data []byte
}

// maxFrame is the longest frame that can be given, in bytes.
const maxFrame = 9216

// Prepare makes the frames of all series, and reports errors at the keys of file f.
func Prepare(list []Spec, t *topo.Topology, f *yamlfile.File, open func(name string) (io.ReadCloser, error)) {
	seen := make(map[string]bool)
	for i := range list {
		s := &list[i]
		at := func(key string) string { return fmt.Sprintf("packets.%d.%s", i, key) }
		if s.Name == "" {
			s.Name = fmt.Sprint(i + 1)
		}
		if seen[s.Name] {
			f.Errorf(at("name"), "two series of packets are called %q", s.Name)
		}
		seen[s.Name] = true
		if key, err := s.prepare(t, open); err != nil {
			if key == "" {
				f.Errorf(fmt.Sprintf("packets.%d", i), "%v", err)
			} else {
				f.Errorf(at(key), "%v", err)
			}
		}
	}
}

func (s *Spec) prepare(t *topo.Topology, open func(name string) (io.ReadCloser, error)) (key string, err error) {
	from := t.NodeByName(s.From)
	if from == nil || from.Kind != topo.Host || from.Stub == topo.Nothing {
		return "from", fmt.Errorf("no host is called %q%s", s.From, diag.OneOf(s.From, ends(t)))
	}
	s.src, s.by = from.Host, from.ID
	to := t.NodeByName(s.To)
	if s.To != "" && (to == nil || to.Kind != topo.Host || to.Stub != topo.NoStub) {
		return "to", fmt.Errorf("no host is called %q%s", s.To, diag.OneOf(s.To, ends(t)))
	}
	kinds := 0
	for _, given := range []bool{s.UDP != nil, s.TCP != nil, s.Ping, s.Pcap != "", s.Hex != ""} {
		if given {
			kinds++
		}
	}
	switch {
	case kinds > 1:
		return "", fmt.Errorf("a series has one of udp, tcp, ping, pcap and hex")
	case s.Start < 0:
		return "start", fmt.Errorf("start is %v, must not be negative", s.Start)
	case s.Every < 0:
		return "every", fmt.Errorf("every is %v, must not be negative", s.Every)
	case s.Duration < 0:
		return "duration", fmt.Errorf("duration is %v, must not be negative", s.Duration)
	case s.Count > 1 && s.Every == 0 && s.Rate == 0 && s.Pcap == "" && s.Count > 100_000:
		return "count", fmt.Errorf("%d packets at once: give every, or rate", s.Count)
	case s.Rate > 0 && s.Every > 0:
		return "every", fmt.Errorf("both rate and every are given; remove one")
	case s.Rate > 0 && s.Duration == 0 && s.Count == 0:
		return "rate", fmt.Errorf("rate needs duration or count")
	case s.Poisson && s.Rate == 0:
		return "poisson", fmt.Errorf("poisson needs rate")
	case s.Size > maxFrame:
		return "size", fmt.Errorf("a frame of %v is too long; the most is %d bytes", s.Size, maxFrame)
	case s.Pcap != "":
		return "pcap", s.readPcap(open)
	case s.connection():
		if key, err := s.checkConnection(); err != nil {
			return key, err
		}
	}
	return s.build(t, from, to)
}

// readPcap reads the frames of a file.
func (s *Spec) readPcap(open func(name string) (io.ReadCloser, error)) error {
	file, err := open(s.Pcap)
	if err != nil {
		return err
	}
	defer file.Close()
	r, err := pcap.NewReader(file)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Pcap, err)
	}
	for {
		f, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: frame %d: %w", s.Pcap, len(s.frames)+1, err)
		}
		if len(s.frames) == maxFrames {
			return fmt.Errorf("%s has more than %d frames", s.Pcap, maxFrames)
		}
		fr := frame{data: bytes.Clone(f.Data)}
		if len(s.frames) > 0 {
			fr.at = max(s.frames[len(s.frames)-1].at, vtime.Time(f.At.Sub(s.first).Nanoseconds())*vtime.Nanosecond)
		} else {
			s.first = f.At
		}
		s.frames = append(s.frames, fr)
	}
	if len(s.frames) == 0 {
		return fmt.Errorf("%s has no frames", s.Pcap)
	}
	return nil
}

// maxFrames is the greatest number of frames of a file, which are kept in memory.
const maxFrames = 1_000_000

// times returns the times of a series, one a call.
func (s *Spec) times(overhead int, rng *rand.Rand) func() (at vtime.Time, ok bool) {
	n := 0
	if s.Pcap != "" {
		return func() (vtime.Time, bool) {
			if n == len(s.frames) {
				return 0, false
			}
			n++
			return s.Start + s.frames[n-1].at, true
		}
	}
	count := max(s.Count, 1)
	if s.Rate == 0 {
		return func() (vtime.Time, bool) {
			n++
			return s.Start + vtime.Time(n-1)*s.Every, n <= count
		}
	}
	gap := s.Rate.TxTime(len(s.base) + overhead)
	at := s.Start
	return func() (vtime.Time, bool) {
		if n > 0 || s.Poisson {
			step := gap
			if s.Poisson {
				step = vtime.Time(math.Round(rng.ExpFloat64() * float64(gap)))
			}
			at += step
		}
		n++
		return at, (s.Count == 0 || n <= s.Count) && (s.Duration == 0 || at < s.Start+s.Duration)
	}
}

// Files returns the names of the files of all series.
func Files(list []Spec) (names []string) {
	for i := range list {
		if n := list[i].Pcap; n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

func fromHex(text string) ([]byte, error) {
	var clean []byte
	for _, c := range []byte(text) {
		if c != ' ' && c != ':' && c != '_' {
			clean = append(clean, c)
		}
	}
	b, err := hex.DecodeString(string(clean))
	if err != nil {
		return nil, fmt.Errorf("%q is not hexadecimal: write pairs of digits, as in 08 00 2a", text)
	}
	return b, nil
}
