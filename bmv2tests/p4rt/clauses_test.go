// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
)

// A clause is a rule of the specification and its test.
type clause struct {
	section string // of the P4Runtime specification 1.5.0
	says    string
	test    func(x *bench)
	// bmv2 is the reason why simple_switch_grpc is not tested; "" if it must pass.
	bmv2 string
}

var clauses = slices.Concat(sessionClauses, tableClauses, entityClauses, translateClauses, limitClauses)

// soft has the options of our switch.
var soft = p4rtserver.Options{Translations: translations}

func (c *clause) name() string { return c.section + " " + c.says }

func TestOurSwitch(t *testing.T) {
	for _, c := range clauses {
		t.Run(c.name(), func(t *testing.T) { c.test(newBench(t, startSoft(t, soft), false)) })
	}
}

func TestSimpleSwitch(t *testing.T) {
	need.Time(t, "simple_switch_grpc takes half a second for each clause")
	binary := need.Tool(t, "BMV2", "simple_switch_grpc")
	for name, group := range map[string][]clause{"sessions": sessionClauses, "tables": tableClauses, "entities": entityClauses} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // the tests mostly wait for the switch
			askSimpleSwitch(t, binary, group)
		})
	}
}

func askSimpleSwitch(t *testing.T, binary string, group []clause) {
	var sw *target
	for _, c := range group {
		if c.bmv2 != "" {
			continue
		}
		if sw == nil {
			sw = startBMv2(t, binary)
		}
		if !t.Run(c.name(), func(t *testing.T) { c.test(newBench(t, sw, false)) }) {
			sw = nil // it may have crashed
		}
		if strings.HasPrefix(c.section, "5") {
			sw = nil // BMv2 sometimes crashes after streams have been closed
		}
	}
}

// The table in docs/reference/p4runtime.md equals this one. UPDATE_GOLDEN=1 rewrites it.
func TestTheDocumentedTable(t *testing.T) {
	const file = "../../docs/reference/p4runtime.md"
	const begin, end = "<!-- clauses: written by bmv2tests/p4rt -->\n", "<!-- end of clauses -->\n"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := bytes.Cut(text, []byte(begin))
	_, tail, ok2 := bytes.Cut(rest, []byte(end))
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", file)
	}
	var b strings.Builder
	b.WriteString("\n| section | rule | simple_switch_grpc |\n|---|---|---|\n")
	for _, c := range clauses {
		why := c.bmv2
		if why == "" {
			why = "the same"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", c.section, c.says, why)
	}
	b.WriteString("\n")
	want := slices.Concat(head, []byte(begin), []byte(b.String()), []byte(end), tail)
	if bytes.Equal(text, want) {
		return
	}
	if os.Getenv("UPDATE_GOLDEN") == "1" {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("the table of clauses in %s is not that of the tests: make golden", file)
}
