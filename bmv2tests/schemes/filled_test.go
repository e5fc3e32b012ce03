// SPDX-License-Identifier: Apache-2.0

package schemes

import (
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane/intent"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
)

// The formulas of a table's entries are those of the program's annotations. A
// controller writes the entries for the paths and rates of its switch before the
// routes.
func TestControllersFillTablesByFormulas(t *testing.T) {
	t.Parallel()
	net, err := topo.Parse("network.yaml", []byte(leafSpine(3)))
	if err != nil {
		t.Fatal(err)
	}
	total := 0 // entries
	for _, profile := range profiles() {
		if !onTofino(profile) {
			continue
		}
		t.Run(profile, func(t *testing.T) {
			prog := generate(t, "tna", profile, nil)
			m := prog.Manifest
			_, info := compile(t, prog)
			s, err := schema.New(info)
			if err != nil {
				t.Fatal(err)
			}
			entities, err := intent.Build(net, net.NodeByName("l1").ID, m, info, intent.Options{})
			if err != nil {
				t.Fatal(err)
			}
			written := make(map[string]int)
			for _, e := range entities {
				te := e.GetTableEntry()
				if te == nil {
					continue
				}
				name := schema.ByID[schema.Table](s, te.TableId).Name
				if written["route"] > 0 && m.Table(name) != nil && m.Table(name).Fill != nil {
					t.Fatalf("an entry of %s is written behind routes, which need it", name)
				}
				written[name]++
			}
			filled := 0
			for i := range m.Tables {
				table := &m.Tables[i]
				var annotated []manifest.Fill
				for _, x := range info.Tables {
					for _, a := range x.Preamble.Annotations {
						if text, ok := strings.CutPrefix(a, `@fill("`); ok && x.Preamble.Alias == table.Name {
							annotated = append(annotated, manifest.Fill(strings.TrimSuffix(text, `")`)))
						}
					}
				}
				if !slices.Equal(table.Fill, annotated) {
					t.Errorf("table %s: the manifest has formulas %q, the P4Info %q", table.Name, table.Fill, annotated)
				}
				if (table.Kind == "enumeration") != (len(table.Fill) > 0) {
					t.Errorf("table %s is of kind %s and has formulas %q", table.Name, table.Kind, table.Fill)
				}
				want, err := m.Filled(table, 3, manifest.LinkRates[3:4]) // 40 Gb/s
				if err != nil {
					t.Fatal(err)
				}
				if len(table.Fill) > 0 && (len(want) == 0 || written[table.Name] != len(want)) {
					t.Errorf("table %s: %d entries are written, want %d", table.Name, written[table.Name], len(want))
				}
				filled += len(want)
				all, err := m.Filled(table, m.Sizes.Paths, manifest.LinkRates)
				if err != nil {
					t.Fatal(err)
				}
				if x, y := equals(all); x != nil {
					t.Errorf("table %s: which of these wins?\n%+v\n%+v", table.Name, *x, *y)
				}
			}
			// A program may need no such table.
			if filled == 0 && slices.ContainsFunc(m.Tables, func(t manifest.Table) bool { return t.Kind == "enumeration" }) {
				t.Error("no table is filled by formulas")
			}
			total += filled
		})
	}
	if total == 0 {
		t.Error("no program has a table that is filled by formulas")
	}
}

// equals returns two entries of equal priority that the same packet matches.
func equals(list []manifest.Filled) (x, y *manifest.Filled) {
	for i := range list {
		for j := range i {
			if list[i].Priority == list[j].Priority && overlap(list[i].Keys, list[j].Keys) {
				return &list[j], &list[i]
			}
		}
	}
	return nil, nil
}

func overlap(x, y []manifest.FilledKey) bool {
	for i := range x {
		a, b := x[i], y[i]
		switch {
		case a.Kind == manifest.AnyValue || b.Kind == manifest.AnyValue:
		case a.Kind == manifest.Between && b.Kind == manifest.Between:
			if a.B < b.A || b.B < a.A {
				return false
			}
		case a.Kind == manifest.Between || b.Kind == manifest.Between:
			panic("BUG: a range and a value in one column")
		default:
			mask := ^uint64(0)
			if a.Kind == manifest.Masked {
				mask &= a.B
			}
			if b.Kind == manifest.Masked {
				mask &= b.B
			}
			if (a.A^b.A)&mask != 0 {
				return false
			}
		}
	}
	return true
}

// A manifest whose formulas do not fit the program is refused, and so is a network
// that needs more entries than the table has.
func TestFormulasThatDoNotFitTheProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ fill, want string }{
		{"(1) : pick_a_is(1)", "table pick_a: the formula of its entries has 1 keys, and the table 2"},
		{"(1, _) : pick_a_is()", "table pick_a: the formula of its entries has 0 arguments for pick_a_is, which takes 1"},
		{"(1, _) : pick_c_is(1)", "names action pick_c_is, which the table does not have"},
		{"(1, 0 .. n) : pick_a_is(n) for n in 0 .. 99", "takes 100 entries for 2 paths and links of 1 rates, and has room for 35"},
		{"(x, _) : pick_a_is(1)", "unknown name x"},
	} {
		net, err := topo.Parse("network.yaml", []byte(leafSpine(2)))
		if err != nil {
			t.Fatal(err)
		}
		prog := generate(t, "tna", "drill", nil)
		_, info := compile(t, prog)
		prog.Manifest.Table("pick_a").Fill = []manifest.Fill{manifest.Fill(c.fill)}
		if _, err := intent.Build(net, net.NodeByName("l1").ID, prog.Manifest, info, intent.Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.fill, err, c.want)
		}
	}
}
