// SPDX-License-Identifier: Apache-2.0

package bmv2json

import "github.com/pauseless/pauseless/internal/diag"

// Parser is a parse graph.
type Parser struct {
	Name      string        `json:"name"`
	ID        int           `json:"id"`
	InitState string        `json:"init_state"`
	States    []*ParseState `json:"parse_states"`

	Pos diag.Pos `json:"-"`
}

// ParseState is one state: operations, then a choice of the next state by
// the concatenation of the key's fields, each padded to bytes.
type ParseState struct {
	Name        string        `json:"name"`
	ID          int           `json:"id"`
	Ops         []*ParserOp   `json:"parser_ops"`
	Transitions []*Transition `json:"transitions"`
	Key         []*Value      `json:"transition_key"`

	Pos diag.Pos `json:"-"`
}

// ParserOp is an operation of a parse state. Op is one of extract,
// extract_VL, set, verify, shift, advance and primitive.
type ParserOp struct {
	// Parameters are those of every operation but primitive.
	Parameters []*Value
	// Primitive is what a primitive operation calls.
	Primitive *Primitive
	Op        string

	Pos diag.Pos
}

// Transition leads to the state Next if the key matches; Next "" accepts.
type Transition struct {
	Type  string `json:"type"`  // default, hexstr or parse_vset
	Value string `json:"value"` // "" for default
	Mask  string `json:"mask"`  // "" for none
	Next  string `json:"next_state"`

	Pos diag.Pos `json:"-"`
}

// ParseVSet is a parser value set, which the control plane fills.
type ParseVSet struct {
	Name    string `json:"name"`
	ID      int    `json:"id"`
	Width   int    `json:"compressed_bitwidth"`
	MaxSize int    `json:"max_size"`

	Pos diag.Pos `json:"-"`
}

// Deparser lists the headers to emit, if they are valid. Its primitives run
// before the first header is emitted.
type Deparser struct {
	Name       string       `json:"name"`
	ID         int          `json:"id"`
	SourceInfo *SourceInfo  `json:"source_info,omitempty"`
	Order      []string     `json:"order"`
	Primitives []*Primitive `json:"primitives"`

	Pos diag.Pos `json:"-"`
}

// Action is a list of primitive calls with parameters from table entries.
type Action struct {
	Name        string       `json:"name"`
	ID          int          `json:"id"`
	RuntimeData []Param      `json:"runtime_data"`
	Primitives  []*Primitive `json:"primitives"`

	Pos diag.Pos `json:"-"`
}

// Param is a parameter of an action.
type Param struct {
	Name  string `json:"name"`
	Width int    `json:"bitwidth"`
}

// Primitive is a call of a primitive, such as assign or register_read.
type Primitive struct {
	Op         string      `json:"op"`
	Parameters []*Value    `json:"parameters"`
	SourceInfo *SourceInfo `json:"source_info,omitempty"`

	Pos diag.Pos `json:"-"`
}

// Pipeline is a control: a graph of tables, conditionals and action calls.
type Pipeline struct {
	Name           string           `json:"name"`
	ID             int              `json:"id"`
	SourceInfo     *SourceInfo      `json:"source_info,omitempty"`
	InitTable      string           `json:"init_table"`
	Tables         []*Table         `json:"tables"`
	ActionProfiles []*ActionProfile `json:"action_profiles"`
	Conditionals   []*Conditional   `json:"conditionals"`
	ActionCalls    []*ActionCall    `json:"action_calls,omitempty"`

	Pos diag.Pos `json:"-"`
}

// Table is a match-action table.
type Table struct {
	Name           string      `json:"name"`
	ID             int         `json:"id"`
	SourceInfo     *SourceInfo `json:"source_info,omitempty"`
	Key            []*Key      `json:"key"`
	MatchType      string      `json:"match_type"` // exact, lpm, ternary or range
	Type           string      `json:"type"`       // simple, indirect or indirect_ws
	ActionProfile  string      `json:"action_profile,omitempty"`
	MaxSize        int         `json:"max_size"`
	WithCounters   bool        `json:"with_counters"`
	SupportTimeout bool        `json:"support_timeout"`
	DirectMeters   string      `json:"direct_meters"`
	// EntryTarget is a field that gets the number of the applied entry: zero for
	// the default entry, otherwise one more than the entry's. Actions index the
	// arrays of the table's entries by it. It is an extension.
	EntryTarget *FieldRef `json:"entry_target,omitempty"`
	// ActionsCount is true if actions count themselves instead of every hit. It is
	// an extension.
	ActionsCount bool     `json:"actions_count,omitempty"`
	ActionIDs    []int    `json:"action_ids"`
	Actions      []string `json:"actions"`
	// BaseDefaultNext is the next node after a miss without default action.
	BaseDefaultNext string `json:"base_default_next"`
	// NextTables maps each action, or else __HIT__ and __MISS__, to the next
	// node.
	NextTables   NextTables    `json:"next_tables"`
	DefaultEntry *DefaultEntry `json:"default_entry,omitempty"`
	Entries      []*Entry      `json:"entries,omitempty"`

	Pos diag.Pos `json:"-"`
}

// Keys of NextTables that stand for a hit or miss rather than an action.
const (
	NextHit  = "__HIT__"
	NextMiss = "__MISS__"
)

// NextTables is an ordered map from action to next node.
type NextTables []NextTable

// NextTable is one element of NextTables. Node is "" at the end of the
// pipeline.
type NextTable struct{ Action, Node string }

// Key is one field of a table's key.
type Key struct {
	MatchType string `json:"match_type"` // exact, lpm, ternary, range or valid
	Name      string `json:"name,omitempty"`
	// Target is the field, or only a header if MatchType is "valid".
	Target FieldRef `json:"target"`
	Mask   string   `json:"mask"` // "" for none

	Pos diag.Pos `json:"-"`
}

// DefaultEntry is the default action of a table.
type DefaultEntry struct {
	ActionID    int      `json:"action_id"`
	ActionConst bool     `json:"action_const"`
	ActionData  []string `json:"action_data"`
	EntryConst  bool     `json:"action_entry_const"`

	Pos diag.Pos `json:"-"`
}

// Entry is a constant entry of a table. The smaller Priority wins.
type Entry struct {
	SourceInfo  *SourceInfo `json:"source_info,omitempty"`
	MatchKey    []*Match    `json:"match_key"`
	ActionEntry ActionEntry `json:"action_entry"`
	Priority    int         `json:"priority"`
	// Const marks an entry that the source declares const in a table whose
	// list of entries is not const. It is an extension, which BMv2 ignores.
	Const bool `json:"const,omitempty"`

	Pos diag.Pos `json:"-"`
}

// Match is an entry's condition on one field of the key.
type Match struct {
	MatchType string `json:"match_type"`
	// Key is the value of an exact, lpm, ternary or valid match.
	Key       string `json:"key,omitempty"`
	Mask      string `json:"mask,omitempty"`
	PrefixLen *int   `json:"prefix_length,omitempty"`
	Start     string `json:"start,omitempty"`
	End       string `json:"end,omitempty"`

	Pos diag.Pos `json:"-"`
}

// ActionEntry is an action with its arguments.
type ActionEntry struct {
	ActionID   int      `json:"action_id"`
	ActionData []string `json:"action_data"`
}

// ActionProfile holds members and, if it has a selector, groups of them.
type ActionProfile struct {
	Name       string      `json:"name"`
	ID         int         `json:"id"`
	SourceInfo *SourceInfo `json:"source_info,omitempty"`
	MaxSize    int         `json:"max_size"`
	Selector   *Selector   `json:"selector,omitempty"`

	Pos diag.Pos `json:"-"`
}

// Selector describes how a member of a group is chosen.
type Selector struct {
	Algo  string   `json:"algo"`
	CRC   *CRC     `json:"crc,omitempty"`
	Input []*Value `json:"input"`
}

// Conditional continues at one of two nodes.
type Conditional struct {
	Name       string      `json:"name"`
	ID         int         `json:"id"`
	SourceInfo *SourceInfo `json:"source_info,omitempty"`
	Expression *Value      `json:"expression"`
	FalseNext  string      `json:"false_next"`
	TrueNext   string      `json:"true_next"`

	Pos diag.Pos `json:"-"`
}

// ActionCall runs an action without parameters.
type ActionCall struct {
	Name       string      `json:"name"`
	ID         int         `json:"id"`
	SourceInfo *SourceInfo `json:"source_info,omitempty"`
	ActionID   int         `json:"action_id"`
	NextNode   string      `json:"next_node"`

	Pos diag.Pos `json:"-"`
}
