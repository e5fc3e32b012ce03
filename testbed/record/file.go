// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/klauspost/compress/gzip"

	"github.com/pauseless/pauseless/internal/infile"
)

// A file is gzip of lines of JSON: a header, and one line per run.
const (
	format  = "pauseless recording"
	version = 1
)

type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// Write writes a file of recordings.
func Write(w io.Writer, runs []*Run) error {
	// Writing is a part of the run's time. Better compression would save little and
	// take several times as long; the standard library's takes twice as long.
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	for i := -1; i < len(runs); i++ {
		// One goroutine encodes, another one compresses.
		from, to := io.Pipe()
		go func() {
			if i < 0 {
				to.CloseWithError(json.NewEncoder(to).Encode(header{format, version}))
			} else {
				to.CloseWithError(runs[i].WriteJSON(to))
			}
		}()
		if _, err := io.Copy(z, from); err != nil {
			from.CloseWithError(err)
			return err
		}
	}
	return z.Close()
}

// WriteJSON writes the same line as json.Encoder in a quarter of the time, and
// without a copy of it in memory: it writes the long lists of numbers itself.
func (r *Run) WriteJSON(w io.Writer) error {
	rest := *r
	rest.TNS, rest.Queues, rest.Values, rest.Paths, rest.Events = nil, nil, nil, nil, nil
	frame, err := json.Marshal(&rest)
	if err != nil {
		return err
	}
	t := text{w: w}
	for _, list := range []struct {
		name  string
		write func()
	}{
		{"t_ns", func() { numbers(&t, r.TNS) }},
		{"queues", func() { rows(&t, len(r.Queues), func(i int) []int64 { return r.Queues[i] }) }},
		{"values", func() { rows(&t, len(r.Values), func(i int) []uint64 { return r.Values[i] }) }},
		{"paths", func() { rows(&t, len(r.Paths), func(i int) []int32 { return r.Paths[i] }) }},
		{"events", func() { rows(&t, len(r.Events), func(i int) []int64 { return r.Events[i][:] }) }},
	} {
		// This text cannot be part of a string, where quotes have backslashes.
		before, after, ok := bytes.Cut(frame, []byte(`"`+list.name+`":null`))
		if !ok {
			panic("BUG: a recording has no " + list.name)
		}
		t.b = append(t.b, before...)
		t.b = append(append(append(t.b, '"'), list.name...), `":`...)
		list.write()
		frame = after
	}
	t.b = append(append(t.b, frame...), '\n')
	t.flush()
	return t.err
}

// text is a buffered writer of JSON that keeps the first error.
type text struct {
	w   io.Writer
	b   []byte
	err error
}

func (t *text) flush() {
	if t.err == nil {
		_, t.err = t.w.Write(t.b)
	}
	t.b = t.b[:0]
}

func rows[T int32 | int64 | uint64](t *text, n int, row func(i int) []T) {
	t.b = append(t.b, '[')
	for i := range n {
		if i > 0 {
			t.b = append(t.b, ',')
		}
		numbers(t, row(i))
	}
	t.b = append(t.b, ']')
}

func numbers[T int32 | int64 | uint64](t *text, list []T) {
	t.b = append(t.b, '[')
	for i, v := range list {
		if i > 0 {
			t.b = append(t.b, ',')
		}
		if v < 0 {
			t.b = strconv.AppendInt(t.b, int64(v), 10)
		} else {
			t.b = strconv.AppendUint(t.b, uint64(v), 10)
		}
	}
	t.b = append(t.b, ']')
	if len(t.b) > 1<<16 {
		t.flush()
	}
}

// Read reads a file that Write wrote. It returns an error for any other file, and for
// one that has been changed: gzip's checksum is compared before a run is returned.
func Read(r io.Reader) ([]*Run, error) {
	file := bufio.NewReader(r)
	z, err := gzip.NewReader(file)
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("not a recording of `pauseless fabric run --record FILE` (`pauseless report` shows results)")
	case err != nil:
		return nil, fmt.Errorf("not a recording of `pauseless fabric run --record FILE`: %w", err)
	}
	z.Multistream(false)
	lines := bufio.NewReaderSize(infile.Limit(z, "the recording", maxFile), 1<<16)
	head, err := line(lines, maxHeader)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("not a recording of `pauseless fabric run --record FILE`: %w", err)
	}
	var h header
	if err := json.Unmarshal(head, &h); err != nil || h.Format != format {
		return nil, errors.New("not a recording of `pauseless fabric run --record FILE`: its first line has another format")
	}
	if h.Version != version {
		return nil, fmt.Errorf("recording of version %d; this program reads version %d", h.Version, version)
	}
	var runs []*Run
	for left := int64(infile.Memory); ; {
		text, err := line(lines, maxLine)
		if errors.Is(err, io.EOF) {
			break
		}
		run := new(Run)
		var weight int64
		switch {
		case err != nil:
		case len(runs) == maxRuns:
			err = fmt.Errorf("there are more than %d runs", maxRuns)
		default:
			if weight, err = infile.Weighed(text, run, min(maxRun, left)); err == nil {
				err = run.check()
			}
		}
		if err != nil {
			return nil, fmt.Errorf("recording, run %d: %w", len(runs)+1, err)
		}
		left -= weight
		runs = append(runs, run)
	}
	if len(runs) == 0 {
		return nil, errors.New("the recording has no runs")
	}
	if _, err := file.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there are bytes after the end of the recording")
	}
	return runs, nil
}

// line returns the next line. The error is io.EOF after the last one.
func line(r *bufio.Reader, most int) (text []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if len(text)+len(part) > most {
			return nil, fmt.Errorf("%w: a line of more than %d bytes", infile.ErrSize, most)
		}
		text = append(text, part...)
		switch {
		case err == nil:
			return text, nil
		case errors.Is(err, io.EOF) && len(text) > 0:
			return text, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// Limits of a file. A recording with DefaultLimits of 288 hosts has some 30 MB of text.
const (
	maxFile   = infile.Data // bytes, uncompressed
	maxHeader = 1 << 10     // bytes of the first line
	maxLine   = 256 << 20   // bytes of a run's line
	maxRun    = 512 << 20   // bytes of a run in memory
	maxRuns   = 4096

	maxNodes     = 1 << 18
	maxLinks     = 1 << 20
	maxRegisters = 256
	maxFlows     = 1 << 22
	maxSteps     = 1 << 20
)

// sizes returns an error if a recording has more of something than a recorder makes.
func (r *Run) sizes() error {
	l := DefaultLimits
	paths := 0
	for _, p := range r.Paths {
		paths += len(p)
	}
	for _, n := range []struct {
		what        string
		have, limit int
	}{
		{"nodes", len(r.Network.Nodes), maxNodes}, {"links", len(r.Network.Links), maxLinks}, {"registers", len(r.Registers), maxRegisters},
		{"flows", len(r.Flows), maxFlows}, {"steps", len(r.Steps), maxSteps}, {"samples", len(r.TNS), l.Samples}, {"events", len(r.Events), l.Events}, {"entries of paths", paths, 2 * l.Paths},
	} {
		if n.have > n.limit {
			return fmt.Errorf("it has %d %s; a recording has at most %d", n.have, n.what, n.limit)
		}
	}
	return nil
}

// check returns an error if lists have different lengths, an index is out of
// range, or times are not in order.
func (r *Run) check() error {
	if r.Network == nil || len(r.Network.Nodes) == 0 {
		return errors.New("it has no network")
	}
	if err := r.sizes(); err != nil {
		return err
	}
	nodes, chans := len(r.Network.Nodes), 2*len(r.Network.Links)
	for i, l := range r.Network.Links {
		if l.A < 0 || l.A >= nodes || l.B < 0 || l.B >= nodes {
			return fmt.Errorf("link %d is between nodes that do not exist", i)
		}
	}
	for _, n := range r.Network.Nodes {
		if n.Tier < 0 || n.Tier > 16 {
			return fmt.Errorf("node %q has tier %d, must be from 0 to 16", n.Name, n.Tier)
		}
	}
	n := len(r.TNS)
	if len(r.Use) != n || len(r.Queues) != n || len(r.Values) != n || len(r.Paths) != n {
		return fmt.Errorf("%d samples, but %d of use, %d of queues, %d of values, %d of paths", n, len(r.Use), len(r.Queues), len(r.Values), len(r.Paths))
	}
	for i := range n {
		if i > 0 && r.TNS[i] < r.TNS[i-1] {
			return fmt.Errorf("sample %d has an earlier time than sample %d", i, i-1)
		}
		if len(r.Use[i]) != chans {
			return fmt.Errorf("sample %d has the utilisation of %d directions of links, the network has %d", i, len(r.Use[i]), chans)
		}
		if len(r.Queues[i])%2 != 0 || len(r.Values[i])%3 != 0 || len(r.Paths[i])%2 != 0 {
			return fmt.Errorf("sample %d is incomplete", i)
		}
		for k := 0; k < len(r.Queues[i]); k += 2 {
			if c := r.Queues[i][k]; c < 0 || c >= int64(chans) {
				return fmt.Errorf("sample %d has a queue of direction %d, of %d", i, c, chans)
			}
		}
		for k := 0; k < len(r.Values[i]); k += 3 {
			if r.Values[i][k] >= uint64(nodes) || r.Values[i][k+1] >= uint64(len(r.Registers)) {
				return fmt.Errorf("sample %d has a register that does not exist", i)
			}
		}
		for k := 0; k < len(r.Paths[i]); k += 2 {
			if f, c := r.Paths[i][k], r.Paths[i][k+1]; f < 0 || int(f) >= len(r.Flows) || c < 0 || int(c) >= chans {
				return fmt.Errorf("sample %d has flow %d on direction %d", i, f, c)
			}
		}
	}
	for i, f := range r.Flows {
		if f.Src < 0 || f.Src >= nodes || f.Dst < 0 || f.Dst >= nodes {
			return fmt.Errorf("flow %d is between nodes that do not exist", i)
		}
	}
	for i, s := range r.Steps {
		if s.Node < 0 || s.Node >= nodes || s.Port < 0 || math.IsNaN(s.AtNS) || i > 0 && s.AtNS < r.Steps[i-1].AtNS {
			return fmt.Errorf("step %d of the packet is at node %d, %v ns", i, s.Node, s.AtNS)
		}
	}
	for i, e := range r.Events {
		if e[1] < 0 || e[1] > int64(Message) || e[2] < 0 || e[2] >= int64(chans) {
			return fmt.Errorf("event %d is of kind %d on direction %d", i, e[1], e[2])
		}
		if i > 0 && e[0] < r.Events[i-1][0] {
			return fmt.Errorf("event %d has an earlier time than event %d", i, i-1)
		}
	}
	return nil
}
