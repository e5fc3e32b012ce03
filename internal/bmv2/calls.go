// SPDX-License-Identifier: Apache-2.0

package bmv2

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/thrift/lib/go/thrift"
)

// Codes of Error in register calls.
const (
	badRegister = 1
	badIndex    = 2
)

// registerError returns the meaning of a register call's exception.
func registerError(name string, err error) error {
	var e *Error
	if errors.As(err, &e) {
		switch e.Code {
		case badRegister:
			return fmt.Errorf("BMv2 has no register array %q", name)
		case badIndex:
			return fmt.Errorf("index is beyond the end of register array %q", name)
		}
	}
	return err
}

// maxCells is the greatest length of an array that is accepted from a switch.
const maxCells = 1 << 26

// ReadRegister returns all cells of a register array, named in full as in
// the BMv2 JSON. Cells of more than 64 bits cannot be read.
func (c *Client) ReadRegister(ctx context.Context, name string) ([]uint64, error) {
	var cells []uint64
	err := c.repeat(ctx, Standard, "bm_register_read_all", []any{int32(0), name}, func(ctx context.Context, _ thrift.TType, p thrift.TProtocol) error {
		_, n, err := p.ReadListBegin(ctx)
		if err != nil {
			return err
		}
		if n < 0 || n > maxCells {
			return fmt.Errorf("the switch returned %d as the number of cells of %s", n, name)
		}
		cells = make([]uint64, n)
		for i := range cells {
			v, err := p.ReadI64(ctx)
			if err != nil {
				return err
			}
			cells[i] = uint64(v)
		}
		return p.ReadListEnd(ctx)
	})
	return cells, registerError(name, err)
}

// WriteRegister writes a value to the cells from first to last, both
// included.
func (c *Client) WriteRegister(ctx context.Context, name string, first, last int, value uint64) error {
	return registerError(name, c.repeat(ctx, Standard, "bm_register_write_range",
		[]any{int32(0), name, int32(first), int32(last + 1), int64(value)}, nil))
}

// ResetRegister sets all cells to zero.
func (c *Client) ResetRegister(ctx context.Context, name string) error {
	return registerError(name, c.repeat(ctx, Standard, "bm_register_reset", []any{int32(0), name}, nil))
}

// Port is a port of the switch.
type Port struct {
	Number    int
	Interface string
	Up        bool
}

// Ports lists the switch's ports.
func (c *Client) Ports(ctx context.Context) ([]Port, error) {
	var ports []Port
	err := c.repeat(ctx, Standard, "bm_dev_mgr_show_ports", nil, func(ctx context.Context, _ thrift.TType, p thrift.TProtocol) error {
		_, n, err := p.ReadListBegin(ctx)
		if err != nil {
			return err
		}
		for range n {
			var port Port
			err := readStruct(ctx, p, func(id int16, typ thrift.TType) (err error) {
				switch {
				case id == 1 && typ == thrift.I32:
					var v int32
					v, err = p.ReadI32(ctx)
					port.Number = int(v)
				case id == 2 && typ == thrift.STRING:
					port.Interface, err = p.ReadString(ctx)
				case id == 3 && typ == thrift.BOOL:
					port.Up, err = p.ReadBool(ctx)
				default:
					err = p.Skip(ctx, typ)
				}
				return err
			})
			if err != nil {
				return err
			}
			ports = append(ports, port)
		}
		return p.ReadListEnd(ctx)
	})
	return ports, err
}

// Queue selects egress queues: one, all of a port, or all of the switch.
type Queue struct {
	Port     int // All: all ports
	Priority int // as standard_metadata.priority, 0 to 7; All: all of the port
}

// All stands for all ports, or all priorities of a port.
const All = -1

// SetQueueDepth sets how many packets the queues hold.
func (c *Client) SetQueueDepth(ctx context.Context, q Queue, packets int) error {
	n := int32(packets)
	switch {
	case q.Port == All:
		return c.queueCall(ctx, "set_all_egress_queue_depths", n)
	case q.Priority == All:
		return c.queueCall(ctx, "set_egress_queue_depth", int32(q.Port), n)
	}
	return c.queueCall(ctx, "set_egress_priority_queue_depth", int32(q.Port), int32(q.Priority), n)
}

// SetQueueRate sets how many packets per second the queues send; 0 means as
// many as possible.
func (c *Client) SetQueueRate(ctx context.Context, q Queue, pps int64) error {
	switch {
	case q.Port == All:
		return c.queueCall(ctx, "set_all_egress_queue_rates", pps)
	case q.Priority == All:
		return c.queueCall(ctx, "set_egress_queue_rate", int32(q.Port), pps)
	}
	return c.queueCall(ctx, "set_egress_priority_queue_rate", int32(q.Port), int32(q.Priority), pps)
}

func (c *Client) queueCall(ctx context.Context, method string, args ...any) error {
	var code int32
	err := c.repeat(ctx, SimpleSwitch, method, args, func(ctx context.Context, _ thrift.TType, p thrift.TProtocol) (err error) {
		code, err = p.ReadI32(ctx)
		return err
	})
	if err == nil && code != 0 {
		return fmt.Errorf("%s%v: BMv2 returned error code %d", method, args, code)
	}
	return err
}

// Elapsed returns the switch's clock in µs since its start, which is the clock of
// the program's timestamps.
func (c *Client) Elapsed(ctx context.Context) (us int64, err error) {
	err = c.repeat(ctx, SimpleSwitch, "get_time_elapsed_us", nil, func(ctx context.Context, _ thrift.TType, p thrift.TProtocol) (err error) {
		us, err = p.ReadI64(ctx)
		return err
	})
	return us, err
}
