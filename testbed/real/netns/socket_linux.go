// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pauseless/pauseless/testbed/real/relay"
)

// Socket sends and receives whole Ethernet frames on one interface, also from
// outside the interface's namespace.
type Socket struct {
	file  *os.File
	bound *relay.Bound
	buf   []byte
	oob   [64]byte
}

// Captured is a captured frame.
type Captured struct {
	Time time.Time // the kernel's time stamp, with a monotonic clock reading
	Out  bool      // sent on this interface, not received
	Data []byte    // valid until the next frame is read
}

// Open opens an interface in a namespace; "" is the caller's. It returns an error
// if there is no such interface, or if the process is not root.
func Open(namespace, iface string) (s *Socket, err error) {
	open := func() error {
		s, err = openSocket(iface)
		return err
	}
	if namespace == "" {
		return s, open()
	}
	return s, Within(namespace, open)
}

func openSocket(iface string) (*Socket, error) {
	fd, bound, err := relay.PacketSocket(iface)
	if err != nil {
		return nil, err
	}
	return &Socket{file: os.NewFile(uintptr(fd), iface), bound: bound, buf: make([]byte, 1<<16)}, nil
}

// Close closes the socket and ends a Read in progress.
func (s *Socket) Close() error { return s.file.Close() }

// Send sends a frame. It drops the frame if the interface's queue is full.
func (s *Socket) Send(frame []byte) error {
	_, err := s.file.Write(frame)
	if errors.Is(err, unix.ENOBUFS) {
		return nil
	}
	return err
}

// Read waits for a frame.
func (s *Socket) Read() (Captured, error) {
	raw, err := s.file.SyscallConn()
	if err != nil {
		return Captured{}, err
	}
	var c Captured
	var failed error
	err = raw.Read(func(fd uintptr) bool {
		n, oobn, _, from, err := unix.Recvmsg(int(fd), s.buf, s.oob[:], 0)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			return false
		}
		if err != nil {
			failed = err
			return true
		}
		c.Data, c.Time = s.buf[:n], relay.KernelTime(s.oob[:oobn])
		if ll, ok := from.(*unix.SockaddrLinklayer); ok {
			c.Out = ll.Pkttype == unix.PACKET_OUTGOING
		}
		return true
	})
	if err := cmp.Or(err, failed); err != nil {
		return c, fmt.Errorf("interface %s: %w", s.file.Name(), err)
	}
	return c, nil
}

// Missed returns how many frames the kernel dropped since the last call.
func (s *Socket) Missed() int {
	raw, err := s.file.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	raw.Control(func(fd uintptr) { n = relay.Missed(int(fd)) })
	return n
}

// Each calls do for every frame until do returns false, ctx is done, or reading
// fails. While the interface is down or deleted it waits until it is back.
func (s *Socket) Each(ctx context.Context, do func(Captured) bool) error {
	stop := context.AfterFunc(ctx, func() { s.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for {
		c, err := s.Read()
		if ctx.Err() != nil {
			return nil
		}
		if relay.Gone(err) {
			slog.Warn("interface carries nothing; frames are captured again when it is up", "interface", s.file.Name(), "error", err)
			for s.bound.Again() != nil {
				select {
				case <-ctx.Done():
					return nil
				case <-time.After(50 * time.Millisecond):
				}
			}
			slog.Info("interface is up again", "interface", s.file.Name())
			continue
		}
		if err != nil {
			return err
		}
		if !do(c) {
			return nil
		}
	}
}
