// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"io"
	"strings"

	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/vtime"
)

// schedule is a GOAL text (Hoefler, Siebert and Lumsdaine, ICPP 2009): for each rank
// sends, receives and computing, and what they require.
type schedule struct {
	src source
	ops [][]goalOp // by rank
}

// goalOp is an operation of a rank.
type goalOp struct {
	line     int
	kind     string // send, recv or calc
	bytes    int64
	peer     int
	tag      int64
	cpu      int
	time     vtime.Time
	requires []int // operations of the rank that have ended before
	started  []int // operations of the rank that have started before
	awaited  bool  // some operation waits for its start
}

func (s *schedule) ranks() int { return len(s.ops) }

// goalReader splits a text into words: names, numbers, braces and colons.
type goalReader struct {
	src  *source
	text string
	line int
}

// next returns the next word, or "" at the end.
func (g *goalReader) next() string {
	for g.text != "" {
		switch c := g.text[0]; {
		case c == '\n':
			g.line++
			g.text = g.text[1:]
		case c == ' ' || c == '\t' || c == '\r' || c == ';':
			g.text = g.text[1:]
		case strings.HasPrefix(g.text, "/*"):
			comment, rest, _ := strings.Cut(g.text[2:], "*/")
			g.line += strings.Count(comment, "\n")
			g.text = rest
		case strings.HasPrefix(g.text, "//") || c == '#':
			_, g.text, _ = strings.Cut(g.text, "\n")
			g.line++
		case c == '{' || c == '}' || c == ':':
			g.text = g.text[1:]
			return string(c)
		default:
			end := strings.IndexAny(g.text, " \t\r\n;{}:")
			if end < 0 {
				end = len(g.text)
			}
			word := g.text[:end]
			g.text = g.text[end:]
			return word
		}
	}
	return ""
}

// peek returns the next word and leaves it.
func (g *goalReader) peek() string {
	before := *g
	word := g.next()
	*g = before
	return word
}

func (g *goalReader) fail(format string, args ...any) error {
	return g.src.fail(g.line, format, args...)
}

// number reads a number, which may end in a unit.
func (g *goalReader) number(what, unit string, high int64) (int64, error) {
	v, err := whole(what, strings.TrimSuffix(g.next(), unit), 0, high)
	if err != nil {
		return 0, g.fail("%v", err)
	}
	return v, nil
}

// readGoal reads a GOAL text. An error is a diag.List.
func readGoal(name string, r io.Reader) (*schedule, error) {
	s := &schedule{src: source{name: name}}
	text, err := infile.From(r, name, infile.Text)
	if err != nil {
		return nil, err
	}
	g := &goalReader{src: &s.src, text: string(text), line: 1}
	if w := g.next(); w != "num_ranks" {
		return nil, g.fail("the file begins with %q; expected num_ranks N", w)
	}
	n, err := whole("num_ranks", g.next(), 2, 1<<16)
	if err != nil {
		return nil, g.fail("%v", err)
	}
	s.ops = make([][]goalOp, n)
	total := 0
	for {
		switch w := g.next(); w {
		case "":
			return s, s.check()
		case "rank":
			rank, err := g.number("rank", "", n-1)
			if err != nil {
				return nil, err
			}
			if s.ops[rank] != nil {
				return nil, g.fail("rank %d is given twice", rank)
			}
			if s.ops[rank], err = g.rank(n); err != nil {
				return nil, err
			}
			if total += len(s.ops[rank]); total > maxFlows/4 {
				return nil, g.fail("there are more than %d operations", maxFlows/4)
			}
		default:
			return nil, g.fail("%q is unknown; expected rank R {", w)
		}
	}
}

// rank reads the operations of a rank.
func (g *goalReader) rank(n int64) ([]goalOp, error) {
	if w := g.next(); w != "{" {
		return nil, g.fail("expected { after rank, not %q", w)
	}
	ops := []goalOp{}
	labels := make(map[string]int)
	for {
		word := g.next()
		switch word {
		case "":
			return nil, g.fail("the file ends within a rank")
		case "}":
			return ops, nil
		}
		label := ""
		switch next := g.peek(); {
		case next == ":":
			g.next()
			label, word = word, g.next()
		case next == "requires" || next == "irequires":
			g.next()
			other := g.next()
			a, ok := labels[word]
			b, known := labels[other]
			if !ok || !known {
				return nil, g.fail("%s %s %s: no operation of this rank before it has that label", word, next, other)
			}
			if next == "requires" {
				ops[a].requires = append(ops[a].requires, b)
			} else {
				ops[a].started, ops[b].awaited = append(ops[a].started, b), true
			}
			continue
		}
		op, err := g.op(word, n)
		if err != nil {
			return nil, err
		}
		if label != "" {
			if _, twice := labels[label]; twice {
				return nil, g.fail("label %s is given twice", label)
			}
			labels[label] = len(ops)
		}
		ops = append(ops, op)
	}
}

// op reads an operation.
func (g *goalReader) op(kind string, n int64) (op goalOp, err error) {
	op = goalOp{line: g.line, kind: kind}
	switch kind {
	case "calc":
		ns, err := g.number("calc", "", longest.Nanoseconds())
		if err != nil {
			return op, err
		}
		op.time = vtime.Time(ns) * vtime.Nanosecond
	case "send", "recv":
		if op.bytes, err = g.number("size", "b", mostBytes); err != nil {
			return op, err
		}
		want := map[string]string{"send": "to", "recv": "from"}[kind]
		if w := g.next(); w != want {
			return op, g.fail("%s needs %s RANK, not %q", kind, want, w)
		}
		peer, err := g.number("rank", "", n-1)
		if err != nil {
			return op, err
		}
		op.peer = int(peer)
	default:
		return op, g.fail("%q is unknown; expected send, recv or calc", kind)
	}
	for {
		switch g.peek() {
		case "tag":
			g.next()
			if op.tag, err = g.number("tag", "", 1<<62); err != nil {
				return op, err
			}
		case "cpu":
			g.next()
			cpu, err := g.number("cpu", "", 1023)
			if err != nil {
				return op, err
			}
			op.cpu = int(cpu)
		case "nic":
			g.next()
			if _, err = g.number("nic", "", 1023); err != nil {
				return op, err
			}
		default:
			return op, nil
		}
	}
}

// channelOf identifies messages that match in order.
type channelOf struct {
	src, dst int
	tag      int64
}

// check matches receives with sends.
func (s *schedule) check() error {
	type end struct {
		count int
		line  int
	}
	left := make(map[channelOf]end)
	for r, ops := range s.ops {
		for i := range ops {
			op := &ops[i]
			ch := channelOf{r, op.peer, op.tag}
			switch {
			case op.kind == "calc":
				continue
			case op.peer == r:
				return s.src.fail(op.line, "rank %d sends to itself", r)
			case op.kind == "send":
				left[ch] = end{left[ch].count + 1, op.line}
			default:
				ch.src, ch.dst = op.peer, r
				left[ch] = end{left[ch].count - 1, op.line}
			}
		}
	}
	first, what := 0, channelOf{}
	for ch, e := range left {
		if e.count != 0 && (first == 0 || e.line < first) {
			first, what = e.line, ch
		}
	}
	if first > 0 {
		return s.src.fail(first, "from rank %d to %d with tag %d the numbers of send and recv differ by %d", what.src, what.dst, what.tag, left[what].count)
	}
	return s.checkSizes()
}

// checkSizes returns an error for a receive that has no room for its send: the k-th of a
// channel match.
func (s *schedule) checkSizes() error {
	sends := make(map[channelOf][]*goalOp)
	for r, ops := range s.ops {
		for i := range ops {
			if op := &ops[i]; op.kind == "send" {
				ch := channelOf{r, op.peer, op.tag}
				sends[ch] = append(sends[ch], op)
			}
		}
	}
	for r, ops := range s.ops {
		for i := range ops {
			op := &ops[i]
			if op.kind != "recv" {
				continue
			}
			ch := channelOf{op.peer, r, op.tag}
			if sent := sends[ch][0]; sent.bytes > op.bytes {
				return s.src.fail(op.line, "recv is of %d bytes, and the send in line %d that it matches of %d", op.bytes, sent.line, sent.bytes)
			}
			sends[ch] = sends[ch][1:]
		}
	}
	return nil
}

func (s *schedule) build(b *builder) {
	lanes := make(map[[2]int]int32)
	perHost := make(map[int]int32)
	lane := func(rank, cpu int) int32 {
		k := [2]int{rank, cpu}
		if lanes[k] == 0 {
			perHost[b.host[rank]]++
			lanes[k] = 2*maxLocal + perHost[b.host[rank]]
		}
		return lanes[k]
	}
	b.inLine()
	sends := make(map[channelOf][]message)
	// Steps first, so that receives find their sends; what they wait for follows.
	type made struct {
		step, pre int32 // pre: the step whose end is the start; -1: none
		first     int32 // that waits
	}
	steps := make([][]made, len(s.ops))
	for r, ops := range s.ops {
		steps[r] = make([]made, len(ops))
		for i := range ops {
			op, m := &ops[i], &steps[r][i]
			m.pre, m.first = -1, -1
			b.at = int32(op.line)
			var after []fabric.Dep
			if op.awaited {
				b.step(r, fabric.Other, nil)
				m.pre, m.first = b.latest(), b.latest()
				after = []fabric.Dep{{Step: m.pre}}
			}
			switch op.kind {
			case "calc":
				st := b.step(r, fabric.Compute, after)
				st.Time, st.Lane = op.time, lane(r, op.cpu)
				m.step = b.latest()
			case "send":
				msg := b.free(r, op.peer, int(op.tag), op.bytes, after)
				m.step = msg.step
				ch := channelOf{r, op.peer, op.tag}
				sends[ch] = append(sends[ch], msg)
			case "recv":
				b.step(r, fabric.Other, after)
				m.step = b.latest()
			}
			if m.first < 0 {
				m.first = m.step
			}
		}
	}
	taken := make(map[channelOf]int)
	for r, ops := range s.ops {
		for i := range ops {
			op, m := &ops[i], &steps[r][i]
			st := &b.p.Steps[m.first]
			for _, k := range op.requires {
				st.After = append(st.After, fabric.Dep{Step: steps[r][k].step})
			}
			for _, k := range op.started {
				st.After = append(st.After, fabric.Dep{Step: steps[r][k].pre})
			}
			if op.kind == "recv" {
				ch := channelOf{op.peer, r, op.tag}
				msg := sends[ch][taken[ch]]
				taken[ch]++
				end := &b.p.Steps[m.step]
				end.After = append(end.After, msg.received())
			}
		}
	}
	b.startAt()
}

// maxLocal is the greatest number of ranks of a host.
const maxLocal = 64
