// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"cmp"
	"encoding/binary"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/internal/vtime"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// digester collects digests of the data path in lists for the controller (9.8):
// buffered for max_timeout_ns or up to max_list_size, without duplicates, and
// not again before they are acknowledged or ack_timeout_ns is over. It runs
// under the switch's lock, in the switch's time.
type digester struct {
	s      *Server
	d      *device
	queues map[uint32]*digestQueue
	byNum  []*digestQueue // by index in the program
	lists  uint64         // identifies lists
	// dropped counts digests beyond maxOutstanding or the memory limit.
	dropped uint64
}

// maxOutstanding limits the digests in memory, per digest.
const maxOutstanding = 1 << 16

// digestQueue is the buffer of one digest.
type digestQueue struct {
	b       *boundDigest
	z       *digester
	config  *p4v1.DigestEntry_Config
	buffer  []*p4v1.P4Data
	first   vtime.Time        // arrival of the first in buffer
	known   map[string]uint64 // id of the list with a digest; 0: in buffer
	pending []string          // keys of buffer
	sent    []sentList        // by id, oldest first; acked of them are acknowledged
	acked   int
	next    vtime.Time // time of the next event; 0: none is scheduled
	// stuck is true if the controller had no room for the last list. The buffer
	// waits for retry, and may grow.
	stuck bool
}

// retry is the delay before a rejected list is retransmitted.
const retry = 10 * vtime.Millisecond

type sentList struct {
	id   uint64
	at   vtime.Time
	keys []string // nil once it is acknowledged
}

// reset starts with a new device.
func (z *digester) reset(d *device) {
	for _, q := range z.queues {
		q.forgetAll()
	}
	z.d, z.queues = d, map[uint32]*digestQueue{}
	z.byNum = make([]*digestQueue, len(d.prog.Digests))
	for id, b := range d.pipeline.digests {
		if c := d.digests[id]; c != nil {
			z.configure(id, b, c)
		}
	}
}

// configure sets the configuration of a digest; nil disables it.
func (z *digester) configure(id uint32, b *boundDigest, c *p4v1.DigestEntry_Config) {
	if c == nil {
		if q := z.queues[id]; q != nil {
			q.forgetAll()
		}
		delete(z.queues, id)
		for _, n := range b.numbers {
			z.byNum[n] = nil
		}
		return
	}
	q := z.queues[id]
	if q == nil {
		q = &digestQueue{b: b, z: z, known: map[string]uint64{}}
		z.queues[id] = q
		for _, n := range b.numbers {
			z.byNum[n] = q
		}
	}
	q.config = c
	q.arm() // what is in the buffer may be due earlier
}

// add takes a digest from the data path.
func (z *digester) add(number int, values [][]uint64) {
	if number >= len(z.byNum) || z.byNum[number] == nil {
		return
	}
	q := z.byNum[number]
	var key []byte
	for _, v := range values {
		for _, x := range v {
			key = binary.LittleEndian.AppendUint64(key, x)
		}
	}
	now := z.s.sw.Now()
	q.expire(now)
	if _, dup := q.known[string(key)]; dup {
		return
	}
	if len(q.known) >= maxOutstanding || z.s.budget.digests.take(digestCost(len(key)), 1) != nil {
		z.dropped++
		return
	}
	q.known[string(key)] = 0
	q.pending = append(q.pending, string(key))
	if len(q.buffer) == 0 {
		q.first = now
	}
	q.buffer = append(q.buffer, q.b.format(z.d, values))
	if !q.stuck && (q.config.MaxTimeoutNs <= 0 || q.full()) {
		q.flush(now)
		return
	}
	q.arm()
}

// concerns reports whether a role's scope has these digests.
func (q *digestQueue) concerns(sc *scope) bool {
	return sc.has(q.z.d.pipeline.called(q.b.info.GetPreamble().GetId())...)
}

// full reports whether the buffer has a full list.
func (q *digestQueue) full() bool {
	return q.config.MaxListSize > 0 && len(q.buffer) >= int(q.config.MaxListSize)
}

// due returns the time at which the buffer is sent, not before now.
func (q *digestQueue) due() vtime.Time {
	now := q.z.s.sw.Now()
	switch {
	case q.stuck:
		return now + retry
	case q.full():
		return now
	}
	return max(now, q.first+span(q.config.MaxTimeoutNs))
}

// arm schedules an event for when the oldest digest in the buffer is due, unless
// one is scheduled that is not later.
func (q *digestQueue) arm() {
	if len(q.buffer) == 0 {
		return
	}
	if due := q.due(); q.next == 0 || due < q.next {
		q.next = due
		q.z.s.sw.At(due, q, uint64(due))
	}
}

// Fire is the event at the end of max_timeout_ns. arg is the scheduled time.
func (q *digestQueue) Fire(now vtime.Time, arg uint64) {
	if vtime.Time(arg) != q.next {
		return // an earlier event has replaced it
	}
	q.next = 0
	if q.z.queues[q.b.info.Preamble.Id] != q || len(q.buffer) == 0 {
		return
	}
	if !q.stuck && now < q.due() {
		q.arm() // the buffer of this event was sent
		return
	}
	q.stuck = false
	for ok := true; ok && len(q.buffer) > 0; ok = q.full() && !q.stuck {
		q.flush(now)
	}
	q.arm()
}

// flush sends the buffer up to the size of a list. A list for which the
// controller has no room is kept and retried. Without a controller its digests
// are forgotten, and reported when they occur again.
func (q *digestQueue) flush(now vtime.Time) {
	n := len(q.buffer)
	if most := int(q.config.MaxListSize); most > 0 {
		n = min(n, most)
	}
	id := q.z.lists + 1
	list := &p4v1.DigestList{DigestId: q.b.info.Preamble.Id, ListId: id, Data: q.buffer[:n:n], Timestamp: int64(now / vtime.Nanosecond)}
	switch q.z.s.notify(&p4v1.StreamMessageResponse{Update: &p4v1.StreamMessageResponse_Digest{Digest: list}}, q.concerns) {
	case noRoom:
		q.stuck = true
		q.arm()
		return
	case sent:
		q.z.lists = id
		if q.config.AckTimeoutNs > 0 {
			for _, k := range q.pending[:n] {
				q.known[k] = id
			}
			q.sent = append(q.sent, sentList{id, now, q.pending[:n:n]})
			break
		}
		fallthrough
	case noPrimary:
		for _, k := range q.pending[:n] {
			q.drop(k)
		}
	}
	q.buffer, q.pending, q.first = q.buffer[n:], q.pending[n:], now
	if len(q.buffer) == 0 {
		q.buffer, q.pending = nil, nil
	}
}

// expire forgets lists that were sent ack_timeout_ns ago.
func (q *digestQueue) expire(now vtime.Time) {
	timeout := span(q.config.AckTimeoutNs)
	for len(q.sent) > 0 && (q.sent[0].keys == nil || now-q.sent[0].at >= timeout) {
		if q.sent[0].keys == nil {
			q.acked--
		}
		for _, k := range q.sent[0].keys {
			q.drop(k)
		}
		q.sent = q.sent[1:]
	}
}

// ack forgets a list that is acknowledged, in a time that does not depend on how many
// are not: packets wait meanwhile.
func (q *digestQueue) ack(list uint64) {
	i, ok := slices.BinarySearchFunc(q.sent, list, func(l sentList, id uint64) int { return cmp.Compare(l.id, id) })
	if !ok || q.sent[i].keys == nil {
		return
	}
	for _, k := range q.sent[i].keys {
		q.drop(k)
	}
	q.sent[i].keys = nil
	if q.acked++; 2*q.acked > len(q.sent) {
		q.sent = slices.DeleteFunc(q.sent, func(l sentList) bool { return l.keys == nil })
		q.acked = 0
	}
}

// digestCost is the memory in bytes of a digest with a key of this size.
func digestCost(key int) int64 { return 512 + 4*int64(key) }

// drop forgets a digest.
func (q *digestQueue) drop(key string) {
	delete(q.known, key)
	q.z.s.budget.digests.give(digestCost(len(key)))
}

// forgetAll forgets all digests of the queue.
func (q *digestQueue) forgetAll() {
	for k := range q.known {
		q.drop(k)
	}
}

// digestAck handles a controller's acknowledgement.
func (s *Server) digestAck(c *client, a *p4v1.DigestListAck) error {
	defer s.sw.Hold()()
	if s.digests.d == nil || s.digests.d.pipeline.digests[a.DigestId] == nil {
		return status.Errorf(codes.InvalidArgument, "unknown digest id %d", a.DigestId)
	}
	names := s.digests.d.pipeline.called(a.DigestId)
	if err := s.arb.mayAck(c, func(sc *scope) bool { return sc.has(names...) }); err != nil {
		return err
	}
	if q := s.digests.queues[a.DigestId]; q != nil {
		q.ack(a.ListId)
	}
	return nil
}

func (d *device) decodeDigest(typ p4v1.Update_Type, e *p4v1.DigestEntry) (op, error) {
	b, err := lookup(d.pipeline.digests, e.GetDigestId(), "digest")
	if err != nil {
		return nil, err
	}
	c := e.Config
	if typ == p4v1.Update_DELETE {
		c = nil
	} else {
		if c == nil {
			c = &p4v1.DigestEntry_Config{}
		}
		if c.MaxTimeoutNs < 0 || c.MaxListSize < 0 || c.AckTimeoutNs < 0 {
			return nil, status.Errorf(codes.InvalidArgument, "digest %s: a timeout or size is negative", b.name)
		}
		c = &p4v1.DigestEntry_Config{MaxTimeoutNs: c.MaxTimeoutNs, MaxListSize: c.MaxListSize, AckTimeoutNs: c.AckTimeoutNs}
	}
	return update{1, func(d *device) error {
		old := d.digests[e.DigestId]
		if err := exists(typ, old != nil, "configuration of digest", e.DigestId); err != nil {
			return err
		}
		d.setDigest(e.DigestId, b, c)
		d.onRevert(func() { d.setDigest(e.DigestId, b, old) })
		return nil
	}}, nil
}

func (d *device) setDigest(id uint32, b *boundDigest, c *p4v1.DigestEntry_Config) {
	touchKey(d, &d.digests, id, sameDigest)
	if c == nil {
		delete(d.digests, id)
	} else {
		d.digests[id] = c
	}
	if d.live {
		d.s.digests.configure(id, b, c)
	}
}

func (r *reading) readDigests(q *p4v1.DigestEntry) error {
	return eachArray(r.d.pipeline.digests, q.DigestId, "digest", func(b *boundDigest) error {
		found := false
		err := readMap(r, &r.d.digests, b.info.Preamble.Id, sameDigest, func(id uint32, c *p4v1.DigestEntry_Config) error {
			found = true
			return r.emit(&p4v1.Entity{Entity: &p4v1.Entity_DigestEntry{DigestEntry: &p4v1.DigestEntry{DigestId: id, Config: c}}})
		})
		if err == nil && !found && q.DigestId != 0 {
			return status.Errorf(codes.NotFound, "digest %s is not configured", b.name)
		}
		return err
	})
}
