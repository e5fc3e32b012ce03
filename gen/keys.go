// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"maps"
	"slices"
	"strings"
)

// This file describes profiles for the generator of their reference pages and schema
// (testbed/reference) and for bmv2tests/model/judge, which walk all keys.

// Defaults returns a profile with a default for each key except its name.
func Defaults() *Profile { return newProfile() }

// Choice is a key of profiles that picks blocks, such as base or rlb.
type Choice struct {
	Name    string
	Default string
	// Values are the values of the key with their meaning, sorted.
	Values []ChoiceValue
}

// ChoiceValue is a value of a key.
type ChoiceValue struct{ Value, Summary string }

// Choices returns the keys by which profiles pick blocks, in order of name.
func Choices() []Choice {
	var keys []Choice
	all := loaded().choices()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		c := all[name]
		k := Choice{Name: name, Default: c.otherwise}
		if c.values[c.otherwise] == nil {
			k.Values = append(k.Values, ChoiceValue{c.otherwise, "none of the following"})
		}
		for _, v := range slices.Sorted(maps.Keys(c.values)) {
			k.Values = append(k.Values, ChoiceValue{v, c.values[v].Summary})
		}
		keys = append(keys, k)
	}
	return keys
}

// ParameterKey is a parameter that a profile can set, as in set: {rlb.warn:
// 160KB}.
type ParameterKey struct {
	Name    string // block.name
	Unit    string // bytes, ns, bps, fraction or count
	Default string // formula of the default, in that unit
	TNA     string // the same on Tofino, where it differs
	Doc     string
	// Least and Most bound the value, in Unit; a Most of zero means no bound.
	Least, Most float64
}

// ParameterKeys returns the parameters of all blocks, in order of name.
func ParameterKeys() []ParameterKey {
	var keys []ParameterKey
	c := loaded()
	for _, name := range c.parameterNames() {
		p, _ := c.define(name)
		blk, short, _ := strings.Cut(name, ".")
		keys = append(keys, ParameterKey{name, p.Unit, string(p.Default), string(c.blocks[blk].TNA.Defaults[short].Default), p.Doc, p.Least, p.Most})
	}
	return keys
}
