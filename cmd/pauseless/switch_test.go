// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch/port"
	"github.com/rogpeppe/go-internal/testscript"
)

// Sessions with the verbs switch and stf. Their folder has a file in.pcap of two
// packets, and entries for forward.p4 that drop them.
func TestSwitchScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/switch",
		Setup: func(e *testscript.Env) error {
			l, err := port.OpenPcap("", filepath.Join(e.WorkDir, "in.pcap"))
			if err != nil {
				return err
			}
			f := &packet.Frame{Data: make([]byte, 14), Elided: 46}
			packet.Ethernet(f.Data).Set(packet.MAC{2, 5: 2}, packet.MAC{2, 5: 1}, packet.EtherTypeIPv4)
			if err := l.Write([]*packet.Frame{f, f}); err != nil {
				return err
			}
			if err := l.Close(); err != nil {
				return err
			}
			r, list := compiler.Compile(compiler.Options{File: filepath.Join(e.WorkDir, "forward.p4")})
			if err := list.Err(); err != nil {
				return err
			}
			var drop uint32
			for _, a := range r.P4Info.Actions {
				if strings.HasSuffix(a.Preamble.Name, "drop") {
					drop = a.Preamble.Id
				}
			}
			text := fmt.Sprintf(`updates { type: INSERT entity { table_entry { table_id: %d
				match { field_id: 1 exact { value: "\010\000" } } action { action { action_id: %d } } } } }`, r.P4Info.Tables[0].Preamble.Id, drop)
			return os.WriteFile(filepath.Join(e.WorkDir, "entries.txtpb"), []byte(text), 0o644)
		},
	})
}

// A switch serves metrics and health on its HTTP address, and ends on Ctrl-C.
func TestSwitchServesMetricsAndStops(t *testing.T) {
	addr := need.Port(t)
	self, err := exec.LookPath("pauseless") // testscript.Main puts it on PATH
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, self, "switch", "--port", "1@mem:a", "--port", "2@mem:a", "--grpc", "127.0.0.1:0", "--http", addr, "--log", "error")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	get := func(path string) (string, error) {
		req, err := http.NewRequestWithContext(ctx, "GET", "http://"+addr+path, nil)
		if err != nil {
			return "", err
		}
		r, err := http.DefaultClient.Do(req)
		if err != nil {
			return "", err
		}
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		return string(b), err
	}
	var text string
	need.Poll(func() bool {
		text, err = get("/healthz")
		return err == nil
	})
	if text != "ok\n" {
		t.Errorf("health %q, %v", text, err)
	}
	text, err = get("/metrics")
	for _, want := range []string{"softswitch_received_packets_total 0", `softswitch_port_sent_bytes_total{class="7",port="2"} 0`, "go_goroutines", "process_cpu_seconds_total"} {
		if !strings.Contains(text, want) {
			t.Errorf("metrics without %s: %v", want, err)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil && ctx.Err() != nil {
		t.Errorf("it did not stop on an interrupt: %v", err)
	}
}
