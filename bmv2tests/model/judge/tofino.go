// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"

	"github.com/pauseless/pauseless/internal/model"
	"github.com/pauseless/pauseless/internal/packet"
)

// How a Tofino's program is run, with the intrinsic metadata around a packet.

// gressTime is where both gresses read the time.
func (t *Target) gressTime(name string, now model.Time) {
	if f, ok := t.prog.Field(name); ok {
		t.m.Set(f, uint64(now)&(1<<48-1))
	}
}

func (t *Target) tofinoField(name string) int {
	if f, ok := t.prog.Field(name); ok {
		return int(t.m.Get(f))
	}
	return 0
}

// mirrored is the copy that the program asks for, of a frame.
func (t *Target) mirrored(of *packet.Frame) (cloned bool, session int, copied *held) {
	if !t.m.Ask.Mirror {
		return false, 0, nil
	}
	f := (&packet.Pool{}).Clone(of)
	f.Prepend(t.m.AppendList(t.m.Ask.MirrorList, nil))
	f.Truncate(t.copies)
	return true, int(t.m.Ask.MirrorSession), &held{frame: f}
}

// tofinoIngress runs a frame through ingress, which may have been resubmitted.
func (t *Target) tofinoIngress(frame *packet.Frame, again bool, port int, now model.Time) (o model.Outcome, h, copied *held) {
	const in, noPort = "ingress_intrinsic_metadata_", 0x1ff
	m := t.m
	asCame := (&packet.Pool{}).Clone(frame)
	head := model.BE.AppendUint16(nil, uint16(port))
	if again {
		head[0] |= 0x80
	}
	head = append(head, model.BE.AppendUint64(nil, uint64(now))[2:]...)
	frame.Prepend(append(head, make([]byte, 8)...))
	m.Start(frame, frame.Len())
	t.gressTime(in+"from_parser.global_tstamp", now)
	spec, _ := t.prog.Field(in + "for_tm.ucast_egress_port")
	m.Set(spec, noPort)
	m.Parse()
	if m.TofinoError() != 0 {
		o.Drop = true
		return o, nil, nil
	}
	m.Ingress()
	m.DeparseIn()
	if d := t.digest(m.Ask); d != nil {
		o.Digest = append(o.Digest, d)
	}
	o.Cloned, o.Session, copied = t.mirrored(asCame)
	m.EmitIn()
	h = &held{frame: frame}
	out, group, class := int(m.Get(spec)), t.tofinoField(in+"for_tm.mcast_grp_a"), t.tofinoField(in+"for_tm.qid")
	if out == noPort && group == 0 || t.tofinoField(in+"for_deparser.drop_ctl")&1 != 0 {
		o.Drop = true
		return o, nil, copied
	}
	if m.Ask.Resubmit != 0 && !again {
		o.Again = true
		return o, nil, copied
	}
	if cos := t.tofinoField(in + "for_tm.ingress_cos"); cos != class {
		panic(fmt.Sprintf("BUG: class %d in queue %d", cos, class))
	}
	o.Group, o.Class = group, class
	if out != noPort {
		o.Port = out
	}
	return o, h, copied
}

// tofinoEgress runs a frame through egress, with the depth of its queue in cells and
// how long it waited.
func (t *Target) tofinoEgress(frame *packet.Frame, p *model.Packet) (o model.Departure, again, copied *held) {
	const out = "egress_intrinsic_metadata_"
	m, be := t.m, model.BE
	waited := p.Left - p.Came
	head := be.AppendUint16(nil, uint16(p.Queue.Port))
	head = append(head, be.AppendUint32(nil, uint32(p.Ahead)<<8)...) // and congestion
	head = be.AppendUint32(head, uint32(p.Came)&(1<<18-1))
	head = append(head, be.AppendUint32(nil, uint32(p.Behind)<<8)...)
	head = append(head, 0) // congestion of the pool
	head = be.AppendUint32(head, uint32(waited)&(1<<18-1))
	head = append(head, 0, 0, 0, byte(p.Queue.Class), byte(p.Queue.Class), 0)
	head = be.AppendUint16(head, uint16(frame.Len()))
	frame.Prepend(head)
	m.Start(frame, frame.Len())
	t.gressTime(out+"from_parser.global_tstamp", p.Left)
	m.ParseOut()
	m.Egress()
	m.DeparseOut()
	m.EmitOut()
	if p.Queue.Port == model.Recirculation { // on its way to ingress
		o.Recirculate = true
		return o, &held{frame: frame}, nil
	}
	o.Cloned, o.Session, copied = t.mirrored(frame)
	if t.tofinoField(out+"for_deparser.drop_ctl")&1 != 0 {
		o.Drop = true
		return o, nil, copied
	}
	o.Data, o.Elided = frame.Data, frame.Elided
	return o, nil, copied
}
