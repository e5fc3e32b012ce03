// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/topo"
)

// goreleaser accepts the configuration of releases. `make snapshot` builds them.
func TestReleaseConfiguration(t *testing.T) {
	cmd := exec.Command(need.Tool(t, "GORELEASER", "goreleaser"), "check")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// exactImage is an image with a version of three numbers, and perhaps a digest.
var exactImage = regexp.MustCompile(`^[a-z/]+:v?\d+\.\d+\.\d+(@sha256:[0-9a-f]{64})?$`)

// Images that others make have exact versions.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(text), -1) {
		if m[1] != "scratch" && !exactImage.MatchString(m[1]) {
			t.Errorf("image %q has no exact version", m[1])
		}
	}
}

// The compose file has valid command lines and a valid topology, and publishes
// ports on loopback only. The controller's command line had the topology as a flag
// of ctl, and so ended at once.
func TestComposeFile(t *testing.T) {
	text, err := os.ReadFile("../../packaging/compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Services map[string]struct {
			Build   string
			Image   string
			Command []string
			Ports   []string
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	ours := 0
	for name, s := range file.Services {
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s: port %s is published to every network, without password or certificate", name, port)
			}
		}
		if s.Build == "" {
			if !exactImage.MatchString(s.Image) {
				t.Errorf("%s: image %q has no exact version", name, s.Image)
			}
			continue
		}
		for _, arg := range s.Command {
			if strings.Contains(arg, "0.0.0.0") {
				t.Errorf("%s listens on %s, for all networks and without TLS", name, arg)
			}
		}
		ours++
		cmd, rest, err := newRootCmd().Find(s.Command)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil || !cmd.Runnable() {
			t.Errorf("%s: %v: %v", name, s.Command, err)
		}
		if name == "controller" {
			root := newRootCmd()
			for i, arg := range s.Command {
				s.Command[i] = strings.Replace(arg, "/etc/pauseless", "../../packaging", 1)
			}
			root.SetArgs(s.Command)
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			var wrong usageError
			if err := root.ExecuteContext(ended); errors.As(err, &wrong) {
				t.Error(err)
			}
		}
	}
	if ours != 2 {
		t.Errorf("%d services run pauseless, want a switch and a controller", ours)
	}
	net, err := topo.Read("../../packaging/topology.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if at := net.NodeByName("l1").Address; at != "switch:9559" {
		t.Errorf("l1 is at %q", at)
	}
}

// Shell completion offers the values of flags.
func TestValuesAreCompleted(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"gen", "--profile", ""}, "rlb-drill"},
		{[]string{"gen", "--target", ""}, gen.Targets[0]},
		{[]string{"fabric", "run", "--cc", ""}, "dcqcn"},
		{[]string{"fabric", "run", "--profile", ""}, "ecmp"},
		{[]string{"schema", ""}, "scenario"},
	} {
		root := newRootCmd()
		var out lineList
		root.SetOut(&out)
		root.SetArgs(append([]string{"__complete"}, c.args...))
		if err := root.Execute(); err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(out.lines(), c.want) {
			t.Errorf("%v: %q is not offered: %q", c.args, c.want, out.lines())
		}
	}
}

// lineList has the lines that were printed, each up to a tab.
type lineList struct{ bytes.Buffer }

func (l *lineList) lines() []string {
	var list []string
	for line := range strings.Lines(l.String()) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
		list = append(list, word)
	}
	return list
}
