// SPDX-License-Identifier: Apache-2.0

// Package p4rtserver is a P4Runtime v1.5 server for a softswitch.Switch.
//
// A Server takes the switch's lock itself while it applies a batch of updates:
// no packet sees half of a batch, whatever its atomicity. It checks names,
// widths and byte strings before, without the lock. Arbitration, capabilities
// and the forwarding pipeline configuration need no lock, so that a switch in
// the middle of a long slice of virtual time still answers them.
//
// Time in digests, idle timeouts and meters is the switch's time.
package p4rtserver
