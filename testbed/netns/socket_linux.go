// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Socket sends and receives whole Ethernet frames on one interface. It may be
// used outside of the namespace that it was opened in.
type Socket struct {
	file *os.File
	buf  []byte
	oob  [64]byte
}

// Captured is a frame that was seen on an interface.
type Captured struct {
	Time time.Time // when the kernel saw it; differences survive a change of the wall clock
	Out  bool      // the machine sent it on this interface, rather than received it
	Data []byte    // valid until the next frame is read
}

// Open opens an interface, in a namespace if one is named.
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
	i, err := net.InterfaceByName(iface)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", iface, err)
	}
	protocol := uint16(unix.ETH_P_ALL)<<8 | uint16(unix.ETH_P_ALL)>>8
	// Without a protocol it hears nothing until it is bound: with one, it would
	// hear all interfaces until then.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, unix.EPERM) {
			return nil, fmt.Errorf("seeing frames on %s needs root", iface)
		}
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	s := &Socket{file: os.NewFile(uintptr(fd), iface), buf: make([]byte, 1<<16)}
	member := &unix.PacketMreq{Ifindex: int32(i.Index), Type: unix.PACKET_MR_PROMISC}
	if err := errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20), // beyond net.core.rmem_max
		unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, member),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: i.Index}),
	); err != nil {
		s.file.Close()
		return nil, fmt.Errorf("packet socket on %s: %w", iface, err)
	}
	return s, nil
}

// Close ends the socket, and a Read that waits.
func (s *Socket) Close() error { return s.file.Close() }

// Send sends a frame. One that the interface has no room for is lost, as on
// any link.
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
		c.Data, c.Time = s.buf[:n], kernelTime(s.oob[:oobn])
		if ll, ok := from.(*unix.SockaddrLinklayer); ok {
			c.Out = ll.Pkttype == unix.PACKET_OUTGOING
		}
		return true
	})
	return c, errors.Join(err, failed)
}

// kernelTime finds the time stamp among control messages.
func kernelTime(oob []byte) time.Time {
	now := time.Now()
	list, err := unix.ParseSocketControlMessage(oob)
	if err == nil {
		for _, m := range list {
			if m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SCM_TIMESTAMPNS && len(m.Data) >= int(unsafe.Sizeof(unix.Timespec{})) {
				ts := (*unix.Timespec)(unsafe.Pointer(&m.Data[0]))
				return monotonic(now, time.Unix(ts.Unix()))
			}
		}
	}
	return now
}

// longest is how long a frame may have waited to be read.
const longest = time.Minute

// monotonic returns the time of a stamp by the monotonic clock, given
// both clocks now. A stamp that is not from the last moments was made before
// the wall clock was set: then it is now.
func monotonic(now, stamp time.Time) time.Time {
	ago := now.Round(0).Sub(stamp)
	if ago < 0 || ago > longest {
		return now
	}
	return now.Add(-ago)
}

// Missed returns how many frames the kernel had no room for since it was
// last asked.
func (s *Socket) Missed() int {
	raw, err := s.file.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	raw.Control(func(fd uintptr) {
		if stats, err := unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			n = int(stats.Drops)
		}
	})
	return n
}

// Each calls do for every frame until it returns false, ctx is done or the
// interface is gone.
func (s *Socket) Each(ctx context.Context, do func(Captured) bool) error {
	stop := context.AfterFunc(ctx, func() { s.file.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	for {
		c, err := s.Read()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if !do(c) {
			return nil
		}
	}
}
