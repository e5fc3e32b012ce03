// SPDX-License-Identifier: Apache-2.0

package bfrttest

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane/bfrt"
	"google.golang.org/grpc"
)

// mutations calls do with each text that differs from a JSON text in one value, which
// is missing, of another type, of another value, or there twice in a list.
func mutations(t *testing.T, text []byte, do func(what string, text []byte)) {
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	values := []any{nil, true, "", "x", strings.Repeat("n", 5000), -1.0, 0.0, 1.5, 70000.0, 1e300, []any{}, []any{nil}, map[string]any{}}
	var visit func(at string, v any, set func(any))
	visit = func(at string, v any, set func(any)) {
		try := func(what string) {
			b, err := json.Marshal(root)
			if err != nil {
				t.Fatal(err)
			}
			do(at+" "+what, b)
		}
		for _, x := range values {
			if fmt.Sprint(x) != fmt.Sprint(v) {
				set(x)
				try(fmt.Sprintf("%.20v", x))
			}
		}
		set(v)
		switch v := v.(type) {
		case map[string]any:
			for key, old := range v {
				delete(v, key)
				try("without " + key)
				visit(at+"."+key, old, func(x any) { v[key] = x })
			}
		case []any:
			if len(v) > 0 {
				set(slices.Concat(v, v[:1]))
				try("the first twice")
				set(v)
			}
			for i, old := range v {
				visit(fmt.Sprintf("%s[%d]", at, i), old, func(x any) { v[i] = x })
			}
		}
	}
	visit("", root, func(x any) { root = x })
}

// Each value of bfrt.json of a program or a device is missing, of another type or of
// another value: an error with the place, or a switch and a client that go on.
func TestMutatedInfo(t *testing.T) {
	program, err := os.ReadFile("../testdata/program.json")
	if err != nil {
		t.Fatal(err)
	}
	total, refused, accepted := 0, 0, 0
	use := func(what string, program, device []byte) {
		total++
		_, err := bfrt.ParseInfo(program, device)
		if err != nil {
			if text := err.Error(); !strings.Contains(text, "bfrt.json: line ") && !strings.Contains(text, "bfrt.json: table") {
				t.Errorf("%s: an error without a place: %v", what, err)
			}
			refused++
			return
		}
		if accepted++; accepted%4 != 1 {
			return
		}
		server, err := New(2, device)
		if err == nil {
			err = server.PutPanel(map[[2]int]int{{9, 0}: 60, {1, 0}: 128})
		}
		if err != nil {
			return // the server of the tests needs all tables of the driver
		}
		g := grpc.NewServer()
		server.Serve(g)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go g.Serve(listener)
		defer g.Stop()
		c, err := bfrt.Dial(t.Context(), listener.Addr().String(), bfrt.Options{ClientID: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.Load(t.Context(), &bfrt.Program{Name: "drill", Info: program, Context: []byte("{}"), Binary: []byte{1}, Pipes: []uint32{0}}); err != nil {
			return
		}
		route := bfrt.Entry{Table: "route", Match: []bfrt.Match{{Field: "dst_addr", Value: 0x0a000100, LPM: true, PrefixLen: 24}},
			Action: "to_leaf", Data: map[string]any{"leaf": 1, "first_port": 5, "last_path": 7}}
		_, _ = c.Apply(t.Context(), []bfrt.Wanted{{Pipe: bfrt.PipeAll, Entry: route}})
		_, _ = c.PortStates(t.Context())
		for _, r := range c.Info().Registers() {
			_, _ = c.Cells(t.Context(), r, 1, 2)
			_ = c.SetCells(t.Context(), bfrt.PipeAll, r, 1, 2, map[string]uint64{"qlen": 1, "path": 2})
		}
		for _, name := range c.Info().Names() {
			_, _ = c.Read(t.Context(), 0, bfrt.Entry{Table: name}, false)
		}
	}
	mutations(t, program, func(what string, text []byte) { use(what, text, Device) })
	n := 0
	mutations(t, Device, func(what string, text []byte) {
		if n++; n%17 == 0 {
			use(what, program, text)
		}
	})
	t.Logf("%d changes, %d of them refused", total, refused)
	if total < 2000 || refused < total*3/4 {
		t.Errorf("%d changes, %d of them refused", total, refused)
	}
}
