// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/model"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// Program is a compiled P4 program.
type Program struct {
	Name      string
	prog      *interp.Program
	tables    map[string]int // of the controller: by name without the leading dot
	actions   map[string]map[string]int
	registers map[string]int
}

// Load prepares a program in BMv2's format.
func Load(name string, file *bmv2json.Program) (*Program, error) {
	prog, err := interp.Compile(file, interp.Options{})
	if err != nil {
		return nil, err
	}
	p := &Program{Name: name, prog: prog, tables: map[string]int{}, actions: map[string]map[string]int{}, registers: map[string]int{}}
	for i, t := range prog.Tables {
		p.tables[plain(t.Name)] = i
		acts := map[string]int{}
		for _, a := range t.Actions {
			acts[plain(prog.Actions[a].Name)] = a
		}
		p.actions[plain(t.Name)] = acts
	}
	for i, r := range prog.Registers {
		p.registers[plain(r.Name)] = i
	}
	return p, nil
}

// plain is a name without the dot of an @name at the top level.
func plain(name string) string { return strings.TrimPrefix(name, ".") }

// A Target is a program at work in our switch. The judge is its traffic manager.
type Target struct {
	*Program
	*softswitch.Pipelines
	st   *interp.State
	tick vtime.Time

	sessions map[int]model.Queue // where their copies go
	copies   int                 // are cut to so many bytes; 0: they are not
	digest   [][]int64           // of the packet in ingress
	undo     []func()            // takes away what start wrote
}

// New returns the program in a switch.
func (p *Program) New(of *model.Program) (*Target, error) {
	t := &Target{Program: p, tick: vtime.Nanosecond, sessions: map[int]model.Queue{}}
	if of.Microseconds {
		t.tick = vtime.Microsecond
	}
	cfg := softswitch.Config{Name: p.Name, Units: softswitch.Units{Time: string(of.Units.Time)}}
	recirculation, first := of.Recirculate, 0
	if of.Tofino {
		recirculation, first = model.Recirculation, 1
		t.sessions[model.FeedbackSession] = model.Queue{Port: recirculation, Class: messageClass}
		if t.copies = 100; of.ParsesINT() { // telemetry is in the way of what copies need
			t.copies = 142
		}
	} else {
		t.session(softswitch.DefaultCPUPort)
	}
	for port := first; port < of.Ports; port++ {
		cfg.Ports = append(cfg.Ports, softswitch.Port{Number: port})
		t.session(port)
	}
	if recirculation != 0 {
		cfg.Ports = append(cfg.Ports, softswitch.Port{Number: recirculation, Internal: true})
	}
	var err error
	if t.Pipelines, err = softswitch.NewPipelines(cfg, p.prog); err != nil {
		return nil, err
	}
	t.st = t.State()
	if err := t.fill(of); err != nil {
		return nil, err
	}
	for id, q := range t.sessions {
		t.SetSession(uint32(id), []softswitch.Replica{{Port: q.Port}}, q.Class, t.copies)
	}
	t.Control(softswitch.Control{Digest: func(_ int, values [][]uint64) {
		var list []int64
		for _, v := range values {
			list = append(list, int64(v[0]))
		}
		t.digest = append(t.digest, list)
	}})
	return t, nil
}

// fill gives the tables that formulas fill their entries, which stay: for all
// paths and the usual rates of links.
func (t *Target) fill(p *model.Program) error {
	for i := range p.Tables {
		from := &p.Tables[i]
		entries, err := p.Filled(from, p.Sizes.Paths, manifest.LinkRates)
		if err != nil {
			return err
		}
		for _, e := range entries {
			to := t.st.Tables[t.tables[from.Name]]
			var key []interp.FieldMatch
			for i, k := range e.Keys {
				all := []uint64{1<<to.Info.Key[i].Width - 1}
				f := interp.FieldMatch{Value: []uint64{k.A}, Mask: all, Low: []uint64{k.A}, High: []uint64{k.A}}
				switch k.Kind {
				case manifest.AnyValue:
					f.Mask, f.Low, f.High = []uint64{0}, []uint64{0}, all
				case manifest.Masked:
					f.Mask = []uint64{k.B}
				case manifest.Between:
					f.High = []uint64{k.B}
				}
				key = append(key, f)
			}
			var args [][]uint64
			for _, v := range e.Args {
				args = append(args, []uint64{v})
			}
			m, a := to.Info.Match(key, int32(e.Priority)), t.actions[from.Name][e.Action]
			if _, err := to.Insert(&m, a, t.prog.PackArgs(a, args)); err != nil {
				return fmt.Errorf("table %s: %w", from.Name, err)
			}
		}
	}
	return nil
}

// time is a time of the model.
func (t *Target) time(ticks model.Time) vtime.Time { return vtime.Time(ticks) * t.tick }

// messageClass is the class of messages between switches.
const messageClass = 7

// session makes two sessions to a port: one of messages, and one of packets in
// the class of data.
func (t *Target) session(port int) {
	t.sessions[port], t.sessions[256+port] = model.Queue{Port: port, Class: messageClass}, model.Queue{Port: port, Class: manifest.LosslessClass}
}

func (t *Target) register(name string) *interp.Register { return t.st.Registers[t.registers[name]] }

// counted is how often entries of a table have taken an action.
func (t *Target) counted(table, action string) (packets uint64) {
	a := t.actions[table][action]
	for _, e := range t.st.Tables[t.tables[table]].Each {
		if e.Action() == a {
			packets += e.Ext.Counter.Packets
		}
	}
	return packets
}

// egress takes a packet from its queue to the link or back, with depths in the
// target's unit, whichever it is.
func (t *Target) egress(p *tm.Packet, ahead, behind int64) (tm.Verdict, []*tm.Packet) {
	depth := func(n int64) tm.Depth { return tm.Depth{Packets: int(n), Bytes: n, Cells: n} }
	return t.Egress(p, depth(ahead), depth(behind))
}

// start begins anew, with random numbers from a seed and the entries of a
// configuration: routes and ports that all programs have, and those of its own
// tables by the names of arguments. Who starts sets all registers.
func (t *Target) start(p *model.Program, c *model.Config, seed uint64) {
	for _, f := range t.undo {
		f()
	}
	t.undo = t.undo[:0]
	t.st.Seed(seed)
	for group := range p.Ports {
		var replicas []softswitch.Replica
		for _, port := range c.Groups[group] {
			replicas = append(replicas, softswitch.Replica{Port: port})
		}
		t.SetGroup(uint32(group), replicas)
	}
	toHost := "to_port"
	if _, ok := t.actions["route"]["to_host"]; ok {
		toHost = "to_host"
	}
	for _, r := range c.Routes {
		port := model.Args{"port": int64(r.First)}
		to := func(prefix int, action string, args model.Args) {
			t.insert("route", action, args, interp.FieldMatch{Value: []uint64{uint64(r.Addr)}, Prefix: prefix})
		}
		switch {
		case r.ToHost():
			to(32, toHost, port)
		case r.Paths == 0 || r.Paths == 1 && p.Tofino:
			to(24, "to_port", port)
		default:
			to(24, "to_leaf", model.Args{"leaf": r.Leaf, "first_port": int64(r.First), "last_path": int64(r.Paths - 1), "hash_shift": int64(r.Shift)})
		}
	}
	exact := func(v int) interp.FieldMatch { return interp.FieldMatch{Value: []uint64{uint64(v)}} }
	_, numbered := t.tables["port_number"] // on a Tofino
	for port := 1; port < p.Ports && numbered; port++ {
		t.insert("port_number", "is_port", model.Args{"port": int64(port)}, exact(port))
	}
	for _, table := range slices.Sorted(maps.Keys(c.Tables)) {
		if _, ok := t.tables[table]; !ok {
			continue
		}
		action, entries := t.filledIn(table), c.Tables[table]
		for _, i := range slices.Sorted(maps.Keys(entries)) {
			switch {
			case i == model.Default:
				to := t.st.Tables[t.tables[table]]
				to.SetDefault(t.args(table, action, entries[i]))
				t.undo = append(t.undo, to.ResetDefault)
			case p.TableKeys[table] == 2:
				t.insert(table, action, entries[i], exact(i/p.Classes), exact(i%p.Classes))
			default:
				t.insert(table, action, entries[i], exact(i))
			}
		}
	}
}

// filledIn is the action of a table that the controller fills in: the one that
// has arguments, or else is not the default.
func (t *Target) filledIn(table string) (action string) {
	for name, a := range t.actions[table] {
		if len(t.prog.Actions[a].Params) > 0 {
			return name
		}
		if a != t.prog.Tables[t.tables[table]].Default.Action {
			action = name
		}
	}
	return action
}

// insert adds an entry to a table, which must have as many fields in its key.
func (t *Target) insert(table, action string, args model.Args, key ...interp.FieldMatch) {
	to := t.st.Tables[t.tables[table]]
	m := to.Info.Match(key, 0)
	a, packed := t.args(table, action, args)
	id, err := to.Insert(&m, a, packed)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	t.undo = append(t.undo, func() { to.Delete(id) })
}

func (t *Target) args(table, action string, args model.Args) (int, []uint64) {
	a, ok := t.actions[table][action]
	if !ok {
		panic(fmt.Sprintf("BUG: table %s has no action %s", table, action))
	}
	var limbs [][]uint64
	for _, p := range t.prog.Actions[a].Params {
		v, ok := args[p.Name]
		if !ok {
			panic(fmt.Sprintf("BUG: nobody draws argument %s of action %s of table %s", p.Name, action, table))
		}
		limbs = append(limbs, []uint64{uint64(v)})
	}
	return a, t.prog.PackArgs(a, limbs)
}
