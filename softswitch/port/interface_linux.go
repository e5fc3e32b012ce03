// SPDX-License-Identifier: Apache-2.0

package port

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/pauseless/pauseless/internal/packet"
	"golang.org/x/sys/unix"
)

// ifLink is a packet socket on a network interface. With each frame the kernel
// reports the offloads that the sender left to the hardware (checksums,
// segmentation). The link performs them, so that programs see complete frames.
type ifLink struct {
	name  string
	index int // of the interface
	fd    int // receives frames; not in the runtime's poller: see poller
	tx    int // sends frames only; no call waits on it

	reading sync.Mutex // guards in and, during Read, the socket
	in      *inbox     // of Read
	event   int        // wakes a waiting Read on Close

	writing sync.Mutex // guards out and, during Write, the socket
	out     *outbox

	closed atomic.Bool // set by Close
}

// OpenInterface opens a network interface in promiscuous mode. It needs
// CAP_NET_RAW.
func OpenInterface(name string) (Link, error) {
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		if all, aerr := net.Interfaces(); aerr == nil && !slices.ContainsFunc(all, func(i net.Interface) bool { return i.Name == name }) {
			return nil, fmt.Errorf("this machine has no interface %s; `ip link` lists the interfaces", name)
		}
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
	set(unix.PACKET_VNET_HDR, 1) // pending offloads
	set(unix.PACKET_AUXDATA, 1)  // VLAN tags, which the kernel removes
	set(unix.PACKET_IGNORE_OUTGOING, 1)
	if err == nil {
		err = unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &unix.PacketMreq{Ifindex: int32(ifi.Index), Type: unix.PACKET_MR_PROMISC})
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20) // as large as permitted
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_ALL), Ifindex: ifi.Index})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("interface %s: %w", name, err), unix.Close(fd))
	}
	l := &ifLink{name: name, index: ifi.Index, fd: fd, tx: -1, event: -1, out: newOutbox()}
	if l.tx, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0); err == nil {
		err = unix.Bind(l.tx, &unix.SockaddrLinklayer{Ifindex: ifi.Index})
	}
	if err == nil {
		l.event, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("interface %s: %w", name, err), l.Close())
	}
	return l, nil
}

func htons(x uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], x)
	return binary.NativeEndian.Uint16(b[:])
}

// Read implements Link. A switch reads its interfaces with a poller instead.
func (l *ifLink) Read(b *Batch) error {
	l.reading.Lock()
	defer l.reading.Unlock()
	if l.in == nil {
		l.in = newInbox()
	}
	for b.Len() == 0 {
		if l.closed.Load() {
			return net.ErrClosed
		}
		n, err := l.in.receive(l)
		if err != nil {
			return err
		}
		for _, f := range l.in.frames(n, nil) {
			b.Add(f)
		}
		if n > 0 {
			continue
		}
		wait := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}, {Fd: int32(l.event), Events: unix.POLLIN}}
		if _, err := unix.Poll(wait, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("interface %s: %w", l.name, err)
		}
	}
	return nil
}

// vlanTag returns the VLAN tag that the kernel removed from a frame.
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

// Write implements Link. A frame for which the interface has no room is
// dropped.
func (l *ifLink) Write(frames []*packet.Frame) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	if l.closed.Load() {
		return net.ErrClosed
	}
	for len(frames) > 0 {
		n := l.out.fill(frames)
		for sent := 0; sent < n; {
			switch k, err := mmsg(unix.SYS_SENDMMSG, l.tx, l.out.msgs[sent:n]); {
			case errors.Is(err, unix.EINTR):
			case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.EMSGSIZE), errors.Is(err, unix.EINVAL):
				sent++ // longer than the MTU, or no room: the kernel has counted it
			case err != nil:
				return fmt.Errorf("interface %s: %w", l.name, err)
			default:
				sent += k
			}
		}
		frames = frames[n:]
	}
	return nil
}

// Reopen implements Reopener. The interface may have another name by now, or be
// another one of this name. It must be up.
func (l *ifLink) Reopen() (Link, error) {
	name := l.name
	if ifi, err := net.InterfaceByIndex(l.index); err == nil {
		name = ifi.Name
	}
	ifi, err := net.InterfaceByName(name)
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	if ifi.Flags&net.FlagUp == 0 {
		return nil, fmt.Errorf("interface %s is down", name)
	}
	again, err := OpenInterface(name)
	if err != nil {
		return nil, err
	}
	again.(*ifLink).name = l.name
	return again, nil
}

// Close implements Link.
func (l *ifLink) Close() error {
	if l.closed.Swap(true) {
		return nil
	}
	var err error
	if l.event >= 0 {
		_, err = unix.Write(l.event, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
	l.reading.Lock()
	defer l.reading.Unlock()
	l.writing.Lock()
	defer l.writing.Unlock()
	for _, fd := range []int{l.fd, l.tx, l.event} {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
	}
	return err
}
