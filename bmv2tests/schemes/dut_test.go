// SPDX-License-Identifier: Apache-2.0

// Package schemes tests the generated programs packet by packet, with one test for
// each rule of each scheme. The tests run unchanged on pauseless switch, in
// virtual time, and on simple_switch_grpc if it is available. Programs use
// microseconds and packets as units, and no test depends on its own speed.
package schemes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/intent"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/topo"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/prototext"
)

// A target is a running switch without a program.
type target interface {
	// start starts the switch and returns how to connect to it.
	start(t testing.TB, ports int) controlplane.Target
	// send injects a frame and waits until the switch has handled it completely.
	send(port int, frame []byte)
	// sent returns the frames that the switch has sent since the last call, in order
	// for each port.
	sent() []frame
	// now is the time of the switch in the unit of its program.
	now() uint32
	// wait lets at least the given microseconds pass.
	wait(us int)
	// options describe what the target does not support.
	options() intent.Options
	// arch is the architecture of its programs.
	arch() string
}

// frame is a frame that the switch sent.
type frame struct {
	port int
	data []byte
}

// dut is a switch with a program and the entries of a node of a network.
type dut struct {
	testing.TB
	target
	session  *controlplane.Session
	manifest *manifest.Manifest
	node     *topo.Node
	net      *topo.Topology
}

// eachTarget runs a test on every available kind of switch.
func eachTarget(t *testing.T, do func(t *testing.T, sw target)) {
	t.Run("softswitch", func(t *testing.T) { do(t, new(soft)) })
	t.Run("bmv2", func(t *testing.T) { do(t, newBMv2(t)) })
}

// everyTarget runs a test on the Tofino program too, for rules that are the same as
// on v1model.
func everyTarget(t *testing.T, do func(t *testing.T, sw target)) {
	eachTarget(t, do)
	t.Run("tofino", func(t *testing.T) { do(t, new(tofino)) })
}

// profiles returns the names of all profiles, or of some with -short.
func profiles() []string {
	names := gen.Names()
	if testing.Short() {
		names = slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, "-") && name != "rlb-adaptive-drill" })
	}
	return names
}

// leafSpine is a network of two leaves with two hosts each, and a number of spines.
func leafSpine(spines int) string {
	return fmt.Sprintf("leaf_spine: {leaves: 3, spines: %d, hosts_per_leaf: 2, rate: 40Gbps, delay: 2us}", spines)
}

// load starts a switch of a network with a profile, in the units of BMv2, and with
// some parameters set.
func load(t testing.TB, sw target, profile, network, node string, set map[string]string) *dut {
	t.Helper()
	return loadProgram(t, sw, generate(t, sw.arch(), profile, set), network, node)
}

// generate generates a profile, for v1model in the units of BMv2.
func generate(t testing.TB, arch, profile string, set map[string]string) *gen.Program {
	t.Helper()
	p, err := gen.Builtin(profile)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case arch == "tna":
		p.Units = manifest.Units{Time: manifest.Nanoseconds, Depth: manifest.Cells80}
	case p.Choice("int") == "on":
		p.Units = manifest.Units{Time: manifest.Microseconds, Depth: manifest.Cells80}
	default:
		p.Units = manifest.Units{Time: manifest.Microseconds, Depth: manifest.Packets}
	}
	p.Set = set
	prog, err := gen.Generate(p, arch)
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

// loadProgram starts a switch with a program.
func loadProgram(t testing.TB, sw target, prog *gen.Program, network, node string) *dut {
	t.Helper()
	net, err := topo.Parse("network.yaml", []byte(network))
	if err != nil {
		t.Fatal(err)
	}
	json, info := compile(t, prog)
	d := &dut{TB: t, target: sw, manifest: prog.Manifest, net: net, node: net.NodeByName(node)}
	entities, err := intent.Build(net, d.node.ID, prog.Manifest, info, sw.options())
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	d.session, err = controlplane.Connect(ctx, sw.start(t, len(d.node.Ports)), controlplane.Options{Event: func(controlplane.Event) {}, Probe: -1, Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.session.Close() })
	desired := controlplane.Desired{Pipeline: controlplane.Pipeline{P4Info: info, Config: json}, Entities: entities}
	if _, err := d.session.Apply(ctx, desired); err != nil {
		t.Fatal(err)
	}
	// Clocks start at zero, which in registers also means never: begin some time
	// later.
	sw.wait(1000)
	return d
}

// compiled is a program that can be loaded.
type compiled struct {
	sync.Mutex
	json []byte
	info *p4configv1.P4Info
}

// programs are compiled once in a process, by text.
var programs struct {
	sync.Mutex
	all map[string]*compiled
}

// program is the location of a program's text.
func program(text []byte) *compiled {
	programs.Lock()
	defer programs.Unlock()
	if programs.all == nil {
		programs.all = make(map[string]*compiled)
	}
	if programs.all[string(text)] == nil {
		programs.all[string(text)] = new(compiled)
	}
	return programs.all[string(text)]
}

func (c *compiled) set(json []byte, info *p4configv1.P4Info) {
	c.Lock()
	defer c.Unlock()
	c.json, c.info = json, info
}

// compile compiles a program, once.
func compile(t testing.TB, prog *gen.Program) ([]byte, *p4configv1.P4Info) {
	t.Helper()
	c := program(prog.P4)
	c.Lock()
	defer c.Unlock()
	if c.json == nil {
		res, list := compiler.Compile(compiler.Options{File: prog.Name + ".p4", Source: prog.P4})
		if len(list) > 0 {
			t.Fatal(list)
		}
		c.json, c.info = bmv2json.Encode(res.Program), res.P4Info
	}
	return c.json, c.info
}

// withP4C compiles a program with p4c, without warnings.
func withP4C(t testing.TB, prog *gen.Program) {
	t.Helper()
	if os.Getenv("P4C_BM2") == "" {
		need.No(t, errors.New("P4C_BM2 is not set to a p4c-bm2-ss, which takes a minute for all profiles"))
	}
	p4c := need.Tool(t, "P4C_BM2", "p4c-bm2-ss")
	dir := t.TempDir()
	name := filepath.Join(dir, prog.Name)
	if err := os.WriteFile(name+".p4", prog.P4, 0o666); err != nil {
		t.Fatal(err)
	}
	// Values that p4c substitutes in one another can grow without end, as in hpcc-pint once.
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, p4c, "-o", name+".json", "--p4runtime-files", name+".txtpb", name+".p4").CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Fatalf("%v\n%s", errors.Join(err, ctx.Err()), out)
	}
	json, err := os.ReadFile(name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name + ".txtpb")
	if err != nil {
		t.Fatal(err)
	}
	info := new(p4configv1.P4Info)
	if err := prototext.Unmarshal(text, info); err != nil {
		t.Fatal(err)
	}
	program(prog.P4).set(json, info)
}

// set writes a cell of a register, by the coordinates of its index.
func (d *dut) set(register string, value uint64, at ...int) {
	d.Helper()
	i := d.cell(register, at)
	if err := d.session.WriteRegister(d.Context(), register, i, i, value); err != nil {
		d.Fatal(err)
	}
}

// get reads a cell of a register.
func (d *dut) get(register string, at ...int) uint64 {
	d.Helper()
	a, err := d.session.ReadRegister(d.Context(), register)
	if err != nil {
		d.Fatal(err)
	}
	return a.Values[d.cell(register, at)]
}

// want checks a cell of a register.
func (d *dut) want(value uint64, register string, at ...int) {
	d.Helper()
	if got := d.get(register, at...); got != value {
		d.Errorf("register %s%v is %d, want %d", register, at, got, value)
	}
}

// cell turns coordinates into an index.
func (d *dut) cell(register string, at []int) int {
	d.Helper()
	for _, r := range d.manifest.Registers {
		if r.Name != register {
			continue
		}
		if len(at) != len(r.Index) {
			d.Fatalf("register %s has %d dimensions", register, len(r.Index))
		}
		i := 0
		for k, dim := range r.Index {
			i = i*dim.Size + at[k]
		}
		return i
	}
	d.Fatalf("no register %s", register)
	return 0
}

// rule writes a table entry, or replaces one.
func (d *dut) rule(line string) {
	d.Helper()
	e, err := d.session.Schema().ParseEntity(line)
	if err != nil {
		d.Fatal(err)
	}
	if err := d.session.Write(d.Context(), []*p4v1.Update{controlplane.Modify(e)}); err != nil {
		d.Fatal(err)
	}
}

// through sends a frame and returns its egress port and the sent frame. No other
// frame may be sent.
func (d *dut) through(port int, data []byte) (int, []byte) {
	d.Helper()
	d.send(port, data)
	got := d.sent()
	if len(got) != 1 {
		d.Fatalf("%d frames came out, want one: %v", len(got), got)
	}
	return got[0].port, got[0].data
}

// passes checks that a port sends the frame unchanged.
func (d *dut) passes(in, out int, data []byte) {
	d.Helper()
	port, got := d.through(in, data)
	if port != out || !bytes.Equal(got, data) {
		d.Errorf("came out of port %d, want %d, as\n%s\nwent in as\n%s", port, out, dump(got), dump(data))
	}
}

// drops checks that no port sends a frame.
func (d *dut) drops(in int, data []byte) {
	d.Helper()
	d.send(in, data)
	if got := d.sent(); len(got) != 0 {
		d.Errorf("came out: %v", got)
	}
}

// from returns the frames that a port sent.
func from(list []frame, port int) [][]byte {
	var out [][]byte
	for _, f := range list {
		if f.port == port {
			out = append(out, f.data)
		}
	}
	return out
}

func (f frame) String() string { return fmt.Sprintf("port %d: %s", f.port, dump(f.data)) }

// dump prints the length of a frame and its first bytes.
func dump(data []byte) string {
	if len(data) <= 128 {
		return fmt.Sprintf("%d bytes: % x", len(data), data)
	}
	return fmt.Sprintf("%d bytes: % x ...", len(data), data[:128])
}

// inOrder sorts frames by port, and keeps the order within each port.
func inOrder(list []frame) []frame {
	slices.SortStableFunc(list, func(a, b frame) int { return a.port - b.port })
	return list
}

// passesAs checks that a port sends another frame for the frame.
func (d *dut) passesAs(in, out int, data, as []byte) {
	d.Helper()
	port, got := d.through(in, data)
	if port != out || !bytes.Equal(got, as) {
		d.Errorf("came out of port %d, want %d, as\n%s\nwant\n%s", port, out, dump(got), dump(as))
	}
}
