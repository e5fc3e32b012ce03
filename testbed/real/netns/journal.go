// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/infile"
)

// journal is the list of the objects of a network, one per line, each with the CRC-32 of
// what is before it in eight hexadecimal digits: what a damaged line names may be
// another network's. The first line names the network, so that the journal of another
// one is recognised.
//
//	network NAME CRC
//	netns NAME CRC
//	link NAME CRC
//	process PID STARTTIME NAME CRC
//
// A line is on disk before the object is made; that of a process follows its
// start.
type journal struct{ file *os.File }

// newJournal starts the journal of a network. It returns an error if the network
// exists.
func newJournal(name string) (*journal, error) {
	if err := os.MkdirAll(RunDir, 0o755); err != nil {
		return nil, err
	}
	err := os.Mkdir(Dir(name), 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("network %s is up already, or was not taken down: `pauseless deploy netns --down %s` removes it", name, name)
	}
	if err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(Dir(name), "journal"))
	if err != nil {
		return nil, err
	}
	j := &journal{f}
	return j, j.add("network %s", name)
}

func (j *journal) add(format string, args ...any) error {
	if _, err := fmt.Fprintln(j.file, sealed(fmt.Sprintf(format, args...))); err != nil {
		return err
	}
	return j.file.Sync()
}

// sealed returns a line with its checksum.
func sealed(line string) string {
	return fmt.Sprintf("%s %08x", line, crc32.ChecksumIEEE([]byte(line)))
}

// unsealed returns a line without its checksum, which it compares.
func unsealed(line string) (text string, ok bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return "", false
	}
	return line[:i], sealed(line[:i]) == line
}

// object is one line of a journal.
type object struct {
	kind, name string
	pid        int
	started    string
}

// readJournal returns the objects of a network, the last first. The last line may be
// incomplete; its object was not made. Other lines that are not as add writes them are
// an error, besides the objects of all others.
func readJournal(name string) (objects []object, err error) {
	file := filepath.Join(Dir(name), "journal")
	data, err := infile.Read(file)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		text, ok := unsealed(line)
		if i == len(lines)-1 && !ok {
			if line == "" {
				continue
			}
			if text, ok = unsealed(line[:len(line)-1]); !ok { // else another byte is in the place of its end
				continue
			}
		}
		w := strings.Fields(text)
		switch {
		case ok && len(w) == 2 && w[0] == "network":
			if w[1] != name {
				return nil, fmt.Errorf("%s is the journal of network %s, and nothing was removed; move it to %s", file, w[1], Dir(w[1]))
			}
		case ok && len(w) == 2 && (w[0] == "netns" || w[0] == "link"):
			objects = append(objects, object{kind: w[0], name: w[1]})
		case ok && len(w) == 4 && w[0] == "process":
			pid, _ := strconv.Atoi(w[1])
			if pid > 1 {
				objects = append(objects, object{kind: "process", name: w[3], pid: pid, started: w[2]})
				break
			}
			fallthrough
		default:
			err = errors.Join(err, fmt.Errorf("%s:%d: %q is not a line of a journal: what it names is left", file, i+1, line))
		}
	}
	slices.Reverse(objects)
	return objects, err
}

// List returns the names of the networks that have not been taken down.
func List() ([]string, error) {
	entries, err := os.ReadDir(RunDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && validName.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
