// SPDX-License-Identifier: Apache-2.0

package ops

// Draft is a program while it is compiled: its instructions refer to labels instead of
// positions, and to constants by slots from FirstConst on. The optimiser rewrites drafts.
type Draft struct {
	Prog *Program
	Code []Instr
	// Labels are positions in code, −1 while unknown.
	Labels []int
	// ConstList has the values of the slots from FirstConst on.
	ConstList []uint64
	// Order are all headers and instances of metadata.
	Order              []*Header
	Params, ParamSlots int       // slots of the action parameters
	TempMax            int       // the first slot behind the temporaries
	Straight           []Section // code without loops, once it is optimised
}

// Section is the code of a parser, a pipeline or a deparser's start.
type Section struct {
	Start, End int
	Kind       int
	Gress      int
}

const (
	SectionParse = iota
	SectionPipeline
	SectionFinish
)

// Label is a position in the code that may not be known yet.
type Label int

// FirstConst is the slot number of the first constant during compilation. The
// final slots are known only when all temporaries are.
const FirstConst = MaxSlots - 1<<14
