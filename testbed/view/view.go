// SPDX-License-Identifier: Apache-2.0

// Package view shows recordings as a map of the network in the browser: in a
// self-contained page, or from a server while runs are still recorded. The
// server copies what a request asks for before it sends it, so that a slow
// browser delays no run.
package view

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/pauseless/pauseless/testbed/record"
	"github.com/pauseless/pauseless/testbed/web"
)

//go:embed live.html.tmpl
var page string

var tmpl = template.Must(template.New("live").Parse(page))

// WritePage writes a self-contained page that plays recordings.
func WritePage(w io.Writer, title string, runs []*record.Run) error {
	var b bytes.Buffer
	if err := record.Write(&b, runs); err != nil {
		return err
	}
	// Base64 needs no escaping in HTML.
	return write(w, title, "page", template.HTML(base64.StdEncoding.EncodeToString(b.Bytes())))
}

func write(w io.Writer, title, source string, recording template.HTML) error {
	return tmpl.Execute(w, map[string]any{"Title": title, "Source": source, "Web": web.Inline("live"), "Recording": recording})
}

// A Source has the recordings that a server shows.
type Source interface {
	// Recordings returns the recordings so far; more reports whether others may
	// follow.
	Recordings() (all []Recording, more bool)
}

// A Recording may still grow.
type Recording interface {
	// Snapshot returns the recording so far. The version is the number of times
	// that earlier samples or events have changed.
	Snapshot() (r record.Run, version int)
}

// Handler serves the page and its data:
//
//	GET /            the page
//	GET /api/runs    the list of recordings
//	GET /api/run     recording number i, from 0. If version is the recording's,
//	                 it leaves out the first samples and events, as many as
//	                 these parameters say, and the causes of pauses of a run that
//	                 goes on if there are as many storms.
func Handler(title string, s Source) http.Handler {
	c := &cache{sent: make(map[int]*sent)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		var b bytes.Buffer
		if err := write(&b, title, "server", ""); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(b.Bytes())
	})
	mux.HandleFunc("GET /api/runs", func(w http.ResponseWriter, r *http.Request) {
		type entry struct {
			Arm     string `json:"arm"`
			Seed    uint64 `json:"seed"`
			Live    bool   `json:"live"`
			Version int    `json:"version"`
		}
		all, more := s.Recordings()
		list := make([]entry, 0, len(all))
		for _, rec := range all {
			run, version := rec.Snapshot()
			list = append(list, entry{run.Arm, run.Seed, run.Live, version})
		}
		answer(w, r, map[string]any{"runs": list, "more": more})
	})
	mux.HandleFunc("GET /api/run", func(w http.ResponseWriter, r *http.Request) {
		all, _ := s.Recordings()
		i, err := strconv.Atoi(r.FormValue("i"))
		if err != nil || i < 0 || i >= len(all) {
			http.Error(w, fmt.Sprintf("there is no recording %q; there are %d, from 0", r.FormValue("i"), len(all)), http.StatusNotFound)
			return
		}
		run, version := all[i].Snapshot()
		whole := r.FormValue("version") != strconv.Itoa(version)
		if !whole {
			rest(&run, number(r, "samples"), number(r, "events"))
			if run.Live && run.Causes != nil && len(run.Causes.Storms) == number(r, "storms") {
				run.Causes = nil
			}
		}
		c.answer(w, r, i, &run, version, whole)
	})
	return headers(limit(mux))
}

// maxRequests is the greatest number of requests that are answered at a time. One
// whose answer is not read takes about 1 MB.
const maxRequests = 64

// limit refuses requests beyond maxRequests.
func limit(h http.Handler) http.Handler {
	free := make(chan struct{}, maxRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
			h.ServeHTTP(w, r)
		default:
			w.Header().Set("Retry-After", "1")
			http.Error(w, fmt.Sprintf("%d requests are being answered, which is the limit; try again", maxRequests), http.StatusServiceUnavailable)
		}
	})
}

// cache has complete recordings as they are sent, so that all readers of one share
// its bytes.
type cache struct {
	mu   sync.Mutex
	sent map[int]*sent
}

// sent is a recording as JSON in gzip.
type sent struct {
	version, samples, events int
	once                     sync.Once
	data                     []byte
	err                      error
}

// answer sends a recording. The JSON of one that grows, or of a part, is written
// piece by piece: it is never in memory as a whole.
func (c *cache) answer(w http.ResponseWriter, r *http.Request, i int, run *record.Run, version int, whole bool) {
	if run.Live || !whole || !compresses(r) {
		out, end := begin(w, r)
		defer end()
		writeRun(out, run, version) // fails only if the browser has closed the connection
		return
	}
	c.mu.Lock()
	s := c.sent[i]
	if s == nil || s.version != version || s.samples != len(run.TNS) || s.events != len(run.Events) {
		s = &sent{version: version, samples: len(run.TNS), events: len(run.Events)}
		c.sent[i] = s
	}
	c.mu.Unlock()
	s.once.Do(func() {
		var b bytes.Buffer
		z := gzipTo(&b)
		s.err = errors.Join(writeRun(z, run, version), z.Close())
		s.data = b.Bytes()
	})
	if s.err != nil {
		http.Error(w, s.err.Error(), http.StatusInternalServerError)
		return
	}
	isJSON(w)
	w.Header().Set("Content-Encoding", "gzip")
	w.Write(s.data)
}

// writeRun writes a recording as an object of JSON that also has its version.
func writeRun(w io.Writer, run *record.Run, version int) error {
	if _, err := fmt.Fprintf(w, `{"version":%d,`, version); err != nil {
		return err
	}
	return run.WriteJSON(&tail{w: w})
}

// tail drops the first byte, the brace of an object.
type tail struct {
	w       io.Writer
	dropped bool
}

func (t *tail) Write(p []byte) (int, error) {
	if t.dropped || len(p) == 0 {
		return t.w.Write(p)
	}
	t.dropped = true
	n, err := t.w.Write(p[1:])
	return n + 1, err
}

func number(r *http.Request, name string) int {
	n, _ := strconv.Atoi(r.FormValue(name))
	return max(n, 0)
}

// rest removes the first samples and events. Flows are sent once, at the end
// of the run.
func rest(run *record.Run, samples, events int) {
	samples, events = min(samples, len(run.TNS)), min(events, len(run.Events))
	run.TNS, run.Use, run.Queues = run.TNS[samples:], run.Use[samples:], run.Queues[samples:]
	run.Values, run.Paths, run.Events = run.Values[samples:], run.Paths[samples:], run.Events[events:]
	if run.Live {
		run.Flows = nil
	}
}

// answer writes JSON.
func answer(w http.ResponseWriter, r *http.Request, v any) {
	out, end := begin(w, r)
	defer end()
	json.NewEncoder(out).Encode(v) // fails only if the browser has closed the connection
}

// begin begins an answer of JSON. The body is written to out, which compresses it if
// the browser accepts gzip, and ended by end.
func begin(w http.ResponseWriter, r *http.Request) (out io.Writer, end func()) {
	isJSON(w)
	if !compresses(r) {
		return w, func() {}
	}
	w.Header().Set("Content-Encoding", "gzip")
	z := gzipTo(w)
	return z, func() { z.Close() }
}

func isJSON(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
}

// compresses reports whether the browser accepts gzip.
func compresses(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
}

func gzipTo(w io.Writer) *gzip.Writer {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return z
}

// headers keeps other web pages from using this server: it refuses requests that a
// browser makes for another page, except to follow a link to this one. On loopback it
// refuses requests whose Host is not loopback's, which prevents DNS rebinding.
func headers(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr); ok && local.IP.IsLoopback() {
			host := r.Host
			if name, _, err := net.SplitHostPort(host); err == nil {
				host = name
			}
			ip := net.ParseIP(strings.Trim(host, "[]"))
			if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
				http.Error(w, "this address answers to localhost only", http.StatusForbidden)
				return
			}
		}
		if foreign(r) {
			http.Error(w, "requests of other web pages are not answered", http.StatusForbidden)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("X-Frame-Options", "DENY")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		h.ServeHTTP(w, r)
	})
}

// foreign reports whether a browser says that another page makes the request. A page
// of another port of this machine is another one, too.
func foreign(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host != r.Host {
			return true
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.URL.Path != "/" || r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}
