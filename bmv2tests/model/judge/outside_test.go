// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/model"
)

// testdata/schemes has a scheme from outside: nothing in the project names it. Its
// state changes with each choice, so that the judge shows whether a program asks it
// once for each packet with several paths, also under RLB and on a Tofino
// (TestProfiles, TestCombinations).
func TestMain(m *testing.M) {
	if err := gen.AddSchemes("testdata/schemes"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	model.Add(model.Scheme{Name: "turns", Base: &model.Base{Choose: nextTurn},
		Registers: map[string]model.Register{"turn": {Draw: func(g *model.Drawer, _ int) int64 { return g.UpTo(int64(g.PathCells)) }}}})
	os.Exit(m.Run())
}

// nextTurn is the path after that of the last packet between the same hosts. The
// register has that path, on v1model plus one.
func nextTurn(s *model.Switch, p *model.Packet) model.Path {
	pair := 0
	if p.IP != nil {
		pair = int(crc32.ChecksumIEEE(p.IP.Append(nil, "src:32 dst:32"))) & (s.Flows - 1)
	}
	last := s.Cell("turn", pair)
	next := *last + model.Bit(s.Tofino)
	if next >= int64(p.Paths) {
		next = 0
	}
	*last = next + 1 - model.Bit(s.Tofino)
	return model.Path(next)
}

func TestProgramsWithoutAModelAreNotJudged(t *testing.T) {
	out, err := gen.Generate(small(t, "turns", "v1model"), "v1model")
	if err != nil {
		t.Fatal(err)
	}
	out.Manifest.Features = []string{"base"}
	if _, err := NewJudge(model.NewProgram(out.Manifest), compile(t, "turns", "v1model", out.P4)); err == nil || !strings.Contains(err.Error(), "the base load balancer turns has no model") {
		t.Errorf("error is %v", err)
	}
}
