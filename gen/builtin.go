// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
)

//go:embed profiles/*.yaml
var profiles embed.FS

// Names returns the names of the built-in profiles in order.
func Names() []string {
	files, err := fs.Glob(profiles, "profiles/*.yaml")
	if err != nil {
		panic("BUG: " + err.Error())
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(path.Base(f), ".yaml")
	}
	return names
}

// Builtin returns a built-in profile by name.
func Builtin(name string) (*Profile, error) {
	file := "profiles/" + name + ".yaml"
	data, err := profiles.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("no profile is called %q%s; see `pauseless gen --list`, or name a file that ends in .yaml", name, diag.DidYouMean(name, Names()))
	}
	return Parse(file, data)
}

// Source returns the text of a built-in profile: what to start from when
// writing one's own.
func Source(name string) ([]byte, error) {
	return profiles.ReadFile("profiles/" + name + ".yaml")
}
