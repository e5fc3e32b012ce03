// SPDX-License-Identifier: Apache-2.0

package stf

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/need"
	"github.com/pauseless/pauseless/softswitch/stf"
)

// stale is the reason why programs do not get packets without their first header.
const stale = "fields of headers that are not valid have, on BMv2, what an earlier packet left there"

// unlike has the packets that are not made for a script, and the reason.
var unlike = map[string]struct {
	skip func(packet []byte) bool
	why  string
}{
	"state":        {func([]byte) bool { return true }, "meters depend on time"},
	"state-signed": {func([]byte) bool { return true }, differences["state-signed"]},
	"union-pop":    {func([]byte) bool { return true }, differences["union-pop"]},
	"union":        {func(p []byte) bool { return len(p) < 4 || p[0] == 6 || p[0] == 7 }, stale + "; " + differences["union-pop"]},
	"stack":        {func(p []byte) bool { return len(p) < 4 || p[1] > 3 || p[0] == 7 }, stale + "; an index beyond a stack is undefined, and BMv2 reads beyond it"},
	"copies":       {func(p []byte) bool { return len(p) < 10 }, stale},
	"varbit":       {func(p []byte) bool { return len(p) < 4 || p[0] == 2 }, stale + "; copying a field of a header that is not valid ends BMv2"},
	"log":          {func(p []byte) bool { return p[0] >= 10 || len(p) < 2 || p[1] == 1 }, "an assertion that fails ends BMv2"},
}

// Both switches send the same packets for random changes of the scripts' packets.
func TestRandomPacketsOnBothSwitches(t *testing.T) {
	need.Time(t, "thousands of packets through simple_switch_grpc")
	binary := need.Tool(t, "BMV2", "simple_switch_grpc")
	eachProgram(t, func(t *testing.T, p *bmv2json.Program, s *stf.Script) {
		t.Parallel()
		name := strings.TrimSuffix(filepath.Base(s.Name), ".stf")
		rng := rand.New(rand.NewPCG(1, uint64(len(s.Commands))))
		var text strings.Builder
		var packets [][]byte
		for _, c := range s.Commands {
			switch c.Op {
			case "packet":
				data, err := hex.DecodeString(c.Data)
				if err != nil {
					t.Fatal(err)
				}
				packets = append(packets, data)
			case "expect", "check_counter", "mirroring_delete", "counter_write":
			default:
				fmt.Fprintln(&text, strings.Join(c.Words, " "))
			}
		}
		n := 0
		for range 150 {
			data := change(rng, slices.Clone(packets[rng.IntN(len(packets))]))
			if u := unlike[name]; len(data) > 0 && (u.skip == nil || !u.skip(data)) {
				fmt.Fprintf(&text, "packet 1 %X\n", data)
				n++
			}
		}
		for _, port := range s.Ports() { // creates all ports
			fmt.Fprintf(&text, "expect %d\n", port)
		}
		parse := func(text string) *stf.Script {
			s, err := stf.Parse(s.Name, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		got := map[int][][]byte{}
		if err := stf.Run(p, parse(text.String()), stf.Options{Sent: func(m map[int][][]byte) { got = m }}); err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut(text.String(), "expect ")
		for _, port := range s.Ports() {
			for _, data := range got[port] {
				script += fmt.Sprintf("expect %d %X $\n", port, data)
			}
		}
		if err := stf.RunBMv2(context.Background(), p, parse(script), binary); err != nil {
			t.Errorf("%d packets: %.2000v", n, err)
		}
	})
}

// change changes a packet.
func change(rng *rand.Rand, p []byte) []byte {
	for range 1 + rng.IntN(3) {
		switch rng.IntN(5) {
		case 0:
			p = p[:rng.IntN(len(p)+1)]
		case 1:
			for range rng.IntN(8) {
				p = append(p, byte(rng.Uint32()))
			}
		case 2:
			if len(p) > 0 {
				p[0] = byte(rng.IntN(22))
			}
		default:
			if len(p) > 0 {
				p[rng.IntN(len(p))] ^= 1 << rng.IntN(8)
			}
		}
	}
	return p
}
