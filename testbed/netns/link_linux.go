// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
	"unsafe"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/testbed/local"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// hostMTU is Ethernet's usual one.
const hostMTU = 1500

// Possible returns nil if networks can be built here, otherwise why not.
var Possible = sync.OnceValue(func() error {
	if os.Geteuid() != 0 {
		return ErrRoot
	}
	name := fmt.Sprintf("pl%dp", os.Getpid())
	probe := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: name + "p"}
	if err := netlink.LinkAdd(probe); err != nil {
		return fmt.Errorf("this machine makes no veth interfaces: %w; a container needs the capability NET_ADMIN for that", err)
	}
	return netlink.LinkDel(probe)
})

// Within runs do on a thread that is in a network namespace.
func Within(namespace string, do func() error) error {
	errs := make(chan error, 1)
	go func() {
		// The thread is not unlocked: it ends with the goroutine, and nothing
		// else ever runs in the wrong namespace.
		runtime.LockOSThread()
		errs <- func() error {
			h, err := vnetns.GetFromName(namespace)
			if err != nil {
				return fmt.Errorf("namespace %s: %w", namespace, err)
			}
			defer h.Close()
			if err := vnetns.Set(h); err != nil {
				return fmt.Errorf("namespace %s: %w", namespace, err)
			}
			return do()
		}()
	}()
	return <-errs
}

// makeNamespace makes a named network namespace with its loopback up.
func makeNamespace(name string) error {
	if _, err := os.Stat(filepath.Join("/run/netns", name)); err == nil {
		return fmt.Errorf("a network namespace %s is there already, and not ours", name)
	}
	errs := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // as in Within
		h, err := vnetns.NewNamed(name)
		if err == nil {
			h.Close()
		}
		errs <- err
	}()
	if err := <-errs; err != nil {
		return fmt.Errorf("network namespace %s: %w", name, err)
	}
	return Within(name, func() error {
		quietIPv6("all")
		quietIPv6("default")
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		return netlink.LinkSetUp(lo)
	})
}

// quietIPv6 keeps the kernel from sending neighbour and router discovery
// over an interface, which would count as traffic. Kernels without IPv6 need
// no telling.
func quietIPv6(iface string) {
	os.WriteFile(filepath.Join("/proc/sys/net/ipv6/conf", iface, "disable_ipv6"), []byte("1"), 0o644)
}

// joinSwitches makes a veth pair whose ends both belong to switches.
func joinSwitches(a, b string) error {
	if err := checkFree(a); err != nil {
		return err
	}
	if err := checkFree(b); err != nil {
		return err
	}
	v := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: a, MTU: local.SwitchMTU}, PeerName: b, PeerMTU: local.SwitchMTU}
	if err := netlink.LinkAdd(v); err != nil {
		return fmt.Errorf("veth pair %s–%s: %w", a, b, err)
	}
	for _, name := range []string{a, b} {
		if err := upForSwitch(name); err != nil {
			return err
		}
	}
	return nil
}

func checkFree(iface string) error {
	_, err := netlink.LinkByName(iface)
	var missing netlink.LinkNotFoundError
	switch {
	case err == nil:
		return fmt.Errorf("an interface %s is there already: is another network up? `pauseless deploy list` shows them; --prefix gives this one other names", iface)
	case errors.As(err, &missing):
		return nil
	}
	return err
}

// upForSwitch makes an interface ready for a switch that reads and writes
// whole frames.
func upForSwitch(name string) error {
	quietIPv6(name)
	if err := noOffload(name); err != nil {
		return err
	}
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	if err := netlink.SetPromiscOn(l); err != nil {
		return fmt.Errorf("interface %s: %w", name, err)
	}
	return netlink.LinkSetUp(l)
}

// AwaitCarrier waits until frames pass an interface that is up. The kernel
// notices a little later, on a busy machine much later, that the other end is
// up as well, and drops all frames until then.
func AwaitCarrier(name string) error {
	const patience = 5 * time.Second
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		i, err := net.InterfaceByName(name)
		switch {
		case err != nil:
			return fmt.Errorf("interface %s: %w", name, err)
		case i.Flags&net.FlagUp == 0:
			return fmt.Errorf("interface %s is down: ip link set %s up", name, name)
		case i.Flags&net.FlagRunning != 0:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("interface %s has no carrier: its other end is down, or nothing is plugged in", name)
		}
	}
}

// joinHost makes a veth pair from a switch's interface to eth0 of a host's
// namespace, and gives the host its addresses. Switches know no ARP: every
// host knows the addresses of all others.
func joinHost(namespace string, h local.Host, all []local.Host) error {
	if err := checkFree(h.Switch); err != nil {
		return err
	}
	ns, err := vnetns.GetFromName(namespace)
	if err != nil {
		return err
	}
	defer ns.Close()
	v := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: h.Switch, MTU: local.SwitchMTU},
		PeerName:  local.HostInterface, PeerMTU: hostMTU, PeerHardwareAddr: net.HardwareAddr(h.MAC[:]), PeerNamespace: netlink.NsFd(ns),
	}
	if err := netlink.LinkAdd(v); err != nil {
		return fmt.Errorf("veth pair %s–%s: %w", h.Switch, h.Name, err)
	}
	if err := upForSwitch(h.Switch); err != nil {
		return err
	}
	return Within(namespace, func() error {
		if err := noOffload(local.HostInterface); err != nil {
			return err
		}
		l, err := netlink.LinkByName(local.HostInterface)
		if err != nil {
			return err
		}
		addr := &netlink.Addr{IPNet: &net.IPNet{IP: h.Addr.Addr().AsSlice(), Mask: net.CIDRMask(h.Addr.Bits(), 32)}}
		if err := netlink.AddrAdd(l, addr); err != nil {
			return fmt.Errorf("address %v of %s: %w", h.Addr, h.Name, err)
		}
		if err := netlink.LinkSetUp(l); err != nil {
			return err
		}
		for _, other := range all {
			if other.Name == h.Name {
				continue
			}
			if err := setNeighbour(l, other); err != nil {
				return fmt.Errorf("neighbour %s of %s: %w", other.Name, h.Name, err)
			}
		}
		return dropRoCE()
	})
}

// dropRoCE has the kernel of a host drop the packets that our hosts exchange.
// `pauseless host` sees them all the same, on a packet socket; until it runs, the
// kernel would answer each with ICMP port unreachable. The rules must come
// before that for local addresses, which has preference 0.
func dropRoCE() error {
	local := netlink.NewRule()
	local.Family, local.Priority, local.Table = netlink.FAMILY_V4, 2, unix.RT_TABLE_LOCAL
	err := netlink.RuleAdd(local)
	for _, port := range []uint16{packet.PortRoCEv2, packet.PortINT, packet.PortPostcard} {
		if err == nil {
			r := netlink.NewRule()
			r.Family, r.Priority, r.Type = netlink.FAMILY_V4, 1, unix.FR_ACT_BLACKHOLE
			r.IPProto, r.Dport = unix.IPPROTO_UDP, netlink.NewRulePortRange(port, port)
			err = netlink.RuleAdd(r)
		}
	}
	if err == nil {
		first := netlink.NewRule()
		first.Family, first.Priority, first.Table = netlink.FAMILY_V4, 0, unix.RT_TABLE_LOCAL
		err = netlink.RuleDel(first)
	}
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EINVAL) {
		return nil // an older kernel: it answers
	}
	return err
}

func setNeighbour(l netlink.Link, h local.Host) error {
	mac := packet.MAC(h.MAC)
	return netlink.NeighSet(&netlink.Neigh{
		LinkIndex: l.Attrs().Index, Family: netlink.FAMILY_V4, State: netlink.NUD_PERMANENT,
		IP: h.Addr.Addr().AsSlice(), HardwareAddr: net.HardwareAddr(mac[:]),
	})
}

// Commands of the ethtool ioctl that switch an offload on or off.
const (
	ethtoolSetRxChecksum = 0x15
	ethtoolSetTxChecksum = 0x17
	ethtoolSetSG         = 0x19
	ethtoolSetTSO        = 0x1f
	ethtoolSetGSO        = 0x24
	ethtoolSetGRO        = 0x2c
)

// noOffload makes the kernel send frames as they will be on the wire: of the
// size they have there, with their checksums.
func noOffload(iface string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for _, command := range []uint32{ethtoolSetTSO, ethtoolSetGSO, ethtoolSetGRO, ethtoolSetTxChecksum, ethtoolSetRxChecksum, ethtoolSetSG} {
		value := struct{ command, data uint32 }{command, 0}
		var request struct {
			name [unix.IFNAMSIZ]byte
			data unsafe.Pointer
			_    [16]byte // of the kernel's union that data leaves unused
		}
		copy(request.name[:unix.IFNAMSIZ-1], iface)
		request.data = unsafe.Pointer(&value)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
		runtime.KeepAlive(&value)
		// A kernel that does not know an offload does not do it either.
		if errno != 0 && errno != unix.EOPNOTSUPP && errno != unix.EINVAL {
			return fmt.Errorf("offloads of interface %s: %w", iface, errno)
		}
	}
	return nil
}

// removeLink deletes an interface, and with it its peer. One that is not there is
// no error.
func removeLink(name string) error {
	l, err := netlink.LinkByName(name)
	var missing netlink.LinkNotFoundError
	if errors.As(err, &missing) {
		return nil
	}
	if err != nil {
		return err
	}
	return netlink.LinkDel(l)
}

// removeNamespace deletes a named namespace; its interfaces go with it.
func removeNamespace(name string) error {
	if _, err := os.Stat(filepath.Join("/run/netns", name)); os.IsNotExist(err) {
		return nil
	}
	return vnetns.DeleteNamed(name)
}
