// SPDX-License-Identifier: Apache-2.0

// Package simpleswitch runs p4lang's simple_switch_grpc, for comparison with
// softswitch. Packets pass through its data plane service, and tables are
// filled over Thrift, so that no interfaces, privileges or P4Info are needed.
package simpleswitch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/bmv2"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/tool"
	"github.com/pauseless/pauseless/softswitch/interp"
)

// patience limits the start of the switch and every call.
const patience = 2 * time.Minute

// Switch is a running simple_switch_grpc.
type Switch struct {
	// P4Runtime and Thrift are the addresses of its servers; the first is "" for
	// simple_switch.
	P4Runtime, Thrift string

	ctx    context.Context
	binary string
	addrs  []string // Thrift, P4Runtime, data plane
	held   []func() // functions that release the ports
	cmd    *exec.Cmd
	out    *os.File // its output
	dir    string
	exited chan struct{}
	conn   *grpc.ClientConn
	thrift *bmv2.Client
}

// CPUPort is the controller's port of a switch that was started without a
// program.
const CPUPort = 510

// Start runs simple_switch_grpc with a program. If json is nil, it waits for a
// controller, and has a CPU port and eight priorities.
func Start(ctx context.Context, binary string, json []byte) (*Switch, error) {
	addrs, held, err := holdAddrs(3)
	if err != nil {
		return nil, err
	}
	return startAt(ctx, binary, json, addrs, held)
}

// Again restarts a stopped switch without a program, at its previous addresses.
// The caller must not close the old one.
func (s *Switch) Again() (*Switch, error) {
	held := s.held
	s.held = nil
	return startAt(s.ctx, s.binary, nil, s.addrs, held)
}

func startAt(ctx context.Context, binary string, json []byte, addrs []string, held []func()) (s *Switch, err error) {
	s = &Switch{ctx: ctx, binary: binary, addrs: addrs, held: held, P4Runtime: addrs[1], Thrift: addrs[0], exited: make(chan struct{})}
	options := []string{"--", "--grpc-server-addr", addrs[1], "--dp-grpc-server-addr", addrs[2]}
	if json == nil {
		options = append(options, "--cpu-port", strconv.Itoa(CPUPort), "--priority-queues", "8")
	}
	err = s.start(binary, json, addrs, nil, options...)
	if err == nil {
		s.conn, err = grpc.NewClient(addrs[2], grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{})))
	}
	// It listens before it accepts packets, which requires a program.
	for deadline := time.Now().Add(patience); err == nil && json != nil; time.Sleep(5 * time.Millisecond) {
		if _, err = s.Send(); status.Code(err) != codes.Unavailable || time.Now().After(deadline) {
			break
		}
		err = nil
	}
	if err == nil {
		s.thrift, err = bmv2.Dial(addrs[0], patience)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// StartFiles runs simple_switch with a program. A port reads NAME_in.pcap and
// writes NAME_out.pcap. links are its options -i, NUMBER@NAME. It starts to
// read after two seconds. Send does not work with it.
func StartFiles(ctx context.Context, binary string, json []byte, links ...string) (*Switch, error) {
	s := &Switch{ctx: ctx, exited: make(chan struct{})}
	addrs, held, err := holdAddrs(1)
	s.held = held
	if err == nil {
		options := []string{"--use-files", "2"} // seconds, for the caller to fill tables
		for _, l := range links {
			options = append(options, "-i", l)
		}
		err = s.start(binary, json, addrs, options)
	}
	if err == nil {
		// Thrift listens before it has registered all methods, and a premature call may
		// never return.
		time.Sleep(time.Second / 2)
		s.thrift, err = bmv2.Dial(addrs[0], patience)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// start starts a binary and waits until it listens on all of addrs, the first
// of which is Thrift's.
func (s *Switch) start(binary string, json []byte, addrs, before []string, after ...string) (err error) {
	if s.dir, err = os.MkdirTemp("", "pauseless-bmv2-"); err != nil {
		return err
	}
	file := "--no-p4"
	if json != nil {
		file = filepath.Join(s.dir, "program.json")
		if err := outfile.Write(file, json, 0o600); err != nil {
			return err
		}
	}
	if s.out, err = outfile.Stream(filepath.Join(s.dir, "output")); err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(addrs[0])
	args := slices.Concat([]string{"--device-id", "1", "--thrift-port", port}, before, []string{file}, after)
	s.cmd = exec.CommandContext(s.ctx, binary, args...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func() {
		s.cmd.Wait()
		close(s.exited)
	}()
	for _, addr := range addrs {
		if err := s.await(addr); err != nil {
			return err
		}
	}
	return nil
}

// holdAddrs returns unused addresses, which no other process gets before they
// are released.
func holdAddrs(n int) (addrs []string, held []func(), err error) {
	for range n {
		addr, release, err := tool.HoldPort()
		if err != nil {
			for _, release := range held {
				release()
			}
			return nil, nil, err
		}
		addrs, held = append(addrs, addr), append(held, release)
	}
	return addrs, held, nil
}

// await waits until the switch listens.
func (s *Switch) await(addr string) error {
	for deadline := time.Now().Add(patience); ; {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			return c.Close()
		}
		select {
		case <-s.exited:
			return fmt.Errorf("BMv2 ended: %s", s.tail())
		case <-s.ctx.Done():
			return s.ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("BMv2 does not listen on %s", addr)
		}
	}
}

// tail returns the end of the switch's output.
func (s *Switch) tail() string {
	text, _ := os.ReadFile(s.out.Name())
	return string(text[max(0, len(text)-500):])
}

// Close terminates the switch.
func (s *Switch) Close() error {
	err := s.Stop()
	for _, release := range s.held {
		release()
	}
	s.held = nil
	return err
}

// Stop terminates the switch and keeps its addresses for Again.
func (s *Switch) Stop() error {
	if s.conn != nil {
		s.conn.Close()
	}
	if s.thrift != nil {
		s.thrift.Close()
	}
	if s.cmd != nil && s.cmd.Process != nil {
		s.cmd.Process.Kill()
		<-s.exited
	}
	if s.out != nil {
		s.out.Close()
	}
	return os.RemoveAll(s.dir)
}

// CPU returns the processor time that the switch has used, on Linux.
func (s *Switch) CPU() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(text), ") ") // after the name, which may have any characters
	var user, system int64
	if fields := strings.Fields(after); len(fields) > 13 {
		user, _ = strconv.ParseInt(fields[11], 10, 64)
		system, _ = strconv.ParseInt(fields[12], 10, 64)
	}
	const tick = 10 * time.Millisecond
	return time.Duration(user+system) * tick, nil
}

// Frame is a packet that a port sent.
type Frame struct {
	Port int
	Data []byte
}

// Send sends packets into a port and returns the frames that ports send as a
// result: BMv2 ends the stream when it has processed all packets. BMv2 may
// answer the push of its first pipeline before its data plane has started.
// Until then it rejects all packets as "not ready", and Send tries again.
func (s *Switch) Send(packets ...Frame) ([]Frame, error) {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	for {
		frames, err := s.send(ctx, packets)
		if e := status.Convert(err); e.Code() != codes.Unavailable || e.Message() != "not ready" {
			return frames, err
		}
		select {
		case <-ctx.Done():
			return frames, err
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (s *Switch) send(ctx context.Context, packets []Frame) ([]Frame, error) {
	stream, err := s.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/p4.bm.DataplaneInterface/PacketStream")
	if err != nil {
		return nil, err
	}
	for _, p := range packets {
		m := encode(p)
		if err := stream.SendMsg(&m); err != nil {
			break // RecvMsg returns the reason
		}
	}
	if err := stream.CloseSend(); err != nil {
		return nil, err
	}
	var frames []Frame
	for {
		var m []byte
		if err := stream.RecvMsg(&m); errors.Is(err, io.EOF) {
			return frames, nil
		} else if err != nil {
			select {
			case <-s.exited:
				return frames, fmt.Errorf("BMv2 ended: %s", s.tail())
			default:
				return frames, err
			}
		}
		f, err := decode(m)
		if err != nil {
			return frames, err
		}
		frames = append(frames, f)
	}
}

// rawCodec passes messages as bytes: there are two, and no Go module has stubs
// for them.
type rawCodec struct{}

func (rawCodec) Name() string                  { return "proto" }
func (rawCodec) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (rawCodec) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

// Fields of PacketStreamRequest and PacketStreamResponse in BMv2's
// dataplane_interface.proto.
const (
	fieldDevice = 2
	fieldPort   = 3
	fieldPacket = 4
)

func encode(f Frame) []byte {
	b := protowire.AppendTag(nil, fieldDevice, protowire.VarintType)
	b = protowire.AppendVarint(b, 1)
	b = protowire.AppendTag(b, fieldPort, protowire.VarintType)
	b = protowire.AppendVarint(b, uint64(f.Port))
	b = protowire.AppendTag(b, fieldPacket, protowire.BytesType)
	return protowire.AppendBytes(b, f.Data)
}

func decode(m []byte) (f Frame, err error) {
	for len(m) > 0 {
		num, typ, n := protowire.ConsumeTag(m)
		if n < 0 {
			return f, protowire.ParseError(n)
		}
		m = m[n:]
		switch {
		case num == fieldPort && typ == protowire.VarintType:
			var v uint64
			v, n = protowire.ConsumeVarint(m)
			f.Port = int(v)
		case num == fieldPacket && typ == protowire.BytesType:
			f.Data, n = protowire.ConsumeBytes(m)
		default:
			n = protowire.ConsumeFieldValue(num, typ, m)
		}
		if n < 0 {
			return f, protowire.ParseError(n)
		}
		m = m[n:]
	}
	return f, nil
}

// call calls a method and returns the integers in its result.
func (s *Switch) call(service, method string, args ...any) (v []int64, err error) {
	if err := s.thrift.Call(s.ctx, service, method, args, bmv2.Integers(&v)); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return v, nil
}

// bytesOf returns a number with the size of a field.
func bytesOf(v []uint64, width int) []byte {
	return bitvec.AppendBytes(nil, v, (width+7)/8)
}

// AddEntry adds an entry and returns its handle. In a ternary or range table
// the smallest priority has precedence. Other tables ignore it.
func (s *Switch) AddEntry(t *interp.TableInfo, key []interp.FieldMatch, priority int, action *interp.ActionInfo, args [][]uint64) (int, error) {
	params := bmv2.List{Of: thrift.STRUCT}
	for i, k := range t.Key {
		f := &key[i]
		var p bmv2.Struct
		switch k.Kind {
		case "exact":
			p = bmv2.Struct{int32(0), bmv2.Struct{bytesOf(f.Value, k.Width)}}
		case "lpm":
			p = bmv2.Struct{int32(1), nil, bmv2.Struct{bytesOf(f.Value, k.Width), int32(f.Prefix)}}
		case "ternary":
			p = bmv2.Struct{int32(2), nil, nil, bmv2.Struct{bytesOf(f.Value, k.Width), bytesOf(f.Mask, k.Width)}}
		case "valid":
			p = bmv2.Struct{int32(3), nil, nil, nil, bmv2.Struct{f.Value[0] != 0}}
		case "range":
			p = bmv2.Struct{int32(4), nil, nil, nil, nil, bmv2.Struct{bytesOf(f.Low, k.Width), bytesOf(f.High, k.Width)}}
		default:
			return 0, fmt.Errorf("BMv2 has no match kind %s", k.Kind)
		}
		params.Elements = append(params.Elements, p)
	}
	var options bmv2.Struct
	if t.Kind == "ternary" || t.Kind == "range" {
		options = bmv2.Struct{int32(priority)}
	}
	v, err := s.call(bmv2.Standard, "bm_mt_add_entry", int32(0), t.Name, params, action.Name, binaries(action, args), options)
	return first(v), err
}

// binaries returns the arguments of an action.
func binaries(action *interp.ActionInfo, args [][]uint64) bmv2.List {
	l := bmv2.List{Of: thrift.STRING}
	for i, a := range args {
		l.Elements = append(l.Elements, bytesOf(a, action.Params[i].Width))
	}
	return l
}

// topPriority is our priority that becomes BMv2's zero, the highest precedence.
const topPriority = 1 << 20

// Copy copies the entries and default entries of tables.
func (s *Switch) Copy(state *interp.State) (err error) {
	p := state.Program
	for _, t := range state.Tables {
		if t.Info.HasEntries {
			continue
		}
		t.Each(func(_ uint32, e *interp.Entry) bool {
			m := t.Match(e)
			a := e.Action()
			_, err = s.AddEntry(t.Info, t.Info.Fields(&m), topPriority-int(m.Priority), &p.Actions[a], p.UnpackArgs(a, t.Args(e)))
			return err == nil
		})
		d := t.Default()
		if a := d.Action(); err == nil && a >= 0 && (a != t.Info.Default.Action || !slices.Equal(t.Args(d), t.Info.Default.Args)) {
			err = s.SetDefault(t.Info, &p.Actions[a], p.UnpackArgs(a, t.Args(d)))
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", t.Info.Name, err)
		}
	}
	return nil
}

// SetDefault sets a table's default action.
func (s *Switch) SetDefault(t *interp.TableInfo, action *interp.ActionInfo, args [][]uint64) error {
	_, err := s.call(bmv2.Standard, "bm_mt_set_default_action", int32(0), t.Name, action.Name, binaries(action, args))
	return err
}

func first(v []int64) int {
	if len(v) == 0 {
		return 0
	}
	return int(v[0])
}

// Clear removes a table's entries.
func (s *Switch) Clear(table string) error {
	_, err := s.call(bmv2.Standard, "bm_mt_clear_entries", int32(0), table, false)
	return err
}

// SetQueues sets the capacity of the egress queues in packets.
func (s *Switch) SetQueues(packets int) error {
	_, err := s.call(bmv2.SimpleSwitch, "set_all_egress_queue_depths", int32(packets))
	return err
}

// Counter reads a cell of a counter.
func (s *Switch) Counter(name string, index int) (packets, bytes uint64, err error) {
	return counter(s.call(bmv2.Standard, "bm_counter_read", int32(0), name, int32(index)))
}

// EntryCounter reads the direct counter of an entry.
func (s *Switch) EntryCounter(table string, handle int) (packets, bytes uint64, err error) {
	return counter(s.call(bmv2.Standard, "bm_mt_read_counter", int32(0), table, int32(handle)))
}

func counter(v []int64, err error) (packets, bytes uint64, _ error) {
	if err == nil && len(v) != 2 {
		err = fmt.Errorf("BMv2 sent %d numbers for a counter", len(v))
	}
	if err != nil {
		return 0, 0, err
	}
	return uint64(v[1]), uint64(v[0]), nil
}

// SetCounter sets a cell of a counter.
func (s *Switch) SetCounter(name string, index int, packets, bytes uint64) error {
	_, err := s.call(bmv2.Standard, "bm_counter_write", int32(0), name, int32(index), bmv2.Struct{int64(bytes), int64(packets)})
	return err
}

// Register reads a cell of a register.
func (s *Switch) Register(name string, index int) (uint64, error) {
	v, err := s.call(bmv2.Standard, "bm_register_read", int32(0), name, int32(index))
	return uint64(first(v)), err
}

// SetRegister writes a cell of a register.
func (s *Switch) SetRegister(name string, index int, value uint64) error {
	_, err := s.call(bmv2.Standard, "bm_register_write", int32(0), name, int32(index), int64(value))
	return err
}

// ResetRegister clears a register.
func (s *Switch) ResetRegister(name string) error {
	_, err := s.call(bmv2.Standard, "bm_register_reset", int32(0), name)
	return err
}

// Rate is a rate of a meter.
type Rate struct {
	PerMicrosecond float64
	Burst          int
}

// SetMeter sets the rates of a meter's cell, or of all cells if index < 0.
func (s *Switch) SetMeter(name string, index int, rates []Rate) error {
	l := bmv2.List{Of: thrift.STRUCT}
	for _, r := range rates {
		l.Elements = append(l.Elements, bmv2.Struct{r.PerMicrosecond, int32(r.Burst)})
	}
	var err error
	if index < 0 {
		_, err = s.call(bmv2.Standard, "bm_meter_array_set_rates", int32(0), name, l)
	} else {
		_, err = s.call(bmv2.Standard, "bm_meter_set_rates", int32(0), name, int32(index), l)
	}
	return err
}

// SetSession sets the port of a clone session.
func (s *Switch) SetSession(id, port int) error { return s.session(id, bmv2.Struct{int32(port)}) }

// SetGroupSession sets the multicast group of a clone session.
func (s *Switch) SetGroupSession(id, group int) error {
	return s.session(id, bmv2.Struct{nil, int32(group)})
}

func (s *Switch) session(id int, config bmv2.Struct) error {
	_, err := s.call(bmv2.SimpleSwitch, "mirroring_session_add", int32(id), config)
	return err
}

// DeleteSession deletes a clone session.
func (s *Switch) DeleteSession(id int) error {
	_, err := s.call(bmv2.SimpleSwitch, "mirroring_session_delete", int32(id))
	return err
}

// CreateGroup creates a multicast group.
func (s *Switch) CreateGroup(id int) error {
	_, err := s.call(bmv2.Multicast, "bm_mc_mgrp_create", int32(0), int32(id))
	return err
}

// CreateNode creates a node: ports with a replication id.
func (s *Switch) CreateNode(rid int, ports []int) (int, error) {
	v, err := s.call(bmv2.Multicast, "bm_mc_node_create", int32(0), int32(rid), portMap(ports), "")
	return first(v), err
}

// UpdateNode changes a node's ports.
func (s *Switch) UpdateNode(node int, ports []int) error {
	_, err := s.call(bmv2.Multicast, "bm_mc_node_update", int32(0), int32(node), portMap(ports), "")
	return err
}

// Associate adds a node to a group.
func (s *Switch) Associate(group, node int) error {
	_, err := s.call(bmv2.Multicast, "bm_mc_node_associate", int32(0), int32(group), int32(node))
	return err
}

// portMap returns a bit string with a digit for each port, the last one for
// port 0.
func portMap(ports []int) string {
	bits := []byte{'0'}
	for _, p := range ports {
		for p >= len(bits) {
			bits = append([]byte{'0'}, bits...)
		}
		bits[len(bits)-1-p] = '1'
	}
	return string(bits)
}
