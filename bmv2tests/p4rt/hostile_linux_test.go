// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"bytes"
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
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/testbed/real/netns"
)

// TestHostileClients measures the effect of ten hostile clients on a pair of ports
// that they do not control. Run it as root:
//
//	HOSTILE=10m go test ./bmv2tests/p4rt -run TestHostileClients -v -timeout 1h
//
// Windows with and without clients alternate, so that other load of the machine is
// the same in both. Under high load the clients get no processor time and have no
// effect: then run the test with nice -n -15, and HOSTILE_NICE=-7 for the clients.
// docs/security.md has the results.
func TestHostileClients(t *testing.T) {
	if addr := os.Getenv("HOSTILE_ADDR"); addr != "" { // the clients' process
		beHostile(t, addr)
		return
	}
	total, err := time.ParseDuration(os.Getenv("HOSTILE"))
	if err != nil || os.Geteuid() != 0 {
		t.Skip("SKIP: a measurement: set HOSTILE=10m, as root")
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
	addr := need.Port(t)
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
	if !need.Poll(func() bool { return listens(addr) }) {
		t.Fatalf("the switch does not listen at %s", addr)
	}
	const window = 30 * time.Second
	quiet, bad := &tally{}, &tally{}
	var worked time.Duration // processor time of the switch with clients
	for range max(1, int(total/window)) {
		quiet.run(t, window/3)
		clients := exec.Command(os.Args[0], "-test.run", "^TestHostileClients$", "-test.timeout", "1h")
		clients.Env = append(os.Environ(), "HOSTILE_ADDR="+addr, "HOSTILE_FOR="+window.String())
		clients.Stdout, clients.Stderr = os.Stderr, os.Stderr
		if err := clients.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		before := processorTime(t, sw.Process.Pid)
		bad.run(t, window-2*time.Second)
		worked += processorTime(t, sw.Process.Pid) - before
		clients.Process.Kill()
		clients.Wait()
		time.Sleep(time.Second)
	}
	t.Logf("switch: %d MB at most", peakMB(sw.Process.Pid))
	t.Logf("the clients had it work for %v", worked)
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

// processorTime returns the processor time of a process.
func processorTime(t *testing.T, pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * time.Second / 100 // USER_HZ
}

// tally has the received packets of all windows of one kind.
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

// run sends 1000 packets a second into port 3 for some time. Their latency is the
// time from sending to the switch to receiving from port 4, by the kernel's time
// stamps. The scheduling of this process does not affect it.
func (y *tally) run(t *testing.T, d time.Duration) {
	into, _, sent := watch(t, "host3", true)
	_, last, came := watch(t, "host4", false)
	frame := make([]byte, 100)
	copy(frame, []byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5})
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	seq := uint64(0)
	for begun := time.Now(); time.Since(begun) < d; seq++ {
		<-tick.C
		binary.BigEndian.PutUint64(frame[18:], seq)
		if err := into.Send(frame); err != nil {
			t.Fatal(err)
		}
	}
	// The last packet comes after all others. If it is lost, late ones have had time.
	need.Poll(func() bool { return last.Load() == seq-1 })
	left, right := sent(), came()
	for seq, at := range left {
		y.sent++
		if to, ok := right[seq]; ok {
			y.got++
			y.latency = append(y.latency, to.Sub(at))
		}
	}
	if uint64(len(left)) != seq {
		t.Errorf("of %d packets the kernel has sent %d", seq, len(left))
	}
}

// watch opens an interface and records when it sends or receives our frames: last is
// the number of the last one. The returned function stops this and returns the times by
// frame number.
func watch(t *testing.T, name string, out bool) (into *netns.Socket, last *atomic.Uint64, end func() map[uint64]time.Time) {
	t.Helper()
	s, err := netns.Open("", name)
	if err != nil {
		t.Fatal(err)
	}
	if into, err = netns.Open("", name); err != nil { // a socket does not see what it sends
		t.Fatal(err)
	}
	times := map[uint64]time.Time{}
	last = new(atomic.Uint64)
	ctx, cancel := context.WithCancel(t.Context())
	var reader sync.WaitGroup
	reader.Go(func() {
		if err := s.Each(ctx, func(c netns.Captured) bool {
			if c.Out == out && len(c.Data) >= 34 && binary.BigEndian.Uint16(c.Data[12:]) == 0x88b5 {
				seq := binary.BigEndian.Uint64(c.Data[18:])
				times[seq] = c.Time
				last.Store(seq)
			}
			return true
		}); err != nil {
			t.Error(err)
		}
	})
	return into, last, func() map[uint64]time.Time {
		cancel()
		reader.Wait()
		if n := s.Missed(); n > 0 {
			t.Errorf("the meter has missed %d frames of %s", n, name)
		}
		if err := errors.Join(s.Close(), into.Close()); err != nil {
			t.Error(err)
		}
		return times
	}
}

// listens reports whether a server takes connections.
func listens(addr string) bool {
	c, err := net.Dial("tcp", addr)
	if err == nil {
		c.Close()
	}
	return err == nil
}

// rest waits, until ctx is done at most.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// beHostile runs ten clients at once.
func beHostile(t *testing.T, addr string) {
	nice := 19 // their own processor time is not the switch's
	if text := os.Getenv("HOSTILE_NICE"); text != "" {
		var err error
		if nice, err = strconv.Atoi(text); err != nil {
			t.Fatalf("HOSTILE_NICE=%s is no nice value", text)
		}
	}
	syscall.Setpriority(syscall.PRIO_PROCESS, 0, nice)
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
		func(c p4v1.P4RuntimeClient, n int) { // the largest batches, in its own role
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
		func(c p4v1.P4RuntimeClient, _ int) { // reads all entities, without receiving the answers
			for range 8 {
				s, err := c.Read(ctx, &p4v1.ReadRequest{DeviceId: 1, Entities: []*p4v1.Entity{{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{}}}}})
				if err == nil {
					s.Recv()
				}
			}
			rest(ctx, time.Second)
		},
		func(c p4v1.P4RuntimeClient, _ int) { // reads all entities, and receives the answers
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
		func(c p4v1.P4RuntimeClient, n int) { // large messages without permission to write
			c.Write(ctx, &p4v1.WriteRequest{DeviceId: 1, ElectionId: uint128(1), Updates: slices.Repeat([]*p4v1.Update{insert(entry(uint64(n)))}, 100_000)})
		},
		func(c p4v1.P4RuntimeClient, _ int) { // sends programs to compile
			c.SetForwardingPipelineConfig(ctx, &p4v1.SetForwardingPipelineConfigRequest{DeviceId: 1, ElectionId: uint128(1), Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY, Config: cfg})
		},
		func(c p4v1.P4RuntimeClient, _ int) { // messages on a stream, without reading the answers
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
			rest(ctx, 200*time.Millisecond)
			for _, c := range list {
				c.Close()
			}
		},
		func(_ p4v1.P4RuntimeClient, n int) { // data that is not HTTP/2
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
		func(c p4v1.P4RuntimeClient, n int) { // increasing election ids
			s, err := c.StreamChannel(ctx)
			for i := uint64(0); err == nil && i < 1000; i++ {
				err = s.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{Arbitration: &p4v1.MasterArbitrationUpdate{DeviceId: 1,
					Role: &p4v1.Role{Name: fmt.Sprint("bidder", n%50)}, ElectionId: uint128(i + 1)}}})
			}
		},
	}
	var all sync.WaitGroup
	only := os.Getenv("HOSTILE_ONLY") // numbers of the clients to run, such as "0 4"; all if empty
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
				rest(ctx, time.Millisecond)
			}
		})
	}
	all.Wait()
}
