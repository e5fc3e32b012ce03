// SPDX-License-Identifier: Apache-2.0

// Package bmv2 finds BMv2's programs, and is a client of the Thrift server of
// its simple_switch. The Thrift server gives access to data that the P4Runtime
// server does not offer: registers, queue depths and rates, ports and the
// clock. The file bmv2.thrift declares the calls that are used.
package bmv2

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
)

// Client is a connection to one switch. It makes one call at a time. A broken
// connection is opened again.
type Client struct {
	addr    string
	timeout time.Duration

	mu     sync.Mutex
	socket *thrift.TSocket
	proto  thrift.TProtocol
}

// Timeout is the usual time limit of a call, and of connecting.
const Timeout = 5 * time.Second

// Dial connects to the Thrift server at host:port. The timeout is the limit of
// connecting, and of each call.
func Dial(addr string, timeout time.Duration) (*Client, error) {
	c := &Client{addr: addr, timeout: timeout}
	if err := c.open(); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *Client) open() error {
	conf := &thrift.TConfiguration{ConnectTimeout: c.timeout, SocketTimeout: c.timeout, MaxMessageSize: 256 << 20}
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
	Standard     = "standard"
	Multicast    = "simple_pre_lag"
	SimpleSwitch = "simple_switch"
)

// Call calls a method of a service. Args are fields as in a Struct. Success reads
// the result, and may be nil. An exception is returned as an *Error.
func (c *Client) Call(ctx context.Context, service, method string, args []any, success Reader) error {
	return c.call(ctx, service, method, args, success, false)
}

// repeat is Call for idempotent methods. If the connection is broken, for example
// after a restart of the switch, repeat opens it again once and repeats the call.
func (c *Client) repeat(ctx context.Context, service, method string, args []any, success Reader) error {
	return c.call(ctx, service, method, args, success, true)
}

func (c *Client) call(ctx context.Context, service, method string, args []any, success Reader, again bool) error {
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
		_, err := client.Call(ctx, method, Struct(args), out)
		if err == nil {
			return out.exception
		}
		if !answered(err) {
			c.drop() // the rest of the answer would be read as that of the next call
			if used && again && ctx.Err() == nil {
				continue
			}
		}
		return fmt.Errorf("%s at %s: %w", method, c.addr, err)
	}
}

// answered reports whether an error is an answer of the server, so that the
// connection can still be used.
func answered(err error) bool {
	var app thrift.TApplicationException
	if !errors.As(err, &app) {
		return false
	}
	switch app.TypeId() {
	case thrift.WRONG_METHOD_NAME, thrift.BAD_SEQUENCE_ID, thrift.INVALID_MESSAGE_TYPE_EXCEPTION:
		return false // the answer has another type than expected
	}
	return true
}

// Await waits until the server answers calls: for a moment after its start it
// accepts connections and does not answer.
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

// Error is an exception of BMv2. In calls about registers, code 1 means an
// unknown name and code 2 an index out of range.
type Error struct{ Code int32 }

func (e *Error) Error() string { return fmt.Sprintf("BMv2 returned error code %d", e.Code) }
