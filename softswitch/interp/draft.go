// SPDX-License-Identifier: Apache-2.0

package interp

// draft is a program while it is compiled: its instructions refer to labels instead of
// positions, and to constants by slots from firstConst on. The optimiser rewrites drafts.
type draft struct {
	prog *Program
	code []instr
	// labels are positions in code, −1 while unknown.
	labels []int
	// constList has the values of the slots from firstConst on.
	constList []uint64
	// order are all headers and instances of metadata.
	order              []*header
	params, paramSlots int       // slots of the action parameters
	tempMax            int       // the first slot behind the temporaries
	straight           []section // code without loops, once it is optimised
}

// section is the code of a parser, a pipeline or a deparser's start.
type section struct {
	start, end int
	kind       int
	gress      int
}

const (
	sectionParse = iota
	sectionPipeline
	sectionFinish
)
