// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Interface returns a network interface of this machine, or of the namespace that the
// thread is in. It returns an error if there is none of that name.
func Interface(name string) (*net.Interface, error) {
	i, err := net.InterfaceByName(name)
	if err == nil {
		return i, nil
	}
	if all, aerr := net.Interfaces(); aerr == nil && !slices.ContainsFunc(all, func(i net.Interface) bool { return i.Name == name }) {
		return nil, fmt.Errorf("there is no interface %s; `ip link` lists the interfaces", name)
	}
	return nil, fmt.Errorf("interface %s: %w", name, err)
}

// PacketSocket opens a packet socket that receives all frames of an interface.
func PacketSocket(iface string) (fd int, bound *Bound, err error) {
	i, err := Interface(iface)
	if err != nil {
		return -1, nil, err
	}
	protocol := uint16(unix.ETH_P_ALL)<<8 | uint16(unix.ETH_P_ALL)>>8
	// With a protocol the socket would receive from all interfaces until bind;
	// without one it receives nothing until then.
	fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, unix.EPERM) {
			return -1, nil, fmt.Errorf("capturing frames on %s needs root: run this with sudo", iface)
		}
		return -1, nil, fmt.Errorf("packet socket: %w", err)
	}
	member := &unix.PacketMreq{Ifindex: int32(i.Index), Type: unix.PACKET_MR_PROMISC}
	if err := errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20), // beyond net.core.rmem_max
		unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, member),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: i.Index}),
	); err != nil {
		unix.Close(fd)
		return -1, nil, fmt.Errorf("packet socket on %s: %w", iface, err)
	}
	return fd, &Bound{fd, i.Index, iface}, nil
}

// raw is a packet socket without Go's poller, for a loop that waits for many. It
// receives only what others send.
type raw struct {
	fd  int
	buf []byte
	oob [64]byte

	bound *Bound
	down  error // why it carries nothing
}

// openRaw opens an interface of this namespace.
func openRaw(iface string) (*raw, error) {
	fd, bound, err := PacketSocket(iface)
	if err != nil {
		return nil, err
	}
	r := &raw{fd: fd, buf: make([]byte, 1<<16), bound: bound}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("packet socket on %s: this needs Linux 4.20: %w", iface, err)
	}
	return r, nil
}

// FD returns the file descriptor, for poll.
func (r *raw) FD() int { return r.fd }

// Close closes the socket.
func (r *raw) Close() error { return unix.Close(r.fd) }

// Send sends a frame.
func (r *raw) Send(frame []byte) error {
	_, err := unix.Write(r.fd, frame)
	return err
}

// Read returns the next frame, which is valid until the following one is read, and
// the time at which the kernel received it; or EAGAIN if there is none.
func (r *raw) Read() ([]byte, time.Time, error) {
	for {
		n, oobn, _, _, err := unix.Recvmsg(r.fd, r.buf, r.oob[:], 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, time.Time{}, err
		}
		return r.buf[:n], KernelTime(r.oob[:oobn]), nil
	}
}

// Missed returns how many frames the kernel dropped since the last call, because
// they were not read in time.
func (r *raw) Missed() int { return Missed(r.fd) }

// Missed returns how many frames the kernel dropped at a packet socket since the last
// call.
func Missed(fd int) int {
	stats, err := unix.GetsockoptTpacketStats(fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return 0
	}
	return int(stats.Drops)
}

// KernelTime returns the time stamp in control messages, or the current time if
// there is none.
func KernelTime(oob []byte) time.Time {
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
