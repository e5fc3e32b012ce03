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
// are insertions, or modifications of what always exists. An error is a diag.List.
func (s *Schema) ParseUpdates(name string, text []byte) ([]*p4v1.Update, error) {
	switch {
	case filepath.Ext(name) == ".json":
		list, err := s.ParseRuntime(name, text)
		return updates(list), err
	case protoText.Match(text):
		return s.parseProto(name, text)
	case isCommands(string(text)):
		list, err := s.ParseCommands(name, text)
		return updates(list), err
	}
	var out []*p4v1.Entity
	var list diag.List
	for n, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		e, err := s.ParseEntity(line)
		if err != nil {
			list.Errorf(diag.MakePos(&name, int32(n+1), 0), CodeEntry, "%v", err)
			continue
		}
		out = append(out, e)
	}
	return updates(out), list.Err()
}

// ParseFile is ParseUpdates for the entities that a switch is to have. A deletion is
// an error.
func (s *Schema) ParseFile(name string, text []byte) ([]*p4v1.Entity, error) {
	list, err := s.ParseUpdates(name, text)
	if err != nil {
		return nil, err
	}
	var out []*p4v1.Entity
	for _, u := range list {
		if u.Type == p4v1.Update_DELETE {
			var bad diag.List
			bad.Errorf(diag.FilePos(name), CodeEntry, "the file deletes an entry, and switches begin without any: remove %s", s.FormatEntity(u.Entity))
			return nil, bad.Err()
		}
		out = append(out, u.Entity)
	}
	return out, nil
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

func updates(list []*p4v1.Entity) (out []*p4v1.Update) {
	for _, e := range list {
		out = append(out, Insert(e))
	}
	return out
}

// protoPlace is where package prototext says that an error is.
var protoPlace = regexp.MustCompile(`^proto:\s*(?:\(line (\d+):(\d+)\):\s*)?(?:syntax error\s*\(line (\d+):(\d+)\):\s*)?`)

// parseProto parses protobuf text.
func (s *Schema) parseProto(name string, text []byte) ([]*p4v1.Update, error) {
	var list diag.List
	w, r := &p4v1.WriteRequest{}, &p4v1.ReadResponse{}
	err := prototext.Unmarshal(text, w)
	if err != nil && prototext.Unmarshal(text, r) == nil {
		err, w.Updates = nil, updates(r.Entities)
	}
	if err != nil {
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
		list.Errorf(diag.MakePos(&name, int32(line), int32(col)), CodeEntry, "no p4.v1.WriteRequest: %s", what)
		return nil, list.Err()
	}
	for i, u := range w.Updates {
		if u.Type == p4v1.Update_UNSPECIFIED {
			u.Type = Insert(u.Entity).Type
		}
		if err := s.known(u.Entity); err != nil {
			list.Errorf(diag.FilePos(name), CodeEntry, "update %d: %v", i+1, err)
		}
	}
	return w.Updates, list.Err()
}

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
