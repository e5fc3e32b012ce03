// SPDX-License-Identifier: Apache-2.0

// Package view shows recordings as a map of the network in the browser: as a
// page that is one file, or from a server while they still grow. A server
// only reads; it copies what a browser asks for, so a slow one holds up
// nobody.
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

// WritePage writes a page that plays recordings and needs nothing else.
func WritePage(w io.Writer, title string, runs []*record.Run) error {
	var b bytes.Buffer
	if err := record.Write(&b, runs); err != nil {
		return err
	}
	// Base64 has no character that means anything to HTML.
	return write(w, title, "page", template.HTML(base64.StdEncoding.EncodeToString(b.Bytes())))
}

func write(w io.Writer, title, source string, recording template.HTML) error {
	return tmpl.Execute(w, map[string]any{"Title": title, "Source": source, "Web": web.Inline("live"), "Recording": recording})
}

// A Source has recordings that may still grow.
type Source interface {
	// Recordings returns those there are; more says that others may follow.
	Recordings() (all []Recording, more bool)
}

// A Recording is one that may still grow. The version counts how often what
// was there before has changed.
type Recording interface {
	Snapshot() (r record.Run, version int)
}

// Handler serves the page and what it asks for:
//
//	GET /            the page
//	GET /api/runs    which recordings there are
//	GET /api/run     one of them: i=its number; with version, samples and
//	                 events only what came after so many
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

// rest leaves what comes behind so many samples and events. What became of
// flows is sent once, at the end.
func rest(run *record.Run, samples, events int) {
	samples, events = min(samples, len(run.TNS)), min(events, len(run.Events))
	run.TNS, run.Use, run.Queues = run.TNS[samples:], run.Use[samples:], run.Queues[samples:]
	run.Values, run.Paths, run.Events = run.Values[samples:], run.Paths[samples:], run.Events[events:]
	if run.Live {
		run.Flows = nil
	}
}

// answer writes JSON, compressed if the browser takes it.
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
	json.NewEncoder(out).Encode(v) // fails only if nobody listens any more
}

// headers keeps other pages from using this server. On loopback it answers to
// loopback's names only: another name that leads here is an attack (DNS
// rebinding).
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
