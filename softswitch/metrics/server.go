// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Limits of the HTTP server.
const (
	maxConns    = 64 // more are closed at once
	maxScrapes  = 4  // at once; more get 503 Service Unavailable
	headerTime  = 5 * time.Second
	writeTime   = 30 * time.Second // for a request and its answer
	idleTime    = time.Minute
	maxHeader   = 16 << 10 // bytes
	maxScraping = 20 * time.Second
)

// NewServer returns a server for the metrics of reg at /metrics, and for health at
// /healthz. A client cannot hold its memory: connections, scrapes at once and the time
// of each are limited.
func NewServer(reg prometheus.Gatherer, index string, health func() string) *http.Server {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{MaxRequestsInFlight: maxScrapes, Timeout: maxScraping}))
	text := func(pattern string, get func() string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			_, _ = w.Write([]byte(get())) // the client may have gone
		})
	}
	text("/{$}", func() string { return index })
	text("/healthz", health)
	var conns atomic.Int64
	return &http.Server{
		Handler: mux, ReadHeaderTimeout: headerTime, ReadTimeout: writeTime, WriteTimeout: writeTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ConnState: func(c net.Conn, state http.ConnState) {
			switch state {
			case http.StateNew:
				if conns.Add(1) > maxConns {
					_ = c.Close() // its state becomes StateClosed
				}
			case http.StateClosed, http.StateHijacked:
				conns.Add(-1)
			}
		},
	}
}
