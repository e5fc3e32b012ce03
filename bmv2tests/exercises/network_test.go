// SPDX-License-Identifier: Apache-2.0

// Package exercises runs p4lang's tutorials on pauseless switch and on
// simple_switch_grpc: the solution of each exercise on the exercise's own network
// with its own entries. It checks the behaviour that the README describes.
// PUBLIC_P4 lists checkouts; without p4lang/tutorials all tests are skipped.
package exercises

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/bmv2"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
	"github.com/pauseless/pauseless/softswitch/solo"
	"github.com/pauseless/pauseless/softswitch/stf/simpleswitch"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
)

// patience is the time after which a test fails, on a machine that may be busy.
const patience = 2 * time.Minute

// checkout returns the folder of the exercises.
func checkout(t testing.TB) string {
	t.Helper()
	for _, root := range filepath.SplitList(os.Getenv("PUBLIC_P4")) {
		dir := filepath.Join(root, "exercises", "basic", "solution")
		if _, err := os.Stat(dir); err == nil {
			return filepath.Join(root, "exercises")
		}
	}
	need.No(t, errors.New("PUBLIC_P4 does not list a checkout of p4lang/tutorials"))
	return ""
}

// frame is a packet that a port sent.
type frame = simpleswitch.Frame

// target is a running switch without a program.
type target struct {
	addr string
	// send injects packets into a port at once and returns the frames that ports sent.
	send func(port int, packets ...[]byte) []frame
	// wait lets virtual time pass; nil in real time.
	wait func(time.Duration)
}

// start starts a switch for a node of a network. Slow links limit its ports.
type start func(t testing.TB, n *topo.Topology, node *topo.Node) *target

// usual is the rate of links without a rate in the topology.
const usual = 10 * vtime.Gbps

func startSoft(t testing.TB, n *topo.Topology, node *topo.Node) *target {
	cfg := softswitch.Config{Name: node.Name, DeviceID: 1}
	for p, port := range node.Ports {
		rate := n.Links[port.Link].Rate
		if rate == usual {
			rate = 0 // without delay
		}
		cfg.Ports = append(cfg.Ports, softswitch.Port{Number: p + 1, Rate: rate})
	}
	sw, err := softswitch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	around := solo.New(sw)
	var sent []frame
	around.Sent = func(port int, f *packet.Frame, _ vtime.Time) {
		sent = append(sent, frame{Port: port, Data: slices.Clone(f.Data)})
		around.Frames().Put(f)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	p4rtserver.New(sw, p4rtserver.Options{}).Register(server)
	go server.Serve(l)
	t.Cleanup(server.Stop)
	pass := func(d vtime.Time) []frame {
		around.RunUntil(around.Now() + d)
		out := sent
		sent = nil
		return out
	}
	return &target{
		addr: l.Addr().String(),
		send: func(port int, packets ...[]byte) []frame {
			sw.Lock()
			defer sw.Unlock()
			for _, data := range packets {
				around.Inject(port, data, 0)
			}
			return pass(vtime.Second) // longer than the slowest link needs
		},
		wait: func(d time.Duration) {
			sw.Lock()
			defer sw.Unlock()
			pass(vtime.Time(d.Nanoseconds()) * vtime.Nanosecond)
		},
	}
}

func startBMv2(t testing.TB, n *topo.Topology, node *topo.Node) *target {
	sw, err := simpleswitch.Start(context.Background(), need.Tool(t, "BMV2", "simple_switch_grpc"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sw.Close() })
	return &target{
		addr: sw.P4Runtime,
		send: func(port int, packets ...[]byte) []frame {
			var in []frame
			for _, data := range packets {
				in = append(in, frame{Port: port, Data: data})
			}
			for p, port := range node.Ports {
				if rate := n.Links[port.Link].Rate; rate != usual {
					slow(t, sw, p+1, int64(rate)/8/int64(len(packets[0])))
				}
			}
			out, err := sw.Send(in...)
			if err != nil {
				t.Error(err)
			}
			return out
		},
		wait: func(time.Duration) {},
	}
}

// slow limits a port of BMv2 to a number of packets per second.
func slow(t testing.TB, sw *simpleswitch.Switch, port int, pps int64) {
	c, err := bmv2.Dial(sw.Thrift, bmv2.Timeout)
	if err == nil {
		err = c.SetQueueRate(t.Context(), bmv2.Queue{Port: port, Priority: bmv2.All}, pps)
		c.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// network is the network of an exercise.
type network struct {
	testing.TB
	kind     string // of its switches
	dir      string // of the exercise
	topo     *topo.Topology
	ip       map[string]netip.Addr // of hosts
	mac, via map[string]net.HardwareAddr
	switches map[string]*device
	passes   int // number of switches that the last packets passed
}

type device struct {
	*target
	node    *topo.Node
	session *controlplane.Session // nil where the exercise has its own controller
}

// oneBMv2 allows one network of BMv2 at a time, as it runs in real time.
var oneBMv2 sync.Mutex

// exercise runs an exercise on both kinds of switch. The topology is a file in
// its folder.
func exercise(t *testing.T, name, topology string, do func(n *network)) {
	dir := filepath.Join(checkout(t), name)
	for _, k := range []struct {
		name  string
		start start
	}{{"softswitch", startSoft}, {"bmv2", startBMv2}} {
		t.Run(k.name, func(t *testing.T) {
			if k.name == "bmv2" {
				need.Tool(t, "BMV2", "simple_switch_grpc")
				oneBMv2.Lock()
				defer oneBMv2.Unlock()
			}
			n := &network{TB: t, kind: k.name, dir: dir, switches: make(map[string]*device),
				ip: make(map[string]netip.Addr), mac: make(map[string]net.HardwareAddr), via: make(map[string]net.HardwareAddr)}
			n.read(filepath.Join(dir, topology))
			for _, id := range n.topo.Switches() {
				node := &n.topo.Nodes[id]
				n.switches[node.Name] = &device{target: k.start(t, n.topo, node), node: node}
			}
			do(n)
		})
	}
}

// read reads the network and the addresses of its hosts.
func (n *network) read(file string) {
	n.Helper()
	var err error
	if n.topo, err = topo.Read(file); err != nil {
		n.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		n.Fatal(err)
	}
	var in struct {
		Hosts map[string]struct {
			IP, MAC  string
			Commands []string
		}
	}
	if err := json.Unmarshal(text, &in); err != nil {
		n.Fatal(err)
	}
	for name, h := range in.Hosts {
		n.ip[name] = netip.MustParsePrefix(h.IP).Addr()
		n.mac[name] = hardware(n, h.MAC)
		n.via[name] = net.HardwareAddr{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
		for _, c := range h.Commands {
			if words := strings.Fields(c); words[0] == "arp" {
				n.via[name] = hardware(n, words[len(words)-1])
			}
		}
	}
}

func hardware(t testing.TB, text string) net.HardwareAddr {
	a, err := net.ParseMAC(text)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// compiled has the compiled programs by file.
var compiled sync.Map

// program compiles a file of the exercise.
func (n *network) program(file string) controlplane.Pipeline {
	n.Helper()
	file = filepath.Join(n.dir, file)
	if p, ok := compiled.Load(file); ok {
		return p.(controlplane.Pipeline)
	}
	r, list := compiler.Compile(compiler.Options{File: file})
	if err := list.Err(); err != nil {
		n.Fatal(err)
	}
	p := controlplane.Pipeline{P4Info: r.P4Info, Config: bmv2json.Encode(r.Program)}
	compiled.Store(file, p)
	return p
}

// load gives a switch a program, and the entries of a runtime JSON unless its
// name is empty.
func (n *network) load(name, program, runtime string) {
	n.Helper()
	d := n.switches[name]
	var err error
	d.session, err = controlplane.Connect(n.Context(), controlplane.Target{Name: name, Addr: d.addr, DeviceID: 1},
		controlplane.Options{Event: func(controlplane.Event) {}, Probe: -1, Timeout: patience})
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(func() { d.session.Close() })
	if err := d.session.SetPipeline(n.Context(), n.program(program)); err != nil {
		n.Fatal(err)
	}
	if runtime == "" {
		return
	}
	text, err := os.ReadFile(filepath.Join(n.dir, runtime))
	if err != nil {
		n.Fatal(err)
	}
	entities, err := d.session.Schema().ParseRuntime(runtime, text)
	if err != nil {
		n.Fatal(err)
	}
	if len(entities) == 0 {
		n.Logf("%s has no entries", runtime)
	}
	var updates []*p4v1.Update
	for _, e := range entities {
		updates = append(updates, insert(e))
	}
	if err := d.session.Write(n.Context(), updates); err != nil {
		n.Fatal(err)
	}
}

// loadAll loads all switches; %s in the name of the runtime JSON is the
// switch's name.
func (n *network) loadAll(program, runtime string) {
	n.Helper()
	for _, name := range slices.Sorted(maps.Keys(n.switches)) {
		n.load(name, program, strings.ReplaceAll(runtime, "%s", name))
	}
}

func insert(e *p4v1.Entity) *p4v1.Update {
	if e.GetTableEntry().GetIsDefaultAction() {
		return &p4v1.Update{Type: p4v1.Update_MODIFY, Entity: e}
	}
	return &p4v1.Update{Type: p4v1.Update_INSERT, Entity: e}
}

// write writes entries of a switch.
func (n *network) write(name string, lines ...string) {
	n.Helper()
	d := n.switches[name]
	var updates []*p4v1.Update
	for _, line := range lines {
		e, err := d.session.Schema().ParseEntity(line)
		if err != nil {
			n.Fatal(err)
		}
		updates = append(updates, insert(e))
	}
	if err := d.session.Write(n.Context(), updates); err != nil {
		n.Fatal(err)
	}
}

// show returns an entity as a switch reports it.
func (n *network) show(name, line string) string {
	n.Helper()
	s := n.switches[name].session
	e, err := s.Schema().ParseEntity(line)
	if err != nil {
		n.Fatal(err)
	}
	got, err := s.Read(n.Context(), e)
	if err != nil || len(got) != 1 {
		n.Fatalf("%s: %v, %v", line, got, err)
	}
	return s.Schema().FormatEntity(got[0])
}

// send sends packets from a host at once and returns the frames that hosts receive.
func (n *network) send(host string, packets ...[]byte) map[string][][]byte {
	n.Helper()
	type place struct{ node, port int }
	waiting := map[place][][]byte{}
	var order []place
	received := map[string][][]byte{}
	arrive := func(node, port int, data []byte) {
		peer := n.topo.Nodes[node].Ports[port-1]
		if to := &n.topo.Nodes[peer.Peer]; to.Kind == topo.Host {
			received[to.Name] = append(received[to.Name], data)
			return
		}
		at := place{peer.Peer, peer.PeerPort}
		if waiting[at] == nil {
			order = append(order, at)
		}
		waiting[at] = append(waiting[at], data)
	}
	for _, data := range packets {
		arrive(n.topo.NodeByName(host).ID, 1, data)
	}
	for n.passes = 0; len(order) > 0; {
		if n.passes++; n.passes > 100 {
			n.Fatal("the packets go round in circles")
		}
		at := order[0]
		in := waiting[at]
		order = order[1:]
		delete(waiting, at)
		for _, f := range n.switches[n.topo.Nodes[at.node].Name].send(at.port, in...) {
			arrive(at.node, f.Port, f.Data)
		}
	}
	return received
}

// only sends a packet that exactly one host must receive once, and returns the
// received frame.
func (n *network) only(from, to string, data []byte) []byte {
	n.Helper()
	got := n.send(from, data)
	if len(got) != 1 || len(got[to]) != 1 {
		n.Fatalf("from %s: %s received, want one packet at %s", from, told(got), to)
	}
	return got[to][0]
}

// nobody sends a packet that no host may receive.
func (n *network) nobody(from string, data []byte) {
	n.Helper()
	if got := n.send(from, data); len(got) > 0 {
		n.Errorf("from %s: %s received, want nobody to", from, told(got))
	}
}

func told(got map[string][][]byte) string {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(got)) {
		fmt.Fprintf(&b, "%s %d, ", name, len(got[name]))
	}
	return b.String()
}
