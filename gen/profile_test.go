// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/vtime"
)

// Programs count times in 32 bits. A profile with a longer one is refused where it
// sets it, in either unit, also for links of one rate.
func TestTimesThatProgramsCannotCount(t *testing.T) {
	for _, c := range []struct{ base, unit, set, want string }{
		{"conweave", "ns", "conweave.wait: 1073741823ns", ""},
		{"conweave", "ns", "conweave.wait: 1073741824ns", "conweave.wait: 1073741824ns is more than 1.073741823s, the longest time of programs that count nanoseconds"},
		{"conweave", "ns", "conweave.extra@40Gbps: 5s", "conweave.extra@40Gbps: 5s is more than 1.073741823s"},
		{"conweave", "us", "conweave.extra: 1000s", ""},
		{"conweave", "us", "conweave.extra: 1074s", "conweave.extra: 1074s is more than 1073.741823s, the longest time of programs that count microseconds"},
		{"letflow", "ns", "letflow.gap: 3s", "letflow.gap: 3s is more than 1.073741823s"},
	} {
		text := fmt.Sprintf("name: p\nbase: %s\ntarget: {time: %s}\nset:\n  %s\n", c.base, c.unit, c.set)
		_, err := Parse("p.yaml", []byte(text))
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s in %s: %v", c.set, c.unit, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "p.yaml:5:")):
			t.Errorf("%s in %s: error is %v, want one at line 5 with %q", c.set, c.unit, err, c.want)
		}
	}
}

// A time that is computed from parameters and the network is limited as well.
func TestTimesThatGrowTooLong(t *testing.T) {
	p, err := Builtin("conweave")
	if err != nil {
		t.Fatal(err)
	}
	p.Set = map[string]string{"conweave.reply_extra": "1s"}
	if _, err := Generate(p, "v1model"); err != nil {
		t.Error(err)
	}
	p.Network.Delay = 50 * vtime.Millisecond
	const want = "table source of conweave, argument reply: span(2 * hops * delay + conweave.reply_extra) is 1200000000 nanoseconds, and the longest time of a program is 1073741823"
	if _, err := Generate(p, "v1model"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error is %v, want %q", err, want)
	}
}

// Senders cannot follow QCN's feedback and telemetry. With PINT's, the feedback also
// kept the header of the digest, which the judge found.
func TestFeedbackAndTelemetryAreRefused(t *testing.T) {
	for _, telemetry := range []string{"on", "pint"} {
		_, err := Parse("p.yaml", []byte("name: p\nbase: ecmp\nint: "+telemetry+"\nqcn: on\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "p.yaml:4:") || !strings.Contains(err.Error(), "qcn with int") {
			t.Errorf("int: %s: error is %v, want one at line 4", telemetry, err)
		}
	}
}
