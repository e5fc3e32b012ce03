// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/testbed/local"
	"github.com/pauseless/pauseless/testbed/netns"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/vishvananda/netlink"
)

// The scripts in testdata/deploy build networks on this machine. Their
// conditions say what of it is needed: [veth] root and a kernel with veth
// interfaces, [bmv2], [mininet], [iperf3] and [tshark] programs. What is
// missing is named.
func TestDeployScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/deploy",
		UpdateScripts: os.Getenv("UPDATE_GOLDEN") == "1",
		Setup: func(e *testscript.Env) error {
			e.Setenv("BMV2", os.Getenv("BMV2"))
			// Each script's network is called zd-SCRIPT, so that it goes even if
			// the script fails.
			name := "zd-" + strings.TrimPrefix(filepath.Base(e.WorkDir), "script-")
			e.Defer(func() { netns.Down(name) })
			return nil
		},
		Condition: func(cond string) (bool, error) {
			err := have(cond)
			if err != nil {
				t.Logf("SKIP what needs %s: %v", cond, err)
			}
			return err == nil, nil
		},
	})
}

func have(what string) error {
	switch what {
	case "veth":
		if os.Geteuid() != 0 {
			return fmt.Errorf("not root")
		}
		probe := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "zdprobe0"}, PeerName: "zdprobe1"}
		if err := netlink.LinkAdd(probe); err != nil {
			return err
		}
		return netlink.LinkDel(probe)
	case "bmv2":
		_, err := local.FindSimpleSwitch(os.Getenv("BMV2"))
		return err
	case "mininet":
		return exec.Command("/usr/bin/python3", "-c", "import mininet").Run()
	case "iperf3", "tshark", "ping":
		_, err := exec.LookPath(what)
		return err
	}
	return fmt.Errorf("no such condition")
}
