// SPDX-License-Identifier: Apache-2.0

// Package manifest describes a generated program: the meaning and units of its
// tables, registers and parameters, and the formulas by which the entries of its
// configuration tables follow from the network. The generator writes the manifest
// beside the program as JSON; the control plane computes entries with it.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Manifest describes one program.
type Manifest struct {
	Program string `json:"program"` // name of the profile
	Summary string `json:"summary"`
	Target  string `json:"target"` // v1model or tna
	Base    string `json:"base"`   // base load balancer
	// Features are the blocks that the program consists of. Options are the
	// needed parts of blocks, as block.option.
	Features []string `json:"features"`
	Options  []string `json:"options"`
	Units    Units    `json:"units"`
	Sizes    Sizes    `json:"sizes"`
	// RecirculationPort is the port to which the program sends packets that
	// pass the pipeline again; 0 if it does not recirculate packets.
	RecirculationPort int `json:"recirculation_port,omitempty"`
	// MirrorBytes is the length to which mirrored packets are truncated on TNA.
	// Messages and feedback fit, with the headers that they are made from.
	MirrorBytes int        `json:"mirror_bytes,omitempty"`
	Network     Network    `json:"network"` // from which the defaults follow
	Tables      []Table    `json:"tables"`
	Registers   []Register `json:"registers"`
	Counters    []Counter  `json:"counters,omitempty"`
	Digests     []Digest   `json:"digests,omitempty"`
	// Own is the hash of all files of a program that nobody generated: those of its
	// switches, and their entries.
	Own        string      `json:"own,omitempty"`
	Parameters []Parameter `json:"parameters"`
	Constants  []Constant  `json:"constants,omitempty"`
	// Notes describe differences between the program and the scheme's paper, or
	// the same profile on another target.
	Notes []string `json:"notes,omitempty"`
}

// Units are the target's units of time and queue depth.
type Units struct {
	Time  TimeUnit  `json:"time" yaml:"time"`
	Depth DepthUnit `json:"depth" yaml:"depth"`
}

// TimeUnit is the unit of timestamps.
type TimeUnit string

// Units of time.
const (
	Microseconds TimeUnit = "us"
	Nanoseconds  TimeUnit = "ns"
)

// DepthUnit is the unit of the target's own queue depths. Queue lengths in
// registers are in bytes everywhere.
type DepthUnit string

// Units of queue depth.
const (
	Packets DepthUnit = "packets"
	Cells80 DepthUnit = "cells80"
	Bytes   DepthUnit = "bytes"
)

// TofinoRecirculation is the recirculation port of a Tofino's first pipeline.
const TofinoRecirculation = 68

// TofinoPipePorts is the distance between the port numbers of one pipeline of a
// Tofino and those of the next.
const TofinoPipePorts = 128

// LosslessClass is the lossless class, which has the data packets with DSCP 26.
const LosslessClass = 3

// CellBytes is the size of a cell of Tofino's packet memory.
const CellBytes = 80

// Sizes are the limits of a program.
type Sizes struct {
	Ports      int `json:"ports" yaml:"ports" limits:"2..509"`        // ports are numbered from 1 to Ports-1
	Paths      int `json:"paths" yaml:"paths" limits:"2..64"`         // equal-cost paths to a destination leaf
	Leaves     int `json:"leaves" yaml:"leaves" limits:"2..4096"`     // leaves, and pods of a three-tier network
	Hosts      int `json:"hosts" yaml:"hosts" limits:"2..1048576"`    // routes
	Priorities int `json:"priorities" yaml:"priorities"`              // queues per port
	Flows      int `json:"flows" yaml:"flows" limits:"16..1048576"`   // cells of per-flow state, shared by hash
	Coflows    int `json:"coflows" yaml:"coflows" limits:"16..65536"` // cells of per-coflow state, shared by hash
}

// Table is a match-action table that the control plane sees.
type Table struct {
	Name string `json:"name"`
	// Kind describes the source of its entries: those of "routes" and "ports" are
	// computed from the topology, those of "settings" hold parameters, those of
	// "enumeration" follow from formulas (Fill), and those of "constant" cannot be
	// changed.
	Kind string `json:"kind"`
	Doc  string `json:"doc"`
	// Entries are the entries that follow from the topology: one for each of
	// all_ports, fabric_ports (those to other switches) or hosts, or the default entry,
	// of each switch or only of each leaf.
	Entries string `json:"entries,omitempty"`
	// Sessions are the clone sessions that the table's actions use: one for each of
	// all_ports or fabric_ports.
	Sessions []string `json:"sessions,omitempty"`
	// Action is the action of these entries, or the default action of a table of
	// settings. Args are the formulas of its arguments.
	Action string     `json:"action,omitempty"`
	Args   []Argument `json:"args,omitempty"`
	// Fill are formulas of all entries. Of two entries that match the same packet,
	// that of the formula that comes first wins.
	Fill []Fill `json:"fill,omitempty"`
}

// Kinds and EntriesOf are the values of Table.Kind and Table.Entries, except the
// empty one of the latter.
var (
	Kinds     = []string{"routes", "ports", "settings", "enumeration", "constant"}
	EntriesOf = []string{"all_ports", "fabric_ports", "switch", "leaf", "hosts"}
)

// CheckEntries returns an error unless a word is a value of Table.Entries.
func CheckEntries(word string) error {
	if word == "" || slices.Contains(EntriesOf, word) {
		return nil
	}
	return fmt.Errorf("@entries(%q)%s is none of %s", word, diag.DidYouMean(word, EntriesOf), strings.Join(EntriesOf, ", "))
}

// Argument is an argument of an action, in the target's units.
type Argument struct {
	Name  string `json:"name"`
	Value Expr   `json:"value"`
}

// Register is a register array that the control plane sees.
type Register struct {
	Name  string `json:"name"`
	Unit  string `json:"unit"`
	Index []Dim  `json:"index"`
	Bits  int    `json:"bits"`
	// Fields are the names of the two fields if a cell is a pair. Unit is the unit
	// of the first.
	Fields []string `json:"fields,omitempty"`
	Doc    string   `json:"doc"`
}

// Counter is a counter of a table: how often its entries executed an action.
type Counter struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Table  string `json:"table"`
	Action string `json:"action"`
	Doc    string `json:"doc"`
}

// Dim is one dimension of an array's index; the last varies fastest.
type Dim struct {
	Name string `json:"name"`
	Size int    `json:"size"`
}

// Digest is a message of the data plane to the control plane.
type Digest struct {
	Name   string   `json:"name"`
	Fields []string `json:"fields"`
	Doc    string   `json:"doc"`
}

// Parameter is a number that decides how a scheme behaves.
type Parameter struct {
	Name string `json:"name"` // block.name, as in the profile
	// Value is in Unit: bytes, ns, packets, a count or a fraction.
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Given is true if the profile gives the value. Otherwise it follows from the
	// network, and is computed anew for the network of a deployment.
	Given bool `json:"given,omitempty"`
	// ByRate are values that the profile gives for links of a rate, such as
	// "25Gbps". They take precedence over Value.
	ByRate map[string]float64 `json:"by_rate,omitempty"`
	// Default is the formula by which it follows from the network.
	Default Expr `json:"default"`
	// Tables are the tables in which it can be changed at run time. There are none
	// if it is compiled in.
	Tables []string `json:"tables,omitempty"`
	Doc    string   `json:"doc"`
}

// Constant is a number that was computed when the program was generated, and is
// compiled in.
type Constant struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
	From  Expr   `json:"from"` // the formula
	Doc   string `json:"doc"`
}

// Network has the quantities from which thresholds follow: one link, the path and
// the buffer.
type Network struct {
	Rate  vtime.Rate `json:"rate" yaml:"rate"`                // C
	Delay vtime.Time `json:"delay" yaml:"delay"`              // d, of one link, one way
	Hops  int        `json:"hops" yaml:"hops" limits:"1..16"` // links from leaf to leaf, one way
	// FanIn is n of RLB's Eq. 3 and 5: an ingress queue may grow by d·C·(n−1)
	// until a warning takes effect. One link feeds the queue. The bytes on that
	// link, and those that are sent while the warning crosses it, make n = 3.
	FanIn int        `json:"fan_in" yaml:"fan_in" limits:"1.."`
	XOFF  vtime.Size `json:"xoff" yaml:"xoff"` // Q_PFC, per ingress port
	MTU   vtime.Size `json:"mtu" yaml:"mtu"`   // largest frame
	// Alpha is the factor of dynamic PFC thresholds: PAUSE is sent when an ingress
	// queue has Reserve plus Alpha times the free part of Shared. It is a power of
	// two from 1/128 to 8; zero means 1/8.
	Alpha float64 `json:"alpha,omitempty" yaml:"alpha"`
	// Shared is the part of the buffer that ingress queues share, without headroom
	// and reserves. Zero means the size with which the threshold of a single busy
	// queue is XOFF.
	Shared vtime.Size `json:"shared,omitempty" yaml:"shared"`
	// Reserve is the part of the buffer that each ingress queue has for itself.
	Reserve vtime.Size `json:"reserve,omitempty" yaml:"reserve"`
	// Measured is the base round-trip time between leaves that was measured, instead of
	// the one that RTT computes, which has no latency of switches; zero: none was.
	Measured vtime.Time `json:"measured,omitempty" yaml:"-"`
	// Scale is the factor by which the network that runs is slower than this one,
	// as deployed networks are; zero means 1. All defaults follow from this
	// network; in the one that runs, times are multiplied by Scale and rates
	// divided. Values that a profile gives are not changed.
	Scale int64 `json:"scale,omitempty" yaml:"-"`
}

// slower returns the network that runs.
func (n Network) slower() Network {
	n.Rate, n.Delay = max(1, n.Rate/vtime.Rate(n.factor())), n.Delay*vtime.Time(n.factor())
	return n
}

func (n Network) factor() int64 { return max(1, n.Scale) }

// Read decodes a manifest. Errors name file and line.
func Read(name string, data []byte) (*Manifest, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	m := new(Manifest)
	if err := d.Decode(m); err != nil {
		return nil, readError(name, data, d.InputOffset(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, readError(name, data, d.InputOffset(), errors.New("unexpected text after the manifest"))
	}
	if err := m.check(); err != nil {
		return nil, readError(name, nil, 0, err)
	}
	return m, nil
}

// CodeManifest is the code of diagnostics about manifests.
const CodeManifest diag.Code = "manifest"

func readError(name string, data []byte, offset int64, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	line := int32(0)
	if data != nil {
		line = int32(1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n")))
	}
	var list diag.List
	list.Errorf(diag.MakePos(&name, line, 0), CodeManifest, "manifest: %v", err)
	return list.Err()
}

func (m *Manifest) check() error {
	if err := m.Units.Check(); err != nil {
		return err
	}
	if s := m.Sizes; s.Ports < 1 || s.Paths < 1 || s.Leaves < 1 || s.Hosts < 1 {
		return fmt.Errorf("sizes: ports, paths, leaves and hosts must be above zero")
	}
	for _, p := range m.Parameters {
		if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) || p.Value < 0 {
			return fmt.Errorf("parameter %s: %v is not an amount", p.Name, p.Value)
		}
	}
	return m.Network.Check()
}

// Check returns an error if a unit is unknown.
func (u Units) Check() error {
	switch u.Time {
	case Microseconds, Nanoseconds:
	default:
		return fmt.Errorf("unit of time is %q, must be us or ns", u.Time)
	}
	switch u.Depth {
	case Packets, Cells80, Bytes:
	default:
		return fmt.Errorf("unit of queue depth is %q, must be packets, cells80 or bytes", u.Depth)
	}
	return nil
}

// Check returns an error if a value is out of range.
func (n Network) Check() error {
	switch {
	case n.Rate <= 0:
		return fmt.Errorf("network: rate is %v, must be above zero", n.Rate)
	case n.Delay < 0:
		return fmt.Errorf("network: delay is %v, must not be below zero", n.Delay)
	case n.Hops < 1 || n.Hops > 16:
		return fmt.Errorf("network: hops is %d, must be from 1 to 16", n.Hops)
	case n.FanIn < 1:
		return fmt.Errorf("network: fan_in is %d, must be above zero", n.FanIn)
	case n.XOFF <= 0:
		return fmt.Errorf("network: xoff is %v, must be above zero", n.XOFF)
	case n.MTU < 64:
		return fmt.Errorf("network: mtu is %v, must be at least 64 bytes", n.MTU)
	case n.Alpha != 0 && CheckAlpha(n.Alpha) != nil:
		return fmt.Errorf("network: %w", CheckAlpha(n.Alpha))
	case n.Shared < 0 || n.Shared > maxShared:
		return fmt.Errorf("network: shared is %v, must be from 0 to %v: programs compute with 8 times its value in 32 bits", n.Shared, maxShared)
	case n.Reserve < 0 || n.Reserve > maxShared:
		return fmt.Errorf("network: reserve is %v, must be from 0 to %v", n.Reserve, maxShared)
	}
	return nil
}

// maxShared is the largest buffer: 8 times its bytes fit into 32 bits.
const maxShared vtime.Size = 1<<29 - 1

// CheckAlpha returns an error unless alpha is a factor of PFC thresholds that
// programs can compute with. Those of switch chips are.
func CheckAlpha(alpha float64) error {
	if part, _ := math.Frexp(alpha); part != 0.5 || alpha < 1.0/128 || alpha > 8 {
		return fmt.Errorf("alpha is %g, must be a power of two from 1/128 to 8: programs that use the PFC threshold multiply by shifting", alpha)
	}
	return nil
}

// Encode returns the manifest as JSON with a line for each table, register and parameter.
func (m *Manifest) Encode() []byte {
	text, err := outfile.JSON(m)
	if err != nil {
		panic("BUG: a manifest does not encode: " + err.Error())
	}
	return text
}

// Has reports whether the program has a feature, or an option of one.
func (m *Manifest) Has(feature string) bool {
	return slices.Contains(m.Features, feature) || slices.Contains(m.Options, feature)
}
