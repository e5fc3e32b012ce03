// SPDX-License-Identifier: Apache-2.0

package port

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/pauseless/pauseless/internal/packet"
	"golang.org/x/sys/unix"
)

// ifLink is a packet socket on a network interface. The kernel tells with
// each frame what it has left undone (checksums, cutting to the MTU), and the
// link does it: programs see frames as they would be on a wire.
type ifLink struct {
	name string
	file *os.File // in the runtime's poller, so that Close ends Read
	conn syscall.RawConn
	in   *inbox
	out  *outbox
	// closed is set by Close: what calls that are under way fail with then is
	// not always os.ErrClosed.
	closed atomic.Bool
}

// OpenInterface opens a network interface, in promiscuous mode. It needs
// CAP_NET_RAW.
func OpenInterface(name string) (Link, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EPERM) {
		return nil, fmt.Errorf("interface %s: opening it needs the capability CAP_NET_RAW: run as root, or setcap cap_net_raw+ep on this program", name)
	}
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	set := func(opt, value int) {
		if err == nil {
			err = unix.SetsockoptInt(fd, unix.SOL_PACKET, opt, value)
		}
	}
	set(unix.PACKET_VNET_HDR, 1) // what offloads left undone
	set(unix.PACKET_AUXDATA, 1)  // VLAN tags, which the kernel takes off
	set(unix.PACKET_IGNORE_OUTGOING, 1)
	if err == nil {
		err = unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &unix.PacketMreq{Ifindex: int32(ifi.Index), Type: unix.PACKET_MR_PROMISC})
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20) // as much as we may
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_ALL), Ifindex: ifi.Index})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("interface %s: %w", name, err), unix.Close(fd))
	}
	l := &ifLink{name: name, file: os.NewFile(uintptr(fd), name), in: newInbox(), out: newOutbox()}
	if l.conn, err = l.file.SyscallConn(); err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	return l, nil
}

func htons(x uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], x)
	return binary.NativeEndian.Uint16(b[:])
}

// Read implements Link.
func (l *ifLink) Read(b *Batch) error {
	for b.Len() == 0 {
		var n int
		var rerr error
		err := l.conn.Read(func(fd uintptr) bool {
			n, rerr = mmsg(unix.SYS_RECVMMSG, fd, l.in.msgs[:])
			return !errors.Is(rerr, unix.EAGAIN)
		})
		switch {
		case err != nil && l.closed.Load():
			return net.ErrClosed
		case err != nil:
			return fmt.Errorf("interface %s: %w", l.name, err)
		case errors.Is(rerr, unix.ENETDOWN), errors.Is(rerr, unix.EINTR):
			continue // the interface may come up again
		case rerr != nil:
			return fmt.Errorf("interface %s: %w", l.name, rerr)
		}
		for i := range n {
			l.in.add(i, b)
		}
	}
	return nil
}

// vlanTag returns the VLAN tag that the kernel took off a frame.
func vlanTag(oob []byte) (tag [4]byte, ok bool) {
	for len(oob) >= unix.SizeofCmsghdr {
		head, data, rest, err := unix.ParseOneSocketControlMessage(oob)
		if err != nil {
			break
		}
		oob = rest
		if head.Level != unix.SOL_PACKET || head.Type != unix.PACKET_AUXDATA || len(data) < int(unsafe.Sizeof(unix.TpacketAuxdata{})) {
			continue
		}
		aux := (*unix.TpacketAuxdata)(unsafe.Pointer(&data[0]))
		if aux.Status&unix.TP_STATUS_VLAN_VALID == 0 {
			return tag, false
		}
		tpid := uint16(0x8100)
		if aux.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
			tpid = aux.Vlan_tpid
		}
		binary.BigEndian.PutUint16(tag[0:], tpid)
		binary.BigEndian.PutUint16(tag[2:], aux.Vlan_tci)
		return tag, true
	}
	return tag, false
}

// Write implements Link. A frame that the interface has no room for is lost,
// as on any link.
func (l *ifLink) Write(frames []*packet.Frame) error {
	for len(frames) > 0 {
		n := l.out.fill(frames)
		for sent := 0; sent < n; {
			var k int
			var serr error
			err := l.conn.Write(func(fd uintptr) bool {
				k, serr = mmsg(unix.SYS_SENDMMSG, fd, l.out.msgs[sent:n])
				return true
			})
			switch {
			case err != nil && l.closed.Load():
				return net.ErrClosed
			case err != nil:
				return fmt.Errorf("interface %s: %w", l.name, err)
			case errors.Is(serr, unix.EINTR):
			case errors.Is(serr, unix.EAGAIN), errors.Is(serr, unix.ENOBUFS), errors.Is(serr, unix.ENETDOWN), errors.Is(serr, unix.EMSGSIZE), errors.Is(serr, unix.EINVAL):
				sent++ // longer than the MTU, or no room: as the kernel has counted it
			case serr != nil:
				return fmt.Errorf("interface %s: %w", l.name, serr)
			default:
				sent += k
			}
		}
		frames = frames[n:]
	}
	return nil
}

// Close implements Link.
func (l *ifLink) Close() error {
	l.closed.Store(true)
	if err := l.file.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
