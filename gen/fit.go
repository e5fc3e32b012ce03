// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// tooDeep returns the compiler's message for combinations of blocks that are
// known not to fit a Tofino 1. Their programs run in package softswitch.
func (g *generator) tooDeep(text string) []string {
	if g.target != "tna" {
		return nil
	}
	const prefix = "p4c-barefoot 9.13.4 with bfas does not take this program: "
	for _, b := range g.blocks {
		for _, r := range b.TooLarge {
			if g.needs[r.If] && !g.needs[r.Unless] {
				return []string{prefix + r.Because}
			}
		}
	}
	// The longest egress path is that of a copy that becomes a message to a sender:
	// intrinsic metadata, the header of the copy, and all headers of the packet.
	const most, intrinsic = 160, 27
	order, _ := g.steps(egressOf)
	for _, stage := range order {
		copied, ok := strings.CutPrefix(stage, "copy:")
		if !ok {
			continue
		}
		before, _ := g.words("before_ip")
		behind, _ := g.words("egress_payload")
		depth := intrinsic
		for _, h := range append(append([]string{copied, "ethernet", "ipv4"}, before...), behind...) {
			if size := headerBytes(text, h); g.parsed(text, h) {
				depth += size
			}
		}
		if depth > most {
			return []string{prefix + fmt.Sprintf("Parser EgressParser: longest path through parser (%dB) exceeds maximum parse depth (%dB)", depth, most)}
		}
	}
	return nil
}

// parsed reports whether the egress parser reads a header.
func (g *generator) parsed(text, header string) bool {
	_, egress, _ := strings.Cut(text, "parser EgressParser")
	return strings.Contains(egress, "packet.extract(hdr."+header+");")
}

var headerField = regexp.MustCompile(`(?m)^    (?:@padding )?([\w<>]+) +\w+;`)

// headerBytes returns the size in bytes of a header type of the text.
func headerBytes(text, header string) int {
	_, body, ok := strings.Cut(text, "header "+header+"_t {\n")
	if !ok {
		return 0
	}
	body, _, _ = strings.Cut(body, "\n}")
	bits := 0
	for _, m := range headerField.FindAllStringSubmatch(body, -1) {
		typ := m[1]
		if d := regexp.MustCompile(`typedef (bit<\d+>) ` + typ + `;`).FindStringSubmatch(text); d != nil {
			typ = d[1]
		}
		n, _ := strconv.Atoi(strings.Trim(typ, "bit<>"))
		bits += n
	}
	return bits / 8
}
