// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/golden"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// A quoted number is the effect of a claim: in percent without its sign,
// which the sentence expresses by a word such as "shorter".
type quoted struct {
	experiment  string // with -paper at its end for the papers' scale
	text, point string // of the claim
	more        bool   // the sentence says that there is more, not less
}

// sentences are parts of pages, with # for each number. Where a line breaks does
// not matter.
var sentences = []struct {
	page, text string
	numbers    []quoted
}{
	{"gen/schemes/clb/README.md", "coflows are # % shorter, the longest queue is # % shorter, and CLB is as good as Hermes", []quoted{
		{"clb-fig9-growth", "less average coflow completion time with clb-length than with clb", "mean of flows 5; flows 15; flows 30", false},
		{"clb-fig9-growth", "less longest egress queue with clb-length than with clb", "mean of flows 5; flows 15; flows 30", false},
	}},
	{"gen/schemes/clb/README.md", "# % fewer flows stall than with CONGA and coflows are # % shorter", []quoted{
		{"clb-fig11-receivers", "less share of stalled flows with clb than with conga", "receivers 15", false},
		{"clb-fig11-receivers", "less average coflow completion time with clb than with conga", "receivers 15", false},
	}},
	{"gen/schemes/clb/README.md", "then # % fewer flows stall than with Hermes", []quoted{
		{"clb-fig11-packet", "less share of stalled flows with clb-packet than with hermes", "", false},
	}},
	{"gen/schemes/plb/README.md", "with ECMP, FCT is # % shorter where hosts accept packets out of order, and # % shorter with go-back-N", []quoted{
		{"plb-fig7-still", "less average FCT with ecmp than with plb", "nic out-of-order", false},
		{"plb-fig7-still", "less average FCT with ecmp than with plb", "nic go-back-n", false},
	}},
	{"gen/schemes/plb/README.md", "FCT is # and # % shorter than by default", []quoted{
		{"plb-fig7-still", "less average FCT with plb-still than with plb", "nic out-of-order", false},
		{"plb-fig7-still", "less average FCT with plb-still than with plb", "nic go-back-n", false},
	}},
	{"gen/schemes/plb/README.md", "At the paper's scale it is # and # % shorter, and with go-back-N p99 is then # % shorter than with DRILL, as in the paper (28 %), and not # % longer", []quoted{
		{"plb-fig7-still-paper", "less average FCT with plb-still than with plb", "nic out-of-order", false},
		{"plb-fig7-still-paper", "less average FCT with plb-still than with plb", "nic go-back-n", false},
		{"plb-fig7-still-paper", "less p99 FCT with plb-still than with drill", "nic go-back-n", false},
		{"plb-fig7-still-paper", "less p99 FCT with plb than with drill", "nic go-back-n", true},
	}},
	{"gen/schemes/pcn/README.md", "With PCN, average FCT is # % shorter than with DCQCN", []quoted{
		{"pcn-fig14-websearch", "less average FCT with pcn than with dcqcn", "", false},
	}},
	{"gen/schemes/pcn/README.md", "without them, PCN has # % fewer and TIMELY # % fewer", []quoted{
		{"pcn-fig14-websearch-incast", "fewer PAUSE frames with pcn than with pcn at traffic both", "traffic Web Search", false},
		{"pcn-fig14-websearch-incast", "fewer PAUSE frames with timely than with timely at traffic both", "traffic Web Search", false},
	}},
	{"gen/schemes/pcn/README.md", "all flows have ended # % earlier with PCN than with QCN", []quoted{
		{"pcn-fig14-w1-paper", "less time until the last judged flow has ended with pcn than with qcn", "", false},
	}},
	{"gen/schemes/pcn/README.md", "the 99th percentile is # % longer", []quoted{
		{"pcn-fig14-w1-paper", "less p99 FCT with pcn than with qcn", "", true},
	}},
	{"gen/schemes/pcn/README.md", "PCN has # % fewer PAUSE frames than DCQCN with W1, # % with W2, and # % in figure 12", []quoted{
		{"pcn-fig14-marks", "fewer PAUSE frames with pcn than with dcqcn-late", "traffic W1", false},
		{"pcn-fig14-marks", "fewer PAUSE frames with pcn than with dcqcn-late", "traffic W2", false},
		{"pcn-fig14-marks", "fewer PAUSE frames with pcn than with dcqcn-late", "traffic figure 12", false},
	}},
	{"gen/schemes/pcn/README.md", "at the paper's scale, W1 has # % fewer PAUSE frames with PCN", []quoted{
		{"pcn-fig14-marks-paper", "fewer PAUSE frames with pcn than with dcqcn-late", "traffic W1", false},
	}},
	{"gen/schemes/pcn/README.md", "In figure 12 average FCT is then # % longer with PCN", []quoted{
		{"pcn-fig14-marks", "less average FCT with pcn than with dcqcn-late", "traffic figure 12", true},
	}},
	{"gen/schemes/pcn/README.md", "Average FCT with W1 is # % shorter", []quoted{
		{"pcn-fig14-marks", "less average FCT with pcn than with dcqcn-late", "traffic W1", false},
	}},
	{"gen/schemes/pcn/README.md", "PCN has hardly any PAUSE frames, and average FCT is # % shorter than with DCQCN", []quoted{
		{"pcn-fig14-marks", "less average FCT with pcn than with dcqcn-late", "traffic groups of W2", false},
	}},
	{"gen/schemes/pcn/README.md", "PCN's average is # % shorter, and all flows have ended # % earlier", []quoted{
		{"pcn-fig14-unpaused-paper", "less average FCT with pcn-unpaused than with pcn", "", false},
		{"pcn-fig14-unpaused-paper", "less time until the last judged flow has ended with pcn-unpaused than with pcn", "", false},
	}},
	{"gen/schemes/pcn/README.md", "PCN has # % fewer PAUSE frames than TIMELY with W2, and average FCT is # % shorter", []quoted{
		{"pcn-fig14-groups-paper", "fewer PAUSE frames with pcn than with timely", "workload W2", false},
		{"pcn-fig14-groups-paper", "less average FCT with pcn than with timely", "workload W2", false},
	}},
	{"gen/schemes/pcn/README.md", "PCN has # % fewer PAUSE frames than TIMELY with W1, and average FCT is # % shorter", []quoted{
		{"pcn-fig14-alone-paper", "fewer PAUSE frames with pcn than with timely", "", false},
		{"pcn-fig14-alone-paper", "less average FCT with pcn than with timely", "", false},
	}},
	{"gen/schemes/pcn/README.md", "in groups, W1 has # % fewer PAUSE frames and a # % shorter average FCT", []quoted{
		{"pcn-fig14-groups-paper", "fewer PAUSE frames with pcn than with timely", "workload W1", false},
		{"pcn-fig14-groups-paper", "less average FCT with pcn than with timely", "workload W1", false},
	}},
	{"gen/schemes/pcn/README.md", "TIMELY has # % fewer PAUSE frames with W2 than the HPCC simulator's, as many as PCN within 10 %, and PCN's average FCT is # % shorter than with it. With the values of other papers in this code, as the paper says, it is # % shorter", []quoted{
		{"pcn-fig14-timely", "fewer PAUSE frames with packet than with timely", "workload W2", false},
		{"pcn-fig14-timely", "less average FCT with pcn than with packet", "workload W2", false},
		{"pcn-fig14-timely", "less average FCT with pcn than with packet-values", "workload W2", false},
	}},
	{"gen/schemes/pcn/README.md", "with 1/16, the 99th percentile is # % less", []quoted{
		{"pcn-fig14-weight-paper", "less p99 FCT with w_min 1/16 than with pcn", "", false},
	}},
	{"gen/schemes/pcn/README.md", "PCN has # % fewer PAUSE frames with W1, and all flows have ended # % earlier; average FCT is then # % shorter than with DCQCN, and # % with W2", []quoted{
		{"pcn-fig14-start-paper", "fewer PAUSE frames with pcn-slow than with pcn", "workload W1", false},
		{"pcn-fig14-start-paper", "less time until the last judged flow has ended with pcn-slow than with pcn", "workload W1", false},
		{"pcn-fig14-start-paper", "less average FCT with pcn-slow than with dcqcn-slow", "workload W1", false},
		{"pcn-fig14-start-paper", "less average FCT with pcn-slow than with dcqcn-slow", "workload W2", false},
	}},
	{"gen/schemes/pcn/README.md", "QCN's flows with W1 have all ended # % earlier, and # % with W2", []quoted{
		{"pcn-fig14-timer-paper", "less time until the last judged flow has ended with qcn-1500us than with qcn", "workload W1", false},
		{"pcn-fig14-timer-paper", "less time until the last judged flow has ended with qcn-1500us than with qcn", "workload W2", false},
	}},
	{"gen/schemes/pbfs/README.md", "the last of 40 flows ends # % later than with DCQCN alone", []quoted{
		{"pbfs-incast", "more last flow of an incast or burst with pbfs than with dcqcn", "", true},
	}},
	{"gen/schemes/pbfs/README.md", "they are #, # and # % shorter ([pbfs-fig5-paper]", []quoted{
		{"pbfs-fig5-paper", "less longest egress queue with dcqcn-pbfs than with dcqcn", "", false},
		{"pbfs-fig5-paper", "less longest egress queue with timely-pbfs than with timely", "", false},
		{"pbfs-fig5-paper", "less longest egress queue with hpcc-pbfs than with hpcc", "", false},
	}},
	{"gen/schemes/pbfs/README.md", "Without these incasts the longest queues are #, # and # % shorter, and the 95th percentile of the FCT of flows below 10 KB with HPCC is # % shorter", []quoted{
		{"pbfs-fig5-incast-paper", "less longest egress queue with dcqcn-pbfs than with dcqcn", "traffic IMC10", false},
		{"pbfs-fig5-incast-paper", "less longest egress queue with timely-pbfs than with timely", "traffic IMC10", false},
		{"pbfs-fig5-incast-paper", "less longest egress queue with hpcc-pbfs than with hpcc", "traffic IMC10", false},
		{"pbfs-fig5-incast-paper", "less p95 FCT, size S with hpcc-pbfs than with hpcc", "traffic IMC10", false},
	}},
	{"gen/schemes/pbfs/README.md", "With DCQCN, p95 of flows below 100 KB is # % shorter without them and # % with them", []quoted{
		{"pbfs-fig5-incast-paper", "less p95 FCT of flows below 100 KB with dcqcn-pbfs than with dcqcn", "traffic IMC10", false},
		{"pbfs-fig5-paper", "less p95 FCT of flows below 100 KB with dcqcn-pbfs than with dcqcn", "", false},
	}},
	{"gen/schemes/pbfs/README.md", "the longest queue is #, # and # % shorter with DCQCN, TIMELY and HPCC (in the paper", []quoted{
		{"pbfs-fig5-websearch", "less longest egress queue with dcqcn-pbfs than with dcqcn", "", false},
		{"pbfs-fig5-websearch", "less longest egress queue with timely-pbfs than with timely", "", false},
		{"pbfs-fig5-websearch", "less longest egress queue with hpcc-pbfs than with hpcc", "", false},
	}},
	{"gen/schemes/pbfs/README.md", "the FCT of short flows # % with DCQCN and # % with TIMELY", []quoted{
		{"pbfs-fig5-websearch", "less p95 FCT of flows below 100 KB with dcqcn-pbfs than with dcqcn", "", false},
		{"pbfs-fig5-websearch", "less p95 FCT of flows below 100 KB with timely-pbfs than with timely", "", false},
	}},
	{"gen/schemes/pbfs/README.md", "Average FCT is # % longer with DCQCN", []quoted{
		{"pbfs-fig5-websearch", "less average FCT with dcqcn-pbfs than with dcqcn", "", true},
	}},
	{"gen/schemes/pbfs/README.md", "with DCQCN is # % shorter if they count than if they are ignored, and average FCT # %", []quoted{
		{"pbfs-fig5-marks", "less p95 FCT of flows below 100 KB with dcqcn-pbfs than with ignored", "", false},
		{"pbfs-fig5-marks", "less average FCT with dcqcn-pbfs than with ignored", "", false},
	}},
	{"gen/schemes/pbfs/README.md", "at the paper's scale both are # and # % shorter", []quoted{
		{"pbfs-fig5-marks-paper", "less p95 FCT of flows below 100 KB with dcqcn-pbfs than with ignored", "", false},
		{"pbfs-fig5-marks-paper", "less average FCT with dcqcn-pbfs than with ignored", "", false},
	}},
	{"gen/schemes/pbfs/README.md", "p95 is # % shorter ([pbfs-fig5-rate-paper]", []quoted{
		{"pbfs-fig5-rate-paper", "less p95 FCT of flows below 100 KB with dcqcn-pbfs than with dcqcn", "incasts every 5ms", false},
	}},
	{"gen/schemes/pbfs/README.md", "With 0.5 it ends # % later", []quoted{
		{"pbfs-incast", "more last flow of an incast or burst with share 0.5 than with dcqcn", "", true},
	}},
	{"gen/schemes/pbfs/README.md", "the median FCT of flows of 10 to 100 KB is # % shorter than with fast start and # % shorter than with slow start if there are no incasts, and # % fewer packets are lost", []quoted{
		{"pbfs-fig7-alone-paper", "less median FCT, size M with pbfs than with fast-start", "buffer 2MB", false},
		{"pbfs-fig7-alone-paper", "less median FCT, size M with pbfs than with slow-start", "buffer 2MB", false},
		{"pbfs-fig7-alone-paper", "less packets that switches had no room for with pbfs than with fast-start", "buffer 2MB", false},
	}},
	{"gen/schemes/pbfs/README.md", "With the incasts flows take # % less than with fast start and # % less than with slow start, and # % fewer packets are lost", []quoted{
		{"pbfs-fig7-paper", "less median FCT, size M with pbfs than with fast-start", "buffer 2MB", false},
		{"pbfs-fig7-paper", "less median FCT, size M with pbfs than with slow-start", "buffer 2MB", false},
		{"pbfs-fig7-paper", "less packets that switches had no room for with pbfs than with fast-start", "buffer 2MB", false},
	}},
	{"gen/schemes/pbfs/README.md", "Without incasts queues are #, # and # % shorter here, and p95 of flows below 10 KB is #, # and # % shorter", []quoted{
		{"pbfs-fig8-alone-paper", "less longest egress queue with dcqcn-pbfs than with dcqcn", "", false},
		{"pbfs-fig8-alone-paper", "less longest egress queue with timely-pbfs than with timely", "", false},
		{"pbfs-fig8-alone-paper", "less longest egress queue with hpcc-pbfs than with hpcc", "", false},
		{"pbfs-fig8-alone-paper", "less p95 FCT, size S with dcqcn-pbfs than with dcqcn", "", false},
		{"pbfs-fig8-alone-paper", "less p95 FCT, size S with timely-pbfs than with timely", "", false},
		{"pbfs-fig8-alone-paper", "less p95 FCT, size S with hpcc-pbfs than with hpcc", "", false},
	}},
	{"gen/schemes/pbfs/README.md", "With them queues are #, # and # % shorter, and p95 #, # and # %", []quoted{
		{"pbfs-fig8-paper", "less longest egress queue with dcqcn-pbfs than with dcqcn", "", false},
		{"pbfs-fig8-paper", "less longest egress queue with timely-pbfs than with timely", "", false},
		{"pbfs-fig8-paper", "less longest egress queue with hpcc-pbfs than with hpcc", "", false},
		{"pbfs-fig8-paper", "less p95 FCT, size S with dcqcn-pbfs than with dcqcn", "", false},
		{"pbfs-fig8-paper", "less p95 FCT, size S with timely-pbfs than with timely", "", false},
		{"pbfs-fig8-paper", "less p95 FCT, size S with hpcc-pbfs than with hpcc", "", false},
	}},
	{"gen/schemes/pbfs/README.md", "the queue is # % and p95 # % shorter", []quoted{
		{"pbfs-fig8-window", "less longest egress queue with dcqcn-pbfs than with dcqcn", "traffic IMC10 and incast, limit 1.4 products", false},
		{"pbfs-fig8-window", "less p95 FCT, size S with dcqcn-pbfs than with dcqcn", "traffic IMC10 and incast, limit 1.4 products", false},
	}},
	{"gen/schemes/pbfs/README.md", "p95 is then # % shorter, but the longest queue only # %", []quoted{
		{"pbfs-fig8-window-paper", "less p95 FCT, size S with dcqcn-pbfs than with dcqcn", "traffic IMC10 and incast, limit 1.4 products", false},
		{"pbfs-fig8-window-paper", "less longest egress queue with dcqcn-pbfs than with dcqcn", "traffic IMC10 and incast, limit 1.4 products", false},
	}},
	{"gen/schemes/rlb/README.md", "but the average is # % longer", []quoted{
		{"rlb-fig12-incast", "less average FCT with rlb-letflow than with letflow", "nic go-back-n", true},
	}},
	{"gen/schemes/rlb/README.md", "recirculation makes it # % shorter over Presto", []quoted{
		{"rlb-fig17a-paper", "less p99 FCT with presto-rlb than with presto-rlb-no-recirculation", "nic out-of-order", false},
	}},
	{"gen/schemes/rlb/README.md", "p99 with Presto is # % shorter than with RLB without recirculation", []quoted{
		{"rlb-fig17a-bound-paper", "less p99 FCT with presto-hosts-only than with presto-rlb-no-recirculation", "nic out-of-order", false},
	}},
}

// Numbers in the sentences of pages are those of docs/results. `make golden`
// writes them. A sentence whose effect has changed its sign is for its author.
func TestPagesOfSchemesQuoteResults(t *testing.T) {
	pages := make(map[string]string)
	for _, s := range sentences {
		if _, ok := pages[s.page]; !ok {
			text, err := os.ReadFile("../../" + s.page)
			if err != nil {
				t.Fatal(err)
			}
			pages[s.page] = string(text)
		}
		var words []string
		for _, w := range strings.Fields(s.text) {
			words = append(words, strings.ReplaceAll(regexp.QuoteMeta(w), "#", `(\d+)`))
		}
		found := regexp.MustCompile(strings.Join(words, `\s+`)).FindAllStringSubmatchIndex(pages[s.page], -1)
		if len(found) != 1 || len(found[0]) != 2+2*len(s.numbers) {
			t.Errorf("%s has %q %d times, with %d numbers; change the page or this test", s.page, s.text, len(found), len(s.numbers))
			continue
		}
		var b strings.Builder
		rest := 0
		for i, n := range s.numbers {
			b.WriteString(pages[s.page][rest:found[0][2+2*i]])
			b.WriteString(n.read(t, s.page))
			rest = found[0][3+2*i]
		}
		pages[s.page] = b.String() + pages[s.page][rest:]
	}
	for page, text := range pages {
		golden.Check(t, "../../"+page, []byte(text))
	}
}

func (n quoted) read(t *testing.T, page string) string {
	t.Helper()
	name, scale := n.experiment, scenario.Small
	if s, ok := strings.CutSuffix(name, "-paper"); ok {
		name, scale = s, scenario.Paper
	}
	o := kept(t, name, scale)
	if o == nil {
		t.Fatalf("%s: docs/results has no %s", page, n.experiment)
	}
	i := slices.IndexFunc(o.Claims, func(c result.Judged) bool { return c.Text == n.text && c.Point == n.point })
	if i < 0 {
		t.Fatalf("%s: %s has no claim %q at %q", page, n.experiment, n.text, n.point)
	}
	effect := float64(o.Claims[i].Effect)
	if effect > 0 != n.more {
		t.Errorf("%s: the effect of %q in %s is %+.1f %% now: write the sentence anew", page, n.text, n.experiment, 100*effect)
	}
	return fmt.Sprintf("%.0f", 100*math.Abs(effect))
}
