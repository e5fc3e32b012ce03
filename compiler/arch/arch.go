// SPDX-License-Identifier: Apache-2.0

// Package arch describes what the P4 declarations of an architecture do not
// express: which block each argument of the package is, and the meaning of the
// blocks' parameters.
package arch

// Kind is the representation of a value that is passed between blocks.
type Kind uint8

// The kinds of parameters.
const (
	// Packet is a packet_in or packet_out.
	Packet Kind = iota
	// Headers is a struct of headers, stacks and unions.
	Headers
	// Fields is a struct of the program, whose fields are variables.
	Fields
	// Fixed is a struct that the architecture defines. It is stored as a header
	// that is always valid, named after the parameter's role.
	Fixed
	// Intrinsic is a header that the switch inserts before the packet and the
	// program's parser extracts. It is named after the parameter's role.
	Intrinsic
)

// Param is a parameter of a block. Parameters with the same role are one place
// in all blocks.
type Param struct {
	Role string
	Kind Kind
	// Prefix is the prefix of the names of Headers.
	Prefix string
	// Type is the name of the parameter's type, if the architecture declares one.
	// Programs may omit such a parameter.
	Type string
}

// Roles of blocks.
const (
	Parser          = "parser"
	VerifyChecksum  = "verify_checksum"
	Ingress         = "ingress"
	Egress          = "egress"
	ComputeChecksum = "compute_checksum"
	Deparser        = "deparser"

	IngressParser   = "ingress_parser"
	IngressDeparser = "ingress_deparser"
	EgressParser    = "egress_parser"
	EgressDeparser  = "egress_deparser"
)

// Block is an argument of the package.
type Block struct {
	Role   string
	Params []Param
}

// Arch is an architecture.
type Arch struct {
	// Name is the architecture's name in P4Info.
	Name string
	// Package is the name of the package type that main is an instance of.
	Package string
	// Inner is the name of the package type between main and the blocks: its
	// instance is the argument of main, and the blocks are its arguments. It is
	// empty if the blocks are the arguments of main.
	Inner  string
	Blocks []Block
	// Version names the constant with the version of the declarations. The compiler
	// supports First to Last.
	Version     string
	First, Last int64
	// Properties are the table properties that the architecture defines.
	Properties []string
	// TableSize is the default size of a table.
	TableSize int
	// Kinds maps externs to the names of the equivalent externs of v1model.
	Kinds map[string]string
}

var (
	packet   = Param{Role: "packet", Kind: Packet}
	headers  = Param{Role: "headers", Kind: Headers}
	meta     = Param{Role: "userMetadata", Kind: Fields}
	standard = Param{Role: "standard_metadata", Kind: Fixed}
)

// V1Model is the architecture of v1model.p4.
var V1Model = &Arch{
	Name:    "v1model",
	Package: "V1Switch",
	Blocks: []Block{
		{Parser, []Param{packet, headers, meta, standard}},
		{VerifyChecksum, []Param{headers, meta}},
		{Ingress, []Param{headers, meta, standard}},
		{Egress, []Param{headers, meta, standard}},
		{ComputeChecksum, []Param{headers, meta}},
		{Deparser, []Param{packet, headers}},
	},
	Version:    "__v1model_version",
	First:      20180101,
	Last:       20200408,
	Properties: []string{"implementation", "size", "counters", "meters", "support_timeout"},
	TableSize:  1024,
}

var (
	ingressHeaders = Param{Role: "ingress_headers", Kind: Headers, Prefix: "ingress."}
	ingressMeta    = Param{Role: "ingress_metadata", Kind: Fields}
	ingress        = typed("ingress_intrinsic_metadata", Intrinsic)
	ingressParsed  = typed("ingress_intrinsic_metadata_from_parser", Fixed)
	ingressDeparse = typed("ingress_intrinsic_metadata_for_deparser", Fixed)
	ingressTM      = typed("ingress_intrinsic_metadata_for_tm", Fixed)

	egressHeaders = Param{Role: "egress_headers", Kind: Headers, Prefix: "egress."}
	egressMeta    = Param{Role: "egress_metadata", Kind: Fields}
	egress        = typed("egress_intrinsic_metadata", Intrinsic)
	egressParsed  = typed("egress_intrinsic_metadata_from_parser", Fixed)
	egressDeparse = typed("egress_intrinsic_metadata_for_deparser", Fixed)
	egressOutput  = typed("egress_intrinsic_metadata_for_output_port", Fixed)
)

// typed returns a parameter whose type is named after its role.
func typed(role string, k Kind) Param { return Param{Role: role, Kind: k, Type: role + "_t"} }

// TNA is the architecture of tna.p4: a Pipeline of ingress and egress, which
// share only the packet.
var TNA = &Arch{
	Name:    "tna",
	Package: "Switch",
	Inner:   "Pipeline",
	Blocks: []Block{
		{IngressParser, []Param{packet, ingressHeaders, ingressMeta, ingress, ingressTM, ingressParsed}},
		{Ingress, []Param{ingressHeaders, ingressMeta, ingress, ingressParsed, ingressDeparse, ingressTM}},
		{IngressDeparser, []Param{packet, ingressHeaders, ingressMeta, ingressDeparse, ingress}},
		{EgressParser, []Param{packet, egressHeaders, egressMeta, egress, egressParsed, egressDeparse}},
		{Egress, []Param{egressHeaders, egressMeta, egress, egressParsed, egressDeparse, egressOutput}},
		{EgressDeparser, []Param{packet, egressHeaders, egressMeta, egressDeparse, egress, egressParsed}},
	},
	Properties: []string{"implementation", "size", "counters", "meters", "registers", "filters", "idle_timeout", "atcam", "alpm", "proxy_hash"},
	TableSize:  512,
	Kinds: map[string]string{
		"Register": "register", "RegisterParam": "register", "DirectRegister": "direct_register",
		"Counter": "counter", "DirectCounter": "direct_counter", "Meter": "meter", "DirectMeter": "direct_meter",
		"ActionProfile": "action_profile", "ActionSelector": "action_selector",
	},
}

// Kind returns the v1model name of an extern's kind.
func (a *Arch) Kind(extern string) string {
	if k, ok := a.Kinds[extern]; ok {
		return k
	}
	return extern
}

// All has the supported architectures.
var All = []*Arch{V1Model, TNA}

// ByPackage returns the architecture whose package type has the name, or nil.
func ByPackage(name string) *Arch {
	for _, a := range All {
		if a.Package == name {
			return a
		}
	}
	return nil
}
