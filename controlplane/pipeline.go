// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/pauseless/pauseless/controlplane/schema"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Pipeline is a compiled P4 program.
type Pipeline struct {
	P4Info *p4configv1.P4Info
	Config []byte // BMv2 JSON, for BMv2 and pauseless switch
	Cookie uint64 // zero means a hash of P4Info and Config
}

// ID returns the cookie that identifies the pipeline on a switch: the given one,
// or a hash of P4Info and configuration.
func (p Pipeline) ID() uint64 {
	if p.Cookie != 0 {
		return p.Cookie
	}
	h := sha256.New()
	info, err := proto.MarshalOptions{Deterministic: true}.Marshal(p.P4Info)
	if err != nil {
		panic("BUG: P4Info cannot be encoded: " + err.Error())
	}
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(info))))
	h.Write(info)
	h.Write(p.Config)
	return max(binary.BigEndian.Uint64(h.Sum(nil)), 1)
}

// SetPipeline pushes a pipeline and starts it. Tables and registers become empty.
func (s *Session) SetPipeline(ctx context.Context, p Pipeline) error {
	if err := s.configure(ctx, p, p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT); err != nil {
		return err
	}
	sch, err := schema.New(p.P4Info)
	if err != nil {
		return fmt.Errorf("%s: %w", s.target.Name, err)
	}
	s.schema.Store(sch)
	s.cookie.Store(p.ID())
	return nil
}

// VerifyPipeline checks whether the switch could run a pipeline, without changing
// the switch.
func (s *Session) VerifyPipeline(ctx context.Context, p Pipeline) error {
	return s.configure(ctx, p, p4v1.SetForwardingPipelineConfigRequest_VERIFY)
}

// pushing is what a Session does in configure.
const pushing = "push the pipeline"

func (s *Session) configure(ctx context.Context, p Pipeline, action p4v1.SetForwardingPipelineConfigRequest_Action) error {
	if err := s.writable(); err != nil {
		return err
	}
	if _, err := schema.New(p.P4Info); err != nil {
		return fmt.Errorf("%s: %w", s.target.Name, err)
	}
	ctx, cancel := s.call(ctx)
	defer cancel()
	_, err := s.client.SetForwardingPipelineConfig(ctx, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: s.target.DeviceID, Role: s.target.Role, ElectionId: s.get().mine.proto(), Action: action,
		Config: &p4v1.ForwardingPipelineConfig{
			P4Info: p.P4Info, P4DeviceConfig: p.Config,
			Cookie: &p4v1.ForwardingPipelineConfig_Cookie{Cookie: p.ID()},
		},
	})
	return s.callError(pushing, err)
}

// FetchPipeline returns the pipeline that the switch runs. Its Config is empty if
// the switch does not return it. If there is no pipeline, the error wraps
// ErrNoPipeline.
func (s *Session) FetchPipeline(ctx context.Context) (Pipeline, error) {
	return s.fetch(ctx, p4v1.GetForwardingPipelineConfigRequest_ALL)
}

func (s *Session) fetch(ctx context.Context, what p4v1.GetForwardingPipelineConfigRequest_ResponseType) (Pipeline, error) {
	ctx, cancel := s.call(ctx)
	defer cancel()
	r, err := s.client.GetForwardingPipelineConfig(ctx, &p4v1.GetForwardingPipelineConfigRequest{DeviceId: s.target.DeviceID, ResponseType: what})
	if status.Code(err) == codes.FailedPrecondition {
		return Pipeline{}, fmt.Errorf("%s runs no pipeline; %w", s.target.Name, ErrNoPipeline)
	}
	if err != nil {
		return Pipeline{}, s.callError("fetch the pipeline", err)
	}
	c := r.GetConfig()
	// Servers without a pipeline answer with nothing, or with a message in which nothing
	// is set. A program may have an empty P4Info: then its configuration tells.
	empty := c == nil || proto.Size(c.P4Info) == 0 && len(c.P4DeviceConfig) == 0 && c.Cookie == nil
	if empty && c != nil && what != p4v1.GetForwardingPipelineConfigRequest_ALL {
		return s.fetch(ctx, p4v1.GetForwardingPipelineConfigRequest_ALL)
	}
	if empty {
		return Pipeline{}, fmt.Errorf("%s runs no pipeline; %w", s.target.Name, ErrNoPipeline)
	}
	if c.P4Info == nil {
		c.P4Info = &p4configv1.P4Info{}
	}
	return Pipeline{P4Info: c.P4Info, Config: c.P4DeviceConfig, Cookie: c.GetCookie().GetCookie()}, nil
}

// Cookie returns the cookie of the pipeline that the switch runs now, or 0 if it
// has none or runs no pipeline.
func (s *Session) Cookie(ctx context.Context) (uint64, error) {
	p, err := s.fetch(ctx, p4v1.GetForwardingPipelineConfigRequest_COOKIE_ONLY)
	return p.Cookie, err
}

// EnsurePipeline pushes a pipeline unless the switch runs it already, and
// reports whether it did.
func (s *Session) EnsurePipeline(ctx context.Context, p Pipeline) (pushed bool, err error) {
	if cookie, err := s.Cookie(ctx); err == nil && cookie == p.ID() {
		if s.cookie.Load() == cookie && s.Schema() != nil {
			return false, nil
		}
		sch, err := schema.New(p.P4Info)
		if err != nil {
			return false, fmt.Errorf("%s: %w", s.target.Name, err)
		}
		s.schema.Store(sch)
		s.cookie.Store(cookie)
		return false, nil
	}
	return true, s.SetPipeline(ctx, p)
}

// Schema returns the names of the pipeline last pushed or fetched, or nil.
func (s *Session) Schema() *schema.Schema { return s.schema.Load() }

// LoadSchema returns the names of the switch's pipeline. It fetches the P4Info if
// the session does not have it yet.
func (s *Session) LoadSchema(ctx context.Context) (*schema.Schema, error) {
	if sch := s.Schema(); sch != nil {
		return sch, nil
	}
	p, err := s.fetch(ctx, p4v1.GetForwardingPipelineConfigRequest_P4INFO_AND_COOKIE)
	if err != nil {
		return nil, err
	}
	sch, err := schema.New(p.P4Info)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.target.Name, err)
	}
	s.schema.Store(sch)
	s.cookie.Store(p.Cookie)
	return sch, nil
}
