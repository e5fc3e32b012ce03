// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pauseless/pauseless/internal/diag"
)

// Names returns the names of the profiles in the schemes' folders, in order.
func Names() []string { return slices.Sorted(maps.Keys(loaded().profiles)) }

// Builtin returns a profile of a scheme's folder by name.
func Builtin(name string) (*Profile, error) {
	f, ok := loaded().profiles[name]
	if !ok {
		return nil, fmt.Errorf("no profile is called %q%s; see `pauseless gen --list`, or name a file that ends in .yaml", name, diag.DidYouMean(name, Names()))
	}
	return Parse(f.name, f.text)
}

// Source returns the text of such a profile: what to start from when writing
// one's own.
func Source(name string) ([]byte, error) {
	f, ok := loaded().profiles[name]
	if !ok {
		return nil, fmt.Errorf("no profile is called %q", name)
	}
	return f.text, nil
}

// Keys are the keys of profiles by which blocks are picked, each with its
// values: "base", "rlb", "ecn" and so on.
func Keys() map[string][]string {
	keys := make(map[string][]string)
	for key, c := range loaded().choices() {
		values := slices.Sorted(maps.Keys(c.values))
		if !slices.Contains(values, c.otherwise) {
			values = append(values, c.otherwise)
		}
		keys[key] = values
	}
	return keys
}
