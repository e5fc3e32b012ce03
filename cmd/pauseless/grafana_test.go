// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/metrics"
	"github.com/pauseless/pauseless/testbed/program"
)

// The metrics, labels and registers in the dashboard's queries exist.
func TestDashboardQueries(t *testing.T) {
	profile, err := program.Load("rlb-pbfs")
	if err != nil {
		t.Fatal(err)
	}
	p, err := program.Build(profile)
	if err != nil {
		t.Fatal(err)
	}
	sw, err := softswitch.New(softswitch.Config{Name: "s", DeviceID: 1, Ports: []softswitch.Port{{Number: 1}, {Number: 2}}})
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := bmv2json.Decode("p.json", p.JSON)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := interp.Compile(decoded, interp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	sw.Load(loaded)
	reg.MustRegister(metrics.NewSwitch(sw))
	metrics.NewCalls(reg).Ended("Write", codes.OK, time.Millisecond)
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := make(map[string]map[string]map[string]bool) // metric, label, value
	for _, f := range families {
		names := []string{f.GetName()}
		if f.GetType().String() == "HISTOGRAM" {
			names = []string{f.GetName() + "_bucket", f.GetName() + "_sum", f.GetName() + "_count"}
		}
		for _, name := range names {
			values := map[string]map[string]bool{"instance": {}, "le": {}}
			for _, m := range f.Metric {
				for _, l := range m.Label {
					if values[l.GetName()] == nil {
						values[l.GetName()] = make(map[string]bool)
					}
					values[l.GetName()][l.GetValue()] = true
				}
			}
			labels[name] = values
		}
	}
	text, err := os.ReadFile("../../docs/grafana/pauseless.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	selector := regexp.MustCompile(`(softswitch_\w+)\{([^}]*)\}`)
	matcher := regexp.MustCompile(`(\w+)(=~|!=|=)"([^"]*)"`)
	asked := 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			for _, s := range selector.FindAllStringSubmatch(target.Expr, -1) {
				asked++
				have, ok := labels[s[1]]
				if !ok {
					t.Errorf("%s: there is no metric %s", p.Title, s[1])
					continue
				}
				for _, m := range matcher.FindAllStringSubmatch(s[2], -1) {
					values, ok := have[m[1]]
					if !ok {
						t.Errorf("%s: %s has no label %s", p.Title, s[1], m[1])
						continue
					}
					if m[1] == "instance" || m[2] == "!=" {
						continue
					}
					for _, v := range regexp.MustCompile(`\|`).Split(m[3], -1) {
						if !values[v] {
							t.Errorf("%s: %s has no %s %q", p.Title, s[1], m[1], v)
						}
					}
				}
			}
		}
	}
	if asked < len(dashboard.Panels) {
		t.Errorf("%d panels query %d metrics", len(dashboard.Panels), asked)
	}
}
