// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile/yamltest"
	"github.com/pauseless/pauseless/softswitch"
)

// A switch with lossless classes has a watchdog on all ports, unless the file says
// otherwise, and a headroom that leaves half of the buffer, also with a port without a
// rate, and for any number of ports and classes.
func TestSwitchFilesWithPFC(t *testing.T) {
	read := func(text string) (softswitch.Config, error) {
		t.Helper()
		name := filepath.Join(t.TempDir(), "s.yaml")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := readSwitchFile(name)
		if err != nil {
			return softswitch.Config{}, err
		}
		cfg, _, err := c.config()
		return cfg, err
	}
	const head = `
ports:
- {number: 1, link: "mem:a", rate: 1Gbps PORT}
- {number: 2, link: "mem:a"}
- {number: 3, internal: true}
buffer: {size: 2MB}
pfc: {lossless: [3, 4], thresholds: {xoff: 50KB}WATCHDOG}
`
	for _, c := range []struct {
		port, watchdog string
		want           [2]uint8 // watched classes of ports 1 and 2
		detection      vtime.Time
	}{
		{"", "", [2]uint8{24, 24}, 200 * vtime.Millisecond},
		{", watchdog: {action: off}", "", [2]uint8{0, 24}, 200 * vtime.Millisecond},
		{", watchdog: {classes: [4]}", ", watchdog: {detection: 1s, action: forward}", [2]uint8{16, 24}, vtime.Second},
		{", watchdog: {action: alert}", ", watchdog: {action: off}", [2]uint8{24, 0}, 200 * vtime.Millisecond},
	} {
		cfg, err := read(strings.NewReplacer(" PORT", c.port, "WATCHDOG", c.watchdog).Replace(head))
		if err != nil {
			t.Fatal(err)
		}
		sw, err := softswitch.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]uint8{sw.Watched(1), sw.Watched(2)}; got != c.want || sw.Watched(3) != 0 || cfg.PFC.Watchdog.Detection != c.detection {
			t.Errorf("%q%q: classes %v are watched, want %v; detection %v, want %v", c.port, c.watchdog, got, c.want, cfg.PFC.Watchdog.Detection, c.detection)
		}
		for _, p := range cfg.Ports[:2] { // half of 2 MB for two ports of two classes
			if p.PFC.Headroom != 250*vtime.KB {
				t.Errorf("port %d has a headroom of %v, want 250KB", p.Number, p.PFC.Headroom)
			}
		}
	}
	large := strings.NewReplacer(" PORT", "", "WATCHDOG", "", "2MB", "1GB").Replace(head)
	cfg, err := read(large)
	if err != nil {
		t.Fatal(err)
	}
	// 100 ms at 1 Gb/s are 12.5 MB.
	if h := cfg.Ports[0].PFC.Headroom; h < 12500*vtime.KB || h > 12600*vtime.KB || cfg.Ports[1].PFC.Headroom != 125*vtime.MB {
		t.Errorf("with a large buffer the ports have a headroom of %v and %v", h, cfg.Ports[1].PFC.Headroom)
	}
	for text, want := range map[string]string{
		", watchdog: {action: dorp}":   `no action is called "dorp" (did you mean "drop"?)`,
		", watchdog: {classes: [8]}":   "class 8, expected 0 to 7",
		", watchdog: {classes: [1]}":   "class 1, which is not lossless",
		", watchdog: {detection: -1s}": "write a number and one of s",
	} {
		cfg, err := read(strings.NewReplacer(" PORT", "", "WATCHDOG", text).Replace(head))
		if err == nil {
			_, err = softswitch.New(cfg)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// Each key of a switch's file with each of the values of package yamltest is refused at
// its place, with its name, or means something: the switch is another one.
func TestHostileKeysOfSwitchFiles(t *testing.T) {
	const base = `
ports:
- number: 1
  link: "mem:a"
  rate: 1Gbps
- number: 2
  link: "mem:b"
buffer:
  size: 2MB
pfc:
  lossless: [3, 4]
  thresholds:
    xoff: 50KB
`
	name := filepath.Join(t.TempDir(), "s.yaml")
	read := func(text []byte) (string, error) {
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := readSwitchFile(name)
		if err != nil {
			return "", err
		}
		cfg, specs, err := c.config()
		if err != nil {
			return "", err
		}
		if _, err := softswitch.New(cfg); err != nil {
			return "", err
		}
		return fmt.Sprintf("%+v %+v %+v", *c, cfg, specs), nil
	}
	plain, err := read([]byte(base))
	if err != nil {
		t.Fatal(err)
	}
	zero := regexp.MustCompile(`^(0(us|KB|Gbps)?|""|\[\]|\{\})$`)
	err = yamltest.Hostile(base, &switchFile{}, func(c yamltest.Text) {
		was, err := read(c.YAML)
		key := c.Key.Path[len(c.Key.Path)-1]
		switch {
		case err == nil && was == plain && !zero.MatchString(c.Value):
			t.Errorf("%v: %s is taken and does nothing", c.Key, c.Value)
		case err == nil:
			if c.Key.Type.Kind() != reflect.String {
				t.Logf("%v takes %s", c.Key, c.Value)
			}
		case !strings.Contains(err.Error(), name+":") || !strings.Contains(err.Error(), key) && key != "0" && key != "x":
			t.Errorf("%v: %s: %v, want file and key", c.Key, c.Value, err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
