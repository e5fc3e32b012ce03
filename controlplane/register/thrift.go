// SPDX-License-Identifier: Apache-2.0

package register

import (
	"context"
	"fmt"

	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/bmv2"
)

// Thrift is a Store over BMv2's Thrift server.
type Thrift struct{ Client *bmv2.Client }

var _ Store = Thrift{}

// dialThrift connects and reads one array, to detect another kind of server or
// another program at once.
func dialThrift(ctx context.Context, addr string, probe *schema.Register) (Store, error) {
	c, err := bmv2.Dial(addr, bmv2.Timeout)
	if err != nil {
		return nil, err
	}
	s := Thrift{c}
	if _, err := s.Read(ctx, probe); err != nil {
		c.Close()
		return nil, fmt.Errorf("the Thrift server at %s: %w", addr, err)
	}
	return s, nil
}

// Backend returns "BMv2 Thrift".
func (Thrift) Backend() string { return "BMv2 Thrift" }

// Close closes the connection.
func (s Thrift) Close() error { return s.Client.Close() }

// single returns an error for arrays whose cells are not a single number of up
// to 64 bits.
func single(r *schema.Register) error {
	if len(r.Members) > 0 {
		return fmt.Errorf("a cell of %s is a struct; over Thrift only single numbers can be read", r.Name)
	}
	return numeric(r)
}

// Read reads all cells with one call.
func (s Thrift) Read(ctx context.Context, r *schema.Register) ([]uint64, error) {
	if err := single(r); err != nil {
		return nil, err
	}
	return s.Client.ReadRegister(ctx, r.Full)
}

// Set writes the cells with one call.
func (s Thrift) Set(ctx context.Context, r *schema.Register, first, last int, value uint64) error {
	if err := single(r); err != nil {
		return err
	}
	return s.Client.WriteRegister(ctx, r.Full, first, last, value)
}

// Reset sets all cells to zero.
func (s Thrift) Reset(ctx context.Context, r *schema.Register) error {
	return s.Client.ResetRegister(ctx, r.Full)
}
