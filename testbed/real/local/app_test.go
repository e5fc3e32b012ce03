// SPDX-License-Identifier: Apache-2.0

package local

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/topo"
)

// plan returns the plan of a p4app.json with tasks.
func appPlan(t *testing.T, tasks string) (*Plan, []string, error) {
	t.Helper()
	dir := t.TempDir()
	app := filepath.Join(dir, "p4app.json")
	for file, text := range map[string]string{
		app: `{"tasks_file": "tasks.txt", "exec_scripts": [{"cmd": "python3 controller.py s1", "reboot_run": true}],
			"topology": {"links": [["h1", "s1"], ["h2", "s1"]], "hosts": {"h1": {}, "h2": {}}, "switches": {"s1": {}}}}`,
		filepath.Join(dir, "tasks.txt"): tasks,
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	net, err := topo.Read(app)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(net, Options{Kind: SoftSwitch, Own: true})
	if err != nil {
		t.Fatal(err)
	}
	left, err := p.App("pauseless")
	return p, left, err
}

// Tasks and scripts of a p4app.json are commands of hosts and of this machine, without a
// shell that reads them; functions of p4-utils are left out with a text.
func TestTasksAndScriptsOfP4Utils(t *testing.T) {
	p, left, err := appPlan(t, "# a comment\nh2 10.5 30 \"ping 10.0.0.1\" -c 3\n\nh1 0 0 iperf3 -s\nh1 1 1 recv_udp_flow --dport 5051\ns1 0 0 \"python x.py\"\n")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%q %q %q", p.Hosts[0].Commands[len(p.Hosts[0].Commands)-1].Words, p.Hosts[1].Commands[len(p.Hosts[1].Commands)-1].Words, p.Scripts[0].Words[3:])
	if want := `["pauseless" "deploy" "task" "0" "0" "iperf3" "-s"] ["pauseless" "deploy" "task" "10.5" "30" "ping" "10.0.0.1" "-c" "3"] ["python3" "controller.py" "s1"]`; got != want {
		t.Errorf("commands are\n%s, want\n%s", got, want)
	}
	if len(left) != 2 || !strings.Contains(left[0], "tasks.txt:5: recv_udp_flow is a function of p4-utils") || !strings.Contains(left[1], "tasks.txt:6: s1 is a switch") {
		t.Errorf("left out: %q", left)
	}
	for tasks, want := range map[string]string{
		"h1 0 ping":               "tasks.txt:1: expected NODE START DURATION COMMAND",
		"h1 soon 0 ping":          "start soon and duration 0 must be numbers of seconds",
		"h1 -1 0 ping":            "must be numbers of seconds",
		"h1 0 NaN ping":           "must be numbers of seconds",
		"h9 0 0 ping":             `no host is called "h9"`,
		"h1 0 0 ping | sh":        "means something to a shell",
		"h1 0 0 \"ping; reboot\"": "means something to a shell",
	} {
		if _, _, err := appPlan(t, tasks); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", tasks, err, want)
		}
	}
}
