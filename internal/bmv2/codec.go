// SPDX-License-Identifier: Apache-2.0

package bmv2

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/thrift/lib/go/thrift"
)

// Struct is a Thrift struct to be sent: element i−1 is the field with number i, or
// nil if the field is not set. Elements are bool, int32, int64, float64, []byte,
// string, Struct or List.
type Struct []any

// List is a Thrift list to be sent.
type List struct {
	Of       thrift.TType // of its elements
	Elements []any
}

func typeOf(v any) thrift.TType {
	switch v.(type) {
	case bool:
		return thrift.BOOL
	case int32:
		return thrift.I32
	case int64:
		return thrift.I64
	case float64:
		return thrift.DOUBLE
	case string, []byte:
		return thrift.STRING
	case Struct:
		return thrift.STRUCT
	case List:
		return thrift.LIST
	}
	panic(fmt.Sprintf("BUG: no Thrift type for %T", v))
}

func write(ctx context.Context, p thrift.TProtocol, v any) error {
	switch v := v.(type) {
	case bool:
		return p.WriteBool(ctx, v)
	case int32:
		return p.WriteI32(ctx, v)
	case int64:
		return p.WriteI64(ctx, v)
	case float64:
		return p.WriteDouble(ctx, v)
	case string:
		return p.WriteString(ctx, v)
	case []byte:
		return p.WriteBinary(ctx, v)
	case Struct:
		return v.Write(ctx, p)
	case List:
		err := p.WriteListBegin(ctx, v.Of, len(v.Elements))
		for _, e := range v.Elements {
			err = errors.Join(err, write(ctx, p, e))
		}
		return errors.Join(err, p.WriteListEnd(ctx))
	}
	panic(fmt.Sprintf("BUG: no Thrift type for %T", v))
}

// Write implements thrift.TStruct.
func (s Struct) Write(ctx context.Context, p thrift.TProtocol) error {
	err := p.WriteStructBegin(ctx, "")
	for i, v := range s {
		if v != nil {
			err = errors.Join(err, p.WriteFieldBegin(ctx, "", typeOf(v), int16(i+1)), write(ctx, p, v), p.WriteFieldEnd(ctx))
		}
	}
	return errors.Join(err, p.WriteFieldStop(ctx), p.WriteStructEnd(ctx))
}

// Read implements thrift.TStruct; Structs are only ever written.
func (s Struct) Read(context.Context, thrift.TProtocol) error { panic("BUG: Structs are not read") }

// Reader reads the value that a method returns.
type Reader func(ctx context.Context, typ thrift.TType, p thrift.TProtocol) error

// result is a Thrift struct with a value in field 0 or an exception in
// field 1.
type result struct {
	success   Reader
	exception error
}

// Write implements thrift.TStruct; results are only ever read.
func (r *result) Write(context.Context, thrift.TProtocol) error {
	panic("BUG: results are not written")
}

// Read implements thrift.TStruct.
func (r *result) Read(ctx context.Context, p thrift.TProtocol) error {
	return readStruct(ctx, p, func(id int16, typ thrift.TType) error {
		switch {
		case id == 0 && r.success != nil:
			return r.success(ctx, typ, p)
		case id == 1 && typ == thrift.STRUCT:
			e := &Error{}
			r.exception = e
			return readStruct(ctx, p, func(id int16, typ thrift.TType) (err error) {
				if id == 1 && typ == thrift.I32 {
					e.Code, err = p.ReadI32(ctx)
					return err
				}
				return p.Skip(ctx, typ)
			})
		}
		return p.Skip(ctx, typ)
	})
}

// readStruct calls field for each field of the struct that comes next.
func readStruct(ctx context.Context, p thrift.TProtocol, field func(id int16, typ thrift.TType) error) error {
	if _, err := p.ReadStructBegin(ctx); err != nil {
		return err
	}
	for {
		_, typ, id, err := p.ReadFieldBegin(ctx)
		if err != nil {
			return err
		}
		if typ == thrift.STOP {
			return p.ReadStructEnd(ctx)
		}
		if err := field(id, typ); err != nil {
			return err
		}
		if err := p.ReadFieldEnd(ctx); err != nil {
			return err
		}
	}
}

// Integers returns a Reader that appends all integers of a result to into, in
// order, including those in structs.
func Integers(into *[]int64) Reader {
	return func(ctx context.Context, typ thrift.TType, p thrift.TProtocol) error {
		return integers(ctx, p, typ, into)
	}
}

func integers(ctx context.Context, p thrift.TProtocol, typ thrift.TType, into *[]int64) error {
	switch typ {
	case thrift.I32:
		v, err := p.ReadI32(ctx)
		*into = append(*into, int64(v))
		return err
	case thrift.I64:
		v, err := p.ReadI64(ctx)
		*into = append(*into, v)
		return err
	case thrift.STRUCT:
		return readStruct(ctx, p, func(_ int16, typ thrift.TType) error { return integers(ctx, p, typ, into) })
	}
	return p.Skip(ctx, typ)
}
