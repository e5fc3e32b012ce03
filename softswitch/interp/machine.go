// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"unsafe"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Machine executes a program on one packet at a time.
//
// The architecture calls Start with a packet, sets metadata, calls Parse and
// Ingress, and reads the results. For a queued packet it keeps the result of
// Save with the frame and later calls Resume. Egress and Finish leave the
// packet's new bytes in the frame.
type Machine struct {
	prog   *Program
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
	ahead                  ahead
	// chain is 1 if code may continue with the next phase, which sets it to 0. See
	// Arrive, from which arrival is.
	chain   int
	arrival arrival
	arrives arrivalFields
	// found says what is left to do after the code of a deparser: 0 (nothing), toMove or
	// toRewrite. See deparser.
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
	p := s.Program
	m := &Machine{prog: p, state: s, cells: s.cells, tables: s.tables, phases: newPhases(p), f: make([]uint64, p.slots+1), egressSpec: -1, mcastGroup: -1, arrives: p.arrivalFields(),
		valid: make([]int32, max(len(p.deparse[in]), len(p.deparse[out])))}
	copy(m.f[p.constBase:], p.consts)
	if at, ok := p.Field(p.arch.egressSpec); ok {
		m.egressSpec = at.slot
	}
	if at, ok := p.Field(p.arch.multicastGroup); ok {
		m.mcastGroup = at.slot
	}
	return m
}

// State returns the state of the machine.
func (m *Machine) State() *State { return m.state }

// at returns a field's slot, without a bounds check: a Field has a slot of its
// program, and architectures access several for each packet.
func (m *Machine) at(f Field) *uint64 {
	return at64(unsafe.Pointer(unsafe.SliceData(m.f)), slot(f.slot))
}

// Get returns the value of a field of the machine's program.
func (m *Machine) Get(f Field) uint64 { return *m.at(f) & f.Max }

// Set sets a field of the machine's program, truncated to its width.
func (m *Machine) Set(f Field, v uint64) { *m.at(f) = v & f.Max }

// sys returns one of the slots that every program has.
func (m *Machine) sys(s int) *uint64 {
	return at64(unsafe.Pointer(unsafe.SliceData(m.f)), slot(m.prog.sys+s))
}

// Start begins a packet: metadata is zero, no header is valid.
func (m *Machine) Start(f *packet.Frame, length int) {
	if clear := m.phases.clear; clear != 0 {
		enter(clear, m)
	} else {
		slots := unsafe.Pointer(unsafe.SliceData(m.f))
		for _, s := range m.prog.fresh {
			*cleared(unsafe.Pointer(at64(slots, s))) = [clearedSlots]uint64{}
		}
	}
	m.frame, m.data, m.cur = f, f.Data, 0
	m.Ask = Requests{}
	*m.sys(sysLength), *m.sys(sysIngressLen) = uint64(length), uint64(length)
}

// Parse runs the parser, in TNA that of ingress, and verifies checksums.
func (m *Machine) Parse() { m.parse(in) }

// ParseOut runs the parser of egress, if the architecture has one.
func (m *Machine) ParseOut() { m.parse(out) }

func (m *Machine) parse(gress int) {
	m.steps = 0
	m.Ask.ParserError = m.prog.errNone
	m.parseEnd = m.prog.parseEnd[gress]
	m.run(&m.phases.parse[gress])
	*m.sys(sysPayload) = uint64(m.cur)
}

// Ingress runs the ingress pipeline.
func (m *Machine) Ingress() { m.run(&m.phases.pipeline[in]) }

// Egress runs the egress pipeline.
func (m *Machine) Egress() { m.run(&m.phases.pipeline[out]) }

// Length returns simple_switch's packet length: the length on arrival plus
// added minus removed headers, in bytes.
func (m *Machine) Length() int { return int(*m.sys(sysLength)) }

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
	return append(append(s[:0], m.f[:m.prog.fieldsEnd]...), uint64(m.cur))
}

// ResumeAll continues after SaveAll. The caller restores the Requests.
func (m *Machine) ResumeAll(f *packet.Frame, s Saved) {
	copy(m.f, s[:m.prog.fieldsEnd])
	m.cur = int(s[m.prog.fieldsEnd])
	m.frame, m.data = f, f.Data
}

// Truncate limits the length of the departing packet to n bytes.
func (m *Machine) Truncate(n int) {
	if t := &m.f[m.prog.sys+sysTruncate]; *t == 0 || uint64(n)+1 < *t {
		*t = uint64(n) + 1
	}
}

// ResetMetadata clears all metadata but keeps the headers, for a clone in
// egress.
func (m *Machine) ResetMetadata() {
	p := m.prog
	clear(m.f[:p.sys])
	clear(m.f[p.sys+sysSlots : p.metadataEnd])
	m.f[p.sys+sysTruncate] = 0
}

// List copies the fields of a field list into buf.
func (m *Machine) List(id int, buf []uint64) []uint64 {
	buf = buf[:0]
	if l := m.prog.fieldLists[id]; l != nil {
		for _, f := range l.fields {
			buf = append(buf, m.f[f.slot:f.slot+f.limbs]...)
		}
	}
	return buf
}

// SetList sets the fields of a field list to the values from List.
func (m *Machine) SetList(id int, buf []uint64) {
	if l := m.prog.fieldLists[id]; l != nil {
		for _, f := range l.fields {
			if f.slot < m.prog.fieldsEnd { // not a constant
				copy(m.f[f.slot:f.slot+f.limbs], buf)
			}
			buf = buf[f.limbs:]
		}
	}
}

// Digest returns the values of a digest as little-endian limbs, truncated to
// the widths in Program.Digests. ok is false without such a list.
func (m *Machine) Digest(id int) (number int, values [][]uint64, ok bool) {
	for i := range m.prog.Digests {
		if d := &m.prog.Digests[i]; d.ID == id {
			for _, f := range d.list.fields {
				v := append([]uint64(nil), m.f[f.slot:f.slot+f.limbs]...)
				bitvec.Mask(v, f.width)
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
	if s := m.prog.finishes; s == noValid || *at64(unsafe.Pointer(unsafe.SliceData(m.f)), s) != 0 {
		m.run(&m.phases.finish[out])
	}
	m.deparse(out)
	m.truncated()
}

// truncated cuts off what the program truncates.
func (m *Machine) truncated() {
	if t := *m.sys(sysTruncate); t != 0 {
		m.frame.Truncate(int(t - 1))
	}
}

// extract extracts a header. It returns an error's code, or −1.
func (m *Machine) extract(x *extraction, varBits uint64) int {
	f := m.f
	base := x.base
	if x.next >= 0 {
		n := f[x.next]
		if n >= uint64(x.n) {
			return m.prog.errStack
		}
		base += int(n) * x.stride
		f[x.next] = n + 1
	}
	bytes := x.bytes
	if x.varbit {
		if varBits%8 != 0 {
			return m.undo(x, m.prog.errArgument)
		}
		if varBits > 1<<30 || !m.materialise(bytes+int(varBits/8)) {
			return m.undo(x, m.prog.errShort)
		}
		bytes += int(varBits / 8)
		if x.typ.maxBytes != 0 && bytes > x.typ.maxBytes {
			return m.undo(x, m.prog.errHeader)
		}
		f[base+relVarLen] = varBits
		f[base+relVarOff] = uint64(8*m.cur + x.typ.fields[x.typ.varbit].bit)
	}
	if m.cur+bytes > len(m.data) && !m.materialise(bytes) {
		return m.undo(x, m.prog.errShort)
	}
	b := m.data[m.cur : m.cur+bytes]
	loads := x.loads
	for i := range loads {
		mv := &loads[i]
		f[base+int(mv.rel)] = mv.load(b, int(varBits))
	}
	f[base+relValid] = 1
	f[base+relOffset] = uint64(m.cur) + 1
	f[base+relDirty] = 0
	for _, s := range x.siblings {
		f[base+s+relValid] = 0
	}
	m.cur += bytes
	return -1
}

// undo decrements the counter of a stack after a failed extraction.
func (m *Machine) undo(x *extraction, code int) int {
	if x.next >= 0 {
		m.f[x.next]--
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
		m.f[d+limb] = getBits(b, bit+width-64*limb-n, n)
	}
	return true
}

// field returns the field that an iField loads. Bytes that are not in memory
// are zero.
func (m *Machine) field(in *instr) uint64 {
	return m.wordOf(m.f[in.a], uint64(in.b)) << (in.imm & 63) >> (in.imm >> 8 & 63)
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
