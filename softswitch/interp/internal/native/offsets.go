// SPDX-License-Identifier: Apache-2.0

package native

// Offsets is where machine code finds what it shares with the code that executes it,
// in bytes from the start of the struct.
type Offsets struct {
	// Of a Machine.
	Cur, State, Tables, Data, Frame, Found, Chain, DropPort int32
	GapStay, GapFrom, GapBy                                 int32
	ArrivalLength, ArrivalPort, ArrivalTime                 int32
	ParserError, ChecksumError, AnyRequest                  int32
	// Of a State: the generator of random numbers.
	Random int32
	// Of a Table: its size, and its fields. RecentSlots and RecentUsed are those of recentKeys.
	TableSize                                      int32
	Lookups, Hits, Missed, Direct, Recent, Records int32
	RecentSlots, RecentUsed                        int32
	// Of a Table and its LPM32: see there.
	RecordOf, LPM32, First, Wide, Words int32
}
