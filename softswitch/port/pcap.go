// SPDX-License-Identifier: Apache-2.0

package port

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/pcap"
)

// pcapLink reads frames from a file as fast as the switch accepts them, and
// writes sent frames to another file.
type pcapLink struct {
	in, out *os.File
	r       *pcap.Reader
	buf     *bufio.Writer
	w       *pcap.Writer
	closed  bool
}

// OpenPcap opens a link of two files, either of which may be "".
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
		if l.r, err = pcap.NewReader(l.in); err != nil {
			return fmt.Errorf("%s: %w", in, err)
		}
	}
	if out != "" {
		if l.out, err = outfile.Stream(out); err != nil {
			return err
		}
		l.buf = bufio.NewWriterSize(l.out, 1<<18)
		l.w, err = pcap.NewWriter(l.buf)
	}
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
	f, err := l.r.Next()
	if err != nil {
		return err
	}
	if len(f.Data) < f.Size {
		return fmt.Errorf("a packet of %d bytes of which %d were captured", f.Size, len(f.Data))
	}
	b.Add(f.Data)
	return nil
}

// Write implements Link.
func (l *pcapLink) Write(frames []*packet.Frame) error {
	if l.w == nil {
		return nil
	}
	now := time.Now()
	for _, f := range frames {
		if err := l.w.Write(now, f.Data, int(f.Elided)); err != nil {
			return fmt.Errorf("%s: %w", l.out.Name(), err)
		}
	}
	return nil
}

// Close implements Link. It completes the written file.
func (l *pcapLink) Close() error {
	if l.closed {
		return nil
	}
	l.closed = true
	var err error
	if l.in != nil {
		err = l.in.Close()
	}
	if l.buf != nil {
		err = errors.Join(err, l.buf.Flush(), l.out.Close())
	}
	return err
}
