// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A file is gzip of a line that says what it is, and then a line of JSON per
// run.
const (
	format  = "pauseless recording"
	version = 1
)

type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

// Write writes recordings.
func Write(w io.Writer, runs []*Run) error {
	// Writing must not take longer than the run. Better compression would save
	// a third of the file for ten times the time.
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(z)
	if err := enc.Encode(header{format, version}); err != nil {
		return err
	}
	for _, r := range runs {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return z.Close()
}

// Read reads what Write wrote. An error says what is wrong with the file.
func Read(r io.Reader) ([]*Run, error) {
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("no recording, as `pauseless fabric run --record FILE` makes it: %w", err)
	}
	dec := json.NewDecoder(bufio.NewReader(io.LimitReader(z, maxFile)))
	var h header
	if err := dec.Decode(&h); err != nil || h.Format != format {
		return nil, errors.New("no recording, as `pauseless fabric run --record FILE` makes it: its first line does not say so")
	}
	if h.Version != version {
		return nil, fmt.Errorf("recording of version %d; this program knows version %d", h.Version, version)
	}
	var runs []*Run
	for {
		run := new(Run)
		err := dec.Decode(run)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("recording, run %d: %w", len(runs)+1, err)
		}
		if err := run.check(); err != nil {
			return nil, fmt.Errorf("recording, run %d: %w", len(runs)+1, err)
		}
		runs = append(runs, run)
	}
	if len(runs) == 0 {
		return nil, errors.New("the recording has no runs")
	}
	return runs, nil
}

// maxFile is how long the text of a file may be.
const maxFile = 1 << 30

// check makes sure that every number that points somewhere does.
func (r *Run) check() error {
	if r.Network == nil || len(r.Network.Nodes) == 0 {
		return errors.New("it has no network")
	}
	nodes, chans := len(r.Network.Nodes), 2*len(r.Network.Links)
	for i, l := range r.Network.Links {
		if l.A < 0 || l.A >= nodes || l.B < 0 || l.B >= nodes {
			return fmt.Errorf("link %d joins nodes that are not there", i)
		}
	}
	for _, n := range r.Network.Nodes {
		if n.Tier < 0 || n.Tier > 16 {
			return fmt.Errorf("node %q is of tier %d", n.Name, n.Tier)
		}
	}
	n := len(r.TNS)
	if len(r.Use) != n || len(r.Queues) != n || len(r.Values) != n || len(r.Paths) != n {
		return fmt.Errorf("%d samples, but %d of use, %d of queues, %d of values, %d of paths", n, len(r.Use), len(r.Queues), len(r.Values), len(r.Paths))
	}
	for i := range n {
		if i > 0 && r.TNS[i] < r.TNS[i-1] {
			return fmt.Errorf("sample %d is before the one before", i)
		}
		if len(r.Use[i]) != chans {
			return fmt.Errorf("sample %d has the use of %d directions of links, of %d", i, len(r.Use[i]), chans)
		}
		if len(r.Queues[i])%2 != 0 || len(r.Values[i])%3 != 0 || len(r.Paths[i])%2 != 0 {
			return fmt.Errorf("sample %d is cut off", i)
		}
		for k := 0; k < len(r.Queues[i]); k += 2 {
			if c := r.Queues[i][k]; c < 0 || c >= int64(chans) {
				return fmt.Errorf("sample %d has a queue of direction %d, of %d", i, c, chans)
			}
		}
		for k := 0; k < len(r.Values[i]); k += 3 {
			if r.Values[i][k] >= uint64(nodes) || r.Values[i][k+1] >= uint64(len(r.Registers)) {
				return fmt.Errorf("sample %d has a register that is not there", i)
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
			return fmt.Errorf("flow %d is between nodes that are not there", i)
		}
	}
	for i, e := range r.Events {
		if e[1] < 0 || e[1] > int64(Message) || e[2] < 0 || e[2] >= int64(chans) {
			return fmt.Errorf("event %d is of kind %d on direction %d", i, e[1], e[2])
		}
		if i > 0 && e[0] < r.Events[i-1][0] {
			return fmt.Errorf("event %d is before the one before", i)
		}
	}
	return nil
}
