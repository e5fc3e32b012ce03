// SPDX-License-Identifier: Apache-2.0

package bfrt

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
)

// Register is a register array of the program.
type Register struct {
	Name   string // without the pipe's
	Size   int
	Fields []Field // one, called f1, or the two of a pair; their names without the array's
}

// Registers returns the register arrays of the program, by name.
func (i *Info) Registers() (list []Register) {
	for _, name := range i.Names() {
		if t := i.tables[name]; t.Kind == registers {
			list = append(list, t.register())
		}
	}
	return list
}

func (t *Table) register() Register {
	r := Register{Name: strings.TrimPrefix(t.Name, "pipe."), Size: t.Size}
	for _, f := range t.DataFields(nil) {
		f.Name = short(f.Name)
		r.Fields = append(r.Fields, f)
	}
	return r
}

// Register finds a register array by its name.
func (i *Info) Register(name string) (Register, error) {
	t, err := i.Table(name)
	if err == nil && t.Kind != registers {
		err = fmt.Errorf("%s is not a register", name)
	}
	if err != nil {
		return Register{}, err
	}
	return t.register(), nil
}

// Cells reads the cells of a register array from the chip: all in one call, or those
// from first to last if last is not below 0. The values are by pipeline, field and cell.
func (c *Client) Cells(ctx context.Context, r Register, first, last int) ([][][]uint64, error) {
	var list []Entry
	for i := first; last >= 0 && i <= last; i++ {
		one, err := c.Read(ctx, PipeAll, cell(r.Name, i), true)
		if err != nil {
			return nil, err
		}
		list = append(list, one...)
	}
	if last < 0 {
		var err error
		if list, err = c.Read(ctx, PipeAll, Entry{Table: r.Name}, true); err != nil {
			return nil, err
		}
	}
	if last < 0 {
		if first, last = 0, r.Size-1; r.Size == 0 { // bfrt.json does not say
			last = len(list) - 1
		}
	}
	return r.values(list, first, last)
}

// values returns the cells from first to last that a switch has sent. Any others, and
// pipelines with different numbers of them, are an error.
func (r *Register) values(list []Entry, first, last int) ([][][]uint64, error) {
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(a.index(), b.index()) })
	var values [][][]uint64
	for i, e := range list {
		if e.index() != uint64(first+i) {
			return nil, fmt.Errorf("register %s: the switch sent cell %d where cell %d was expected", r.Name, e.index(), first+i)
		}
		for name, v := range e.Data {
			field := slices.IndexFunc(r.Fields, func(f Field) bool { return f.Name == short(name) })
			perPipe, ok := v.([]any)
			if !ok {
				perPipe = []any{v}
			}
			for pipe, x := range perPipe {
				n, ok := x.(uint64)
				if !ok || field < 0 {
					return nil, fmt.Errorf("register %s: field %s is a %T", r.Name, name, x)
				}
				for pipe >= len(values) {
					values = append(values, make([][]uint64, len(r.Fields)))
				}
				values[pipe][field] = append(values[pipe][field], n)
			}
		}
	}
	for pipe, fields := range values {
		for f, cells := range fields {
			if want := last - first + 1; len(cells) != want {
				return nil, fmt.Errorf("register %s: the switch sent %d values of field %s in pipeline %d, not %d", r.Name, len(cells), r.Fields[f].Name, pipe, want)
			}
		}
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("register %s: the switch sent no cells", r.Name)
	}
	return values, nil
}

func cell(name string, index int) Entry {
	return Entry{Table: name, Match: []Match{Eq("$REGISTER_INDEX", index)}}
}

// index returns the key of a register's cell.
func (e *Entry) index() uint64 {
	for _, m := range e.Match {
		n, _ := m.Value.(uint64)
		return n
	}
	return 0
}

// SetCells writes the cells of a register array from first to last, in one pipeline or
// all. All fields must be given: the driver would write 0 to others.
func (c *Client) SetCells(ctx context.Context, pipe uint32, r Register, first, last int, values map[string]uint64) error {
	t, err := c.info.Table(r.Name)
	if err != nil {
		return err
	}
	data := make(map[string]any)
	for _, f := range t.DataFields(nil) {
		if v, ok := values[short(f.Name)]; ok {
			data[f.Name] = v
		}
	}
	if len(data) != len(r.Fields) || len(values) != len(r.Fields) {
		var names []string
		for _, f := range r.Fields {
			names = append(names, f.Name)
		}
		return fmt.Errorf("register %s: a cell is written with all its fields, which are %s", r.Name, strings.Join(names, " and "))
	}
	switch n := last - first + 1; {
	case n < 1:
		return fmt.Errorf("register %s: bfrt.json does not say how many cells it has: name the cells, as in %s[0..7]", r.Name, r.Name)
	case n > maxCells:
		return fmt.Errorf("register %s: %d cells, no Tofino has more than %d", r.Name, n, maxCells)
	}
	entries := make([]Entry, 0, last-first+1)
	for i := first; i <= last; i++ {
		e := cell(r.Name, i)
		e.Data = data
		entries = append(entries, e)
	}
	return c.Write(ctx, pipe, bfrtpb.Update_MODIFY, entries...)
}

// maxCells is beyond the cells of any register array: those of bits that fill all SRAM
// of a stage.
const maxCells = 1 << 22

// short returns the last part of a dotted name.
func short(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// PortState is a port that is set up, with its flow control.
type PortState struct {
	Port       int   // of the target
	Panel      Panel // zero if it is not on the front panel
	Speed, FEC string
	Enabled    bool
	Up         bool
	Sends      uint8 // the classes whose senders the port pauses, class 0 is bit 0
	Obeys      uint8 // those whose pauses it obeys

	Paused, Pausing     [8]uint64 // microseconds in which the peer paused a class, and the port the peer
	Received, Sent      uint64    // PFC frames
	Dropped             uint64    // frames, because a buffer was full
	FramesIn, FramesOut uint64
}

// PortStates returns the ports that are set up, by the target's numbers, with counters
// from the chip.
func (c *Client) PortStates(ctx context.Context) ([]PortState, error) {
	channels, err := c.Channels(ctx)
	if err != nil {
		return nil, err
	}
	at := make(map[int]Panel)
	for panel, port := range channels {
		at[port] = panel
	}
	ports, err := c.Read(ctx, PipeAll, Entry{Table: portTable}, false)
	if err != nil {
		return nil, err
	}
	var list []PortState
	for _, e := range ports {
		text := func(name, prefix string) string {
			s, _ := e.Data[name].(string)
			return strings.TrimPrefix(s, prefix)
		}
		number := func(name string) uint8 {
			n, _ := e.Data[name].(uint64)
			return uint8(n)
		}
		p := PortState{Port: int(e.index()), Speed: text("$SPEED", "BF_SPEED_"), FEC: text("$FEC", "BF_FEC_TYP_"), Sends: number(txPFC), Obeys: number(rxPFC)}
		p.Panel = at[p.Port]
		p.Enabled, _ = e.Data["$PORT_ENABLE"].(bool)
		p.Up, _ = e.Data["$PORT_UP"].(bool)
		if err := c.counters(ctx, &p); err != nil {
			return nil, fmt.Errorf("port %d: %w", p.Port, err)
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b PortState) int { return a.Port - b.Port })
	return list, nil
}

func (c *Client) counters(ctx context.Context, p *PortState) error {
	entries, err := c.Read(ctx, PipeAll, Entry{Table: "$PORT_STAT", Match: []Match{Eq("$DEV_PORT", p.Port)}}, true)
	if err == nil && len(entries) != 1 {
		err = fmt.Errorf("$PORT_STAT has %d entries", len(entries))
	}
	if err != nil {
		return err
	}
	fields := map[string]*uint64{"$PriorityPauseFrames": &p.Received, "$FramesTransmittedPriPause": &p.Sent, "$FramesDroppedBufferFull": &p.Dropped,
		"$FramesReceivedOK": &p.FramesIn, "$FramesTransmittedOK": &p.FramesOut}
	for i := range p.Paused {
		fields[fmt.Sprintf("$ReceivePri%dPause1USCount", i)], fields[fmt.Sprintf("$TransmitPri%dPause1USCount", i)] = &p.Paused[i], &p.Pausing[i]
	}
	for name, to := range fields {
		v, ok := entries[0].Data[name].(uint64)
		if !ok {
			return fmt.Errorf("$PORT_STAT has no %s", name)
		}
		*to = v
	}
	return nil
}
