// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"math/big"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/softswitch/interp/internal/ops"
	"github.com/pauseless/pauseless/softswitch/table"
)

// pipelineGen emits one pipeline: each node once, followed by the code of the
// table's actions. An action's code ends with a jump to the node after this
// table and action, so that it needs no return.
type pipelineGen struct {
	*compiler
	json    *bmv2json.Pipeline
	tables  map[string]*bmv2json.Table
	conds   map[string]*bmv2json.Conditional
	calls   map[string]*bmv2json.ActionCall
	labels  map[string]ops.Label
	emitted map[string]bool
	end     ops.Label
	exits   ops.Label
}

func (c *compiler) genPipelines() {
	pipelines := pick(c, "pipeline", c.arch.Pipelines, c.nonDeparsers(), pipelineName)
	for g, pl := range pipelines {
		c.Prog.Pipeline[g] = int32(len(c.Code))
		if pl != nil {
			c.genPipeline(pl)
		} else { // a missing pipeline has no effect
			c.emit(ops.End, 0, 0, 0, 0)
		}
	}
}

func pipelineName(p *bmv2json.Pipeline) (string, diag.Pos) { return p.Name, p.Pos }

// nonDeparsers returns the pipelines other than the statements of deparsers.
func (c *compiler) nonDeparsers() []*bmv2json.Pipeline {
	return slices.DeleteFunc(slices.Clone(c.json.Pipelines), c.isDeparser)
}

func (c *compiler) isDeparser(p *bmv2json.Pipeline) bool {
	return p.Name != "" && slices.Contains(c.arch.Deparsers[:], p.Name)
}

func (c *compiler) genPipeline(pl *bmv2json.Pipeline) {
	g := &pipelineGen{compiler: c, json: pl, tables: map[string]*bmv2json.Table{}, conds: map[string]*bmv2json.Conditional{},
		calls: map[string]*bmv2json.ActionCall{}, labels: map[string]ops.Label{}, emitted: map[string]bool{}}
	g.end, g.exits = c.label(), c.label()
	c.gress = c.arch.GressOf(c.arch.Pipelines, pl.Name)
	defer func() { c.gress = 0 }()
	node := func(pos diag.Pos, name string) {
		if _, ok := g.labels[name]; ok || name == "" {
			c.errorf(pos, "two nodes of pipeline %s are called %q", pl.Name, name)
		}
		g.labels[name] = c.label()
	}
	for _, ap := range pl.ActionProfiles {
		c.declareProfile(ap)
	}
	for _, t := range pl.Tables {
		node(t.Pos, t.Name)
		g.tables[t.Name] = t
	}
	for _, cond := range pl.Conditionals {
		node(cond.Pos, cond.Name)
		g.conds[cond.Name] = cond
	}
	for _, a := range pl.ActionCalls {
		node(a.Pos, a.Name)
		g.calls[a.Name] = a
	}
	g.visit(pl.Pos, pl.InitTable)
	// Tables that no packet reaches exist for the control plane nevertheless.
	for _, t := range pl.Tables {
		if !g.emitted[t.Name] {
			g.visit(t.Pos, t.Name)
		}
	}
	c.place(g.exits)
	c.emit(ops.MovI, c.Prog.Sys+ops.SysExit, 0, 0, 0)
	c.place(g.end)
	c.emit(ops.End, 0, 0, 0, 0)
}

// goTo returns the label of a node.
func (g *pipelineGen) goTo(pos diag.Pos, name string) ops.Label {
	if name == "" {
		return g.end
	}
	l, ok := g.labels[name]
	if !ok {
		g.errorf(pos, "unknown node %s of pipeline %s%s", name, g.json.Name, diag.DidYouMean(name, keys(g.labels)))
		return g.end
	}
	return l
}

// visit emits a node and its successors, or a jump to it if it was emitted.
func (g *pipelineGen) visit(pos diag.Pos, name string) {
	to := g.goTo(pos, name)
	switch {
	case to == g.end:
		g.jump(g.end)
		return
	case g.emitted[name]: // maybe backwards: loops are counted
		g.jump(to)
		return
	}
	g.emitted[name] = true
	g.place(to)
	switch {
	case g.tables[name] != nil:
		g.genTable(g.tables[name])
	case g.conds[name] != nil:
		g.genConditional(g.conds[name])
	default:
		g.genCall(g.calls[name])
	}
}

func (g *pipelineGen) genConditional(cond *bmv2json.Conditional) {
	no := g.label()
	if g.opts.Trace {
		text := cond.Name
		if cond.SourceInfo != nil {
			text = cond.SourceInfo.Fragment
		}
		g.trace("if %s%s", strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "{", "\\{"), posOf(cond.SourceInfo))
	}
	g.jumpUnless(g.boolean(cond.Expression), no)
	if g.opts.Trace {
		g.trace("  is true")
		g.unread(cond.Expression, "  ")
	}
	g.visit(cond.Pos, cond.TrueNext)
	g.place(no)
	if g.opts.Trace {
		g.trace("  is false")
		g.unread(cond.Expression, "  ")
		g.neverSet(cond.Expression, "  ", map[string]bool{})
	}
	g.visit(cond.Pos, cond.FalseNext)
}

func (g *pipelineGen) genCall(call *bmv2json.ActionCall) {
	a := g.actions[call.ActionID]
	switch {
	case a == nil:
		g.errorf(call.Pos, "unknown action id %d", call.ActionID)
	case len(a.params) > 0:
		g.errorf(call.Pos, "action %s has parameters and cannot be called directly", a.json.Name)
	default:
		g.genActionBody(a, nil)
		g.afterAction(a)
	}
	g.visit(call.Pos, call.NextNode)
}

// afterAction ends the pipeline if the action executed exit.
func (g *pipelineGen) afterAction(a *action) {
	if a.exits {
		g.branch(ops.JNZ, g.Prog.Sys+ops.SysExit, 0, g.exits)
	}
}

func (c *compiler) declareProfile(ap *bmv2json.ActionProfile) {
	if _, ok := c.profiles[ap.Name]; ok {
		c.errorf(ap.Pos, "action profile %s is declared twice", ap.Name)
	}
	info := ops.ProfileInfo{Name: ap.Name, Size: ap.MaxSize, Selector: -1}
	if ap.Selector != nil {
		calc := bmv2json.Calculation{Name: ap.Name, Algo: ap.Selector.Algo, CRC: ap.Selector.CRC, Input: ap.Selector.Input, Pos: ap.Pos}
		info.Selector = c.addCalculation(&calc)
	}
	c.profiles[ap.Name] = len(c.Prog.Profiles)
	c.Prog.Profiles = append(c.Prog.Profiles, info)
}

// genTable declares a table and emits its application and its actions.
func (g *pipelineGen) genTable(t *bmv2json.Table) {
	info := g.tableInfo(t)
	actions := make([]*action, len(info.Actions))
	next := make([]string, len(info.Actions))
	hitMiss := false
	nextOf := map[string]string{}
	for _, n := range t.NextTables {
		nextOf[n.Action] = n.Node
		hitMiss = hitMiss || n.Action == bmv2json.NextHit || n.Action == bmv2json.NextMiss
	}
	for i, n := range info.Actions {
		actions[i] = g.actions[g.actionNumbers[n]]
		name := actions[i].json.Name
		var ok bool
		if next[i], ok = nextOf[name]; !ok && !hitMiss {
			g.errorf(t.Pos, "table %s does not say what follows action %s", t.Name, name)
		}
	}
	if g.opts.Trace {
		g.trace("table %s%s", t.Name, posOf(t.SourceInfo))
	}
	if info.Inline {
		d := t.DefaultEntry
		a := g.actions[d.ActionID]
		g.genActionBody(a, g.bigArgs(d.ActionData, t.Pos))
		g.afterAction(a)
		to := nextOf[a.json.Name]
		if hitMiss {
			to = nextOf[bmv2json.NextMiss]
		}
		g.visit(t.Pos, to)
		return
	}
	g.emit(ops.Apply, 0, 0, 0, uint64(info.Number))
	info.PCs = make([]int32, 2*len(actions)+1)
	for i, a := range actions {
		hit := g.label()
		info.PCs[2*i], info.PCs[2*i+1] = int32(hit), int32(hit)
		g.place(hit)
		g.genActionBody(a, nil)
		g.afterAction(a)
		if !hitMiss {
			g.jump(g.goTo(t.Pos, next[i]))
			continue
		}
		g.jump(g.goTo(t.Pos, nextOf[bmv2json.NextHit]))
		miss := g.label()
		info.PCs[2*i+1] = int32(miss)
		g.place(miss)
		g.genActionBody(a, nil)
		g.afterAction(a)
		g.jump(g.goTo(t.Pos, nextOf[bmv2json.NextMiss]))
	}
	miss := t.BaseDefaultNext
	if hitMiss {
		miss = nextOf[bmv2json.NextMiss]
	}
	none := g.label()
	info.PCs[2*len(actions)] = int32(none)
	g.place(none)
	g.visit(t.Pos, miss)
	for _, n := range t.NextTables {
		if n.Node != "" && !g.emitted[n.Node] {
			g.visit(t.Pos, n.Node)
		}
	}
}

// ofArchitecture are the metadata of v1model that the switch sets.
var ofArchitecture = map[string]bool{"standard_metadata": true, "intrinsic_metadata": true, "queueing_metadata": true}

// tableInfo reads the declaration of a table.
func (g *pipelineGen) tableInfo(t *bmv2json.Table) *ops.TableInfo {
	info := &ops.TableInfo{Name: t.Name, ID: t.ID, Kind: t.MatchType, Size: t.MaxSize, Profile: -1, Meter: -1, MeterSlot: -1, EntrySlot: -1, Counters: t.WithCounters, ActionsCount: t.ActionsCount,
		Timeout: t.SupportTimeout, Number: len(g.Prog.Tables), Default: ops.DefaultInfo{Action: -1}, HasEntries: t.Entries != nil}
	if _, ok := g.compiler.tables[t.Name]; ok {
		g.errorf(t.Pos, "table %s is declared twice", t.Name)
	}
	g.compiler.tables[t.Name] = info.Number
	g.Prog.Tables = append(g.Prog.Tables, info)
	switch t.MatchType {
	case "exact", "lpm", "ternary", "range":
	default:
		g.errorf(t.Pos, "table %s has match type %q, expected exact, lpm, ternary or range", t.Name, t.MatchType)
	}
	number := map[int]int{}
	for n, id := range g.actionNumbers {
		number[id] = n
	}
	addAction := func(id int) {
		n, ok := number[id]
		if !ok {
			g.errorf(t.Pos, "table %s has an action of unknown id %d", t.Name, id)
			return
		}
		for _, have := range info.Actions {
			if have == n {
				return
			}
		}
		info.Actions = append(info.Actions, n)
	}
	for _, id := range t.ActionIDs {
		addAction(id)
	}
	if len(t.ActionIDs) == 0 { // files without action_ids
		for _, name := range t.Actions {
			for n, id := range g.actionNumbers {
				if g.Prog.Actions[n].Name == name {
					addAction(id)
				}
			}
		}
	}
	g.keyInfo(t, info)
	switch t.Type {
	case "simple", "":
	case "indirect", "indirect_ws":
		n, ok := g.profiles[t.ActionProfile]
		if !ok {
			g.errorf(t.Pos, "table %s has unknown action profile %s", t.Name, t.ActionProfile)
			break
		}
		info.Profile = n
		p := &g.Prog.Profiles[n]
		if t.Type == "indirect_ws" && p.Selector < 0 {
			g.errorf(t.Pos, "table %s needs a selector, which action profile %s has not", t.Name, p.Name)
		}
		for _, a := range info.Actions {
			if !contains(p.Actions, a) {
				p.Actions = append(p.Actions, a)
			}
		}
	default:
		g.errorf(t.Pos, "table %s has type %q, expected simple, indirect or indirect_ws", t.Name, t.Type)
	}
	if t.DirectMeters != "" {
		n, ok := g.meters[t.DirectMeters]
		if !ok {
			g.errorf(t.Pos, "table %s has unknown direct meter %s", t.Name, t.DirectMeters)
		} else {
			info.Meter = n
			g.meterResult(t, info)
		}
	}
	if t.EntryTarget != nil {
		if h, i, ok := g.field(*t.EntryTarget, t.Pos); ok {
			if f := h.Type.Fields[i]; f.Width < 32 || f.Width > 64 || f.Signed || h.Field(i) < 0 {
				g.errorf(t.Pos, "the entry target of table %s must be an unsigned field of 32 to 64 bits", t.Name)
			} else {
				info.EntrySlot = h.Field(i)
			}
		}
	}
	if d := t.DefaultEntry; d != nil {
		addAction(d.ActionID)
		if n, ok := number[d.ActionID]; ok {
			info.Default = ops.DefaultInfo{Action: n, Args: g.packedArgs(n, d.ActionData, t.Pos), ConstEntry: d.EntryConst}
			info.Inline = len(t.Key) == 0 && info.Profile < 0 && d.ActionConst && d.EntryConst && !t.WithCounters && info.Meter < 0 && info.EntrySlot < 0
		}
	}
	last := 0 // the largest priority of the entries
	for _, e := range t.Entries {
		last = max(last, e.Priority)
	}
	for _, e := range t.Entries {
		g.constEntry(t, info, e, last, number)
	}
	return info
}

func contains(list []int, n int) bool {
	for _, x := range list {
		if x == n {
			return true
		}
	}
	return false
}

func (g *pipelineGen) meterResult(t *bmv2json.Table, info *ops.TableInfo) {
	for _, m := range g.compiler.json.MeterArrays {
		if m.Name != t.DirectMeters || m.ResultTarget == nil {
			continue
		}
		if h, i, ok := g.field(*m.ResultTarget, m.Pos); ok {
			f := h.Type.Fields[i]
			if f.Width > 64 || h.Field(i) < 0 {
				g.errorf(m.Pos, "the result of meter %s goes to a field of %d bits", m.Name, f.Width)
				return
			}
			info.MeterSlot, info.MeterMask = h.Field(i), ops.MaskOf(f.Width)
		}
	}
}

// keyInfo lays out the packed key: the fields from the most significant bits
// down, and the LPM field last.
func (g *pipelineGen) keyInfo(t *bmv2json.Table, info *ops.TableInfo) {
	lpm := -1
	for i, k := range t.Key {
		ki := ops.KeyInfo{Name: k.Name, Kind: k.MatchType, Width: 1}
		if ki.Name == "" {
			ki.Name = k.Target.Header + "." + k.Target.Field
		}
		switch k.MatchType {
		case "lpm":
			if lpm >= 0 {
				g.errorf(k.Pos, "table %s has two lpm fields in its key", t.Name)
			}
			lpm = i
		case "exact", "ternary", "range", "valid":
		default:
			g.errorf(k.Pos, "key %s of table %s has match type %q", ki.Name, t.Name, k.MatchType)
		}
		if h := g.headers[k.Target.Header]; h == nil {
			g.errorf(k.Pos, "key %s of table %s is in unknown header %s", ki.Name, t.Name, k.Target.Header)
		} else if k.MatchType != "valid" && k.Target.Field != ops.ValidField {
			if h, n, ok := g.field(k.Target, k.Pos); ok {
				if g.opts.Trace && h.Slots != nil && !ofArchitecture[h.Name] {
					if why := g.unset(h.Use[n]); why != "" {
						g.Prog.Unwritten[[2]string{t.Name, ki.Name}] = why
					}
				}
				ki.Width = h.Type.Fields[n].Width
				if n == h.Type.Varbit {
					g.errorf(k.Pos, "key %s of table %s is a variable-length field", ki.Name, t.Name)
				}
			}
		}
		info.Key = append(info.Key, ki)
		info.Width += ki.Width
	}
	bit := info.Width
	lay := func(i int) {
		bit -= info.Key[i].Width
		info.Key[i].Bit = bit
	}
	for i := range t.Key {
		if i != lpm {
			lay(i)
		}
	}
	if lpm >= 0 {
		lay(lpm)
	}
	for i, k := range t.Key {
		g.keyParts(t, info, k, &info.Key[i])
		if k.MatchType == "range" {
			info.Ranges = append(info.Ranges, table.Field{Bit: info.Key[i].Bit, Width: info.Key[i].Width})
		}
	}
}

// keyParts determines how a field is packed into the key.
func (g *pipelineGen) keyParts(t *bmv2json.Table, info *ops.TableInfo, k *bmv2json.Key, ki *ops.KeyInfo) {
	h := g.headers[k.Target.Header]
	if h == nil || g.list.HasErrors() {
		return
	}
	mask := new(big.Int).Sub(pow2(ki.Width), bigOne)
	if k.Mask != "" {
		mask.And(mask, g.hex(k.Mask, k.Pos))
	}
	valid := ops.NoValid
	var first int
	switch {
	case (k.MatchType == "valid" || k.Target.Field == ops.ValidField) && h.Slots != nil:
		first = g.constSlot(bigOne, 1)
	case k.MatchType == "valid" || k.Target.Field == ops.ValidField:
		first = h.Base + ops.RelValid
	default:
		_, n, _ := g.field(k.Target, k.Pos)
		first = h.Field(n)
		if h.Slots == nil {
			valid = ops.Slot(h.Base + ops.RelValid)
		}
	}
	limbs := limbsOfBig(mask, ops.LimbsOf(ki.Width))
	for i, m := range limbs {
		at := ki.Bit + 64*i
		p := ops.KeyPart{Slot: ops.Slot(first + i), Valid: valid, Limb: uint8(at / 64), Shift: int8(at % 64), Mask: m}
		if at/64 > 255 {
			g.errorf(k.Pos, "the key of table %s has more than %d bits", t.Name, 256*64)
			return
		}
		info.Parts = append(info.Parts, p)
		if over := at%64 + min(64, ki.Width-64*i) - 64; over > 0 {
			p.Limb++
			p.Shift -= 64
			info.Parts = append(info.Parts, p)
		}
	}
}

// bigArgs parses the arguments of an action.
func (c *compiler) bigArgs(data []string, pos diag.Pos) []*big.Int {
	args := make([]*big.Int, len(data))
	for i, text := range data {
		args[i] = c.hex(text, pos)
	}
	return args
}

// packedArgs parses the arguments of action number n in the form of its
// parameter slots.
func (c *compiler) packedArgs(n int, data []string, pos diag.Pos) []uint64 {
	a := c.actions[c.actionNumbers[n]]
	if len(data) != len(a.params) {
		c.errorf(pos, "action %s has %d arguments, expected %d", a.json.Name, len(data), len(a.params))
		return nil
	}
	return argsOf(a.params, c.bigArgs(data, pos))
}

// constEntry parses an entry in the program.
func (g *pipelineGen) constEntry(t *bmv2json.Table, info *ops.TableInfo, e *bmv2json.Entry, last int, number map[int]int) {
	n, ok := number[e.ActionEntry.ActionID]
	if !ok || !contains(info.Actions, n) {
		g.errorf(e.Pos, "an entry of table %s has an action of id %d, which the table has not", t.Name, e.ActionEntry.ActionID)
		return
	}
	if len(e.MatchKey) != len(t.Key) {
		g.errorf(e.Pos, "an entry of table %s has %d fields, the key has %d", t.Name, len(e.MatchKey), len(t.Key))
		return
	}
	if t.Type != "simple" && t.Type != "" {
		g.errorf(e.Pos, "table %s of type %s has constant entries", t.Name, t.Type)
		return
	}
	fields := make([]ops.FieldMatch, len(t.Key))
	for i, m := range e.MatchKey {
		width := info.Key[i].Width
		if m.MatchType != t.Key[i].MatchType {
			g.errorf(m.Pos, "key %s of table %s is matched as %s, expected %s", info.Key[i].Name, t.Name, m.MatchType, t.Key[i].MatchType)
			return
		}
		value := func(text string) []uint64 {
			v := g.hex(text, m.Pos)
			if v.Sign() < 0 || v.BitLen() > width {
				g.errorf(m.Pos, "%s does not fit the %d bits of key %s", text, width, info.Key[i].Name)
				return make([]uint64, ops.LimbsOf(width))
			}
			return limbsOfBig(v, ops.LimbsOf(width))
		}
		f := ops.FieldMatch{}
		switch m.MatchType {
		case "exact", "valid":
			f.Value = value(m.Key)
		case "lpm":
			f.Value = value(m.Key)
			if m.PrefixLen == nil || *m.PrefixLen < 0 || *m.PrefixLen > width {
				g.errorf(m.Pos, "key %s of table %s has no prefix length of 0 to %d", info.Key[i].Name, t.Name, width)
				return
			}
			f.Prefix = *m.PrefixLen
		case "ternary":
			f.Value, f.Mask = value(m.Key), value(m.Mask)
		case "range":
			f.Low, f.High = value(m.Start), value(m.End)
			if bitvec.Cmp(f.Low, f.High) > 0 {
				g.errorf(m.Pos, "the range of key %s ends before it starts", info.Key[i].Name)
			}
		}
		fields[i] = f
	}
	// In the file the smallest priority has precedence. Here, as in P4Runtime, the
	// largest has, and all are positive.
	match := info.Match(fields, int32(min(last+1-e.Priority, 1<<30)))
	info.Entries = append(info.Entries, ops.ConstEntry{Match: match, Action: n, Args: g.packedArgs(n, e.ActionEntry.ActionData, e.Pos), Const: e.Const})
}
