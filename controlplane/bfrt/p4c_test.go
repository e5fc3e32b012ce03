// SPDX-License-Identifier: Apache-2.0

//go:build unix

package bfrt_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"github.com/pauseless/pauseless/controlplane/bfrt"
	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
	"github.com/pauseless/pauseless/controlplane/bfrt/bfrttest"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/internal/tofino"
	"google.golang.org/protobuf/encoding/prototext"
)

// schemaOfP4C returns p4c's bfrt.json and P4Info of a program. It does not wait
// for the placement of tables, which takes far longer.
func schemaOfP4C(t *testing.T, program string) ([]byte, *p4configv1.P4Info) {
	t.Helper()
	c, err := tofino.FindCompiler(os.Getenv("P4C_TOFINO"))
	need.No(t, err)
	dir := t.TempDir()
	pipe, text := filepath.Join(dir, "bfrt.json"), filepath.Join(dir, "p4info.txtpb")
	var said bytes.Buffer
	cmd := exec.CommandContext(t.Context(), c.P4C, c.Args(program, dir)...)
	cmd.Stdout, cmd.Stderr = &said, &said
	data := need.Written(t, cmd, pipe)
	b, err := os.ReadFile(text)
	if err != nil || len(data) == 0 {
		t.Fatalf("%s: %v\n%s", program, err, said.String())
	}
	info := new(p4configv1.P4Info)
	if err := (prototext.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(b, info); err != nil {
		t.Fatal(err)
	}
	return data, info
}

// Client and server work with p4c's schemas of our programs: match tables,
// default entries, registers of numbers and of pairs, in one pipeline and in
// all.
func TestSchemasOfP4C(t *testing.T) {
	need.Time(t, "p4c takes seconds for a program")
	programs := []string{"../../p4src/tna/drill.p4"}
	if os.Getenv("TOFINO_ALL") != "" {
		var err error
		if programs, err = filepath.Glob("../../p4src/tna/*.p4"); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range programs {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, info := schemaOfP4C(t, file)
			checkSchema(t, data, info)
			s, err := schema.New(info)
			if err != nil {
				t.Fatal(err)
			}
			c := loaded(t, data)
			writeAll(t, c, s)
		})
	}
}

// loaded is a client of a switch that runs a program with this bfrt.json.
func loaded(t *testing.T, data []byte) *bfrt.Client {
	t.Helper()
	_, _, address := start(t)
	c, err := bfrt.Dial(t.Context(), address, bfrt.Options{ClientID: 7})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Load(t.Context(), &bfrt.Program{Name: "real", Info: data, Context: []byte("{}"), Binary: []byte{1}, Pipes: []uint32{0, 1}}); err != nil {
		t.Fatal(err)
	}
	return c
}

// checkSchema compares p4c's bfrt.json with the one that tests without p4c make
// from the P4Info: the same match tables, registers, keys, actions and fields.
func checkSchema(t *testing.T, data []byte, info *p4configv1.P4Info) {
	t.Helper()
	made, err := bfrttest.Schema(info)
	if err != nil {
		t.Fatal(err)
	}
	ours, err := bfrt.ParseInfo(made)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := bfrt.ParseInfo(data)
	if err != nil {
		t.Fatal(err)
	}
	names := ours.Names()
	if len(names) < 4 {
		t.Errorf("only %d tables: %v", len(names), names)
	}
	for _, name := range names {
		a, err := ours.Table(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := theirs.Table(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if x, y := outline(a), outline(b); a.Kind != b.Kind || !reflect.DeepEqual(x, y) {
			t.Errorf("table %s is %s %v, p4c's %s %v", name, a.Kind, x, b.Kind, y)
		}
	}
	for _, name := range theirs.Names() {
		b, err := theirs.Table(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ours.Table(name); err != nil && (b.Kind == "MatchAction_Direct" || b.Kind == "Register") {
			t.Errorf("p4c has a table %s of kind %s, our schema not", name, b.Kind)
		}
	}
}

// outline returns the properties of a table that a client uses, without
// numbers.
func outline(t *bfrt.Table) []string {
	var list []string
	field := func(of string, f *bfrt.Field) {
		list = append(list, of+" "+f.Name+" "+f.Match+" "+f.Type.Kind+" "+string(rune('0'+f.Bits()%64)))
	}
	for i := range t.Key {
		field("key", &t.Key[i])
	}
	for i := range t.Actions {
		list = append(list, "action "+t.Actions[i].Name)
		for _, f := range t.Actions[i].Data {
			field(t.Actions[i].Name, &f.Field)
		}
	}
	for _, f := range t.DataFields(nil) {
		field("data", &f)
	}
	slices.Sort(list)
	return list
}

// writeAll writes an entry to each match table that accepts any, the default
// entries of tables without a key, and a cell of each register.
func writeAll(t *testing.T, c *bfrt.Client, s *schema.Schema) {
	t.Helper()
	ctx := t.Context()
	var wanted []bfrt.Wanted
	for _, table := range s.Tables {
		if table.Const {
			continue
		}
		action := table.Actions[0]
		e := bfrt.Entry{Table: table.Full, Default: len(table.Fields) == 0, Action: action.Full, Data: make(map[string]any)}
		for _, f := range table.Fields {
			m := bfrt.Eq(f.Name, 1)
			switch f.Match {
			case schema.LPM:
				m.LPM, m.PrefixLen = true, f.Bits
			case schema.Ternary:
				m.Mask = 1
			case schema.Range:
				m.High = 1
			}
			e.Match = append(e.Match, m)
		}
		if table.NeedsPriority() {
			e.Match = append(e.Match, bfrt.Eq("$MATCH_PRIORITY", 1))
		}
		for _, p := range action.Params {
			e.Data[p.Name] = 1
		}
		wanted = append(wanted, bfrt.Wanted{Pipe: bfrt.PipeAll, Entry: e})
	}
	for round, n := range []int{len(wanted), 0} {
		changes, err := c.Plan(ctx, wanted)
		if err != nil || len(changes) != n {
			t.Fatalf("round %d: %d changes, %v, want %d", round, len(changes), err, n)
		}
		if err := c.Do(ctx, changes); err != nil {
			t.Fatal(err)
		}
	}
	for _, def := range s.Registers {
		r, err := c.Info().Register(def.Full)
		if err != nil || len(r.Fields) != max(1, len(def.Members)) || r.Size != def.Size {
			t.Errorf("register %s is %+v, %v", def.Name, r, err)
			continue
		}
		last := r.Size - 1
		values, err := c.Cells(ctx, r, last, last)
		if err != nil {
			t.Errorf("register %s: %v", r.Name, err)
			continue
		}
		all, one := make(map[string]uint64), make(map[string]uint64)
		want := [][][]uint64{nil, nil}
		for i, f := range r.Fields {
			if values[0][i][0] != 0 || values[1][i][0] != 0 {
				t.Errorf("register %s: field %s is %v, want zeros of two pipelines", r.Name, f.Name, values)
			}
			all[f.Name], one[f.Name] = 1, 0
			want[0], want[1] = append(want[0], []uint64{0}), append(want[1], []uint64{1})
		}
		if err := c.SetCells(ctx, bfrt.PipeAll, r, last, last, all); err != nil {
			t.Error(err)
		}
		if err := c.SetCells(ctx, 0, r, last, last, one); err != nil {
			t.Error(err)
		}
		if values, err = c.Cells(ctx, r, last, last); err != nil || !reflect.DeepEqual(values, want) {
			t.Errorf("register %s is %v, %v, want %v", r.Name, values, err, want)
		}
	}
	if err := c.Write(ctx, 2, bfrtpb.Update_MODIFY, wanted[0].Entry); err == nil {
		t.Error("a pipeline that is not there was written to")
	}
}
