// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"context"
	"errors"
	"slices"
	"strings"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/table"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// SetForwardingPipelineConfig implements the RPC of this name.
func (s *Server) SetForwardingPipelineConfig(ctx context.Context, r *p4v1.SetForwardingPipelineConfigRequest) (*p4v1.SetForwardingPipelineConfigResponse, error) {
	if err := s.checkDevice(r.DeviceId); err != nil {
		return nil, err
	}
	if err := s.arb.checkPrimary(r.Role, pipelineRoleID(r), r.ElectionId); err != nil {
		return nil, err
	}
	turn, err := s.paced(ctx)
	if err != nil {
		return nil, err
	}
	defer turn.end()
	var p *pipeline
	var d *device // new, not yet used; its memory is returned if it is not
	defer func() { d.drop() }()
	switch r.Action {
	case p4v1.SetForwardingPipelineConfigRequest_COMMIT:
		if r.Config != nil {
			return nil, status.Error(codes.InvalidArgument, "COMMIT takes the configuration saved before: none may be given")
		}
	case p4v1.SetForwardingPipelineConfigRequest_VERIFY, p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_SAVE,
		p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT:
		var err error
		if p, err = bind(r.Config, s.opts.Compile); err != nil {
			return nil, err
		}
	default:
		return nil, status.Errorf(codes.InvalidArgument, "unknown action %v", r.Action)
	}
	switch {
	case p == nil:
	case r.Action == p4v1.SetForwardingPipelineConfigRequest_VERIFY:
		if _, err := s.fits(p); err != nil {
			return nil, err
		}
	default:
		if d, err = s.newDevice(p, interp.NewState); err != nil { // before anyone waits for it
			return nil, err
		}
	}
	s.serial.Lock()
	defer s.serial.Unlock()
	// Another controller may have become primary during the compilation.
	sc, end, err := s.arb.begin(r.Role, pipelineRoleID(r), r.ElectionId)
	if err != nil {
		return nil, err
	}
	defer end()
	if sc != nil && !sc.pipeline {
		return nil, status.Errorf(codes.PermissionDenied, "role %q may not set the forwarding pipeline", r.Role)
	}
	// Reads continue meanwhile, writes wait.
	if r.Action == p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT {
		if old, none := s.current(); none == nil {
			if err := d.takeOver(ctx, old); err != nil {
				return nil, err
			}
		}
	}
	s.writes.Lock()
	defer s.writes.Unlock()
	switch r.Action {
	case p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_SAVE:
		s.saved.drop()
		s.saved = d
		s.setConfig(p.config)
	case p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT:
		s.commit(d)
	case p4v1.SetForwardingPipelineConfigRequest_COMMIT:
		if s.saved == nil {
			return nil, status.Error(codes.NotFound, "no configuration is saved: VERIFY_AND_SAVE comes first")
		}
		s.commit(s.saved)
	}
	d = nil
	s.log.Info("forwarding pipeline", "action", r.Action, "program", p.name())
	return &p4v1.SetForwardingPipelineConfigResponse{}, nil
}

// Units returns the units of time and queue depth that a program's P4Info names in
// the annotation units of its package; empty ones if it does not say. An annotation
// that says anything else is an error.
func Units(info *p4configv1.P4Info) (u softswitch.Units, err error) {
	unread := errors.New(`the annotation units of the program cannot be read: write @units[time="ns", depth="cells80"], with time, depth or both`)
	for _, text := range info.GetPkgInfo().GetAnnotations() {
		if name, _, _ := strings.Cut(strings.TrimSpace(text), "("); strings.TrimSpace(name) == "@units" {
			return u, unread
		}
	}
	for _, a := range info.GetPkgInfo().GetStructuredAnnotations() {
		if a.Name != "units" {
			continue
		}
		pairs := a.GetKvPairList().GetKvPairs()
		for _, kv := range pairs {
			value := kv.GetValue().GetStringValue()
			switch {
			case value == "":
				return u, unread
			case kv.Key == "time":
				u.Time = value
			case kv.Key == "depth":
				u.Depth = value
			default:
				return u, unread
			}
		}
		if len(pairs) == 0 {
			return u, unread
		}
	}
	return u, nil
}

// fits returns the program's units, or an error if the switch has others.
func (s *Server) fits(p *pipeline) (softswitch.Units, error) {
	u, err := Units(p.config.GetP4Info())
	if err == nil {
		_, err = s.sw.Config().Units.For(u)
	}
	if err != nil {
		return u, status.Error(codes.FailedPrecondition, err.Error())
	}
	return u, nil
}

func (p *pipeline) name() string {
	if p == nil {
		return "saved before"
	}
	return p.prog.Name
}

// newDevice returns a device in the initial state of a program, which newState makes.
func (s *Server) newDevice(p *pipeline, newState func(p *interp.Program, seed uint64) *state) (*device, error) {
	d := &device{pipeline: p, s: s}
	units, err := s.fits(p)
	if err != nil {
		return nil, err
	}
	if err := d.grow(p.prog.StateBytes() + 4*int64(proto.Size(p.config))); err != nil {
		return nil, err
	}
	*d = device{pipeline: p, s: s, units: units, charged: d.charged, state: newState(p.prog, s.sw.Config().Seed),
		groups: map[uint32]*p4v1.MulticastGroupEntry{}, sessions: map[uint32]*p4v1.CloneSessionEntry{},
		digests: map[uint32]*p4v1.DigestEntry_Config{}, names: s.newNames(p)}
	for _, bt := range p.order {
		t := d.state.Tables[bt.number]
		entries := int64(0)
		t.Each(func(_ uint32, e *interp.Entry) bool {
			entries += costOf(t, e)
			return true
		})
		d.shrink(-entries) // those of the program, which exist already
		if bt.info.IsConstTable {
			continue
		}
		for i := range bt.prog.Entries {
			if e := &bt.prog.Entries[i]; e.Const {
				d.markConst(bt, &e.Match)
			}
		}
	}
	return d, nil
}

// markConst marks an entry as constant for the controller.
func (d *device) markConst(bt *boundTable, m *table.Match) {
	t := d.state.Tables[bt.number]
	if id, ok := t.Find(m); ok {
		meta := *metaOf(t.Entry(id))
		meta.isConst = true
		t.Extend(id).Owner = &meta
	}
}

// commit makes the switch run a device.
func (s *Server) commit(d *device) {
	defer s.sw.Hold()()
	if err := s.sw.SetUnits(d.units); err != nil {
		panic("BUG: " + err.Error()) // newDevice has checked them
	}
	if d.adopt != nil { // what packets change, at the last moment
		d.adopt()
		d.adopt = nil
	}
	for _, p := range d.state.Profiles {
		p.EachGroup(func(g *interp.Group) {
			for i := range g.Members {
				m := &g.Members[i]
				m.Down = m.Watch >= 0 && !s.sw.LinkUp(m.Watch)
			}
			g.Choose()
		})
	}
	s.sw.LoadState(d.state)
	d.live = true
	for id, g := range d.groups {
		s.sw.SetGroup(id, d.replicas(g.Replicas))
	}
	for _, c := range d.sessions {
		d.applySession(c)
	}
	s.digests.reset(d)
	s.ageing.reset(d)
	s.packets = packetIO{d.packetIn, d}
	s.committed.drop()
	if s.saved != d {
		s.saved.drop()
	}
	s.committed, s.saved = d, nil
	s.setConfig(d.config)
}

func (s *Server) setConfig(c *p4v1.ForwardingPipelineConfig) {
	s.configMu.Lock()
	s.config = c
	s.configMu.Unlock()
}

// GetForwardingPipelineConfig implements the RPC of this name.
func (s *Server) GetForwardingPipelineConfig(_ context.Context, r *p4v1.GetForwardingPipelineConfigRequest) (*p4v1.GetForwardingPipelineConfigResponse, error) {
	if err := s.checkDevice(r.DeviceId); err != nil {
		return nil, err
	}
	s.configMu.Lock()
	c := s.config
	s.configMu.Unlock()
	resp := &p4v1.GetForwardingPipelineConfigResponse{}
	if c == nil {
		return resp, nil
	}
	resp.Config = &p4v1.ForwardingPipelineConfig{Cookie: c.Cookie}
	switch r.ResponseType {
	case p4v1.GetForwardingPipelineConfigRequest_ALL:
		resp.Config.P4Info, resp.Config.P4DeviceConfig = c.P4Info, c.P4DeviceConfig
	case p4v1.GetForwardingPipelineConfigRequest_COOKIE_ONLY:
	case p4v1.GetForwardingPipelineConfigRequest_P4INFO_AND_COOKIE:
		resp.Config.P4Info = c.P4Info
	case p4v1.GetForwardingPipelineConfigRequest_DEVICE_CONFIG_AND_COOKIE:
		resp.Config.P4DeviceConfig = c.P4DeviceConfig
	default:
		return nil, status.Errorf(codes.InvalidArgument, "unknown response type %v", r.ResponseType)
	}
	return resp, nil
}

// Preload sets a configuration and applies updates without a controller, for a
// switch that starts with a program. Either all updates are applied or none. A Loader
// starts many switches.
func (s *Server) Preload(cfg *p4v1.ForwardingPipelineConfig, updates []*p4v1.Update) error {
	l, err := NewLoader(cfg, s.opts.Compile, 1)
	if err != nil {
		return err
	}
	l.shares = false // with whom?
	return l.Load(s, updates)
}

// preload applies an update at the start of a switch. Entries may be const
// here, as in p4c's entries files, which include those of the program.
func (d *device) preload(u *p4v1.Update) error {
	e := u.GetEntity().GetTableEntry()
	isConst := e.GetIsConst()
	if isConst {
		e.IsConst = false
		defer func() { e.IsConst = true }()
	}
	o, err := d.decode(u)
	if err != nil {
		return err
	}
	update, _ := o.(*tableUpdate)
	if update != nil && !update.isDef && u.Type == p4v1.Update_INSERT && d.own(update) {
		err = nil
	} else {
		err = o.apply(d)
	}
	if err == nil && isConst && update != nil && !update.isDef {
		d.markConst(update.t, &update.match)
	}
	return err
}

// own reports whether an entry is in the program.
func (d *device) own(u *tableUpdate) bool {
	t := d.state.Tables[u.t.number]
	id, ok := t.Find(&u.match)
	if !ok || !u.t.info.HasInitialEntries || u.number != t.Entry(id).Action() || !slices.Equal(u.args, t.Args(t.Entry(id))) {
		return false
	}
	return slices.ContainsFunc(u.t.prog.Entries, func(e interp.ConstEntry) bool {
		have, ok := t.Find(&e.Match)
		return ok && have == id
	})
}
