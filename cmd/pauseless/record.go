// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"sync"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/testbed/record"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/trace"
	"github.com/pauseless/pauseless/testbed/view"
)

// recording has the recorders of a scenario's runs, in order.
type recording struct {
	mu        sync.Mutex
	recorders []*record.Recorder
	running   bool // there may be more
}

// follow returns a recorder for a run; it is scenario.Options.Follow.
func (r *recording) follow(s scenario.Start) scenario.Follower {
	rec := record.New(s, record.DefaultLimits)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recorders = append(r.recorders, rec)
	return rec
}

// done notes that there will be no more runs.
func (r *recording) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = false
}

// Recordings implements view.Source.
func (r *recording) Recordings() ([]view.Recording, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []view.Recording
	for _, rec := range r.recorders {
		all = append(all, rec)
	}
	return all, r.running
}

// runs returns the present state of the recordings.
func (r *recording) runs() []*record.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	var runs []*record.Run
	for _, rec := range r.recorders {
		run, _ := rec.Snapshot()
		runs = append(runs, &run)
	}
	return runs
}

// write writes the recordings to a file, unless the name is empty.
func (r *recording) write(name string) error {
	if name == "" {
		return nil
	}
	return writeFile(name, func(w io.Writer) error { return record.Write(w, r.runs()) })
}

// traced writes the recording of a run with a traced packet, unless the name is empty.
func (r *recording) traced(name string, t *trace.Trace) error {
	runs := r.runs()
	if name == "" || len(runs) == 0 { // the run did not begin
		return nil
	}
	t.Record(runs[0])
	return writeFile(name, func(w io.Writer) error { return record.Write(w, runs) })
}

// results returns the results of the runs that have ended.
func (r *recording) results() (all []*fabric.Results) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rec := range r.recorders {
		all = append(all, rec.Results())
	}
	return all
}

func (r *recording) trace(name string) error {
	if name == "" {
		return nil
	}
	return writeFile(name, func(w io.Writer) error { return record.WriteTrace(w, r.runs(), r.results()) })
}
