// SPDX-License-Identifier: Apache-2.0

// Package p4rtserver is a P4Runtime v1.5 server for a softswitch.Switch.
//
// A Server takes the switch's lock itself while it applies updates: no packet
// sees half of a batch that is atomic for the data plane. It checks names,
// widths and byte strings before, without the lock. Reads hold a lock for a piece
// of bounded size at a time (see reading), whatever a client asks for. Arbitration, capabilities
// and the forwarding pipeline configuration need no lock, so that a switch in
// the middle of a long slice of virtual time still answers them.
//
// Time in digests, idle timeouts and meters is the switch's time.
package p4rtserver
