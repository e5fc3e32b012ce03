// SPDX-License-Identifier: Apache-2.0

// Package gen writes P4_16 programs from profiles. A Profile names a base
// load balancer and what is put on top of it; each of these is a block: a few
// sections of template text (headers, registers, controls) and the places in
// the pipeline where its controls are applied. Go decides which blocks a
// program has and in which order; the templates only fill in sizes, units and
// names. A block that is left out leaves no trace.
//
// What a block looks like to hosts and controllers (headers, tables, keys,
// registers) is the same on every target and lies in templates/common; what
// depends on the architecture lies in templates/TARGET, one file per block.
package gen
