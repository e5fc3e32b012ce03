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
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/html"

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
//	                 these parameters say.
func Handler(title string, s Source) http.Handler {
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
		if r.FormValue("version") == strconv.Itoa(version) {
			rest(&run, number(r, "samples"), number(r, "events"))
		}
		answer(w, r, struct {
			record.Run
			Version int `json:"version"`
		}{run, version})
	})
	return headers(mux)
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

// answer writes JSON, compressed if the browser accepts gzip.
func answer(w http.ResponseWriter, r *http.Request, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	var out io.Writer = w
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
		if err != nil {
			panic("BUG: " + err.Error())
		}
		defer z.Close()
		out = z
	}
	json.NewEncoder(out).Encode(v) // fails only if the browser has closed the connection
}

// headers keeps other web pages from using this server. On loopback it refuses
// requests whose Host is not loopback's, which prevents DNS rebinding.
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
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("X-Frame-Options", "DENY")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		h.ServeHTTP(w, r)
	})
}
