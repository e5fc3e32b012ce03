// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"math/bits"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/packet"
)

//go:embed templates
var templates embed.FS

// Program is a generated program.
type Program struct {
	Name     string
	P4       []byte // P4_16 text
	Manifest *manifest.Manifest
	Entries  []byte // default entries, one a line, as `pauseless ctl` reads them
}

// Targets are those that programs can be generated for.
var Targets = []string{"v1model", "tna"}

// Generate writes the program of a profile for a target.
func Generate(p *Profile, target string) (*Program, error) {
	if !slices.Contains(Targets, target) {
		return nil, fmt.Errorf("target %q: want one of %s", target, strings.Join(Targets, ", "))
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	if err := Supports(p, target); err != nil {
		return nil, err
	}
	g := &generator{Profile: p, all: p.blocks()}
	if target == "tna" {
		g.all = p.tnaBlocks()
	}
	g.manifest = g.buildManifest(target)
	text, err := g.render(target)
	if err != nil {
		return nil, err
	}
	return &Program{Name: p.Name, P4: text, Manifest: g.manifest, Entries: g.entries()}, nil
}

// generator is a Profile with what templates ask of it.
type generator struct {
	*Profile
	all      []block
	manifest *manifest.Manifest
	tmpl     *template.Template
}

// instance is a control inside the pipe that applies it.
type instance struct{ Control, Name string }

// pipe is an ingress or egress control: instances, and the text that applies
// them.
type pipe struct {
	Instances []instance
	Apply     string
}

func (g *generator) render(target string) ([]byte, error) {
	g.tmpl = template.New("").Funcs(g.funcs(target))
	for _, dir := range []string{"templates/common", "templates/" + target} {
		files, err := fs.Glob(templates, dir+"/*.tmpl")
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("no templates in %s: %v", dir, err)
		}
		if _, err := g.tmpl.ParseFS(templates, files...); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	if err := g.tmpl.ExecuteTemplate(&b, "program.p4.tmpl", g); err != nil {
		return nil, err
	}
	return tidy(b.Bytes()), nil
}

func (g *generator) funcs(target string) template.FuncMap {
	return template.FuncMap{
		// Text.
		"section":    g.section,
		"sections":   func(s string) (string, error) { return g.join(s, "\n\n") },
		"lines":      g.lines,
		"more":       g.more,
		"eachPath":   g.eachPath,
		"indent":     indent,
		"commas":     func(s string) (string, error) { return g.join(s, ",\n") },
		"list":       func(s ...string) []string { return s },
		"turns":      g.turns,
		"slowEchoes": g.slowEchoes,
		"slowBit":    func(path int) string { return fmt.Sprintf("%#x", g.slowBit(path, 0)) },

		"when": func(yes bool, text string) string {
			if yes {
				return text
			}
			return ""
		},
		"levels": g.levels, "wishes": g.wishes, "cellShifts": g.cellShifts, "cellTimes": g.cellTimes, "sums": g.sums,
		"zero":  g.zero,
		"picks": g.picks,
		"trim":  func(s string) string { return strings.Trim(s, "\n") },

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
		"lossless":  func() []int { return []int{g.Lossless()} },
		"firstPath": func(n int) uint64 { return 1 << (n - 1) },
		"prefixes":  func(n int) []prefix { return prefixes(n)[:n-1] },
		// All of them, the last being the path from which the others are counted.
		"allPrefixes": func(n int) []prefix { l := prefixes(n); l[n-1].Skip = 0; return l },
		"pathBit":     func(path int) string { return fmt.Sprintf("%#x", uint64(1)<<(g.MaskBits()-1-path)) },
		"hexPath":     func(path int) string { return fmt.Sprintf("%dw%#x", g.MaskBits(), uint64(1)<<(g.MaskBits()-1-path)) },
		"args":        g.args,
		// Cells of registers.
		"index":     g.index,
		"cell":      g.cell,
		"cells":     func() int { return g.Sizes.Ports * g.Sizes.Priorities },
		"classcell": g.classCell,
		"pathcell":  func(leaf, path string) string { return fmt.Sprintf("(bit<32>) (%s ++ %s)", leaf, path) },
		"pathcells": func() int { return g.Sizes.Leaves * g.PathCells() },
		"flowcell": func() string {
			cell := fmt.Sprintf("meta.flow_hash[%d:0]", g.FlowBits()-1)
			if target == "tna" {
				return cell
			}
			return "(bit<32>) " + cell
		},
		"coflowcell": func(path int) string { return fmt.Sprintf("(bit<32>) (row ++ (path_t) %d)", path) },
		// PB-FS.
		"slots": func() []int { return seq(g.Slots() + 1)[1:] },
		"slotcell": func(slot string) string {
			return fmt.Sprintf("(bit<32>) (meta.out_port ++ %s[%d:0])", slot, slotBits-1)
		},
		"slotcells":     func() int { return g.Sizes.Ports << slotBits },
		"slotIndex":     func() string { return fmt.Sprintf("port,slot:%d", 1<<slotBits) },
		"isRecent":      func(slot int) bool { return slot <= recentSlots },
		"postcardBytes": func() int { return packet.IPv4Len + packet.UDPLen + packet.PostcardLen },
		// QCN: 1/(n+1) in 2^-32, rounded up.
		"share":    func(n int) string { return fmt.Sprintf("%#x", (uint64(1)<<32+uint64(n))/uint64(n+1)) },
		"qcn":      g.qcn,
		"cnpBytes": func() int { return packet.IPv4Len + packet.UDPLen + packet.CNPLen + 4 },
	}
}

func seq(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// section returns a section of a block, empty if the block has none.
func (g *generator) section(name string) (string, error) {
	if g.tmpl.Lookup(name) == nil {
		return "", nil
	}
	var b strings.Builder
	err := g.tmpl.ExecuteTemplate(&b, name, g)
	return b.String(), err
}

// join returns the sections of that name of all blocks.
func (g *generator) join(name, sep string) (string, error) {
	var parts []string
	for _, b := range g.all {
		text, err := g.section(b.name + "/" + name)
		if err != nil {
			return "", err
		}
		if text = strings.Trim(text, "\n"); strings.TrimSpace(text) != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, sep), nil
}

// lines returns the sections of that name of all blocks, each line after a
// line break: a template calls it at the end of a line.
func (g *generator) lines(name string) (string, error) {
	text, err := g.join(name, "\n")
	if text != "" {
		text = "\n" + text
	}
	return text, err
}

// more is lines for statements: it indents them.
func (g *generator) more(n int, name string) (string, error) {
	text, err := g.lines(name)
	return indent(n, text), err
}

// eachPath repeats statements for each path that there may be. Two there are
// whenever there is a choice.
func (g *generator) eachPath(name string, n int) (string, error) {
	body, err := g.section(name)
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

// cell is the index of a port's cell in a register of queues.
func (g *generator) cell(port string) string {
	if g.PriorityQueues() {
		return "(bit<32>) (" + port + " ++ standard_metadata.priority)"
	}
	return "(bit<32>) " + port
}

// classCell is the same for a given class.
func (g *generator) classCell(port string, class int) string {
	if g.PriorityQueues() {
		return fmt.Sprintf("(bit<32>) (%s ++ 3w%d)", port, class)
	}
	return "(bit<32>) " + port
}

// index is the text of an @index annotation: "port" means queues of a port.
func (g *generator) index(dims ...string) string {
	switch {
	case dims[0] == "port" && g.PriorityQueues():
		return fmt.Sprintf("port,priority:%d", g.Sizes.Priorities)
	case len(dims) == 2:
		return fmt.Sprintf("%s,%s:%d", dims[0], dims[1], g.PathCells())
	}
	return dims[0]
}

// args are the default arguments of a configuration table's action.
func (g *generator) args(table string) (string, error) {
	args, err := g.manifest.Args(table, g.Network)
	if err != nil {
		return "", err
	}
	var text []string
	for _, a := range args {
		text = append(text, fmt.Sprint(a.Value))
	}
	return strings.Join(text, ", "), nil
}

// prefix is a run of zeros that ends in a one.
type prefix struct {
	Value, Mask string
	Skip        int
}

// prefixes lists them for words of n bits, from none to n-1 zeros.
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

// What templates ask.

func (g *generator) PriorityQueues() bool   { return g.Sizes.Priorities > 1 }
func (g *generator) Rlb() bool              { return g.rlb() }
func (g *generator) Adaptive() bool         { return g.adaptive() }
func (g *generator) Plb() bool              { return g.plb() }
func (g *generator) Emulated() bool         { return g.emulated() }
func (g *generator) INTOn() bool            { return bool(g.INT) }
func (g *generator) Pbfs() bool             { return bool(g.PBFS) }
func (g *generator) Qcn() bool              { return bool(g.QCN) }
func (g *generator) BTH() bool              { return g.bth() }
func (g *generator) MarkedOnly() bool       { return bool(g.PBFS) && !bool(g.QCN) }
func (g *generator) Tag() bool              { return g.tag() }
func (g *generator) Delivers() bool         { return g.fabricHeader() || g.tag() }
func (g *generator) RTT() bool              { return g.measuresRTT() }
func (g *generator) EveryPacket() bool      { return g.everyPacket() }
func (g *generator) Hash() bool             { return g.hashes() }
func (g *generator) Now() bool              { return g.needsNow() }
func (g *generator) L4() bool               { return g.l4() }
func (g *generator) UDP() bool              { return g.udp() }
func (g *generator) Rewrites() bool         { return g.rewrites() }
func (g *generator) AllPorts() bool         { return g.allPorts() }
func (g *generator) Recirculates() bool     { return g.recirculates() }
func (g *generator) Clones() bool           { return g.clones() }
func (g *generator) RecirculationPort() int { return g.Recirculation }

// Leaf says that something asks which leaf packets are for, HashShift that a
// path is chosen by a hash. On a Tofino, routes always have both.
func (g *generator) Leaf() bool {
	return g.manifest.Target != "v1model" || g.fabricHeader() || g.Base == "drill"
}

func (g *generator) HashShift() bool {
	return g.manifest.Target != "v1model" || g.Base == "ecmp" || g.Base == "presto" || g.Base == "hermes"
}

// Lossless is the class that is paused rather than dropped: that of DSCP 26.
func (g *generator) Lossless() int {
	if g.PriorityQueues() {
		return 3
	}
	return 0
}

// Slots is PB-FS's N. A ring has a power of two of cells, more than N and the
// running slot. Of the full slots, as many count as recent as T_Δ has.
func (g *generator) Slots() int { return manifest.Slots }

// SlotFraction is how the slot of a time is computed.
func (g *generator) SlotFraction() int { return g.Units.SlotFraction() }

// MoreMessages says that a packet may have made a message before it comes to
// PB-FS: clones of a packet become one message.
func (g *generator) MoreMessages() bool { return g.rlb() || g.emulated() || g.plb() }

// MoreMessagesThanQCN says the same of QCN, which is asked last.
func (g *generator) MoreMessagesThanQCN() bool { return g.MoreMessages() || bool(g.PBFS) }

const (
	slotBits    = 4
	recentSlots = 2
)

// DREShift is the time constant of the load estimator as a power of two of
// the target's units, DRETime the same as a number of them.
func (g *generator) DREShift() int { return g.Units.LoadShift() }
func (g *generator) DRETime() int  { return 1 << g.DREShift() }

// Forget is how long a queue without arrivals keeps its length: 10 ms, or a
// second on targets that count in microseconds, whose links are slower.
func (g *generator) Forget() uint64 {
	if g.Units.Time == manifest.Microseconds {
		return g.Span(1_000_000_000)
	}
	return g.Span(10_000_000)
}

// CoflowBits is how many bits of a coflow's number choose its row.
func (g *generator) CoflowBits() int { return bits.Len(uint(g.Sizes.Coflows - 1)) }

// FromSwitches is the condition that a packet has what hosts may not send.
func (g *generator) FromSwitches() string {
	var c []string
	if g.cnm() {
		c = append(c, "hdr.cnm.isValid()")
	}
	if g.plb() {
		c = append(c, "hdr.kick.isValid()")
	}
	return strings.Join(append(c, "hdr.fabric.isValid()"), " || ")
}

// BeforeIP lists the headers that may stand between Ethernet and IP.
func (g *generator) BeforeIP() []string {
	var list []string
	if g.fabricHeader() {
		list = append(list, "fabric")
	}
	if g.tag() {
		list = append(list, "tag")
	}
	return list
}

// OtherHeaders lists all headers but Ethernet that a packet may have when a
// clone of it becomes a message with the given header.
func (g *generator) OtherHeaders(message string) []string {
	list := append(g.BeforeIP(), "ipv4", "arp")
	if g.plb() && message != "kick" {
		list = append(list, "kick")
	}
	if g.udp() {
		list = append(list, "udp")
	}
	if g.INT {
		list = append(list, "telemetry")
	}
	if g.bth() {
		list = append(list, "bth")
	}
	return list
}

// Rerouted returns what a base scheme does when RLB moves a packet: one that
// remembers flows lets the rest of the flow follow.
func (g *generator) Rerouted() (string, error) {
	name := g.Base + "/rerouted"
	if g.flowlets() {
		name = "flowlet/rerouted"
	}
	text, err := g.section(name)
	return strings.Trim(text, "\n"), err
}

// PathBits is how wide a path number is; PathCells is how many paths that
// makes.
func (g *generator) PathBits() int  { return max(1, bits.Len(uint(g.Sizes.Paths-1))) }
func (g *generator) PathCells() int { return 1 << g.PathBits() }

// MaskBits is the width of a set of paths.
func (g *generator) MaskBits() int { return g.PathCells() }

// Span converts nanoseconds to the target's unit of time.
func (g *generator) Span(ns int) uint64 { return g.Units.Span(float64(ns)) }

// Ingress and Egress apply the blocks' controls.
func (g *generator) Ingress() pipe {
	w := g.writer(func(b block) []step { return b.ingress })
	w.stage(stageStart)
	w.use("Route")
	w.stage(stageArrive)
	w.open("if (meta.last_path > 0) {")
	w.stage(stageFlow)
	switch {
	case g.recirculates() && w.has(stageChoose):
		w.open("if (meta.passes == 0) {")
		w.stage(stageChoose)
		w.orElse("")
		w.line("meta.path = meta.first_choice;")
		w.close()
	case g.recirculates():
		w.open("if (meta.passes > 0) {")
		w.line("meta.path = meta.first_choice;")
		w.close()
	default:
		w.stage(stageChoose)
	}
	w.line("meta.out_port = meta.first_port + (port_t) meta.path;")
	w.stage(stageRethink)
	switch {
	case !g.recirculates():
		w.stage(stageSettle)
		w.close()
		w.stage(stageLeave)
		w.stage(stageQueue)
	case g.emulated():
		w.close()
		if g.rlb() {
			w.open("if (!meta.again) {")
			w.stage(stageHold)
			w.close()
		} else {
			w.stage(stageHold)
		}
		g.lastPass(w, true)
	default:
		g.lastPass(w, false)
	}
	w.use("Send")
	return w.pipe()
}

// lastPass writes what happens to a packet that may have to pass again:
// either that, or what is due to one that leaves.
func (g *generator) lastPass(w *writer, outside bool) {
	w.open("if (meta.again) {")
	w.use("Again")
	if outside || w.has(stageSettle) {
		w.orElse("")
	}
	if outside {
		if w.has(stageSettle) {
			w.open("if (meta.last_path > 0) {")
			w.stage(stageSettle)
			w.close()
		}
		w.stage(stageLeave)
		w.stage(stageQueue)
		w.close()
		return
	}
	w.stage(stageSettle)
	w.close()
	w.close()
	if w.has(stageLeave) || w.has(stageQueue) {
		w.open("if (!meta.again) {")
		w.stage(stageLeave)
		w.stage(stageQueue)
		w.close()
	}
}

func (g *generator) Egress() pipe {
	w := g.writer(func(b block) []step { return b.egress })
	depth := w.depth
	if g.clones() {
		w.open("if (standard_metadata.instance_type == INGRESS_CLONE || standard_metadata.instance_type == EGRESS_CLONE) {")
		w.stage(stageMessage)
	}
	if g.recirculates() {
		const again = "if (standard_metadata.egress_port == RECIRCULATION_PORT)"
		if w.depth > depth {
			w.orElse(again)
		} else {
			w.open(again + " {")
		}
		w.use("PassAgain")
	}
	if w.depth > depth {
		w.orElse("")
	}
	w.stage(stageDepart)
	w.stage(stageCalm)
	if w.depth > depth {
		w.close()
	}
	return w.pipe()
}

// snake turns RttSend into rtt_send.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// writer writes the apply block of a pipe.
type writer struct {
	text      strings.Builder
	depth     int
	steps     map[stage][]string
	instances []instance
	args      string // of every control
}

func (g *generator) writer(steps func(block) []step) *writer {
	w := &writer{depth: 2, steps: make(map[stage][]string), args: "hdr, meta, standard_metadata"}
	for _, b := range g.all {
		for _, s := range steps(b) {
			w.steps[s.stage] = append(w.steps[s.stage], s.control)
		}
	}
	return w
}

func (w *writer) pipe() pipe { return pipe{w.instances, w.text.String()} }

func (w *writer) line(text string) {
	w.text.WriteString("\n" + strings.Repeat("    ", w.depth) + text)
}

// open starts a block of statements, close ends it.
func (w *writer) open(text string) { w.line(text); w.depth++ }
func (w *writer) close()           { w.depth--; w.line("}") }

// orElse ends a block and starts another, under a condition if there is one.
func (w *writer) orElse(condition string) {
	w.depth--
	w.open(strings.TrimSpace("} else "+condition) + " {")
}

func (w *writer) has(s stage) bool { return len(w.steps[s]) > 0 }

// stage applies the controls of a stage.
func (w *writer) stage(s stage) {
	for _, control := range w.steps[s] {
		w.use(control)
	}
}

// use applies a control.
func (w *writer) use(control string) {
	name := snake(control)
	w.instances = append(w.instances, instance{control, name})
	w.line(name + ".apply(" + w.args + ");")
}

// File is one of the files of a program.
type File struct {
	Name string
	Data []byte
}

// Files returns what `pauseless gen` writes.
func (p *Program) Files() []File {
	return []File{
		{p.Name + ".p4", p.P4},
		{p.Name + ".entries", p.Entries},
		{p.Name + ".manifest.json", p.Manifest.Encode()},
	}
}
