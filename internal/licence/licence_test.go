// SPDX-License-Identifier: Apache-2.0

// Package licence has only a test: it verifies docs/licences.md, the list of
// the program's modules and their licences.
package licence

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module is a module that is part of the program.
type module struct {
	Path, Version, Dir string
	Main               bool
}

// licences are compatible with Apache-2.0. Words that only their texts have
// identify them; the first match counts.
var licences = []struct {
	name  string
	words []string
}{
	{"Apache-2.0", []string{"Apache License", "Version 2.0"}},
	{"MPL-2.0", []string{"Mozilla Public License", "2.0"}},
	{"BSD-3-Clause", []string{"Redistribution and use in source and binary forms", "endorse or promote"}},
	{"BSD-2-Clause", []string{"Redistribution and use in source and binary forms"}},
	{"MIT", []string{"Permission is hereby granted, free of charge", "without restriction"}},
	{"ISC", []string{"Permission to use, copy, modify, and/or distribute this software"}},
}

// of returns the licence of a module, and the file that contains it.
func of(dir string) (name, file string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", "", err
	}
	for _, e := range entries {
		upper := strings.ToUpper(e.Name())
		if e.IsDir() || !strings.HasPrefix(upper, "LICENSE") && !strings.HasPrefix(upper, "LICENCE") && !strings.HasPrefix(upper, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return "", "", err
		}
		flat := strings.Join(strings.Fields(string(text)), " ")
	next:
		for _, l := range licences {
			for _, w := range l.words {
				if !strings.Contains(flat, w) {
					continue next
				}
			}
			return l.name, e.Name(), nil
		}
	}
	return "", "", fmt.Errorf("no licence that goes with Apache-2.0 was recognised in %s", dir)
}

// TestLicences compares the list with the modules linked into the program.
// UPDATE_GOLDEN=1 rewrites it: review a new module first.
func TestLicences(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "-json=Module", "./cmd/pauseless")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]module{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ Module *module }
		if err := d.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Module != nil && !p.Module.Main {
			seen[p.Module.Path] = *p.Module
		}
	}
	var list []module
	for _, m := range seen {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b module) int { return cmp.Compare(a.Path, b.Path) })
	var b strings.Builder
	b.WriteString("# Licences\n\nThe modules that `bin/pauseless` links, in addition to Go's own library (BSD-3-Clause).\n`make golden` writes this page from the modules' own files.\n" +
		"A test fails if a module is added or removed, or has a licence that is incompatible with Apache-2.0.\n\n| module | version | licence | file |\n|---|---|---|---|\n")
	for _, m := range list {
		name, file, err := of(m.Dir)
		if err != nil {
			t.Errorf("%s %s: %v", m.Path, m.Version, err)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", m.Path, m.Version, name, file)
	}
	const doc = "../../docs/licences.md"
	have, err := os.ReadFile(doc)
	if err == nil && string(have) == b.String() {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(doc, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s is not what the program is linked from: make golden", doc)
}
