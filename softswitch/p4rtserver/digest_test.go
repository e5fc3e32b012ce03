// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/solo"
)

// digestBed is a digest of one number, without a program, with a controller
// that has room for one message.
type digestBed struct {
	z   *digester
	net *solo.Net
	c   *client
}

func newDigestBed(t *testing.T, cfg *p4v1.DigestEntry_Config) *digestBed {
	t.Helper()
	sw, err := softswitch.New(softswitch.Config{DeviceID: 1})
	if err != nil {
		t.Fatal(err)
	}
	net := solo.New(sw)
	s := New(sw, Options{})
	b := &boundDigest{numbers: []int{0}, info: &p4configv1.Digest{Preamble: &p4configv1.Preamble{Id: 1}},
		format: func(_ *device, v [][]uint64) *p4v1.P4Data { return bitstring(formatBytes(v[0])) }}
	z := &s.digests
	z.queues, z.byNum = map[uint32]*digestQueue{}, make([]*digestQueue, 1)
	z.configure(1, b, cfg)
	c := &client{out: make(chan *p4v1.StreamMessageResponse, 1), room: 1 << 20, log: slog.New(slog.DiscardHandler)}
	s.arb.roles[""] = &role{primary: c, clients: []*client{c}}
	return &digestBed{z, net, c}
}

// take returns the values of the next list after some time.
func (b *digestBed) take(t *testing.T) (values []byte) {
	t.Helper()
	b.net.RunUntil(b.net.Now() + 2*retry)
	select {
	case m := <-b.c.out:
		for _, d := range m.GetDigest().Data {
			values = append(values, d.GetBitstring()...)
		}
	default:
	}
	return values
}

// Lists for which the controller has no room wait and are sent in order, within
// the size limit, without duplicates.
func TestDigestsWaitForASlowController(t *testing.T) {
	b := newDigestBed(t, &p4v1.DigestEntry_Config{MaxListSize: 2, MaxTimeoutNs: 1000, AckTimeoutNs: 3600e9})
	for v := range uint64(7) {
		b.z.add(0, [][]uint64{{v + 1}})
	}
	b.z.add(0, [][]uint64{{3}}) // a duplicate
	var got [][]byte
	for range 5 {
		if list := b.take(t); list != nil {
			got = append(got, list)
		}
	}
	want := [][]byte{{1, 2}, {3, 4}, {5, 6}, {7}}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("lists %v, want %v", got, want)
	}
}

// Without a controller digests are forgotten, and reported when the data path
// has them again.
func TestDigestsWithoutAController(t *testing.T) {
	b := newDigestBed(t, &p4v1.DigestEntry_Config{MaxListSize: 1, AckTimeoutNs: 3600e9})
	r := b.z.s.arb.roles[""]
	r.primary = nil
	b.z.add(0, [][]uint64{{1}})
	r.primary = b.c
	b.z.add(0, [][]uint64{{1}})
	if got := b.take(t); !slices.Equal(got, []byte{1}) {
		t.Errorf("list %v, want 1", got)
	}
	b.z.add(0, [][]uint64{{1}}) // not acknowledged
	if got := b.take(t); got != nil {
		t.Errorf("list %v, want none", got)
	}
}

// A buffered digest does not keep the switch's event queue busy forever.
func TestDigestTimerEnds(t *testing.T) {
	b := newDigestBed(t, &p4v1.DigestEntry_Config{MaxListSize: 5, MaxTimeoutNs: 1e6})
	b.z.add(0, [][]uint64{{1}})
	b.net.Run()
	if now := b.net.Now(); now != vtime.Millisecond || len(b.c.out) != 1 {
		t.Errorf("at %v there are %d lists, want one after 1 ms", now, len(b.c.out))
	}
}

// A changed configuration holds for digests that are in the buffer, and for the
// timer that runs.
func TestDigestsOfAChangedConfiguration(t *testing.T) {
	for name, changed := range map[string]*p4v1.DigestEntry_Config{
		"a shorter timeout": {MaxListSize: 9, MaxTimeoutNs: 1000},
		"no timeout":        {MaxListSize: 9},
		"a smaller list":    {MaxListSize: 1, MaxTimeoutNs: 3600e9},
	} {
		b := newDigestBed(t, &p4v1.DigestEntry_Config{MaxListSize: 9, MaxTimeoutNs: 3600e9})
		b.net.RunUntil(vtime.Second)
		b.z.add(0, [][]uint64{{1}})
		b.z.configure(1, b.z.queues[1].b, changed)
		if got := b.take(t); !slices.Equal(got, []byte{1}) {
			t.Errorf("%s: list %v of what was in the buffer, want 1", name, got)
		}
		b.z.add(0, [][]uint64{{2}})
		if got := b.take(t); !slices.Equal(got, []byte{2}) {
			t.Errorf("%s: list %v, want 2", name, got)
		}
		b.net.Run() // the first timer
		if got := b.take(t); got != nil {
			t.Errorf("%s: list %v at the end of the earlier timeout", name, got)
		}
	}
}

// Controllers give the longest timeouts for "never". In picoseconds they exceed 64 bits.
func TestDigestTimeoutsThatNeverEnd(t *testing.T) {
	b := newDigestBed(t, &p4v1.DigestEntry_Config{MaxListSize: 2, MaxTimeoutNs: math.MaxInt64, AckTimeoutNs: math.MaxInt64})
	b.net.RunUntil(vtime.Second)
	b.z.add(0, [][]uint64{{1}})
	if got := b.take(t); got != nil {
		t.Errorf("list %v of one digest, want none before there are two", got)
	}
	b.z.add(0, [][]uint64{{2}})
	if got := b.take(t); !slices.Equal(got, []byte{1, 2}) {
		t.Errorf("list %v, want 1 and 2", got)
	}
	b.z.add(0, [][]uint64{{1}})
	b.z.add(0, [][]uint64{{2}})
	if got := b.take(t); got != nil {
		t.Errorf("list %v, which is not acknowledged, again", got)
	}
}

// Lists are acknowledged in any order, twice, late, or never: each is forgotten once, and
// what the switch keeps is in proportion to those that are not acknowledged. Before, each
// acknowledgement went through all lists, while packets waited.
func TestDigestAcknowledgements(t *testing.T) {
	const n = 3000
	b := newDigestBed(t, &p4v1.DigestEntry_Config{MaxListSize: 1, AckTimeoutNs: 3600e9})
	q := b.z.queues[1]
	for v := range uint64(n) {
		b.z.add(0, [][]uint64{{v + 1}})
		<-b.c.out
	}
	acks := rand.New(rand.NewPCG(1, 1)).Perm(n)
	for i, list := range acks {
		if list == 0 { // the first one is never acknowledged
			continue
		}
		q.ack(uint64(list) + 1)
		q.ack(uint64(list) + 1)
		q.ack(uint64(n + 1 + i))
	}
	if len(q.known) != 1 || len(q.sent) > 3 {
		t.Errorf("%d digests and %d lists are kept, want one", len(q.known), len(q.sent))
	}
	for v := range uint64(n) { // acknowledged digests are sent again, and again
		b.z.add(0, [][]uint64{{v + 2}})
		q.ack((<-b.c.out).GetDigest().ListId)
	}
	if len(q.known) != 1 || len(q.sent) > 3 {
		t.Errorf("%d digests and %d lists are kept in the end, want one", len(q.known), len(q.sent))
	}
	b.net.RunUntil(2 * 3600 * vtime.Second)
	b.z.add(0, [][]uint64{{1}})
	if got := b.take(t); !slices.Equal(got, []byte{1}) || len(q.sent) != 1 {
		t.Errorf("after the timeout: list %v, %d lists are kept", got, len(q.sent))
	}
}
