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

// Socket sends and receives whole Ethernet frames on one interface, also from
// outside the interface's namespace.
type Socket struct {
	file *os.File
	buf  []byte
	oob  [64]byte
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
	i, err := net.InterfaceByName(iface)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", iface, err)
	}
	protocol := uint16(unix.ETH_P_ALL)<<8 | uint16(unix.ETH_P_ALL)>>8
	// With a protocol the socket would receive from all interfaces until bind;
	// without one it receives nothing until then.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, unix.EPERM) {
			return nil, fmt.Errorf("capturing frames on %s needs root: run this with sudo", iface)
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
		c.Data, c.Time = s.buf[:n], kernelTime(s.oob[:oobn])
		if ll, ok := from.(*unix.SockaddrLinklayer); ok {
			c.Out = ll.Pkttype == unix.PACKET_OUTGOING
		}
		return true
	})
	return c, errors.Join(err, failed)
}

// kernelTime returns the time stamp in control messages, or the current time if
// there is none.
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

// longest is the longest time that a frame waits to be read.
const longest = time.Minute

// monotonic returns a wall-clock stamp with a monotonic clock reading. If the
// stamp is in the future or older than longest, the wall clock was set since,
// and the result is now.
func monotonic(now, stamp time.Time) time.Time {
	ago := now.Round(0).Sub(stamp)
	if ago < 0 || ago > longest {
		return now
	}
	return now.Add(-ago)
}

// Missed returns how many frames the kernel dropped since the last call.
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

// Each calls do for every frame until do returns false, ctx is done, or reading
// fails.
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
