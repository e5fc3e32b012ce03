// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/testbed/result"
)

// Store keeps runs under their keys, one file each. Files are written atomically.
// Several processes may use a store at the same time.
//
//	runs/ab/abcd….json.gz   runs that are done
//	running/abcd….json      the process that makes a run; it renews the file's time as a heartbeat
//	failed/abcd….json       the error of a run that failed
type Store struct{ dir string }

// Record is a run as it is kept.
type Record struct {
	Key   string      `json:"key"`
	Build string      `json:"build"`
	TookS float64     `json:"took_s"` // wall-clock seconds
	Run   *result.Run `json:"run"`
}

// Mark names the process that makes a run, or the error of a failed run.
type Mark struct {
	Key   string    `json:"key"` // of the run
	Name  string    `json:"name"`
	Host  string    `json:"host,omitempty"`
	PID   int       `json:"pid,omitempty"`
	Since time.Time `json:"since"`
	// Asked reports that the run was offered to workers. Worker is the one that has
	// begun it, if any.
	Asked  bool   `json:"asked,omitempty"`
	Worker string `json:"worker,omitempty"`
	Error  string `json:"error,omitempty"`
}

// OpenStore opens a store. It makes missing folders and checks that files can be
// written.
func OpenStore(dir string) (*Store, error) {
	s := &Store{dir}
	for _, sub := range []string{"runs", "running", "failed"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
			return nil, fmt.Errorf("results cannot be kept in %s: %w; --store names another folder", dir, err)
		}
	}
	probe := filepath.Join(dir, fmt.Sprintf("probe-%d", os.Getpid()))
	err := outfile.Durable(probe, make([]byte, 64<<10), 0o666)
	os.Remove(probe)
	if err != nil {
		return nil, fmt.Errorf("results cannot be kept in %s: %w; --store names another folder", dir, err)
	}
	s.sweep()
	return s, nil
}

// leftover is the age from which a temporary file has no writer any more: writing
// the largest record takes seconds.
const leftover = 24 * time.Hour

// sweep removes temporary files of processes that were killed while they wrote. It
// takes files that outfile names so, in the folders of the store only, and errors are
// ignored: nothing depends on it.
func (s *Store) sweep() {
	dirs := []string{s.dir, filepath.Join(s.dir, "running"), filepath.Join(s.dir, "failed"), filepath.Join(s.dir, "builds")}
	for i := range 256 {
		dirs = append(dirs, filepath.Join(s.dir, "runs", fmt.Sprintf("%02x", i)))
	}
	for _, dir := range dirs {
		outfile.Sweep(dir, time.Now().Add(-leftover))
	}
}

// ReadStore opens a store for reading only. A missing store is empty.
func ReadStore(dir string) *Store { return &Store{dir} }

func (s *Store) path(key string) string {
	return filepath.Join(s.dir, "runs", key[:2], key+".json.gz")
}

// Has reports whether the store has a run.
func (s *Store) Has(key string) bool {
	_, err := os.Stat(s.path(key))
	return err == nil
}

// Get returns a run without its large fields (flows, time lines, pauses and
// registers), or nil if the store does not have it. A file that cannot be read is
// an error that names it: once it is removed, the run is made again.
func (s *Store) Get(key string) (*Record, error) { return s.read(key, false) }

// GetAll returns a run with all fields, or nil if the store does not have it.
func (s *Store) GetAll(key string) (*Record, error) { return s.read(key, true) }

func (s *Store) read(key string, all bool) (*Record, error) {
	name := s.path(key)
	data, err := infile.ReadUpTo(name, MaxRecord)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	rec, err := decode(data, key, all)
	if err != nil {
		return nil, fmt.Errorf("%s: not a run of the store: %w; remove the file, and the run is made again", name, err)
	}
	return rec, nil
}

// Put writes a run. When it returns nil, the run is on the disk (fsync).
func (s *Store) Put(r *Record) error {
	data, err := r.Encode()
	if err != nil {
		return err
	}
	return s.put(r.Key, data)
}

func (s *Store) put(key string, data []byte) error {
	name := s.path(key)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	if err := outfile.Durable(name, data, 0o666); err != nil {
		return err
	}
	os.Remove(s.mark("failed", key))
	return nil
}

func (s *Store) mark(kind, key string) string { return filepath.Join(s.dir, kind, key+".json") }

// A process renews its mark every heartbeat. A mark older than staleAfter is
// abandoned.
const (
	heartbeat  = 5 * time.Second
	staleAfter = 30 * time.Second
)

// A Lease marks a run as being made by this process. It is renewed until it is
// released.
type Lease struct {
	path string
	stop chan struct{}

	mu   sync.Mutex
	mark Mark
	over bool
}

// Release removes the lease, whether or not the run was made.
func (c *Lease) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.over = true
		close(c.stop)
		os.Remove(c.path)
	}
}

// Begun notes the worker that has begun the run. Only Status reads the note, so a
// failure to write it is ignored.
func (c *Lease) Begun(worker string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return
	}
	c.mark.Worker, c.mark.Since = worker, time.Now()
	if text, err := c.mark.text(); err == nil {
		outfile.Write(c.path, text, 0o666)
	}
}

// Lease takes a run for this process. It returns ok false if another process has
// leased it. Asked reports that the run will be offered to workers.
func (s *Store) Lease(key, name string, asked bool) (lease *Lease, ok bool, err error) {
	path := s.mark("running", key)
	host, _ := os.Hostname()
	mark := Mark{Key: key, Name: name, Host: host, PID: os.Getpid(), Since: time.Now(), Asked: asked}
	text, err := mark.text()
	if err != nil {
		return nil, false, err
	}
	for range 2 {
		err := outfile.First(path, text, 0o666)
		if errors.Is(err, fs.ErrExist) {
			if dead, err := s.removeStale(key); err != nil || !dead {
				return nil, false, err
			}
			continue
		}
		if err != nil {
			return nil, false, err
		}
		stop := make(chan struct{})
		go func() {
			tick := time.NewTicker(heartbeat)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					return
				case now := <-tick.C:
					os.Chtimes(path, now, now)
				}
			}
		}()
		return &Lease{path: path, stop: stop, mark: mark}, true, nil
	}
	return nil, false, nil
}

// removeStale removes an abandoned mark, and reports whether the run is free. A
// lock ensures that only one process removes it: a second could remove the mark of
// a new lease.
func (s *Store) removeStale(key string) (bool, error) {
	path := s.mark("running", key)
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return false, err
	}
	defer dir.Close() // ends the lock
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		return false, fmt.Errorf("%s: %w", dir.Name(), err)
	}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	if _, alive := s.marked(path, info); alive {
		return false, nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	return true, nil
}

// running returns the mark of a run, and whether its process is alive.
func (s *Store) running(key string) (*Mark, bool) {
	path := s.mark("running", key)
	info, err := os.Stat(path)
	if err != nil {
		return nil, false
	}
	return s.marked(path, info)
}

// marked reads a mark and reports whether its process is alive: it is on this machine,
// if it is of this one, and it renews the mark. Another process may have got its number
// since. A mark that cannot be read is being written or removed.
func (s *Store) marked(path string, info fs.FileInfo) (*Mark, bool) {
	m := readMark(path)
	if m == nil {
		return nil, time.Since(info.ModTime()) < staleAfter
	}
	if host, _ := os.Hostname(); m.Host == host && (m.PID <= 0 || syscall.Kill(m.PID, 0) == syscall.ESRCH) {
		return m, false
	}
	return m, time.Since(info.ModTime()) < staleAfter
}

// text returns the file of a mark.
func (m *Mark) text() ([]byte, error) {
	text, err := json.Marshal(m)
	return result.Seal(text), err
}

// readMark returns nil for a file that is missing, is not as it was written, or is the
// mark of another run.
func readMark(path string) *Mark {
	data, err := infile.Read(path)
	if err != nil || result.CheckSeal(data) != nil {
		return nil
	}
	var m Mark
	if json.Unmarshal(data, &m) != nil || m.Key+".json" != filepath.Base(path) {
		return nil
	}
	return &m
}

// Fail notes the error of a failed run.
func (s *Store) Fail(key, name string, cause error) {
	if data, err := (&Mark{Key: key, Name: name, Since: time.Now(), Error: cause.Error()}).text(); err == nil {
		outfile.Write(s.mark("failed", key), data, 0o666)
	}
}

// Failed returns the error of a run that failed, or "".
func (s *Store) Failed(key string) string {
	if m := readMark(s.mark("failed", key)); m != nil {
		return m.Error
	}
	return ""
}

// writeError adds to an error of writing a result what to do about it.
func (s *Store) writeError(what string, err error) error {
	text := "the same command continues"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		text = fmt.Sprintf("free space on the disk of %s, and the same command continues", s.dir)
	}
	return fmt.Errorf("%s: %w; finished runs are kept: %s", what, err, text)
}
