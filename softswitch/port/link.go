// SPDX-License-Identifier: Apache-2.0

// Package port runs a switch in wall time on real ports: interfaces
// (AF_PACKET), pcap files and cables in memory. The switch is the same as in
// virtual time; only the clock and the source of frames differ.
package port

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/pcap"
)

// A Link is the external side of a port.
type Link interface {
	// Read waits for frames and adds as many to b as fit. It returns io.EOF after
	// the last frame, and net.ErrClosed after Close.
	Read(b *Batch) error
	// Write sends frames. It must not keep references to them.
	Write(frames []*packet.Frame) error
	Close() error
}

// maxFrame is the length of the longest received frame, in bytes.
const maxFrame = pcap.MaxFrame

// batchFrames is the number of frames in a batch.
const batchFrames = 64

// Batch is several frames in one piece of memory.
type Batch struct {
	buf  []byte
	ends []int
	port int
	from Link
	err  error
}

// NewBatch returns an empty batch.
func NewBatch() *Batch { return &Batch{buf: make([]byte, 0, 4*maxFrame)} }

func (b *Batch) reset() { b.buf, b.ends, b.err = b.buf[:0], b.ends[:0], nil }

// Full reports whether another frame might not fit.
func (b *Batch) Full() bool {
	return len(b.ends) >= batchFrames || cap(b.buf)-len(b.buf) < maxFrame
}

// Add adds a frame.
func (b *Batch) Add(frame []byte) {
	b.buf = append(b.buf, frame...)
	b.ends = append(b.ends, len(b.buf))
}

// Len returns the number of frames.
func (b *Batch) Len() int { return len(b.ends) }

// Frame returns a frame.
func (b *Batch) Frame(i int) []byte {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.buf[start:b.ends[i]]
}

// Spec is a port on the command line: NUMBER@KIND:ARGUMENT.
type Spec struct {
	Number    int
	Kind, Arg string
}

// Kinds are the kinds of links, each with its argument.
var Kinds = []struct{ Name, Arg, Does string }{
	{"if", "INTERFACE", "a network interface, such as one end of a veth pair"},
	{"pcap", "[IN][,OUT]", "frames from one pcap file, to another; either may be left out"},
	{"mem", "NAME", "a cable to the other port of the same switch with this name"},
}

// ParseSpec parses "1@if:veth0", "2@pcap:in.pcap,out.pcap" or "3@mem:a".
func ParseSpec(text string) (Spec, error) {
	number, rest, ok := strings.Cut(text, "@")
	if !ok {
		return Spec{}, fmt.Errorf("port %q: write NUMBER@KIND:ARGUMENT, as in 1@if:veth0", text)
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 {
		return Spec{}, fmt.Errorf("port %q: expected a number before @, found %q", text, number)
	}
	s := Spec{Number: n}
	s.Kind, s.Arg, ok = strings.Cut(rest, ":")
	if !ok { // simple_switch's form: -i 1@veth0
		s.Kind, s.Arg = "if", rest
	}
	var names []string
	for _, k := range Kinds {
		if k.Name == s.Kind {
			if s.Arg == "" {
				return Spec{}, fmt.Errorf("port %q: kind %s needs an argument: %s", text, s.Kind, k.Arg)
			}
			return s, nil
		}
		names = append(names, k.Name)
	}
	return Spec{}, fmt.Errorf("port %q: unknown kind %s%s; there are %s", text, s.Kind, diag.DidYouMean(s.Kind, names), strings.Join(names, ", "))
}

// Open opens the links of a switch, by port number. If one fails, it closes the
// others.
func Open(specs []Spec) (links map[int]Link, err error) {
	links = map[int]Link{}
	defer func() {
		if err != nil {
			for _, l := range links {
				err = errors.Join(err, l.Close())
			}
			links = nil
		}
	}()
	cables, inputs := map[string]Link{}, map[string]bool{}
	for _, s := range specs {
		if in, _, _ := strings.Cut(s.Arg, ","); s.Kind == "pcap" {
			inputs[in] = true
		}
	}
	for _, s := range specs {
		if links[s.Number] != nil {
			return links, fmt.Errorf("port %d is given twice", s.Number)
		}
		var l Link
		switch s.Kind {
		case "if":
			l, err = OpenInterface(s.Arg)
		case "pcap":
			in, out, _ := strings.Cut(s.Arg, ",")
			if out != "" && inputs[out] {
				err = fmt.Errorf("%s is read and would be overwritten: give another file for the frames that are sent", out)
				break
			}
			l, err = OpenPcap(in, out)
		case "mem":
			if other := cables[s.Arg]; other != nil {
				delete(cables, s.Arg)
				l = other
			} else {
				l, cables[s.Arg] = Pipe()
			}
		default:
			err = fmt.Errorf("unknown kind of port %s", s.Kind)
		}
		if err != nil {
			return links, fmt.Errorf("port %d: %w", s.Number, err)
		}
		links[s.Number] = l
	}
	for name := range cables {
		return links, fmt.Errorf("cable %s has one end: give two ports @mem:%s", name, name)
	}
	return links, nil
}
