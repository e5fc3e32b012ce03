// SPDX-License-Identifier: Apache-2.0

package bmv2json

import "fmt"

// UnalignedPrefixes returns a message for each lpm key whose width is not a multiple
// of 8 bits. simple_switch counts the length of a prefix from the first bit of the key's
// bytes, and so takes the bits that fill them for a part of the prefix
// (https://github.com/p4lang/behavioral-model/issues/1331). The program's entries and
// those of a controller then match other packets than the specification says.
func (p *Program) UnalignedPrefixes() []string {
	fields := make(map[string]map[string]int) // widths, by header type
	for _, t := range p.HeaderTypes {
		fields[t.Name] = make(map[string]int, len(t.Fields))
		for _, f := range t.Fields {
			fields[t.Name][f.Name] = f.Width
		}
	}
	types := make(map[string]string, len(p.Headers))
	for _, h := range p.Headers {
		types[h.Name] = h.Type
	}
	var list []string
	for _, pl := range p.Pipelines {
		for _, t := range pl.Tables {
			for _, k := range t.Key {
				w := fields[types[k.Target.Header]][k.Target.Field]
				if k.MatchType == "lpm" && w%8 != 0 {
					list = append(list, fmt.Sprintf("table %s: BMv2 misreads prefixes of key %s, whose %d bits do not fill bytes (p4lang/behavioral-model#1331)", t.Name, k.Name, w))
				}
			}
		}
	}
	return list
}
