// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/pauseless/pauseless/internal/bmv2"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/relay"
)

// Config describes a network.
type Config struct {
	Name string
	Plan *local.Plan
	// Program returns the program of a switch and its arguments.
	Program func(s *local.Switch) (program string, args []string, err error)
	// QueuePackets is how many packets each egress queue of BMv2 holds.
	QueuePackets int
	// Recirculation is BMv2's recirculation port, or 0, and RecirculationPPS its
	// rate in packets per second.
	Recirculation    int
	RecirculationPPS int64
	// Relay returns the program that carries the plan's cables, as a file describes them,
	// and its arguments. It is called if there are cables.
	Relay func(file string) (program string, args []string, err error)
	// Progress, if set, is called with each step.
	Progress func(text string)
}

// Network is a running network.
type Network struct {
	Config
	journal  *journal
	switches map[string]*process
	relay    *process // nil: none
	adopted  bool
	// background are the commands of hosts that go on.
	background []*process
}

// Up builds a network and starts its switches, without P4 programs. If it fails,
// it removes what it has built.
func Up(ctx context.Context, c Config) (_ *Network, err error) {
	if err := CheckName(c.Name); err != nil {
		return nil, err
	}
	if err := cmp.Or(Possible(), ctx.Err()); err != nil {
		return nil, err
	}
	if c.Progress == nil {
		c.Progress = func(string) {}
	}
	j, err := newJournal(c.Name)
	if err != nil {
		return nil, err
	}
	n := &Network{Config: c, journal: j, switches: make(map[string]*process)}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Down())
		}
	}()
	c.Progress(fmt.Sprintf("%d hosts, %d switches and their links", len(c.Plan.Hosts), len(c.Plan.Switches)))
	if err := n.links(ctx); err != nil {
		return nil, err
	}
	if err := n.startRelay(ctx); err != nil {
		return nil, err
	}
	for i := range c.Plan.Switches {
		if err := n.StartSwitch(ctx, c.Plan.Switches[i].Name); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// links makes namespaces and veth pairs.
func (n *Network) links(ctx context.Context) error {
	for _, h := range n.Plan.Hosts {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		ns := Namespace(n.Name, h.Name)
		if err := n.make("netns", ns, func() error { return makeNamespace(ns) }); err != nil {
			return err
		}
		for _, a := range h.Adapters() {
			if err := n.make("link", cmp.Or(a.Relay, a.Switch), func() error { return joinHost(ns, h, a, n.Plan) }); err != nil {
				return err
			}
		}
	}
	for _, s := range n.Plan.Switches {
		for _, p := range s.Ports {
			other := cmp.Or(p.CPU, p.Relay, p.Peer)
			if p.CPU == "" && p.Relay == "" && (p.Peer == "" || p.Peer < p.Interface) {
				continue // to a host, or made at the other end
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := n.make("link", p.Interface, func() error { return joinSwitches(p.Interface, other, n.Plan.SwitchMTU()) }); err != nil {
				return err
			}
		}
	}
	return n.awaitCarriers()
}

// awaitCarriers waits until all interfaces have a carrier.
func (n *Network) awaitCarriers() error {
	for _, s := range n.Plan.Switches {
		for _, p := range s.Ports {
			if err := AwaitCarrier(p.Interface); err != nil {
				return err
			}
		}
	}
	for _, h := range n.Plan.Hosts {
		for _, a := range h.Adapters() {
			if err := Within(Namespace(n.Name, h.Name), func() error { return AwaitCarrier(a.Interface) }); err != nil {
				return fmt.Errorf("host %s: %w", h.Name, err)
			}
		}
	}
	return nil
}

// make writes an object to the journal and makes it. It first checks that there
// is no such object, since Down would remove it.
func (n *Network) make(kind, name string, do func() error) error {
	if kind == "link" {
		if err := checkFree(name); err != nil {
			return err
		}
	} else if _, err := os.Stat("/run/netns/" + name); err == nil {
		return fmt.Errorf("network namespace %s exists already and is not this network's: `ip netns delete %s` removes it", name, name)
	}
	if err := n.journal.add("%s %s", kind, name); err != nil {
		return err
	}
	return do()
}

// StartSwitch starts or restarts a switch and waits until its servers listen.
func (n *Network) StartSwitch(ctx context.Context, name string) error {
	s := n.find(name)
	if s == nil {
		return fmt.Errorf("network %s has no switch %s", n.Name, name)
	}
	program, args, err := n.Program(s)
	if err != nil {
		return err
	}
	for _, addr := range []string{s.GRPC, s.Thrift} {
		if err := checkPort(addr); err != nil {
			return fmt.Errorf("switch %s: %w", name, err)
		}
	}
	n.Progress("switch " + name)
	turn := instantTurn
	if n.Plan.Kind == local.BMv2 {
		turn = earlyTurn
	}
	p, err := start(n.Name, name, turn, n.journal, program, args...)
	if err != nil {
		return err
	}
	n.switches[name] = p
	for _, addr := range []string{s.GRPC, s.Thrift} {
		if addr == "" {
			continue
		}
		if err := p.awaitListen(ctx, addr); err != nil {
			return err
		}
	}
	if n.Plan.Kind == local.BMv2 {
		return n.pace(ctx, s)
	}
	return nil
}

// startRelay starts the process that carries the plan's cables, if there are any, and
// waits until it does.
func (n *Network) startRelay(ctx context.Context) error {
	if len(n.Plan.Cables) == 0 {
		return nil
	}
	file := filepath.Join(Dir(n.Name), "relay.json")
	text, err := json.Marshal(relay.Config{Cables: n.Plan.Cables, Control: Control(n.Name)})
	if err != nil {
		return err
	}
	if err := outfile.Write(file, text, 0o644); err != nil {
		return err
	}
	program, args, err := n.Relay(file)
	if err != nil {
		return err
	}
	p, err := start(n.Name, "relay", instantTurn, n.journal, program, args...)
	if err != nil {
		return err
	}
	n.relay = p
	for end := time.Now().Add(patience); ; {
		_, err := relay.Ask(Control(n.Name), relay.Request{})
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("the relay of the links ended at once: %v; its log %s ends with\n  %s", p.err, p.log, p.tail())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(end) {
			return fmt.Errorf("%w; its log %s ends with\n  %s", err, p.log, p.tail())
		}
	}
}

// checkPort returns an error if a server listens at an address already, which
// would be mistaken for the switch.
func checkPort(addr string) error {
	if addr == "" {
		return nil
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("%w: is another network up? `pauseless deploy list` shows them; --grpc and --thrift-port give this one other ports", err)
	}
	return l.Close()
}

func (n *Network) find(name string) *local.Switch {
	for i := range n.Plan.Switches {
		if n.Plan.Switches[i].Name == name {
			return &n.Plan.Switches[i]
		}
	}
	return nil
}

// patience is how long a switch may take to start, on a busy machine.
const patience = 2 * time.Minute

// awaitListen waits until the process listens at an address.
func (p *process) awaitListen(ctx context.Context, addr string) error {
	for end := time.Now().Add(patience); ; {
		conn, err := net.DialTimeout("tcp", addr, time.Second)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-p.done:
			return fmt.Errorf("switch %s ended at once: %v; its log %s ends with\n  %s", p.name, p.err, p.log, p.tail())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(end) {
			return fmt.Errorf("switch %s does not listen at %s after %v; its log %s ends with\n  %s", p.name, addr, patience, p.log, p.tail())
		}
	}
}

// pace sets the depths and rates of BMv2's queues, which count packets: a rate
// is in packets of local.ReferencePacket per second.
func (n *Network) pace(ctx context.Context, s *local.Switch) error {
	c, err := bmv2.Dial(s.Thrift, bmv2.Timeout)
	if err != nil {
		return err
	}
	defer c.Close()
	wait, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := c.Await(wait); err != nil {
		return fmt.Errorf("switch %s: %w", s.Name, err)
	}
	if n.QueuePackets > 0 {
		if err := c.SetQueueDepth(ctx, bmv2.Queue{Port: bmv2.All, Priority: bmv2.All}, n.QueuePackets); err != nil {
			return fmt.Errorf("switch %s: %w", s.Name, err)
		}
	}
	if n.Recirculation != 0 {
		if err := c.SetQueueRate(ctx, bmv2.Queue{Port: n.Recirculation, Priority: bmv2.All}, n.RecirculationPPS); err != nil {
			return fmt.Errorf("switch %s port %d: %w", s.Name, n.Recirculation, err)
		}
	}
	for _, p := range s.Ports {
		if err := c.SetQueueRate(ctx, bmv2.Queue{Port: p.Number, Priority: bmv2.All}, p.PPS); err != nil {
			return fmt.Errorf("switch %s port %d: %w", s.Name, p.Number, err)
		}
	}
	return nil
}

// KillSwitch kills a switch, as a crash would.
func (n *Network) KillSwitch(name string) error {
	p := n.switches[name]
	if p == nil {
		return fmt.Errorf("network %s has no running switch %s", n.Name, name)
	}
	err := p.cmd.Process.Kill()
	<-p.done
	delete(n.switches, name)
	return err
}

// Down removes the network.
func (n *Network) Down() error {
	n.journal.file.Close()
	return Down(n.Name)
}

// Down removes a network by its journal, also one of another process that
// crashed. It continues after an error, and returns all errors; calling it again
// tries again.
func Down(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return ErrRoot
	}
	objects, err := readJournal(name)
	if errors.Is(err, os.ErrNotExist) {
		if _, err := os.Stat(Dir(name)); err == nil {
			return os.RemoveAll(Dir(name)) // crashed before the first object
		}
		return fmt.Errorf("no network %s is up; `pauseless deploy list` shows those that are", name)
	}
	if err != nil && objects == nil {
		return err
	}
	damaged := err
	var errs []error
	for _, o := range append(unlisted(name, objects), objects...) {
		switch o.kind {
		case "process":
			err = o.stop()
		case "link":
			err = removeLink(o.name)
		case "netns":
			err = removeNamespace(o.name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %s: %w", o.kind, o.name, err))
		}
	}
	if len(errs) > 0 {
		return errors.Join(append(errs, damaged)...)
	}
	return errors.Join(damaged, os.RemoveAll(Dir(name)))
}

// StartController starts a controller as a process of the network, which Down
// ends. An err that is not nil is returned at once.
func (n *Network) StartController(program string, args []string, err error) error {
	if err != nil {
		return err
	}
	_, err = start(n.Name, "controller", usualTurn, n.journal, program, args...)
	return err
}
