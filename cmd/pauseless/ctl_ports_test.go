// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/metrics"
	"github.com/pauseless/pauseless/softswitch/solo"
)

// The ports of our own switch are those of its metrics; without these, a topology and
// Thrift, the error says what to give.
func TestPortsOfOurSwitch(t *testing.T) {
	sw, err := softswitch.New(softswitch.Config{Name: "s", Ports: []softswitch.Port{{Number: 1}, {Number: 7}}})
	if err != nil {
		t.Fatal(err)
	}
	solo.New(sw)
	sw.Lock()
	sw.LinkChanged(7, false)
	sw.Unlock()
	reg := prometheus.NewRegistry()
	reg.MustRegister(metrics.NewSwitch(sw))
	srv := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{}))
	defer srv.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	page := srv.Listener.Addr().String()
	for _, c := range []struct {
		args []string
		code int
		want string // a pattern of the output
	}{
		{[]string{"--metrics", page}, 0, `(?s)1 +up.*7 +down`},
		{[]string{"--metrics", "a=" + page}, 0, `(?s)1 +up.*7 +down`},
		{nil, 1, `P4Runtime does not describe ports: give --topology FILE, --metrics HOST:PORT of pauseless switch --http`},
		{[]string{"--metrics", "b=" + page}, 2, `--metrics: no switch is called "b"`},
		{[]string{"--metrics", page, "--metrics", page}, 2, `2 --metrics addresses for 1 switches`},
		{[]string{"--metrics", other.Listener.Addr().String()}, 1, `404 Not Found; give the address of .pauseless switch --http`},
	} {
		var out strings.Builder
		args := append([]string{"pauseless", "ctl", "--addr", "a=127.0.0.1:1", "ports"}, c.args...)
		if code := run(args[1:], strings.NewReader(""), &out, &out); code != c.code || !regexp.MustCompile(c.want).MatchString(out.String()) {
			t.Errorf("%v: code %d, want %d with %s; output\n%s", c.args, code, c.code, c.want, out.String())
		}
	}
}
