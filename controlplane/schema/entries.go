// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/prototext"
)

// CodeEntry is the code of diagnostics about entries in files.
const CodeEntry diag.Code = "entry"

// protoText is the start of a p4.v1.WriteRequest or ReadResponse in protobuf text
// format.
var protoText = regexp.MustCompile(`^(\s|#.*\n)*(updates|entities|device_id|role|role_id|election_id|atomicity)\s*[:{<]`)

// ParseUpdates parses a file of entries in any of these formats, which it recognises:
// the runtime JSON of p4lang's tutorials (FILE.json), a p4.v1.WriteRequest or
// ReadResponse in protobuf text format, commands of simple_switch_CLI, or the lines of
// ParseEntity, in which # begins a comment. All updates but those of a WriteRequest
// are insertions, or modifications of what always exists; those of commands are what is
// there after the last one. Each has a place in the file. An error is a diag.List.
func (s *Schema) ParseUpdates(name string, text []byte) (all []*p4v1.Update, at []diag.Pos, err error) {
	switch {
	case filepath.Ext(name) == ".json":
		list, at, err := s.parseRuntime(name, text)
		return updates(list), at, err
	case protoText.Match(text):
		return s.parseProto(name, text)
	case isCommandFile(name, text):
		x := NewSet(s)
		if err := x.commands(name, text); err != nil {
			return nil, nil, err
		}
		for i, e := range x.list {
			if e != nil {
				at = append(at, x.at[i])
			}
		}
		return updates(x.Entities()), at, nil
	}
	var out []*p4v1.Entity
	var list diag.List
	for n, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		pos := diag.MakePos(&name, int32(n+1), 0)
		e, err := s.ParseEntity(line)
		if err != nil {
			list.Errorf(pos, CodeEntry, "%v", err)
			continue
		}
		out, at = append(out, e), append(at, pos)
	}
	return updates(out), at, list.Err()
}

// ParseFile returns the entities that a file gives a switch, as Set.Read.
func (s *Schema) ParseFile(name string, text []byte) ([]*p4v1.Entity, error) {
	x := NewSet(s)
	err := x.Read(name, text)
	if err != nil {
		return nil, err
	}
	return x.Entities(), nil
}

// Insert returns the update that gives a switch an entity: an insertion, or the
// modification of what always exists, as a default entry or a cell of an array.
func Insert(e *p4v1.Entity) *p4v1.Update {
	u := &p4v1.Update{Type: p4v1.Update_INSERT, Entity: e}
	if AlwaysThere(e) {
		u.Type = p4v1.Update_MODIFY
	}
	return u
}

// AlwaysThere reports whether an entity can only be modified: a default entry, or a cell
// of an array.
func AlwaysThere(e *p4v1.Entity) bool {
	switch e := e.GetEntity().(type) {
	case *p4v1.Entity_TableEntry:
		return e.TableEntry.IsDefaultAction
	case *p4v1.Entity_MeterEntry, *p4v1.Entity_CounterEntry, *p4v1.Entity_RegisterEntry:
		return true
	}
	return false
}

// isCommandFile reports whether a file has commands of simple_switch_CLI.
func isCommandFile(name string, text []byte) bool {
	return filepath.Ext(name) != ".json" && !protoText.Match(text) && isCommands(string(text))
}

func updates(list []*p4v1.Entity) (out []*p4v1.Update) {
	for _, e := range list {
		out = append(out, Insert(e))
	}
	return out
}

// protoPlace is where package prototext says that an error is.
var protoPlace = regexp.MustCompile(`^proto:\s*(?:\(line (\d+):(\d+)\):\s*)?(?:syntax error\s*\(line (\d+):(\d+)\):\s*)?`)

// ProtoError is an error of package prototext about the text of a message in a file, with
// its line. It is a diag.List.
func ProtoError(name, message string, err error) error {
	what := strings.ReplaceAll(err.Error(), "\u00a0", " ") // which package prototext writes at random
	line, col := 0, 0
	if m := protoPlace.FindStringSubmatch(what); m != nil {
		what = what[len(m[0]):]
		for i := 1; i < len(m); i += 2 {
			if m[i] != "" {
				line, _ = strconv.Atoi(m[i])
				col, _ = strconv.Atoi(m[i+1])
			}
		}
	}
	var list diag.List
	list.Errorf(diag.MakePos(&name, int32(line), int32(col)), CodeEntry, "not a %s: %s", message, what)
	return list
}

// parseProto parses protobuf text.
func (s *Schema) parseProto(name string, text []byte) ([]*p4v1.Update, []diag.Pos, error) {
	var list diag.List
	w, r := &p4v1.WriteRequest{}, &p4v1.ReadResponse{}
	err := prototext.Unmarshal(text, w)
	if err != nil && prototext.Unmarshal(text, r) == nil {
		err, w.Updates = nil, updates(r.Entities)
	}
	if err != nil {
		return nil, nil, ProtoError(name, "p4.v1.WriteRequest", err)
	}
	at := protoPlaces(&name, text)
	for len(at) < len(w.Updates) {
		at = append(at, diag.FilePos(name))
	}
	for i, u := range w.Updates {
		if u.Type == p4v1.Update_UNSPECIFIED {
			u.Type = Insert(u.Entity).Type
		}
		if err := s.known(u.Entity); err != nil {
			list.Errorf(at[i], CodeEntry, "update %d: %v", i+1, err)
		}
	}
	return w.Updates, at[:len(w.Updates)], list.Err()
}

// protoPlaces returns where the updates or entities of a message in protobuf text format
// begin. The text has no errors.
func protoPlaces(name *string, text []byte) (at []diag.Pos) {
	line, start, depth := 1, 0, 0 // depth is that of messages
	field := ""                   // the last word outside of messages
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			line, start = line+1, i+1
		case c == '#':
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case c == '"' || c == '\'':
			for i++; i < len(text) && text[i] != c; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case c == '{' || c == '<':
			if depth == 0 && (field == "updates" || field == "entities") {
				at = append(at, diag.MakePos(name, int32(line), int32(i-start+1)))
			}
			depth++
		case c == '}' || c == '>':
			depth--
		case depth == 0 && letter(c):
			from := i
			for i+1 < len(text) && letter(text[i+1]) {
				i++
			}
			field = string(text[from : i+1])
		}
	}
	return at
}

func letter(c byte) bool { return c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

// known returns an error if an entity refers to an object that the program does not
// have.
func (s *Schema) known(e *p4v1.Entity) error {
	missing := func(kind string, id uint32) error {
		var have []string
		for _, full := range s.fullNames(kind, "") {
			have = append(have, fmt.Sprintf("%s %#x", full, s.idOf(kind, full)))
		}
		return fmt.Errorf("no %s has the id %#x; there are: %s", kind, id, strings.Join(have, ", "))
	}
	switch e := e.GetEntity().(type) {
	case nil:
		return fmt.Errorf("it has no entity")
	case *p4v1.Entity_TableEntry:
		if ByID[Table](s, e.TableEntry.GetTableId()) == nil {
			return missing(kindTable, e.TableEntry.GetTableId())
		}
		if a := e.TableEntry.GetAction().GetAction(); a != nil && ByID[Action](s, a.ActionId) == nil {
			return missing(kindAction, a.ActionId)
		}
	case *p4v1.Entity_RegisterEntry:
		if ByID[Register](s, e.RegisterEntry.GetRegisterId()) == nil {
			return missing(kindRegister, e.RegisterEntry.GetRegisterId())
		}
	case *p4v1.Entity_MeterEntry:
		if ByID[Meter](s, e.MeterEntry.GetMeterId()) == nil {
			return missing(kindMeter, e.MeterEntry.GetMeterId())
		}
	case *p4v1.Entity_CounterEntry:
		if ByID[Counter](s, e.CounterEntry.GetCounterId()) == nil {
			return missing(kindCounter, e.CounterEntry.GetCounterId())
		}
	}
	return nil
}

// idOf returns the ID of an object by its name.
func (s *Schema) idOf(kind, name string) uint32 {
	v := s.names[kind][name]
	for id, o := range s.ids {
		if o == v {
			return id
		}
	}
	return 0
}
