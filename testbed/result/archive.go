// SPDX-License-Identifier: Apache-2.0

package result

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/infile"
)

// ArchiveExt is how the name of an archive of outcomes ends.
const ArchiveExt = ".tar.gz"

// sums is the first file of an archive: the SHA-256 of the others, as sha256sum
// prints them.
const sums = "SHA256SUMS"

// WriteArchive writes outcomes as a tar file that is compressed by gzip: each in
// KeptFormat, with all its metrics and digits. The bytes depend on nothing else.
func WriteArchive(w io.Writer, outcomes []*Outcome) error {
	files := make(map[string][]byte)
	var names []string
	for _, o := range outcomes {
		var b bytes.Buffer
		if err := o.WriteKept(&b); err != nil {
			return err
		}
		name := o.File() + ".json"
		if files[name] != nil {
			return fmt.Errorf("two outcomes are called %s", o.File())
		}
		files[name], names = b.Bytes(), append(names, name)
	}
	slices.Sort(names)
	var list strings.Builder
	for _, name := range names {
		fmt.Fprintf(&list, "%s  %s\n", hash(files[name]), name)
	}
	files[sums], names = []byte(list.String()), slices.Insert(names, 0, sums)
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	for _, name := range names {
		if err := t.WriteHeader(&tar.Header{Name: name, Size: int64(len(files[name])), Mode: 0o644, Format: tar.FormatPAX}); err != nil {
			return err
		}
		if _, err := t.Write(files[name]); err != nil {
			return err
		}
	}
	return errors.Join(t.Close(), z.Close())
}

func hash(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// SplitArchive splits the name of a file in an archive, as in
// results.tar.gz/rlb-fig3.json.
func SplitArchive(name string) (archive, file string, ok bool) {
	archive, file, ok = strings.Cut(filepath.ToSlash(name), ArchiveExt+"/")
	return archive + ArchiveExt, file, ok && file != ""
}

// ReadKept reads the outcome of a name, as File returns it, from a folder that
// `exp run --keep` wrote, or from an archive. The error is fs.ErrNotExist if it has no such
// outcome. A file with the outcome of another name is an error.
func ReadKept(from, name string) (*Outcome, error) {
	file := filepath.Join(from, name+".json")
	var text []byte
	var err error
	if strings.HasSuffix(from, ArchiveExt) {
		text, err = readArchived(from, name+".json")
	} else {
		text, err = infile.ReadJSON(file)
	}
	if err != nil {
		return nil, err
	}
	o, err := ReadOutcome(bytes.NewReader(text))
	if err == nil && o.File() != name {
		err = fmt.Errorf("it is the outcome of another experiment or scale: call it %s.json, and put that of %s here", o.File(), name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return o, nil
}

// damaged adds to an error of reading an archive what to do about it.
func damaged(archive string, err error) error {
	return fmt.Errorf("%s: %w: the archive is damaged; copy it again, or make it again with `pauseless exp archive`", archive, err)
}

// readArchived reads a file of an archive, and compares its checksum.
func readArchived(archive, file string) ([]byte, error) {
	f, err := os.Open(archive)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: not an archive of `pauseless exp archive`", archive, err)
	}
	var list []byte
	for t := tar.NewReader(z); ; {
		head, err := t.Next()
		if errors.Is(err, io.EOF) {
			if bytes.Contains(list, fmt.Appendf(nil, "  %s\n", file)) {
				return nil, damaged(archive, fmt.Errorf("%s is not there, though %s has it", file, sums))
			}
			return nil, fmt.Errorf("%s: %s: %w", archive, file, fs.ErrNotExist)
		}
		if err != nil {
			return nil, damaged(archive, err)
		}
		if name := path.Clean(head.Name); name != sums && name != file {
			continue
		}
		text, err := infile.From(t, archive+"/"+head.Name, infile.Data)
		if err != nil {
			return nil, damaged(archive, err)
		}
		if path.Clean(head.Name) == sums {
			list = text
			continue
		}
		if !bytes.Contains(list, fmt.Appendf(nil, "%s  %s\n", hash(text), file)) {
			return nil, damaged(archive, fmt.Errorf("%s is not as it was written: its checksum is not in %s", file, sums))
		}
		return text, nil
	}
}

// FindOutcomes reads all outcomes in a folder: of exp run --keep, or a store, which
// has them in folders of their own. Other files are skipped.
func FindOutcomes(folder string) (all []*Outcome, err error) {
	var names []string
	for _, pattern := range []string{"*.json", "*/outcome.json"} {
		some, err := filepath.Glob(filepath.Join(folder, pattern))
		if err != nil {
			return nil, err
		}
		names = append(names, some...)
	}
	found := make(map[string]string) // files by outcomes
	for _, name := range names {
		text, err := infile.ReadJSON(name)
		if err != nil {
			return nil, err
		}
		head := text[:min(len(text), 200)]
		if _, _, sealed := cutSeal(text); !sealed && filepath.Base(name) != "outcome.json" && !bytes.Contains(head, []byte(OutcomeFormat)) && !bytes.Contains(head, []byte(KeptFormat)) {
			continue
		}
		o, err := ReadOutcome(bytes.NewReader(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if filepath.Base(name) != "outcome.json" { // a store has one run in the fabric and others on real switches
			if other, ok := found[o.File()]; ok {
				return nil, fmt.Errorf("%s and %s are both an outcome of %s; remove one, or put the right one in its place", other, name, o.File())
			}
			found[o.File()] = name
		}
		all = append(all, o)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no outcomes; name a folder of exp run --keep, or its store", folder)
	}
	return all, nil
}
