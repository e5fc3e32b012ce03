// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/bfrt/bfrttest"
	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/grpc"
)

type wedgeKey struct{}

// The scripts in testdata/wedge talk to a Tofino switch in memory without a program, at
// $addr. $dir has DRILL's program for the topology $network. "stat PORT NAME=VALUE…"
// sets counters of a port, and "bind PROGRAM" connects a controller, client 9, which
// owns the program.
func TestTofinoScripts(t *testing.T) {
	network := filepath.Join(t.TempDir(), "wedges.yaml")
	if err := os.WriteFile(network, []byte(tofinoNetwork), 0o666); err != nil {
		t.Fatal(err)
	}
	dir := compiledForTofino(t, "drill", network)
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/wedge",
		UpdateScripts: os.Getenv("UPDATE_GOLDEN") == "1",
		Setup: func(e *testscript.Env) error {
			server, err := bfrttest.New(2, bfrttest.Device)
			if err != nil {
				return err
			}
			if err := server.PutPanel(bfrttest.Panel()); err != nil {
				return err
			}
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			g := grpc.NewServer()
			server.Serve(g)
			go g.Serve(listener)
			e.Defer(g.Stop)
			e.Setenv("addr", listener.Addr().String())
			e.Setenv("network", network)
			e.Setenv("dir", dir)
			e.Values[wedgeKey{}] = server
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"stat": func(ts *testscript.TestScript, _ bool, args []string) {
				port, err := strconv.Atoi(args[0])
				ts.Check(err)
				counters := make(map[string]int)
				for _, a := range args[1:] {
					name, text, _ := strings.Cut(a, "=")
					v, err := strconv.Atoi(text)
					ts.Check(err)
					counters["$"+name] = v
				}
				ts.Check(ts.Value(wedgeKey{}).(*bfrttest.Server).PutStat(port, counters))
			},
			"bind": func(ts *testscript.TestScript, _ bool, args []string) {
				c, err := bfrt.Dial(t.Context(), ts.Getenv("addr"), bfrt.Options{ClientID: 9})
				ts.Check(err)
				ts.Defer(func() { c.Close() })
				ts.Check(c.Bind(t.Context(), args[0]))
			},
		},
	})
}
