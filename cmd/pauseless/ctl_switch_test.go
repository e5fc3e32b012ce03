// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/tool"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/rogpeppe/go-internal/testscript"
)

// The scripts in testdata/target run on softswitch and, if it is installed, on
// BMv2. The command "start" starts a switch without a program; $addr is its
// address, $thrift BMv2's Thrift server, and $pid its process. The program
// everything.p4 has entities of all kinds.
func TestCtlOnSwitches(t *testing.T) {
	for _, kind := range []local.Kind{local.SoftSwitch, local.BMv2} {
		t.Run(string(kind), func(t *testing.T) {
			path := ""
			if kind == local.BMv2 {
				path = need.Tool(t, "BMV2", "simple_switch_grpc")
			}
			testscript.Run(t, testscript.Params{
				Dir: "testdata/target",
				Setup: func(e *testscript.Env) error {
					text, err := os.ReadFile("../../bmv2tests/controller/testdata/everything.p4")
					if err != nil {
						return err
					}
					e.Setenv("KIND", string(kind))
					return os.WriteFile(filepath.Join(e.WorkDir, "everything.p4"), text, 0o644)
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){
					"start": func(ts *testscript.TestScript, _ bool, _ []string) { startSwitch(ts, path) },
				},
				Condition: func(cond string) (bool, error) { return cond == string(kind), nil },
			})
		})
	}
}

// startSwitch starts simple_switch_grpc if its path is given, otherwise softswitch.
func startSwitch(ts *testscript.TestScript, simpleSwitch string) {
	addr, thrift := held(ts), ""
	var cmd *exec.Cmd
	if simpleSwitch != "" {
		thrift = held(ts)
		_, port, err := net.SplitHostPort(thrift)
		ts.Check(err)
		cmd = exec.Command(simpleSwitch, "--no-p4", "--device-id", "1", "--thrift-port", port, "--", "--grpc-server-addr", addr, "--cpu-port", "510")
	} else {
		self, err := exec.LookPath("pauseless")
		if err != nil {
			ts.Check(err)
		}
		cmd = exec.Command(self, "switch", "--grpc", addr, "--port", "1@mem:a", "--port", "2@mem:a")
		cmd.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"))
	}
	ts.Check(cmd.Start())
	ts.Setenv("pid", strconv.Itoa(cmd.Process.Pid))
	ts.Defer(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	var err error
	if !need.Poll(func() bool {
		var conn net.Conn
		if conn, err = net.Dial("tcp", addr); err == nil {
			conn.Close()
		}
		return err == nil
	}) {
		ts.Fatalf("the switch does not listen: %v", err)
	}
	ts.Setenv("addr", addr)
	ts.Setenv("thrift", thrift)
}

// held returns an address that no other test gets until the script ends.
func held(ts *testscript.TestScript) string {
	addr, release, err := tool.HoldPort()
	ts.Check(err)
	ts.Defer(release)
	return addr
}
