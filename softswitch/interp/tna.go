// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"maps"
	"slices"

	"github.com/pauseless/pauseless/internal/bmv2json"
)

// tna is the Tofino Native Architecture: each gress has a parser, a pipeline
// and a deparser, and only the packet's bytes pass from ingress to egress.
var tna = architecture{
	name:      bmv2json.TNA,
	parsers:   [gresses]string{"ingress_parser", "egress_parser"},
	pipelines: [gresses]string{"ingress", "egress"},
	deparsers: [gresses]string{"ingress_deparser", "egress_deparser"},
	fields: map[string]use{
		"ingress_intrinsic_metadata_from_parser.global_tstamp":   0,
		"ingress_intrinsic_metadata_from_parser.parser_err":      0,
		"ingress_intrinsic_metadata_for_deparser.drop_ctl":       useIngress | useWrite,
		"ingress_intrinsic_metadata_for_tm.ucast_egress_port":    useIngress | useWrite,
		"ingress_intrinsic_metadata_for_tm.bypass_egress":        useIngress,
		"ingress_intrinsic_metadata_for_tm.ingress_cos":          useIngress,
		"ingress_intrinsic_metadata_for_tm.qid":                  useIngress,
		"ingress_intrinsic_metadata_for_tm.icos_for_copy_to_cpu": useIngress,
		"ingress_intrinsic_metadata_for_tm.copy_to_cpu":          useIngress,
		"ingress_intrinsic_metadata_for_tm.mcast_grp_a":          useIngress,
		"ingress_intrinsic_metadata_for_tm.mcast_grp_b":          useIngress,
		"ingress_intrinsic_metadata_for_tm.rid":                  useIngress,
		"egress_intrinsic_metadata_from_parser.global_tstamp":    0,
		"egress_intrinsic_metadata_from_parser.parser_err":       0,
		"egress_intrinsic_metadata_for_deparser.drop_ctl":        useEgress | useWrite,
	},
	zeroBeyond: true,
}

func init() {
	all := slices.Sorted(maps.Keys(tna.fields))
	tna.reads = [gresses][]string{all, all}
}

// DeparseIn executes the statements of ingress's deparser other than emit.
func (m *Machine) DeparseIn() { m.run(&m.phases.finish[in]) }

// DeparseOut is DeparseIn for egress.
func (m *Machine) DeparseOut() { m.run(&m.phases.finish[out]) }

// EmitIn writes the headers that ingress's deparser emits into the frame.
func (m *Machine) EmitIn() { m.deparse(in) }

// EmitOut is EmitIn for egress.
func (m *Machine) EmitOut() { m.deparse(out) }

// AppendList appends the concatenated fields of a field list, padded with zeros
// to a whole byte.
func (m *Machine) AppendList(id int, b []byte) []byte {
	l := m.prog.fieldLists[id]
	if l == nil {
		return b
	}
	at := 8 * len(b)
	for range (l.bits + 7) / 8 {
		b = append(b, 0)
	}
	for _, f := range l.fields {
		for limb := f.limbs - 1; limb >= 0; limb-- {
			n := min(64, f.width-64*limb)
			putBits(b, at, n, m.f[f.slot+limb])
			at += n
		}
	}
	return b
}

// Parser errors of Tofino, tofino1_base.p4.
const (
	tofinoNoMatch    = 0x0001
	tofinoPartialHdr = 0x0002
	tofinoCtrRange   = 0x0004
	tofinoTimeout    = 0x0010
)

// TofinoError returns Tofino's number for the parser's result, 0 without an
// error.
func (m *Machine) TofinoError() uint64 {
	switch p := m.prog; m.Ask.ParserError {
	case p.errNone:
		return 0
	case p.errShort, p.errHeader:
		return tofinoPartialHdr
	case p.errStack, p.errArgument, p.errCounter:
		return tofinoCtrRange
	case p.errTimeout:
		return tofinoTimeout
	}
	return tofinoNoMatch
}
