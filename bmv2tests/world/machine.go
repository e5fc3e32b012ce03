// SPDX-License-Identifier: Apache-2.0

package world

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/simnet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
)

// machine is a switch with its server. The state of the server is compared with a
// model: the acknowledged updates, one after the other.
type machine struct {
	w    *world
	name string

	sw  *softswitch.Switch
	srv *p4rtserver.Server
	g   *grpc.Server
	l   net.Listener
	end chan struct{} // Serve has returned

	// mu orders comparisons: a write and its update of the model are one step.
	mu     sync.Mutex
	model  map[string]string // by name of the entity
	writer *p4v1.Uint128     // election id of the last accepted write
	ahead  vtime.Time        // offset of the switch's clock
	began  time.Time
	pool   packet.Pool
}

// The machine also has the links and the clock of its switch.

func (m *machine) Now() vtime.Time {
	return vtime.Time(time.Since(m.began).Nanoseconds())*vtime.Nanosecond + m.ahead
}

func (m *machine) At(t vtime.Time, ev vtime.Event, arg uint64) {
	sw := m.sw
	time.AfterFunc(max(0, time.Duration((t-m.Now())/vtime.Nanosecond)), func() {
		sw.Lock()
		defer sw.Unlock()
		ev.Fire(max(t, m.Now()), arg)
	})
}

func (m *machine) Send(_ int, f *packet.Frame, _ vtime.Time) { m.pool.Put(f) }
func (m *machine) Frames() *packet.Pool                      { return &m.pool }

// boot makes a new switch, without state.
func (m *machine) boot() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var err error
	if m.sw, err = softswitch.New(softswitch.Config{Name: m.name, DeviceID: 1, Ports: []softswitch.Port{{Number: 1}, {Number: 2}}}); err != nil {
		return err
	}
	m.sw.Attach(m)
	m.srv = p4rtserver.New(m.sw, p4rtserver.Options{Backlog: 64})
	m.model, m.writer = nil, nil
	return nil
}

// serve starts the server.
func (m *machine) serve() error {
	g, err := m.srv.GRPC(p4rtserver.GRPCConfig{Wrap: m.check})
	if err != nil {
		return err
	}
	l, err := m.w.net.Listen(m.name)
	if err != nil {
		return err
	}
	m.g, m.l, m.end = g, l, make(chan struct{})
	go func(l net.Listener, end chan struct{}) {
		defer close(end)
		g.Serve(l)
	}(m.l, m.end)
	return nil
}

// halt ends the server like a crash. With mute the machine ends too, so that clients
// are not notified.
func (m *machine) halt(mute bool) {
	if m.g == nil {
		return
	}
	if mute {
		m.w.net.Each(m.name, "", (*simnet.Wire).Mute)
	}
	m.g.Stop()
	<-m.end
	m.g = nil
}

// check wraps every call. It updates the model and checks that the switch equals it.
func (m *machine) check(req any, call func() (any, error)) (any, error) {
	switch r := req.(type) {
	case *p4v1.WriteRequest:
		m.mu.Lock()
		defer m.mu.Unlock()
		resp, err := call()
		if outcome := m.written(r, err); outcome != "" {
			m.w.violated("%s: %s", m.name, outcome)
		}
		return resp, err
	case *p4v1.SetForwardingPipelineConfigRequest:
		m.mu.Lock()
		defer m.mu.Unlock()
		resp, err := call()
		if err == nil {
			m.acted(r.ElectionId)
			m.model = map[string]string{}
			for _, e := range m.state() {
				m.model[called(e)] = text(e)
			}
		}
		return resp, err
	}
	return call()
}

// acted records the election id of a write.
func (m *machine) acted(by *p4v1.Uint128) {
	if w := m.writer; w != nil && (w.High > by.GetHigh() || w.High == by.GetHigh() && w.Low > by.GetLow()) {
		m.w.violated("%s: a write with election id %v is taken after one with %v: two primaries act", m.name, by, w)
	}
	m.writer = by
}

// written applies a write to the model, and compares.
func (m *machine) written(r *p4v1.WriteRequest, err error) string {
	done := make([]bool, len(r.Updates))
	switch details := status.Convert(err).Details(); {
	case err == nil:
		for i := range done {
			done[i] = true
		}
	case status.Code(err) == codes.Unknown && len(details) == len(done):
		for i, d := range details {
			e, ok := d.(*p4v1.Error)
			done[i] = ok && e.CanonicalCode == int32(codes.OK)
		}
		if r.Atomicity != p4v1.WriteRequest_CONTINUE_ON_ERROR {
			for _, ok := range done {
				if ok {
					return "a batch that is all or nothing was done in part"
				}
			}
		}
	default:
		return "" // refused as a whole
	}
	if r.Role == "" {
		m.acted(r.ElectionId)
	}
	for i, u := range r.Updates {
		switch {
		case !done[i]:
		case u.Type == p4v1.Update_DELETE:
			delete(m.model, called(u.Entity))
		case !u.GetEntity().GetTableEntry().GetIsDefaultAction():
			m.model[called(u.Entity)] = text(u.Entity)
		}
	}
	return m.compare()
}

// compare returns the difference between switch and model, or "".
func (m *machine) compare() string {
	have := map[string]string{}
	for _, e := range m.state() {
		have[called(e)] = text(e)
	}
	for k, v := range m.model {
		if have[k] != v {
			return fmt.Sprintf("an acknowledged write is not in the switch: %q is %q, not %q", k, have[k], v)
		}
	}
	for k, v := range have {
		if m.model[k] == "" {
			return fmt.Sprintf("the switch has what nobody wrote: %q", v)
		}
	}
	return ""
}

// state reads all entities without gRPC; none if there is no pipeline.
func (m *machine) state() []*p4v1.Entity {
	var s sink
	err := m.srv.Read(&p4v1.ReadRequest{DeviceId: 1, Entities: []*p4v1.Entity{
		{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{}}},
		{Entity: &p4v1.Entity_PacketReplicationEngineEntry{PacketReplicationEngineEntry: &p4v1.PacketReplicationEngineEntry{
			Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{MulticastGroupEntry: &p4v1.MulticastGroupEntry{}}}}},
		{Entity: &p4v1.Entity_DigestEntry{DigestEntry: &p4v1.DigestEntry{}}},
	}}, &s)
	if err != nil && status.Code(err) != codes.FailedPrecondition {
		m.w.violated("%s: its state cannot be read: %v", m.name, err)
	}
	return s.entities
}

// sink collects the answers of a read as a client would receive them.
type sink struct {
	grpc.ServerStream
	entities []*p4v1.Entity
}

func (s *sink) Context() context.Context { return context.Background() }

func (s *sink) Send(r *p4v1.ReadResponse) error {
	b, err := proto.Marshal(r)
	if err != nil {
		return err
	}
	var again p4v1.ReadResponse
	if err := proto.Unmarshal(b, &again); err != nil {
		return err
	}
	s.entities = append(s.entities, again.Entities...)
	return nil
}

// called returns the name of an entity.
func called(e *p4v1.Entity) string {
	switch x := e.GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		return text(&p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{TableId: x.TableEntry.TableId, Match: x.TableEntry.Match}}})
	case *p4v1.Entity_PacketReplicationEngineEntry:
		return fmt.Sprint("multicast group ", x.PacketReplicationEngineEntry.GetMulticastGroupEntry().GetMulticastGroupId())
	case *p4v1.Entity_DigestEntry:
		return fmt.Sprint("digest ", x.DigestEntry.DigestId)
	}
	return text(e)
}

// text returns an entity as text, equal for equal entities.
func text(e *p4v1.Entity) string {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(e)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// arrive injects a packet into port 1.
func (m *machine) arrive(key, value uint16) {
	m.sw.Lock()
	defer m.sw.Unlock()
	f := m.pool.Get()
	f.Data = append(f.Data, byte(key>>8), byte(key), byte(value>>8), byte(value))
	m.sw.Receive(1, f)
}

// controller is a program that keeps the desired state of switches.
type controller struct {
	w    *world
	name string
	id   controlplane.ElectionID

	fabric *controlplane.Fabric
	keeper *controlplane.Keeper
	stop   context.CancelFunc
	end    chan struct{}

	mu      sync.Mutex
	events  []controlplane.Event
	digests map[uint16]int
}

func (c *controller) start() error {
	var targets []controlplane.Target
	for _, m := range c.w.machines {
		targets = append(targets, controlplane.Target{Name: m.name, Addr: m.name, DeviceID: 1, ElectionID: c.id})
	}
	f, err := controlplane.StartAll(targets, controlplane.Options{Policy: controlplane.Standby, Dial: c.w.net.Dialer(c.name), Batch: 64, Event: c.heard, Timeout: 5 * time.Second})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.fabric, c.keeper, c.stop, c.end = f, controlplane.NewKeeper(f, 5*time.Second), cancel, make(chan struct{})
	c.keeper.Digest = c.learn
	c.want()
	go func() {
		defer close(c.end)
		c.keeper.Run(ctx)
	}()
	return nil
}

// want sets the keeper's desired state.
func (c *controller) want() {
	for _, m := range c.w.machines {
		if err := c.keeper.Set(m.name, c.w.desired()); err != nil {
			c.w.violated("%s: %v", c.name, err)
		}
	}
}

// halt ends the controller. With mute its machine ends too.
func (c *controller) halt(mute bool) {
	if c.fabric == nil {
		return
	}
	if mute {
		c.w.net.Each(c.name, "", (*simnet.Wire).Mute)
	}
	c.stop()
	<-c.end
	c.fabric.Close()
	c.fabric = nil
	c.mu.Lock()
	c.events = append(c.events, controlplane.Event{Kind: halted})
	c.mu.Unlock()
}

// halted marks the end of the program in events.
const halted = controlplane.EventKind(255)

func (c *controller) heard(e controlplane.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, e)
	c.w.say("%s: %v", c.name, e)
}

func (c *controller) learn(_ *controlplane.Session, d controlplane.Digest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(d.Fields) > 0 {
		c.digests[uint16(d.Uint(d.Fields[0].Name))]++
	}
}

// visit becomes primary of a role, calls a function, and disconnects.
func (w *world) visit(m *machine, role string, high uint64, updates []*p4v1.Update, atomic p4v1.WriteRequest_Atomicity) error {
	conn, err := grpc.NewClient("passthrough:///"+m.name, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(w.net.Dialer("stranger")))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	client := p4v1.NewP4RuntimeClient(conn)
	stream, err := client.StreamChannel(ctx)
	if err != nil {
		return err
	}
	id := &p4v1.Uint128{High: high, Low: 1 << 40}
	bid := &p4v1.MasterArbitrationUpdate{DeviceId: 1, ElectionId: id}
	if role != "" {
		bid.Role = &p4v1.Role{Name: role}
	}
	if err := stream.Send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Arbitration{
		Arbitration: bid}}); err != nil {
		return err
	}
	for {
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		if a := r.GetArbitration(); a != nil {
			if a.GetStatus().GetCode() != 0 {
				return errors.New("not primary")
			}
			break
		}
	}
	_, err = client.Write(ctx, &p4v1.WriteRequest{DeviceId: 1, Role: role, ElectionId: id, Updates: updates, Atomicity: atomic})
	return err
}

// look reads a switch's pairs slowly over the network, and checks that batches are
// atomic.
func (w *world) look(m *machine) {
	conn, err := grpc.NewClient("passthrough:///"+m.name, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(w.net.Dialer("reader")))
	if err != nil {
		return
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	stream, err := p4v1.NewP4RuntimeClient(conn).Read(ctx, &p4v1.ReadRequest{DeviceId: 1,
		Entities: []*p4v1.Entity{{Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{TableId: w.table("pair")}}}}})
	if err != nil {
		return
	}
	values := map[string]int{}
	for {
		r, err := stream.Recv()
		if err != nil {
			if err.Error() != "EOF" {
				return
			}
			break
		}
		for _, e := range r.Entities {
			values[string(e.GetTableEntry().GetAction().GetAction().GetParams()[0].GetValue())]++
		}
	}
	for v, n := range values {
		if n != 2 {
			w.violated("%s: a batch is torn: %d entries of the pair %x are read", m.name, n, v)
		}
	}
}
