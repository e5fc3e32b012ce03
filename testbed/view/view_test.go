// SPDX-License-Identifier: Apache-2.0

package view

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/pauseless/pauseless/testbed/record"
	"github.com/pauseless/pauseless/testbed/scenario"
)

func get(t *testing.T, url string, host string) (int, string) {
	t.Helper()
	req, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if host != "" {
		req.Host = host
	}
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

func TestServerSendsOnlyWhatIsNew(t *testing.T) {
	s := &growing{all: runs()}
	s.grow(5, 4)
	srv := httptest.NewServer(Handler("x", s))
	defer srv.Close()
	type answer struct {
		TNS    []int64    `json:"t_ns"`
		Events [][5]int64 `json:"events"`
		Flows  []any      `json:"flows"`
	}
	read := func(query string) (a answer) {
		t.Helper()
		code, body := get(t, srv.URL+"/api/run?"+query, "")
		if code != http.StatusOK {
			t.Fatalf("%s: %d %s", query, code, body)
		}
		if err := json.Unmarshal([]byte(body), &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, c := range []struct {
		query           string
		samples, events int
		flows           bool
	}{
		{"i=0", 5, 4, true},
		{"i=0&version=0&samples=3&events=1", 2, 3, false},
		{"i=0&version=0&samples=5&events=4", 0, 0, false},
		{"i=0&version=0&samples=99&events=-7", 0, 4, false},
		{"i=0&version=9&samples=3&events=1", 5, 4, true}, // another version: the browser needs everything
	} {
		if a := read(c.query); len(a.TNS) != c.samples || len(a.Events) != c.events || (len(a.Flows) > 0) != c.flows {
			t.Errorf("%s: %d samples, %d events, %d flows", c.query, len(a.TNS), len(a.Events), len(a.Flows))
		}
	}
	for _, query := range []string{"i=1", "i=-1", "i=x", ""} {
		if code, body := get(t, srv.URL+"/api/run?"+query, ""); code != http.StatusNotFound || !strings.Contains(body, "there are 1") {
			t.Errorf("%q: %d %s", query, code, body)
		}
	}
}

// The server accepts only GET, and on loopback only loopback's names.
func TestServerIsForReadersOnThisMachine(t *testing.T) {
	srv := httptest.NewServer(Handler("x", &growing{all: runs()}))
	defer srv.Close()
	for host, want := range map[string]int{"": 200, "localhost:1": 200, "[::1]:80": 200, "evil.example": 403, "evil.example:80": 403} {
		if code, _ := get(t, srv.URL+"/api/runs", host); code != want {
			t.Errorf("Host %q: %d, want %d", host, code, want)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		req, _ := http.NewRequest(method, srv.URL+"/api/runs", nil)
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, r.StatusCode)
		}
	}
	if code, body := get(t, srv.URL+"/", ""); code != 200 || !strings.Contains(body, "Content-Security-Policy") {
		t.Errorf("the page: %d", code)
	}
}

// following is a source of one recording, which a run is writing.
type following struct {
	rec atomic.Pointer[record.Recorder]
}

func (f *following) Recordings() ([]Recording, bool) {
	if r := f.rec.Load(); r != nil {
		return []Recording{r}, true
	}
	return nil, true
}

// A browser that sends a request and never reads the answer delays no run. One
// that polls without pause always gets complete samples.
func TestBrowsersDelayNoRun(t *testing.T) {
	s, err := scenario.Parse("incast.yaml", []byte(strings.Replace(incast, "seeds: [1, 2]", "seeds: [1]", 1)))
	if err != nil {
		t.Fatal(err)
	}
	source := &following{}
	srv := httptest.NewServer(Handler("x", source))
	defer srv.Close()
	done := make(chan error, 1)
	begun, asked := make(chan struct{}), make(chan struct{})
	go func() {
		_, err := s.Run(context.Background(), scenario.Options{Follow: func(st scenario.Start) scenario.Follower {
			source.rec.Store(record.New(st, record.DefaultLimits))
			close(begun)
			<-asked // so that the run does not end before the first request
			return source.rec.Load()
		}})
		done <- err
	}()
	<-begun
	for range 4 {
		dead, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer dead.Close()
		fmt.Fprintf(dead, "GET /api/run?i=0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
	}
	for n := 0; ; n++ {
		code, body := get(t, srv.URL+"/api/run?i=0", "")
		var run record.Run
		if err := json.Unmarshal([]byte(body), &run); code != http.StatusOK || err != nil {
			t.Fatal(code, err)
		}
		if len(run.Use) != len(run.TNS) || len(run.Queues) != len(run.TNS) || len(run.Values) != len(run.TNS) || len(run.Paths) != len(run.TNS) {
			t.Fatalf("an incomplete sample: %d of %d", len(run.Use), len(run.TNS))
		}
		if n == 0 {
			close(asked)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			return
		default:
		}
	}
}

// Other web pages cannot use the server, not even to make it work: a browser says who
// makes a request. Links to the page can be followed.
func TestServerRefusesOtherPages(t *testing.T) {
	srv := httptest.NewServer(Handler("x", &growing{all: runs()}))
	defer srv.Close()
	host := strings.TrimPrefix(srv.URL, "http://")
	for _, c := range []struct {
		path, site, mode, dest, origin string
		want                           int
	}{
		{"/api/run?i=0", "", "", "", "", 200}, // not a browser
		{"/api/run?i=0", "same-origin", "cors", "empty", "http://" + host, 200},
		{"/api/run?i=0", "none", "navigate", "document", "", 200},
		{"/api/run?i=0", "cross-site", "no-cors", "image", "", 403},
		{"/api/run?i=0", "same-site", "cors", "empty", "", 403},
		{"/api/run?i=0", "cross-site", "navigate", "document", "", 403},
		{"/api/runs", "cross-site", "cors", "empty", "https://evil.example", 403},
		{"/api/runs", "", "", "", "https://evil.example", 403},
		{"/api/runs", "", "", "", "null", 403},
		{"/api/runs", "something new", "cors", "empty", "", 403},
		{"/", "cross-site", "navigate", "document", "", 200},
		{"/", "cross-site", "navigate", "iframe", "", 403},
		{"/", "cross-site", "no-cors", "script", "", 403},
		{"/", "none", "navigate", "document", "", 200},
	} {
		req, err := http.NewRequest("GET", srv.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range map[string]string{"Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode, "Sec-Fetch-Dest": c.dest, "Origin": c.origin} {
			if v != "" {
				req.Header.Set(k, v)
			}
		}
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if r.StatusCode != c.want {
			t.Errorf("%+v: %d", c, r.StatusCode)
		}
	}
}

// blocked is a reader of answers that does not read. It is one of many.
type blocked struct {
	header  http.Header
	status  int
	reached chan<- struct{}
	release <-chan struct{}
}

func (b *blocked) Header() http.Header { return b.header }
func (b *blocked) WriteHeader(status int) {
	b.status = status
}
func (b *blocked) Write(p []byte) (int, error) {
	if b.status == http.StatusServiceUnavailable {
		return len(p), nil
	}
	b.reached <- struct{}{}
	<-b.release
	return len(p), nil
}

// Readers that do not read share the bytes of a recording, and their number is
// limited. Before, each had a copy of the whole, 13 MB of a large recording.
func TestUnreadAnswersTakeLittleMemory(t *testing.T) {
	run := *runs()[0]
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 300_000 {
		run.Events = append(run.Events, record.Event{int64(i) * 1e9, 0, 0, rng.Int64N(1 << 40), rng.Int64N(1 << 40)})
	}
	for _, accept := range []string{"gzip", ""} {
		h := Handler("x", &growing{all: []*record.Run{&run}})
		ask := func(b *blocked) {
			req := httptest.NewRequest("GET", "http://localhost/api/run?i=0", nil)
			req.Header.Set("Accept-Encoding", accept)
			h.ServeHTTP(b, req)
		}
		reached, release := make(chan struct{}), make(chan struct{})
		var all sync.WaitGroup
		var before, after runtime.MemStats
		for i := range maxRequests {
			all.Go(func() { ask(&blocked{header: http.Header{}, reached: reached, release: release}) })
			<-reached
			if i == 0 { // the first one has encoded the recording
				runtime.GC()
				runtime.ReadMemStats(&before)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		if each := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / (maxRequests - 1); each > 1<<20 {
			t.Errorf("encoding %q: %d bytes for each reader", accept, each)
		}
		one := &blocked{header: http.Header{}}
		if ask(one); one.status != http.StatusServiceUnavailable || one.header.Get("Retry-After") == "" {
			t.Errorf("encoding %q: one more has status %d", accept, one.status)
		}
		go func() {
			for range reached {
			}
		}()
		close(release)
		all.Wait()
		close(reached)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/api/runs", nil))
		if w.Code != http.StatusOK {
			t.Errorf("after they have read: %d", w.Code)
		}
	}
}
