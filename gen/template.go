// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"math/bits"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
	syntax "text/template/parse"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
)

// generator is a Profile with the data and functions of its templates.
type generator struct {
	*Profile
	*closure
	derived
	manifest *manifest.Manifest
	tmpl     map[*block]*template.Template
	block    map[string]string // of tables, registers and digests
	indexes  map[string]bool   // index functions that the program uses
	repeated int               // repetitions of ranges so far
}

// parse parses the templates of the blocks. Each block has its own names:
// section in a template refers to a section of the same block.
func (g *generator) parse() error {
	g.tmpl = make(map[*block]*template.Template)
	for _, b := range g.blocks {
		t := template.New(b.Name).Funcs(g.funcs(b))
		for _, file := range []string{"common.p4.tmpl", g.target + ".p4.tmpl"} {
			text, ok := b.files[file]
			if !ok {
				continue
			}
			if _, err := t.New(filepath.Join(b.dir, file)).Parse(text); err != nil {
				return err
			}
		}
		for _, t := range t.Templates() {
			if t.Tree != nil {
				countSteps(t.Tree.Root)
			}
		}
		g.tmpl[b] = t
	}
	return nil
}

// maxSteps is the greatest number of repetitions in all templates of a program. Those
// of built-in schemes have some thousands. A range that writes nothing would be within
// maxSection for ever.
const maxSteps = 2_000_000

// countSteps lets each repetition of a range call step first.
func countSteps(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.ListNode:
		if n != nil {
			for _, x := range n.Nodes {
				countSteps(x)
			}
		}
	case *syntax.IfNode:
		countSteps(n.List)
		countSteps(n.ElseList)
	case *syntax.WithNode:
		countSteps(n.List)
		countSteps(n.ElseList)
	case *syntax.RangeNode:
		countSteps(n.List)
		countSteps(n.ElseList)
		call := stepCall.Copy().(*syntax.ActionNode)
		n.List.Nodes = append([]syntax.Node{call}, n.List.Nodes...)
	}
}

// stepCall is the action {{step}}.
var stepCall = template.Must(template.New("").Funcs(template.FuncMap{"step": func() string { return "" }}).Parse("{{step}}")).Root.Nodes[0]

func (g *generator) funcs(b *block) template.FuncMap {
	return template.FuncMap{
		"step": g.step,
		// Blocks of the program.
		"need":         g.need,
		"markedOnly":   func() bool { return g.needs["bth"] && !g.needs["bth.all"] },
		"moreMessages": func() bool { return g.moreMessages(b) },
		"pipe":         g.pipe,
		// Text of this block, of another, of all blocks.
		"section":  func(name string) (string, error) { return g.own(b, name) },
		"from":     g.from,
		"eachPath": func(name string, n int) (string, error) { return g.eachPath(b, name, n) },
		"join":     g.join,
		"one":      func(name string) (string, error) { return g.one(b, name) },
		"sections": func(s string) (string, error) { return g.join(s, "\n\n") },
		"commas":   func(s string) (string, error) { return g.join(s, ",\n") },
		"lines":    g.lines,
		"more":     g.more,
		"words":    g.words,
		"grouped":  g.grouped,
		"indent":   indent,
		"arg":      func(args []any, i int) any { return args[i] },
		"trim":     func(s string) string { return strings.Trim(s, "\n") },
		"list":     func(s ...string) []string { return s },
		// Lists of headers.
		"otherHeaders":  g.otherHeaders,
		"egressHeaders": g.egressHeaders,
		"feedbackDue":   g.feedbackDue,
		// Parsers and controls of TNA.
		"zero":          g.zero,
		"egressStates":  egressStates,
		"ingressParams": func() string { return ingressParams },
		"egressParams":  func() string { return egressParams },
		// Numbers.
		"product":   func(a, b int) int { return a * b },
		"add":       func(a, b int) int { return a + b },
		"dec":       func(a int) int { return a - 1 },
		"sub":       func(a, b int) int { return a - b },
		"hex":       func(v uint64) string { return fmt.Sprintf("%#x", v) },
		"seq":       seq,
		"paths":     func() []int { return seq(g.Sizes.Paths) },
		"classes":   func() []int { return seq(packet.Classes) },
		"lossless":  func() []int { return []int{g.Lossless} },
		"firstPath": func(n int) uint64 { return 1 << (n - 1) },
		"prefixes":  func(n int) []prefix { return prefixes(n)[:n-1] },
		// BMv2 misreads prefixes of keys that do not fill bytes; these match no word twice.
		"prefixKind": func(n int) string {
			if n%8 != 0 {
				return "ternary"
			}
			return "lpm"
		},
		// All of them; the paths are counted from the last.
		"allPrefixes": func(n int) []prefix { l := prefixes(n); l[n-1].Skip = 0; return l },
		"pathBit":     func(path int) string { return fmt.Sprintf("%#x", uint64(1)<<(g.MaskBits-1-path)) },
		"hexPath":     func(path int) string { return fmt.Sprintf("%dw%#x", g.MaskBits, uint64(1)<<(g.MaskBits-1-path)) },
		// The type of a set of paths in a register of a Tofino, whose cells have 8, 16 or 32 bits.
		"maskCell": func() string {
			for _, n := range []int{8, 16, 32} {
				if g.MaskBits < n {
					return fmt.Sprintf("bit<%d>", n)
				}
				if g.MaskBits == n {
					break
				}
			}
			return "mask_t"
		},
		"args":     g.args,
		"filled":   g.filled,
		"value":    g.value,
		"terms":    manifest.Terms,
		"constant": g.constant,
		"bits":     func(n int) int { return bits.Len(uint(n)) },
		// Sets as numbers: bit n; the union; hexadecimal with the width of a set of n.
		"bit":    func(n int) uint64 { return 1 << n },
		"either": func(a, b uint64) uint64 { return a | b },
		"none":   func() uint64 { return 0 },
		"set":    func(n int, v uint64) string { return fmt.Sprintf("%#0*x", (n+3)/4+2, v) },
		// Cells of registers.
		"index":      g.index,
		"cell":       g.cell,
		"cells":      func() int { return g.Sizes.Ports * g.Sizes.Priorities },
		"pathcell":   g.pathCell,
		"pathcells":  func() int { return g.Sizes.Leaves * g.PathCells },
		"flowcell":   g.flowCell,
		"indexes":    func() string { return indexesHere },
		"cellShifts": g.cellShifts, "cellTimes": g.cellTimes,
	}
}

// step is called for each repetition of a range.
func (g *generator) step() (string, error) {
	if g.repeated++; g.repeated > maxSteps {
		return "", fmt.Errorf("ranges repeat more than %d times in all: does one repeat another one, or have a number instead of a list?", maxSteps)
	}
	return "", nil
}

func seq(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// own returns a section of a block.
func (g *generator) own(b *block, name string) (string, error) {
	text, ok, err := g.section(b, name, g)
	if err == nil && !ok {
		err = fmt.Errorf("block %s has no section %q", b.Name, name)
	}
	return text, err
}

// from returns a section that a block offers to others. args, if given, are the
// data of its template; otherwise it is the generator.
func (g *generator) from(name, section string, args ...any) (string, error) {
	i := slices.IndexFunc(g.blocks, func(b *block) bool { return b.Name == name })
	if i < 0 {
		return "", fmt.Errorf("block %s is not in the program: it has to be among the needs", name)
	}
	var data any = g
	if len(args) > 0 {
		data = args
	}
	text, ok, err := g.section(g.blocks[i], section, data)
	if err == nil && !ok {
		err = fmt.Errorf("block %s has no section %q", name, section)
	}
	return text, err
}

// section returns a section of a block, and whether the block has it.
func (g *generator) section(b *block, name string, data any) (string, bool, error) {
	t := g.tmpl[b]
	if t.Lookup(name) == nil {
		return "", false, nil
	}
	var w section
	err := t.ExecuteTemplate(&w, name, data)
	return w.String(), true, err
}

// maxSection is the greatest size of a section's text in bytes. Loops in loops can
// write any amount.
const maxSection = 4 << 20

// section is the text that a template writes.
type section struct{ strings.Builder }

func (s *section) Write(p []byte) (int, error) {
	if s.Len()+len(p) > maxSection {
		return 0, fmt.Errorf("it writes more than %d MB; does a range repeat another one?", maxSection>>20)
	}
	return s.Builder.Write(p)
}

// join returns the sections of that name of all blocks.
func (g *generator) join(name, sep string) (string, error) {
	if !g.hooks[name] {
		return "", fmt.Errorf("no block has a hook %q", name)
	}
	var parts []string
	for _, b := range g.blocks {
		text, _, err := g.section(b, name, g)
		if err != nil {
			return "", err
		}
		if text = strings.Trim(text, "\n"); strings.TrimSpace(text) != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, sep), nil
}

// one returns the section of that name, which a block that needs b must have.
func (g *generator) one(b *block, name string) (string, error) {
	text, err := g.join(name, "")
	if err == nil && text == "" {
		err = fmt.Errorf("no block has a section %q (%s): define it in a template of the block that needs %s", name, b.Hooks[name], b.Name)
	}
	return text, err
}

// words returns the words of the sections of that name.
func (g *generator) words(name string) ([]string, error) {
	text, err := g.join(name, " ")
	return strings.Fields(text), err
}

// lines returns the sections of that name of all blocks, each after a line
// break. A template calls it at the end of a line.
func (g *generator) lines(name string) (string, error) {
	text, err := g.join(name, "\n")
	if text != "" {
		text = "\n" + text
	}
	return text, err
}

// grouped is lines for members of a struct, with the name of each block before
// its members.
func (g *generator) grouped(name string) (string, error) {
	var text strings.Builder
	for _, b := range g.blocks {
		members, _, err := g.section(b, name, g)
		if err != nil {
			return "", err
		}
		if members = strings.Trim(members, "\n"); strings.TrimSpace(members) != "" {
			text.WriteString("\n    // " + b.Name + "\n" + members)
		}
	}
	return text.String(), nil
}

// more is lines for statements: it indents them.
func (g *generator) more(n int, name string) (string, error) {
	text, err := g.lines(name)
	return indent(n, text), err
}

// eachPath repeats statements for each possible path, under a condition from
// the third on: with more than one path there are at least two.
func (g *generator) eachPath(of *block, name string, n int) (string, error) {
	body, err := g.own(of, name)
	body = strings.Trim(body, "\n") + "\n"
	var b strings.Builder
	for path := range g.Sizes.Paths {
		if path < 2 {
			b.WriteString(body)
		} else {
			fmt.Fprintf(&b, "if (meta.last_path >= %d) {\n%s}\n", path, indent(4, body))
		}
	}
	return indent(n, strings.TrimSuffix(b.String(), "\n")), err
}

func indent(n int, text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(strings.Repeat(" ", n))
		}
		b.WriteString(line)
	}
	return b.String()
}

// indexesHere is a placeholder for the index functions of the program. The set
// of these is known after all other text.
const indexesHere = "INDEX FUNCTIONS"

// cell is the index of a queue of a port in a register of queues: of the
// packet's class, or of a given class.
func (g *generator) cell(port string, class ...string) string {
	if !g.PriorityQueues {
		return g.use("queue_cell", port)
	}
	return g.use("queue_cell", port, append(class, "standard_metadata.priority")[0])
}

// pathCell is the index of a path to a leaf.
func (g *generator) pathCell(leaf, path string) string { return g.use("path_cell", leaf, path) }

// flowCell is the index of a flow.
func (g *generator) flowCell() string {
	if g.target == "tna" {
		return fmt.Sprintf("meta.flow_hash[%d:0]", g.FlowBits-1)
	}
	return g.use("flow_cell", "meta.flow_hash")
}

func (g *generator) use(function string, args ...string) string {
	g.indexes[function] = true
	return function + "(" + strings.Join(args, ", ") + ")"
}

// indexFunctions returns the declarations of the functions used.
func (g *generator) indexFunctions() string {
	queue := "bit<32> queue_cell(in port_t port) {\n    return (bit<32>) port;\n}"
	if g.PriorityQueues {
		queue = "bit<32> queue_cell(in port_t port, in bit<3> priority) {\n    return (bit<32>) (port ++ priority);\n}"
	}
	var list []string
	for _, f := range []struct{ name, text string }{
		{"queue_cell", "// The cell of a port's queue.\n" + queue},
		{"path_cell", "// The cell of a path to a leaf.\nbit<32> path_cell(in leaf_t leaf, in path_t path) {\n    return (bit<32>) (leaf ++ path);\n}"},
		{"flow_cell", fmt.Sprintf("// The cell of a flow. Flows whose hashes end alike share it.\nbit<32> flow_cell(in bit<32> flow_hash) {\n    return (bit<32>) flow_hash[%d:0];\n}", g.FlowBits-1)},
	} {
		if g.indexes[f.name] {
			list = append(list, f.text)
		}
	}
	return strings.Join(list, "\n\n")
}

// index returns the text of an @index annotation: "port" means queues of a
// port.
func (g *generator) index(dims ...string) string {
	switch {
	case dims[0] == "port" && g.PriorityQueues:
		return fmt.Sprintf("port,priority:%d", g.Sizes.Priorities)
	case len(dims) == 2:
		return fmt.Sprintf("%s,%s:%d", dims[0], dims[1], g.PathCells)
	}
	return dims[0]
}

// prefix is a run of zeros followed by a one, as a value and a mask.
type prefix struct {
	Value, Mask string
	Skip        int
}

// prefixes returns the prefixes of words of n bits, with 0 to n-1 zeros.
func prefixes(n int) []prefix {
	digits := (n + 3) / 4
	var list []prefix
	for zeros := range n {
		value := uint64(1) << (n - 1 - zeros)
		mask := ^uint64(0) >> (64 - n) &^ (value - 1)
		list = append(list, prefix{fmt.Sprintf("0x%0*x", digits, value), fmt.Sprintf("0x%0*x", digits, mask), zeros + 1})
	}
	return list
}

// moreMessages reports whether a block before this one can make a message of
// the packet: all clones of a packet become one message.
func (g *generator) moreMessages(of *block) bool {
	for _, b := range g.blocks {
		if b == of {
			return false
		}
		for _, n := range slices.Concat(b.Needs, b.on(g.target).Needs) {
			if blockOf(n.name) == "message" && g.holds(n.condition) {
				return true
			}
		}
	}
	return false
}

// otherHeaders returns the headers except Ethernet that a packet can have when
// a clone of it becomes a message with the given header.
func (g *generator) otherHeaders(message string) ([]string, error) {
	list, err := g.words("before_ip")
	if err != nil {
		return nil, err
	}
	behind, err := g.words("behind_ip")
	list = slices.Concat(list, []string{"ipv4", "arp"}, behind)
	return slices.DeleteFunc(list, func(h string) bool { return h == message }), err
}

// egressHeaders returns the headers that egress can send on TNA, in order.
func (g *generator) egressHeaders() ([]string, error) {
	var list []string
	for _, part := range []string{"egress_front", "", "egress_near", "before_ip", "ipv4", "egress_payload"} {
		switch part {
		case "":
			list = append(list, "ethernet")
		case "ipv4":
			list = append(list, part)
		default:
			words, err := g.words(part)
			if err != nil {
				return nil, err
			}
			list = append(list, words...)
		}
	}
	return list, nil
}

// feedbackDue returns the condition under which egress sends feedback to
// ingress, on TNA.
func (g *generator) feedbackDue() (string, error) {
	due, err := g.join("feedback_due", " || ")
	if err != nil {
		return "", err
	}
	unless, err := g.join("feedback_unless", " && ")
	if unless == "" {
		return due, err
	}
	if strings.Contains(due, "||") {
		due = "(" + due + ")"
	}
	return due + " && " + unless, err
}

// zero returns statements that set all metadata of a kind to zero. Tofino's
// parser does not initialize them.
func (g *generator) zero(hook string) (string, error) {
	text, err := g.lines(hook)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		m := metadataMember.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		value := "0"
		if m[2] == "path_out" {
			value = "NO_PATH"
		}
		if m[1] == "bool" {
			value = "false"
		}
		fmt.Fprintf(&b, "meta.%s = %s;\n", m[2], value)
	}
	return b.String(), nil
}

var metadataMember = regexp.MustCompile(`^\s*([\w<>]+)\s+(\w+);`)

// egressStates removes the assignments of metadata from parser states of
// ingress: egress has no such metadata.
func egressStates(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "meta.") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Parameters of the controls of a pipe of TNA.
const (
	ingressParams = `inout headers_t hdr, inout metadata_t meta,
        in ingress_intrinsic_metadata_t intrinsic,
        in ingress_intrinsic_metadata_from_parser_t parsed,
        inout ingress_intrinsic_metadata_for_deparser_t deparser,
        inout ingress_intrinsic_metadata_for_tm_t tm`
	egressParams = `inout headers_t hdr, inout egress_metadata_t meta,
        in egress_intrinsic_metadata_t intrinsic,
        in egress_intrinsic_metadata_from_parser_t parsed,
        inout egress_intrinsic_metadata_for_deparser_t deparser`
)

// constant declares a number computed from parameters at generation, with the
// annotations that the manifest needs.
func (g *generator) constant(typ, name string, formula manifest.Expr, doc string) (string, error) {
	v, err := g.value(formula)
	return fmt.Sprintf("@from(%q) @brief(%q)\nconst %s %s = %d;", formula, doc, typ, name, v), err
}

// value returns a whole number computed from parameters at generation. The
// arguments after the formula are pairs of a name and a number, which the
// formula can use.
func (g *generator) value(formula manifest.Expr, more ...any) (int, error) {
	values := make(map[string]float64)
	for i := 0; i+1 < len(more); i += 2 {
		name, ok := more[i].(string)
		n, isInt := more[i+1].(int)
		if !ok || !isInt {
			return 0, fmt.Errorf("value %q: write, after the formula, pairs of a name and a whole number", formula)
		}
		values[name] = float64(n)
	}
	v, err := g.manifest.Evaluate(formula, g.Network, values)
	return int(v), err
}
