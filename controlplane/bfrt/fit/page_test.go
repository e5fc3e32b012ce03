// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each message in the table of docs/reference/tofino-apply.md is one of the code's, with
// … for what differs.
func TestThePageHasTheMessagesOfTheCode(t *testing.T) {
	var lines []string
	for _, dir := range []string{".", "..", "../../intent", "../../../cmd/pauseless", "../../../internal/manifest"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, strings.Split(string(text), "\n")...)
		}
	}
	page, err := os.ReadFile("../../../docs/reference/tofino-apply.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for row := range strings.Lines(string(page)) {
		cells := strings.Split(row, "|")
		if len(cells) != 5 || !strings.Contains(cells[1], "`") {
			continue
		}
		rows++
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[1], -1) {
			message := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(m[1]), "…", ".*"))
			if !slices.ContainsFunc(lines, message.MatchString) {
				t.Errorf("no message in the code is %q", m[1])
			}
		}
	}
	if rows < 20 {
		t.Errorf("the table has %d rows", rows)
	}
}
