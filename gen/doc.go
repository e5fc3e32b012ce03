// SPDX-License-Identifier: Apache-2.0

// Package gen generates P4_16 programs from profiles. A program consists of
// blocks. A block is a folder. Its block.yaml lists the blocks that it needs,
// the hooks that it offers to them, and the stages of the pipeline in which its
// controls are applied. Its templates hold the P4 text, one file for each
// target. Each folder below schemes is a scheme and has profiles of its own.
// The folders below blocks are used by several schemes.
//
// A profile picks blocks by key and value, as in base: drill or rlb: rlb. The
// program is the closure of their needs. A block does not test for other blocks
// by name. It tests whether any block needs a block such as "hash" or an option
// such as "base.leaf", and other blocks add text at its hooks.
//
//	file             in a block's folder
//	block.yaml       needs, options, hooks and stages; type block has the keys
//	common.p4.tmpl   sections that are the same on every target: headers, mostly
//	v1model.p4.tmpl  sections for BMv2 and our own switch
//	tna.p4.tmpl      sections for Tofino
//	profiles/*.yaml  built-in profiles of a scheme
//
// A section is a template that a hook names: {{define "ingress"}} is inserted
// where the program applies the controls of ingress. template.go defines the
// functions that templates can call.
//
// Each base load balancer implements the same interface. In stage choose it
// sets meta.path, from 0 to meta.last_path. On TNA it also sets meta.step, the
// path as a distance between ports. Hook next_choice gives a rerouting scheme
// the next best path: on v1model statements that choose among the unpaused
// paths, on TNA the name of a field, after which the first unpaused path in
// cyclic order is taken. Without that hook it is the first unpaused path after
// the path of the packet. Hook rerouted is applied to a rerouted packet (only
// on v1model; on TNA flows return to their path).
package gen
