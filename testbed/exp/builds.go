// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/outfile"
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

// noteBuild notes that this build keeps runs in the store.
func (s *Store) noteBuild() error {
	b := ThisBuild()
	if err := os.MkdirAll(filepath.Join(s.dir, "builds"), 0o777); err != nil {
		return err
	}
	return outfile.Write(s.buildFile(b.ID), []byte(b.Commit+"\n"), 0o666)
}

// Builds returns the builds that have kept runs in the store, the last one first.
func (s *Store) Builds() (builds []StoredBuild, err error) {
	entries, err := os.ReadDir(filepath.Join(s.dir, "builds"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		b := StoredBuild{ID: e.Name()}
		if info, err := e.Info(); err == nil {
			b.Last = info.ModTime()
		}
		if text, err := infile.ReadUpTo(s.buildFile(b.ID), 1000); err == nil {
			b.Commit = strings.TrimSpace(string(text))
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
