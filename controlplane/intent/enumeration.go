// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"fmt"
	"slices"

	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/vtime"
)

// enumerations adds the entries that follow from formulas: for the maximum
// number of paths from this switch to a leaf, and for the rates of its links.
func (b *builder) enumerations() {
	paths := 1
	for _, w := range b.nextHops {
		paths = max(paths, w.count)
	}
	var rates []vtime.Rate
	for p := range b.allPorts() {
		rates = append(rates, b.topo.Links[b.node.Ports[p].Link].Rate/vtime.Rate(max(1, b.options.Scale)))
	}
	slices.Sort(rates)
	rates = slices.Compact(rates)
	for i := range b.manifest.Tables {
		t := &b.manifest.Tables[i]
		if len(t.Fill) == 0 {
			continue
		}
		entries, err := b.manifest.Filled(t, paths, rates)
		if err != nil {
			b.fail(err)
			return
		}
		in, err := b.schema.Table(t.Name)
		if err == nil && int64(len(entries)) > in.Size {
			err = fmt.Errorf("table %s takes %d entries for %d paths and links of %d rates, and has room for %d; generate the program with larger sizes",
				t.Name, len(entries), paths, len(rates), in.Size)
		}
		if err != nil {
			b.fail(err)
			return
		}
		for _, e := range entries {
			b.filled(in, e)
		}
	}
}

// filled adds an entry made by a formula. Keys are in the order of the table's
// fields, arguments in that of the action's.
func (b *builder) filled(in *schema.Table, e manifest.Filled) {
	var err error
	i := slices.IndexFunc(in.Actions, func(a *schema.Action) bool { return a.Name == e.Action })
	if i < 0 {
		b.fail(fmt.Errorf("table %s: the formula of its entries names action %s, which the table does not have", in.Name, e.Action))
		return
	}
	action := in.Actions[i]
	switch {
	case len(e.Keys) != len(in.Fields):
		err = fmt.Errorf("table %s: the formula of its entries has %d keys, and the table %d", in.Name, len(e.Keys), len(in.Fields))
	case len(e.Args) != len(action.Params):
		err = fmt.Errorf("table %s: the formula of its entries has %d arguments for %s, which takes %d", in.Name, len(e.Args), e.Action, len(action.Params))
	}
	if err != nil {
		b.fail(err)
		return
	}
	out := schema.Entry{Table: in.Name, Action: e.Action}
	ordered := false
	for i, k := range e.Keys {
		f := in.Fields[i]
		ordered = ordered || f.Match == schema.Ternary || f.Match == schema.Range || f.Match == schema.Optional
		switch k.Kind {
		case manifest.OneValue:
			out.Match = append(out.Match, schema.Eq(f.Name, k.A))
		case manifest.Masked:
			out.Match = append(out.Match, schema.Mask(f.Name, k.A, k.B))
		case manifest.Between:
			out.Match = append(out.Match, schema.Between(f.Name, k.A, k.B))
		}
	}
	if ordered {
		out.Priority = int32(e.Priority)
	}
	for i, v := range e.Args {
		out.Args = append(out.Args, schema.Arg{Name: action.Params[i].Name, Value: v})
	}
	b.add(out)
}
