// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Job runs the work of ranks from files of other tools: messages and times of
// computing that wait for one another.
type Job struct {
	// File is the file. A name with %d stands for a file for each rank, from 0, as in
	// all_reduce.%d.et.
	File   string `yaml:"file"`
	Format Format `yaml:"format"` // of the file; that of its name if left out: .cm, .goal, .et, .txt
	On     Hosts  `yaml:"on"`     // hosts of the ranks; all hosts if left out
	// Ranks is the number of ranks, for formats that do not say it: zero means that of
	// the places of On, or of the files.
	Ranks      int        `yaml:"ranks" limits:"0..16384"`
	PerHost    int        `yaml:"per_host" limits:"0..64"` // ranks of a host; zero means one for each of its links
	LocalRate  vtime.Rate `yaml:"local_rate"`              // of copies within a host; zero means 3600Gbps
	LocalDelay vtime.Time `yaml:"local_delay"`             // added to each copy within a host
	Place      Place      `yaml:"place"`                   // which hosts the ranks get; packed if left out
	Start      vtime.Time `yaml:"start"`                   // of the job
	Algorithm  Algorithm  `yaml:"algorithm"`               // of collectives in the file; ring if left out
	Channels   int        `yaml:"channels" limits:"0..64"` // of collectives in the file; zero means one
	Chunk      vtime.Size `yaml:"chunk"`                   // greatest size of a message of collectives in the file
	Scale      float64    `yaml:"scale" limits:"0..1000"`  // times of computing are multiplied by it; zero means 1
	// Flops and MemoryRate give computing without a duration a time: the longer of its
	// operations over flops, in 1/s, and of its bytes over this rate.
	Flops      float64    `yaml:"flops" limits:"0.."`
	MemoryRate vtime.Rate `yaml:"memory_rate"`
	Passes     int        `yaml:"passes" limits:"0..1000"` // of SimAI's forward and backward pass; zero means one

	open Open
	read work
}

// Format is a format of a job's file.
type Format string

// Formats. CM is htsim's connection matrix, with triggers. Goal is GOAL text
// (LogGOPSim, ATLAHS). Chakra is execution traces of MLCommons, as protobuf. SimAI is
// workload text of SimAI, aicb and ASTRA-sim 1.
const (
	CM     Format = "cm"
	Goal   Format = "goal"
	Chakra Format = "chakra"
	SimAI  Format = "simai"
)

// Formats has all formats.
var Formats = []Format{CM, Goal, Chakra, SimAI}

// work is what a file asks for. It makes the steps of its ranks.
type work interface {
	ranks() int // zero: any number
	build(b *builder)
}

func (j *Job) ends() bool { return true }

// format returns the format of the file.
func (j *Job) format() Format {
	if j.Format != "" {
		return j.Format
	}
	for suffix, f := range map[string]Format{".cm": CM, ".goal": Goal, ".et": Chakra, ".txt": SimAI} {
		if strings.HasSuffix(j.File, suffix) {
			return f
		}
	}
	return ""
}

func (j *Job) check(t *topo.Topology, _ bool) (string, error) {
	if err := oneOf("format", j.Format, Formats); err != nil {
		return "format", err
	}
	if err := oneOf("algorithm", j.Algorithm, Algorithms); err != nil {
		return "algorithm", err
	}
	if err := oneOf("place", j.Place, Places); err != nil {
		return "place", err
	}
	switch {
	case j.File == "":
		return "file", fmt.Errorf("file is missing")
	case j.format() == "":
		return "format", fmt.Errorf("%s has no known ending; give format: cm, goal, chakra or simai", j.File)
	case j.Ranks < 0 || j.PerHost < 0 || j.Channels < 0 || j.Chunk < 0 || j.Scale < 0 || j.Flops < 0 || j.Passes < 0:
		return "", fmt.Errorf("a number is negative")
	case j.Start < 0 || j.LocalDelay < 0 || j.LocalRate < 0 || j.MemoryRate < 0:
		return "", fmt.Errorf("a time or rate is negative")
	}
	slots, key, err := j.places().slots(t)
	if err != nil {
		return key, err
	}
	if j.read, err = j.readAll(len(slots)); err != nil {
		return "file", err
	}
	if own := j.read.ranks(); own > 0 && j.Ranks > 0 && j.Ranks != own {
		return "ranks", fmt.Errorf("ranks is %d, and %s has %d: leave it out", j.Ranks, j.File, own)
	}
	n := j.count(len(slots))
	if n < 1 || n > len(slots) {
		return "ranks", fmt.Errorf("%s has %d ranks; the hosts of on have %d places", j.File, n, len(slots))
	}
	// A trial finds what depends on the places.
	g := &gen{t: t, base: fabric.Flow{Class: 3, Group: 1}}
	if err := j.make(g, slots); err != nil {
		return "file", err
	}
	if len(g.out) == 0 {
		return "file", fmt.Errorf("%s has no message between two hosts", j.File)
	}
	if len(g.out) > maxFlows/4 {
		return "file", fmt.Errorf("%s makes %d messages, more than %d", j.File, len(g.out), maxFlows/4)
	}
	if err := fabric.CheckPlans(t, g.out); err != nil {
		return "file", fmt.Errorf("%s: %w", j.File, err)
	}
	return "", nil
}

// count returns the number of ranks, if there are so many places.
func (j *Job) count(places int) int {
	n := j.read.ranks()
	if n == 0 {
		n = j.Ranks
	}
	if n == 0 {
		n = places
	}
	return n
}

// places returns the collective with the job's places.
func (j *Job) places() *Collective {
	c := &Collective{On: j.On, PerHost: j.PerHost, LocalRate: j.LocalRate, LocalDelay: j.LocalDelay, Place: j.Place, Start: j.Start, Algorithm: j.Algorithm, Channels: j.Channels, Chunk: j.Chunk}
	return c
}

// readAll reads the files.
func (j *Job) readAll(places int) (work, error) {
	if !strings.Contains(j.File, "%d") {
		f, err := j.openFile(j.File)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		switch j.format() {
		case CM:
			return readCM(j.File, f)
		case Goal:
			return readGoal(j.File, f)
		case SimAI:
			return readSimAI(j.File, f, j)
		}
		return readChakra([]string{j.File}, []io.Reader{f}, j)
	}
	if j.format() != Chakra {
		return nil, fmt.Errorf("%s: only Chakra has a file for each rank", j.File)
	}
	var names []string
	var files []io.Reader
	for r := 0; j.Ranks == 0 && r < places || r < j.Ranks; r++ {
		name := strings.Replace(j.File, "%d", strconv.Itoa(r), 1)
		f, err := j.openFile(name)
		if errors.Is(err, fs.ErrNotExist) && j.Ranks == 0 && r > 0 {
			break
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
		names, files = append(names, name), append(files, f)
	}
	return readChakra(names, files, j)
}

// openFile opens a file of lines, or one without.
func (j *Job) openFile(name string) (io.ReadCloser, error) {
	if j.format() == Chakra && j.open == nil {
		data, err := infile.ReadUpTo(name, infile.Data)
		return io.NopCloser(bytes.NewReader(data)), err
	}
	return j.open.lines(name)
}

// files returns the names of the files.
func (j *Job) files() (names []string) {
	if !strings.Contains(j.File, "%d") {
		return []string{j.File}
	}
	for r := 0; j.Ranks == 0 && r < 1<<14 || r < j.Ranks; r++ {
		name := strings.Replace(j.File, "%d", strconv.Itoa(r), 1)
		if _, err := os.Stat(name); err != nil && r > 0 {
			break
		}
		names = append(names, name)
	}
	return names
}

func (j *Job) flows(g *gen) {
	slots, _, _ := j.places().slots(g.t)
	if err := j.make(g, slots); err != nil {
		panic("BUG: " + err.Error()) // check has tried it
	}
	g.base.Plan, g.base.Step, g.base.Port, g.base.Pair = nil, 0, 0, 0
}

// make makes the flows on some places.
func (j *Job) make(g *gen, slots []slot) error {
	c := j.places()
	n := j.count(len(slots))
	if g.rng != nil || c.Place != Random {
		slots = c.place(g, slots)
	}
	b := newBuilder(g, c, fmt.Sprintf("part %d", g.base.Group), slots[:n])
	b.op = -1
	j.read.build(b)
	return b.err
}

// scaled returns a time of computing.
func (j *Job) scaled(d vtime.Time) vtime.Time {
	if j.Scale == 0 {
		return d
	}
	return vtime.Time(float64(d) * j.Scale)
}

// place of an error in a file, for readers.
type source struct {
	name string
	list diag.List
}

// fail returns an error at a line.
func (s *source) fail(line int, format string, args ...any) error {
	s.list.Errorf(diag.MakePos(&s.name, int32(line), 0), "job", format, args...)
	return s.list.Err()
}

// lineReader reads lines of any length up to a limit.
func lineReader(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), 1<<20)
	return s
}

// whole reads a whole number from low to high.
func whole(what, text string, low, high int64) (int64, error) {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < low || v > high {
		return 0, fmt.Errorf("%s is %q, must be a whole number from %d to %d", what, text, low, high)
	}
	return v, nil
}

// mostBytes is the greatest size of a message or collective in a file.
const mostBytes = 1 << 42

// longest is the longest time of computing in a file.
const longest = 1000 * vtime.Second

// dup returns deps that a step may keep.
func dup(d []fabric.Dep) []fabric.Dep { return slices.Clone(d) }
