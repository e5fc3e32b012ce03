// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"
)

// commands are those of simple_switch_CLI that write what P4Runtime has, too, with
// the least number of arguments.
var commands = map[string]struct {
	args int
	do   func(c *cli, args []string) error
}{
	"table_add":                     {2, (*cli).tableAdd},
	"table_set_default":             {2, (*cli).tableDefault},
	"table_modify":                  {3, (*cli).tableModify},
	"table_delete":                  {2, (*cli).tableDelete},
	"table_indirect_delete":         {2, (*cli).tableDelete},
	"table_clear":                   {1, (*cli).tableClear},
	"table_reset_default":           {1, (*cli).tableResetDefault},
	"table_indirect_add":            {3, (*cli).tableMember},
	"table_indirect_add_with_group": {3, (*cli).tableGroup},
	"act_prof_create_member":        {2, (*cli).member},
	"act_prof_create_group":         {1, (*cli).group},
	"act_prof_add_member_to_group":  {3, (*cli).memberOfGroup},
	"mc_mgrp_create":                {1, (*cli).mcGroup},
	"mc_node_create":                {1, (*cli).mcNode},
	"mc_node_associate":             {2, (*cli).mcAssociate},
	"mirroring_add":                 {2, (*cli).mirror},
	"mirroring_add_mc":              {2, (*cli).mirrorGroup},
	"reset_state":                   {0, (*cli).resetState},
	"register_reset":                {1, (*cli).registerReset},
	"counter_reset":                 {1, (*cli).counterReset},
	"register_write":                {3, (*cli).registerWrite},
	"counter_write":                 {4, (*cli).counterWrite},
	"meter_set_rates":               {3, (*cli).meterRates},
	"meter_array_set_rates":         {2, (*cli).meterArray},
}

// reading are commands without an effect on a switch that has just been started, and
// others those that have one only on BMv2, with what to do instead.
var reading = []string{"help", "register_read", "counter_read", "mirroring_get", "meter_get_rates", "table_num_entries",
	"show_tables", "show_actions", "show_ports", "show_pvs", "table_info", "table_dump", "table_dump_entry", "mc_dump", "act_prof_dump", "port_add"}

var others = map[string]string{
	"set_queue_depth": "the ports of a switch share a buffer here: set network.switch.buffer",
	"set_queue_rate":  "queues are as fast as their link here: set the rate of the link",
}

// undoing are commands that change what other commands made, and are not executed.
var undoing = []string{"table_indirect_set_default", "table_indirect_set_default_with_group", "table_indirect_reset_default", "act_prof_modify_member", "act_prof_delete_member",
	"act_prof_delete_group", "act_prof_remove_member_from_group", "mc_mgrp_destroy", "mc_node_update", "mc_node_dissociate", "mc_node_destroy", "mirroring_delete"}

// isCommands reports whether the first line of a text that says something is a command
// of simple_switch_CLI.
func isCommands(text string) bool {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || isComment(words[0]) {
			continue
		}
		_, known := commands[words[0]]
		_, other := others[words[0]]
		return known || other || slices.Contains(reading, words[0]) || slices.Contains(undoing, words[0])
	}
	return false
}

// isComment reports whether a line that begins with a word is a comment. simple_switch_CLI
// knows # alone; files of p4-learning have //, which it reports and skips.
func isComment(word string) bool {
	return strings.HasPrefix(word, "#") || strings.HasPrefix(word, "//")
}

// cli executes the commands of simple_switch_CLI in a file.
type cli struct {
	*Set
	pos     diag.Pos // of the command
	nodes   []mcNode
	groups  []*mcGroup // in the order of their creation
	mirrors []mirroring
	members map[string]uint32                     // of action profiles so far
	groupsN map[string][]*p4v1.ActionProfileGroup // of action selectors, by handle
}

type mcNode struct {
	instance uint32
	ports    []uint32
}

type mcGroup struct {
	id    uint64
	at    diag.Pos // of the command that made it
	nodes []int
}

// mirroring is a clone session to a multicast group.
type mirroring struct {
	session, group uint64
	at             diag.Pos
}

// commands executes the commands of simple_switch_CLI in a file. Commands that only read are
// skipped. An error is a diag.List.
//
// The priority of an entry there is the other way round: the smallest has precedence.
func (x *Set) commands(name string, text []byte) error {
	c := &cli{Set: x, members: make(map[string]uint32), groupsN: make(map[string][]*p4v1.ActionProfileGroup)}
	var list diag.List
	fail := func(at diag.Pos, err error) { list.Errorf(at, CodeEntry, "%v", err) }
	for n, line := range strings.Split(string(text), "\n") {
		words := strings.Fields(line)
		if len(words) == 0 || isComment(words[0]) || slices.Contains(reading, words[0]) {
			continue
		}
		c.pos = diag.MakePos(&name, int32(n+1), 0)
		word, args := words[0], words[1:]
		command, ok := commands[word]
		switch {
		case others[word] != "":
			fail(c.pos, fmt.Errorf("%s: %s", word, others[word]))
		case slices.Contains(undoing, word):
			fail(c.pos, fmt.Errorf("%s is not executed here: write what the switch is to have at the end, without this command", word))
		case !ok:
			var names []string
			for k := range commands {
				names = append(names, k)
			}
			slices.Sort(names)
			fail(c.pos, fmt.Errorf("no command is called %q%s", word, diag.DidYouMean(word, names)))
		case len(args) < command.args:
			fail(c.pos, fmt.Errorf("%s takes at least %d arguments", word, command.args))
		default:
			if err := command.do(c, args); err != nil {
				fail(c.pos, err)
			}
		}
	}
	c.replication(fail)
	return list.Err()
}

// parse adds an entity in the form of ParseEntity.
func (c *cli) parse(format string, args ...any) error {
	e, err := c.s.ParseEntity(fmt.Sprintf(format, args...))
	if err == nil {
		err = c.add(e, c.pos)
	}
	return err
}

// tableAdd is table_add TABLE ACTION KEY… => ARGUMENT… [PRIORITY].
func (c *cli) tableAdd(args []string) error {
	t, err := c.s.Table(args[0])
	if err != nil {
		return err
	}
	a, err := t.action(args[1])
	if err != nil {
		return err
	}
	e, rest, err := c.key(t, args[2:], len(a.Params))
	if err != nil {
		return err
	}
	e.Action = a.Full
	if e.Args, err = arguments(a, rest); err != nil {
		return err
	}
	entity, err := c.s.Entry(e)
	if err != nil {
		return err
	}
	return c.add(entity, c.pos)
}

// handle returns the table and the place of the entry that TABLE and HANDLE name.
func (c *cli) handle(table, text string) (*Table, int, error) {
	t, err := c.s.Table(table)
	if err != nil {
		return nil, 0, err
	}
	n, err := strconv.ParseUint(text, 0, 64)
	if err != nil {
		return nil, 0, fmt.Errorf("handle %q is not a number", text)
	}
	i, err := c.entry(t, n)
	return t, i, err
}

// tableModify is table_modify TABLE ACTION HANDLE ARGUMENT….
func (c *cli) tableModify(args []string) error {
	t, i, err := c.handle(args[0], args[2])
	if err != nil {
		return err
	}
	a, err := t.action(args[1])
	if err != nil {
		return err
	}
	named, err := arguments(a, slices.DeleteFunc(slices.Clone(args[3:]), func(w string) bool { return w == "=>" }))
	if err != nil {
		return err
	}
	te := proto.CloneOf(c.list[i].GetTableEntry())
	if te.Action, err = a.call(named); err != nil {
		return err
	}
	if err := t.check(te); err != nil {
		return err
	}
	c.list[i], c.at[i] = &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: te}}, c.pos
	return nil
}

// tableDelete is table_delete TABLE HANDLE.
func (c *cli) tableDelete(args []string) error {
	_, i, err := c.handle(args[0], args[1])
	if err == nil {
		c.remove(i)
	}
	return err
}

// tableClear is table_clear TABLE.
func (c *cli) tableClear(args []string) error {
	t, err := c.s.Table(args[0])
	if err == nil {
		c.clear(t)
	}
	return err
}

// tableResetDefault is table_reset_default TABLE.
func (c *cli) tableResetDefault(args []string) error {
	t, err := c.s.Table(args[0])
	if err == nil {
		c.removeIf(func(e *p4v1.Entity) bool {
			return e.GetTableEntry().GetTableId() == t.ID && e.GetTableEntry().GetIsDefaultAction()
		})
	}
	return err
}

// registerReset is register_reset NAME.
func (c *cli) registerReset(args []string) error {
	r, err := c.s.Register(args[0])
	if err == nil {
		c.removeIf(func(e *p4v1.Entity) bool { return e.GetRegisterEntry().GetRegisterId() == r.ID })
	}
	return err
}

// counterReset is counter_reset NAME. The counters of a table's entries are 0 at the start.
func (c *cli) counterReset(args []string) error {
	if n, err := c.s.Counter(args[0]); err == nil {
		c.removeIf(func(e *p4v1.Entity) bool { return e.GetCounterEntry().GetCounterId() == n.ID })
	}
	return nil
}

// resetState is reset_state.
func (c *cli) resetState([]string) error {
	if len(c.index) > 0 || len(c.nodes) > 0 || len(c.groups) > 0 || len(c.mirrors) > 0 {
		return errors.New("reset_state removes what the commands before it wrote: remove them, or move reset_state to the first line")
	}
	return nil
}

// key reads KEY… => REST [PRIORITY], where REST has n words.
func (c *cli) key(t *Table, words []string, n int) (e Entry, rest []string, err error) {
	e.Table = t.Full
	at := slices.Index(words, "=>")
	if at < 0 {
		return e, nil, errors.New("expected => between the key and the arguments of the action")
	}
	keys, rest := words[:at], words[at+1:]
	if len(keys) != len(t.Fields) {
		return e, nil, fmt.Errorf("table %s has %d fields (%s), and the key has %d", t.Name, len(t.Fields), strings.Join(fieldNames(t.Fields), ", "), len(keys))
	}
	for i, k := range keys {
		if t.Fields[i].Match == Range {
			k = strings.Replace(k, "->", "..", 1)
		}
		e.Match = append(e.Match, Match{Field: t.Fields[i].Name, text: k})
	}
	if t.NeedsPriority() {
		if len(rest) != n+1 {
			return e, nil, fmt.Errorf("table %s has ternary, range or optional fields: expected %d arguments and a priority after =>, not %d words", t.Name, n, len(rest))
		}
		p, err := strconv.ParseUint(rest[n], 0, 30)
		if err != nil {
			return e, nil, fmt.Errorf("priority %q is not a number below 2^30", rest[n])
		}
		e.Priority, rest = 1<<30-int32(p), rest[:n]
	}
	return e, rest, nil
}

// arguments returns the arguments of an action by their order.
func arguments(a *Action, values []string) (args []Arg, err error) {
	if len(values) != len(a.Params) {
		return nil, fmt.Errorf("action %s takes %d arguments (%s), not %d", a.Name, len(a.Params), strings.Join(fieldNames(a.Params), ", "), len(values))
	}
	for i, v := range values {
		args = append(args, Arg{a.Params[i].Name, v})
	}
	return args, nil
}

// tableDefault is table_set_default TABLE ACTION ARGUMENT….
func (c *cli) tableDefault(args []string) error {
	t, err := c.s.Table(args[0])
	if err != nil {
		return err
	}
	a, err := t.action(args[1])
	if err != nil {
		return err
	}
	e := Entry{Table: t.Full, Action: a.Full, Default: true}
	if e.Args, err = arguments(a, slices.DeleteFunc(slices.Clone(args[2:]), func(w string) bool { return w == "=>" })); err != nil {
		return err
	}
	entity, err := c.s.Entry(e)
	if err == nil {
		err = c.add(entity, c.pos)
	}
	return err
}

func (c *cli) tableMember(args []string) error { return c.indirect(args, "member") }
func (c *cli) tableGroup(args []string) error  { return c.indirect(args, "group") }

// indirect is table_indirect_add TABLE KEY… => HANDLE [PRIORITY]. Handles count from 0,
// the numbers here from 1.
func (c *cli) indirect(args []string, what string) error {
	t, err := c.s.Table(args[0])
	if err != nil {
		return err
	}
	if t.Profile == nil {
		return fmt.Errorf("table %s has no action profile: use table_add", t.Name)
	}
	e, rest, err := c.key(t, args[1:], 1)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return fmt.Errorf("expected one handle of a %s after =>", what)
	}
	n, err := number("handle", rest[0])
	if err != nil {
		return err
	}
	te := &p4v1.TableEntry{TableId: t.ID, Priority: e.Priority}
	if te.Match, err = t.match(e.Match); err != nil {
		return err
	}
	te.Action = &p4v1.TableAction{Type: &p4v1.TableAction_ActionProfileMemberId{ActionProfileMemberId: uint32(n) + 1}}
	if what == "group" {
		te.Action.Type = &p4v1.TableAction_ActionProfileGroupId{ActionProfileGroupId: uint32(n) + 1}
	}
	if err := t.check(te); err != nil {
		return err
	}
	return c.add(&p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: te}}, c.pos)
}

// member is act_prof_create_member PROFILE ACTION ARGUMENT….
func (c *cli) member(args []string) error {
	p, err := c.s.Profile(args[0])
	if err != nil {
		return err
	}
	c.members[p.Full]++
	return c.parse("member %s %d -> %s(%s)", p.Full, c.members[p.Full], args[1], strings.Join(quoted(args[2:]), ", "))
}

func quoted(words []string) (out []string) {
	for _, w := range words {
		out = append(out, strconv.Quote(w))
	}
	return out
}

// group is act_prof_create_group PROFILE.
func (c *cli) group(args []string) error {
	p, err := c.s.Profile(args[0])
	if err != nil {
		return err
	}
	g := &p4v1.ActionProfileGroup{ActionProfileId: p.ID, GroupId: uint32(len(c.groupsN[p.Full])) + 1}
	c.groupsN[p.Full] = append(c.groupsN[p.Full], g)
	return c.add(&p4v1.Entity{Entity: &p4v1.Entity_ActionProfileGroup{ActionProfileGroup: g}}, c.pos)
}

// memberOfGroup is act_prof_add_member_to_group PROFILE MEMBER GROUP.
func (c *cli) memberOfGroup(args []string) error {
	p, err := c.s.Profile(args[0])
	if err != nil {
		return err
	}
	m, err := number("member", args[1])
	if err != nil {
		return err
	}
	g, err := number("group", args[2])
	if err != nil {
		return err
	}
	if groups := c.groupsN[p.Full]; g < uint64(len(groups)) {
		groups[g].Members = append(groups[g].Members, &p4v1.ActionProfileGroup_Member{MemberId: uint32(m) + 1, Weight: 1})
		return nil
	}
	return fmt.Errorf("no group %d: %d were created", g, len(c.groupsN[p.Full]))
}

func number(what, text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 0, 31)
	if err != nil {
		return 0, fmt.Errorf("%s %q is not a number", what, text)
	}
	return n, nil
}

// mcGroup is mc_mgrp_create GROUP.
func (c *cli) mcGroup(args []string) error {
	id, err := number("multicast group", args[0])
	if err == nil {
		c.groups = append(c.groups, &mcGroup{id: id, at: c.pos})
	}
	return err
}

// mcNode is mc_node_create INSTANCE PORT….
func (c *cli) mcNode(args []string) error {
	rid, err := number("replication id", args[0])
	if err != nil {
		return err
	}
	n := mcNode{instance: uint32(rid)}
	for _, text := range args[1:] {
		if text == "|" {
			return errors.New("groups of ports (LAGs) after | are not supported: name the ports")
		}
		p, err := number("port", text)
		if err != nil {
			return err
		}
		n.ports = append(n.ports, uint32(p))
	}
	c.nodes = append(c.nodes, n)
	return nil
}

// mcAssociate is mc_node_associate GROUP NODE.
func (c *cli) mcAssociate(args []string) error {
	id, err := number("multicast group", args[0])
	if err != nil {
		return err
	}
	node, err := number("node", args[1])
	if err != nil {
		return err
	}
	i := slices.IndexFunc(c.groups, func(g *mcGroup) bool { return g.id == id })
	switch {
	case i < 0:
		return fmt.Errorf("no multicast group %d: create it before with mc_mgrp_create %[1]d", id)
	case node >= uint64(len(c.nodes)):
		return fmt.Errorf("no node %d: %d were created", node, len(c.nodes))
	}
	c.groups[i].nodes = append(c.groups[i].nodes, int(node))
	return nil
}

// mirror is mirroring_add SESSION PORT.
func (c *cli) mirror(args []string) error {
	return c.parse("clone %s -> %s", args[0], args[1])
}

// mirrorGroup is mirroring_add_mc SESSION GROUP.
func (c *cli) mirrorGroup(args []string) error {
	session, err := number("session", args[0])
	if err != nil {
		return err
	}
	group, err := number("multicast group", args[1])
	c.mirrors = append(c.mirrors, mirroring{session: session, group: group, at: c.pos})
	return err
}

// replication adds the multicast groups, which have their nodes only at the end, and what
// mirrors to them.
func (c *cli) replication(fail func(at diag.Pos, err error)) {
	put := func(e *p4v1.Entity, at diag.Pos) {
		if err := c.add(e, at); err != nil {
			fail(at, err)
		}
	}
	replicas := func(g *mcGroup) (out []*p4v1.Replica) {
		for _, n := range g.nodes {
			for _, port := range c.nodes[n].ports {
				out = append(out, Replica(port, c.nodes[n].instance))
			}
		}
		return out
	}
	for _, g := range c.groups {
		put(Multicast(&p4v1.MulticastGroupEntry{MulticastGroupId: uint32(g.id), Replicas: replicas(g)}), g.at)
	}
	for _, m := range c.mirrors {
		i := slices.IndexFunc(c.groups, func(g *mcGroup) bool { return g.id == m.group })
		if i < 0 {
			fail(m.at, fmt.Errorf("no multicast group %d", m.group))
			continue
		}
		put(Clone(&p4v1.CloneSessionEntry{SessionId: uint32(m.session), Replicas: replicas(c.groups[i])}), m.at)
	}
}

// registerWrite is register_write NAME INDEX VALUE.
func (c *cli) registerWrite(args []string) error {
	return c.parse("register %s[%s] = %s", args[0], args[1], args[2])
}

// counterWrite is counter_write NAME INDEX PACKETS BYTES.
func (c *cli) counterWrite(args []string) error {
	return c.parse("counter %s[%s] = %s packets %s bytes", args[0], args[1], args[2], args[3])
}

// meterRates is meter_set_rates NAME INDEX RATE:BURST RATE:BURST.
func (c *cli) meterRates(args []string) error {
	config, err := rates(args[2:])
	if err != nil {
		return err
	}
	return c.parse("meter %s[%s] = %s", args[0], args[1], config)
}

// mostCells limits the entries that one command makes.
const mostCells = 1 << 20

// meterArray is meter_array_set_rates NAME RATE:BURST RATE:BURST. Of a direct meter it sets
// the rates of the entries so far.
func (c *cli) meterArray(args []string) error {
	m, err := c.s.Meter(args[0])
	if err != nil {
		for _, t := range c.s.Tables {
			if t.DirectMeter && (t.Meter == args[0] || strings.HasSuffix(t.Meter, "."+args[0])) {
				return c.directMeter(t, args[1:])
			}
		}
		return err
	}
	if m.Size > mostCells {
		return fmt.Errorf("meter %s has %d cells, and a command sets at most %d", m.Name, m.Size, mostCells)
	}
	config, err := rates(args[1:])
	for i := int64(0); err == nil && i < m.Size; i++ {
		err = c.parse("meter %s[%d] = %s", m.Full, i, config)
	}
	return err
}

// directMeter sets the rates of all entries of a table.
func (c *cli) directMeter(t *Table, args []string) error {
	n, err := rateNumbers(args)
	if err != nil {
		return err
	}
	for _, e := range c.list {
		if te := e.GetTableEntry(); te.GetTableId() == t.ID && !te.GetIsDefaultAction() {
			te.MeterConfig = &p4v1.MeterConfig{Cir: n[0], Cburst: n[1], Pir: n[2], Pburst: n[3]}
		}
	}
	return nil
}

// rates converts rates in units a microsecond to P4Runtime's a second.
func rates(texts []string) (string, error) {
	n, err := rateNumbers(texts)
	return fmt.Sprintf("cir %d burst %d pir %d burst %d", n[0], n[1], n[2], n[3]), err
}

// rateNumbers returns rates a second and bursts: of the committed and of the peak rate.
func rateNumbers(texts []string) (n [4]int64, err error) {
	if len(texts) != 2 {
		return n, errors.New("expected two rates, as in 0.5:10 1:20: units a microsecond, and the burst")
	}
	for i, text := range texts {
		rate, burst, ok := strings.Cut(text, ":")
		r, err := strconv.ParseFloat(rate, 64)
		b, err2 := number("burst", burst)
		if !ok || err != nil || err2 != nil || !(r >= 0 && r < math.MaxInt32) {
			return n, fmt.Errorf("rate %q is not RATE:BURST", text)
		}
		n[2*i], n[2*i+1] = int64(math.Round(r*1e6)), int64(b)
	}
	return n, nil
}
