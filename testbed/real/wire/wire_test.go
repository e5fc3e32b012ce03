// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// cable is one end of a cable in memory.
type cable struct {
	mtu  int // zero: any
	in   chan []byte
	peer *cable
	lose func(frame []byte) bool
	once sync.Once
	gone chan struct{}
}

func newCable() (a, b *cable) {
	a = &cable{in: make(chan []byte, 1<<14), gone: make(chan struct{})}
	b = &cable{in: make(chan []byte, 1<<14), gone: make(chan struct{}), peer: a}
	a.peer = b
	return a, b
}

func (c *cable) Send(frame []byte) error {
	if c.lose != nil && c.lose(frame) {
		return nil
	}
	select {
	case c.peer.in <- bytes.Clone(frame):
	case <-c.peer.gone:
	}
	return nil
}

func (c *cable) MTU() int              { return c.mtu }
func (c *cable) Frames() <-chan []byte { return c.in }

func (c *cable) Close() error {
	c.once.Do(func() { close(c.gone) })
	return nil
}

func config(t testing.TB, host string) Config {
	t.Helper()
	net, err := topo.Parse("t.yaml", []byte("dumbbell: {left: 1, right: 1, rate: 40Gbps, delay: 2us}"))
	if err != nil {
		t.Fatal(err)
	}
	hosts := roce.Papers.Defaults()
	hosts.CC.Algorithm = "dcqcn"
	return Config{
		Topology: net, Host: net.NodeByName(host).ID, Hosts: hosts, Scale: 200, Epoch: time.Now(),
		Flows: []fabric.Flow{
			{Src: 0, Dst: 1, Size: 50_500, Class: 3, Start: 10 * vtime.Microsecond},
			{Src: 1, Dst: 0, Size: 3, Class: 3},
			{Src: 0, Dst: 1, Size: 100_000, Class: 3},
		},
	}
}

// both runs a host at either end of a cable until all flows are done.
func both(t *testing.T, a, b Port, change func(*Config)) [2]*Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var reports [2]*Report
	var wg sync.WaitGroup
	epoch := time.Now()
	var unfinished atomic.Int64
	unfinished.Store(2)
	allDone := make(chan struct{})
	for i, port := range []Port{a, b} {
		cfg := config(t, []string{"h1", "h2"}[i])
		cfg.Epoch, cfg.Stay = epoch, allDone
		cfg.Finished = func() {
			if unfinished.Add(-1) == 0 {
				close(allDone)
			}
		}
		if change != nil {
			change(&cfg)
		}
		wg.Go(func() {
			defer port.Close()
			var err error
			if reports[i], err = Run(ctx, cfg, port); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	return reports
}

func TestFlowsInWallTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newCable()
		r := both(t, a, b, nil)
		if len(r[0].Outgoing) != 2 || len(r[0].Incoming) != 1 || len(r[1].Outgoing) != 1 || len(r[1].Incoming) != 2 {
			t.Fatalf("%+v\n%+v", r[0], r[1])
		}
		for _, rep := range r {
			for _, o := range rep.Outgoing {
				if o.FCTNS == 0 || o.Resent < 0 {
					t.Errorf("%s: %+v", rep.Host, o)
				}
			}
			if rep.Partial || rep.Unknown != 0 {
				t.Errorf("%+v", rep)
			}
		}
		if in := r[1].Incoming; in[0].Flow != 1 || in[0].Delivered != 51 || in[1].Flow != 3 || in[1].Delivered != 100 || in[0].EndNS == 0 {
			t.Errorf("%+v", in)
		}
	})
}

func TestLostPacketsAreRetransmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newCable()
		n := 0
		a.lose = func([]byte) bool { n++; return n%20 == 7 }
		r := both(t, a, b, func(c *Config) { c.Hosts.RTO = 100 * vtime.Microsecond })
		if o := r[0].Outgoing[1]; r[0].Partial || o.Resent == 0 || r[1].Incoming[1].OutOfOrder == 0 {
			t.Errorf("%+v\n%+v", r[0], r[1])
		}
	})
}

func TestElidedPayloadIsOnTheWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newCable()
		var frames [][]byte
		a.lose = func(f []byte) bool {
			frames = append(frames, bytes.Clone(f))
			return false
		}
		both(t, a, b, nil)
		for _, f := range frames {
			ip := packet.FindIPv4(f)
			if ip == nil || ip.TotalLen() != len(f)-packet.EthernetLen || !ip.ChecksumOK() {
				t.Fatalf("frame of %d bytes: %x", len(f), f[:min(len(f), 60)])
			}
		}
	})
}

func TestStoppedHostReturnsAPartialReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := newCable()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		r, err := Run(ctx, config(t, "h1"), a)
		if err != nil || !r.Partial || len(r.Outgoing) != 2 {
			t.Fatalf("%+v, %v", r, err)
		}
		var table, doc bytes.Buffer
		if err := r.WriteTable(&table); err != nil || !strings.Contains(table.String(), "unfinished") || !strings.Contains(table.String(), "stopped before all flows were done") {
			t.Errorf("%v\n%s", err, &table)
		}
		if err := r.WriteJSON(&doc); err != nil {
			t.Fatal(err)
		}
		var back Report
		if err := json.Unmarshal(doc.Bytes(), &back); err != nil || !back.Partial || back.Host != "h1" {
			t.Errorf("%v: %s", err, &doc)
		}
	})
}

func TestConfigurationIsChecked(t *testing.T) {
	a, _ := newCable()
	for want, change := range map[string]func(*Config){
		"scale is 0":            func(c *Config) { c.Scale = 0 },
		"mtu is 1":              func(c *Config) { c.Hosts.MTU = 1 },
		"no congestion control": func(c *Config) { c.Hosts.CC.Algorithm = "x" },
		"flow 1: size 0":        func(c *Config) { c.Flows[0].Size = 0 },
	} {
		cfg := config(t, "h1")
		change(&cfg)
		if _, err := Run(context.Background(), cfg, a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// Hosts fill the packets that their interface carries, and do not send longer ones.
func TestHostsTakeTheMTUOfTheInterface(t *testing.T) {
	for _, c := range []struct {
		mtu, iface, want int
		algorithm, err   string
	}{
		{0, 1500, 1456, "none", ""}, {0, 9000, 8956, "none", ""}, {0, 1500, 1414, "hpcc", ""}, {0, 65536, roce.MaxMTU, "none", ""},
		{0, 0, 1000, "none", ""}, {1000, 1500, 1000, "none", ""}, {1456, 1500, 1456, "none", ""},
		{4096, 1500, 0, "none", "packets have up to 4140 bytes, and the interface's MTU is 1500: set the hosts' mtu to at most 1456"},
		{0, 100, 0, "none", "too small for RoCEv2 packets"},
	} {
		cfg := Config{Hosts: roce.Papers.Defaults()}
		cfg.Hosts.MTU, cfg.Hosts.CC.Algorithm = c.mtu, c.algorithm
		err := cfg.fit(c.iface)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("mtu %d on %d: got %v, want %q", c.mtu, c.iface, err, c.err)
			}
		} else if err != nil || cfg.Hosts.MTU != c.want {
			t.Errorf("mtu %d on %d: %d, %v; want %d", c.mtu, c.iface, cfg.Hosts.MTU, err, c.want)
		}
	}
}
