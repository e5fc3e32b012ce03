// SPDX-License-Identifier: Apache-2.0

// Package bfrt is a BF Runtime client for Tofino switches. It provides
// functions that P4Runtime lacks there, such as ports, PFC, mirror sessions
// with a truncation length, and registers of each pipeline. It also packs the
// compiler's output into the form that Stratum accepts over P4Runtime.
//
//	c, err := bfrt.Dial(ctx, "switch:50052", bfrt.Options{})
//	program, err := c.Open(ctx)
//	ports, err := c.PortStates(ctx)
package bfrt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"time"

	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Options are the options of Dial.
type Options struct {
	DeviceID uint32
	ClientID uint32 // unique among the clients of a device
	// Dial has gRPC's dial options. Without credentials the connection is not
	// encrypted, like BF Runtime servers.
	Dial []grpc.DialOption
}

// Client is a connection to the BF Runtime server of a switch.
type Client struct {
	options Options
	conn    *grpc.ClientConn
	rpc     *bfrtpb.Client
	cancel  context.CancelFunc // of the stream, which lives until Close
	stream  grpc.BidiStreamingClient[bfrtpb.StreamMessageRequest, bfrtpb.StreamMessageResponse]
	ended   chan struct{} // closed when the stream has ended
	program string
	info    *Info // nil until Bind, Open or Assume
	assumed bool  // by Assume: the program does not run
}

// Dial connects and subscribes. The server identifies clients by their stream.
func Dial(ctx context.Context, address string, o Options) (*Client, error) {
	conn, err := grpc.NewClient(address, append([]grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer))}, o.Dial...)...)
	if err != nil {
		return nil, err
	}
	c := &Client{options: o, conn: conn, rpc: bfrtpb.NewClient(conn)}
	if err := c.subscribe(ctx); err != nil {
		c.Close()
		if ctx.Err() != nil { // the stream's error would only report the cancellation
			err = fmt.Errorf("no answer: %w", ctx.Err())
		}
		if status.Code(err) == codes.Unavailable {
			return nil, fmt.Errorf("%w; is a BF Runtime server running there?", unreached(address, err))
		}
		return nil, fmt.Errorf("BF Runtime at %s: %w", address, err)
	}
	return c, nil
}

func (c *Client) subscribe(ctx context.Context) error {
	stream, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.cancel = cancel
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	s, err := c.rpc.StreamChannel(stream)
	if err != nil {
		return err
	}
	err = s.Send(&bfrtpb.StreamMessageRequest{ClientId: c.options.ClientID, Update: &bfrtpb.StreamMessageRequest_Subscribe{
		Subscribe: &bfrtpb.Subscribe{DeviceId: c.options.DeviceID, Notifications: &bfrtpb.Subscribe_Notifications{}},
	}})
	if err != nil {
		return err
	}
	answer, err := s.Recv()
	if status.Code(err) == codes.InvalidArgument {
		return fmt.Errorf("client %d is refused: %w; another client may have this number: give another", c.options.ClientID, err)
	}
	if err != nil {
		return err
	}
	if st := answer.GetSubscribe().GetStatus(); st.GetCode() != 0 {
		return fmt.Errorf("client %d is refused: %s (%v)", c.options.ClientID, st.GetMessage(), codes.Code(st.GetCode()))
	}
	c.stream, c.ended = s, make(chan struct{})
	go func() { // further messages on the stream are ignored
		defer close(c.ended)
		for {
			if _, err := s.Recv(); err != nil {
				return
			}
		}
	}()
	return nil
}

// Close ends the subscription and the connection. It waits for the server, at
// most a second, because the server rejects another client with the same number
// until then.
func (c *Client) Close() error {
	if c.stream != nil && c.stream.CloseSend() == nil {
		select {
		case <-c.ended:
		case <-time.After(time.Second):
		}
	}
	if c.cancel != nil {
		c.cancel()
	}
	return c.conn.Close()
}

// Bind binds the client to a loaded program, and fetches its tables and those
// of the device.
func (c *Client) Bind(ctx context.Context, program string) error {
	_, err := c.rpc.SetForwardingPipelineConfig(ctx, &bfrtpb.SetForwardingPipelineConfigRequest{
		DeviceId: c.options.DeviceID, ClientId: c.options.ClientID, Action: bfrtpb.SetForwardingPipelineConfigRequest_BIND,
		Config: []*bfrtpb.ForwardingPipelineConfig{{P4Name: program}},
	})
	if status.Code(err) == codes.AlreadyExists {
		return fmt.Errorf("binding to %s: another controller owns the program: end it first: %w", program, err)
	}
	if err != nil {
		return fmt.Errorf("binding to %s: %w", program, err)
	}
	programs, device, err := c.programs(ctx)
	if err != nil {
		return err
	}
	for _, p := range programs {
		if p.P4Name == program {
			return c.use(program, p.BfruntimeInfo, device)
		}
	}
	return fmt.Errorf("binding to %s: the switch does not say what its tables are", program)
}

// Open prepares reading and writing entries without binding, beside a controller that
// has bound itself to the program: only one client can. It returns the name of the
// program that runs, or "" if there is none and only the device has tables.
func (c *Client) Open(ctx context.Context) (string, error) {
	programs, device, err := c.programs(ctx)
	if err != nil {
		return "", err
	}
	for _, p := range programs {
		if p.P4Name != noProgram {
			return p.P4Name, c.use(p.P4Name, p.BfruntimeInfo, device)
		}
	}
	return "", c.use(noProgram, nil, device)
}

// Assume is Open for a switch that runs another program than p, or none: tables of
// p seem to have no entries, and nothing can be written.
func (c *Client) Assume(ctx context.Context, p *Program) error {
	if _, err := c.Open(ctx); err != nil {
		return err
	}
	_, device, err := c.programs(ctx)
	if err == nil {
		err = c.use(c.program, p.Info, device)
	}
	c.assumed = true
	return err
}

// noProgram is the driver's name of its own tables, which are there without a program.
const noProgram = "$SHARED"

// programs returns the programs of the switch, and the driver's own bfrt.json.
func (c *Client) programs(ctx context.Context) ([]*bfrtpb.ForwardingPipelineConfig, []byte, error) {
	got, err := c.rpc.GetForwardingPipelineConfig(ctx, &bfrtpb.GetForwardingPipelineConfigRequest{DeviceId: c.options.DeviceID, ClientId: c.options.ClientID})
	if err != nil {
		return nil, nil, err
	}
	return got.Config, got.GetNonP4Config().GetBfruntimeInfo(), nil
}

// use sets the program of further requests.
func (c *Client) use(program string, files ...[]byte) error {
	files = slices.DeleteFunc(files, func(f []byte) bool { return len(f) == 0 })
	info, err := ParseInfo(files...)
	if err != nil {
		return err
	}
	c.program, c.info, c.assumed = program, info, false
	return nil
}

// Load replaces the program of the switch and binds to the new one.
func (c *Client) Load(ctx context.Context, p *Program) error {
	_, err := c.rpc.SetForwardingPipelineConfig(ctx, &bfrtpb.SetForwardingPipelineConfigRequest{
		DeviceId: c.options.DeviceID, ClientId: c.options.ClientID,
		Action: bfrtpb.SetForwardingPipelineConfigRequest_VERIFY_AND_WARM_INIT_BEGIN_AND_END,
		Config: []*bfrtpb.ForwardingPipelineConfig{p.config()},
	})
	if err != nil {
		return fmt.Errorf("loading %s: %w", p.Name, err)
	}
	return c.Bind(ctx, p.Name)
}

// Info returns the tables, nil before Bind, Open or Assume.
func (c *Client) Info() *Info { return c.info }

// Match is a condition on a key field: exact unless the members of another
// match kind are set.
type Match struct {
	Field     string
	Value     any // a number; for a range, the lowest
	Mask      any // ternary
	PrefixLen int // longest prefix, with LPM
	LPM       bool
	High      any // range: the highest
}

// Eq matches a value exactly.
func Eq(field string, value any) Match { return Match{Field: field, Value: value} }

// Entry is an entry of a table. Values are numbers (int, uint32, uint64 or
// []byte), bool, string, float64 and lists, depending on the field.
type Entry struct {
	Table   string
	Match   []Match
	Default bool   // the default entry
	Action  string // empty for tables without actions
	Data    map[string]any
}

// Write updates entries of a pipeline, or of all with PipeAll, in messages of up to
// 8192 entries. It tries all of a message, and the error names each that failed; it
// says how many entries were written by earlier messages.
func (c *Client) Write(ctx context.Context, pipe uint32, op bfrtpb.Update_Type, entries ...Entry) error {
	if c.info == nil || c.assumed {
		return errors.New("BF Runtime: bind to a program first")
	}
	for done := 0; done == 0 || done < len(entries); done += maxBatch {
		list := entries[done:min(done+maxBatch, len(entries))]
		req := &bfrtpb.WriteRequest{Target: c.target(pipe), ClientId: c.options.ClientID, P4Name: c.program}
		for _, e := range list {
			t, err := c.info.Table(e.Table)
			if err != nil {
				return err
			}
			entry, err := e.encode(t, op == bfrtpb.Update_DELETE)
			if err != nil {
				return fmt.Errorf("table %s: %w", t.Name, err)
			}
			req.Updates = append(req.Updates, &bfrtpb.Update{Type: op, Entity: &bfrtpb.Entity{Entity: &bfrtpb.Entity_TableEntry{TableEntry: entry}}})
		}
		if _, err := c.rpc.Write(ctx, req); err != nil {
			err = explain(err, func(i int) string { return list[min(i, len(list)-1)].Table })
			if done > 0 {
				err = fmt.Errorf("after %d of %d entries: %w", done, len(entries), err)
			}
			return err
		}
	}
	return nil
}

// maxBatch is the greatest number of entries in a message, which thus has less than the
// 4 MB that gRPC's servers accept by default.
const maxBatch = 8192

func (c *Client) target(pipe uint32) *bfrtpb.TargetDevice {
	return &bfrtpb.TargetDevice{DeviceId: c.options.DeviceID, PipeId: pipe, Direction: 0xff, PrsrId: 0xff}
}

func (e *Entry) encode(t *Table, keyOnly bool) (*bfrtpb.TableEntry, error) {
	entry := &bfrtpb.TableEntry{TableId: t.ID, IsDefaultEntry: e.Default}
	if !e.Default {
		entry.Key = new(bfrtpb.TableKey)
		for _, m := range e.Match {
			f, err := m.encode(t)
			if err != nil {
				return nil, err
			}
			entry.Key.Fields = append(entry.Key.Fields, f)
		}
	}
	if keyOnly {
		return entry, nil
	}
	entry.Data = new(bfrtpb.TableData)
	var action *Action
	if e.Action != "" {
		var err error
		if action, err = t.Action(e.Action); err != nil {
			return nil, err
		}
		entry.Data.ActionId = action.ID
	}
	fields := make(map[string]Field)
	for _, f := range t.DataFields(action) {
		fields[f.Name] = f
	}
	names := make([]string, 0, len(e.Data))
	for name := range e.Data {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		f, ok := fields[name]
		if !ok {
			return nil, fmt.Errorf("there is no data field %s", name)
		}
		d, err := f.encode(e.Data[name])
		if err != nil {
			return nil, err
		}
		entry.Data.Fields = append(entry.Data.Fields, d)
	}
	return entry, nil
}

func (m *Match) encode(t *Table) (*bfrtpb.KeyField, error) {
	f, err := t.KeyField(m.Field)
	if err != nil {
		return nil, err
	}
	k := &bfrtpb.KeyField{FieldId: f.ID}
	if name, ok := m.Value.(string); ok {
		if err := f.name(name); err != nil {
			return nil, err
		}
		k.MatchType = &bfrtpb.KeyField_Exact_{Exact: &bfrtpb.KeyField_Exact{Value: []byte(name)}}
		return k, nil
	}
	v, err := f.number(m.Value)
	if err != nil {
		return nil, err
	}
	kind := "Exact"
	switch {
	case m.Mask != nil:
		mask, err := f.number(m.Mask)
		if err != nil {
			return nil, err
		}
		kind = "Ternary"
		k.MatchType = &bfrtpb.KeyField_Ternary_{Ternary: &bfrtpb.KeyField_Ternary{Value: v, Mask: mask}}
	case m.LPM:
		kind = "LPM"
		k.MatchType = &bfrtpb.KeyField_Lpm{Lpm: &bfrtpb.KeyField_LPM{Value: v, PrefixLen: int32(m.PrefixLen)}}
	case m.High != nil:
		high, err := f.number(m.High)
		if err != nil {
			return nil, err
		}
		kind = "Range"
		k.MatchType = &bfrtpb.KeyField_Range_{Range: &bfrtpb.KeyField_Range{Low: v, High: high}}
	default:
		k.MatchType = &bfrtpb.KeyField_Exact_{Exact: &bfrtpb.KeyField_Exact{Value: v}}
	}
	if f.Match != kind {
		return nil, fmt.Errorf("key field %s is matched as %s, not %s", f.Name, f.Match, kind)
	}
	return k, nil
}

// Read returns entries of a table: one by its key, the default entry, or all if
// e has neither. fromHW reads the chip instead of the driver's memory.
func (c *Client) Read(ctx context.Context, pipe uint32, e Entry, fromHW bool) ([]Entry, error) {
	if c.info == nil {
		return nil, errors.New("BF Runtime: bind to a program first")
	}
	t, err := c.info.Table(e.Table)
	if err != nil {
		return nil, err
	}
	entry, err := e.encode(t, true)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", t.Name, err)
	}
	if c.assumed && !t.ofDevice() {
		return nil, nil
	}
	if len(e.Match) == 0 {
		entry.Key = nil
	}
	entry.TableFlags = &bfrtpb.TableFlags{FromHw: fromHW}
	s, err := c.rpc.Read(ctx, &bfrtpb.ReadRequest{Target: c.target(pipe), ClientId: c.options.ClientID, P4Name: c.program,
		Entities: []*bfrtpb.Entity{{Entity: &bfrtpb.Entity_TableEntry{TableEntry: entry}}}})
	if err != nil {
		return nil, err
	}
	var list []Entry
	size := 0
	for {
		resp, err := s.Recv()
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, explain(err, func(int) string { return t.Name })
		}
		if size += proto.Size(resp) + 256; size > maxAnswer || len(list)+len(resp.Entities) > maxEntities {
			return nil, fmt.Errorf("table %s: the answer has more than %d entries or %d MB; no table is that large, so the switch sends without an end", t.Name, maxEntities, maxAnswer>>20)
		}
		for _, x := range resp.Entities {
			list = append(list, t.decode(x.GetTableEntry()))
		}
	}
}

// decode converts an entry to names and values. The values of a repeated field,
// such as a register's in each pipeline, are a []any.
func (t *Table) decode(x *bfrtpb.TableEntry) Entry {
	e := Entry{Table: t.Name, Default: x.GetIsDefaultEntry(), Data: make(map[string]any)}
	for _, k := range x.GetKey().GetFields() {
		for i := range t.Key {
			if t.Key[i].ID != k.FieldId {
				continue
			}
			m := Match{Field: t.Key[i].Name}
			switch v := k.MatchType.(type) {
			case *bfrtpb.KeyField_Exact_:
				m.Value = value(v.Exact.Value)
				if t.Key[i].Type.Kind == "string" {
					m.Value = string(v.Exact.Value)
				}
			case *bfrtpb.KeyField_Ternary_:
				m.Value, m.Mask = value(v.Ternary.Value), value(v.Ternary.Mask)
			case *bfrtpb.KeyField_Lpm:
				m.Value, m.LPM, m.PrefixLen = value(v.Lpm.Value), true, int(v.Lpm.PrefixLen)
			case *bfrtpb.KeyField_Range_:
				m.Value, m.High = value(v.Range.Low), value(v.Range.High)
			}
			e.Match = append(e.Match, m)
		}
	}
	action := t.ActionByID(x.GetData().GetActionId())
	if action != nil {
		e.Action = action.Name
	}
	names := make(map[uint32]string)
	for _, f := range t.DataFields(action) {
		names[f.ID] = f.Name
	}
	for _, d := range x.GetData().GetFields() {
		name := names[d.FieldId]
		switch old := e.Data[name].(type) {
		case nil:
			e.Data[name] = decode(d)
		case []any:
			e.Data[name] = append(old, decode(d))
		default:
			e.Data[name] = []any{old, decode(d)}
		}
	}
	return e
}

// Limits of the answer to a read, far beyond the size of a table.
const (
	maxEntities = 4_000_000
	maxAnswer   = 256 << 20 // bytes; a message counts as 256 more
)
