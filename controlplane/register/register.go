// SPDX-License-Identifier: Apache-2.0

// Package register reads and writes register arrays by name, over P4Runtime
// (pauseless switch, Stratum) or BMv2's Thrift server: BMv2 answers calls about
// registers over P4Runtime with "unimplemented".
package register

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/controlplane/schema"
)

// Reader reads the registers of one switch. All cells of an array are read in one
// call.
type Reader interface {
	Read(ctx context.Context, r *schema.Register) ([]uint64, error)
}

// Store reads and writes the registers of one switch.
type Store interface {
	Reader
	// Backend names the protocol, as in "P4Runtime".
	Backend() string
	// Set writes one value to the cells from first to last, both included.
	Set(ctx context.Context, r *schema.Register, first, last int, value uint64) error
	// Reset sets all cells to their initial value, zero.
	Reset(ctx context.Context, r *schema.Register) error
}

// ErrUnsupported is wrapped by the errors of a Store if the switch does not
// support registers over its protocol.
var ErrUnsupported = errors.New("registers are not supported")

// Array is a register array with the values that were read.
type Array struct {
	Name   string
	Bits   int
	Unit   string // "us", "packets", …; empty if the program does not give it
	Index  []schema.Dim
	Values []uint64
}

// Read reads an array, and adds the program's annotations of it.
func Read(ctx context.Context, s Reader, r *schema.Register) (Array, error) {
	v, err := s.Read(ctx, r)
	if err != nil {
		return Array{}, err
	}
	return Array{r.Name, r.Bits, r.Unit, r.Index, v}, nil
}

// A Namer returns the name of a coordinate, such as "3 (to s1)" for ("port", 3),
// or "" if there is none.
type Namer func(dim string, i int) string

// Label returns the coordinates of cell i, such as "port=3 (to s1)" or
// "leaf=2 path=1", or "" if the program does not give them.
func (a Array) Label(i int, name Namer) string {
	var parts []string
	for d, at := range schema.Split(a.Index, i) {
		if a.Index[d].Name == "one" {
			continue // there is only one
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

// Meaning returns the meaning of cell i if its value is not a plain number: the
// path whose number it is, or the paths of a bit mask, whose leftmost bit is the
// first path. Otherwise it returns "".
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
		return fmt.Errorf("%s has cells 0 to %d, not %d to %d", r.Name, r.Size-1, first, last)
	}
	if r.Bits > 0 && r.Bits < 64 && value>>r.Bits != 0 {
		return fmt.Errorf("%s has cells of %d bits; %d does not fit", r.Name, r.Bits, value)
	}
	return s.Set(ctx, r, first, last, value)
}

// numeric returns an error for arrays whose cells are not a single number of up
// to 64 bits.
func numeric(r *schema.Register) error {
	switch {
	case r.Bits == 0:
		return fmt.Errorf("a cell of %s is a struct that does not begin with a number, which cannot be read", r.Name)
	case r.Bits > 64:
		return fmt.Errorf("a cell of %s has %d bits; only up to 64 can be read", r.Name, r.Bits)
	}
	return nil
}
