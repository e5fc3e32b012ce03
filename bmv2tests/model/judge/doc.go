// SPDX-License-Identifier: Apache-2.0

// Package judge compares the generated P4 programs with the transcriptions of
// package model.
//
// A Case is a random state of a switch and a sequence of arrivals and
// departures of packets at random times. It is played twice: to the program,
// which package interp runs as the test switch does, and to a Switch made of
// the transcriptions. After each step the two must agree on the decision
// (queue, drop, copies, clones, digests), on the bytes of the packet that
// leaves, and on every cell of every register. mapping.go has the table that
// says which register is which symbol of the papers; generate.go says how
// states, configurations and packets are drawn; shrink.go reduces a case that
// shows a difference to a minimal one.
//
// Between ingress and egress stands no traffic manager but the judge: which
// packet departs when, and what the target says about its queue, is drawn too.
// Random numbers of a program come from its seed, and the model draws the same
// ones in the same order, so there is exactly one right outcome.
package judge
