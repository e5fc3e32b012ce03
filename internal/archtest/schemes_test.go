// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// schemeless are folders that must not depend on any scheme's name.
var schemeless = []string{"gen/", "internal/manifest/", "internal/model/", "controlplane/intent/", "bmv2tests/model/"}

// namesSchemes are the files in these that may name schemes, with the reason.
var namesSchemes = map[string]string{
	"bmv2tests/model/judge/schemes.go": "is generated from the schemes' folders",
}

var comment = regexp.MustCompile(`(?s)//[^\n]*|\{\{-? */\*.*?\*/ *-?\}\}`)

// A scheme is its folder: code and templates outside do not name it. Tests and
// comments may.
func TestNoSchemeIsNamedOutsideItsFolder(t *testing.T) {
	folders, err := os.ReadDir(filepath.Join(root, "gen/schemes"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range folders {
		names = append(names, f.Name())
	}
	name := regexp.MustCompile(`(?i)(?:\b|_)(` + strings.Join(names, "|") + `)(?:\b|_)`)
	walk(t, func(path string) {
		if !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".tmpl") || strings.HasSuffix(path, "_test.go") ||
			strings.HasPrefix(path, "gen/schemes/") || namesSchemes[path] != "" {
			return
		}
		for _, folder := range schemeless {
			if !strings.HasPrefix(path, folder) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(root, path))
			if err != nil {
				t.Fatal(err)
			}
			if m := name.FindStringSubmatch(comment.ReplaceAllString(string(text), "")); m != nil {
				t.Errorf("%s names %s; a scheme is named in gen/schemes/%s only: ask whether somebody needs or provides what you want to know", path, m[1], strings.ToLower(m[1]))
			}
		}
	})
}
