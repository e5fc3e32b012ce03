// SPDX-License-Identifier: Apache-2.0

package stf

import (
	"context"
	"errors"
	"fmt"

	"github.com/pauseless/pauseless/internal/bmv2"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/stf/simpleswitch"
)

// RunBMv2 runs a script on simple_switch_grpc from the folder dir. With "",
// simpleswitch.Find locates it.
func RunBMv2(ctx context.Context, p *bmv2json.Program, s *Script, dir string) (err error) {
	binary, err := bmv2.Find(dir, "simple_switch_grpc")
	if err != nil {
		return err
	}
	prog, err := interp.Compile(p, interp.Options{}) // for its declarations
	if err != nil {
		return err
	}
	sw, err := simpleswitch.Start(ctx, binary, bmv2json.Encode(p))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sw.Close()) }()
	r := &runner{prog: prog, target: &reference{sw: sw, prog: prog, got: map[int][][]byte{}}}
	r.run(s, func(*Command) {})
	return r.list.Err()
}

// reference is simple_switch_grpc.
type reference struct {
	sw   *simpleswitch.Switch
	prog *interp.Program
	got  map[int][][]byte
}

func (b *reference) sent() map[int][][]byte { return b.got }

func (b *reference) packet(port int, data []byte) error {
	frames, err := b.sw.Send(simpleswitch.Frame{Port: port, Data: data})
	for _, f := range frames {
		b.got[f.Port] = append(b.got[f.Port], f.Data)
	}
	return err
}

// topPriority is the script priority that becomes BMv2's zero, the highest
// precedence: in BMv2 the smallest has precedence.
const topPriority = 10000

func (b *reference) add(t *interp.TableInfo, key []interp.FieldMatch, priority int, action int, args [][]uint64) (int, error) {
	return b.sw.AddEntry(t, key, max(topPriority-priority, 0), &b.prog.Actions[action], args)
}

func (b *reference) setDefault(t *interp.TableInfo, action int, args [][]uint64) error {
	return b.sw.SetDefault(t, &b.prog.Actions[action], args)
}

func (b *reference) clear() error {
	for _, t := range b.prog.Tables {
		if err := b.sw.Clear(t.Name); err != nil && !t.HasEntries {
			return err
		}
	}
	return nil
}

func (b *reference) counter(k *interp.CounterInfo, index int) (c interp.Counter, err error) {
	if k.Direct {
		c.Packets, c.Bytes, err = b.sw.EntryCounter(k.Table, index)
	} else {
		c.Packets, c.Bytes, err = b.sw.Counter(k.Name, index)
	}
	return c, err
}

func (b *reference) setCounter(k *interp.CounterInfo, index int, c interp.Counter) error {
	if k.Direct {
		return fmt.Errorf("counter %s is that of a table's entries", k.Name)
	}
	return b.sw.SetCounter(k.Name, index, c.Packets, c.Bytes)
}

func (b *reference) setRegister(r *interp.RegisterInfo, index int, value uint64) error {
	return b.sw.SetRegister(r.Name, index, value)
}

func (b *reference) resetRegister(r *interp.RegisterInfo) error { return b.sw.ResetRegister(r.Name) }

func (b *reference) setMeter(m *interp.MeterInfo, index int, rates []simpleswitch.Rate) error {
	return b.sw.SetMeter(m.Name, index, rates)
}

func (b *reference) setSession(id, port int) error       { return b.sw.SetSession(id, port) }
func (b *reference) setGroupSession(id, group int) error { return b.sw.SetGroupSession(id, group) }
func (b *reference) deleteSession(id int) error          { return b.sw.DeleteSession(id) }
func (b *reference) createGroup(id int) error            { return b.sw.CreateGroup(id) }
func (b *reference) associate(group, node int) error     { return b.sw.Associate(group, node) }

func (b *reference) createNode(rid int, ports []int) error {
	_, err := b.sw.CreateNode(rid, ports)
	return err
}

func (b *reference) updateNode(node int, ports []int) error { return b.sw.UpdateNode(node, ports) }
