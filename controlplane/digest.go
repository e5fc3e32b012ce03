// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/pauseless/pauseless/controlplane/schema"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// Digest is one message from the data plane.
type Digest struct {
	Name   string
	Time   time.Time // at which its list was sent, by the switch's clock
	Fields []DigestField
}

// DigestField is one number of a digest.
type DigestField struct {
	Name  string
	Text  string // the number in the form of schema.Field
	Value []byte
}

// Uint returns a field's number, 0 if there is no such field.
func (d Digest) Uint(name string) uint64 {
	for _, f := range d.Fields {
		if f.Name == name {
			v, _ := schema.ToUint(f.Value)
			return v
		}
	}
	return 0
}

// Digests yields the messages that the switch sends from now on, until ctx is
// done or the session is closed. A list is acknowledged when all its messages have
// been yielded. The digest must be enabled by a DigestEntry (`digest NAME timeout
// 1ms list 10 ack 10ms`). Switches send digests to the primary only.
func (s *Session) Digests(ctx context.Context) iter.Seq[Digest] {
	in := s.digests.subscribe(ctx)
	return func(yield func(Digest) bool) {
		for l := range in {
			for _, d := range s.decodeDigests(l, s.digest(ctx, l.DigestId)) {
				if !yield(d) {
					return
				}
			}
			s.send(&p4v1.StreamMessageRequest{Update: &p4v1.StreamMessageRequest_DigestAck{
				DigestAck: &p4v1.DigestListAck{DigestId: l.DigestId, ListId: l.ListId},
			}})
		}
	}
}

// digest returns the definition of a digest. If the session has no schema, it
// fetches the switch's program.
func (s *Session) digest(ctx context.Context, id uint32) *schema.Digest {
	if sch := s.Schema(); sch != nil {
		if def := schema.ByID[schema.Digest](sch, id); def != nil {
			return def
		}
		s.schema.CompareAndSwap(sch, nil)
	}
	sch, err := s.LoadSchema(ctx)
	if err != nil {
		return nil
	}
	return schema.ByID[schema.Digest](sch, id)
}

func (s *Session) decodeDigests(l *p4v1.DigestList, def *schema.Digest) []Digest {
	name := fmt.Sprintf("%#x", l.DigestId)
	if def != nil {
		name = def.Name
	}
	out := make([]Digest, len(l.Data))
	for i, data := range l.Data {
		out[i] = Digest{Name: name, Time: time.Unix(0, l.Timestamp)}
		for j, v := range flatten(nil, data, 0) {
			f := DigestField{Name: fmt.Sprintf("f%d", j), Value: v}
			if def != nil && j < len(def.Fields) {
				f.Name, f.Text = def.Fields[j].Name, def.Fields[j].Print(v)
			} else {
				f.Text = fmt.Sprintf("0x%x", v)
			}
			out[i].Fields = append(out[i].Fields, f)
		}
	}
	return out
}

// flatten returns the numbers of nested data in order.
func flatten(out [][]byte, d *p4v1.P4Data, depth int) [][]byte {
	const maxDepth = 16 // a message could be nested without limit
	if depth > maxDepth {
		return out
	}
	switch d := d.GetData().(type) {
	case *p4v1.P4Data_Bitstring:
		return append(out, d.Bitstring)
	case *p4v1.P4Data_EnumValue:
		return append(out, d.EnumValue)
	case *p4v1.P4Data_Bool:
		v := []byte{0}
		if d.Bool {
			v[0] = 1
		}
		return append(out, v)
	case *p4v1.P4Data_Struct:
		for _, m := range d.Struct.Members {
			out = flatten(out, m, depth+1)
		}
	case *p4v1.P4Data_Tuple:
		for _, m := range d.Tuple.Members {
			out = flatten(out, m, depth+1)
		}
	case *p4v1.P4Data_Header:
		out = append(out, d.Header.Bitstrings...)
	}
	return out
}
