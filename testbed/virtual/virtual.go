// SPDX-License-Identifier: Apache-2.0

// Package virtual runs a whole network in one process and virtual time: hosts
// and links of package fabric, and a softswitch for every switch, which starts with
// the program and the entries that a controller would write. Control serves P4Runtime
// on loopback and has a session for every switch, as on a real network.
//
// # Controllers from outside
//
// Lab.Gate serves P4Runtime to controllers that are not ours. They find the program and
// the entries that the network starts with, and may replace both. What switches tell them
// (packets, digests, idle timeouts) and what they answer happens in virtual time:
//
//   - Virtual time begins when a controller is primary of a switch, and quiet. A controller
//     is quiet when all messages to it are on their way, no call of it is being executed,
//     and for the quiet time of Serve, in real time, none has begun or ended.
//   - Between two slices of virtual time (100 µs in package scenario) Gate.Pass stops it if a
//     switch has told a controller something meanwhile, until controllers are quiet. So an
//     answer takes effect at the end of the slice of its cause, before the next event.
//   - A controller that acts only when it is told something, and whose calls follow one
//     another within the quiet time, gets the same run, byte for byte, on any machine. The
//     limit: a call that comes later than the quiet time, or by the controller's own clock,
//     takes effect at a virtual time that depends on the machine. More than 65,536 messages
//     to a controller in one slice are not held.
//   - With a pace, virtual time does not wait, and is never ahead of real time multiplied by
//     the pace. Runs are then as repeatable as those of real switches.
package virtual

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/diff"
	"github.com/pauseless/pauseless/controlplane/intent"
	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
	"github.com/pauseless/pauseless/testbed/program"
)

// Config describes a network.
type Config struct {
	Topology *topo.Topology
	Program  *program.Program // of every switch
	Hosts    roce.Config
	Paths    map[string]int // see intent.Options
	// Scale, if above 1, gives the switches the clocks, and with them the entries, of a
	// real network that is slower by this factor; the program is one of such a network.
	Scale int64
	// CountBytes has the ports of such a network count bytes, as pauseless switch does.
	// Otherwise each packet takes the time of the hosts' longest, as in BMv2's queues.
	CountBytes bool
	Faults     []fabric.Fault
	Seed       uint64
	Threads    int // goroutines that run nodes; zero means one
	// Tap, if set, returns the observer of frames that arrive at a node, or nil.
	Tap func(n *topo.Node) fabric.Tap
	// Trace compiles programs so that switches can follow packets (softswitch.Tracer).
	// They are then slower, and do the same.
	Trace bool
	// Progress and Event, if set, are called with the run's progress and the
	// controller's events.
	Progress func(fabric.Progress)
	Event    func(controlplane.Event)
	// Served prepares switches for Lab.Gate: for many messages in a short time, and
	// without a limit of the processor's time.
	Served bool
}

// Lab is a running network, with programs and entries, at time zero. Its methods
// must be called from one goroutine.
type Lab struct {
	Fabric   *fabric.Fabric
	Hosts    roce.Config
	cfg      Config
	schemas  map[*program.Program]*schema.Schema
	longest  int                  // of the hosts' frames in bytes, if Config.Scale is above 1
	switches []*softswitch.Switch // by node
	p4rt     []*p4rtserver.Server // by node
	control  *controlplane.Fabric // nil: not yet asked for
	servers  []*grpc.Server
}

// Open starts a network. If it fails, it stops what it has started.
func Open(ctx context.Context, cfg Config) (_ *Lab, err error) {
	net := *cfg.Topology
	if net.Frames, err = cfg.Program.Frames(&net, &cfg.Hosts); err != nil {
		return nil, err
	}
	cfg.Topology = &net
	nodes := len(cfg.Topology.Nodes)
	l := &Lab{cfg: cfg, Hosts: cfg.Hosts, switches: make([]*softswitch.Switch, nodes), p4rt: make([]*p4rtserver.Server, nodes)}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if cfg.Scale > 1 {
		hosts := cfg.Hosts
		hosts.CC.Algorithm = cmp.Or(hosts.CC.Algorithm, "none")
		if l.longest, err = hosts.LargestFrame(); err != nil {
			return nil, err
		}
	}
	if hosts := len(net.Hosts()); hosts >= manyHosts {
		enlarge(min(hugePerHost*hosts, mostHuge))
	}
	l.Fabric, err = fabric.New(fabric.Config{
		Topology: cfg.Topology, Switch: l.newSwitch, Hosts: cfg.Hosts, Faults: cfg.Faults,
		Seed: cfg.Seed, Threads: cfg.Threads, Tap: cfg.Tap, Progress: cfg.Progress,
	})
	if err != nil {
		return nil, err
	}
	err = l.load(ctx)
	running(len(net.Hosts())).use()
	return l, err
}

// entities returns the function that makes a switch's entities, which follow from a topology.
func (l *Lab) entities(t *topo.Topology, partial bool) (func(node int) ([]*p4v1.Entity, error), error) {
	return l.cfg.Program.Entities(t, intent.Options{Paths: l.cfg.Paths, Scale: l.cfg.Scale, Partial: partial})
}

// load makes the switches start with the program and their entries, like
// simple_switch_grpc with both on its command line: a connection for each of
// thousands of switches would take most of the time and much of the memory of a start.
func (l *Lab) load(ctx context.Context) error {
	entities, err := l.entities(l.cfg.Topology, l.cfg.Topology.Planes > 1)
	if err != nil {
		return err
	}
	l.schemas = make(map[*program.Program]*schema.Schema)
	loaders := make(map[*program.Program]*p4rtserver.Loader)
	ids := l.cfg.Topology.Switches()
	for _, id := range ids {
		prog := l.cfg.Program.Of(id)
		if loaders[prog] != nil {
			continue
		}
		p := prog.Pipeline()
		if l.schemas[prog], err = schema.New(p.P4Info); err != nil {
			return err
		}
		config := &p4v1.ForwardingPipelineConfig{P4Info: p.P4Info, P4DeviceConfig: p.Config, Cookie: &p4v1.ForwardingPipelineConfig_Cookie{Cookie: p.ID()}}
		if loaders[prog], err = p4rtserver.NewLoader(config, l.compile(), len(ids)); err != nil {
			return fmt.Errorf("switch %s: %w", l.cfg.Topology.Nodes[id].Name, err)
		}
	}
	errs := make([]error, len(ids))
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(ids)) {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(ids) && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				errs[i] = l.preload(ids[i], loaders[l.cfg.Program.Of(ids[i])], entities)
			}
		})
	}
	all.Wait()
	return cmp.Or(ctx.Err(), errors.Join(errs...))
}

// compile returns the options for compiling programs.
func (l *Lab) compile() interp.Options { return interp.Options{Trace: l.cfg.Trace} }

func (l *Lab) preload(id int, loader *p4rtserver.Loader, entitiesOf func(int) ([]*p4v1.Entity, error)) error {
	entities, err := entitiesOf(id)
	if err != nil {
		return err
	}
	o := p4rtserver.Options{Compile: l.compile()}
	if l.cfg.Served {
		o.Backlog, o.Share, o.VirtualTime = backlog, 1, true
	}
	l.p4rt[id] = p4rtserver.New(l.switches[id], o)
	if err := loader.Load(l.p4rt[id], diff.First(entities)); err != nil {
		if u := (*p4rtserver.UpdateError)(nil); errors.As(err, &u) { // an entry of a file is found by its text
			err = fmt.Errorf("%s: %s", l.schemas[l.cfg.Program.Of(id)].FormatEntity(u.Update.Entity), u.Message)
		}
		return fmt.Errorf("switch %s: %w", l.cfg.Topology.Nodes[id].Name, err)
	}
	return nil
}

// Reroute writes the entries that follow from the topology without some of its links.
// Leaves that no path leads to any more have no route.
func (l *Lab) Reroute(ctx context.Context, without []int) error {
	t := l.cfg.Topology.Without(without)
	entitiesOf, err := l.entities(t, true)
	if err != nil {
		return err
	}
	control, err := l.Control(ctx)
	if err != nil {
		return err
	}
	return control.Each(ctx, func(ctx context.Context, s *controlplane.Session) error {
		id := t.NodeByName(s.Name()).ID
		entities, err := entitiesOf(id)
		if err != nil {
			return err
		}
		_, err = s.Apply(ctx, controlplane.Desired{Pipeline: l.cfg.Program.Of(id).Pipeline(), Entities: entities})
		return err
	})
}

// Control returns the controller of the network. The first call starts it, and
// connects it to all switches.
func (l *Lab) Control(ctx context.Context) (*controlplane.Fabric, error) {
	if l.control != nil {
		return l.control, nil
	}
	targets, err := l.serveOn(func(*topo.Node) (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") })
	if err != nil {
		return nil, err
	}
	// The switches answer only while virtual time stands still, so that a probe
	// in between would fail. The timeout is long because only this machine's
	// load delays an answer.
	l.control, err = controlplane.Open(ctx, targets, controlplane.Options{Event: l.cfg.Event, Probe: -1, Timeout: 10 * time.Minute})
	return l.control, err
}

// serveOn starts a P4Runtime server for every switch.
func (l *Lab) serveOn(listen func(*topo.Node) (net.Listener, error), o ...grpc.ServerOption) ([]controlplane.Target, error) {
	var targets []controlplane.Target
	for id, srv := range l.p4rt {
		if srv == nil {
			continue
		}
		n := &l.cfg.Topology.Nodes[id]
		lis, err := listen(n)
		if err != nil {
			return nil, fmt.Errorf("switch %s: no port for its P4Runtime server: %w", n.Name, err)
		}
		server := grpc.NewServer(append(o, grpc.MaxRecvMsgSize(maxMessage))...)
		srv.Register(server)
		l.servers = append(l.servers, server)
		go server.Serve(lis) // returns when Close stops the server
		targets = append(targets, controlplane.Target{Name: n.Name, Addr: lis.Addr().String(), DeviceID: n.DeviceID})
	}
	return targets, nil
}

// maxMessage is the size limit of a message in bytes, larger than any pipeline.
const maxMessage = 64 << 20

// Close stops the network.
func (l *Lab) Close() error {
	var err error
	if l.control != nil {
		err = l.control.Close()
	}
	for _, s := range l.servers {
		s.Stop()
	}
	return err
}

// Switch returns the switch of a node, or nil for a host.
func (l *Lab) Switch(node int) *softswitch.Switch { return l.switches[node] }

// Register reads a register array of a node's switch by its name, as
// Session.ReadRegister does, but from the switch's memory: over P4Runtime a million
// cells take more than a second.
func (l *Lab) Register(ctx context.Context, node int, name string) (register.Array, error) {
	r, err := l.schemas[l.cfg.Program.Of(node)].Register(name)
	if err != nil {
		return register.Array{}, fmt.Errorf("%s: %w", l.cfg.Topology.Nodes[node].Name, err)
	}
	return register.Read(ctx, memory{l.switches[node]}, r)
}

// memory reads registers from a switch's memory.
type memory struct{ sw *softswitch.Switch }

// Read returns the first member of cells that are structs. The caller must not change
// the values.
func (m memory) Read(_ context.Context, r *schema.Register) ([]uint64, error) {
	state := m.sw.State()
	i := slices.IndexFunc(state.Registers, func(x *interp.Register) bool { return x.Info.Name == r.Full })
	if i < 0 || r.Bits < 1 || r.Bits > 64 {
		return nil, fmt.Errorf("the program has no register %s with numbers of up to 64 bits", r.Name)
	}
	x := state.Registers[i]
	if isZero(x) {
		return zeros(x.Info.Size), nil
	}
	values := make([]uint64, x.Info.Size)
	at := x.Info.Width - r.Bits // the first member has the highest bits
	first := make([]uint64, x.Limbs())
	for k := range values {
		bitvec.Shr(first, x.Cell(k), uint64(at), false)
		bitvec.Mask(first, r.Bits)
		values[k] = first[0]
	}
	return values, nil
}

// isZero reports whether all cells of a register array are zero.
func isZero(x *interp.Register) bool {
	for k := range x.Info.Size {
		if !bitvec.IsZero(x.Cell(k)) {
			return false
		}
	}
	return true
}

var noValues atomic.Pointer[[]uint64]

// zeros returns n zeros, which must not be changed: in large networks most arrays of most
// switches are never written, and share them.
func zeros(n int) []uint64 {
	if have := noValues.Load(); have != nil && len(*have) >= n {
		return (*have)[:n:n]
	}
	all := make([]uint64, n)
	noValues.Store(&all)
	return all
}

// newSwitch makes the node of a switch.
func (l *Lab) newSwitch(n *topo.Node, network fabric.Network) (fabric.Node, error) {
	sw, err := softswitch.New(l.switchConfig(n))
	if err != nil {
		return nil, err
	}
	sw.Attach(network)
	for i, p := range n.Ports {
		if l.cfg.Topology.Nodes[p.Peer].Stub == topo.Nothing {
			sw.LinkChanged(i+1, false)
		}
	}
	l.switches[n.ID] = sw
	return sw, nil
}

func (l *Lab) switchConfig(n *topo.Node) softswitch.Config {
	t, m := l.cfg.Topology, l.cfg.Program.Of(n.ID).Manifest
	units := l.cfg.Program.Of(n.ID).Units()
	units.Slower = l.cfg.Scale
	cfg := softswitch.Config{
		Name: n.Name, DeviceID: n.DeviceID,
		Buffer:   softswitch.Buffer{Size: t.Switch.Buffer, EgressAlpha: t.Switch.EgressAlpha, QueueBytes: t.Switch.Queue},
		PFC:      pfc(&t.Switch.PFC),
		Trimming: softswitch.Trimming{Size: t.Switch.Trimming.Size, Queue: t.Switch.Trimming.Queue},
		Units:    units,
		Seed:     l.cfg.Seed<<16 ^ uint64(n.ID),

		QueueByClass: l.cfg.Program.Own(),
		Ports:        make([]softswitch.Port, 0, len(n.Ports)+1), // with that of recirculation
	}
	if l.cfg.Program.Own() {
		cfg.CPUPort = n.Given.CPU
	}
	for i, p := range n.Ports {
		rate := t.Links[p.Link].Rate
		cfg.Ports = append(cfg.Ports, softswitch.Port{
			Number: i + 1, Rate: rate, Slot: l.slot(rate, l.cfg.Hosts.Overhead), Overhead: l.cfg.Hosts.Overhead, MAC: n.MAC,
			PFC: thresholds(t, &t.Links[p.Link]), TrimDSCP: t.TrimDSCP(&t.Links[p.Link]), Watchdog: watchdog(t, &t.Links[p.Link]),
		})
	}
	again := m.RecirculationPort
	if m.Target == program.TNA {
		again = manifest.TofinoRecirculation
	}
	if again != 0 {
		scale := max(l.cfg.Scale, 1)
		r := program.Recirculation(m, t.Switch.Recirculation, scale)
		r.Rate, r.Latency = r.Rate*vtime.Rate(scale), r.Latency/vtime.Time(scale)
		if scale > 1 { // as on BMv2
			r.Latency, r.OwnBuffer = 0, false
		}
		cfg.Ports = append(cfg.Ports, softswitch.Port{Number: again, Internal: true, Rate: r.Rate, Slot: l.slot(r.Rate, 0), Latency: r.Latency, OwnBuffer: r.OwnBuffer})
	}
	cfg.MaxPasses = program.MaxPasses(m)
	// Programs that read PFC frames receive them; a program with emulated PFC
	// runs without the switch's.
	cfg.PFC.CopyToPipeline = m.Has("pfc")
	if m.Has("pfc_emulated") {
		cfg.PFC = softswitch.PFC{}
	}
	return cfg
}

// slot returns the time that each packet takes in the queues of a port of BMv2, whose
// rate is in packets as long as the hosts' longest; zero for switches that count bytes.
func (l *Lab) slot(rate vtime.Rate, overhead int) vtime.Time {
	if l.cfg.Scale <= 1 || l.cfg.CountBytes {
		return 0
	}
	return rate.TxTime(l.longest + overhead)
}

// pfc returns a switch's PFC configuration for the topology's.
func pfc(c *topo.PFC) softswitch.PFC {
	if c.Off {
		return softswitch.PFC{}
	}
	p := softswitch.PFC{Lossless: 1 << manifest.LosslessClass, Classify: &classOfDSCP}
	p.XOFF, p.Alpha, p.Reserve = c.XOFF, c.Alpha, c.Reserve
	p.Pause, p.EachFrame, p.HeadroomLast = c.Pause, c.EachFrame, c.HeadroomLast
	p.DropAlpha = c.DropAlpha
	if c.Alpha > 0 {
		p.XOFF = 0
	}
	return p
}

// thresholds returns the PFC thresholds of one port, which depend on its link's
// rate and delay, and on the largest frame.
func thresholds(t *topo.Topology, l *topo.Link) softswitch.Thresholds {
	c := &t.Switch.PFC
	if c.Off {
		return softswitch.Thresholds{}
	}
	th := softswitch.Thresholds{Headroom: t.HeadroomFor(l), Apart: t.ApartFor(l), Alpha: t.AlphaFor(l), Resume: c.Resume}
	if th.Resume == 0 {
		th.Resume = t.DefaultResume()
	}
	if !t.Pauses(l) {
		th.XOFF = t.Switch.Buffer // no queue is as long
	}
	return th
}

// watchdog returns the PFC watchdog of one port.
func watchdog(t *topo.Topology, l *topo.Link) softswitch.Watchdog {
	w := &t.Switch.PFC.Watchdog
	if !t.Watches(l) || w.Detection == 0 {
		return softswitch.Watchdog{}
	}
	return softswitch.Watchdog{Detection: w.Detection, Restoration: w.Restoration, Action: w.Action}
}

// A Storm is what the PFC watchdog of a switch has done at a port and class.
type Storm struct {
	Switch      string
	Port, Class int
	softswitch.ClassStats
}

// Storms returns the ports and classes with PFC storms, by switch and port.
func (l *Lab) Storms() []Storm {
	var list []Storm
	for id, sw := range l.switches {
		if sw == nil || l.cfg.Topology.Switch.PFC.Watchdog.Detection == 0 {
			continue
		}
		n := &l.cfg.Topology.Nodes[id]
		for p := range n.Ports {
			for class, c := range sw.Port(p + 1).Class {
				if c.Storms > 0 {
					list = append(list, Storm{n.Name, p + 1, class, c})
				}
			}
		}
	}
	return list
}

// classOfDSCP maps a DSCP to the class in its upper three bits: 26 to class 3, 48
// to class 6.
var classOfDSCP = func() (c [64]uint8) {
	for d := range c {
		c[d] = uint8(d >> 3)
	}
	return c
}()
