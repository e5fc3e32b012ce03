// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/model"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/tm"
)

// A Target is a program in our switch. The judge is its traffic manager.
type Target struct {
	*softswitch.Pipelines
	prog *interp.Program
	st   *interp.State
	tick vtime.Time

	// By names without the dot of an @name at the top level.
	tables    map[string]*interp.Table
	actions   map[string]map[string]int // of each table
	registers map[string]*interp.Register

	digest [][]int64 // of the packet in ingress
	undo   []func()  // removes what start wrote
}

// newTarget returns a switch with a program.
func newTarget(p *model.Program, prog *interp.Program) (*Target, error) {
	t := &Target{prog: prog, tick: vtime.Nanosecond, tables: map[string]*interp.Table{}, actions: map[string]map[string]int{}, registers: map[string]*interp.Register{}}
	if p.Microseconds {
		t.tick = vtime.Microsecond
	}
	cfg := softswitch.Config{Name: p.Program, Units: softswitch.Units{Time: string(p.Units.Time)}}
	recirculation, first := p.RecirculationPort, 0
	if p.Tofino {
		recirculation, first = manifest.TofinoRecirculation, 1
	}
	for port := first; port < p.Ports; port++ {
		cfg.Ports = append(cfg.Ports, softswitch.Port{Number: port})
	}
	if recirculation != 0 {
		cfg.Ports = append(cfg.Ports, softswitch.Port{Number: recirculation, Internal: true})
	}
	var err error
	if t.Pipelines, err = softswitch.NewPipelines(cfg, prog); err != nil {
		return nil, err
	}
	t.st = t.State()
	for _, table := range t.st.Tables {
		actions := map[string]int{}
		for _, a := range table.Info.Actions {
			actions[plain(prog.Actions[a].Name)] = a
		}
		t.tables[plain(table.Info.Name)], t.actions[plain(table.Info.Name)] = table, actions
	}
	for _, r := range t.st.Registers {
		t.registers[plain(r.Info.Name)] = r
	}
	if err := t.fill(p); err != nil {
		return nil, err
	}
	for id, q := range p.Sessions {
		t.SetSession(uint32(id), []softswitch.Replica{{Port: q.Port}}, q.Class, p.MirrorBytes)
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

// plain is a name without the dot of an @name at the top level.
func plain(name string) string { return strings.TrimPrefix(name, ".") }

// fill writes the entries that follow from formulas, for all paths and the usual
// rates of links.
func (t *Target) fill(p *model.Program) error {
	for i := range p.Tables {
		from := &p.Tables[i]
		entries, err := p.Filled(from, p.Sizes.Paths, manifest.LinkRates)
		if err != nil {
			return err
		}
		to := t.tables[from.Name]
		for _, e := range entries {
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

// counted is how often entries of a table have taken an action.
func (t *Target) counted(table, action string) (packets uint64) {
	a := t.actions[table][action]
	for _, e := range t.tables[table].Each {
		if e.Action() == a {
			packets += e.Ext.Counter.Packets
		}
	}
	return packets
}

// egress processes a packet that leaves its queue, with depths in the unit of the
// target.
func (t *Target) egress(p *tm.Packet, ahead, behind int64) (tm.Verdict, []*tm.Packet) {
	depth := func(n int64) tm.Depth { return tm.Depth{Packets: int(n), Bytes: n, Cells: n} }
	return t.Egress(p, depth(ahead), depth(behind))
}

// start writes the entries of a configuration instead of those of the case before,
// and starts the random numbers. It leaves registers as they are.
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
		action, entries := "send", c.Tables[table]
		if m := p.Table(table); m.Action != "" {
			action = m.Action
		}
		for _, i := range slices.Sorted(maps.Keys(entries)) {
			switch {
			case i == model.Default:
				to := t.tables[table]
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

// insert adds an entry to a table, which must have as many fields in its key.
func (t *Target) insert(table, action string, args model.Args, key ...interp.FieldMatch) {
	to := t.tables[table]
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
			panic(fmt.Sprintf("BUG: no value of argument %s of action %s of table %s is drawn", p.Name, action, table))
		}
		limbs = append(limbs, []uint64{uint64(v)})
	}
	return a, t.prog.PackArgs(a, limbs)
}
