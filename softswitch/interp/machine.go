// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"unsafe"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
)

// Machine executes a program on one packet at a time.
//
// The architecture calls Start with a packet, sets metadata, calls Parse and
// Ingress, and reads the results. For a queued packet it keeps the result of
// Save with the frame and later calls Resume. Egress and Finish leave the
// packet's new bytes in the frame.
type Machine struct {
	prog   *ops.Program
	state  *State
	f      []uint64
	cells  []uint64 // state.cells
	tables []Table  // state.tables

	phases phases

	frame *packet.Frame
	data  []byte // frame.Data
	cur   int    // number of parsed bytes

	// Now is the time at which the packet is processed.
	Now vtime.Time
	// Ask has the program's requests to the architecture, beyond metadata.
	Ask Requests
	// DropPort is the egress_spec that drop writes.
	DropPort uint64
	// Log gets messages of log_msg, assert and assume. Trace gets a line for each
	// step of a program compiled for tracing. Both may be nil.
	Log, Trace func(string)

	egressSpec, mcastGroup int // slots, or −1
	scratch                []byte
	valid                  []int32 // scratch: numbers of headers in a deparser's list
	gap                    gap
	steps                  int
	parseEnd               int32 // of the current parser
	prefetched             prefetched
	// chain is 1 if code may continue with the next phase, which sets it to 0. See
	// Arrive, from which arrival is.
	chain   int
	arrival arrival
	arrives ops.ArrivalFields
	// found says what is left to do after the code of a deparser: 0 (nothing), ToMove or
	// ToRewrite. See deparser.
	found int
}

// Requests are the requests of a pipeline.
type Requests struct {
	Any           bool // one of those below, except the last two
	Clone         bool
	CloneSession  uint16
	CloneList     int
	Mirror        bool
	MirrorSession uint16
	MirrorList    int
	Resubmit      int // field list; 0: no
	Recirculate   int
	Digest        int  // learn list; 0: no
	Failed        bool // an assertion failed
	ChecksumError bool
	ParserError   int
}

// NewMachine returns a machine that executes a program with its state.
func NewMachine(s *State) *Machine {
	p := s.Program.code
	m := &Machine{prog: p, state: s, cells: s.cells, tables: s.tables, phases: newPhases(p), f: make([]uint64, p.Slots+1), egressSpec: -1, mcastGroup: -1, arrives: p.ArrivalFields(),
		valid: make([]int32, max(len(p.Deparse[ops.In]), len(p.Deparse[ops.Out])))}
	copy(m.f[p.ConstBase:], p.Consts)
	if at, ok := p.Field(p.Arch.EgressSpec); ok {
		m.egressSpec = at.Slot
	}
	if at, ok := p.Field(p.Arch.MulticastGroup); ok {
		m.mcastGroup = at.Slot
	}
	return m
}

// State returns the state of the machine.
func (m *Machine) State() *State { return m.state }

// at returns a field's slot, without a bounds check: a Field has a slot of its
// program, and architectures access several for each packet.
func (m *Machine) at(f Field) *uint64 {
	return at64(unsafe.Pointer(unsafe.SliceData(m.f)), ops.Slot(f.Slot))
}

// Get returns the value of a field of the machine's program.
func (m *Machine) Get(f Field) uint64 { return *m.at(f) & f.Max }

// Set sets a field of the machine's program, truncated to its width.
func (m *Machine) Set(f Field, v uint64) { *m.at(f) = v & f.Max }

// sys returns one of the slots that every program has.
func (m *Machine) sys(s int) *uint64 {
	return at64(unsafe.Pointer(unsafe.SliceData(m.f)), ops.Slot(m.prog.Sys+s))
}

// Start begins a packet: metadata is zero, no header is valid.
func (m *Machine) Start(f *packet.Frame, length int) {
	if clear := m.phases.clear; clear != 0 {
		enter(clear, m)
	} else {
		slots := unsafe.Pointer(unsafe.SliceData(m.f))
		for _, s := range m.prog.Fresh {
			*ops.Cleared(unsafe.Pointer(at64(slots, s))) = [ops.ClearedSlots]uint64{}
		}
	}
	m.frame, m.data, m.cur = f, f.Data, 0
	m.Ask = Requests{}
	*m.sys(ops.SysLength), *m.sys(ops.SysIngressLen) = uint64(length), uint64(length)
}

// Parse runs the parser, in TNA that of ingress, and verifies checksums.
func (m *Machine) Parse() { m.parse(ops.In) }

// ParseOut runs the parser of egress, if the architecture has one.
func (m *Machine) ParseOut() { m.parse(ops.Out) }

func (m *Machine) parse(gress int) {
	m.steps = 0
	m.Ask.ParserError = m.prog.ErrNone
	m.parseEnd = m.prog.ParseEnd[gress]
	m.run(&m.phases.parse[gress])
	*m.sys(ops.SysPayload) = uint64(m.cur)
}

// Ingress runs the ingress pipeline.
func (m *Machine) Ingress() { m.run(&m.phases.pipeline[ops.In]) }

// Egress runs the egress pipeline.
func (m *Machine) Egress() { m.run(&m.phases.pipeline[ops.Out]) }

// Length returns simple_switch's packet length: the length on arrival plus
// added minus removed headers, in bytes.
func (m *Machine) Length() int { return int(*m.sys(ops.SysLength)) }

// Resume continues a saved packet in egress.
func (m *Machine) Resume(frame *packet.Frame, s Saved) {
	m.restore(s)
	m.frame, m.data = frame, frame.Data
	m.Continue()
}

// Continue continues the current packet in egress.
func (m *Machine) Continue() {
	m.Ask = Requests{}
	m.steps = 0
}

// SaveAll copies the complete state of a packet, for a pause during processing.
func (m *Machine) SaveAll(s Saved) Saved {
	return append(append(s[:0], m.f[:m.prog.FieldsEnd]...), uint64(m.cur))
}

// ResumeAll continues after SaveAll. The caller restores the Requests.
func (m *Machine) ResumeAll(f *packet.Frame, s Saved) {
	copy(m.f, s[:m.prog.FieldsEnd])
	m.cur = int(s[m.prog.FieldsEnd])
	m.frame, m.data = f, f.Data
}

// Truncate limits the length of the departing packet to n bytes.
func (m *Machine) Truncate(n int) {
	if t := &m.f[m.prog.Sys+ops.SysTruncate]; *t == 0 || uint64(n)+1 < *t {
		*t = uint64(n) + 1
	}
}

// ResetMetadata clears all metadata but keeps the headers, for a clone in
// egress.
func (m *Machine) ResetMetadata() {
	p := m.prog
	clear(m.f[:p.Sys])
	clear(m.f[p.Sys+ops.SysSlots : p.MetadataEnd])
	m.f[p.Sys+ops.SysTruncate] = 0
}

// List copies the fields of a field list into buf.
func (m *Machine) List(id int, buf []uint64) []uint64 {
	buf = buf[:0]
	if l := m.prog.FieldLists[id]; l != nil {
		for _, f := range l.Fields {
			buf = append(buf, m.f[f.Slot:f.Slot+f.Limbs]...)
		}
	}
	return buf
}

// SetList sets the fields of a field list to the values from List.
func (m *Machine) SetList(id int, buf []uint64) {
	if l := m.prog.FieldLists[id]; l != nil {
		for _, f := range l.Fields {
			if f.Slot < m.prog.FieldsEnd { // not a constant
				copy(m.f[f.Slot:f.Slot+f.Limbs], buf)
			}
			buf = buf[f.Limbs:]
		}
	}
}

// Digest returns the values of a digest as little-endian limbs, truncated to
// the widths in Program.Digests. ok is false without such a list.
func (m *Machine) Digest(id int) (number int, values [][]uint64, ok bool) {
	for i := range m.prog.Digests {
		if d := &m.prog.Digests[i]; d.ID == id {
			for _, f := range d.List.Fields {
				v := append([]uint64(nil), m.f[f.Slot:f.Slot+f.Limbs]...)
				bitvec.Mask(v, f.Width)
				values = append(values, v)
			}
			return i, values, true
		}
	}
	return 0, nil, false
}

// materialise ensures that n bytes after the parsed ones are in memory, if the
// packet has them.
func (m *Machine) materialise(n int) bool {
	if m.cur+n <= len(m.data) {
		return true
	}
	if m.cur+n > m.frame.Len() {
		return false
	}
	more := m.cur + n - len(m.data)
	m.frame.Data = append(m.frame.Data, make([]byte, more)...)
	m.frame.Elided -= int32(more)
	m.data = m.frame.Data
	return true
}

// Finish updates checksums and writes the packet's new bytes into the frame.
func (m *Machine) Finish() {
	if s := m.prog.Finishes; s == ops.NoValid || *at64(unsafe.Pointer(unsafe.SliceData(m.f)), s) != 0 {
		m.run(&m.phases.finish[ops.Out])
	}
	m.deparse(ops.Out)
	m.truncated()
}

// truncated cuts off what the program truncates.
func (m *Machine) truncated() {
	if t := *m.sys(ops.SysTruncate); t != 0 {
		m.frame.Truncate(int(t - 1))
	}
}

// extract extracts a header. It returns an error's code, or −1.
func (m *Machine) extract(x *ops.Extraction, varBits uint64) int {
	f := m.f
	base := x.Base
	if x.Next >= 0 {
		n := f[x.Next]
		if n >= uint64(x.N) {
			return m.prog.ErrStack
		}
		base += int(n) * x.Stride
		f[x.Next] = n + 1
	}
	bytes := x.Bytes
	if x.Varbit {
		if varBits%8 != 0 {
			return m.undo(x, m.prog.ErrArgument)
		}
		if varBits > 1<<30 || !m.materialise(bytes+int(varBits/8)) {
			return m.undo(x, m.prog.ErrShort)
		}
		bytes += int(varBits / 8)
		if x.Type.MaxBytes != 0 && bytes > x.Type.MaxBytes {
			return m.undo(x, m.prog.ErrHeader)
		}
		f[base+ops.RelVarLen] = varBits
		f[base+ops.RelVarOff] = uint64(8*m.cur + x.Type.Fields[x.Type.Varbit].Bit)
	}
	if m.cur+bytes > len(m.data) && !m.materialise(bytes) {
		return m.undo(x, m.prog.ErrShort)
	}
	b := m.data[m.cur : m.cur+bytes]
	loads := x.Loads
	for i := range loads {
		mv := &loads[i]
		f[base+int(mv.Rel)] = mv.Load(b, int(varBits))
	}
	f[base+ops.RelValid] = 1
	f[base+ops.RelOffset] = uint64(m.cur) + 1
	f[base+ops.RelDirty] = 0
	for _, s := range x.Siblings {
		f[base+s+ops.RelValid] = 0
	}
	m.cur += bytes
	return -1
}

// undo decrements the counter of a stack after a failed extraction.
func (m *Machine) undo(x *ops.Extraction, code int) int {
	if x.Next >= 0 {
		m.f[x.Next]--
	}
	return code
}

// look reads bits of the unparsed part of the packet.
func (m *Machine) look(d, width, bit int) bool {
	if !m.materialise((bit + width + 7) / 8) {
		return false
	}
	b := m.data[m.cur:]
	for limb := 0; 64*limb < width; limb++ {
		n := min(64, width-64*limb)
		m.f[d+limb] = ops.GetBits(b, bit+width-64*limb-n, n)
	}
	return true
}

// field returns the field that a Field loads. Bytes that are not in memory
// are zero.
func (m *Machine) field(in *ops.Instr) uint64 {
	return m.wordOf(m.f[in.A], uint64(in.B)) << (in.Imm & 63) >> (in.Imm >> 8 & 63)
}

// wordOf returns eight bytes from a position in the header with an offset, zero if
// it was not extracted.
func (m *Machine) wordOf(offset, at uint64) (x uint64) {
	if offset == 0 {
		return 0
	}
	b := m.data[offset-1+at:]
	for i, c := range b[:min(8, len(b))] {
		x |= uint64(c) << (56 - 8*i)
	}
	return x
}
