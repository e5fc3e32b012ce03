// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/testbed/result"
)

// fabricsTable matches the generated table of docs/ai-fabrics.md.
var fabricsTable = regexp.MustCompile(`(?s)<!-- table -->\n.*?<!-- end -->`)

// nics are the titles of the hosts of ai-fabrics, by what their arms are called: the first
// that fits.
var nics = []struct {
	fits  *regexp.Regexp // its group is what the row is called
	title string
}{
	{regexp.MustCompile(`^(.*) gbn$`), "RoCE, go-back-N, DCQCN"},
	{regexp.MustCompile(`^(themis)$`), "RoCE, selective repeat, DCQCN"},
	{regexp.MustCompile(`^(.*) none$`), "RoCE, out of order, no congestion control"},
	{regexp.MustCompile(`^uec ?(.*) lossy$`), "Ultra Ethernet, NSCC, lossy with trimming"},
	{regexp.MustCompile(`^uec ?(.*)$`), "Ultra Ethernet, NSCC, lossless"},
	{regexp.MustCompile(`^(.*)$`), "RoCE, out of order, DCQCN"},
}

// row is an arm of ai-fabrics: its hosts, and what chooses paths.
type row struct{ arm, nic, paths string }

// rowsOf returns the arms in their order, but RLB after what it builds on.
func rowsOf(o *result.Outcome) (rows []row) {
	for _, a := range o.Arms {
		for _, n := range nics {
			if m := n.fits.FindStringSubmatch(a.Name); m != nil {
				paths := m[1]
				if paths == "" {
					paths = "hosts spray"
				}
				rows = append(rows, row{a.Name, n.title, paths})
				break
			}
		}
	}
	base := func(r row) int {
		return slices.IndexFunc(rows, func(o row) bool { return o.nic == r.nic && o.paths == strings.TrimPrefix(r.paths, "rlb-") })
	}
	order := make(map[string]int) // by arm
	for _, r := range rows {
		order[r.arm] = 2 * base(r)
		if strings.HasPrefix(r.paths, "rlb-") {
			order[r.arm]++
		}
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(order[a.arm], order[b.arm]) })
	return rows
}

// aiFabrics writes the table and the picture of docs/ai-fabrics.md: bus bandwidth by arm
// and case.
func (d *documents) aiFabrics() {
	const page = "docs/ai-fabrics.md"
	o := d.best("ai-fabrics")
	if o == nil {
		return
	}
	rows := rowsOf(o)
	var b strings.Builder
	b.WriteString("<!-- table -->\n| hosts | paths |")
	for _, c := range o.Axes[0].Values {
		fmt.Fprintf(&b, " %s |", c.Text)
	}
	b.WriteString(" PAUSE frames, storage |\n|---|---|" + strings.Repeat("---:|", len(o.Axes[0].Values)+1) + "\n")
	nic := ""
	for _, r := range rows {
		title := ""
		if r.nic != nic {
			nic, title = r.nic, r.nic
		}
		name := "`" + r.paths + "`"
		if r.paths == "hosts spray" {
			name = "hosts spray, `mixed`"
		}
		fmt.Fprintf(&b, "| %s | %s |", title, name)
		for _, c := range o.Axes[0].Values {
			mean, _ := d.meanOf(o, r.arm, c.Text, "busbw")
			fmt.Fprintf(&b, " %.1f |", mean)
		}
		paused, _ := d.meanOf(o, r.arm, "storage", "pause_frames")
		fmt.Fprintf(&b, " %.0f |\n", paused)
	}
	b.WriteString("<!-- end -->")
	d.files[page] = fabricsTable.ReplaceAllLiteral(d.page(page), []byte(b.String()))
	d.files["docs/pictures/ai-fabrics.svg"] = d.fabricsPicture(o, rows)
}

// meanOf returns the mean of a metric of an arm in a case, and half of its 95 % interval.
func (d *documents) meanOf(o *result.Outcome, arm, point, metric string) (mean, half float64) {
	i := slices.IndexFunc(o.Cells, func(c result.Cell) bool { return c.Arm == arm && slices.Equal(c.Point, []string{point}) })
	if i < 0 {
		d.problem("%s has no cell of %s in the case %s", o.File(), arm, point)
		return 0, 0
	}
	return float64(o.Cells[i].Mean[metric]), float64(o.Cells[i].Half[metric])
}

// The picture of docs/ai-fabrics.md has a row for each arm and a column for each case.
const (
	fabricsLabels, fabricsColumn, fabricsGap = 120, 98, 24 // pixels from left to right
	fabricsTop, fabricsRow                   = 52, 15      // and from top to bottom
)

// fabricsPicture draws the bus bandwidth as points with their intervals. A dashed line
// is ECMP with the same hosts as most; colours tell schemes that avoid pauses.
func (d *documents) fabricsPicture(o *result.Outcome, rows []row) []byte {
	const plain, avoiding = "#0072b2", "#d55e00"
	cases := o.Axes[0].Values
	lines := 0
	for i, r := range rows {
		if lines++; i == 0 || rows[i-1].nic != r.nic {
			lines++
		}
	}
	width, bottom := fabricsLabels+len(cases)*(fabricsColumn+fabricsGap)+10, fabricsTop+lines*fabricsRow+4
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">
<!-- SPDX-License-Identifier: Apache-2.0; made by pauseless exp docs -->
<title>Bus bandwidth in GB/s by hosts, choice of paths and case, with 95 %% intervals</title>
<rect width="%d" height="%d" fill="white"/>
`, width, bottom+24, width, bottom+24)
	fmt.Fprintf(&b, "<text x=\"8\" y=\"14\">bus bandwidth, GB/s; bars: 95 %% interval; dashed: ecmp with RoCE, out of order, DCQCN</text>\n")
	for i, s := range []struct{ colour, text string }{{avoiding, "avoids pauses"}, {plain, "does not"}} {
		x := width - 190 + 110*i
		fmt.Fprintf(&b, "<circle cx=\"%d\" cy=\"10\" r=\"3.5\" fill=\"%s\"/><text x=\"%d\" y=\"14\">%s</text>\n", x, s.colour, x+8, s.text)
	}
	type column struct {
		left int
		most float64
	}
	var columns []column
	for i, c := range cases {
		col := column{left: fabricsLabels + i*(fabricsColumn+fabricsGap)}
		for _, r := range rows {
			mean, half := d.meanOf(o, r.arm, c.Text, "busbw")
			col.most = max(col.most, mean+half)
		}
		col.most = 5 * math.Ceil(col.most/5)
		columns = append(columns, col)
		fmt.Fprintf(&b, "<text x=\"%d\" y=\"38\" text-anchor=\"middle\" font-weight=\"bold\">%s</text>\n", col.left+fabricsColumn/2, c.Text)
		for k := range 3 {
			x := float64(col.left) + float64(k*fabricsColumn)/2
			fmt.Fprintf(&b, "<path d=\"M%.1f %d V%d\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#555\">%g</text>\n", x, fabricsTop-8, bottom, x, bottom+14, col.most*float64(k)/2)
		}
		mean, _ := d.meanOf(o, "ecmp", c.Text, "busbw")
		fmt.Fprintf(&b, "<path d=\"M%.1f %d V%d\" stroke=\"#444\" stroke-dasharray=\"3 3\"/>\n", float64(col.left)+mean/col.most*fabricsColumn, fabricsTop-8, bottom)
	}
	y := fabricsTop
	for i, r := range rows {
		if i == 0 || rows[i-1].nic != r.nic {
			fmt.Fprintf(&b, "<text x=\"8\" y=\"%d\" fill=\"#555\" font-style=\"italic\">%s</text>\n", y+6, r.nic)
			y += fabricsRow
		}
		fmt.Fprintf(&b, "<text x=\"20\" y=\"%d\">%s</text>\n", y+4, r.paths)
		colour := plain
		if strings.HasPrefix(r.paths, "rlb-") || r.paths == "plb" {
			colour = avoiding
		}
		fmt.Fprintf(&b, "<g stroke=\"%s\" fill=\"%s\" stroke-width=\"1.5\">\n", colour, colour)
		for k, c := range cases {
			mean, half := d.meanOf(o, r.arm, c.Text, "busbw")
			x := func(v float64) float64 {
				return float64(columns[k].left) + min(max(v/columns[k].most, 0), 1)*fabricsColumn
			}
			fmt.Fprintf(&b, "<path d=\"M%.1f %d H%.1f\"/><circle cx=\"%.1f\" cy=\"%d\" r=\"2.3\"><title>%s, %s, %s: %.1f ± %.1f GB/s</title></circle>\n",
				x(mean-half), y, x(mean+half), x(mean), y, r.nic, r.paths, c.Text, mean, half)
		}
		b.WriteString("</g>\n")
		y += fabricsRow
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}
