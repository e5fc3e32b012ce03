// SPDX-License-Identifier: Apache-2.0

// Package register reads and writes register arrays by name, over whichever
// interface a switch has: P4Runtime (pauseless switch, Stratum) or BMv2's
// Thrift, since BMv2 answers registers over P4Runtime with "unimplemented".
package register

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/controlplane/schema"
)

// Store reads and writes the registers of one switch. All cells of an array
// are read in one call.
type Store interface {
	// Backend names the protocol, as in "P4Runtime".
	Backend() string
	// Read returns all cells.
	Read(ctx context.Context, r *schema.Register) ([]uint64, error)
	// Set writes one value to the cells from first to last, both included.
	Set(ctx context.Context, r *schema.Register, first, last int, value uint64) error
	// Reset gives all cells their initial value, zero.
	Reset(ctx context.Context, r *schema.Register) error
}

// ErrUnsupported is what a Store's errors wrap when the switch has no
// registers of this store.
var ErrUnsupported = errors.New("registers are not supported")

// Array is a register array as it was read.
type Array struct {
	Name   string
	Bits   int
	Unit   string // "us", "packets", …; empty if the program does not say
	Index  []schema.Dim
	Values []uint64
}

// Read reads an array and attaches what the program says of it.
func Read(ctx context.Context, s Store, r *schema.Register) (Array, error) {
	v, err := s.Read(ctx, r)
	if err != nil {
		return Array{}, err
	}
	return Array{r.Name, r.Bits, r.Unit, r.Index, v}, nil
}

// A Namer turns a coordinate into a name: ("port", 3) into "3 (to s1)". It
// returns "" where it has none.
type Namer func(dim string, i int) string

// Label returns what cell i is about: "port=3 (to s1)" or "leaf=2 path=1";
// "" if the program does not say.
func (a Array) Label(i int, name Namer) string {
	var parts []string
	for d, at := range schema.Split(a.Index, i) {
		if a.Index[d].Name == "one" {
			continue // there is but one
		}
		parts = append(parts, a.Index[d].Name+"="+name.of(a.Index[d].Name, at))
	}
	return strings.Join(parts, " ")
}

func (n Namer) of(dim string, i int) string {
	if n != nil {
		if text := n(dim, i); text != "" {
			return text
		}
	}
	return fmt.Sprint(i)
}

// Meaning returns what the value of cell i stands for, where it is no plain
// number: the path that it counts, or those of which it is a mask, the first
// path the leftmost bit. It is "" otherwise.
func (a Array) Meaning(i int, name Namer) string {
	switch a.Unit {
	case "path":
		return name.of("path", int(a.Values[i]))
	case "paths":
		var paths []string
		for p := range a.Bits {
			if a.Values[i]>>(a.Bits-1-p)&1 == 1 {
				paths = append(paths, name.of("path", p))
			}
		}
		return strings.Join(paths, ", ")
	}
	return ""
}

// Set checks range and width, and writes value to the cells from first to
// last, both included.
func Set(ctx context.Context, s Store, r *schema.Register, first, last int, value uint64) error {
	if first < 0 || last < first || r.Size > 0 && last >= r.Size {
		return fmt.Errorf("%s has cells 0 to %d; there are none from %d to %d", r.Name, r.Size-1, first, last)
	}
	if r.Bits > 0 && r.Bits < 64 && value>>r.Bits != 0 {
		return fmt.Errorf("%s has cells of %d bits; %d does not fit", r.Name, r.Bits, value)
	}
	return s.Set(ctx, r, first, last, value)
}

// numeric refuses arrays whose cells are no single number of up to 64 bits.
func numeric(r *schema.Register) error {
	switch {
	case r.Bits == 0:
		return fmt.Errorf("a cell of %s is a struct that does not begin with a number, which cannot be read", r.Name)
	case r.Bits > 64:
		return fmt.Errorf("a cell of %s has %d bits; only up to 64 can be read", r.Name, r.Bits)
	}
	return nil
}
