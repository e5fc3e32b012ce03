// SPDX-License-Identifier: Apache-2.0

// Package goclient tests `pauseless switch` with a public controller library,
// antoninbas/p4runtime-go-client, unchanged. It is a separate module because that
// library needs an older p4lang/p4runtime.
package goclient

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/antoninbas/p4runtime-go-client/pkg/client"
	"github.com/antoninbas/p4runtime-go-client/pkg/util/conversion"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
)

const (
	program  = "../p4rt/testdata/clauses.p4"
	device   = 1
	cpuPort  = 510
	patience = 2 * time.Minute
)

// binary is the program under test: make test builds it.
func binary(t *testing.T) string {
	t.Helper()
	name := os.Getenv("PAUSELESS")
	if name == "" {
		name = filepath.Join("..", "..", "bin", "pauseless")
	}
	if _, err := os.Stat(name); err != nil {
		t.Fatalf("%v: make build comes first", err)
	}
	return name
}

// controller is a client of a switch with the program.
type controller struct {
	*client.Client
	t        *testing.T
	conn     *grpc.ClientConn
	primary  chan bool
	messages chan *p4v1.StreamMessageResponse
}

// process is a running pauseless.
type process struct {
	addr   string        // of the P4Runtime server that it says first
	out    *bytes.Buffer // its standard output, once ended is closed
	ended  chan struct{}
	failed error
}

// begin starts pauseless, which says after a text where it listens.
func begin(t *testing.T, after string, args ...string) *process {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience) // limit of a test
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary(t), args...)
	p := &process{out: new(bytes.Buffer), ended: make(chan struct{})}
	cmd.Stdout = p.out
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Log(log.String(), p.out.String())
		}
	})
	addrs := make(chan string, 1)
	go func() {
		defer close(p.ended)
		said := false
		for lines := bufio.NewScanner(errs); lines.Scan(); {
			fmt.Fprintln(&log, lines.Text())
			if _, at, ok := strings.Cut(lines.Text(), after); ok && !said {
				addrs <- strings.TrimRight(strings.Fields(at)[0], ",")
				said = true
			}
		}
		close(addrs)
		p.failed = cmd.Wait()
	}()
	if p.addr = <-addrs; p.addr == "" {
		t.Fatal("pauseless does not say where it listens")
	}
	return p
}

// start starts a switch and a primary controller. Port 2, to which the program
// sends, is a file. A cable connects ports 1 and 3, so that the switch does not end
// at the end of the file.
func start(t *testing.T) *controller {
	t.Helper()
	return primary(t, begin(t, `msg="P4Runtime server" address=`, "switch", program, "--port", "1@mem:a", "--port", "3@mem:a",
		"--port", "2@pcap:,"+filepath.Join(t.TempDir(), "out.pcap"), "--grpc", "127.0.0.1:0").addr)
}

// primary connects a controller that is primary and knows the program.
func primary(t *testing.T, addr string) *controller {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := connect(t, conn, 1)
	if !c.isPrimary() {
		t.Fatal("the only controller is not primary")
	}
	if _, err := c.GetFwdPipe(t.Context(), client.GetFwdPipeAll); err != nil { // the names
		t.Fatal(err)
	}
	return c
}

// connect runs a client with an election id.
func connect(t *testing.T, conn *grpc.ClientConn, election uint64) *controller {
	t.Helper()
	c := &controller{
		Client: client.NewClient(p4v1.NewP4RuntimeClient(conn), device, &p4v1.Uint128{Low: election}),
		t:      t, conn: conn, primary: make(chan bool, 100), messages: make(chan *p4v1.StreamMessageResponse, 1000),
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		c.Run(stop, c.primary, c.messages)
	}()
	t.Cleanup(func() {
		close(stop)
		<-ended
	})
	return c
}

// isPrimary returns the next role that the controller is notified of.
func (c *controller) isPrimary() bool {
	c.t.Helper()
	select {
	case p := <-c.primary:
		return p
	case <-time.After(patience):
		c.t.Fatal("no word about who is primary")
		return false
	}
}

// next returns the next message other than arbitration.
func (c *controller) next() *p4v1.StreamMessageResponse {
	c.t.Helper()
	select {
	case m := <-c.messages:
		return m
	case <-time.After(patience):
		c.t.Fatal("no message came")
		return nil
	}
}

// ok fails the test on an error.
func (c *controller) ok(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatalf("%v %v", err, status.Convert(err).Details())
	}
}

// refused fails the test unless the single update of a write was refused with a
// code.
func (c *controller) refused(err error, code codes.Code) {
	c.t.Helper()
	for _, d := range status.Convert(err).Details() {
		if e, ok := d.(*p4v1.Error); ok && codes.Code(e.CanonicalCode) == code {
			return
		}
	}
	c.t.Errorf("error %v %v, want %v", err, status.Convert(err).Details(), code)
}

// through sends a packet into the switch as if a port had received it.
func (c *controller) through(kind byte, a uint32, b uint16) {
	c.t.Helper()
	value, err := conversion.UInt32ToBinaryCompressed(a)
	c.ok(err)
	payload := append([]byte{kind}, make([]byte, 4-len(value))...)
	payload = append(append(payload, value...), byte(b>>8), byte(b), 0, 0)
	c.ok(c.SendPacketOut(c.t.Context(), &p4v1.PacketOut{Payload: payload, Metadata: []*p4v1.PacketMetadata{
		{MetadataId: 1, Value: []byte{0}}, {MetadataId: 2, Value: []byte{0}}, {MetadataId: 3, Value: []byte{1}},
	}}))
}

func exact(a ...byte) map[string]client.MatchInterface {
	return map[string]client.MatchInterface{"a": &client.ExactMatch{Value: a}}
}

func TestArbitration(t *testing.T) {
	first := start(t)
	second := connect(t, first.conn, 2)
	if !second.isPrimary() || first.isPrimary() {
		t.Error("the second controller, with the higher election id, is not primary")
	}
	_, err := first.CommitFwdPipe(t.Context())
	if status.Code(err) != codes.PermissionDenied {
		t.Errorf("the first controller may still change things: %v", err)
	}
}

func TestPipeline(t *testing.T) {
	c := start(t)
	p, err := c.GetFwdPipe(t.Context(), client.GetFwdPipeAll)
	c.ok(err)
	// P4Info without the fields that the library does not know.
	info, err := prototext.Marshal(p.P4Info)
	c.ok(err)
	_, err = c.SetFwdPipeFromBytes(t.Context(), p.P4DeviceConfig, info, 42)
	c.ok(err)
	q, err := c.GetFwdPipe(t.Context(), client.GetFwdPipeCookieOnly)
	c.ok(err)
	if q.Cookie != 42 || q.P4Info != nil {
		t.Errorf("cookie %d, want 42 alone", q.Cookie)
	}
	_, err = c.SaveFwdPipeFromBytes(t.Context(), p.P4DeviceConfig, info, 43)
	c.ok(err)
	_, err = c.CommitFwdPipe(t.Context())
	c.ok(err)
	if _, err := c.SetFwdPipeFromBytes(t.Context(), []byte("{}"), info, 1); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a program without tables: %v", err)
	}
}

func TestTables(t *testing.T) {
	c, ctx := start(t), t.Context()
	mark := c.NewTableActionDirect("Ingress_.mark", [][]byte{{7}})
	entries := map[string]*p4v1.TableEntry{
		"Ingress_.t_exact": c.NewTableEntry("Ingress_.t_exact", exact(0, 0, 1, 2), c.NewTableActionDirect("Ingress_.mark_and_count", [][]byte{{7}}), nil),
		"Ingress_.t_lpm": c.NewTableEntry("Ingress_.t_lpm", map[string]client.MatchInterface{
			"a": &client.LpmMatch{Value: []byte{10, 1, 2, 3}, PLen: 16}, "c": &client.ExactMatch{Value: []byte{0}}}, mark, nil),
		"Ingress_.t_ternary": c.NewTableEntry("Ingress_.t_ternary", map[string]client.MatchInterface{
			"a": &client.TernaryMatch{Value: []byte{10, 1, 2, 3}, Mask: []byte{255, 0, 255, 0}},
			"b": &client.RangeMatch{Low: []byte{0, 5}, High: []byte{1, 0}},
			"c": &client.OptionalMatch{Value: []byte{9}}}, mark, &client.TableEntryOptions{Priority: 10}),
		"Ingress_.t_idle": c.NewTableEntry("Ingress_.t_idle", exact(3), mark, &client.TableEntryOptions{IdleTimeout: time.Hour}),
	}
	for table, e := range entries {
		c.ok(c.InsertTableEntry(ctx, e))
		c.refused(c.InsertTableEntry(ctx, e), codes.AlreadyExists)
		got, err := c.ReadTableEntryWildcard(ctx, table)
		c.ok(err)
		if len(got) != 1 || len(got[0].Match) != len(e.Match) || got[0].Priority != e.Priority || got[0].IdleTimeoutNs != e.IdleTimeoutNs {
			t.Errorf("%s: wrote %v\nread %v", table, e, got)
		}
		c.ok(c.ModifyTableEntry(ctx, e))
		c.ok(c.DeleteTableEntry(ctx, e))
		c.refused(c.DeleteTableEntry(ctx, e), codes.NotFound)
	}
	// A default entry, and one entry by its match.
	c.ok(c.ModifyTableEntry(ctx, c.NewTableEntry("Ingress_.t_keyless", nil, mark, nil)))
	c.ok(c.InsertTableEntry(ctx, entries["Ingress_.t_exact"]))
	one, err := c.ReadTableEntry(ctx, "Ingress_.t_exact", []client.MatchInterface{&client.ExactMatch{Value: []byte{1, 2}}})
	c.ok(err)
	if p := one.Action.GetAction().GetParams(); len(p) != 1 || !bytes.Equal(p[0].Value, []byte{7}) {
		t.Errorf("read %v", one)
	}
}

func TestActionProfiles(t *testing.T) {
	c, ctx := start(t), t.Context()
	for id := range uint32(2) {
		c.ok(c.InsertActionProfileMember(ctx, c.NewActionProfileMember("Ingress_.selector", id+1, "Ingress_.mark", [][]byte{{byte(id + 1)}})))
	}
	c.refused(c.InsertActionProfileMember(ctx, c.NewActionProfileMember("Ingress_.selector", 1, "Ingress_.mark", [][]byte{{1}})), codes.AlreadyExists)
	c.ok(c.ModifyActionProfileMember(ctx, c.NewActionProfileMember("Ingress_.selector", 1, "Ingress_.mark", [][]byte{{9}})))
	group := c.NewActionProfileGroup("Ingress_.selector", 5, []*p4v1.ActionProfileGroup_Member{{MemberId: 1, Weight: 1}, {MemberId: 2, Weight: 1}}, 4)
	c.ok(c.InsertActionProfileGroup(ctx, group))
	byGroup := c.NewTableEntry("Ingress_.t_select", exact(1), c.NewTableActionGroup(5), nil)
	byMember := c.NewTableEntry("Ingress_.t_select", exact(2), c.NewTableActionMember(2), nil)
	c.ok(c.InsertTableEntry(ctx, byGroup))
	c.ok(c.InsertTableEntry(ctx, byMember))
	c.refused(c.DeleteActionProfileGroup(ctx, group), codes.FailedPrecondition)
	c.ok(c.DeleteTableEntry(ctx, byGroup))
	c.ok(c.DeleteTableEntry(ctx, byMember))
	c.ok(c.DeleteActionProfileGroup(ctx, group))
	for id := range uint32(2) {
		c.ok(c.DeleteActionProfileMember(ctx, c.NewActionProfileMember("Ingress_.selector", id+1, "Ingress_.mark", nil)))
	}
	set := c.NewActionProfileActionSet().AddAction("Ingress_.mark", [][]byte{{1}}, 2, client.NewPortFromInt(1)).AddAction("Ingress_.mark", [][]byte{{2}}, 1, client.NewPortFromInt(2))
	c.ok(c.InsertTableEntry(ctx, c.NewTableEntry("Ingress_.t_select", exact(3), set.TableAction(), nil)))
	got, err := c.ReadTableEntryWildcard(ctx, "Ingress_.t_select")
	c.ok(err)
	if len(got) != 1 || len(got[0].Action.GetActionProfileActionSet().GetActionProfileActions()) != 2 {
		t.Errorf("read %v, want the set of two actions", got)
	}
}

func TestCountersAndMeters(t *testing.T) {
	c, ctx := start(t), t.Context()
	c.ok(c.ModifyCounterEntry(ctx, "Ingress_.by_port", 3, &p4v1.CounterData{PacketCount: 5, ByteCount: 50}))
	c.through(10, 3, 0)
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		got, err := c.ReadCounterEntry(ctx, "Ingress_.by_port", 3)
		c.ok(err)
		if got.PacketCount == 6 && got.ByteCount > 50 {
			break
		}
		if time.Since(begun) > patience {
			t.Fatalf("counter %v, want 6 packets", got)
		}
	}
	all, err := c.ReadCounterEntryWildcard(ctx, "Ingress_.by_port")
	c.ok(err)
	if len(all) != 4 || all[3].PacketCount != 6 || all[0].PacketCount != 0 {
		t.Errorf("counters %v", all)
	}
	meters, err := c.ReadMeterEntryWildcard(ctx, "Ingress_.shared_police")
	c.ok(err)
	if len(meters) != 4 {
		t.Errorf("%d meters, want 4", len(meters))
	}
	cfg, err := c.ReadMeterEntry(ctx, "Ingress_.shared_police", 1)
	c.ok(err)
	if cfg != nil {
		t.Errorf("a meter that was not configured has %v", cfg)
	}
	c.ok(c.WriteUpdate(ctx, &p4v1.Update{Type: p4v1.Update_MODIFY, Entity: &p4v1.Entity{Entity: &p4v1.Entity_MeterEntry{MeterEntry: &p4v1.MeterEntry{
		MeterId: meters[1].MeterId, Index: &p4v1.Index{Index: 1}, Config: &p4v1.MeterConfig{Cir: 10, Cburst: 5, Pir: 20, Pburst: 5}}}}}))
	if cfg, err = c.ReadMeterEntry(ctx, "Ingress_.shared_police", 1); err != nil || cfg.GetPir() != 20 {
		t.Errorf("meter %v, %v", cfg, err)
	}
}

func TestDigests(t *testing.T) {
	c, ctx := start(t), t.Context()
	cfg := &p4v1.DigestEntry_Config{MaxListSize: 1, AckTimeoutNs: time.Hour.Nanoseconds()}
	c.ok(c.EnableDigest(ctx, "alert_t", cfg))
	c.refused(c.EnableDigest(ctx, "alert_t", cfg), codes.AlreadyExists)
	c.through(12, 0xabcd, 0)
	d := c.next().GetDigest()
	members := d.GetData()[0].GetStruct().GetMembers()
	if len(members) != 2 || !bytes.Equal(members[1].GetBitstring(), []byte{0xab, 0xcd}) {
		t.Errorf("digest %v", d)
	}
	c.through(12, 0xabcd, 0) // not acknowledged, so not sent again
	c.ok(c.AckDigestList(ctx, d))
	c.through(12, 0xabcd, 0)
	if again := c.next().GetDigest(); again.GetListId() == d.ListId || len(again.GetData()) != 1 {
		t.Errorf("after the acknowledgement: %v", again)
	}
	cfg.MaxListSize = 2
	c.ok(c.ModifyDigest(ctx, "alert_t", cfg))
	c.ok(c.DisableDigest(ctx, "alert_t"))
	c.refused(c.DisableDigest(ctx, "alert_t"), codes.NotFound)
}

// Copies go to the controller, which checks each of them.
func TestReplication(t *testing.T) {
	c, ctx := start(t), t.Context()
	c.ok(c.InsertMulticastGroup(ctx, 7, []uint32{cpuPort, cpuPort, cpuPort}))
	c.refused(c.InsertMulticastGroup(ctx, 7, nil), codes.AlreadyExists)
	c.through(13, 0, 7)
	seen := map[string]bool{}
	for range 3 {
		p := c.next().GetPacket()
		seen[fmt.Sprintf("%x", p.GetPayload()[8:])] = true
	}
	if !seen["00"] || !seen["01"] || !seen["02"] {
		t.Errorf("copies with instances %v, want 0, 1 and 2", seen)
	}
	c.ok(c.DeleteMulticastGroup(ctx, 7))
	c.refused(c.DeleteMulticastGroup(ctx, 7), codes.NotFound)

	c.ok(c.InsertCloneSession(ctx, 5, []uint32{cpuPort}, client.CloneSessionOptions{PacketLenBytes: 3 + 4}))
	c.through(14, 1, 0)
	if p := c.next().GetPacket(); len(p.GetPayload()) != 4 || p.Payload[0] != 14 {
		t.Errorf("clone %x, want its first four bytes", p.GetPayload())
	}
	c.ok(c.DeleteCloneSession(ctx, 5))
}

func TestPacketIO(t *testing.T) {
	c := start(t)
	c.through(15, 0x01020304, 5)
	p := c.next().GetPacket()
	if !bytes.Equal(p.GetPayload(), []byte{15, 1, 2, 3, 4, 0, 5, 0, 0}) || len(p.Metadata) != 2 {
		t.Errorf("packet-in %v", p)
	}
	if want, err := conversion.UInt32ToBinaryCompressed(cpuPort); err != nil || !bytes.Equal(p.Metadata[0].Value, want) {
		t.Errorf("it came in by port %x, want %x: %v", p.Metadata[0].Value, want, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c.ok(c.SendPacketOut(ctx, &p4v1.PacketOut{Payload: []byte{1}}))
	if e := c.next().GetError(); codes.Code(e.GetCanonicalCode()) != codes.InvalidArgument {
		t.Errorf("a packet-out without metadata: %v", e)
	}
}

// The client sets a program with its own call and the P4Info of P4Runtime 1.3, as
// its stubs refuse newer fields.
func TestTheClientPushesAProgramItself(t *testing.T) {
	c := start(t)
	dir := t.TempDir()
	json, old, now := filepath.Join(dir, "p.json"), filepath.Join(dir, "old.txtpb"), filepath.Join(dir, "now.txtpb")
	for _, args := range [][]string{{"-o", json, "--p4info", old, "--p4info-version", "1.3"}, {"--p4info", now}} {
		if out, err := exec.Command(binary(t), append([]string{"compile", program}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	if _, err := c.SetFwdPipe(t.Context(), json, old, 0); err != nil {
		t.Errorf("P4Info for 1.3: %v", err)
	}
	if _, err := c.SetFwdPipe(t.Context(), json, now, 0); err == nil {
		t.Error("the client reads today's P4Info: --p4info-version is no longer needed for it")
	}
}
