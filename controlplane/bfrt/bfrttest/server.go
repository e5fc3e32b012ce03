// SPDX-License-Identifier: Apache-2.0

// Package bfrttest is a BF Runtime server in memory, for tests of controllers:
// it keeps entries for each pipeline, and, like a switch's server, rejects
// updates that bfrt.json does not allow.
package bfrttest

import (
	"context"
	"fmt"
	"sort"
	"sync"

	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
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
}

// New returns a switch without a program.
func New(pipes int, device []byte) (*Server, error) {
	info, err := bfrt.ParseInfo(device)
	if err != nil {
		return nil, err
	}
	return &Server{pipes: pipes, device: device, info: info, clients: make(map[uint32]string), entries: make(map[string]*bfrtpb.TableEntry)}, nil
}

// Serve adds the switch to a gRPC server.
func (s *Server) Serve(g *grpc.Server) { bfrtpb.Register(g, s) }

// Put sets an entry in all pipelines without checks, for entries that a chip
// has itself.
func (s *Server) Put(e *bfrtpb.TableEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for pipe := range s.pipes {
		s.entries[name(pipe, e)] = e
	}
}

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
		answer.Status = &bfrtpb.SubscribeStatus{Code: int32(codes.AlreadyExists), Message: "another client has this id"}
	} else {
		defer func() {
			s.mu.Lock()
			delete(s.clients, id)
			s.mu.Unlock()
		}()
	}
	if err := stream.Send(&bfrtpb.StreamMessageResponse{Update: &bfrtpb.StreamMessageResponse_Subscribe{Subscribe: answer}}); err != nil || taken {
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
		return nil, status.Errorf(codes.InvalidArgument, "want one program, not %d", len(req.Config))
	}
	config := req.Config[0]
	switch req.Action {
	case bfrtpb.SetForwardingPipelineConfigRequest_BIND:
		if s.program == nil || s.program.P4Name != config.P4Name {
			return nil, status.Errorf(codes.NotFound, "program %s is not loaded", config.P4Name)
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
		for key, e := range s.entries {
			if s.info.ByID(e.TableId) == nil {
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

// allowed checks the client, and returns the addressed pipelines.
func (s *Server) allowed(client uint32, program string, target *bfrtpb.TargetDevice) ([]int, error) {
	if bound := s.clients[client]; bound == "" || bound != program {
		return nil, status.Errorf(codes.PermissionDenied, "client %d is not bound to %q", client, program)
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
	pipes, err := s.allowed(req.ClientId, req.P4Name, req.Target)
	if err != nil {
		return nil, err
	}
	resp := new(bfrtpb.WriteResponse)
	for _, u := range req.Updates {
		st := new(bfrtpb.Error)
		if err := s.update(pipes, u); err != nil {
			st.CanonicalCode, st.Message = int32(status.Code(err)), status.Convert(err).Message()
		}
		resp.Status = append(resp.Status, st)
	}
	return resp, nil
}

func (s *Server) update(pipes []int, u *bfrtpb.Update) error {
	e := u.GetEntity().GetTableEntry()
	if e == nil {
		return status.Error(codes.InvalidArgument, "only table entries can be written")
	}
	if err := Check(s.info, e, u.Type); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	always := s.info.ByID(e.TableId).Kind == "Register" || e.IsDefaultEntry
	for _, pipe := range pipes {
		key := name(pipe, e)
		old := s.entries[key]
		switch u.Type {
		case bfrtpb.Update_INSERT:
			if old != nil {
				return status.Error(codes.AlreadyExists, "there is such an entry")
			}
		case bfrtpb.Update_MODIFY:
			if old == nil && !always && s.info.ByID(e.TableId).Kind == "MatchAction_Direct" {
				return status.Error(codes.NotFound, "there is no such entry")
			}
		case bfrtpb.Update_DELETE:
			if old == nil {
				return status.Error(codes.NotFound, "there is no such entry")
			}
			delete(s.entries, key)
			continue
		}
		s.entries[key] = merge(old, e)
	}
	return nil
}

// merge keeps the fields of an old entry that an update omits, unless the
// action changes.
func merge(old, e *bfrtpb.TableEntry) *bfrtpb.TableEntry {
	e = proto.Clone(e).(*bfrtpb.TableEntry)
	if old == nil || old.GetData().GetActionId() != e.GetData().GetActionId() {
		return e
	}
	given := make(map[uint32]bool)
	for _, f := range e.Data.Fields {
		given[f.FieldId] = true
	}
	for _, f := range old.Data.Fields {
		if !given[f.FieldId] {
			e.Data.Fields = append(e.Data.Fields, f)
		}
	}
	return e
}

// name returns the key of an entry in the map.
func name(pipe int, e *bfrtpb.TableEntry) string {
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
	pipes, err := s.allowed(req.ClientId, req.P4Name, req.Target)
	if err != nil {
		return err
	}
	resp := new(bfrtpb.ReadResponse)
	for _, x := range req.Entities {
		e := x.GetTableEntry()
		t := s.info.ByID(e.GetTableId())
		switch {
		case t == nil:
			return status.Errorf(codes.InvalidArgument, "there is no table %#x", e.GetTableId())
		case e.Key == nil && !e.IsDefaultEntry:
			var keys []string
			for key, have := range s.entries {
				if have.TableId == t.ID && len(key) > 0 && key[0] == byte('0'+pipes[0]) {
					keys = append(keys, key)
				}
			}
			sort.Strings(keys)
			for _, key := range keys {
				resp.Entities = append(resp.Entities, entity(s.entries[key]))
			}
		default:
			if err := Check(s.info, e, bfrtpb.Update_DELETE); err != nil {
				return status.Error(codes.InvalidArgument, err.Error())
			}
			got, err := s.get(t, pipes, e)
			if err != nil {
				return err
			}
			resp.Entities = append(resp.Entities, entity(got))
		}
	}
	return stream.Send(resp)
}

func entity(e *bfrtpb.TableEntry) *bfrtpb.Entity {
	return &bfrtpb.Entity{Entity: &bfrtpb.Entity_TableEntry{TableEntry: e}}
}

func (s *Server) get(t *bfrt.Table, pipes []int, e *bfrtpb.TableEntry) (*bfrtpb.TableEntry, error) {
	if t.Kind != "Register" {
		if have := s.entries[name(pipes[0], e)]; have != nil {
			return have, nil
		}
		return nil, status.Error(codes.NotFound, "there is no such entry")
	}
	got := &bfrtpb.TableEntry{TableId: t.ID, Key: e.Key, Data: new(bfrtpb.TableData)}
	for _, f := range t.DataFields(nil) {
		for _, pipe := range pipes {
			value := make([]byte, (f.Bits()+7)/8)
			for _, d := range s.entries[name(pipe, e)].GetData().GetFields() {
				if d.FieldId == f.ID {
					value = d.GetStream()
				}
			}
			got.Data.Fields = append(got.Data.Fields, &bfrtpb.DataField{FieldId: f.ID, Value: &bfrtpb.DataField_Stream{Stream: value}})
		}
	}
	return got, nil
}
