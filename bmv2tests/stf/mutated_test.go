// SPDX-License-Identifier: Apache-2.0

package stf

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/compiler"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/solo"
)

var (
	mutations = flag.Int("mutations", 200, "programs of TestMutatedPrograms")
	seed      = flag.Uint64("seed", 1, "seed of TestMutatedPrograms")
)

// A breaker changes BMv2 JSON as text of a hostile, or of another compiler's, could be:
// references go elsewhere, numbers are at limits, keys and elements are missing, given
// twice, or of another kind.
type breaker struct {
	*rand.Rand
	texts []string // of the file
}

// breakAt changes n places of a file.
func (b *breaker) breakAt(root any, n int) any {
	for range n {
		var places []func()
		b.places(root, func(v any) { root = v }, &places)
		places[b.IntN(len(places))]()
	}
	return root
}

func (b *breaker) places(v any, set func(any), list *[]func()) {
	switch x := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		for _, k := range keys {
			if k == "source_info" || k == "__meta__" {
				continue
			}
			b.places(x[k], func(v any) { x[k] = v }, list)
			if b.IntN(8) == 0 {
				*list = append(*list, func() { delete(x, k) })
			}
		}
	case []any:
		for i := range x {
			b.places(x[i], func(v any) { x[i] = v }, list)
		}
		if len(x) > 0 {
			i := b.IntN(len(x))
			*list = append(*list, func() {
				switch b.IntN(4) {
				case 0:
					set(slices.Delete(slices.Clone(x), i, i+1))
				case 1:
					set(append(slices.Clone(x), x[i]))
				case 2:
					x[i], x[0] = x[0], x[i]
				default:
					set([]any{})
				}
			})
		}
	case string:
		b.texts = append(b.texts, x)
		*list = append(*list, func() { set(b.text()) })
	case json.Number:
		*list = append(*list, func() { set(b.number(x)) })
	default:
		*list = append(*list, func() {
			set([]any{nil, true, false, b.text(), b.number("1"), []any{}, map[string]any{}}[b.IntN(7)])
		})
	}
}

func (b *breaker) text() any {
	return []any{b.texts[b.IntN(len(b.texts))], b.texts[b.IntN(len(b.texts))], "0x", "0xffffffffffffffffffffffff", "-0x1", ""}[b.IntN(6)]
}

func (b *breaker) number(n json.Number) any {
	was, _ := n.Int64()
	return []any{was + 1, was - 1, 0, -1, 1, 2, 63, 64, 65, 1 << 20, int64(1) << 40, 1.5, nil}[b.IntN(13)]
}

// sources returns the JSON of the programs of testdata.
func sources(t *testing.T) [][]byte {
	var list [][]byte
	for _, name := range []string{"copies", "checksum", "expression", "hash", "stack", "state", "table", "union", "union_whole", "varbit", "parser_error", "mirror", "loops"} {
		r, errs := compiler.Compile(compiler.Options{File: "testdata/" + name + ".p4"})
		if err := errs.Err(); err != nil {
			t.Fatal(err)
		}
		list = append(list, bmv2json.Encode(r.Program))
	}
	return list
}

// TestMutatedPrograms loads programs that were changed at a few places. Each is refused, or
// packets pass it alike with and without the optimiser and the translation.
func TestMutatedPrograms(t *testing.T) {
	files := sources(t)
	r := rand.New(rand.NewPCG(*seed, 9))
	accepted := 0
	for n := range *mutations {
		dec := json.NewDecoder(bytes.NewReader(files[r.IntN(len(files))]))
		dec.UseNumber()
		var root any
		if err := dec.Decode(&root); err != nil {
			t.Fatal(err)
		}
		b := &breaker{Rand: r}
		root = b.breakAt(root, 1+r.IntN(3))
		file, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if p := recover(); p != nil {
					t.Fatalf("seed %d, program %d: %v\n%s\n%s", *seed, n, p, debug.Stack(), file)
				}
			}()
			p, err := bmv2json.Decode("f.json", file)
			if err != nil {
				return
			}
			var want string
			for i, o := range []interp.Options{{Plain: true}, {}, {Interpret: true}} {
				prog, err := interp.Compile(p, o)
				if err != nil {
					if i > 0 {
						t.Fatalf("seed %d, program %d: with %+v only: %v", *seed, n, o, err)
					}
					return
				}
				if tooLarge(prog) {
					return
				}
				got := frames(t, prog, uint64(n))
				if i == 0 {
					want = got
					accepted++
				} else if got != want {
					t.Fatalf("seed %d, program %d: with %+v\n%s\nwithout\n%s\n%s", *seed, n, o, got, want, file)
				}
			}
		}()
	}
	t.Logf("%d of %d programs were accepted", accepted, *mutations)
	if accepted < *mutations/10 {
		t.Error("hardly any was accepted: the test says little")
	}
}

// A union's members must have the types that its type says: an element of a stack of
// unions with another header was taken for adjacent to the others, and Compile panicked.
func TestMemberOfAnotherUnion(t *testing.T) {
	r, errs := compiler.Compile(compiler.Options{File: "testdata/union_whole.p4"})
	if err := errs.Err(); err != nil {
		t.Fatal(err)
	}
	unions := r.Program.HeaderUnions
	last := unions[len(unions)-1]
	for _, h := range r.Program.Headers {
		if !slices.ContainsFunc(unions, func(u *bmv2json.HeaderUnion) bool { return slices.Contains(u.HeaderIDs, h.ID) }) && !h.Metadata {
			last.HeaderIDs[0] = h.ID
			break
		}
	}
	if _, err := interp.Compile(r.Program, interp.Options{}); err == nil || !strings.Contains(err.Error(), "header union "+last.Name+" of type") {
		t.Errorf("error is %v, want that the union has a header of another type", err)
	}
}

// tooLarge reports whether the state takes long to make, which is not wrong.
func tooLarge(p *interp.Program) bool {
	n := 0
	for _, r := range p.Registers {
		n += r.Size
	}
	for _, k := range p.Counters {
		n += k.Size
	}
	for _, m := range p.Meters {
		n += m.Size
	}
	return n > 1<<18
}

// frames sends packets through a program and returns what ports sent.
func frames(t *testing.T, p *interp.Program, seed uint64) string {
	sw, err := softswitch.New(softswitch.Config{Name: "s", Ports: []softswitch.Port{{Number: 1}, {Number: 2}, {Number: softswitch.DefaultRecircPort, Internal: true}}})
	if err != nil {
		t.Fatal(err)
	}
	net := solo.New(sw)
	var out strings.Builder
	net.Sent = func(port int, f *packet.Frame, _ vtime.Time) {
		fmt.Fprintf(&out, "%d: %x\n", port, f.Data)
		net.Frames().Put(f)
	}
	sw.Load(p)
	sw.SetGroup(1, []softswitch.Replica{{Port: 2}, {Port: 1}})
	sw.SetSession(1, []softswitch.Replica{{Port: 2}}, 0, 20)
	r := rand.New(rand.NewPCG(seed, 1))
	for range 12 {
		data := make([]byte, r.IntN(80))
		for i := range data {
			data[i] = byte(r.Uint32() & r.Uint32() & 0x13)
		}
		net.Inject(1+r.IntN(2), data, 0)
		net.RunUntil(net.Now() + vtime.Microsecond)
	}
	if st := sw.Stats(); st.BufferBytes != 0 {
		t.Fatalf("%d bytes are left in the buffer", st.BufferBytes)
	}
	return out.String()
}
