// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strings"
	"testing"
)

// The error of a value of another type is at its line, not at the end of the file.
func TestReadNamesTheLineOfAValue(t *testing.T) {
	_, err := Read("x.json", []byte("{\n \"target\": 5,\n \"parameters\": []\n}\n"))
	if err == nil || !strings.Contains(err.Error(), "x.json:2") {
		t.Error(err)
	}
}
