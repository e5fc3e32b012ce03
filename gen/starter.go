// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

//go:embed starter
var starter embed.FS

// Starter returns the files of a new scheme's folder, a working example with
// comments. Their names begin with the name of the scheme.
func Starter(name string) ([]File, error) {
	if !identifier.MatchString(name) {
		return nil, fmt.Errorf("a scheme cannot be called %q: use lower-case letters, digits and _, a letter first", name)
	}
	if b := loaded().blocks[name]; b != nil {
		return nil, fmt.Errorf("a block is called %s already, in %s", name, b.dir)
	}
	control := ""
	for _, word := range strings.Split(name, "_") {
		if word != "" {
			control += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	words := strings.NewReplacer("NAME", name, "PROFILE", strings.ReplaceAll(name, "_", "-"),
		"choose Control", "choose "+control, "control Control", "control "+control)
	var files []File
	err := fs.WalkDir(starter, "starter", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(starter, file)
		if err != nil {
			return err
		}
		to := strings.ReplaceAll(strings.TrimPrefix(file, "starter/"), "NAME", strings.ReplaceAll(name, "_", "-"))
		files = append(files, File{path.Join(name, to), []byte(words.Replace(string(text)))})
		return nil
	})
	return files, err
}
