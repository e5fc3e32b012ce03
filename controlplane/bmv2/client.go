// SPDX-License-Identifier: Apache-2.0

// Package bmv2 speaks to the Thrift server beside BMv2's P4Runtime one, for
// what P4Runtime does not give there: registers, queue depths and rates,
// ports and the clock. The interface is in bmv2.thrift.
package bmv2

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
)

// Client is a connection to one switch. Calls are one at a time; a broken
// connection is opened again.
type Client struct {
	addr string

	mu     sync.Mutex
	socket *thrift.TSocket
	proto  thrift.TProtocol
}

// Timeout bounds every call, and the connection.
const Timeout = 5 * time.Second

// Dial connects to the Thrift server at host:port.
func Dial(addr string) (*Client, error) {
	c := &Client{addr: addr}
	if err := c.open(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Client) open() error {
	conf := &thrift.TConfiguration{ConnectTimeout: Timeout, SocketTimeout: Timeout, MaxMessageSize: 256 << 20}
	socket := thrift.NewTSocketConf(c.addr, conf)
	if err := socket.Open(); err != nil {
		return fmt.Errorf("no Thrift server at %s: %w; start the switch with --thrift-port", c.addr, err)
	}
	c.socket = socket
	c.proto = thrift.NewTBinaryProtocolConf(thrift.NewTBufferedTransport(socket, 64<<10), conf)
	return nil
}

// Close ends the connection.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drop()
}

func (c *Client) drop() error {
	if c.socket == nil {
		return nil
	}
	err := c.socket.Close()
	c.socket, c.proto = nil, nil
	return err
}

// Names of the multiplexed services.
const (
	standard     = "standard"
	simpleSwitch = "simple_switch"
)

// call runs a method. Args are numbered from 1 in order: int32, int64 or
// string. The result is read by success, which may be nil for void. All
// methods in use may be done twice, so a connection that turns out to be
// broken, as after a restart of the switch, is replaced once.
func (c *Client) call(ctx context.Context, service, method string, args []any, success func(context.Context, thrift.TProtocol) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for used := c.socket != nil; ; used = false {
		if c.socket == nil {
			if err := c.open(); err != nil {
				return err
			}
		}
		out := &result{success: success}
		client := thrift.NewTStandardClient(c.proto, thrift.NewTMultiplexedProtocol(c.proto, service))
		_, err := client.Call(ctx, method, arguments(args), out)
		if err == nil {
			return out.exception
		}
		if !answered(err) {
			c.drop() // what is left of the answer would confuse the next call
			if used && ctx.Err() == nil {
				continue
			}
		}
		return fmt.Errorf("%s at %s: %w", method, c.addr, err)
	}
}

// answered reports whether an error is the server's answer, after which the
// connection is in order.
func answered(err error) bool {
	var app thrift.TApplicationException
	if !errors.As(err, &app) {
		return false
	}
	switch app.TypeId() {
	case thrift.WRONG_METHOD_NAME, thrift.BAD_SEQUENCE_ID, thrift.INVALID_MESSAGE_TYPE_EXCEPTION:
		return false // the answer was another than expected
	}
	return true
}

// Await waits until the server serves the switch: for a moment after the
// start it listens already and does not.
func (c *Client) Await(ctx context.Context) error {
	for {
		_, err := c.Elapsed(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// arguments is a Thrift struct of positional arguments.
type arguments []any

// Write implements thrift.TStruct.
func (a arguments) Write(ctx context.Context, p thrift.TProtocol) error {
	if err := p.WriteStructBegin(ctx, "args"); err != nil {
		return err
	}
	for i, v := range a {
		if err := writeField(ctx, p, int16(i+1), v); err != nil {
			return err
		}
	}
	if err := p.WriteFieldStop(ctx); err != nil {
		return err
	}
	return p.WriteStructEnd(ctx)
}

func writeField(ctx context.Context, p thrift.TProtocol, id int16, v any) error {
	var typ thrift.TType
	var write func() error
	switch v := v.(type) {
	case int32:
		typ, write = thrift.I32, func() error { return p.WriteI32(ctx, v) }
	case int64:
		typ, write = thrift.I64, func() error { return p.WriteI64(ctx, v) }
	case string:
		typ, write = thrift.STRING, func() error { return p.WriteString(ctx, v) }
	default:
		panic(fmt.Sprintf("BUG: no Thrift type for %T", v))
	}
	if err := p.WriteFieldBegin(ctx, "", typ, id); err != nil {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	return p.WriteFieldEnd(ctx)
}

// Read implements thrift.TStruct; arguments are only ever written.
func (a arguments) Read(context.Context, thrift.TProtocol) error {
	panic("BUG: arguments are not read")
}

// result is a Thrift struct with a value in field 0 or an exception in
// field 1.
type result struct {
	success   func(context.Context, thrift.TProtocol) error
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
			return r.success(ctx, p)
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

// readStruct calls field for each field of the struct at hand.
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

// Error is an exception of BMv2: for registers 1 is a name and 2 an index
// that it does not know.
type Error struct{ Code int32 }

func (e *Error) Error() string { return fmt.Sprintf("BMv2 refuses with code %d", e.Code) }
