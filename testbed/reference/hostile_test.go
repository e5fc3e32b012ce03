// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/yamlfile/yamltest"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// Each key of each kind of file has each of the values of package yamltest. The file is
// refused at its line or with its name, or means another thing
// than without the key.
func TestHostileKeys(t *testing.T) {
	parse := map[string]func(name string, text []byte) (any, error){
		"profile":  func(name string, text []byte) (any, error) { return gen.Parse(name, text) },
		"topology": func(name string, text []byte) (any, error) { return topo.Parse(name, text) },
		"scenario": func(name string, text []byte) (any, error) { return scenario.Parse(name, text) },
	}
	more := map[string]string{"scenario": `
packets:
- {from: h1, to: h2, udp: {destination: 9}, size: 100B}
expect:
- {at: h2, least: 0}
claims:
- {less: avg_fct_us, with: drill, than: rlb-drill}
`}
	notFinite := regexp.MustCompile(`(?i)nan|inf|1e[34]`)
	zero := regexp.MustCompile(`^(0(us|KB|Gbps)?|""|" "|\[\]|\{\})$`)
	for _, k := range kinds {
		read := parse[k.name]
		if read == nil {
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			base, err := os.ReadFile(filepath.Join("testdata", k.name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			base = append(base, more[k.name]...)
			plain, err := read("x.yaml", base)
			if err != nil {
				t.Fatal(err)
			}
			tried, taken := 0, 0
			seen := 0
			err = yamltest.Hostile(string(base), k.defaults, func(c yamltest.Text) {
				// A cause of a claim names an experiment.
				if seen++; os.Getenv("HOSTILE_KEYS") != "all" && seen%11 != 0 || strings.HasPrefix(c.Key.String(), "claims.0.because") {
					return
				}
				tried++
				var was any
				var err error
				if took := need.Work(func() { was, err = read("x.yaml", c.YAML) }); took > 5*time.Second {
					t.Errorf("%v: %s takes %v", c.Key, c.Value, took)
				}
				if err == nil {
					taken++
					if reflect.DeepEqual(was, plain) && !zero.MatchString(c.Value) {
						t.Errorf("%v: %s is taken and does nothing", c.Key, c.Value)
					}
					if notFinite.MatchString(c.Value) && c.Key.Type.Kind() != reflect.String {
						t.Errorf("%v takes %s, which is no number", c.Key, c.Value)
					} else if c.Key.Type.Kind() != reflect.String {
						t.Logf("%v takes %s", c.Key, c.Value)
					}
					return
				}
				var list diag.List
				if !errors.As(err, &list) || list[0].Pos.File() != "x.yaml" || list[0].Pos.Line == 0 {
					t.Errorf("%v: %s: %v, want a line of the file", c.Key, c.Value, err)
					return
				}
				if slices.ContainsFunc(list, func(d *diag.Diagnostic) bool { return int(d.Pos.Line) == c.Line }) {
					return
				}
				if c.Key.String() == "network.change.0.remove" {
					return // a fault names the link
				}
				for _, key := range c.Key.Path {
					if key != "0" && strings.Contains(err.Error(), key) {
						return
					}
				}
				t.Errorf("%v: %s: %v, want its name", c.Key, c.Value, err)
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d texts, %d are taken", tried, taken)
		})
	}
}

// Each parameter of each block, in a built-in profile that has it, likewise.
func TestHostileParameters(t *testing.T) {
	put := func(profile, key, value string) (*yamltest.Text, error) {
		base, err := gen.Source(profile)
		if err != nil {
			t.Fatal(err)
		}
		c, err := yamltest.Put(string(base), yamltest.Key{Path: []string{"set", key}}, value)
		if err != nil {
			t.Fatal(err)
		}
		_, err = gen.Parse("x.yaml", c.YAML)
		return c, err
	}
	tried, taken := 0, 0
	for _, k := range gen.ParameterKeys() {
		i := slices.IndexFunc(gen.Names(), func(name string) bool {
			return slices.ContainsFunc([]string{"1", "1us", "20us", "1ms", "1KB", "100KB", "300KB", "1Gbps", "0.5"}, func(v string) bool {
				_, err := put(name, k.Name, v)
				return err == nil
			})
		})
		if i < 0 {
			t.Errorf("no built-in profile takes %s", k.Name)
			continue
		}
		name := gen.Names()[i]
		for _, value := range yamltest.Values {
			tried++
			c, err := put(name, k.Name, value)
			switch {
			case err == nil:
				taken++
				if strings.ContainsAny(value, "nN-e") {
					t.Errorf("%s of %s takes %s", k.Name, name, value)
				}
			case !strings.Contains(err.Error(), fmt.Sprintf("x.yaml:%d:", c.Line)) || !strings.Contains(err.Error(), k.Name):
				t.Errorf("%s of %s: %s: %v, want the line and the name", k.Name, name, value, err)
			}
		}
		for _, rate := range []string{"", "0Gbps", "-1Gbps", "NaNGbps", "1furlong", "9223372036854775807Gbps"} {
			if _, err := put(name, k.Name+"@"+rate, "0"); err == nil {
				t.Errorf("%s takes a value for links of %q", k.Name, rate)
			}
		}
	}
	t.Logf("%d texts, %d are taken", tried, taken)
	for key, in := range map[string]string{"rlb.warn": "ecmp", "rlb.warn@40Gbps": "letflow"} {
		if _, err := put(in, key, "100KB"); err == nil || !strings.Contains(err.Error(), key+" has no effect") {
			t.Errorf("%s in %s: %v", key, in, err)
		}
	}
}
