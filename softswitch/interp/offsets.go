// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"unsafe"

	"github.com/pauseless/pauseless/softswitch/interp/internal/native"
	"github.com/pauseless/pauseless/softswitch/table"
)

// fromCode is where machine code finds the fields of a Machine.
var fromCode = native.Offsets{
	Cur: int32(unsafe.Offsetof(Machine{}.cur)), State: int32(unsafe.Offsetof(Machine{}.state)), Tables: int32(unsafe.Offsetof(Machine{}.tables)),
	Data: int32(unsafe.Offsetof(Machine{}.data)), Frame: int32(unsafe.Offsetof(Machine{}.frame)), Found: int32(unsafe.Offsetof(Machine{}.found)),
	Chain: int32(unsafe.Offsetof(Machine{}.chain)), DropPort: int32(unsafe.Offsetof(Machine{}.DropPort)),

	GapStay: int32(unsafe.Offsetof(Machine{}.gap) + unsafe.Offsetof(gap{}.stay)),
	GapFrom: int32(unsafe.Offsetof(Machine{}.gap) + unsafe.Offsetof(gap{}.from)),
	GapBy:   int32(unsafe.Offsetof(Machine{}.gap) + unsafe.Offsetof(gap{}.by)),

	ArrivalLength: int32(unsafe.Offsetof(Machine{}.arrival) + unsafe.Offsetof(arrival{}.length)),
	ArrivalPort:   int32(unsafe.Offsetof(Machine{}.arrival) + unsafe.Offsetof(arrival{}.port)),
	ArrivalTime:   int32(unsafe.Offsetof(Machine{}.arrival) + unsafe.Offsetof(arrival{}.time)),

	ParserError:   int32(unsafe.Offsetof(Machine{}.Ask) + unsafe.Offsetof(Requests{}.ParserError)),
	ChecksumError: int32(unsafe.Offsetof(Machine{}.Ask) + unsafe.Offsetof(Requests{}.ChecksumError)),
	AnyRequest:    int32(unsafe.Offsetof(Machine{}.Ask) + unsafe.Offsetof(Requests{}.Any)),

	Random: int32(unsafe.Offsetof(State{}.rng)),

	TableSize: int32(unsafe.Sizeof(Table{})), Lookups: int32(unsafe.Offsetof(Table{}.Lookups)), Hits: int32(unsafe.Offsetof(Table{}.Hits)),
	Missed: int32(unsafe.Offsetof(Table{}.missed)), Direct: int32(unsafe.Offsetof(Table{}.direct)), Recent: int32(unsafe.Offsetof(Table{}.recent)),
	RecordOf: int32(unsafe.Offsetof(Table{}.recordOf)), LPM32: int32(unsafe.Offsetof(Table{}.lpm32)),
	First: table.LPM32Offsets.First, Wide: table.LPM32Offsets.Wide, Words: table.LPM32Offsets.Words,
	Records: int32(unsafe.Offsetof(Table{}.records) + unsafe.Offsetof(records{}.data)), RecentSlots: int32(unsafe.Offsetof(recentKeys{}.slots)), RecentUsed: int32(unsafe.Offsetof(recentKeys{}.used)),
}
