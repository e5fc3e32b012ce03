// SPDX-License-Identifier: Apache-2.0

// Site makes a static web site of this repository's documents: a page for every
// Markdown file, the files that pages link to, and a search that needs no server.
// `make site` runs it.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/pauseless/pauseless/internal/outfile"
)

func main() {
	root := flag.String("root", ".", "the repository's `directory`")
	commands := flag.String("commands", "", "`directory` of Markdown pages of the command line; none if not given")
	out := flag.String("o", "bin/site", "`directory` to write")
	flag.Parse()
	n, err := write(*root, *commands, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
	fmt.Printf("%d pages in %s; open %s/index.html\n", n, *out, *out)
}

// write makes the site and returns how many pages it has.
func write(root, commands, out string) (int, error) {
	s, err := read(os.DirFS(root), commands)
	if err != nil {
		return 0, err
	}
	files, err := s.render()
	if err != nil {
		return 0, err
	}
	if err := bundle(root, files); err != nil {
		return 0, err
	}
	// Remove an earlier site, but no other directory.
	if entries, _ := os.ReadDir(out); len(entries) > 0 {
		if _, err := os.Stat(filepath.Join(out, indexFile)); err != nil {
			return 0, fmt.Errorf("%s has files that are not a site's; give another directory with -o", out)
		}
		if err := os.RemoveAll(out); err != nil {
			return 0, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		to := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return 0, err
		}
		if err := outfile.Write(to, files[name], 0o666); err != nil {
			return 0, err
		}
	}
	return len(s.pages), nil
}
