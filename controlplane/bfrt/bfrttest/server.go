// SPDX-License-Identifier: Apache-2.0

// Package bfrttest is a BF Runtime server in memory, for tests of controllers:
// it keeps entries for each pipeline, and, like a switch's server, rejects
// updates that bfrt.json does not allow.
package bfrttest

import (
	"context"
	"encoding/binary"
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// Server is a switch with several pipelines.
type Server struct {
	pipes  int
	device []byte // bfrt.json of the device

	mu      sync.Mutex
	clients map[uint32]string // program of each subscribed client
	program *bfrtpb.ForwardingPipelineConfig
	info    *bfrt.Info
	entries map[string]*bfrtpb.TableEntry // by pipeline, table and key
	starts  map[int]int                   // of ports, by rates that were written
	forget  map[string]bool               // fields that writes do not change
}

// New returns a switch without a program.
func New(pipes int, device []byte) (*Server, error) {
	info, err := bfrt.ParseInfo(device)
	if err != nil {
		return nil, err
	}
	s := &Server{pipes: pipes, device: device, info: info, clients: make(map[uint32]string), entries: make(map[string]*bfrtpb.TableEntry), starts: make(map[int]int)}
	return s, s.putDevice()
}

// Serve adds the switch to a gRPC server.
func (s *Server) Serve(g *grpc.Server) { bfrtpb.Register(g, s) }

// StreamChannel subscribes a client while its stream is open.
func (s *Server) StreamChannel(stream grpc.BidiStreamingServer[bfrtpb.StreamMessageRequest, bfrtpb.StreamMessageResponse]) error {
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	sub := req.GetSubscribe()
	if sub == nil {
		return status.Error(codes.InvalidArgument, "the first message must subscribe")
	}
	id := req.ClientId
	answer := &bfrtpb.Subscribe{DeviceId: sub.DeviceId, Status: new(bfrtpb.SubscribeStatus)}
	s.mu.Lock()
	_, taken := s.clients[id]
	if !taken {
		s.clients[id] = ""
	}
	s.mu.Unlock()
	if taken {
		return status.Error(codes.InvalidArgument, "Can't have two clients with the same client id")
	}
	defer func() {
		s.mu.Lock()
		delete(s.clients, id)
		s.mu.Unlock()
	}()
	if err := stream.Send(&bfrtpb.StreamMessageResponse{Update: &bfrtpb.StreamMessageResponse_Subscribe{Subscribe: answer}}); err != nil {
		return err
	}
	for {
		if _, err := stream.Recv(); err != nil {
			return nil
		}
	}
}

// SetForwardingPipelineConfig loads a program and removes all entries, or binds
// a client to the program.
func (s *Server) SetForwardingPipelineConfig(_ context.Context, req *bfrtpb.SetForwardingPipelineConfigRequest) (*bfrtpb.SetForwardingPipelineConfigResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.clients[req.ClientId]; !ok {
		return nil, status.Errorf(codes.PermissionDenied, "client %d has not subscribed", req.ClientId)
	}
	if len(req.Config) != 1 {
		return nil, status.Errorf(codes.InvalidArgument, "expected one program, not %d", len(req.Config))
	}
	config := req.Config[0]
	switch req.Action {
	case bfrtpb.SetForwardingPipelineConfigRequest_BIND:
		if s.program == nil || s.program.P4Name != config.P4Name {
			return nil, status.Errorf(codes.NotFound, "program %s is not loaded", config.P4Name)
		}
		for id, program := range s.clients {
			if program == config.P4Name {
				return nil, status.Errorf(codes.AlreadyExists, "Client ID %d trying to bind but Client ID %d already owns this P4", req.ClientId, id)
			}
		}
		s.clients[req.ClientId] = config.P4Name
	case bfrtpb.SetForwardingPipelineConfigRequest_VERIFY_AND_WARM_INIT_BEGIN_AND_END:
		info, err := bfrt.ParseInfo(config.BfruntimeInfo, s.device)
		if err != nil {
			return nil, status.Error(codes.InvalidArgument, err.Error())
		}
		for _, p := range config.Profiles {
			if len(p.Context) == 0 || len(p.Binary) == 0 || len(p.PipeScope) == 0 {
				return nil, status.Errorf(codes.InvalidArgument, "profile %s lacks its context, its binary or its pipelines", p.ProfileName)
			}
			for _, pipe := range p.PipeScope {
				if int(pipe) >= s.pipes {
					return nil, status.Errorf(codes.InvalidArgument, "there is no pipeline %d", pipe)
				}
			}
		}
		s.program, s.info = config, info
		device, err := bfrt.ParseInfo(s.device)
		if err != nil {
			return nil, status.Error(codes.Internal, err.Error())
		}
		for key, e := range s.entries {
			if device.ByID(e.TableId) == nil {
				delete(s.entries, key)
			}
		}
		return &bfrtpb.SetForwardingPipelineConfigResponse{SetForwardingPipelineConfigResponseType: bfrtpb.SetForwardingPipelineConfigResponse_WARM_INIT_FINISHED}, nil
	default:
		return nil, status.Errorf(codes.Unimplemented, "%v", req.Action)
	}
	return new(bfrtpb.SetForwardingPipelineConfigResponse), nil
}

// GetForwardingPipelineConfig returns the program and the tables of the device.
func (s *Server) GetForwardingPipelineConfig(context.Context, *bfrtpb.GetForwardingPipelineConfigRequest) (*bfrtpb.GetForwardingPipelineConfigResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	resp := &bfrtpb.GetForwardingPipelineConfigResponse{NonP4Config: &bfrtpb.GetForwardingPipelineConfigResponse_NonP4Config{BfruntimeInfo: s.device}}
	if s.program != nil {
		resp.Config = []*bfrtpb.ForwardingPipelineConfig{s.program}
	}
	return resp, nil
}

// allowed checks the program, and returns the addressed pipelines.
func (s *Server) allowed(program string, target *bfrtpb.TargetDevice) ([]int, error) {
	// A client that names the program need not be bound to it.
	if program != "$SHARED" && (s.program == nil || s.program.P4Name != program) {
		return nil, status.Errorf(codes.NotFound, "Unable to obtain BF_RT info for (%s)", program)
	}
	if target == nil {
		return nil, status.Error(codes.InvalidArgument, "no target")
	}
	if target.PipeId == bfrt.PipeAll {
		all := make([]int, s.pipes)
		for i := range all {
			all[i] = i
		}
		return all, nil
	}
	if int(target.PipeId) >= s.pipes {
		return nil, status.Errorf(codes.InvalidArgument, "there is no pipeline %d", target.PipeId)
	}
	return []int{int(target.PipeId)}, nil
}

// Write checks and applies updates individually.
func (s *Server) Write(_ context.Context, req *bfrtpb.WriteRequest) (*bfrtpb.WriteResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pipes, err := s.allowed(req.P4Name, req.Target)
	if err != nil {
		return nil, err
	}
	var failed failures
	for _, u := range req.Updates {
		failed.add(s.update(pipes, u))
	}
	return new(bfrtpb.WriteResponse), failed.err()
}

// failures are the errors of the entries of a request. Like the driver's server, they
// are sent as one error with the code Unknown, and the codes in its details.
type failures struct {
	list []*bfrtpb.Error
	any  bool
}

func (f *failures) add(err error) {
	e := new(bfrtpb.Error)
	if err != nil {
		e.CanonicalCode, e.Message, f.any = int32(status.Code(err)), status.Convert(err).Message(), true
	}
	f.list = append(f.list, e)
}

func (f *failures) err() error {
	if !f.any {
		return nil
	}
	st := &spb.Status{Code: int32(codes.Unknown), Message: "Error(s) in the request"}
	for _, e := range f.list {
		d, err := anypb.New(e)
		if err != nil {
			return err
		}
		st.Details = append(st.Details, d)
	}
	return status.FromProto(st).Err()
}

func (s *Server) update(pipes []int, u *bfrtpb.Update) error {
	e := u.GetEntity().GetTableEntry()
	if e == nil {
		return status.Error(codes.InvalidArgument, "only table entries can be written")
	}
	if err := Check(s.info, e, u.Type); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	t := s.info.ByID(e.TableId)
	switch {
	case ofDevice(t):
		pipes = pipes[:1]
	case strings.HasPrefix(t.Kind, "MatchAction_") && len(pipes) != s.pipes:
		// pipe_mgr_exm_tbl_init.c and others: in the symmetric mode, which tables have
		// unless a client sets another.
		return status.Errorf(codes.InvalidArgument, "%s: entries of a symmetric table are written in all pipelines", t.Name)
	}
	for _, pipe := range pipes {
		key := s.name(pipe, e)
		old := s.entries[key]
		if err := s.drive(t, pipes, u.Type, old, e); err != nil {
			return err
		}
		switch u.Type {
		case bfrtpb.Update_INSERT:
			if old != nil {
				return status.Errorf(codes.AlreadyExists, "Table Add failed table: %s", t.Name)
			}
			if e.IsDefaultEntry {
				return status.Error(codes.Unimplemented, "INSERT of default entry is not supported. Please use MODIFY instead")
			}
		case bfrtpb.Update_MODIFY:
			if old == nil && t.Kind != "Register" && !e.IsDefaultEntry {
				return status.Errorf(codes.NotFound, "Table Entry modify failed table: %s", t.Name)
			}
		case bfrtpb.Update_DELETE:
			if old == nil {
				return status.Errorf(codes.NotFound, "Table Entry delete failed table: %s", t.Name)
			}
			delete(s.entries, key)
			continue
		}
		if t.Kind == "Register" {
			old = nil // fields that are not given become 0
		}
		s.entries[key] = merge(old, e)
	}
	return nil
}

// merge keeps the fields of an old entry that an update omits, unless the
// action changes.
func merge(old, e *bfrtpb.TableEntry) *bfrtpb.TableEntry {
	e = proto.Clone(e).(*bfrtpb.TableEntry)
	if e.Data == nil {
		e.Data = new(bfrtpb.TableData)
	}
	if old == nil || old.GetData().GetActionId() != e.Data.ActionId {
		return e
	}
	given := make(map[uint32]bool)
	for _, f := range e.Data.Fields {
		given[f.FieldId] = true
	}
	for _, f := range old.GetData().GetFields() {
		if !given[f.FieldId] {
			e.Data.Fields = append(e.Data.Fields, f)
		}
	}
	return e
}

// name returns the key of an entry in the map.
func (s *Server) name(pipe int, e *bfrtpb.TableEntry) string {
	if t := s.info.ByID(e.TableId); t != nil && ofDevice(t) {
		pipe = 0
	}
	key := ""
	if !e.IsDefaultEntry {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(e.GetKey())
		if err != nil {
			panic("BUG: " + err.Error())
		}
		key = string(b)
	}
	return fmt.Sprintf("%d/%d/%v/%x", pipe, e.TableId, e.IsDefaultEntry, key)
}

// Read returns entries. A register's entry has its fields once per pipeline.
func (s *Server) Read(req *bfrtpb.ReadRequest, stream grpc.ServerStreamingServer[bfrtpb.ReadResponse]) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	pipes, err := s.allowed(req.P4Name, req.Target)
	if err != nil {
		return err
	}
	resp := new(bfrtpb.ReadResponse)
	var failed failures
	for _, x := range req.Entities {
		list, err := s.read(pipes, x.GetTableEntry())
		failed.add(err)
		for _, e := range list {
			resp.Entities = append(resp.Entities, entity(e))
		}
	}
	if err := stream.Send(resp); err != nil {
		return err
	}
	return failed.err()
}

func (s *Server) read(pipes []int, e *bfrtpb.TableEntry) ([]*bfrtpb.TableEntry, error) {
	t := s.info.ByID(e.GetTableId())
	switch {
	case t == nil:
		return nil, status.Errorf(codes.NotFound, "Table not found for id %d", e.GetTableId())
	case ofPipe(t) && len(pipes) != 1:
		return nil, status.Errorf(codes.InvalidArgument, "%s: a pipeline must be given, not all", t.Name)
	case e.Key == nil && !e.IsDefaultEntry && t.Kind == "Register":
		var list []*bfrtpb.TableEntry
		for i := range t.Size {
			list = append(list, s.cell(t, pipes, &bfrtpb.TableKey{Fields: []*bfrtpb.KeyField{{FieldId: t.Key[0].ID,
				MatchType: &bfrtpb.KeyField_Exact_{Exact: &bfrtpb.KeyField_Exact{Value: binary.BigEndian.AppendUint32(nil, uint32(i))}}}}}))
		}
		return list, nil
	case e.Key == nil && !e.IsDefaultEntry:
		prefix := fmt.Sprintf("%d/", pipes[0])
		if ofDevice(t) {
			prefix = "0/"
		}
		var keys []string
		for key, have := range s.entries {
			if have.TableId == t.ID && strings.HasPrefix(key, prefix) {
				keys = append(keys, key)
			}
		}
		sort.Strings(keys)
		var list []*bfrtpb.TableEntry
		for _, key := range keys {
			list = append(list, s.entries[key])
		}
		return list, nil
	}
	if err := Check(s.info, e, bfrtpb.Update_DELETE); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if t.Kind == "Register" {
		return []*bfrtpb.TableEntry{s.cell(t, pipes, e.Key)}, nil
	}
	have := s.entries[s.name(pipes[0], e)]
	switch {
	case have != nil:
		return []*bfrtpb.TableEntry{have}, nil
	case e.IsDefaultEntry: // no error
		return nil, nil
	}
	return nil, status.Errorf(codes.NotFound, "Table Read failed table: %s", t.Name)
}

func entity(e *bfrtpb.TableEntry) *bfrtpb.Entity {
	return &bfrtpb.Entity{Entity: &bfrtpb.Entity_TableEntry{TableEntry: e}}
}

// cell returns a cell of a register array.
func (s *Server) cell(t *bfrt.Table, pipes []int, key *bfrtpb.TableKey) *bfrtpb.TableEntry {
	got := &bfrtpb.TableEntry{TableId: t.ID, Key: key, Data: new(bfrtpb.TableData)}
	for _, f := range t.DataFields(nil) {
		for _, pipe := range pipes {
			value := make([]byte, (f.Bits()+7)/8)
			for _, d := range s.entries[s.name(pipe, got)].GetData().GetFields() {
				if d.FieldId == f.ID {
					value = d.GetStream()
				}
			}
			got.Data.Fields = append(got.Data.Fields, &bfrtpb.DataField{FieldId: f.ID, Value: &bfrtpb.DataField_Stream{Stream: value}})
		}
	}
	return got
}
