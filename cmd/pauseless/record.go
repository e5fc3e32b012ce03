// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"sync"

	"github.com/pauseless/pauseless/testbed/record"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// recording has the recorders of a scenario's runs, in order.
type recording struct {
	mu        sync.Mutex
	recorders []*record.Recorder
}

// follow is what scenario.Options.Follow wants.
func (r *recording) follow(s scenario.Start) scenario.Follower {
	rec := record.New(s, record.DefaultLimits)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.recorders = append(r.recorders, rec)
	return rec
}

// runs returns the recordings as they are.
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

// write writes the recordings to a file, trace a trace of them; neither does
// anything if the name is empty.
func (r *recording) write(name string) error {
	if name == "" {
		return nil
	}
	return writeFile(name, func(w io.Writer) error { return record.Write(w, r.runs()) })
}

func (r *recording) trace(name string) error {
	if name == "" {
		return nil
	}
	return writeFile(name, func(w io.Writer) error { return record.WriteTrace(w, r.runs()) })
}
