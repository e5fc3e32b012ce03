// SPDX-License-Identifier: Apache-2.0

// Package stf runs p4c's switch tests: scripts with table entries, packets to
// send and packets to expect. The format is that of p4c's tools/stf, with the
// semantics of backends/bmv2/bmv2stf.py: packets are sent in sequence, and at
// the end each port must have sent exactly the expected packets, in order.
package stf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
)

// Codes of the diagnostics of this package.
const (
	CodeSyntax diag.Code = "stf-syntax"
	CodeName   diag.Code = "stf-name"
	CodeExpect diag.Code = "stf-expect"
)

// A Script is a test.
type Script struct {
	Name     string
	Commands []Command
}

// A Command is one line. Op determines which fields are used.
type Command struct {
	Pos diag.Pos
	Op  string

	Table    string   // add, setdefault
	Priority int      // add; 0 if absent
	Keys     []Pair   // add
	Action   string   // add, setdefault
	Args     []Pair   // add, setdefault
	Label    string   // add: the label of the entry; check_counter: the entry with the counter
	Port     int      // packet, expect
	Data     string   // packet, expect: hexadecimal digits, * matches any; "" expects any packets
	Exact    bool     // expect: the packet ends where Data does
	Name     string   // of a counter, register, meter
	Numbers  []int    // of the other commands
	Words    []string // all words, for commands that are passed on unchanged
	Check    string   // check_counter: ==, != and so on; "" only reads it
	Bytes    bool     // check_counter: bytes, not packets
}

// Pair is name:value.
type Pair struct{ Name, Value string }

// Parse parses a script.
func Parse(name string, text []byte) (*Script, error) {
	s := &Script{Name: name}
	var list diag.List
	for i, line := range strings.Split(string(text), "\n") {
		pos := diag.MakePos(&name, int32(i+1), 0)
		if at := strings.IndexByte(line, '#'); at >= 0 {
			line = line[:at]
		}
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		c, err := parseLine(line)
		if err != nil {
			list.Errorf(pos, CodeSyntax, "%v", err)
			continue
		}
		c.Pos = pos
		s.Commands = append(s.Commands, *c)
	}
	if err := list.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

func parseLine(line string) (*Command, error) {
	op, rest, _ := strings.Cut(line, " ")
	c := &Command{Op: strings.ToLower(op), Words: strings.Fields(line)}
	rest = strings.TrimSpace(rest)
	switch c.Op {
	case "add":
		return c, c.parseAdd(rest)
	case "setdefault":
		table, action, ok := strings.Cut(rest, " ")
		if !ok {
			return nil, fmt.Errorf("expected setdefault TABLE ACTION(ARGUMENTS)")
		}
		c.Table = unquote(table)
		return c, c.parseAction(strings.TrimSpace(action))
	case "packet", "expect":
		return c, c.parsePacket(rest)
	case "no_packet", "wait":
		return c, nil
	case "remove":
		if rest != "all" {
			return nil, fmt.Errorf("only \"remove all\" has a meaning on a v1model switch")
		}
		return c, nil
	case "check_counter":
		return c, c.parseCheck(rest)
	case "mirroring_add", "mirroring_add_mc", "mirroring_delete", "mirroring_get", "mc_mgrp_create", "mc_node_create", "mc_node_update",
		"mc_node_associate":
		var err error
		c.Numbers, err = numbers(strings.Fields(rest))
		if err == nil && len(c.Numbers) == 0 {
			err = fmt.Errorf("%s wants numbers", c.Op)
		}
		return c, err
	case "counter_read", "counter_write", "register_read", "register_write", "register_reset":
		words := strings.Fields(rest)
		if len(words) == 0 {
			return nil, fmt.Errorf("%s wants a name", c.Op)
		}
		c.Name = unquote(words[0])
		var err error
		c.Numbers, err = numbers(words[1:])
		if want := map[string]int{"counter_read": 1, "counter_write": 3, "register_read": 1, "register_write": 2, "register_reset": 0}[c.Op]; err == nil && len(c.Numbers) != want {
			err = fmt.Errorf("%s needs a name and %d numbers", c.Op, want)
		}
		return c, err
	case "meter_get_rates", "meter_set_rates", "meter_array_set_rates":
		words := strings.Fields(rest)
		if len(words) == 0 {
			return nil, fmt.Errorf("%s wants a name", c.Op)
		}
		c.Name = unquote(words[0])
		return c, nil
	}
	return nil, fmt.Errorf("unknown command %s%s", c.Op, diag.DidYouMean(c.Op, []string{"add", "setdefault", "packet", "expect", "wait",
		"no_packet", "check_counter", "mirroring_add", "mc_mgrp_create", "mc_node_create", "mc_node_associate", "register_write"}))
}

func unquote(s string) string { return strings.Trim(s, `"`) }

func numbers(words []string) ([]int, error) {
	var list []int
	for _, w := range words {
		n, err := strconv.ParseInt(w, 0, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not a number", w)
		}
		list = append(list, int(n))
	}
	return list, nil
}

// parseAdd parses TABLE [PRIORITY] KEY:VALUE… ACTION(NAME:VALUE,…) [= ID].
func (c *Command) parseAdd(rest string) error {
	open := strings.IndexByte(rest, '(')
	if open < 0 {
		return fmt.Errorf("expected add TABLE [PRIORITY] KEY:VALUE… ACTION(NAME:VALUE,…)")
	}
	// The action's name may have spaces before its parenthesis.
	head := strings.TrimSpace(rest[:open])
	words := strings.Fields(head)
	if len(words) < 2 {
		return fmt.Errorf("expected add TABLE [PRIORITY] KEY:VALUE… ACTION(NAME:VALUE,…)")
	}
	c.Table = unquote(words[0])
	action := words[len(words)-1]
	for i, w := range words[1 : len(words)-1] {
		name, value, ok := strings.Cut(w, ":")
		if !ok {
			n, err := strconv.Atoi(w)
			if i != 0 || err != nil {
				return fmt.Errorf("%q is not of the form KEY:VALUE", w)
			}
			c.Priority = n
			continue
		}
		if value == "" {
			return fmt.Errorf("key %s has no value", name)
		}
		c.Keys = append(c.Keys, Pair{unquote(name), value})
	}
	if _, label, ok := strings.Cut(rest[open:], "="); ok {
		c.Label = strings.TrimPrefix(strings.TrimSpace(label), "$")
	}
	return c.parseAction(action + rest[open:])
}

func (c *Command) parseAction(text string) error {
	name, args, ok := strings.Cut(text, "(")
	if !ok {
		return fmt.Errorf("action %q has no parentheses", text)
	}
	args, _, ok = strings.Cut(args, ")")
	if !ok {
		return fmt.Errorf("action %q has no closing parenthesis", name)
	}
	c.Action = unquote(strings.TrimSpace(name))
	for _, arg := range strings.Split(args, ",") {
		if arg = strings.TrimSpace(arg); arg == "" {
			continue
		}
		name, value, ok := strings.Cut(arg, ":")
		if !ok {
			return fmt.Errorf("argument %q is not of the form NAME:VALUE", arg)
		}
		c.Args = append(c.Args, Pair{unquote(strings.TrimSpace(name)), strings.TrimSpace(value)})
	}
	return nil
}

func (c *Command) parsePacket(rest string) error {
	port, data, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(port)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not the number of a port", port)
	}
	c.Port = n
	c.Data = strings.ToUpper(strings.Join(strings.Fields(data), ""))
	if c.Op == "expect" && strings.HasSuffix(c.Data, "$") {
		c.Exact, c.Data = true, strings.TrimSuffix(c.Data, "$")
	}
	digits := "0123456789ABCDEF"
	if c.Op == "expect" {
		digits += "*"
	}
	for _, r := range c.Data {
		if !strings.ContainsRune(digits, r) {
			return fmt.Errorf("%q is not a hexadecimal digit of a packet", r)
		}
	}
	if c.Op == "packet" && len(c.Data)%2 != 0 {
		return fmt.Errorf("a packet of %d digits ends in the middle of a byte", len(c.Data))
	}
	return nil
}

// parseCheck parses NAME(INDEX) [packets|bytes OPERATOR NUMBER].
func (c *Command) parseCheck(rest string) error {
	name, after, ok := strings.Cut(rest, "(")
	index, tail, ok2 := strings.Cut(after, ")")
	if !ok || !ok2 {
		return fmt.Errorf("expected check_counter NAME(INDEX) [packets|bytes OPERATOR NUMBER]")
	}
	c.Name = unquote(strings.TrimSpace(name))
	if index = strings.TrimSpace(index); strings.HasPrefix(index, "$") {
		c.Label, c.Numbers = index[1:], []int{0}
	} else {
		n, err := numbers([]string{index})
		if err != nil {
			return err
		}
		c.Numbers = n
	}
	words := strings.Fields(tail)
	switch len(words) {
	case 0:
		return nil
	case 3:
	default:
		return fmt.Errorf("expected check_counter NAME(INDEX) [packets|bytes OPERATOR NUMBER]")
	}
	switch words[0] {
	case "packets":
	case "bytes":
		c.Bytes = true
	default:
		return fmt.Errorf("a counter counts packets or bytes, not %q", words[0])
	}
	c.Check = words[1]
	if !strings.Contains(" == != < <= > >= ", " "+c.Check+" ") {
		return fmt.Errorf("unknown comparison %q", c.Check)
	}
	n, err := numbers(words[2:])
	if err != nil {
		return err
	}
	c.Numbers = append(c.Numbers, n...)
	return nil
}
