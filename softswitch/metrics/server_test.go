// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bufio"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pauseless/pauseless/internal/simnet"
	"github.com/prometheus/client_golang/prometheus"
)

// Clients that connect and do nothing, or do not read, are disconnected, and those
// beyond a number at once: others are served meanwhile or soon.
func TestServerDropsIdleClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(rand.New(rand.NewPCG(1, 1)))
		l, err := n.Listen("switch:9100")
		if err != nil {
			t.Fatal(err)
		}
		h := NewServer(prometheus.NewRegistry(), "index", func() string { return "ok\n" })
		done := make(chan error, 1)
		go func() { done <- h.Serve(l) }()
		dial := func() net.Conn {
			c, err := n.Dialer("client")(t.Context(), "switch:9100")
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		get := func(c net.Conn) string {
			if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: switch\r\n\r\n"); err != nil {
				return ""
			}
			r, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				return ""
			}
			text, _ := io.ReadAll(r.Body)
			return string(text)
		}
		closed := func(c net.Conn) bool {
			_ = c.SetReadDeadline(time.Now().Add(time.Second))
			_, err := c.Read(make([]byte, 1))
			return err != nil && !strings.Contains(err.Error(), "timeout")
		}
		kept := dial()
		if got := get(kept); got != "ok\n" {
			t.Fatalf("health is %q", got)
		}
		var idle []net.Conn
		for range maxConns - 1 {
			idle = append(idle, dial())
		}
		synctest.Wait()
		if c := dial(); !closed(c) {
			t.Errorf("connection %d is served", maxConns+1)
		}
		time.Sleep(headerTime + time.Second)
		for i, c := range idle {
			if !closed(c) {
				t.Fatalf("connection %d is kept without a request", i)
			}
		}
		if got := get(kept); got != "ok\n" {
			t.Errorf("health is %q for a client that was there before", got)
		}
		time.Sleep(idleTime + time.Second)
		if !closed(kept) {
			t.Error("an idle connection is kept")
		}
		if got := get(dial()); got != "ok\n" {
			t.Errorf("health is %q after others have idled", got)
		}
		_ = h.Close()
		<-done
	})
}
