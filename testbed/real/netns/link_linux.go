// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"cmp"
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
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/relay"

	"github.com/vishvananda/netlink"
	vnetns "github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Possible returns nil if networks can be built here, otherwise the reason.
var Possible = sync.OnceValue(func() error {
	if os.Geteuid() != 0 {
		return ErrRoot
	}
	name := fmt.Sprintf("pl%dp", os.Getpid())
	probe := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: name + "p"}
	if err := netlink.LinkAdd(probe); err != nil {
		return fmt.Errorf("this machine cannot make veth interfaces: %w; a container needs the capability NET_ADMIN for that", err)
	}
	return netlink.LinkDel(probe)
})

// Within runs do on a thread in a network namespace, and returns its error.
func Within(namespace string, do func() error) error {
	return within(func() (vnetns.NsHandle, error) { return vnetns.GetFromName(namespace) }, namespace, do)
}

func within(find func() (vnetns.NsHandle, error), namespace string, do func() error) error {
	errs := make(chan error, 1)
	go func() {
		// The thread stays locked and so ends with the goroutine: no other
		// goroutine runs in this namespace.
		runtime.LockOSThread()
		errs <- func() error {
			h, err := find()
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

// quietIPv6 disables IPv6 on an interface, so that the kernel sends no neighbour
// and router discovery, which would count as traffic. It ignores errors: a
// kernel without IPv6 has no such file.
func quietIPv6(iface string) {
	os.WriteFile(filepath.Join("/proc/sys/net/ipv6/conf", iface, "disable_ipv6"), []byte("1"), 0o644)
}

// joinSwitches makes a veth pair between two switches, or a switch and a relay.
func joinSwitches(a, b string, mtu int) error {
	if err := checkFree(a); err != nil {
		return err
	}
	if err := checkFree(b); err != nil {
		return err
	}
	v := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: a, MTU: mtu}, PeerName: b, PeerMTU: uint32(mtu)}
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
		return fmt.Errorf("interface %s exists already: is another network up? `pauseless deploy list` shows them; --prefix gives this one other names", iface)
	case errors.As(err, &missing):
		return nil
	}
	return err
}

// upForSwitch prepares an interface for a switch, which reads and writes whole
// frames, and sets it up.
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

// AwaitCarrier waits up to five seconds until an interface has a carrier. The
// kernel detects with a delay that the other end is up, and drops all frames
// until then. AwaitCarrier returns an error if the interface is down.
func AwaitCarrier(name string) error {
	const patience = 5 * time.Second
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		i, err := relay.Interface(name)
		switch {
		case err != nil:
			return err
		case i.Flags&net.FlagUp == 0:
			return fmt.Errorf("interface %s is down: ip link set %s up", name, name)
		case i.Flags&net.FlagRunning != 0:
			return nil
		case time.Now().After(end):
			return fmt.Errorf("interface %s has no carrier: its other end is down, or nothing is plugged in", name)
		}
	}
}

// joinHost makes a veth pair from a switch's or relay's interface to one of a host's
// namespace, and sets the host's addresses. Switches do not support ARP, so each
// host has permanent neighbour entries for all others, unless the plan says otherwise.
func joinHost(namespace string, h local.Host, a local.Adapter, plan *local.Plan) error {
	end := cmp.Or(a.Relay, a.Switch)
	if err := checkFree(end); err != nil {
		return err
	}
	ns, err := vnetns.GetFromName(namespace)
	if err != nil {
		return err
	}
	defer ns.Close()
	v := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: end, MTU: plan.SwitchMTU()},
		PeerName:  a.Interface, PeerMTU: uint32(plan.HostMTU), PeerHardwareAddr: net.HardwareAddr(a.MAC[:]), PeerNamespace: netlink.NsFd(ns),
	}
	if err := netlink.LinkAdd(v); err != nil {
		return fmt.Errorf("veth pair %s–%s: %w", end, h.Name, err)
	}
	if err := upForSwitch(end); err != nil {
		return err
	}
	return Within(namespace, func() error {
		if err := noOffload(a.Interface); err != nil {
			return err
		}
		l, err := netlink.LinkByName(a.Interface)
		if err != nil {
			return err
		}
		if a.Addr.IsValid() {
			addr := &netlink.Addr{IPNet: &net.IPNet{IP: a.Addr.Addr().AsSlice(), Mask: net.CIDRMask(a.Addr.Bits(), 32)}}
			if err := netlink.AddrAdd(l, addr); err != nil {
				return fmt.Errorf("address %v of %s: %w", a.Addr, h.Name, err)
			}
		}
		if err := netlink.LinkSetUp(l); err != nil {
			return err
		}
		for _, other := range plan.Hosts {
			if other.Name == h.Name || h.ARP {
				continue
			}
			for _, b := range other.Adapters() {
				if err := setNeighbour(l, b); err != nil {
					return fmt.Errorf("neighbour %s of %s: %w", other.Name, h.Name, err)
				}
			}
		}
		if a.Node != h.Node {
			return nil
		}
		return DropRoCE()
	})
}

// DropRoCE makes a host's kernel drop RoCEv2 packets, which it would otherwise
// answer with ICMP port unreachable while no host runs. `pauseless host` receives
// them on a packet socket all the same. The rules must precede the one for local
// addresses, which has preference 0.
func DropRoCE() error {
	local := netlink.NewRule()
	local.Family, local.Priority, local.Table = netlink.FAMILY_V4, 2, unix.RT_TABLE_LOCAL
	err := netlink.RuleAdd(local)
	for _, port := range []uint16{packet.PortRoCEv2, packet.PortINT, packet.PortPINT, packet.PortPostcard} {
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
		return nil // an older kernel has no such rules, and answers
	}
	return err
}

func setNeighbour(l netlink.Link, a local.Adapter) error {
	if !a.Addr.IsValid() {
		return nil
	}
	return netlink.NeighSet(&netlink.Neigh{
		LinkIndex: l.Attrs().Index, Family: netlink.FAMILY_V4, State: netlink.NUD_PERMANENT,
		IP: a.Addr.Addr().AsSlice(), HardwareAddr: net.HardwareAddr(a.MAC[:]),
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

// noOffload switches offloads off, so that the kernel's frames have the size
// and checksums of frames on a physical link.
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
			_    [16]byte // the rest of the kernel's union
		}
		copy(request.name[:unix.IFNAMSIZ-1], iface)
		request.data = unsafe.Pointer(&value)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
		runtime.KeepAlive(&value)
		// These errors mean that the kernel does not have the offload.
		if errno != 0 && errno != unix.EOPNOTSUPP && errno != unix.EINVAL {
			return fmt.Errorf("offloads of interface %s: %w", iface, errno)
		}
	}
	return nil
}

// removeLink deletes an interface and with it its peer. It returns nil if there
// is no such interface.
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
