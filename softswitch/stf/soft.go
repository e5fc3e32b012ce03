// SPDX-License-Identifier: Apache-2.0

package stf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/solo"
	"github.com/pauseless/pauseless/softswitch/stf/simpleswitch"
)

// Options of a run.
type Options struct {
	// Units are those of the program's times and queue depths; us and packets, as
	// BMv2, if empty.
	Units softswitch.Units
	// Trace gets a line for each step of each packet.
	Trace func(string)
	// Log gets the messages of log_msg, assert and assume.
	Log func(string)
	// Sent gets the packets that each port has sent, at the end.
	Sent func(map[int][][]byte)
}

// Run runs a script on a new switch in virtual time. The error is a diag.List
// with every expectation that failed.
func Run(p *bmv2json.Program, s *Script, opts Options) error {
	prog, err := interp.Compile(p, interp.Options{Trace: opts.Trace != nil})
	if err != nil {
		return err
	}
	soft := &soft{prog: prog, got: map[int][][]byte{}, groups: map[int][]int{}}
	cfg := softswitch.Config{Name: "stf", Units: opts.Units}
	for _, port := range s.Ports() {
		if port != softswitch.DefaultCPUPort && port != softswitch.DefaultDropPort {
			cfg.Ports = append(cfg.Ports, softswitch.Port{Number: port})
		}
	}
	if soft.sw, err = softswitch.New(cfg); err != nil {
		return err
	}
	soft.net = solo.New(soft.sw)
	// The switch traces programs for v1model itself, with its queues and copies.
	steps := opts.Trace
	if steps != nil && p.Architecture == "" {
		soft.sw.Trace(&softswitch.Tracer{
			Follow: func(*packet.Frame) bool { return true },
			Step:   func(_ vtime.Time, text string) { opts.Trace(text) },
			Copy:   func(_, _ *packet.Frame) {},
			Drop:   func(*packet.Frame) {},
		})
		steps = nil
	}
	soft.net.Sent = func(port int, f *packet.Frame, _ vtime.Time) {
		soft.got[port] = append(soft.got[port], slices.Clone(f.Data))
		if steps != nil {
			opts.Trace(fmt.Sprintf("port %d sends %x", port, f.Data))
		}
		soft.net.Frames().Put(f)
	}
	if steps != nil {
		soft.sw.Observe(&softswitch.Observer{Drop: func(_ vtime.Time, _, _ int, cause softswitch.DropCause, _ *packet.Frame) {
			opts.Trace(fmt.Sprintf("dropped: %v", cause))
		}})
	}
	soft.sw.Load(prog)
	soft.sw.Control(softswitch.Control{Trace: steps, Log: func(text string) {
		if opts.Log != nil {
			opts.Log(text)
		}
	}})
	r := &runner{prog: prog, target: soft}
	r.run(s, func(c *Command) {
		if opts.Trace != nil {
			opts.Trace(fmt.Sprintf("%v: %s", c.Pos, strings.Join(c.Words, " ")))
		}
	})
	if opts.Sent != nil {
		opts.Sent(soft.got)
	}
	if failed := soft.sw.Stats().Drops[softswitch.DropAssert]; failed > 0 {
		r.list.Errorf(diag.FilePos(s.Name), CodeExpect, "an assertion of the program failed for %d packets", failed)
	}
	return r.list.Err()
}

// soft is our switch, in virtual time.
type soft struct {
	prog   *interp.Program
	sw     *softswitch.Switch
	net    *solo.Net
	got    map[int][][]byte
	nodes  []node // of the multicast engine
	groups map[int][]int
}

// node is a node of BMv2's multicast engine: ports with a replication id.
type node struct {
	rid   int
	ports []int
}

func (s *soft) sent() map[int][][]byte { return s.got }

// packet processes a packet to the end and advances virtual time.
func (s *soft) packet(port int, data []byte) error {
	if !s.sw.HasPort(port) {
		return fmt.Errorf("port %d is the switch's own", port)
	}
	s.net.Inject(port, data, 0)
	s.net.Run()
	s.net.RunUntil(s.net.Now() + vtime.Millisecond)
	return nil
}

func (s *soft) table(t *interp.TableInfo) *interp.Table {
	return s.sw.State().Tables[slices.Index(s.prog.Tables, t)]
}

func (s *soft) add(info *interp.TableInfo, key []interp.FieldMatch, priority int, action int, args [][]uint64) (int, error) {
	t := s.table(info)
	m := info.Match(key, int32(priority))
	if _, dup := t.Find(&m); dup {
		return 0, fmt.Errorf("table %s has this entry already", info.Name)
	}
	id, err := t.Insert(&m, action, s.prog.PackArgs(action, args))
	return int(id), err
}

func (s *soft) setDefault(t *interp.TableInfo, action int, args [][]uint64) error {
	s.table(t).SetDefault(action, s.prog.PackArgs(action, args))
	return nil
}

func (s *soft) clear() error {
	for _, t := range s.sw.State().Tables {
		var ids []uint32
		t.Each(func(id uint32, _ *interp.Entry) bool { ids = append(ids, id); return true })
		for _, id := range ids {
			t.Delete(id)
		}
	}
	return nil
}

func (s *soft) counter(k *interp.CounterInfo, index int) (c interp.Counter, err error) {
	if !k.Direct {
		return s.sw.State().Counters[at(s.prog.Counters, k)].Cells[index], nil
	}
	found := false
	for _, t := range s.sw.State().Tables {
		if t.Info.Name != k.Table {
			continue
		}
		t.Each(func(id uint32, e *interp.Entry) bool {
			if int(id) == index {
				c, found = e.Ext.Counter, true
			}
			return !found
		})
	}
	if !found {
		return c, fmt.Errorf("table %s has no entry %d", k.Table, index)
	}
	return c, nil
}

// at returns the index of an element in its slice.
func at[T any](list []T, x *T) int {
	for i := range list {
		if &list[i] == x {
			return i
		}
	}
	panic("BUG: the element is not of this list")
}

func (s *soft) setCounter(k *interp.CounterInfo, index int, c interp.Counter) error {
	if k.Direct {
		return fmt.Errorf("counter %s is that of a table's entries", k.Name)
	}
	s.sw.State().Counters[at(s.prog.Counters, k)].Cells[index] = c
	return nil
}

func (s *soft) setRegister(r *interp.RegisterInfo, index int, value uint64) error {
	cell := s.sw.State().Registers[at(s.prog.Registers, r)].Cell(index)
	clear(cell)
	cell[0] = value
	bitvec.Mask(cell, r.Width)
	return nil
}

func (s *soft) resetRegister(r *interp.RegisterInfo) error {
	reg := s.sw.State().Registers[at(s.prog.Registers, r)]
	for i := range r.Size {
		clear(reg.Cell(i))
	}
	return nil
}

func (s *soft) setMeter(m *interp.MeterInfo, index int, rates []simpleswitch.Rate) error {
	cells := s.sw.State().Meters[at(s.prog.Meters, m)].Cells
	if index >= 0 {
		cells = cells[index : index+1]
	}
	const second = 1e6 // in the unit of rates
	for i := range cells {
		cells[i].Configure(interp.MeterRates{CIR: int64(rates[0].PerMicrosecond * second), CBurst: int64(rates[0].Burst),
			PIR: int64(rates[1].PerMicrosecond * second), PBurst: int64(rates[1].Burst)}, s.net.Now())
	}
	return nil
}

func (s *soft) setSession(id, port int) error {
	s.sw.SetSession(uint32(id), []softswitch.Replica{{Port: port}}, 0, 0)
	return nil
}

func (s *soft) setGroupSession(id, group int) error {
	s.sw.SetSession(uint32(id), s.replicas(group), 0, 0)
	return nil
}

func (s *soft) deleteSession(id int) error {
	s.sw.DeleteSession(uint32(id))
	return nil
}

func (s *soft) createGroup(id int) error {
	s.groups[id] = nil
	s.sw.SetGroup(uint32(id), nil)
	return nil
}

func (s *soft) createNode(rid int, ports []int) error {
	s.nodes = append(s.nodes, node{rid, ports})
	return nil
}

func (s *soft) updateNode(n int, ports []int) error {
	if n < 0 || n >= len(s.nodes) {
		return fmt.Errorf("no node %d: %d were created", n, len(s.nodes))
	}
	s.nodes[n].ports = ports
	s.setGroups()
	return nil
}

func (s *soft) associate(group, n int) error {
	if n < 0 || n >= len(s.nodes) {
		return fmt.Errorf("no node %d: %d were created", n, len(s.nodes))
	}
	s.groups[group] = append(s.groups[group], n)
	s.setGroups()
	return nil
}

func (s *soft) setGroups() {
	for id := range s.groups {
		s.sw.SetGroup(uint32(id), s.replicas(id))
	}
}

func (s *soft) replicas(group int) []softswitch.Replica {
	var list []softswitch.Replica
	for _, n := range s.groups[group] {
		for _, port := range s.nodes[n].ports {
			list = append(list, softswitch.Replica{Port: port, Instance: uint16(s.nodes[n].rid)})
		}
	}
	return list
}
