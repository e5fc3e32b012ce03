// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"

	"github.com/pauseless/pauseless/controlplane/register"
	"github.com/pauseless/pauseless/controlplane/schema"
)

// Registers returns the store of the switch's registers. At the first call it
// probes P4Runtime, then Thrift if the target has a Thrift address.
func (s *Session) Registers(ctx context.Context) (register.Store, error) {
	sch, err := s.LoadSchema(ctx)
	if err != nil {
		return nil, err
	}
	s.storeMu.Lock()
	defer s.storeMu.Unlock()
	if s.store != nil {
		return s.store, nil
	}
	store, err := register.Probe(ctx, sch, s, s.target.Thrift)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.target.Name, err)
	}
	s.store = store
	return store, nil
}

// register returns a register array by its name, and the store of its cells.
func (s *Session) register(ctx context.Context, name string) (*schema.Register, register.Store, error) {
	sch, err := s.LoadSchema(ctx)
	if err != nil {
		return nil, nil, err
	}
	r, err := sch.Register(name)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", s.target.Name, err)
	}
	store, err := s.Registers(ctx)
	return r, store, err
}

// ReadRegister reads all cells of a register array.
func (s *Session) ReadRegister(ctx context.Context, name string) (register.Array, error) {
	r, store, err := s.register(ctx, name)
	if err != nil {
		return register.Array{}, err
	}
	return register.Read(ctx, store, r)
}

// WriteRegister writes one value to the cells from first to last, both
// included.
func (s *Session) WriteRegister(ctx context.Context, name string, first, last int, value uint64) error {
	r, store, err := s.register(ctx, name)
	if err != nil {
		return err
	}
	return register.Set(ctx, store, r, first, last, value)
}

// ResetRegister sets all cells of a register array to their initial value.
func (s *Session) ResetRegister(ctx context.Context, name string) error {
	r, store, err := s.register(ctx, name)
	if err != nil {
		return err
	}
	return store.Reset(ctx, r)
}
