// SPDX-License-Identifier: Apache-2.0

// Package pcap reads and writes files of Ethernet frames in libpcap's format,
// without an allocation or a copy per frame. (gopacket's reader and writer took
// twice as long for a packet as the switch, and its package of protocols adds
// 30 ms to the start of a program.)
package pcap

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// MaxFrame is the length of the longest frame in bytes: a jumbo frame, or
// segments joined by a kernel to up to 64 KiB.
const MaxFrame = 64<<10 + 64

const (
	headerSize   = 24 // at the start of a file
	recordSize   = 16 // before each frame
	micros       = 0xa1b2c3d4
	nanos        = 0xa1b23c4d
	ngMagic      = 0x0a0d0d0a
	linkEthernet = 1
)

// Writer writes a file.
type Writer struct{ w io.Writer }

// NewWriter writes the header of a file with times in nanoseconds.
func NewWriter(w io.Writer) (*Writer, error) {
	b := binary.LittleEndian.AppendUint32(nil, nanos)
	b = binary.LittleEndian.AppendUint16(b, 2) // version 2.4
	b = binary.LittleEndian.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...) // time zone, accuracy
	b = binary.LittleEndian.AppendUint32(b, MaxFrame)
	b = binary.LittleEndian.AppendUint32(b, linkEthernet)
	_, err := w.Write(b)
	return &Writer{w}, err
}

// zeros are written for elided bytes.
var zeros [4096]byte

// Write writes a frame that consists of data followed by elided zeros.
func (w *Writer) Write(at time.Time, data []byte, elided int) error {
	var head [recordSize]byte
	n := uint32(len(data) + elided)
	binary.LittleEndian.PutUint32(head[0:], uint32(at.Unix()))
	binary.LittleEndian.PutUint32(head[4:], uint32(at.Nanosecond()))
	binary.LittleEndian.PutUint32(head[8:], n)
	binary.LittleEndian.PutUint32(head[12:], n)
	if _, err := w.w.Write(head[:]); err != nil {
		return err
	}
	if _, err := w.w.Write(data); err != nil {
		return err
	}
	for ; elided > 0; elided -= len(zeros) {
		if _, err := w.w.Write(zeros[:min(elided, len(zeros))]); err != nil {
			return err
		}
	}
	return nil
}

// Reader reads a file.
type Reader struct {
	r     *bufio.Reader
	order binary.ByteOrder
	unit  time.Duration // unit of the fractions of a second
	taken int           // bytes of the frame that was returned last
}

// NewReader reads the header of a file.
func NewReader(file io.Reader) (*Reader, error) {
	r := &Reader{r: bufio.NewReaderSize(file, 1<<18), order: binary.LittleEndian}
	b, err := r.r.Peek(headerSize)
	if err != nil && err != io.EOF {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("not a pcap file: it has only %d bytes", len(b))
	}
	magic := r.order.Uint32(b)
	if magic != micros && magic != nanos {
		r.order = binary.BigEndian
		magic = r.order.Uint32(b)
	}
	switch magic {
	case micros:
		r.unit = time.Microsecond
	case nanos:
		r.unit = time.Nanosecond
	case ngMagic:
		return nil, fmt.Errorf("this is a pcapng file; convert it first: editcap -F pcap IN OUT")
	default:
		return nil, fmt.Errorf("not a pcap file: it begins with %08x", magic)
	}
	if link := r.order.Uint32(b[20:]) & 0xffff; link != linkEthernet {
		return nil, fmt.Errorf("frames have link type %d, expected 1, Ethernet", link)
	}
	r.taken = headerSize
	return r, nil
}

// Frame is a frame of a file.
type Frame struct {
	At   time.Time
	Data []byte // the captured bytes; valid until the next call of Next
	Size int    // bytes of the frame, at least len(Data)
}

// Next returns the next frame, or io.EOF.
func (r *Reader) Next() (f Frame, err error) {
	if _, err := r.r.Discard(r.taken); err != nil {
		return f, err
	}
	r.taken = 0
	head, err := r.r.Peek(recordSize)
	if err != nil {
		if len(head) > 0 {
			err = errTruncated
		}
		return f, err
	}
	captured := r.order.Uint32(head[8:])
	f.At = time.Unix(int64(r.order.Uint32(head)), int64(r.order.Uint32(head[4:]))*int64(r.unit))
	if captured > MaxFrame {
		return f, fmt.Errorf("a frame of %d bytes is too long", captured)
	}
	f.Size = max(int(r.order.Uint32(head[12:])), int(captured))
	all, err := r.r.Peek(recordSize + int(captured))
	if err != nil {
		return f, errTruncated
	}
	r.taken = len(all)
	f.Data = all[recordSize:]
	return f, nil
}

var errTruncated = errors.New("the file ends within a frame")
