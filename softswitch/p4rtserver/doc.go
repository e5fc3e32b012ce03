// SPDX-License-Identifier: Apache-2.0

// Package p4rtserver is a P4Runtime v1.5 server for a softswitch.Switch.
//
// A Server takes the switch's lock itself, for as long as a batch of updates
// takes to apply: no packet sees half a batch, whatever its atomicity. What
// can be checked without the switch (names, widths, byte strings) is checked
// before. Arbitration, capabilities and the forwarding pipeline configuration
// are answered without that lock, so that a switch which is in the middle of
// a long run of virtual time does not look dead.
//
// Time in digests, idle timeouts and meters is the switch's time.
package p4rtserver
