// SPDX-License-Identifier: Apache-2.0

package interp

// Field is a field that the architecture uses.
type Field struct {
	slot int
	Max  uint64 // greatest value
}

// Field returns a field by BMv2's name. ok is false if the program does not
// have or use the field, which is then always zero.
func (p *Program) Field(name string) (Field, bool) {
	if f, ok := p.fields[name]; ok && f.limbs == 1 {
		return Field{f.slot, maskOf(f.width)}, true
	}
	return Field{slot: p.slots}, false
}

// arrivalFields are the fields of the program that Arrive's code sets from an arrival,
// and egress_spec, which says whether ingress drops the packet.
type arrivalFields struct{ length, port, time, egressSpec Field }

func (p *Program) arrivalFields() (a arrivalFields) {
	a.length, _ = p.Field("standard_metadata.packet_length")
	a.port, _ = p.Field("standard_metadata.ingress_port")
	a.time, _ = p.Field("intrinsic_metadata.ingress_global_timestamp")
	a.egressSpec, _ = p.Field(v1Model.egressSpec)
	return a
}
