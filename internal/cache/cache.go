// SPDX-License-Identifier: Apache-2.0

// Package cache asks the processor to fetch memory into its cache. Unlike a
// load, that holds up nothing: an instruction that waits for memory keeps
// those behind it from being completed, of which a processor has some hundreds
// at a time.
package cache
