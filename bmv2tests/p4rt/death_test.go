// SPDX-License-Identifier: Apache-2.0

package p4rt

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
)

// victimOf is the environment variable with the address of a switch. If it is set,
// this test program is a controller of that switch.
const victimOf = "P4RT_VICTIM"

// ready is printed by the victim when its state is in the switch.
const ready = "the victim is ready"

// The entries of a controller process persist when it is killed during a write: its
// successor reads them, they apply to packets, and the switch accepts further
// writes.
func TestStateSurvivesAKilledController(t *testing.T) {
	sw := startSoft(t, soft)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience) // for the victim to be ready
	defer cancel()
	victim := exec.CommandContext(ctx, self, "-test.run=^TestVictim$", "-test.v")
	victim.Env = append(os.Environ(), victimOf+"="+sw.addr)
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	lines, said := bufio.NewScanner(out), false
	var log bytes.Buffer
	for !said && lines.Scan() {
		said = bytes.Contains(lines.Bytes(), []byte(ready))
		log.Write(append(lines.Bytes(), '\n'))
	}
	if err := victim.Process.Kill(); err != nil { // SIGKILL, without closing the stream
		t.Fatal(err)
	}
	_ = victim.Wait()
	if !said {
		t.Fatalf("the victim failed:\n%s", &log)
	}
	x := newBench(t, sw, true)
	x.session = x.open(100) // a higher election id than the victim's
	if a := x.arbitration(x.session); a.Status.Code != int32(codes.OK) {
		t.Fatalf("not primary: %v", a)
	}
	entries, cells := x.legacy()
	x.same(x.got(&p4v1.TableEntry{TableId: x.id("t_lpm")}), entries...)
	for _, c := range cells {
		e := c.(*p4v1.RegisterEntry)
		x.same(x.got(&p4v1.RegisterEntry{RegisterId: e.RegisterId, Index: e.Index}), e)
	}
	x.marks(0x42, body(2, 0x0a000001, 0, 1))
	x.send(1, body(11, 3, 0, 0)) // counts in cell 3 of narrow
	got := x.got(&p4v1.RegisterEntry{RegisterId: x.id("narrow"), Index: &p4v1.Index{Index: 3}})
	if v := got[0].GetRegisterEntry().GetData().GetBitstring(); !bytes.Equal(v, []byte{0x12, 0x35}) {
		t.Errorf("after a packet, the register has %x, want 1235", v)
	}
	x.must(insert(x.entry("t_left", x.call("mark", 1), exact(1, 1<<30))))
}

// legacy is the state that the victim leaves.
func (x *bench) legacy() (entries, cells []proto.Message) {
	entries = append(entries,
		x.entry("t_lpm", x.call("mark", 0x42), lpm(1, 0x0a000000, 8), exact(2, 1)),
		x.entry("t_lpm", x.call("mark", 0x43), lpm(1, 0x0b000000, 8), exact(2, 1)))
	data := func(b ...byte) *p4v1.P4Data { return &p4v1.P4Data{Data: &p4v1.P4Data_Bitstring{Bitstring: b}} }
	cells = append(cells,
		&p4v1.RegisterEntry{RegisterId: x.id("narrow"), Index: &p4v1.Index{Index: 3}, Data: data(0x12, 0x34)},
		&p4v1.RegisterEntry{RegisterId: x.id("wide"), Index: &p4v1.Index{Index: 1}, Data: data(0xfe, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)},
		&p4v1.RegisterEntry{RegisterId: x.id("signed"), Index: &p4v1.Index{Index: 1}, Data: data(0x80, 0)})
	return entries, cells
}

// TestVictim is the controller that TestStateSurvivesAKilledController kills. It
// writes until it is killed.
func TestVictim(t *testing.T) {
	addr := os.Getenv(victimOf)
	if addr == "" {
		return
	}
	x := newBench(t, &target{addr: addr}, false)
	entries, cells := x.legacy()
	for _, e := range entries {
		x.must(insert(e))
	}
	for _, c := range cells {
		x.must(modify(c))
	}
	for n := uint64(0); ; n++ {
		x.must(insert(x.entry("t_left", x.call("mark", 1), exact(1, n))))
		if n == 10 {
			t.Log(ready)
		}
	}
}
