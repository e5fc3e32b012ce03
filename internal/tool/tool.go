// SPDX-License-Identifier: Apache-2.0

// Package tool finds the external programs that pauseless runs: p4c and BMv2's
// switches.
package tool

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Find returns the path of a program. It looks at the given place or, if that is
// "", at the place in an environment variable or, if that is not set, on PATH. A
// place is the program's file or its folder. Variable may be "".
func Find(place, variable, name string) (string, error) {
	says := place
	if place == "" && variable != "" {
		place = os.Getenv(variable)
		says = variable + "=" + place
	}
	if place == "" {
		path, err := exec.LookPath(name)
		switch {
		case err == nil:
			return path, nil
		case variable != "":
			return "", fmt.Errorf("%s is not on PATH, and %s is not set", name, variable)
		}
		return "", fmt.Errorf("%s is not on PATH", name)
	}
	st, err := os.Stat(place)
	if err != nil {
		return "", fmt.Errorf("%s, where %s should be: there is no such file", says, name)
	}
	if st.IsDir() {
		place = filepath.Join(place, name)
	}
	if _, err := exec.LookPath(place); err != nil {
		return "", fmt.Errorf("%s is not a program: %s should be there", says, name)
	}
	return place, nil
}
