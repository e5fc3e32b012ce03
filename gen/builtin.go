// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pauseless/pauseless/internal/diag"
)

// Names returns the names of the built-in and added profiles, sorted.
func Names() []string { return slices.Sorted(maps.Keys(loaded().profiles)) }

// Builtin returns the profile of that name from the schemes' folders.
func Builtin(name string) (*Profile, error) {
	f, ok := loaded().profiles[name]
	if !ok {
		return nil, fmt.Errorf("no profile is called %q%s; see `pauseless gen --list`, or name a file that ends in .yaml", name, diag.DidYouMean(name, Names()))
	}
	return Parse(f.name, f.text)
}

// Source returns the text of such a profile, as a template for one's own.
func Source(name string) ([]byte, error) {
	f, ok := loaded().profiles[name]
	if !ok {
		return nil, fmt.Errorf("no profile is called %q", name)
	}
	return f.text, nil
}
