// SPDX-License-Identifier: Apache-2.0

package bmv2

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/thrift/lib/go/thrift"
)

// Services of BMv2's Thrift server.
const (
	standard     = "standard"
	multicast    = "simple_pre_lag"
	simpleSwitch = "simple_switch"
)

// record is a Thrift struct: the field of number i is at i−1, nil if not set.
// Values are bool, int32, int64, float64, []byte, string, record or list.
type record []any

// list is a Thrift list; of tells the type of its elements.
type list struct {
	of       thrift.TType
	elements []any
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
	case record:
		return thrift.STRUCT
	case list:
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
	case record:
		return v.Write(ctx, p)
	case list:
		err := p.WriteListBegin(ctx, v.of, len(v.elements))
		for _, e := range v.elements {
			err = errors.Join(err, write(ctx, p, e))
		}
		return errors.Join(err, p.WriteListEnd(ctx))
	}
	panic(fmt.Sprintf("BUG: no Thrift type for %T", v))
}

// Write implements thrift.TStruct.
func (r record) Write(ctx context.Context, p thrift.TProtocol) error {
	err := p.WriteStructBegin(ctx, "")
	for i, v := range r {
		if v != nil {
			err = errors.Join(err, p.WriteFieldBegin(ctx, "", typeOf(v), int16(i+1)), write(ctx, p, v), p.WriteFieldEnd(ctx))
		}
	}
	return errors.Join(err, p.WriteFieldStop(ctx), p.WriteStructEnd(ctx))
}

// Read implements thrift.TStruct; records are only ever written.
func (r record) Read(context.Context, thrift.TProtocol) error { panic("BUG: records are not read") }

// reply is what a method returns: integers of its result, in order, or the
// code of its exception.
type reply struct {
	values []int64
	code   int64
	inside bool // a struct of the result
}

// Write implements thrift.TStruct; replies are only ever read.
func (r *reply) Write(context.Context, thrift.TProtocol) error { panic("BUG: replies are not written") }

// Read implements thrift.TStruct.
func (r *reply) Read(ctx context.Context, p thrift.TProtocol) error {
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
		n := len(r.values)
		if err := r.read(ctx, p, typ); err != nil {
			return err
		}
		if id == 1 && !r.inside { // the exception
			r.code = -1
			if len(r.values) > n {
				r.code, r.values = r.values[n], r.values[:n]
			}
		}
	}
}

func (r *reply) read(ctx context.Context, p thrift.TProtocol, typ thrift.TType) error {
	switch typ {
	case thrift.I32:
		v, err := p.ReadI32(ctx)
		r.values = append(r.values, int64(v))
		return err
	case thrift.I64:
		v, err := p.ReadI64(ctx)
		r.values = append(r.values, v)
		return err
	case thrift.STRUCT:
		inside := r.inside
		r.inside = true
		err := r.Read(ctx, p)
		r.inside = inside
		return err
	}
	return p.Skip(ctx, typ)
}

// call calls a method.
func (s *Switch) call(service, method string, args ...any) ([]int64, error) {
	ctx, cancel := context.WithTimeout(s.ctx, patience)
	defer cancel()
	r := &reply{}
	c := thrift.NewTStandardClient(s.thrift, thrift.NewTMultiplexedProtocol(s.thrift, service))
	if _, err := c.Call(ctx, method, record(args), r); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	if r.code != 0 {
		return nil, fmt.Errorf("%s: BMv2 refuses with code %d", method, r.code)
	}
	return r.values, nil
}
