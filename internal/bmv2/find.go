// SPDX-License-Identifier: Apache-2.0

package bmv2

import (
	"os"
	"path/filepath"

	"github.com/pauseless/pauseless/internal/tool"
)

// Variable is the environment variable that may give the place of BMv2's
// programs: a folder, or one of the programs.
const Variable = "BMV2"

// Find returns the path of a program of BMv2, as tool.Find does with Variable.
// If the place is another of BMv2's programs, Find looks in the same folder.
func Find(place, name string) (string, error) {
	says := place
	if place == "" {
		place = os.Getenv(Variable)
	}
	if st, err := os.Stat(place); err == nil && !st.IsDir() && filepath.Base(place) != name {
		if path, err := tool.Find(filepath.Dir(place), "", name); err == nil {
			return path, nil
		}
	}
	return tool.Find(says, Variable, name)
}
