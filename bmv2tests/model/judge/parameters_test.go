// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"math"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/gen"
	clb "github.com/pauseless/pauseless/gen/schemes/clb/model"
	rlb "github.com/pauseless/pauseless/gen/schemes/rlb/model"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Defaults of parameters follow from the network as in the papers.
func TestDefaultsFollowThePapers(t *testing.T) {
	for _, n := range []manifest.Network{
		{Rate: 40 * vtime.Gbps, Delay: 2 * vtime.Microsecond, Hops: 2, FanIn: 15, XOFF: 256 * vtime.KB, MTU: 1100}, // RLB, section VI
		{Rate: 40 * vtime.Gbps, Delay: 2 * vtime.Microsecond, Hops: 2, FanIn: 40, XOFF: 256 * vtime.KB, MTU: 1100},
		{Rate: 40 * vtime.Gbps, Delay: 5 * vtime.Microsecond, Hops: 2, FanIn: 2, XOFF: 256 * vtime.KB, MTU: 1100}, // CLB, section 4
		{Rate: 10 * vtime.Gbps, Delay: 5 * vtime.Microsecond, Hops: 4, FanIn: 16, XOFF: 512 * vtime.KB, MTU: 1500},
		{Rate: 100 * vtime.Gbps, Delay: vtime.Microsecond, Hops: 4, FanIn: 8, XOFF: 500 * vtime.KB, MTU: 9000},
	} {
		value := func(name string) float64 {
			profile := "rlb-drill"
			if block, _, _ := strings.Cut(name, "."); block == "clb" || block == "plb" {
				profile = block
			}
			p, err := gen.Builtin(profile)
			if err != nil {
				t.Fatal(err)
			}
			out, err := gen.Generate(p, "v1model")
			if err != nil {
				t.Fatal(err)
			}
			v, err := out.Manifest.Value(name, n)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		dC := int64(n.Rate.Bytes(n.Delay))
		same := func(name string, want float64) {
			if got := value(name); math.Abs(got-want) > want*1e-9 {
				t.Errorf("%v, %v, fan-in %d: %s is %v, want %v", n.Rate, n.Delay, n.FanIn, name, got, want)
			}
		}
		ns := float64(n.Delay) / float64(vtime.Nanosecond)
		low, _ := rlb.Eq3(int64(n.XOFF), dC, int64(n.FanIn))
		qth := rlb.WarningThreshold(int64(n.XOFF), dC, int64(n.FanIn))
		same("rlb.floor", float64(low))
		same("rlb.warn", float64(qth))
		same("rlb.calm", float64(qth)/2)
		same("rlb.xoff", float64(n.XOFF))
		same("rlb.interval", ns)
		same("rlb.horizon", 2*ns)
		same("clb.interval", ns)
		if got := int64(value("clb.threshold")); got != clb.DefaultQthr(int64(n.XOFF)) {
			t.Errorf("Q_thr is %d of %d", got, n.XOFF)
		}
		// PLB: "20-40 µs plus the base RTT".
		if extra := value("plb.rtt_low") - value("rtt.interval"); extra < 20_000 || extra > 40_000 {
			t.Errorf("RTT_low is the base RTT and %v ns", extra)
		}
	}
}

// The factors that replace divisions are exact to one in a thousand, and for Eq. 5 to
// the packet.
func TestArgumentsAreExactEnough(t *testing.T) {
	p, err := gen.Builtin("rlb-adaptive-drill")
	if err != nil {
		t.Fatal(err)
	}
	out, err := gen.Generate(p, "v1model")
	if err != nil {
		t.Fatal(err)
	}
	for _, rate := range []vtime.Rate{vtime.Gbps, 10 * vtime.Gbps, 25 * vtime.Gbps, 40 * vtime.Gbps, 100 * vtime.Gbps, 400 * vtime.Gbps} {
		n := p.Network
		n.Rate = rate
		arg := func(table, name string) float64 {
			args, err := out.Manifest.Args(table, n, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, a := range args {
				if a.Name == name {
					return float64(a.Value)
				}
			}
			t.Fatalf("%s has no argument %s", table, name)
			return 0
		}
		bytesPerNs := float64(rate) / 8e9
		inflow := float64(n.FanIn-1) * bytesPerNs * 1024
		if got := arg("Stoprecir", "inflow"); math.Abs(got-inflow) > inflow/1000+0.5 {
			t.Errorf("%v: (n-1)·C is %v, want %v", rate, got, inflow)
		}
		per := int64(arg("Stoprecir", "per_mtu"))
		for room := int64(0); room < int64(n.XOFF); room += 7 {
			if got := room * per >> 32; got != room/int64(n.MTU) {
				t.Fatalf("%d bytes are %d packets of %d", room, got, n.MTU)
			}
		}
	}
}
