// SPDX-License-Identifier: Apache-2.0

// Package bmv2 is everything that is particular to BMv2's simple_switch: its
// Thrift server, which gives what P4Runtime does not give there (registers,
// queue depths and rates, ports and the clock), and where its programs are
// found. The part of the interface that the product uses is in bmv2.thrift.
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
	addr    string
	timeout time.Duration

	mu     sync.Mutex
	socket *thrift.TSocket
	proto  thrift.TProtocol
}

// Timeout is how long a call, or connecting, usually may take.
const Timeout = 5 * time.Second

// Dial connects to the Thrift server at host:port. The timeout bounds
// connecting, and every call.
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

// Call runs a method of a service. Args are as those of a Struct; success,
// which may be nil, reads the result. An exception is returned as an *Error.
func (c *Client) Call(ctx context.Context, service, method string, args []any, success Reader) error {
	return c.call(ctx, service, method, args, success, false)
}

// repeat is Call for methods that may be done twice: where the connection
// turns out to be broken, as after a restart of the switch, it is replaced
// once and the call made again.
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
			c.drop() // what is left of the answer would confuse the next call
			if used && again && ctx.Err() == nil {
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

// Error is an exception of BMv2: for registers 1 is a name and 2 an index
// that it does not know.
type Error struct{ Code int32 }

func (e *Error) Error() string { return fmt.Sprintf("BMv2 refuses with code %d", e.Code) }
