// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"fmt"
	"strconv"
	"strings"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/yamlfile"
)

// runtimeFile is the runtime JSON of p4lang's tutorials: the entries of a switch.
// The names of the program's files are ignored, as are comments.
type runtimeFile struct {
	Comments  yamlfile.Comments
	Target    string         `yaml:"target"`
	P4Info    yamlfile.Raw   `yaml:"p4info"`
	Config    yamlfile.Raw   `yaml:"bmv2_json"`
	Tables    []runtimeEntry `yaml:"table_entries"`
	Multicast []struct {
		Comments yamlfile.Comments
		ID       uint32           `yaml:"multicast_group_id"`
		Replicas []runtimeReplica `yaml:"replicas"`
	} `yaml:"multicast_group_entries"`
	Clones []struct {
		Comments yamlfile.Comments
		ID       uint32           `yaml:"clone_session_id"`
		Replicas []runtimeReplica `yaml:"replicas"`
		Bytes    uint32           `yaml:"packet_length_bytes"`
	} `yaml:"clone_session_entries"`
}

type runtimeEntry struct {
	Comments yamlfile.Comments
	Table    string                  `yaml:"table"`
	Match    map[string]yamlfile.Raw `yaml:"match"`
	Priority uint32                  `yaml:"priority"`
	Default  bool                    `yaml:"default_action"`
	Action   string                  `yaml:"action_name"`
	Params   map[string]yamlfile.Raw `yaml:"action_params"`
}

type runtimeReplica struct {
	Comments yamlfile.Comments
	Port     uint32 `yaml:"egress_port"`
	Instance uint32 `yaml:"instance"`
}

// ParseRuntime reads the entries of a runtime JSON of p4lang's tutorials. An
// error is a diag.List.
func (s *Schema) ParseRuntime(name string, data []byte) ([]*p4v1.Entity, error) {
	list, _, err := s.parseRuntime(name, data)
	return list, err
}

// parseRuntime is ParseRuntime with the places of the entries.
func (s *Schema) parseRuntime(name string, data []byte) (out []*p4v1.Entity, places []diag.Pos, err error) {
	var in runtimeFile
	f, err := yamlfile.Parse(name, []byte(strings.ReplaceAll(string(data), "\t", " ")), &in)
	if err != nil {
		return nil, nil, err
	}
	if in.Target != "" && in.Target != "bmv2" {
		f.Errorf("target", "target is %q, expected bmv2", in.Target)
	}
	add := func(key string, i int, line string, err error) {
		at := fmt.Sprintf("%s.%d", key, i)
		if err != nil {
			f.Errorf(at, "%v", err)
			return
		}
		e, err := s.ParseEntity(line)
		if err != nil {
			f.Errorf(at, "%v", err)
			return
		}
		out, places = append(out, e), append(places, f.Pos(at))
	}
	for i := range in.Tables {
		line, err := s.runtimeLine(f.Raw(fmt.Sprintf("table_entries.%d", i)), &in.Tables[i])
		add("table_entries", i, line, err)
	}
	for i, m := range in.Multicast {
		add("multicast_group_entries", i, fmt.Sprintf("multicast %d -> %s", m.ID, replicaList(m.Replicas)), nil)
	}
	for i, c := range in.Clones {
		line := fmt.Sprintf("clone %d -> %s", c.ID, replicaList(c.Replicas))
		if c.Bytes > 0 {
			line += fmt.Sprintf(" truncate %d", c.Bytes)
		}
		add("clone_session_entries", i, line, nil)
	}
	return out, places, f.Err()
}

// replicaList prints replicas as ParseEntity reads them.
func replicaList(list []runtimeReplica) string {
	var texts []string
	for _, r := range list {
		text := fmt.Sprint(r.Port)
		if r.Instance > 0 {
			text += fmt.Sprintf("/%d", r.Instance)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

// runtimeLine returns a table entry as a line for ParseEntity. The meaning of a
// list in a match depends on the kind of the field.
func (s *Schema) runtimeLine(raw yamlfile.Raw, e *runtimeEntry) (string, error) {
	t, err := s.Table(e.Table)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(t.Full)
	if e.Default || len(t.Fields) == 0 {
		b.WriteString(" default")
	}
	if e.Priority > 0 {
		fmt.Fprintf(&b, " prio %d", e.Priority)
	}
	for _, name := range raw.Key("match").Keys() {
		value := e.Match[name]
		parts := []string{value.Text("")}
		if items := value.Items(); items != nil {
			parts = nil
			for _, v := range items {
				parts = append(parts, v.Text(""))
			}
		}
		kind := Exact
		if field := t.Field(name); field != nil { // if there is none, ParseEntity says so
			kind = field.Match
		}
		between, ok := map[MatchKind]string{LPM: "/", Ternary: "&&&", Range: ".."}[kind]
		if ok != (len(parts) == 2) || len(parts) > 2 {
			return "", fmt.Errorf("field %s of table %s is matched %v, which takes %s", name, t.Name, kind,
				map[bool]string{true: "a list of two values, such as " + map[MatchKind]string{LPM: `["10.0.1.0", 24]`, Ternary: `["0x0800", "0xffff"]`, Range: "[1, 1023]"}[kind], false: "one value"}[ok])
		}
		if kind == Exact {
			parts[0] = t.Field(name).characters(parts[0])
		}
		fmt.Fprintf(&b, " %s=%s", name, strings.Join(parts, between))
	}
	b.WriteString(" -> " + e.Action + "(")
	for i, name := range raw.Key("action_params").Keys() {
		if i > 0 {
			b.WriteString(", ")
		}
		text := e.Params[name].Text("")
		if strings.ContainsAny(text, punctuation+` "#`) {
			text = strconv.Quote(text)
		}
		b.WriteString(name + "=" + text)
	}
	b.WriteByte(')')
	return b.String(), nil
}

// characters returns a value as a number: the tutorials take a text that is none as the bytes
// of the field, such as "get" for 24 bits.
func (f *Field) characters(text string) string {
	if f == nil || len(text)*8 != f.Bits {
		return text
	}
	if _, err := parseNumber(text); err == nil {
		return text
	}
	return fmt.Sprintf("0x%x", text)
}
