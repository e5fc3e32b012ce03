// SPDX-License-Identifier: Apache-2.0

// Package judge compares the generated P4 programs with package model: the
// papers' algorithms in plain Go.
//
// A Case is a random state of a switch and a sequence of arrivals and
// departures of packets at random times. It is run twice: on the program, in our
// switch (softswitch.Pipelines), and on a model.Switch made of the transcriptions in
// the schemes' folders. After each step, the two must agree on the packets in all
// queues (with copies and clones) and on digests, on the bytes of the packet that
// leaves, on every cell of every register and on the counters of tables. What a
// program has, and how it is drawn, follows from its manifest. search.go moves the
// numbers of a case to values at which decisions change; shrink.go reduces a case
// that shows a difference to a minimal one.
//
// The judge is the switch's traffic manager: which packet departs when, and the
// queue depth that the target reports, are drawn too.
// Random numbers of a program come from its seed, and the model draws the same
// ones in the same order, so there is exactly one right outcome.
package judge
