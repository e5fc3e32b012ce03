// SPDX-License-Identifier: Apache-2.0

// Package gen writes P4_16 programs from profiles. A program is made of
// blocks. A block is a folder: block.yaml says what it needs of other blocks,
// which hooks it has for them, and in which stages of the pipeline its controls
// are applied; templates have its text, by target. The folders below schemes
// are schemes: each has its own profiles, too. Those below blocks are what
// several schemes go by.
//
// A profile picks blocks by key and value, as in base: drill or rlb: rlb. The
// program is the closure of what these need. No block asks which others there
// are: it asks whether anybody needs something ("hash", or of a block's
// options "base.leaf"), and its text has hooks to which others add theirs.
//
//	file             in a block's folder
//	block.yaml       needs, options, hooks and stages; type block has the keys
//	common.p4.tmpl   sections that are the same on every target: headers, mostly
//	v1model.p4.tmpl  sections for BMv2 and our own switch
//	tna.p4.tmpl      sections for Tofino
//	profiles/*.yaml  built-in profiles of a scheme
//
// A section is a template that a hook names: {{define "ingress"}} goes where
// the program has the controls of ingress. What it can call is in template.go.
//
// Every base load balancer fills the same contract. In stage choose it sets
// meta.path, from 0 to meta.last_path; on TNA also meta.step, the same as a
// distance between ports. Hook next_choice gives a scheme on top the next best
// path: on v1model statements that choose among the free ones, on TNA the name
// of a field, behind which the first free path in turn is taken. Without that
// hook it is the first free path behind the packet's. Hook rerouted is
// applied to a packet that was moved (v1model; on TNA flows return to their path).
package gen
