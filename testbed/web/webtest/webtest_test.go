// SPDX-License-Identifier: Apache-2.0

package webtest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/pauseless/pauseless/internal/need"
)

// reports is a test that notes its errors.
type reports struct {
	testing.TB
	mu   sync.Mutex
	text []string
}

func (r *reports) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, fmt.Sprintf(format, args...))
}

// Whatever reaches the console fails the test, and a silent page does not.
func TestAnyMessageOfTheConsoleIsAnError(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"silent":    {"", ""},
		"log":       {"console.log('a', 7)", `(log): "a" 7`},
		"debug":     {"console.debug('f')", `(debug): "f"`},
		"warning":   {"console.warn('b')", `(warning): "b"`},
		"error":     {"console.error(new Error('c'))", "(error): Error: c"},
		"exception": {"setTimeout(() => { throw new Error('d'); })", "threw: "},
		"rejection": {"Promise.reject(new Error('e'))", "Error: e"},
		"missing":   {"fetch('/nothing')", "404"},
		"refused":   {"eval('1')", "Content Security Policy"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				w.Header().Set("Content-Security-Policy", "script-src 'unsafe-inline'")
				fmt.Fprintf(w, `<!doctype html><html><link rel="icon" href="data:,"><title>page</title><script>%s</script><script>document.documentElement.dataset.ready = 'yes'</script>`, c.script)
			}))
			defer srv.Close()
			r := &reports{TB: t}
			p := Open(r, srv.URL, 400, 300)
			// Events come in order, those of the network when there is an answer.
			Eval[any](p, "1")
			got := ""
			need.Poll(func() bool {
				r.mu.Lock()
				defer r.mu.Unlock()
				got = strings.Join(r.text, "\n")
				return got != "" || c.want == ""
			})
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("the test reports %q, want %q", got, c.want)
			}
		})
	}
}
