// SPDX-License-Identifier: Apache-2.0

package register

import (
	"context"
	"fmt"

	"github.com/pauseless/pauseless/controlplane/schema"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Entities is the part of a P4Runtime session that the store needs.
type Entities interface {
	Read(ctx context.Context, want ...*p4v1.Entity) ([]*p4v1.Entity, error)
	Write(ctx context.Context, updates []*p4v1.Update) error
}

// P4Runtime is a Store over P4Runtime's RegisterEntry.
type P4Runtime struct{ Session Entities }

var _ Store = P4Runtime{}

// Backend returns "P4Runtime".
func (P4Runtime) Backend() string { return "P4Runtime" }

// Read reads all cells with one wildcard read.
func (s P4Runtime) Read(ctx context.Context, r *schema.Register) ([]uint64, error) {
	if err := numeric(r); err != nil {
		return nil, err
	}
	got, err := s.Session.Read(ctx, entity(&p4v1.RegisterEntry{RegisterId: r.ID}))
	if err != nil {
		return nil, unsupported(err)
	}
	if len(got) < r.Size {
		return nil, fmt.Errorf("the switch sent %d cells of %s, which has %d", len(got), r.Name, r.Size)
	}
	values := make([]uint64, len(got))
	for _, e := range got {
		x := e.GetRegisterEntry()
		i := x.GetIndex().GetIndex()
		if i < 0 || i >= int64(len(values)) {
			return nil, fmt.Errorf("the switch sent cell %d of %s, which has %d", i, r.Name, r.Size)
		}
		v, ok := number(x.GetData())
		if !ok {
			return nil, fmt.Errorf("the switch sent %v for %s[%d], which is not a number of up to 64 bits", x.GetData(), r.Name, i)
		}
		values[i] = v
	}
	return values, nil
}

func number(d *p4v1.P4Data) (uint64, bool) {
	switch d := d.GetData().(type) {
	case *p4v1.P4Data_Bitstring:
		return schema.ToUint(d.Bitstring)
	case *p4v1.P4Data_EnumValue:
		return schema.ToUint(d.EnumValue)
	case *p4v1.P4Data_Bool:
		if d.Bool {
			return 1, true
		}
		return 0, true
	case *p4v1.P4Data_Struct:
		if m := d.Struct.GetMembers(); len(m) > 0 {
			return number(m[0])
		}
	}
	return 0, false
}

// data returns a cell whose value, or whose first member, is value. Other members
// are zero.
func data(r *schema.Register, value uint64) *p4v1.P4Data {
	if len(r.Members) == 0 {
		return bitstring(value)
	}
	s := &p4v1.P4StructLike{}
	for range r.Members {
		s.Members = append(s.Members, bitstring(value))
		value = 0
	}
	return &p4v1.P4Data{Data: &p4v1.P4Data_Struct{Struct: s}}
}

func bitstring(value uint64) *p4v1.P4Data {
	return &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: schema.Uint(value)}}
}

func entity(r *p4v1.RegisterEntry) *p4v1.Entity {
	return &p4v1.Entity{Entity: &p4v1.Entity_RegisterEntry{RegisterEntry: r}}
}

// Set writes the cells as one batch; the whole array as one wildcard write.
func (s P4Runtime) Set(ctx context.Context, r *schema.Register, first, last int, value uint64) error {
	if err := numeric(r); err != nil {
		return err
	}
	data := data(r, value)
	modify := func(e *p4v1.RegisterEntry) *p4v1.Update {
		return &p4v1.Update{Type: p4v1.Update_MODIFY, Entity: entity(e)}
	}
	if first == 0 && last == r.Size-1 && r.Size > 1 {
		return unsupported(s.Session.Write(ctx, []*p4v1.Update{modify(&p4v1.RegisterEntry{RegisterId: r.ID, Data: data})}))
	}
	var updates []*p4v1.Update
	for i := first; i <= last; i++ {
		updates = append(updates, modify(&p4v1.RegisterEntry{RegisterId: r.ID, Index: &p4v1.Index{Index: int64(i)}, Data: data}))
	}
	return unsupported(s.Session.Write(ctx, updates))
}

// Reset writes zero to all cells.
func (s P4Runtime) Reset(ctx context.Context, r *schema.Register) error {
	return s.Set(ctx, r, 0, max(r.Size-1, 0), 0)
}

// unsupported marks the errors of switches without registers over P4Runtime.
func unsupported(err error) error {
	if err == nil || !isUnimplemented(err) {
		return err
	}
	return fmt.Errorf("over P4Runtime: %w (%w)", err, ErrUnsupported)
}

// coded is an error that lists the outcome of each part of a request.
type coded interface{ Codes() []codes.Code }

func isUnimplemented(err error) bool {
	if status.Code(err) == codes.Unimplemented {
		return true
	}
	for e := err; e != nil; {
		if c, ok := e.(coded); ok {
			for _, code := range c.Codes() {
				if code == codes.Unimplemented {
					return true
				}
			}
		}
		u, ok := e.(interface{ Unwrap() error })
		if !ok {
			return false
		}
		e = u.Unwrap()
	}
	return false
}
