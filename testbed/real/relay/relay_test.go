// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pauseless/pauseless/internal/packet"
)

var start = time.Unix(1000, 0)

func at(ms float64) time.Time { return start.Add(time.Duration(ms * float64(time.Millisecond))) }

// sent carries frames and notes when and where each left.
type sent struct {
	*carrier
	t    *testing.T
	left []string
}

func carry(t *testing.T, k ...Cable) *sent {
	return &sent{carrier: newCarrier(&Config{Cables: k, Seed: 1}), t: t}
}

// run lets frames leave at their times, each late by some time.
func (s *sent) run(late time.Duration) []string {
	for {
		due, ok := s.next()
		if !ok {
			return s.left
		}
		s.leave(due.Add(late), func(w *wire, data []byte) bool {
			s.left = append(s.left, fmt.Sprintf("%s to %d.%d at %vms", data, w.cable, w.to, float64(due.Sub(start))/1e6))
			return true
		})
	}
}

func (s *sent) want(got []string, want ...string) {
	s.t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		s.t.Errorf("frames left:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// A frame leaves after those before it, its own bytes and the delay; directions and
// cables do not wait for each other.
func TestDelayAndRate(t *testing.T) {
	s := carry(t, Cable{Delay: 10 * time.Millisecond, Rate: 8000, Overhead: 8}, Cable{Delay: time.Millisecond})
	s.arrive(s.wires[0], at(0), []byte("aa")) // 10 bytes at 1 byte a millisecond
	s.arrive(s.wires[0], at(1), []byte("bb"))
	s.arrive(s.wires[1], at(2), []byte("cc"))
	s.arrive(s.wires[2], at(2), []byte("dd"))
	s.arrive(s.wires[0], at(50), []byte("ee"))
	s.want(s.run(0), "dd to 1.0 at 3ms", "aa to 0.0 at 20ms", "cc to 0.1 at 22ms", "bb to 0.0 at 30ms", "ee to 0.0 at 70ms")
	if r := s.report(); r.Frames != 5 || r.Lost != 0 || r.Missed != 0 || r.LateMax != 0 {
		t.Errorf("statistics are %+v", r)
	}
}

// The kernel's times of arrival may go back, when its clock is set. Frames of one
// direction keep their order.
func TestNothingIsReordered(t *testing.T) {
	s := carry(t, Cable{Delay: 10 * time.Millisecond})
	for i, ms := range []float64{5, 3, 4, 4, 9} {
		s.arrive(s.wires[1], at(ms), fmt.Appendf(nil, "%d", i))
	}
	s.want(s.run(0), "0 to 0.1 at 15ms", "1 to 0.1 at 15ms", "2 to 0.1 at 15ms", "3 to 0.1 at 15ms", "4 to 0.1 at 19ms")
}

func TestLatenessIsReported(t *testing.T) {
	s := carry(t, Cable{Delay: 10 * time.Millisecond})
	for i := range 200 {
		s.arrive(s.wires[0], at(float64(5*i)), []byte("x"))
	}
	s.run(time.Millisecond)
	s.arrive(s.wires[0], at(10000), []byte("x"))
	s.run(5 * time.Millisecond)
	r := s.report()
	if r.LateMax != 5*time.Millisecond || r.Share != 0.5 {
		t.Errorf("statistics are %+v", r)
	}
	if r.LateP99 < time.Millisecond || float64(r.LateP99) > 1.19e6 || r.LateMean < time.Millisecond || r.LateMean > 1100*time.Microsecond {
		t.Errorf("99 %% are late by %v, the mean is %v; want just above 1ms", r.LateP99, r.LateMean)
	}
}

func TestLinkLosesItsShare(t *testing.T) {
	s := carry(t, Cable{Loss: 0.2})
	const frames = 10_000
	for i := range frames {
		s.arrive(s.wires[i%2], at(float64(i)), []byte("x"))
	}
	s.run(0)
	r := s.report()
	if r.Frames+r.Lost != frames || r.Lost < 1800 || r.Lost > 2200 {
		t.Errorf("%d of %d frames were lost, %d carried", r.Lost, frames, r.Frames)
	}
}

// A fault loses the frames of its direction, time and pair of hosts.
func TestFaults(t *testing.T) {
	frame := func(src, dst string) []byte {
		f := make([]byte, 60)
		packet.Ethernet(f).Set(packet.MAC{}, packet.MAC{}, packet.EtherTypeIPv4)
		ip := packet.IPv4(f[packet.EthernetLen:])
		ip.Set(netip.MustParseAddr(src), netip.MustParseAddr(dst), packet.ProtoUDP, 26, 0, 1, len(ip))
		return f
	}
	one, other := frame("10.0.0.1", "10.0.1.1"), frame("10.0.0.2", "10.0.1.1")
	for _, c := range []struct {
		name  string
		fault Fault
		left  int // of: one and other to end 0 at 10 and 20 ms, one to end 1 at 10 ms
	}{
		{"down", Fault{To: 0, From: at(0), Loss: 1}, 1},
		{"until", Fault{To: 0, From: at(0), Until: at(20), Loss: 1}, 3},
		{"from", Fault{To: 0, From: at(15), Loss: 1}, 3},
		{"direction", Fault{To: 1, From: at(0), Loss: 1}, 4},
		{"black hole", Fault{To: 0, From: at(0), Loss: 1, Pairs: [][2]string{{"10.0.0.1", "10.0.1.1"}}}, 3},
		{"another pair", Fault{To: 0, From: at(0), Loss: 1, Pairs: [][2]string{{"10.0.1.1", "10.0.0.1"}}}, 5},
		{"no loss", Fault{To: 0, From: at(0)}, 5},
	} {
		s := carry(t, Cable{})
		s.faults = []Fault{c.fault}
		if err := s.check(s.faults); err != nil {
			t.Fatal(err)
		}
		for _, ms := range []float64{10, 20} {
			s.arrive(s.wires[0], at(ms), one)
			s.arrive(s.wires[0], at(ms), other)
		}
		s.arrive(s.wires[1], at(10), one)
		if left := len(s.run(0)); left != c.left || s.report().Lost != uint64(5-c.left) {
			t.Errorf("%s: %d frames left, %d were lost; want %d of 5", c.name, left, s.report().Lost, c.left)
		}
	}
}

func TestFaultsOfOtherCablesAreRefused(t *testing.T) {
	r := newCarrier(&Config{Cables: make([]Cable, 2)})
	for _, f := range []Fault{{Cable: 2}, {Cable: -1}, {To: 2}, {Loss: 1.5}} {
		if r.check([]Fault{{}, f}) == nil {
			t.Errorf("%+v is accepted", f)
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	for text, want := range map[string]string{
		`{"cables": [{"interfaces": ["a", "b"], "delay_ns": 5, "rate_bps": 7, "loss": 0.5}], "control": "c"}`: "",
		`{"cables": [{"interfaces": ["a", ""]}]}`:                                                             "cable 1",
		`{"cables": [{"interfaces": ["a", "b"], "loss": 2}]}`:                                                 "cable 1",
		`{"cables": [{"interfaces": ["a", "b"], "overhead": -1}]}`:                                            "cable 1",
		`{"cables": [{"interfaces": ["a", "a"]}]}`:                                                            "cable 1: interface a is at cable 1 already",
		`{"cables": [{"interfaces": ["a", "b"]}, {"interfaces": ["c", "a"]}]}`:                                "cable 2: interface a is at cable 1 already",
		`{"cables": 3}`:    "cables is number, must be a list",
		`{"cables": null}`: "it has no cables: expected",
		`{}`:               "it has no cables: expected",
		`null`:             "it has no cables: expected",
	} {
		name := filepath.Join(t.TempDir(), "relay.json")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := ReadConfig(name)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if err == nil && (c.Cables[0].Delay != 5 || c.Cables[0].Rate != 7 || c.Control != "c") {
			t.Errorf("%+v", c)
		}
	}
}
