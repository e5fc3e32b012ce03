// SPDX-License-Identifier: Apache-2.0

package farm

import (
	"bytes"
	"errors"
	"net"
	"strconv"
	"time"
)

// Limits of what a server sends, in bytes.
const (
	maxControl = 1 << 20  // of a line of NATS' protocol
	maxPayload = 64 << 20 // of a message; nats-server allows no more
)

var (
	errControl = errors.New("the server sends a line of more than 1 MB: it is no NATS server")
	errPayload = errors.New("the server sends a message of more than the 64 MB that NATS allows")
)

// dialer connects to servers with limits on what they send. The client of NATS
// allocates what a message's line says (parser.go of nats.go 1.55), also more than
// there is memory, and reads the first line to its end.
type dialer struct{}

func (dialer) Dial(network, address string) (net.Conn, error) {
	c, err := net.DialTimeout(network, address, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return &wire{Conn: c}, nil
}

// wire follows the protocol of a server that is not trusted: lines, and after those
// that begin with MSG or HMSG as many bytes as their last word says, with a line end.
// With TLS only the first line is readable; then certificates say who the server is.
type wire struct {
	net.Conn
	line []byte // so far
	left int    // bytes of a payload that follow; -1 if all that follows is TLS
	err  error
}

// tlsHandshake is the first byte of TLS, RFC 8446 section 5.1. No line begins with it.
const tlsHandshake = 22

func (w *wire) Read(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.Conn.Read(p)
	if w.err = w.follow(p[:n]); w.err != nil {
		return 0, w.err
	}
	return n, err
}

func (w *wire) follow(b []byte) error {
	for len(b) > 0 && w.left >= 0 {
		if w.left > 0 {
			n := min(w.left, len(b))
			b, w.left = b[n:], w.left-n
			continue
		}
		if len(w.line) == 0 && b[0] == tlsHandshake {
			w.left = -1
			return nil
		}
		part, rest, end := bytes.Cut(b, []byte{'\n'})
		if len(w.line)+len(part) > maxControl {
			return errControl
		}
		w.line = append(w.line, part...)
		if b = rest; !end {
			return nil
		}
		words := bytes.Fields(w.line)
		if len(words) > 0 && (bytes.EqualFold(words[0], []byte("MSG")) || bytes.EqualFold(words[0], []byte("HMSG"))) {
			n, err := strconv.ParseUint(string(words[len(words)-1]), 10, 63)
			if err != nil || n > maxPayload {
				return errPayload
			}
			w.left = int(n) + len("\r\n")
		}
		w.line = w.line[:0]
	}
	return nil
}
