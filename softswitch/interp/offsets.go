// SPDX-License-Identifier: Apache-2.0

package interp

// offsets is where machine code finds what it shares with the code that executes it,
// in bytes from the start of the struct.
type offsets struct {
	// Of a Machine.
	cur, state, tables, data, frame, found, chain, dropPort int32
	gapStay, gapFrom, gapBy                                 int32
	arrivalLength, arrivalPort, arrivalTime                 int32
	parserError, checksumError, anyRequest                  int32
	// Of a State: the generator of random numbers.
	random int32
	// Of a Table: its size, and its fields. recentSlots is that of recentKeys.
	tableSize                                      int32
	lookups, hits, missed, direct, recent, records int32
	recentSlots                                    int32
}
