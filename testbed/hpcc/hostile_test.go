// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/topo"
)

// hostile are what no key, or few keys, can mean; "" leaves the value out.
var hostile = []string{
	"", "-1", "0", "00001", "+1", "-9223372036854775808", "9223372036854775807", "18446744073709551616", "4294967296", "1e308", "1e400", "-1e308", "1e-320", "0.1", "0.9999999999",
	"nan", "NaN", "inf", "-inf", "Infinity", "0x10", "0x1p4", "1_000", "1Gbps", "-1Gb/s", "0Gbps", "1KB", "1us", "hostile!", `""`, "true", "{", "#", "\x00", "\x1b[2J", "2 2", strings.Repeat("9", 4000),
}

// Each value of each key of HPCC's and ConWeave's configurations is replaced by each of
// these, or the key is there twice. The configuration is refused at its line with the
// key's name, or adapts to a network without a panic, has an effect or a warning, and
// has no number that is none.
func TestHostileValues(t *testing.T) {
	const network = "5 2 4\n1 4\n0 1 100Gbps 1us 0\n2 1 100Gbps 1us 0\n3 4 100Gbps 1us 0\n1 4 100Gbps 1us 0\n"
	numeric := regexp.MustCompile(`^[0-9.]+([KMG]?b/s|us)?$`)
	notFinite := regexp.MustCompile(`(?i)\b(nan|[+-]?inf)\b`)
	tried, taken := 0, 0
	for of, in := range map[string]struct{ keys, base string }{"HPCC": {hpccKeys, base}, "ConWeave": {hpccKeys + conweaveKeys, base + "LB_MODE 9\nCC_MODE 1\n"}} {
		line := 1 + strings.Count(in.base, "\n")
		one := func(key, value, text string, isNumber bool) {
			tried++
			c, err := ParseConfig("c.txt", in.base+text)
			if err == nil {
				taken++
				var n *topo.Topology
				if n, err = parseTopology("t.txt", network, c.Switch); err != nil {
					t.Fatalf("%s: %q: %v", of, text, err)
				}
				if c.LinkDown != nil {
					_, err = c.LinkDown.Fault(n)
				}
				if err == nil {
					c.Warnings = append(c.Warnings, c.For(n)...)
					c.Fit(n.Links[0].Rate)
					if r := c.NewRecorder(n, nil); r != nil {
						r.Next()
					}
					if isNumber && (notFinite.MatchString(fmt.Sprintf("%+v", c.Hosts)) || notFinite.MatchString(fmt.Sprint(c.Marks, c.ErrorRate, c.Monitor, c.Stop))) {
						t.Errorf("%s: %q: %+v %v", of, text, c.Hosts, c.Marks)
					}
				}
			}
			var list diag.List
			switch {
			case err == nil:
			case !errors.As(err, &list):
				t.Errorf("%s: %q: %v, want diagnostics", of, text, err)
			case !slices.ContainsFunc(list, func(d *diag.Diagnostic) bool { return int(d.Pos.Line) == line && strings.Contains(d.Msg, key) }):
				t.Errorf("%s: %q: %v, want line %d and the key", of, text, err, line)
			}
		}
		try := func(key, value, text string, isNumber bool) {
			if took := need.Work(func() { one(key, value, text, isNumber) }); took > 5*time.Second {
				t.Errorf("%s: %q takes %v", of, text, took)
			}
		}
		for text := range strings.Lines(in.keys) {
			words := strings.Fields(text)
			for i := 1; i < len(words); i++ {
				for _, value := range hostile {
					changed := slices.Clone(words)
					changed[i] = value
					try(words[0], value, strings.Join(changed, " ")+"\n", numeric.MatchString(words[i]))
				}
			}
			try(words[0], "twice", strings.TrimSpace(text)+" "+text, true)
		}
	}
	t.Logf("%d configurations, %d are taken", tried, taken)
}
