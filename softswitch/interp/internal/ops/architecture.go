// SPDX-License-Identifier: Apache-2.0

package ops

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pauseless/pauseless/internal/bmv2json"
)

// ValidField is the hidden field with the validity of a header.
const ValidField = "$valid$"

// Architecture describes an architecture to the compiler.
type Architecture struct {
	Name string // as in the file
	// Parsers, Pipelines and Deparsers are their names in the file, by gress. ""
	// matches any name, "-" none.
	Parsers, Pipelines, Deparsers [Gresses]string
	// Fields are the metadata fields that the architecture accesses, by BMv2's
	// names including aliases, and where. Fields without a use are written only if
	// the program uses them.
	Fields map[string]Use
	// ZeroBeyond is true if reading beyond the end of a register array gives zero.
	// Otherwise the destination does not change.
	ZeroBeyond bool
	// EgressSpec and MulticastGroup are the fields that mark_to_drop and drop
	// set.
	EgressSpec, MulticastGroup string
	// Reads are the fields that the architecture reads after the pipelines. Sets
	// are those that it always writes before egress.
	Reads [Gresses][]string
	Sets  []string
}

// Expect returns the required number of a program's objects of a kind.
func (a *Architecture) Expect(kind string) string {
	names := map[string][Gresses]string{"parser": a.Parsers, "pipeline": a.Pipelines, "deparser": a.Deparsers}[kind]
	switch {
	case a.Name == "" && kind != "pipeline":
		return "a v1model program has one " + kind
	case a.Name == "":
		return "a v1model program has ingress and egress, once each"
	case kind == "pipeline":
		return fmt.Sprintf("a %s program has %s, %s, %s and %s, once each", a.Name, names[In], names[Out], a.Deparsers[In], a.Deparsers[Out])
	}
	return fmt.Sprintf("a %s program has %s and %s, once each", a.Name, names[In], names[Out])
}

// V1Model is simple_switch's architecture with standard_metadata.
var V1Model = Architecture{
	Parsers: [Gresses]string{"", "-"}, Pipelines: [Gresses]string{"ingress", "egress"}, Deparsers: [Gresses]string{"-", ""},
	Fields: map[string]Use{
		"standard_metadata.ingress_port":              UseIngress | UseEgress | UseWrite,
		"standard_metadata.egress_spec":               UseIngress | UseEgress | UseWrite,
		"standard_metadata.egress_port":               UseEgress | UseWrite,
		"standard_metadata.instance_type":             UseIngress | UseEgress | UseWrite,
		"standard_metadata.packet_length":             UseIngress | UseEgress | UseWrite,
		"standard_metadata.parser_error":              UseIngress | UseWrite,
		"standard_metadata.checksum_error":            UseIngress | UseWrite,
		"intrinsic_metadata.ingress_global_timestamp": UseIngress | UseWrite,
		"intrinsic_metadata.egress_global_timestamp":  UseEgress | UseWrite,
		"intrinsic_metadata.mcast_grp":                UseIngress | UseWrite,
		"intrinsic_metadata.egress_rid":               UseEgress | UseWrite,
		"intrinsic_metadata.priority":                 UseIngress,
		"queueing_metadata.enq_timestamp":             UseEgress | UseWrite,
		"queueing_metadata.enq_qdepth":                UseEgress | UseWrite,
		"queueing_metadata.deq_timedelta":             UseEgress | UseWrite,
		"queueing_metadata.deq_qdepth":                UseEgress | UseWrite,
		"queueing_metadata.qid":                       UseEgress | UseWrite,
	},
	EgressSpec:     "standard_metadata.egress_spec",
	MulticastGroup: "intrinsic_metadata.mcast_grp",
	Reads: [Gresses][]string{
		{"standard_metadata.egress_spec", "intrinsic_metadata.mcast_grp", "intrinsic_metadata.priority"},
		{"standard_metadata.egress_spec"},
	},
	Sets: []string{"standard_metadata.egress_port", "standard_metadata.egress_spec", "standard_metadata.packet_length",
		"intrinsic_metadata.egress_global_timestamp", "queueing_metadata.enq_timestamp", "queueing_metadata.enq_qdepth",
		"queueing_metadata.deq_timedelta", "queueing_metadata.deq_qdepth", "queueing_metadata.qid"},
}

// GressOf returns the use of fields by the parser, pipeline or deparser with a
// name.
func (a *Architecture) GressOf(names [Gresses]string, name string) Use {
	if names[Out] == name || names[Out] == "" {
		return UseEgress
	}
	return UseIngress
}

// TNA is the Tofino Native Architecture: each gress has a parser, a pipeline
// and a deparser, and only the packet's bytes pass from ingress to egress.
var TNA = Architecture{
	Name:      bmv2json.TNA,
	Parsers:   [Gresses]string{"ingress_parser", "egress_parser"},
	Pipelines: [Gresses]string{"ingress", "egress"},
	Deparsers: [Gresses]string{"ingress_deparser", "egress_deparser"},
	Fields: map[string]Use{
		"ingress_intrinsic_metadata_from_parser.global_tstamp":   0,
		"ingress_intrinsic_metadata_from_parser.parser_err":      0,
		"ingress_intrinsic_metadata_for_deparser.drop_ctl":       UseIngress | UseWrite,
		"ingress_intrinsic_metadata_for_tm.ucast_egress_port":    UseIngress | UseWrite,
		"ingress_intrinsic_metadata_for_tm.bypass_egress":        UseIngress,
		"ingress_intrinsic_metadata_for_tm.ingress_cos":          UseIngress,
		"ingress_intrinsic_metadata_for_tm.qid":                  UseIngress,
		"ingress_intrinsic_metadata_for_tm.icos_for_copy_to_cpu": UseIngress,
		"ingress_intrinsic_metadata_for_tm.copy_to_cpu":          UseIngress,
		"ingress_intrinsic_metadata_for_tm.mcast_grp_a":          UseIngress,
		"ingress_intrinsic_metadata_for_tm.mcast_grp_b":          UseIngress,
		"ingress_intrinsic_metadata_for_tm.rid":                  UseIngress,
		"egress_intrinsic_metadata_from_parser.global_tstamp":    0,
		"egress_intrinsic_metadata_from_parser.parser_err":       0,
		"egress_intrinsic_metadata_for_deparser.drop_ctl":        UseEgress | UseWrite,
	},
	ZeroBeyond: true,
}

func init() {
	all := slices.Sorted(maps.Keys(TNA.Fields))
	TNA.Reads = [Gresses][]string{all, all}
}

// Parser errors of Tofino, tofino1_base.p4.
const (
	TofinoNoMatch    = 0x0001
	TofinoPartialHdr = 0x0002
	TofinoCtrRange   = 0x0004
	TofinoTimeout    = 0x0010
)
