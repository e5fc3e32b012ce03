// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Bound is a packet socket of an interface that may be set down, or deleted and made
// again.
type Bound struct {
	fd, index int
	name      string
}

// NewBound returns the Bound of a socket that is bound to an interface of its namespace.
func NewBound(fd int, iface string, index int) *Bound { return &Bound{fd, index, iface} }

// Gone reports whether an error of the socket means that its interface is down or
// deleted.
func Gone(err error) bool {
	return errors.Is(err, unix.ENETDOWN) || errors.Is(err, unix.ENXIO) || errors.Is(err, unix.ENODEV)
}

// Again returns nil once the interface is up again. If it is another one with the same
// name, the socket is bound to it. It works from any namespace.
func (b *Bound) Again() error {
	name := b.name
	ifr, err := unix.NewIfreq("")
	if err == nil {
		ifr.SetUint32(uint32(b.index))
		if unix.IoctlIfreq(b.fd, unix.SIOCGIFNAME, ifr) == nil { // it may have another name by now
			name = ifr.Name()
		}
		ifr, err = unix.NewIfreq(name)
	}
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(b.fd, unix.SIOCGIFFLAGS, ifr); err != nil {
		return fmt.Errorf("interface %s: %w", name, err)
	}
	if ifr.Uint16()&unix.IFF_UP == 0 {
		return fmt.Errorf("interface %s is down", name)
	}
	if err := unix.IoctlIfreq(b.fd, unix.SIOCGIFINDEX, ifr); err != nil {
		return fmt.Errorf("interface %s: %w", name, err)
	}
	if index := int(ifr.Uint32()); index != b.index {
		protocol := uint16(unix.ETH_P_ALL)<<8 | uint16(unix.ETH_P_ALL)>>8
		if err := errors.Join(
			unix.SetsockoptPacketMreq(b.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &unix.PacketMreq{Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC}),
			unix.Bind(b.fd, &unix.SockaddrLinklayer{Protocol: protocol, Ifindex: index}),
		); err != nil {
			return fmt.Errorf("interface %s: %w", name, err)
		}
		b.index = index
	}
	unix.GetsockoptInt(b.fd, unix.SOL_SOCKET, unix.SO_ERROR) // that it was down
	return nil
}
