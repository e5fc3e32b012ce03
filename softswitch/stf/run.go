// SPDX-License-Identifier: Apache-2.0

package stf

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/bitvec"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/stf/simpleswitch"
)

// target is a switch that a script runs on.
type target interface {
	// packet sends a packet and waits until its processing has ended.
	packet(port int, data []byte) error
	// add adds an entry and returns its handle, an index for counter.
	add(t *interp.TableInfo, key []interp.FieldMatch, priority int, action int, args [][]uint64) (handle int, err error)
	setDefault(t *interp.TableInfo, action int, args [][]uint64) error
	clear() error
	counter(k *interp.CounterInfo, index int) (interp.Counter, error)
	setCounter(k *interp.CounterInfo, index int, c interp.Counter) error
	setRegister(r *interp.RegisterInfo, index int, value uint64) error
	resetRegister(r *interp.RegisterInfo) error
	// setMeter sets a cell, or all if index < 0.
	setMeter(m *interp.MeterInfo, index int, rates []simpleswitch.Rate) error
	setSession(id, port int) error
	setGroupSession(id, group int) error
	deleteSession(id int) error
	createGroup(id int) error
	createNode(rid int, ports []int) error
	updateNode(node int, ports []int) error
	associate(group, node int) error
	// sent returns the packets that each port has sent.
	sent() map[int][][]byte
}

// runner executes the commands of a script and resolves their names.
type runner struct {
	prog   *interp.Program
	target target
	list   diag.List
	labels map[string]int // handles of the entries with labels
}

// run runs a script. The list has every expectation that failed.
func (r *runner) run(s *Script, before func(*Command)) {
	for i := range s.Commands {
		c := &s.Commands[i]
		before(c)
		if err := r.command(c); err != nil {
			r.list.Errorf(c.Pos, CodeName, "%v", err)
		}
	}
	s.Compare(r.target.sent(), &r.list)
}

// Ports returns the ports of a script's packet and expect commands, in order.
func (s *Script) Ports() []int {
	var ports []int
	for _, c := range s.Commands {
		if (c.Op == "packet" || c.Op == "expect") && !slices.Contains(ports, c.Port) {
			ports = append(ports, c.Port)
		}
	}
	slices.Sort(ports)
	return ports
}

// Compare reports the differences between the ports' packets and the expected
// ones.
func (s *Script) Compare(got map[int][][]byte, list *diag.List) {
	type expectation struct {
		any      bool
		commands []*Command
	}
	want := map[int]*expectation{}
	for i := range s.Commands {
		c := &s.Commands[i]
		if c.Op != "expect" {
			continue
		}
		if want[c.Port] == nil {
			want[c.Port] = &expectation{}
		}
		if c.Data == "" {
			want[c.Port].any = true
		} else {
			want[c.Port].commands = append(want[c.Port].commands, c)
		}
	}
	for _, port := range s.Ports() {
		w := want[port]
		if w == nil {
			w = &expectation{}
		}
		if w.any {
			continue
		}
		packets := got[port]
		for i, c := range w.commands {
			if i >= len(packets) {
				list.Errorf(c.Pos, CodeExpect, "port %d sent %d packets, this would be number %d", port, len(packets), i+1)
				continue
			}
			if why := c.differs(packets[i]); why != "" {
				list.Errorf(c.Pos, CodeExpect, "packet %d of port %d %s\n  want %s\n  got  %s", i+1, port, why, c.Data, strings.ToUpper(hex.EncodeToString(packets[i])))
			}
		}
		for i := len(w.commands); i < len(packets); i++ {
			list.Errorf(diag.FilePos(s.Name), CodeExpect, "port %d sent a packet that was not expected: %s", port, strings.ToUpper(hex.EncodeToString(packets[i])))
		}
	}
}

// differs describes the difference of a packet from the expected one.
func (c *Command) differs(data []byte) string {
	got := strings.ToUpper(hex.EncodeToString(data))
	if len(got) < len(c.Data) {
		return "is too short"
	}
	if c.Exact && len(got) > len(c.Data) {
		return "is too long"
	}
	for i := range c.Data {
		if c.Data[i] != '*' && c.Data[i] != got[i] {
			return fmt.Sprintf("differs at digit %d", i+1)
		}
	}
	return ""
}

// command executes one command.
func (r *runner) command(c *Command) error {
	switch c.Op {
	case "packet":
		data, _ := hex.DecodeString(c.Data)
		return r.target.packet(c.Port, data)
	case "expect", "wait", "no_packet", "counter_read", "register_read", "mirroring_get", "meter_get_rates":
		return nil
	case "add":
		return r.add(c)
	case "setdefault":
		t, err := r.table(c.Table)
		if err != nil {
			return err
		}
		action, args, err := r.action(t, c)
		if err != nil {
			return err
		}
		return r.target.setDefault(t, action, args)
	case "remove":
		return r.target.clear()
	case "check_counter":
		return r.checkCounter(c)
	case "counter_write":
		k, err := r.counter(c)
		if err != nil {
			return err
		}
		return r.target.setCounter(k, c.Numbers[0], interp.Counter{Packets: uint64(c.Numbers[1]), Bytes: uint64(c.Numbers[2])})
	case "register_write", "register_reset":
		i, err := find(indices(len(r.prog.Registers)), c.Name, func(i int) string { return r.prog.Registers[i].Name })
		if err != nil {
			return err
		}
		reg := &r.prog.Registers[i]
		if c.Op == "register_reset" {
			return r.target.resetRegister(reg)
		}
		if c.Numbers[0] < 0 || c.Numbers[0] >= reg.Size {
			return fmt.Errorf("register %s has %d cells", c.Name, reg.Size)
		}
		return r.target.setRegister(reg, c.Numbers[0], uint64(c.Numbers[1]))
	case "meter_set_rates", "meter_array_set_rates":
		return r.setMeter(c)
	}
	return r.replicate(c)
}

func indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// oneOf suggests the name that is nearest to one that does not exist, or lists a few.
func oneOf(name string, names []string) string {
	if like := diag.DidYouMean(name, names); like != "" || len(names) == 0 || len(names) > 12 {
		return like
	}
	return "; use one of " + strings.Join(names, ", ")
}

// find returns the object with a name, or the only one whose name ends with it.
func find[T any](list []T, name string, nameOf func(T) string) (found T, err error) {
	var like []string
	for _, x := range list {
		switch full := nameOf(x); {
		case full == name:
			return x, nil
		case strings.HasSuffix(full, name):
			found = x
			like = append(like, full)
		}
	}
	switch len(like) {
	case 0:
		var names []string
		for _, x := range list {
			names = append(names, nameOf(x))
		}
		return found, fmt.Errorf("unknown name %s%s", name, oneOf(name, names))
	case 1:
		return found, nil
	}
	return found, fmt.Errorf("%s is ambiguous: write one of %s", name, strings.Join(like, ", "))
}

func (r *runner) table(name string) (*interp.TableInfo, error) {
	return find(r.prog.Tables, name, func(t *interp.TableInfo) string { return t.Name })
}

// action returns the action of a command with its arguments.
func (r *runner) action(t *interp.TableInfo, c *Command) (int, [][]uint64, error) {
	n, err := find(t.Actions, c.Action, func(n int) string { return r.prog.Actions[n].Name })
	if err != nil {
		return 0, nil, fmt.Errorf("action of table %s: %w", t.Name, err)
	}
	info := &r.prog.Actions[n]
	args := make([][]uint64, len(info.Params))
	for _, arg := range c.Args {
		i := slices.IndexFunc(info.Params, func(p interp.ParamInfo) bool { return p.Name == arg.Name })
		if i < 0 {
			var names []string
			for _, p := range info.Params {
				names = append(names, p.Name)
			}
			return 0, nil, fmt.Errorf("action %s has no parameter %s%s", info.Name, arg.Name, oneOf(arg.Name, names))
		}
		if args[i], err = number(arg.Value, info.Params[i].Width); err != nil {
			return 0, nil, fmt.Errorf("parameter %s: %w", arg.Name, err)
		}
	}
	for i, a := range args {
		if a == nil {
			return 0, nil, fmt.Errorf("action %s lacks its argument %s", info.Name, info.Params[i].Name)
		}
	}
	return n, args, nil
}

// number parses a number of a width.
func number(text string, width int) ([]uint64, error) {
	x, ok := new(big.Int).SetString(text, 0)
	if !ok {
		return nil, fmt.Errorf("%q is not a number", text)
	}
	if x.Sign() < 0 || x.BitLen() > width {
		return nil, fmt.Errorf("%s does not fit %d bits", text, width)
	}
	d := make([]uint64, bitvec.Limbs(width))
	bitvec.FromBytes(d, x.Bytes())
	return d, nil
}

// add adds an entry.
func (r *runner) add(c *Command) error {
	t, err := r.table(c.Table)
	if err != nil {
		return err
	}
	action, args, err := r.action(t, c)
	if err != nil {
		return err
	}
	fields := make([]interp.FieldMatch, len(t.Key))
	for i, k := range t.Key { // an omitted field matches everything, or zero
		zero := make([]uint64, bitvec.Limbs(k.Width))
		fields[i] = interp.FieldMatch{Value: zero, Mask: zero, Low: zero, High: zero}
	}
	for _, pair := range c.Keys {
		i, err := keyIndex(t.Key, pair.Name)
		if err != nil {
			return fmt.Errorf("table %s: %w", t.Name, err)
		}
		if fields[i], err = fieldMatch(t.Key[i], pair.Value); err != nil {
			return fmt.Errorf("key %s: %w", pair.Name, err)
		}
	}
	handle, err := r.target.add(t, fields, c.Priority, action, args)
	if err == nil && c.Label != "" {
		if r.labels == nil {
			r.labels = map[string]int{}
		}
		r.labels[c.Label] = handle
	}
	return err
}

// keyIndex finds a key by the names that bmv2stf.py accepts.
func keyIndex(key []interp.KeyInfo, name string) (int, error) {
	// scripts write a$1.b for a[1].b
	if at := strings.IndexByte(name, '$'); at >= 0 && at+1 < len(name) && name[at+1] >= '0' && name[at+1] <= '9' {
		end := at + 1
		for end < len(name) && name[end] >= '0' && name[end] <= '9' {
			end++
		}
		name = name[:at] + "[" + name[at+1:end] + "]" + name[end:]
	}
	for _, want := range []string{name, name + "$", name + ".$valid$", strings.TrimSuffix(name, ".valid") + ".$valid$", strings.TrimSuffix(name, "valid") + "$valid$"} {
		if i := slices.IndexFunc(key, func(k interp.KeyInfo) bool { return k.Name == want }); i >= 0 {
			return i, nil
		}
	}
	at := -1
	for i, k := range key {
		if strings.HasSuffix(k.Name, "."+name) || strings.HasSuffix(k.Name, "."+name+"$") || name == "valid" && strings.HasSuffix(k.Name, "$valid$") {
			at = i
		}
	}
	if at < 0 {
		var names []string
		for _, k := range key {
			names = append(names, k.Name)
		}
		return 0, fmt.Errorf("no key %s%s", name, diag.DidYouMean(name, names))
	}
	return at, nil
}

// fieldMatch parses the value of a key: VALUE, VALUE/PREFIX, VALUE&&&MASK, or a
// value with wildcard digits *.
func fieldMatch(k interp.KeyInfo, text string) (f interp.FieldMatch, err error) {
	value := func(s string) []uint64 {
		var v []uint64
		if err == nil {
			v, err = number(s, k.Width)
		}
		return v
	}
	switch k.Kind {
	case "lpm":
		digits, prefix, ok := strings.Cut(text, "/")
		f.Prefix = k.Width
		if ok {
			n, err := numbers([]string{prefix})
			if err != nil || n[0] < 0 || n[0] > k.Width {
				return f, fmt.Errorf("%q: expected a prefix length of at most %d", prefix, k.Width)
			}
			f.Prefix = n[0]
		} else if stars := strings.Count(text, "*"); stars > 0 || strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0b") {
			f.Prefix = (len(text) - 2 - stars) * bitsPerDigit(text)
		}
		f.Value = value(strings.ReplaceAll(digits, "*", "0"))
		f.Prefix = min(f.Prefix, k.Width)
	case "ternary":
		v, mask, ok := strings.Cut(text, "&&&")
		if !ok {
			mask = wildcard(text)
		}
		f.Value = value(strings.ReplaceAll(v, "*", "0"))
		if m, err2 := hexMask(mask, k.Width); err2 != nil {
			return f, err2
		} else {
			f.Mask = m
		}
	case "range":
		low, high, ok := strings.Cut(text, "->")
		if !ok {
			high = low
		}
		f.Low, f.High = value(low), value(high)
	default:
		f.Value = value(text)
	}
	return f, err
}

func bitsPerDigit(text string) int {
	switch {
	case strings.HasPrefix(text, "0b"):
		return 1
	case strings.HasPrefix(text, "0o"):
		return 3
	}
	return 4
}

// wildcard returns the mask of a value with wildcard digits *.
func wildcard(text string) string {
	if len(text) < 2 || text[0] != '0' {
		return "-1" // a decimal number: every bit counts
	}
	one := map[int]byte{1: '1', 3: '7', 4: 'F'}[bitsPerDigit(text)]
	mask := []byte(text)
	for i := 2; i < len(mask); i++ {
		if mask[i] == '*' {
			mask[i] = '0'
		} else {
			mask[i] = one
		}
	}
	return string(mask)
}

// hexMask parses a mask, truncated to the width of the field.
func hexMask(text string, width int) ([]uint64, error) {
	x, ok := new(big.Int).SetString(text, 0)
	if !ok {
		return nil, fmt.Errorf("%q: expected a mask, as 0xff00", text)
	}
	x.And(x, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(width)), big.NewInt(1)))
	d := make([]uint64, bitvec.Limbs(width))
	bitvec.FromBytes(d, x.Bytes())
	return d, nil
}

// counter finds the counter of a command and checks its index.
func (r *runner) counter(c *Command) (*interp.CounterInfo, error) {
	n, err := find(indices(len(r.prog.Counters)), c.Name, func(i int) string { return r.prog.Counters[i].Name })
	if err != nil {
		return nil, err
	}
	k := &r.prog.Counters[n]
	if i := c.Numbers[0]; i < 0 || !k.Direct && i >= k.Size {
		return nil, fmt.Errorf("counter %s has %d cells", c.Name, k.Size)
	}
	return k, nil
}

func (r *runner) checkCounter(c *Command) error {
	k, err := r.counter(c)
	if err != nil {
		return err
	}
	i := c.Numbers[0]
	if c.Label != "" {
		handle, ok := r.labels[c.Label]
		if !ok {
			return fmt.Errorf("no entry is called %s", c.Label)
		}
		i = handle
	}
	got, err := r.target.counter(k, i)
	if err != nil {
		return err
	}
	if c.Check == "" {
		return nil
	}
	value, want := int(got.Packets), c.Numbers[1]
	if c.Bytes {
		value = int(got.Bytes)
	}
	ok := map[string]bool{"==": value == want, "!=": value != want, "<": value < want, "<=": value <= want, ">": value > want, ">=": value >= want}[c.Check]
	if !ok {
		r.list.Errorf(c.Pos, CodeExpect, "counter %s(%d) is %d, expected %s %d", c.Name, i, value, c.Check, want)
	}
	return nil
}

// setMeter sets rates in the form of simple_switch_CLI: RATE:BURST, rates per
// microsecond.
func (r *runner) setMeter(c *Command) error {
	n, err := find(indices(len(r.prog.Meters)), c.Name, func(i int) string { return r.prog.Meters[i].Name })
	if err != nil {
		return err
	}
	m := &r.prog.Meters[n]
	words := c.Words[2:]
	index := -1
	if c.Op == "meter_set_rates" {
		if len(words) == 0 {
			return fmt.Errorf("meter_set_rates wants NAME INDEX RATE:BURST RATE:BURST")
		}
		i, err := numbers(words[:1])
		if err != nil || i[0] < 0 || i[0] >= m.Size {
			return fmt.Errorf("meter %s has no cell %s", c.Name, words[0])
		}
		index, words = i[0], words[1:]
	}
	if len(words) != 2 {
		return fmt.Errorf("%s wants two of RATE:BURST", c.Op)
	}
	rates := make([]simpleswitch.Rate, 2)
	for i, w := range words {
		if _, err := fmt.Sscanf(w, "%g:%d", &rates[i].PerMicrosecond, &rates[i].Burst); err != nil {
			return fmt.Errorf("%q is not of the form RATE:BURST", w)
		}
	}
	return r.target.setMeter(m, index, rates)
}

// replicate executes the commands for clone sessions and multicast groups.
func (r *runner) replicate(c *Command) error {
	n := c.Numbers
	want := map[string]int{"mirroring_add": 2, "mirroring_add_mc": 2, "mirroring_delete": 1, "mc_mgrp_create": 1, "mc_node_create": 2,
		"mc_node_update": 2, "mc_node_associate": 2}[c.Op]
	if len(n) < want {
		return fmt.Errorf("%s needs %d numbers", c.Op, want)
	}
	switch c.Op {
	case "mirroring_add":
		return r.target.setSession(n[0], n[1])
	case "mirroring_add_mc":
		return r.target.setGroupSession(n[0], n[1])
	case "mirroring_delete":
		return r.target.deleteSession(n[0])
	case "mc_mgrp_create":
		return r.target.createGroup(n[0])
	case "mc_node_create":
		return r.target.createNode(n[0], n[1:])
	case "mc_node_update":
		return r.target.updateNode(n[0], n[1:])
	case "mc_node_associate":
		return r.target.associate(n[0], n[1])
	}
	panic("BUG: no command " + c.Op)
}
