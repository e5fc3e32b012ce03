// SPDX-License-Identifier: Apache-2.0

// Package infile reads files whose content nobody vouches for; no other package
// does. Each file has a greatest size, which is checked while it is read: a device
// may deliver bytes for ever, and a file may grow.
package infile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Sizes in bytes.
const (
	// Text is the greatest size of a file that people or compilers write: programs,
	// configurations, certificates.
	Text = 64 << 20
	// Data is the greatest size of a file of results, flows or recordings.
	Data = 1 << 30
	// Line is the greatest length of a line of a data file.
	Line = 1 << 20
)

// byteOrderMark begins UTF-8 text of some editors and spreadsheets. Readers leave it out.
var byteOrderMark = []byte("\ufeff")

// ErrSize is the cause of the error of a file that is too large.
var ErrSize = errors.New("too large")

// Read reads a file of at most Text bytes.
func Read(name string) ([]byte, error) { return ReadUpTo(name, Text) }

// ReadUpTo reads a file of at most so many bytes.
func ReadUpTo(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size := int64(0)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		if size = info.Size(); size > most {
			return nil, tooLarge(name, most)
		}
	}
	return readAll(f, name, most, size)
}

// From reads what r delivers, at most so many bytes. The name is for errors.
func From(r io.Reader, name string, most int64) ([]byte, error) { return readAll(r, name, most, 0) }

// Bytes is From for what is no text: the bytes of a byte order mark stay.
func Bytes(r io.Reader, name string, most int64) ([]byte, error) { return readBytes(r, name, most, 0) }

func readAll(r io.Reader, name string, most, size int64) ([]byte, error) {
	text, err := readBytes(r, name, most, size)
	return bytes.TrimPrefix(text, byteOrderMark), err
}

func readBytes(r io.Reader, name string, most, size int64) ([]byte, error) {
	// One byte more than the size, so that the end is found without growing.
	data := make([]byte, 0, max(size+1, 512))
	for {
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
		n, err := r.Read(data[len(data):min(int64(cap(data)), most+1)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > most:
			return nil, tooLarge(name, most)
		case errors.Is(err, io.EOF):
			return data, nil
		case err != nil:
			return nil, err
		}
	}
}

func tooLarge(name string, most int64) error {
	return &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("%w: more than the %s that such a file may have", ErrSize, size(most))}
}

func size(n int64) string {
	for _, u := range []struct {
		unit string
		of   int64
	}{{"GB", 1 << 30}, {"MB", 1 << 20}, {"KB", 1 << 10}} {
		if n >= u.of && n%u.of == 0 {
			return fmt.Sprintf("%d %s", n/u.of, u.unit)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// Limit limits what r delivers to so many bytes: what is more is an error. The name
// is for errors.
func Limit(r io.Reader, name string, most int64) io.Reader {
	return &limited{r: r, name: name, most: most, line: -1}
}

// Lines limits what r delivers to Data bytes in lines of at most Line bytes, so that
// a reader of lines needs little memory.
func Lines(r io.Reader, name string) io.Reader { return &limited{r: r, name: name, most: Data} }

// OpenLines opens a file, to be read as Lines does.
func OpenLines(name string) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r := bufio.NewReader(f)
	if b, _ := r.Peek(len(byteOrderMark)); bytes.Equal(b, byteOrderMark) {
		_, _ = r.Discard(len(b))
	}
	return struct {
		io.Reader
		io.Closer
	}{Lines(r, name), f}, nil
}

// ReadLines reads a file as Lines does, as a whole.
func ReadLines(name string) ([]byte, error) {
	f, err := OpenLines(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, name, Data, 0)
}

// limited is a reader whose total size and, unless line is -1, lines are limited.
type limited struct {
	r           io.Reader
	name        string
	most, total int64
	line        int64 // bytes of this line so far
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	l.total += int64(n)
	if l.total > l.most {
		return 0, tooLarge(l.name, l.most)
	}
	if l.line < 0 {
		return n, err
	}
	for _, c := range p[:n] {
		if l.line++; c == '\n' {
			l.line = 0
		}
		if l.line > Line {
			return 0, &fs.PathError{Op: "read", Path: l.name, Err: fmt.Errorf("%w: a line of more than %s", ErrSize, size(Line))}
		}
	}
	return n, err
}
