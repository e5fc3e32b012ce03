// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"iter"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// Packet is a packet to or from the controller, with its metadata by name.
type Packet struct {
	Payload  []byte
	Metadata map[string][]byte // canonical byte strings
}

// Packets yields the packets that the switch sends to the controller from now on,
// until ctx is done or the session is closed. Switches send packets to the primary
// only.
func (s *Session) Packets(ctx context.Context) iter.Seq[Packet] {
	in := s.packets.subscribe(ctx)
	return func(yield func(Packet) bool) {
		for p := range in {
			out := Packet{Payload: p.Payload, Metadata: make(map[string][]byte)}
			for _, m := range p.Metadata {
				name := fmt.Sprintf("%d", m.MetadataId)
				if sch := s.Schema(); sch != nil {
					for _, f := range sch.PacketIn {
						if f.ID == m.MetadataId {
							name = f.Name
						}
					}
				}
				out.Metadata[name] = m.Value
			}
			if !yield(out) {
				return
			}
		}
	}
}

// PacketOut sends a packet to the switch, to be sent out. Metadata are values in
// the form of schema.Field.Parse, by name: {"egress_port": "3"}. If the switch
// refuses the packet, there is a StreamError event.
func (s *Session) PacketOut(ctx context.Context, payload []byte, metadata map[string]string) error {
	if err := s.writable(); err != nil {
		return err
	}
	sch, err := s.LoadSchema(ctx)
	if err != nil {
		return err
	}
	if len(sch.PacketOut) == 0 {
		return fmt.Errorf("%s: the program takes no packets from the controller: it has no header with @controller_header(\"packet_out\")", s.target.Name)
	}
	out := &p4v1.PacketOut{Payload: payload}
	used := 0
	for _, f := range sch.PacketOut {
		text, ok := metadata[f.Name]
		if ok {
			used++
		} else {
			text = "0" // padding, and fields that the caller does not give
		}
		v, err := f.Parse(text)
		if err != nil {
			return fmt.Errorf("%s: metadata %w", s.target.Name, err)
		}
		out.Metadata = append(out.Metadata, &p4v1.PacketMetadata{MetadataId: f.ID, Value: v})
	}
	if used < len(metadata) {
		var names []string
		for _, f := range sch.PacketOut {
			names = append(names, f.Name)
		}
		for name := range metadata {
			if !slices.Contains(names, name) {
				return fmt.Errorf("%s: the program's packet_out header has no field %q; it has: %v", s.target.Name, name, names)
			}
		}
	}
	return s.send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_Packet{Packet: out}})
}
