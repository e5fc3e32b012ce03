// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/testbed/real/netns"
	"github.com/pauseless/pauseless/testbed/real/relay"
)

// rawPort is an interface through an AF_PACKET socket. It delivers only frames
// for RoCEv2 hosts.
type rawPort struct {
	name    string
	fd      int
	bound   *relay.Bound // of the reader
	mtu     int
	frames  chan []byte
	sockets []*net.UDPConn // see occupy
	stop    chan struct{}
	failed  error // why frames ended
	once    sync.Once
	done    sync.WaitGroup
}

var _ Port = (*rawPort)(nil)

// Open opens an interface by name. It returns an error without CAP_NET_RAW, and
// if the interface is down or has no carrier.
func Open(name string) (Port, error) {
	if err := netns.AwaitCarrier(name); err != nil {
		return nil, err
	}
	ifi, err := relay.Interface(name)
	if err != nil {
		return nil, err
	}
	// With a protocol the socket would receive from all interfaces until bind;
	// without one it receives nothing until then.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EPERM) {
		return nil, fmt.Errorf("interface %s: raw frames need root or CAP_NET_RAW: run this with sudo", name)
	}
	if err != nil {
		return nil, fmt.Errorf("interface %s: %w", name, os.NewSyscallError("socket", err))
	}
	p := &rawPort{name: name, fd: fd, bound: relay.NewBound(fd, name, ifi.Index), mtu: ifi.MTU, frames: make(chan []byte, 4096), stop: make(chan struct{})}
	// A receive buffer above net.core.rmem_max needs CAP_NET_ADMIN.
	const room = 8 << 20
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, room) != nil {
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, room)
	}
	err = errors.Join(
		// The reader checks for Close at this interval.
		os.NewSyscallError("setsockopt", unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000})),
		os.NewSyscallError("bind", unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_ALL), Ifindex: ifi.Index})),
	)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("interface %s: %w", name, err)
	}
	p.occupy(ifi)
	p.done.Add(1)
	go p.read()
	return p, nil
}

// MTU returns that of the interface when the port was opened.
func (p *rawPort) MTU() int { return p.mtu }

func htons(v uint16) uint16 { return binary.NativeEndian.Uint16([]byte{byte(v >> 8), byte(v)}) }

// occupy opens the UDP ports on the interface's addresses, so that the kernel
// does not answer packets with ICMP port unreachable. Errors are ignored: such
// answers do no harm beyond their time.
func (p *rawPort) occupy(ifi *net.Interface) {
	addrs, _ := ifi.Addrs()
	for _, a := range addrs {
		ip, ok := a.(*net.IPNet)
		if !ok || ip.IP.To4() == nil {
			continue
		}
		for _, port := range []uint16{packet.PortRoCEv2, packet.PortINT, packet.PortPINT, packet.PortPostcard} {
			if c, err := net.ListenUDP("udp4", &net.UDPAddr{IP: ip.IP, Port: int(port)}); err == nil {
				c.SetReadBuffer(1)
				p.sockets = append(p.sockets, c)
			}
		}
	}
}

func (p *rawPort) read() {
	defer p.done.Done()
	defer close(p.frames)
	buf := make([]byte, 1<<16)
	down := false
	for {
		n, from, err := unix.Recvfrom(p.fd, buf, 0)
		select {
		case <-p.stop:
			return
		default:
		}
		if relay.Gone(err) && !down {
			down = true
			slog.Warn("interface carries nothing; it is used again when it is up", "interface", p.name, "error", err)
		}
		if down && p.bound.Again() == nil {
			down = false
			slog.Info("interface is up again", "interface", p.name)
		}
		if err != nil && !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) && !relay.Gone(err) {
			p.failed = fmt.Errorf("interface %s: %w", p.name, err)
			return
		}
		if err != nil {
			continue // after a timeout, or as soon as it is up
		}
		if ll, ok := from.(*unix.SockaddrLinklayer); ok && ll.Pkttype == unix.PACKET_OUTGOING || !ours(buf[:n]) {
			continue
		}
		select {
		case p.frames <- append([]byte(nil), buf[:n]...):
		case <-p.stop:
			return
		}
	}
}

// ours reports whether a frame is for a RoCEv2 host.
func ours(b []byte) bool {
	eth := packet.AsEthernet(b)
	if eth == nil {
		return false
	}
	if eth.EtherType() == packet.EtherTypeMACControl {
		return true
	}
	ip := packet.FindIPv4(b)
	if ip == nil || ip.Protocol() != packet.ProtoUDP {
		return false
	}
	udp := packet.AsUDP(ip.Payload())
	if udp == nil {
		return false
	}
	switch udp.DstPort() {
	case packet.PortRoCEv2, packet.PortINT, packet.PortPINT, packet.PortPostcard:
		return true
	}
	return false
}

// Send implements Port. It drops the frame if the interface's queue is full, and while
// the interface is down or deleted.
func (p *rawPort) Send(frame []byte) error {
	for {
		_, err := unix.Write(p.fd, frame)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err == nil, errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.EAGAIN), relay.Gone(err):
			return nil // lost, as on a link
		}
		return fmt.Errorf("interface %s: %w", p.name, err)
	}
}

// Frames implements Port.
func (p *rawPort) Frames() <-chan []byte { return p.frames }

// Err returns why the frames have ended, if not by Close.
func (p *rawPort) Err() error { return p.failed }

// Close implements Port.
func (p *rawPort) Close() error {
	var err error
	p.once.Do(func() {
		close(p.stop)
		p.done.Wait()
		for _, c := range p.sockets {
			c.Close()
		}
		err = os.NewSyscallError("close", unix.Close(p.fd))
	})
	return err
}
