// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"cmp"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/testbed/result"
)

// StoredBuild is a build that has kept runs in a store.
type StoredBuild struct {
	ID     string    // as of Version
	Commit string    // the first eight digits; "" if the build does not know it
	Last   time.Time // when it last began to run an experiment
}

// String names the build: "3f2a… of commit e0e54d78".
func (b StoredBuild) String() string {
	if b.Commit == "" {
		return b.ID
	}
	return b.ID + " of commit " + b.Commit
}

// ThisBuild returns the build of this executable.
func ThisBuild() StoredBuild {
	b := StoredBuild{ID: Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				b.Commit = s.Value[:min(8, len(s.Value))]
			}
		}
	}
	return b
}

// The folder builds of a store has a file for each build, which names its commit.
func (s *Store) buildFile(id string) string { return filepath.Join(s.dir, "builds", id) }

// BuildSample is Options.Sample of this build. That of another build is another one.
func BuildSample() uint32 {
	h := fnv.New32a()
	io.WriteString(h, Version())
	return h.Sum32()
}

// noteBuild notes that this build keeps runs in the store.
func (s *Store) noteBuild() error {
	b := ThisBuild()
	if err := os.MkdirAll(filepath.Join(s.dir, "builds"), 0o777); err != nil {
		return err
	}
	text, err := json.Marshal(&builtBy{b.ID, b.Commit})
	if err != nil {
		return err
	}
	return outfile.Write(s.buildFile(b.ID), result.Seal(text), 0o666)
}

// builtBy is the content of the file of a build.
type builtBy struct {
	Build  string `json:"build"`
	Commit string `json:"commit"`
}

// shortCommit is what earlier versions wrote into the file of a build.
var shortCommit = regexp.MustCompile(`^[0-9a-f]{8}\n$`)

// commitIn returns the commit that the file of a build names, or "" if it is not as
// it was written, or is that of another build.
func commitIn(text []byte, id string) string {
	if shortCommit.Match(text) {
		return string(text[:8])
	}
	var b builtBy
	if result.CheckSeal(text) != nil || json.Unmarshal(text, &b) != nil || b.Build != id {
		return ""
	}
	return b.Commit
}

// Builds returns the builds that have kept runs in the store, the last one first.
func (s *Store) Builds() (builds []StoredBuild, err error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "builds"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") { // it is being written, or its writer was killed
			continue
		}
		b := StoredBuild{ID: e.Name()}
		if info, err := e.Info(); err == nil {
			b.Last = info.ModTime()
		}
		if text, err := infile.ReadUpTo(s.buildFile(b.ID), 1000); err == nil {
			b.Commit = commitIn(text, b.ID)
		}
		builds = append(builds, b)
	}
	slices.SortFunc(builds, func(a, b StoredBuild) int { return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.ID, b.ID)) })
	return builds, err
}

// Stored has the plan read the runs of another build, if the store has none of this
// one: of the last build that has some. It returns that build, and whether there is
// one. Such a plan cannot make runs.
func (p *Plan) Stored(st *Store) (StoredBuild, bool, error) {
	some := func() bool { return slices.ContainsFunc(p.Jobs(), func(j Job) bool { return st.Has(j.Key) }) }
	if some() {
		return StoredBuild{}, false, nil
	}
	builds, err := st.Builds()
	for _, b := range builds {
		if p.build = b.ID; some() {
			return b, true, nil
		}
	}
	p.build = ""
	return StoredBuild{}, false, err
}
