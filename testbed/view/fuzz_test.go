// SPDX-License-Identifier: Apache-2.0

package view

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/pauseless/pauseless/testbed/record"
)

type one struct{ run record.Run }

func (o one) Recordings() ([]Recording, bool)       { return []Recording{o}, true }
func (o one) Snapshot() (r record.Run, version int) { return o.run, 1 }

// FuzzQueries checks that any query has an answer with status 200 to 499, and
// never a panic.
func FuzzQueries(f *testing.F) {
	f.Add("/api/run", "i=0&version=1&samples=1&events=9223372036854775807", "localhost")
	f.Add("/api/run", "i=-1", "")
	f.Add("/api/runs", "%zz", "evil.example")
	f.Add("/", "", "127.0.0.1:1")
	f.Fuzz(func(t *testing.T, path, query, host string) {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: path, RawQuery: query}, Host: host, Header: http.Header{}, RequestURI: path}
		w := httptest.NewRecorder()
		Handler("fuzz", one{record.Run{Live: true}}).ServeHTTP(w, r)
		if w.Code < 200 || w.Code > 499 {
			t.Errorf("%q %q: %d", path, query, w.Code)
		}
	})
}
