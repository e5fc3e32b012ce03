// SPDX-License-Identifier: Apache-2.0

// Package cache prefetches memory into the processor's cache. Unlike a load, a
// prefetch stalls nothing: a load that waits for memory keeps later instructions
// from retiring, of which a processor has a few hundred in flight.
package cache
