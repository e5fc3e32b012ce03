// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch/port"
)

// TestHostileClients measures what ten clients that behave as badly as they
// can do to a pair of ports that is none of their business: as root,
//
//	HOSTILE=10m go test ./bmv2tests/p4rt -run TestHostileClients -v -timeout 1h
//
// Windows with and without them alternate, so that the machine's other load
// is the same in both. docs/security.md has the outcome.
func TestHostileClients(t *testing.T) {
	if addr := os.Getenv("HOSTILE_ADDR"); addr != "" { // the clients' process
		beHostile(t, addr)
		return
	}
	total, err := time.ParseDuration(os.Getenv("HOSTILE"))
	if err != nil || os.Geteuid() != 0 {
		t.Skip("a measurement, as root: HOSTILE=10m")
	}
	dir := t.TempDir()
	binary := filepath.Join(dir, "pauseless")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/pauseless").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i := 1; i <= 4; i++ {
		ip(t, "link", "add", fmt.Sprint("host", i), "type", "veth", "peer", "name", fmt.Sprint("hosw", i))
		defer exec.Command("ip", "link", "del", fmt.Sprint("host", i)).Run()
		ip(t, "link", "set", fmt.Sprint("host", i), "up")
		ip(t, "link", "set", fmt.Sprint("hosw", i), "up")
	}
	addr := "127.0.0.1:29559"
	args := []string{"switch", "testdata/two_pairs.p4", "--grpc", addr, "--memory", "512MB", "--log", "error"}
	for i := 1; i <= 4; i++ {
		args = append(args, "--port", fmt.Sprintf("%d@if:hosw%d", i, i))
	}
	sw := exec.Command(binary, args...)
	sw.Stderr = os.Stderr
	if err := sw.Start(); err != nil {
		t.Fatal(err)
	}
	defer sw.Wait()
	defer sw.Process.Kill()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	m := newMeter(t)
	defer m.close()
	const window = 30 * time.Second
	quiet, bad := &tally{}, &tally{}
	for range max(1, int(total/window)) {
		m.run(quiet, window/3)
		clients := exec.Command(os.Args[0], "-test.run", "^TestHostileClients$", "-test.timeout", "1h")
		clients.Env = append(os.Environ(), "HOSTILE_ADDR="+addr, "HOSTILE_FOR="+window.String())
		clients.Stdout, clients.Stderr = os.Stderr, os.Stderr
		if err := clients.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		m.run(bad, window-2*time.Second)
		clients.Process.Kill()
		clients.Wait()
		time.Sleep(time.Second)
	}
	t.Logf("switch: %d MB at most", peakMB(sw.Process.Pid))
	t.Logf("quiet:   %v", quiet)
	t.Logf("hostile: %v", bad)
	ratio := float64(bad.at(0.99)) / float64(quiet.at(0.99))
	t.Logf("p99 grew by %.2f, p50 by %.2f", ratio, float64(bad.at(0.5))/float64(quiet.at(0.5)))
	if bad.sent != bad.got {
		t.Errorf("%d of %d packets were lost", bad.sent-bad.got, bad.sent)
	}
	if ratio > 3 {
		t.Errorf("p99 grew by %.2f, more than 3", ratio)
	}
	if mb := peakMB(sw.Process.Pid); mb > 512 {
		t.Errorf("the switch took %d MB, more than its 512", mb)
	}
}

func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %v: %v %s", args, err, out)
	}
}

func peakMB(pid int) int {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.Atoi(strings.Fields(rest)[0])
			return kb >> 10
		}
	}
	return 0
}

// tally is what came through in windows of one kind.
type tally struct {
	sent, got int
	latency   []time.Duration
}

func (y *tally) at(q float64) time.Duration {
	slices.Sort(y.latency)
	return y.latency[min(int(q*float64(len(y.latency))), len(y.latency)-1)]
}

func (y *tally) String() string {
	return fmt.Sprintf("%d sent, %d came, p50 %v, p99 %v, p99.9 %v", y.sent, y.got, y.at(0.5), y.at(0.99), y.at(0.999))
}

// meter sends packets into port 3 and takes them from port 4.
type meter struct {
	t     *testing.T
	links map[int]port.Link
	seq   uint64
}

func newMeter(t *testing.T) *meter {
	var specs []port.Spec
	for _, i := range []int{3, 4} {
		s, err := port.ParseSpec(fmt.Sprintf("%d@if:host%d", i, i))
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, s)
	}
	links, err := port.Open(specs)
	if err != nil {
		t.Fatal(err)
	}
	return &meter{t: t, links: links}
}

func (m *meter) close() {
	for _, l := range m.links {
		l.Close()
	}
}

// run sends 1000 packets a second for some time.
func (m *meter) run(y *tally, d time.Duration) {
	first := m.seq
	begun := time.Now()
	var both sync.WaitGroup
	stop := make(chan struct{})
	var mu sync.Mutex
	var seen []time.Duration
	both.Go(func() {
		for {
			b := port.NewBatch()
			if err := m.links[4].Read(b); err != nil {
				if !errors.Is(err, net.ErrClosed) {
					m.t.Error(err)
				}
				return
			}
			now := time.Since(begun)
			mu.Lock()
			last := false
			for i := range b.Len() {
				f := b.Frame(i)
				if len(f) < 34 || binary.BigEndian.Uint16(f[12:]) != 0x88b5 {
					continue
				}
				if seq := binary.BigEndian.Uint64(f[18:]); seq == ^uint64(0) {
					last = true
				} else if seq >= first {
					seen = append(seen, now-time.Duration(binary.BigEndian.Uint64(f[26:])))
				}
			}
			mu.Unlock()
			if last {
				return
			}
		}
	})
	frame := func(seq uint64) []*packet.Frame {
		f := make([]byte, 100)
		copy(f, []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5})
		binary.BigEndian.PutUint64(f[18:], seq)
		binary.BigEndian.PutUint64(f[26:], uint64(time.Since(begun)))
		return []*packet.Frame{{Data: f}}
	}
	tick := time.NewTicker(time.Millisecond)
	for time.Since(begun) < d {
		<-tick.C
		if err := m.links[3].Write(frame(m.seq)); err != nil {
			m.t.Fatal(err)
		}
		m.seq++
		y.sent++
	}
	tick.Stop()
	time.Sleep(500 * time.Millisecond) // what is late may come
	m.links[3].Write(frame(^uint64(0)))
	close(stop)
	both.Wait()
	y.got += len(seen)
	y.latency = append(y.latency, seen...)
}

// beHostile is ten clients at once.
func beHostile(t *testing.T, addr string) {
	syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19) // their own processor time is not the switch's
	d, err := time.ParseDuration(os.Getenv("HOSTILE_FOR"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	r, list := compiler.Compile(compiler.Options{File: "testdata/two_pairs.p4"})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	cfg := &p4v1.ForwardingPipelineConfig{P4Info: r.P4Info, P4DeviceConfig: bmv2json.Encode(r.Program)}
	table, act := r.P4Info.Tables[1].Preamble.Id, uint32(0)
	for _, a := range r.P4Info.Actions {
		if strings.HasSuffix(a.Preamble.Name, "nothing") {
			act = a.Preamble.Id
		}
	}
	entry := func(k uint64) *p4v1.TableEntry {
		return &p4v1.TableEntry{TableId: table, Match: []*p4v1.FieldMatch{exact(1, k)}, Action: &p4v1.TableAction{Type: &p4v1.TableAction_Action{
			Action: &p4v1.Action{ActionId: act, Params: []*p4v1.Action_Param{{ParamId: 1, Value: short(k)}}}}}}
	}
	behaviours := []func(client p4v1.P4RuntimeClient, n int){
		func(c p4v1.P4RuntimeClient, n int) { // the largest batches of a role of his own
			role := fmt.Sprint("writer", n)
			stream, err := c.StreamChannel(ctx)
			if err != nil {
				return
			}
			stream.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: &p4v1.MasterArbitrationUpdate{DeviceId: 1, Role: &p4v1.Role{Name: role}, ElectionId: uint128(1)}}})
			stream.Recv()
			for k := uint64(0); ctx.Err() == nil; k += 50_000 {
				w := &p4v1.WriteRequest{DeviceId: 1, Role: role, ElectionId: uint128(1)}
				for i := range uint64(50_000) {
					w.Updates = append(w.Updates, insert(entry(k+i)))
				}
				c.Write(ctx, w)
			}
		},
		func(c p4v1.P4RuntimeClient, _ int) { // reads all, and takes nothing
			for range 8 {
				s, err := c.Read(ctx, &p4v1.ReadRequest{DeviceId: 1, Entities: []*p4v1.Entity{{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{}}}}})
				if err == nil {
					s.Recv()
				}
			}
			time.Sleep(time.Second)
		},
		func(c p4v1.P4RuntimeClient, _ int) { // reads all, and takes it
			s, err := c.Read(ctx, &p4v1.ReadRequest{DeviceId: 1, Entities: []*p4v1.Entity{{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{}}}}})
			for err == nil {
				_, err = s.Recv()
			}
		},
		func(c p4v1.P4RuntimeClient, n int) { // roles with long names
			s, err := c.StreamChannel(ctx)
			if err != nil {
				return
			}
			s.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: &p4v1.MasterArbitrationUpdate{DeviceId: 1,
				Role: &p4v1.Role{Name: strings.Repeat("x", n%100_000)}, ElectionId: uint128(uint64(n + 1))}}})
			s.Recv()
			s.CloseSend()
		},
		func(c p4v1.P4RuntimeClient, n int) { // large messages of somebody who may not
			c.Write(ctx, &p4v1.WriteRequest{DeviceId: 1, ElectionId: uint128(1), Updates: slices.Repeat([]*p4v1.Update{insert(entry(uint64(n)))}, 100_000)})
		},
		func(c p4v1.P4RuntimeClient, _ int) { // has programs compiled
			c.SetForwardingPipelineConfig(ctx, &p4v1.SetForwardingPipelineConfigRequest{DeviceId: 1, ElectionId: uint128(1), Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY, Config: cfg})
		},
		func(c p4v1.P4RuntimeClient, _ int) { // messages on a stream, whose answers nobody reads
			s, err := c.StreamChannel(ctx)
			for i := 0; err == nil && i < 10_000; i++ {
				err = s.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Packet{Packet: &p4v1.PacketOut{Payload: make([]byte, 1000)}}})
			}
		},
		func(_ p4v1.P4RuntimeClient, _ int) { // connections
			var list []net.Conn
			for range 200 {
				if c, err := net.Dial("tcp", addr); err == nil {
					list = append(list, c)
				}
			}
			time.Sleep(200 * time.Millisecond)
			for _, c := range list {
				c.Close()
			}
		},
		func(_ p4v1.P4RuntimeClient, n int) { // what is no HTTP/2
			if c, err := net.Dial("tcp", addr); err == nil {
				c.SetDeadline(time.Now().Add(time.Second))
				c.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
				b := make([]byte, 1<<16)
				for i := range b {
					b[i] = byte(i * (n + 7))
				}
				c.Write(b)
				c.Close()
			}
		},
		func(c p4v1.P4RuntimeClient, n int) { // bids, one higher than the other
			s, err := c.StreamChannel(ctx)
			for i := uint64(0); err == nil && i < 1000; i++ {
				err = s.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: &p4v1.MasterArbitrationUpdate{DeviceId: 1,
					Role: &p4v1.Role{Name: fmt.Sprint("bidder", n%50)}, ElectionId: uint128(i + 1)}}})
			}
		},
	}
	var all sync.WaitGroup
	only := os.Getenv("HOSTILE_ONLY") // numbers of those that take part, "0 4"; all if empty
	for i, f := range behaviours {
		if only != "" && !slices.Contains(strings.Fields(only), strconv.Itoa(i)) {
			continue
		}
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
				if err != nil {
					return
				}
				f(p4v1.NewP4RuntimeClient(conn), n)
				conn.Close()
				time.Sleep(time.Millisecond)
			}
		})
	}
	all.Wait()
}
