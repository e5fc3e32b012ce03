// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"maps"
	"slices"

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
func plain(name string) string {
	if name != "" && name[0] == '.' {
		return name[1:]
	}
	return name
}

// A Target is a program at work in our switch. The judge is its traffic manager.
type Target struct {
	*Program
	*softswitch.Pipelines
	st   *interp.State
	tick vtime.Time

	sessions map[int]model.Queue // where their copies go
	copies   int                 // are cut to so many bytes; 0: they are not
	digest   [][]int64           // of the packet in ingress

	inserted []entry // by insert
	changed  []int   // tables whose default action setDefault replaced
}

// An entry of a table, by their numbers.
type entry struct {
	table int
	id    uint32
}

// New returns the program in its first state.
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

// time is a time of the model.
func (t *Target) time(ticks model.Time) vtime.Time { return vtime.Time(ticks) * t.tick }

// messageClass is the class of messages between switches.
const messageClass = 7

// session makes two sessions to a port: one of messages, and one of packets in
// the class of data.
func (t *Target) session(port int) {
	t.sessions[port], t.sessions[256+port] = model.Queue{Port: port, Class: messageClass}, model.Queue{Port: port, Class: manifest.LosslessClass}
}

// reset takes away what the controller wrote, and starts the random numbers
// from seed. Registers stay: who resets sets them all.
func (t *Target) reset(seed uint64) {
	t.st.Seed(seed)
	for _, e := range t.inserted {
		t.st.Tables[e.table].Delete(e.id)
	}
	for _, i := range t.changed {
		t.st.Tables[i].ResetDefault()
	}
	t.inserted, t.changed = t.inserted[:0], t.changed[:0]
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

// install gives a program the entries of a configuration: routes and ports that
// all programs have, and those of its own tables by the names of arguments.
func (t *Target) install(p *model.Program, c *model.Config) {
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
		switch {
		case r.ToHost():
			t.insert("route", []int64{r.Addr}, 32, toHost, port)
		case r.Paths == 0 || r.Paths == 1 && p.Tofino:
			t.insert("route", []int64{r.Addr}, 24, "to_port", port)
		default:
			t.insert("route", []int64{r.Addr}, 24, "to_leaf", model.Args{"leaf": r.Leaf, "first_port": int64(r.First), "last_path": int64(r.Paths - 1), "hash_shift": int64(r.Shift)})
		}
	}
	for port := 1; port < p.Ports && p.Tofino; port++ {
		t.insert("port_number", []int64{int64(port)}, 0, "is_port", model.Args{"port": int64(port)})
	}
	for _, table := range slices.Sorted(maps.Keys(c.Tables)) {
		action, entries := t.filledIn(table), c.Tables[table]
		for _, i := range slices.Sorted(maps.Keys(entries)) {
			args := entries[i]
			switch keys := p.TableKeys[table]; {
			case i == model.Default:
				t.setDefault(table, action, args)
			case keys == 2:
				t.insert(table, []int64{int64(i / p.Classes), int64(i % p.Classes)}, 0, action, args)
			default:
				t.insert(table, []int64{int64(i)}, 0, action, args)
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

// has reports whether the program has a table.
func (t *Program) has(table string) bool { _, ok := t.tables[table]; return ok }

// setDefault gives a table a default action, if the program has the table.
func (t *Target) setDefault(table, action string, args model.Args) {
	if t.has(table) {
		a, packed := t.args(table, action, args)
		i := t.tables[table]
		t.st.Tables[i].SetDefault(a, packed)
		t.changed = append(t.changed, i)
	}
}

// insert adds an entry, if the program has the table. The key is an address
// and the length of its prefix, or one or two exact fields.
func (t *Target) insert(table string, key []int64, prefix int, action string, args model.Args) {
	if !t.has(table) {
		return
	}
	a, packed := t.args(table, action, args)
	number := t.tables[table]
	tab := t.st.Tables[number]
	match := make([]interp.FieldMatch, len(tab.Info.Key))
	if len(key) < len(match) {
		panic(fmt.Sprintf("BUG: table %s has %d keys", table, len(match)))
	}
	for i := range match {
		match[i] = interp.FieldMatch{Value: []uint64{uint64(key[i])}, Prefix: prefix}
	}
	m := tab.Info.Match(match, 0)
	id, err := tab.Insert(&m, a, packed)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	t.inserted = append(t.inserted, entry{number, id})
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
