// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"unsafe"

	"github.com/pauseless/pauseless/internal/bmv2json"
)

// Compile translates a file to a Program for the architecture named in the
// file. The error is a diag.List with all errors.
func Compile(p *bmv2json.Program, opts Options) (*Program, error) {
	prog, err := compile(p, opts)
	if err == nil && !opts.Plain && !opts.Trace && !opts.Interpret {
		prog.native = translate(prog, &fromCode, opts.Names)
	}
	return prog, err
}

// PrintNative returns the program's machine code in Intel's syntax, under the
// instructions of Program.Print from which it was made, and at the end the code that belongs to
// no single one. Numbers in brackets are offsets in the code; addresses of Go's memory,
// which differ from run to run, are written as "memory". The program must have been
// compiled with Options.Names. ok is false where the system does not let a process
// make code executable.
func PrintNative(p *Program) (text string, ok bool) { return printNative(p) }

// fromCode is where machine code finds the fields of a Machine.
var fromCode = offsets{
	cur: int32(unsafe.Offsetof(Machine{}.cur)), state: int32(unsafe.Offsetof(Machine{}.state)), tables: int32(unsafe.Offsetof(Machine{}.tables)),
	data: int32(unsafe.Offsetof(Machine{}.data)), frame: int32(unsafe.Offsetof(Machine{}.frame)), found: int32(unsafe.Offsetof(Machine{}.found)),
	chain: int32(unsafe.Offsetof(Machine{}.chain)), dropPort: int32(unsafe.Offsetof(Machine{}.DropPort)),

	gapStay: int32(unsafe.Offsetof(Machine{}.gap) + unsafe.Offsetof(gap{}.stay)),
	gapFrom: int32(unsafe.Offsetof(Machine{}.gap) + unsafe.Offsetof(gap{}.from)),
	gapBy:   int32(unsafe.Offsetof(Machine{}.gap) + unsafe.Offsetof(gap{}.by)),

	arrivalLength: int32(unsafe.Offsetof(Machine{}.arrival) + unsafe.Offsetof(arrival{}.length)),
	arrivalPort:   int32(unsafe.Offsetof(Machine{}.arrival) + unsafe.Offsetof(arrival{}.port)),
	arrivalTime:   int32(unsafe.Offsetof(Machine{}.arrival) + unsafe.Offsetof(arrival{}.time)),

	parserError:   int32(unsafe.Offsetof(Machine{}.Ask) + unsafe.Offsetof(Requests{}.ParserError)),
	checksumError: int32(unsafe.Offsetof(Machine{}.Ask) + unsafe.Offsetof(Requests{}.ChecksumError)),
	anyRequest:    int32(unsafe.Offsetof(Machine{}.Ask) + unsafe.Offsetof(Requests{}.Any)),

	random: int32(unsafe.Offsetof(State{}.rng)),

	tableSize: int32(unsafe.Sizeof(Table{})), lookups: int32(unsafe.Offsetof(Table{}.Lookups)), hits: int32(unsafe.Offsetof(Table{}.Hits)),
	missed: int32(unsafe.Offsetof(Table{}.missed)), direct: int32(unsafe.Offsetof(Table{}.direct)), recent: int32(unsafe.Offsetof(Table{}.recent)),
	records: int32(unsafe.Offsetof(Table{}.records) + unsafe.Offsetof(records{}.data)), recentSlots: int32(unsafe.Offsetof(recentKeys{}.slots)),
}
