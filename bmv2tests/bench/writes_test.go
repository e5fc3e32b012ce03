// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/packet"
)

// Parameters of BenchmarkWrites.
const (
	writeBatch = 1000   // entries
	writeFirst = 10_000 // entries before packets are sent, which look up these
	writeTTL   = 255
	writeRate  = "100Mbps" // of both ports: 142,000 packets a second through each
	writeFeed  = 12        // packets, every 10 ms; each passes the switch 254 times
)

// BenchmarkWrites starts a switch in its own process, with a cable between its two
// ports, and fills its table over loopback gRPC while packets circulate and are
// looked up in the same table.
func BenchmarkWrites(b *testing.B) {
	const entries = 1_000_000
	self := filepath.Join(b.TempDir(), "pauseless")
	if out, err := exec.Command("go", "build", "-o", self, "../../cmd/pauseless").CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	r := compileCase(b, Case{Name: "writes", Program: "router", Defines: []string{"MATCH=exact"}})
	for b.Loop() {
		if err := fill(b, self, r, entries); err != nil {
			b.Fatal(err)
		}
	}
}

func fill(b *testing.B, self string, r *compiler.Result, entries int) (err error) {
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Minute)
	defer cancel()
	child, err := startChild(ctx, self)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, child.stop()) }()
	w, err := newWriter(ctx, child.grpc, r.P4Info)
	if err != nil {
		return err
	}
	defer w.conn.Close()
	_, err = w.client.SetForwardingPipelineConfig(ctx, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: 1, ElectionId: writerElection, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
		Config: &p4v1.ForwardingPipelineConfig{P4Info: r.P4Info, P4DeviceConfig: bmv2json.Encode(r.Program)},
	})
	if err != nil {
		return err
	}
	idle, err := child.memory("VmRSS")
	if err != nil {
		return err
	}
	if err := w.nextHops(ctx); err != nil {
		return err
	}
	first := min(writeFirst, entries)
	if _, err := w.routes(ctx, 0, first); err != nil {
		return err
	}
	stop := w.packets(first)
	before, err := child.received(ctx)
	if err != nil {
		return err
	}
	took, err := w.routes(ctx, first, entries)
	if err != nil {
		return err
	}
	after, err := child.received(ctx)
	if err := errors.Join(err, stop()); err != nil {
		return err
	}
	peak, err := child.memory("VmHWM")
	if err != nil {
		return err
	}
	b.ReportMetric(float64(entries-first)/took.Seconds(), "entries/s")
	b.ReportMetric((after-before)/took.Seconds(), "packets/s")
	b.ReportMetric(float64(peak>>20), "MiB")
	b.ReportMetric(float64(idle>>20), "MiB-before")
	return nil
}

// child is a switch in its own process.
type child struct {
	cmd        *exec.Cmd
	grpc, http string // addresses
}

func startChild(ctx context.Context, self string) (*child, error) {
	c := &child{cmd: exec.CommandContext(ctx, self, "switch", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0",
		"--port", "1@mem:ring", "--port", "2@mem:ring", "--rate", "1="+writeRate, "--rate", "2="+writeRate)}
	log, err := c.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(log)
	var said strings.Builder
	for (c.grpc == "" || c.http == "") && lines.Scan() {
		fmt.Fprintln(&said, lines.Text())
		if _, at, ok := strings.Cut(lines.Text(), "address="); ok {
			at, _, _ = strings.Cut(at, " ")
			if strings.Contains(lines.Text(), "P4Runtime") {
				c.grpc = at
			} else {
				c.http = at
			}
		}
	}
	if c.grpc == "" || c.http == "" {
		return nil, errors.Join(fmt.Errorf("the switch did not start: %s", said.String()), c.stop())
	}
	go io.Copy(io.Discard, log)
	return c, nil
}

func (c *child) stop() error {
	err := c.cmd.Process.Signal(os.Interrupt)
	if waited := c.cmd.Wait(); err == nil {
		err = waited
	}
	return err
}

// memory returns a line of the process's status file, in bytes.
func (c *child) memory(name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("memory of the switch's process: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kb << 10, err
		}
	}
	return 0, fmt.Errorf("the status file of the switch's process has no %s", name)
}

// received returns the number of packets that the switch has received.
func (c *child) received(ctx context.Context) (float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+c.http+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("softswitch_received_packets_total ")); ok {
			return strconv.ParseFloat(strings.TrimSpace(string(rest)), 64)
		}
	}
	return 0, errors.New("the switch's metrics have no softswitch_received_packets_total")
}

// writer is a controller that fills the router's tables.
type writer struct {
	conn   *grpc.ClientConn
	client p4v1.P4RuntimeClient
	stream p4v1.P4Runtime_StreamChannelClient
	ids    map[string]uint32 // of tables and actions
}

var writerElection = &p4v1.Uint128{Low: 1}

func newWriter(ctx context.Context, address string, info *p4configv1.P4Info) (*writer, error) {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	w := &writer{conn: conn, client: p4v1.NewP4RuntimeClient(conn), ids: map[string]uint32{}}
	for _, t := range info.Tables {
		w.ids[t.Preamble.Name] = t.Preamble.Id
	}
	for _, a := range info.Actions {
		w.ids[a.Preamble.Name] = a.Preamble.Id
	}
	w.stream, err = w.client.StreamChannel(ctx)
	if err == nil {
		err = w.stream.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{
			Arbitration: &p4v1.MasterArbitrationUpdate{DeviceId: 1, ElectionId: writerElection}}})
	}
	if err == nil {
		_, err = w.stream.Recv()
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return w, nil
}

// entry is an exact entry of a table.
func (w *writer) entry(table, action string, key []byte, params ...[]byte) *p4v1.Update {
	a := &p4v1.Action{ActionId: w.ids[action]}
	for i, p := range params {
		a.Params = append(a.Params, &p4v1.Action_Param{ParamId: uint32(i + 1), Value: p})
	}
	return &p4v1.Update{Type: p4v1.Update_INSERT, Entity: &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{
		TableId: w.ids[table],
		Match:   []*p4v1.FieldMatch{{FieldId: 1, FieldMatchType: &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: key}}}},
		Action:  &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: a}},
	}}}}
}

func (w *writer) write(ctx context.Context, updates []*p4v1.Update) error {
	_, err := w.client.Write(ctx, &p4v1.WriteRequest{DeviceId: 1, ElectionId: writerElection, Updates: updates})
	return err
}

func (w *writer) nextHops(ctx context.Context) error {
	var updates []*p4v1.Update
	for port := byte(1); port <= 2; port++ {
		updates = append(updates, w.entry("Route.next_hops", "Route.forward", []byte{port}, []byte{port}, []byte{2}, []byte{4}))
	}
	return w.write(ctx, updates)
}

// routes writes the routes between two numbers and returns the time it took.
func (w *writer) routes(ctx context.Context, from, to int) (time.Duration, error) {
	start := time.Now()
	for from < to {
		var updates []*p4v1.Update
		for ; from < to && len(updates) < writeBatch; from++ {
			key := binary.BigEndian.AppendUint32(nil, writeAddr(from))
			updates = append(updates, w.entry("Route.routes", "Route.route", key, []byte{byte(from%2 + 1)}))
		}
		if err := w.write(ctx, updates); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// writeAddr is the address of a route.
func writeAddr(i int) uint32 { return 10<<24 + uint32(i) }

// packets feeds the switch packets to the first routes until stop is called.
func (w *writer) packets(routes int) (stop func() error) {
	done := make(chan struct{})
	var fed sync.WaitGroup
	var err error
	fed.Go(func() {
		rng := rand.New(rand.NewPCG(1, 1))
		data := make([]byte, 64)
		packet.Ethernet(data).Set(packet.MAC{2}, packet.MAC{4}, packet.EtherTypeIPv4)
		ip := packet.IPv4(data[packet.EthernetLen:])
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			for range writeFeed {
				to := [4]byte(binary.BigEndian.AppendUint32(nil, writeAddr(rng.IntN(routes))))
				ip.Set(netip.MustParseAddr("192.0.2.1"), netip.AddrFrom4(to), packet.ProtoUDP, 0, packet.ECT0, 0, len(ip))
				ip[8] = writeTTL
				ip.UpdateChecksum()
				if err = w.stream.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Packet{Packet: &p4v1.PacketOut{Payload: bytes.Clone(data)}}}); err != nil {
					return
				}
			}
		}
	})
	return func() error {
		close(done)
		fed.Wait()
		return err
	}
}
