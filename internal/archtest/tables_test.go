// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var barInComment = regexp.MustCompile(`<!--[^>]*\|`)

// A bar ends the cell of a table, also within a comment: the rest of the row would be in
// the wrong columns.
func TestCommentsInTablesHaveNoBars(t *testing.T) {
	rows := 0
	walk(t, func(path string) {
		if !strings.HasSuffix(path, ".md") {
			return
		}
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if !strings.HasPrefix(line, "|") {
				continue
			}
			rows++
			if barInComment.MatchString(line) {
				t.Errorf("%s:%d: a comment in a table has a bar: separate its parts by :: instead", path, i+1)
			}
		}
	})
	if rows < 1000 {
		t.Errorf("only %d rows of tables were read", rows)
	}
}
