// SPDX-License-Identifier: Apache-2.0

package bfrttest

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/controlplane/bfrt"
)

// A register array with more cells than fit into a message of 4 MB is written and read.
// Arrays of no size, or of one that no Tofino has, are not.
func TestLargeRegister(t *testing.T) {
	text, err := os.ReadFile("../testdata/program.json")
	if err != nil {
		t.Fatal(err)
	}
	sized := func(size string) (*bfrt.Client, bfrt.Register) {
		_, address := Start(t)
		c, err := bfrt.Dial(t.Context(), address, bfrt.Options{ClientID: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		info := bytes.Replace(text, []byte(`"table_type": "Register", "size": 64`), []byte(`"table_type": "Register", "size": `+size), 1)
		if err := c.Load(t.Context(), &bfrt.Program{Name: "drill", Info: info, Context: []byte("{}"), Binary: []byte{1}, Pipes: []uint32{0}}); err != nil {
			t.Fatal(err)
		}
		r, err := c.Info().Register("drill_best")
		if err != nil {
			t.Fatal(err)
		}
		return c, r
	}
	values := map[string]uint64{"qlen": 7, "path": 2}
	c, r := sized("70000")
	if err := c.SetCells(t.Context(), bfrt.PipeAll, r, 0, r.Size-1, values); err != nil {
		t.Fatal(err)
	}
	got, err := c.Cells(t.Context(), r, 0, -1)
	if err != nil || got[1][0][69999] != 7 || got[1][1][69999] != 2 {
		t.Errorf("%v", err)
	}
	err = c.SetCells(t.Context(), bfrt.PipeAll, r, 69990, 100000, values)
	if err == nil || !strings.Contains(err.Error(), "no cell 70000") {
		t.Errorf("cells beyond the last: %v", err)
	}
	for size, want := range map[string]string{"0": "does not say how many", "4000000000000": "no Tofino has more"} {
		c, r := sized(size)
		if err := c.SetCells(t.Context(), bfrt.PipeAll, r, 0, r.Size-1, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s cells: %v", size, err)
		}
	}
}
