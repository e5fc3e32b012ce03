// SPDX-License-Identifier: Apache-2.0

package local

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/topo"
)

// App adds to the plan what a p4app.json of p4-utils has executed: its tasks to the
// commands of hosts, and its scripts. Self is this program, which waits for the times of
// tasks. It returns what is left out, one text each.
func (p *Plan) App(self string) (left []string, err error) {
	app := &p.Topology.App
	if app.File == "" {
		return nil, nil
	}
	dir, err := filepath.Abs(filepath.Dir(app.File))
	if err != nil {
		return nil, err
	}
	if app.Tasks != "" {
		file := app.Tasks
		if !filepath.IsAbs(file) {
			file = filepath.Join(filepath.Dir(app.File), file)
		}
		text, err := infile.Read(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: tasks_file: there is no file %s", app.File, file)
		}
		if err == nil {
			left, err = p.tasks(self, file, string(text))
		}
		if err != nil {
			return nil, err
		}
	}
	for _, text := range app.Scripts {
		c, err := command(text)
		if err != nil {
			return nil, fmt.Errorf("%s: exec_scripts: command %q: %w", app.File, text, err)
		}
		if c.Words[0] == "sudo" && len(c.Words) > 1 && os.Geteuid() == 0 {
			c.Words = c.Words[1:]
		}
		p.Scripts = append(p.Scripts, Command{Words: append([]string{"env", "-C", dir}, c.Words...), Background: true})
	}
	return left, nil
}

// taskFunctions are those of p4-utils' module traffic_utils, in Python.
var taskFunctions = []string{"send_udp_flow", "recv_udp_flow"}

// longestTask is the largest time in a tasks_file in seconds: 100 days.
const longestTask = 8_640_000

// tasks adds the tasks of a file: lines NODE START DURATION COMMAND, times in seconds.
func (p *Plan) tasks(self, file, text string) (left []string, err error) {
	var names []string
	for _, h := range p.Hosts {
		names = append(names, h.Name)
	}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "//") {
			continue
		}
		fail := func(format string, args ...any) ([]string, error) {
			return nil, fmt.Errorf("%s:%d: %s", file, i+1, fmt.Sprintf(format, args...))
		}
		words, err := command(line)
		if err != nil {
			return fail("%v", err)
		}
		w := words.Words
		if len(w) < 4 {
			return fail("expected NODE START DURATION COMMAND, found %q", line)
		}
		start, err1 := strconv.ParseFloat(w[1], 64)
		duration, err2 := strconv.ParseFloat(w[2], 64)
		if err := cmp.Or(err1, err2); err != nil || !(start >= 0 && start <= longestTask && duration >= 0 && duration <= longestTask) {
			return fail("start %s and duration %s must be numbers of seconds, at most %v", w[1], w[2], longestTask)
		}
		h := slices.IndexFunc(p.Hosts, func(h Host) bool { return h.Name == w[0] })
		if n := p.Topology.NodeByName(w[0]); n != nil && n.Kind == topo.Switch {
			left = append(left, fmt.Sprintf("%s:%d: %s is a switch: only tasks of hosts are executed", file, i+1, w[0]))
			continue
		} else if h < 0 {
			return fail("no host is called %q%s", w[0], diag.DidYouMean(w[0], names))
		}
		if slices.Contains(taskFunctions, w[3]) || slices.Contains(w[4:], "--mod") {
			left = append(left, fmt.Sprintf("%s:%d: %s is a function of p4-utils in Python: only commands are executed, such as \"iperf3 -c 10.0.0.2\"", file, i+1, w[3]))
			continue
		}
		exe, err := command(w[3])
		if err != nil {
			return fail("%v", err)
		}
		run := []string{self, "deploy", "task", strconv.FormatFloat(start, 'f', -1, 64), strconv.FormatFloat(max(duration, 0), 'f', -1, 64)}
		p.Hosts[h].Commands = append(p.Hosts[h].Commands, Command{Words: append(append(run, exe.Words...), w[4:]...), Background: true})
	}
	return left, nil
}
