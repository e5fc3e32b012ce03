// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"encoding/binary"
	"os"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/packets"
	"github.com/pauseless/pauseless/testbed/result"
)

// timed is what testdata/timed.p4 has read while a packet passed, and when the packet arrived.
type timed struct {
	ingress, egress, enqueued, waited uint64 // ns
	enqueueDepth, dequeueDepth        int
	marked                            bool
	color                             byte
	at                                vtime.Time
	length                            int
}

// runTimed runs a scenario with the program timed.p4, and returns what h3 has received.
func runTimed(t *testing.T, entries, text string) (list []timed) {
	t.Helper()
	p4, err := os.ReadFile("testdata/timed.p4")
	if err != nil {
		t.Fatal(err)
	}
	s, err := ownFiles(t, map[string]string{"timed.p4": string(p4), "entries.txt": entries}, `
network:
  graph:
    rate: 1Gbps
    delay: 1us
    switches: [{name: s1}]
    hosts: [{name: h1, on: s1}, {name: h2, on: s1}, {name: h3, on: s1}]
program: {p4: timed.p4, entries: entries.txt, units: {time: ns, depth: packets}}
`+text)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Run(t.Context(), Options{Packets: func(_ *result.Run, r *packets.Run) error {
		for _, a := range r.At(s.Cases()[0].Net().NodeByName("h3").ID) {
			d := a.Data[14:]
			list = append(list, timed{
				ingress: binary.BigEndian.Uint64(append([]byte{0, 0}, d[:6]...)), egress: binary.BigEndian.Uint64(append([]byte{0, 0}, d[6:12]...)),
				enqueued: uint64(binary.BigEndian.Uint32(d[12:])), waited: uint64(binary.BigEndian.Uint32(d[16:])),
				enqueueDepth: int(binary.BigEndian.Uint32(d[20:])), dequeueDepth: int(binary.BigEndian.Uint32(d[24:])),
				marked: d[28] == 1, color: d[29], at: a.At, length: len(a.Data) + a.Elided,
			})
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The times and depths that a program reads are those of the queue: a packet leaves when it
// is dequeued, which its arrival at the host shows, and the depths are the numbers of packets
// that were enqueued before and dequeued later. Marks follow exactly.
func TestProgramsReadTheTimesOfTheQueue(t *testing.T) {
	list := runTimed(t, "", `
packets:
- {name: a, from: h1, to: h3, size: 500B, rate: 700Mbps, poisson: true, duration: 2ms, udp: {destination: 9}}
- {name: b, from: h2, to: h3, size: 1000B, rate: 600Mbps, poisson: true, duration: 2ms, udp: {destination: 9}}
`)
	if len(list) < 300 {
		t.Fatalf("%d packets arrived", len(list))
	}
	const delay, overhead = 1000, 24 // ns of the link, bytes of preamble, gap and check sequence
	deepest, marked, ties := 0, 0, 0
	for i, p := range list {
		dequeued := p.enqueued + p.waited
		left := uint64(p.at.Nanoseconds()) - delay - uint64(p.length+overhead)*8
		if diff := int64(left) - int64(dequeued); diff < -200 || diff > 200 {
			t.Fatalf("packet %d: dequeued at %d ns by the program, at %d by its arrival", i, dequeued, left)
		}
		if p.egress < dequeued || p.egress > dequeued+1 || p.ingress > p.enqueued {
			t.Fatalf("packet %d: ingress %d, enqueued %d, dequeued %d, egress %d", i, p.ingress, p.enqueued, dequeued, p.egress)
		}
		// Of two events in the same nanosecond, either may have been first.
		var before, after [2]int
		for j, q := range list {
			if j == i {
				continue
			}
			left := q.enqueued + q.waited
			for k, w := range [2]uint64{0, 1} {
				if q.enqueued < p.enqueued+w && left+w > p.enqueued {
					before[k]++
				}
				if q.enqueued < dequeued+w && left+w > dequeued {
					after[k]++
				}
			}
		}
		if p.enqueueDepth < before[0] || p.enqueueDepth > before[1] || p.dequeueDepth < after[0] || p.dequeueDepth > after[1] {
			t.Fatalf("packet %d: depths %d and %d, want %d and %d", i, p.enqueueDepth, p.dequeueDepth, before, after)
		}
		if before != [2]int{p.enqueueDepth, p.enqueueDepth} {
			ties++
		}
		if p.marked != (p.enqueueDepth >= 10) {
			t.Fatalf("packet %d: marked %t at a depth of %d", i, p.marked, p.enqueueDepth)
		}
		deepest = max(deepest, p.enqueueDepth)
		if p.marked {
			marked++
		}
	}
	if deepest < 20 || marked == 0 || marked == len(list) || ties > len(list)/20 {
		t.Errorf("the queue had at most %d packets, %d of %d marked, %d arrived as another left", deepest, marked, len(list), ties)
	}
}

// A meter passes its rates and bursts, in virtual time: with 10,000 packets/s for half a
// second, 2,000 a second and the burst of 10 are green, and what is within 5,000 a second and
// a burst of 20 and not green is yellow.
func TestMetersHaveTheirRates(t *testing.T) {
	list := runTimed(t, "meter policer[0] = cir 2000 burst 10 pir 5000 burst 20\n", `
packets:
- {name: a, from: h1, to: h3, size: 100B, every: 100us, count: 5000, udp: {destination: 9}}
`)
	var colors [3]int
	for _, p := range list {
		if p.color > 2 {
			t.Fatalf("color %d", p.color)
		}
		colors[p.color]++
	}
	for color, want := range [3]int{1010, 1510, 2480} {
		if got := colors[color]; got < want-2 || got > want+2 {
			t.Errorf("%d packets have color %d, want %d (%v)", got, color, want, colors)
		}
	}
}
