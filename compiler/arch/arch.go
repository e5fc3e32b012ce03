// SPDX-License-Identifier: Apache-2.0

// Package arch is what the compiler knows about architectures beyond their
// declarations in P4: which argument of the package is which block of the
// switch, and what the blocks' parameters are.
package arch

// Kind says how a value that passes between blocks is kept.
type Kind uint8

// The kinds of parameters.
const (
	// Packet is a packet_in or packet_out.
	Packet Kind = iota
	// Headers is a struct of headers, stacks and unions.
	Headers
	// Fields is a struct of the program's own, whose fields are variables.
	Fields
	// Fixed is a struct that the switch defines; it is kept as a header that
	// is always valid, under the name of the parameter's role.
	Fixed
)

// Param is a parameter of a block. Parameters of the same role, of whatever
// block, are the same place.
type Param struct {
	Role string
	Kind Kind
}

// Roles of blocks.
const (
	Parser          = "parser"
	VerifyChecksum  = "verify_checksum"
	Ingress         = "ingress"
	Egress          = "egress"
	ComputeChecksum = "compute_checksum"
	Deparser        = "deparser"
)

// Block is an argument of the package.
type Block struct {
	Role   string
	Params []Param
}

// Arch is an architecture.
type Arch struct {
	// Package is the name of the package type that main is an instance of.
	Package string
	Blocks  []Block
	// Version names the constant with the version of the declarations; the
	// compiler knows those from First to Last.
	Version     string
	First, Last int64
	// Properties are the table properties with a meaning beyond the
	// language's.
	Properties []string
	// UserMetadata is the role of the program's own metadata, and Prefix what
	// the names of its fields begin with.
	UserMetadata string
	Prefix       string
}

var (
	packet   = Param{"packet", Packet}
	headers  = Param{"headers", Headers}
	meta     = Param{"userMetadata", Fields}
	standard = Param{"standard_metadata", Fixed}
)

// V1Model is the architecture of v1model.p4.
var V1Model = &Arch{
	Package: "V1Switch",
	Blocks: []Block{
		{Parser, []Param{packet, headers, meta, standard}},
		{VerifyChecksum, []Param{headers, meta}},
		{Ingress, []Param{headers, meta, standard}},
		{Egress, []Param{headers, meta, standard}},
		{ComputeChecksum, []Param{headers, meta}},
		{Deparser, []Param{packet, headers}},
	},
	Version:      "__v1model_version",
	First:        20180101,
	Last:         20200408,
	Properties:   []string{"implementation", "size", "counters", "meters", "support_timeout"},
	UserMetadata: "userMetadata",
	Prefix:       "userMetadata.",
}

// All are the architectures the compiler knows.
var All = []*Arch{V1Model}

// ByPackage returns the architecture whose package type has the name, or nil.
func ByPackage(name string) *Arch {
	for _, a := range All {
		if a.Package == name {
			return a
		}
	}
	return nil
}
