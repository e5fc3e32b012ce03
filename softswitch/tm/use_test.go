// SPDX-License-Identifier: Apache-2.0

package tm

import (
	"fmt"
	"os"
	"testing"
	"unsafe"

	"github.com/pauseless/pauseless/internal/packet"
)

// TestMain checks after all tests that none has written to what classes without packets
// have in common.
func TestMain(m *testing.M) {
	code := m.Run()
	if unused != [len(unused)]class{} {
		fmt.Println("FAIL: a class was written to that was not in use")
		code = 1
	}
	os.Exit(code)
}

// Only the classes that have packets or pauses take memory.
func TestClassesTakeMemoryWhenTheyAreUsed(t *testing.T) {
	b := newBed(t, Config{Ports: ports(64, Port{Rate: gbps, XOFF: 1000, Headroom: 1000}), Lossless: 1 << 3, Quanta: 100})
	used := func() (n int) {
		for c := range b.m.classes {
			if unsafe.SliceData(b.m.classes[c]) != &unused[0] {
				n++
			}
		}
		return n
	}
	for i, step := range []struct {
		do   func()
		used int
	}{
		{func() {}, 0},
		{func() { b.mustQueue(0, 1, 3, 500, 'a') }, 1},
		{func() { b.mustQueue(5, 7, 3, 500, 'b') }, 1},
		{func() { b.m.Count(1, 6, 100) }, 2},
		{func() { b.obey(2, 1<<5, 10) }, 2},        // a PAUSE
		{func() { b.obey(2, 1<<5, 0) }, 3},         // and its end
		{func() { b.m.SetLink(9, false, nil) }, 3}, // of empty queues
		{func() { b.m.SetDepths(&Packet{Queue: 7}, Depth{}, Depth{Packets: 1}) }, 4},
	} {
		if step.do(); used() != step.used {
			t.Errorf("after step %d, %d classes take memory, want %d", i, used(), step.used)
		}
	}
	if n := b.m.Stats(1).Class[6].RxPackets; n != 1 || b.m.Depth(0, 7).Packets != 1 || b.m.Stats(3) != (Stats{}) {
		t.Errorf("%d packets of class 6 are counted, the depth of queue 7 is %+v, and an unused port has %+v", n, b.m.Depth(0, 7), b.m.Stats(3))
	}
}

// A switch may have more ports than classes without packets have in common.
func TestMoreThanAThousandPorts(t *testing.T) {
	n := len(unused) + 1
	b := newBed(t, Config{Ports: ports(n, Port{Rate: gbps})})
	b.mustQueue(n-1, n-2, 3, 500, 'a')
	b.m.Run()
	b.until(1 << 40)
	if b.tags(n-2) != "a" || b.m.Stats(n-1) != (Stats{}) || b.m.Stats(n - 2).Class[3].TxPackets != 1 {
		t.Errorf("port %d sent %q", n-2, b.tags(n-2))
	}
}

// Ports that are alike share their configuration, and others keep theirs.
func TestPortsKeepTheirConfiguration(t *testing.T) {
	list := ports(4, Port{Rate: gbps, MAC: packet.MAC{1}})
	list[2].MAC, list[3].Rate = packet.MAC{2}, 2*gbps
	m, err := New(Config{Ports: list}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range list {
		if *m.ports[i].cfg != want {
			t.Errorf("port %d has %+v, want %+v", i, *m.ports[i].cfg, want)
		}
	}
	if m.ports[0].cfg != m.ports[1].cfg || m.ports[1].cfg == m.ports[2].cfg {
		t.Error("the first two ports do not share their configuration, or the third one does")
	}
}
