// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/controlplane/p4rttest"
	"github.com/pauseless/pauseless/controlplane/schema"
)

// Undo reverts the last write: also one that failed in part, one of entries that
// always exist or come from a file, on the switches that it was made on, and never
// an earlier one.
func TestUndoRevertsTheLastWriteOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "entries.txt")
	if err := os.WriteFile(file, []byte("# two\nForward dst=10.0.7.0/24 -> drop\nForward dst=10.0.8.0/24 -> drop\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	const there = "Forward dst=10.0.1.0/24 -> drop"
	for name, step := range map[string]struct {
		line        string
		fails, same bool // the line fails, and changes nothing
	}{
		"a part was written":       {"entries add 'Forward dst=10.0.2.0/24 -> drop' '" + there + "'", true, false},
		"a part was deleted":       {"entries del '" + there + "' 'Forward dst=10.0.2.0/24'", true, false},
		"nothing was written":      {"entries add '" + there + "'", true, true},
		"a default entry":          {"entries add 'Forward default -> forward(3)'", false, false},
		"a file":                   {"entries add -f " + file, false, false},
		"a file and more":          {"entries add 'Forward dst=10.0.2.0/24 -> drop' --file=" + file, false, false},
		"one switch":               {"entries add --switch b 'Forward dst=10.0.2.0/24 -> drop'", false, false},
		"a group and its member":   {"entries add 'member spread 1 -> forward(1)' 'group spread 1 -> 1'", false, false},
		"cells of one switch":      {"registers set --switch=b Readqlen[2..4] 9", false, false},
		"cells that are not there": {"registers set Readqlen[9223372036854775807] 9", true, true},
		"an array":                 {"registers set Readqlen 9", false, false},
		"an entry given twice":     {"entries add 'Forward dst=10.0.2.0/24 -> drop' 'Forward dst=10.0.2.0/24 -> drop'", true, false},
		"an entry that is changed": {"entries modify 'Forward dst=10.0.1.0/24 -> forward(2)'", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			sch, err := schema.New(p4rttest.Program())
			if err != nil {
				t.Fatal(err)
			}
			was, err := sch.ParseEntity(there)
			if err != nil {
				t.Fatal(err)
			}
			c := &ctl{election: "1", output: "table", timeout: time.Minute}
			fixed := []string{"ctl"}
			var servers []*p4rttest.Server
			for _, name := range []string{"a", "b"} {
				server := &p4rttest.Server{}
				p4rttest.Start(t, server)
				server.Load(&p4v1.ForwardingPipelineConfig{P4Info: p4rttest.Program(), P4DeviceConfig: []byte("{}")})
				server.Put(was)
				servers = append(servers, server)
				c.addrs = append(c.addrs, name+"="+server.Addr())
				fixed = append(fixed, "--addr="+name+"="+server.Addr(), "--switch="+name)
			}
			state := func() string {
				var list []string
				for i, s := range servers {
					for _, e := range s.Entities() {
						list = append(list, fmt.Sprintf("%d %s", i, sch.FormatEntity(e)))
					}
				}
				slices.Sort(list)
				return strings.Join(list, "\n")
			}
			cmd := &cobra.Command{}
			cmd.SetContext(t.Context())
			cmd.SetErr(t.Output())
			sh := &shell{ctl: c, cmd: cmd, out: t.Output(), fixed: fixed}
			if _, err := sh.line("registers set Readqlen[7] 1"); err != nil {
				t.Fatal(err)
			}
			before := state()
			if _, err := sh.line(step.line); (err != nil) != step.fails {
				t.Fatalf("%s: %v", step.line, err)
			}
			if (state() == before) != step.same {
				t.Fatalf("the state is\n%s", state())
			}
			if _, err := sh.line("undo"); (err != nil) != step.same {
				t.Errorf("undo: %v", err)
			}
			if got := state(); got != before {
				t.Errorf("after undo the state is\n%s\nwant\n%s", got, before)
			}
		})
	}
}
