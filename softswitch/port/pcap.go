// SPDX-License-Identifier: Apache-2.0

package port

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/packet"
)

// The file format of libpcap: a header, then records. Gopacket's reader and
// writer were measured; the allocation and the copies for each packet took
// twice the time of the packet in the switch.
const (
	pcapHeaderSize = 24
	pcapRecordSize = 16
	pcapMicros     = 0xa1b2c3d4
	pcapNanos      = 0xa1b23c4d
	pcapNG         = 0x0a0d0d0a
	linkEthernet   = 1
	fileBuffer     = 1 << 18
)

// pcapLink reads frames from a file as fast as they are taken, and writes
// what is sent to another.
type pcapLink struct {
	in     *os.File
	r      *bufio.Reader
	order  binary.ByteOrder // of the file that is read
	out    *os.File
	w      *bufio.Writer
	closed bool
}

// OpenPcap opens a link made of two files, either of which may be "".
func OpenPcap(in, out string) (Link, error) {
	l := &pcapLink{}
	if err := l.open(in, out); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *pcapLink) open(in, out string) (err error) {
	if in != "" {
		if l.in, err = os.Open(in); err != nil {
			return err
		}
		l.r = bufio.NewReaderSize(l.in, fileBuffer)
		if err := l.readHeader(); err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
	}
	if out != "" {
		if l.out, err = outfile.Stream(out); err != nil {
			return err
		}
		l.w = bufio.NewWriterSize(l.out, fileBuffer)
		b := binary.LittleEndian.AppendUint32(nil, pcapNanos)
		b = binary.LittleEndian.AppendUint16(b, 2) // version 2.4
		b = binary.LittleEndian.AppendUint16(b, 4)
		b = append(b, make([]byte, 8)...) // time zone, accuracy
		b = binary.LittleEndian.AppendUint32(b, maxFrame)
		b = binary.LittleEndian.AppendUint32(b, linkEthernet)
		l.w.Write(b) // errors stay: Flush returns them
	}
	return nil
}

func (l *pcapLink) readHeader() error {
	b, err := l.r.Peek(pcapHeaderSize)
	if err != nil {
		return fmt.Errorf("no pcap file: it has %d bytes", len(b))
	}
	l.order = binary.LittleEndian
	magic := l.order.Uint32(b)
	if magic != pcapMicros && magic != pcapNanos {
		l.order = binary.BigEndian
		magic = l.order.Uint32(b)
	}
	switch {
	case magic == pcapNG:
		return fmt.Errorf("a pcapng file; make it a pcap file first: editcap -F pcap IN OUT")
	case magic != pcapMicros && magic != pcapNanos:
		return fmt.Errorf("no pcap file: it begins with %08x", magic)
	}
	if link := l.order.Uint32(b[20:]) & 0xffff; link != linkEthernet {
		return fmt.Errorf("holds frames of link type %d, not Ethernet", link)
	}
	_, err = l.r.Discard(pcapHeaderSize)
	return err
}

// Read implements Link.
func (l *pcapLink) Read(b *Batch) error {
	for !b.Full() {
		err := io.EOF
		if l.r != nil {
			err = l.readFrame(b)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) && b.Len() > 0:
			return nil
		case errors.Is(err, io.EOF):
			return io.EOF
		default:
			return fmt.Errorf("%s: %w", l.in.Name(), err)
		}
	}
	return nil
}

func (l *pcapLink) readFrame(b *Batch) error {
	head, err := l.r.Peek(pcapRecordSize)
	if err != nil {
		if len(head) > 0 {
			return fmt.Errorf("ends within a packet")
		}
		return err
	}
	captured, size := l.order.Uint32(head[8:]), l.order.Uint32(head[12:])
	switch {
	case captured > maxFrame:
		return fmt.Errorf("a packet of %d bytes", captured)
	case captured < size:
		return fmt.Errorf("a packet of %d bytes of which %d were captured", size, captured)
	}
	frame, err := l.r.Peek(pcapRecordSize + int(captured))
	if err != nil {
		return fmt.Errorf("ends within a packet")
	}
	b.Add(frame[pcapRecordSize:])
	_, err = l.r.Discard(len(frame))
	return err
}

// Write implements Link.
func (l *pcapLink) Write(frames []*packet.Frame) error {
	if l.w == nil {
		return nil
	}
	now := time.Now()
	var head [pcapRecordSize]byte
	binary.LittleEndian.PutUint32(head[0:], uint32(now.Unix()))
	binary.LittleEndian.PutUint32(head[4:], uint32(now.Nanosecond()))
	for _, f := range frames {
		n := uint32(len(f.Data) + f.Elided)
		binary.LittleEndian.PutUint32(head[8:], n)
		binary.LittleEndian.PutUint32(head[12:], n)
		l.w.Write(head[:])
		l.w.Write(f.Data)
		for left := f.Elided; left > 0; left -= len(zeros) {
			l.w.Write(zeros[:min(left, len(zeros))])
		}
	}
	if _, err := l.w.Write(nil); err != nil { // the first error of all
		return fmt.Errorf("%s: %w", l.out.Name(), err)
	}
	return nil
}

// zeros are elided bytes.
var zeros [4096]byte

// Close implements Link: the file that was written is whole then.
func (l *pcapLink) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	var err error
	if l.in != nil {
		err = l.in.Close()
	}
	if l.out != nil {
		err = errors.Join(err, l.w.Flush(), l.out.Close())
	}
	return err
}
