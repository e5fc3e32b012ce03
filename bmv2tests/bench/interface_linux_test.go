// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/port"
)

// BenchmarkInterfaces forwards packets of 64 bytes between veth interfaces, as
// `pauseless switch` does. It reports the processor time per packet, including
// the kernel's. The thread that sends the packets does not count. It needs root.
func BenchmarkInterfaces(b *testing.B) {
	for _, name := range []string{"router-lpm-16", "rlb-drill"} {
		all := cases()
		c := all[slices.IndexFunc(all, func(c Case) bool { return c.Name == name })]
		b.Run(name, func(b *testing.B) { forward(b, c) })
	}
}

func forward(b *testing.B, c Case) {
	p, err := interp.Compile(compileCase(b, c).Program, interp.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s, err := newBench(c, p)
	if err != nil {
		b.Fatal(err)
	}
	runtime.LockOSThread() // without UnlockOSThread: the thread ends with the benchmark
	need.No(b, unix.Unshare(unix.CLONE_NEWNET))
	links := map[int]port.Link{}
	for n := 1; n <= Ports; n++ {
		name, peer := fmt.Sprint("s", n), fmt.Sprint("h", n)
		need.No(b, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name, MTU: 1500}, PeerName: peer}))
		for _, name := range []string{name, peer} {
			l, err := netlink.LinkByName(name)
			if err == nil {
				err = netlink.LinkSetUp(l)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		if links[n], err = port.OpenInterface(name); err != nil {
			b.Fatal(err)
		}
	}
	host, err := port.OpenInterface("h1")
	if err != nil {
		b.Fatal(err)
	}
	defer host.Close()
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- port.NewRunner(s.Switch, links).Run(ctx) }()
	frames := make([]*packet.Frame, 64)
	for i := range frames {
		frames[i] = &packet.Frame{Data: make([]byte, 64)}
	}
	sent := func() int {
		s.Switch.Lock()
		defer s.Switch.Unlock()
		return int(s.Switch.Stats().Sent)
	}
	send := func(until int) {
		for i := 0; sent() < until; {
			for range 16 {
				for _, f := range frames {
					copy(f.Data, s.Packet(i))
					i++
				}
				if err := host.Write(frames); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	send(10_000)
	if err := apart(b); err != nil {
		b.Fatal(err)
	}
	began := sent()
	all, own := cpu(unix.RUSAGE_SELF), cpu(unix.RUSAGE_THREAD)
	b.ResetTimer()
	send(began + b.N)
	b.StopTimer()
	took := cpu(unix.RUSAGE_SELF) - all - (cpu(unix.RUSAGE_THREAD) - own)
	b.ReportMetric(float64(took)/float64(sent()-began), "CPU-ns/packet")
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}

// apart gives the calling thread a processor, and all other threads the others,
// until the end of the benchmark. Otherwise the thread of the switch, which has
// priority, could stop the sender by being on the same one.
func apart(b *testing.B) error {
	var all, own unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil || all.Count() < 2 {
		return err
	}
	rest := all
	for i := range 8 * len(all) * int(unsafe.Sizeof(all[0])) {
		if all.IsSet(i) {
			own.Set(i)
			rest.Clear(i)
			break
		}
	}
	move := func(to *unix.CPUSet) error {
		threads, err := os.ReadDir("/proc/self/task")
		for _, t := range threads {
			id, _ := strconv.Atoi(t.Name())
			if e := unix.SchedSetaffinity(id, to); e != nil && e != unix.ESRCH { // it has ended
				err = e
			}
		}
		return err
	}
	b.Cleanup(func() { _ = move(&all) })
	return cmp.Or(move(&rest), unix.SchedSetaffinity(0, &own))
}

// cpu returns the processor time of the process or the thread, in ns.
func cpu(who int) int64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(who, &u)
	return u.Utime.Nano() + u.Stime.Nano()
}
