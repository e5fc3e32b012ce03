// SPDX-License-Identifier: Apache-2.0

// Package semantics compares our compiler and switch with a direct evaluator of
// the language specification (evaluator) on random programs (generate), and
// reduces the programs that show a difference (shrink).
package semantics

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/bmv2tests/semantics/evaluator"
	"github.com/pauseless/pauseless/bmv2tests/semantics/generate"
	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/softswitch/stf"
)

// Expected is a case with the packets that the evaluator expects.
type Expected struct {
	generate.Case
	Script string // entries, packets and expected packets, for package stf
	// Packets is the number of packets in the script. Those whose course the
	// specification leaves open are left out.
	Packets int
}

// Evaluate executes a case according to the specification.
func Evaluate(c generate.Case) (*Expected, error) {
	p, err := evaluator.Parse("case.p4", c.Text)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	for _, e := range c.Entries {
		p.Add(e.Table, e.Entry)
		b.WriteString(e.Command() + "\n")
	}
	e := &Expected{Case: c}
	for _, data := range c.Packets {
		sent, err := p.Run(inPort, data)
		if open := (*evaluator.Unspecified)(nil); errors.As(err, &open) {
			continue
		} else if err != nil {
			return nil, err
		}
		e.Packets++
		fmt.Fprintf(&b, "packet %d %X\n", inPort, data)
		for _, s := range sent {
			fmt.Fprintf(&b, "expect %d %s$\n", s.Port, digits(s))
		}
	}
	e.Script = b.String()
	return e, nil
}

// inPort is the port of all packets.
const inPort = 1

// digits returns a packet in hexadecimal, with * for digits that are not known.
func digits(p evaluator.Packet) string {
	var b strings.Builder
	for i, x := range p.Data {
		for _, shift := range []int{4, 0} {
			if p.Known[i]>>shift&15 == 15 {
				fmt.Fprintf(&b, "%X", x>>shift&15)
			} else {
				b.WriteByte('*')
			}
		}
	}
	return b.String()
}

// Refused is the error of a program that the compiler does not compile.
type Refused struct{ List diag.List }

func (r Refused) Error() string { return r.List.Error() }

// Compile compiles a case.
func Compile(c generate.Case) (*bmv2json.Program, error) {
	r, errs := compiler.Compile(compiler.Options{File: "case.p4", Source: []byte(c.Text), NoSourceInfo: true})
	if errs.HasErrors() {
		return nil, Refused{errs}
	}
	return r.Program, nil
}

// Run runs a case on our switch, and returns the differences from what is
// expected as an error.
func (e *Expected) Run(p *bmv2json.Program, trace func(string)) error {
	s, err := e.script(p)
	if err != nil {
		return err
	}
	return stf.Run(p, s, stf.Options{Trace: trace})
}

// RunBMv2 is Run on simple_switch_grpc.
func (e *Expected) RunBMv2(p *bmv2json.Program, binary string) error {
	s, err := e.script(p)
	if err != nil {
		return err
	}
	return stf.RunBMv2(context.Background(), p, s, binary)
}

// script parses the script, without the entries of tables that no packet reaches
// and the compiler therefore left out.
func (e *Expected) script(p *bmv2json.Program) (*stf.Script, error) {
	text := e.Script
	for _, entry := range e.Entries {
		if !hasTable(p, entry.Table) {
			text = strings.Replace(text, entry.Command()+"\n", "", 1)
		}
	}
	return stf.Parse("case.stf", []byte(text))
}

func hasTable(p *bmv2json.Program, name string) bool {
	for _, pl := range p.Pipelines {
		for _, t := range pl.Tables {
			if t.Name == name {
				return true
			}
		}
	}
	return false
}
