// SPDX-License-Identifier: Apache-2.0

package p4rtserver

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch/interp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// DefaultMemory is Options.Memory if that is zero.
const DefaultMemory = 4_000_000_000

// callPlaces is how many calls that take long are worked on at once, decoding their
// messages included: one processor stays for the data path.
var callPlaces = max(1, min(runtime.NumCPU()-1, 4))

// Every size that a peer decides has a bound. docs/security.md has this table.
const (
	maxRoleName   = 256     // bytes
	maxName       = 1 << 12 // bytes of a string of a translated type
	maxRoleConfig = 1 << 16 // bytes
	maxRoles      = 64      // roles that are remembered
	maxClients    = 1024    // streams in all roles, and in none
	maxDetails    = 1 << 16 // elements of a batch whose errors are reported one by one
	maxTexts      = 1 << 20 // bytes of text in these errors
	maxErrorText  = 1 << 10 // bytes of one error, to the log or to a peer
	maxEcho       = 1 << 16 // bytes of a message that an error on the stream repeats
)

// budget is what the parts of a server may keep in memory: shares of
// Options.Memory. A quarter each goes to messages as they arrive, to messages
// as they are decoded, and to the state of the switch; a sixteenth each to
// answers that are not read, streams, digests, and packets (which is the
// switch's own Buffer).
type budget struct {
	message int64 // one message, as it arrives: up to slots of them at once
	decoded share
	state   share
	answers share
	digests share
	stream  int64 // messages waiting for one stream
	conns   int64
}

// slots is how many messages that may be large arrive at once; reserved are
// those that only controllers which are primary get.
const (
	slots    = 16
	reserved = 8
)

func newBudget(memory int64) *budget {
	b := &budget{message: min(max(memory/56, 4<<20), 64<<20), stream: max(memory/16/maxRoles, 1<<17), conns: min(max(memory>>18, 256), 4096)}
	b.decoded.set("messages being read", memory/4)
	b.state.set("table entries, groups and other state", memory/4)
	b.answers.set("answers that are not read", memory/16)
	b.digests.set("digests", memory/16)
	return b
}

// share is memory for one purpose.
type share struct {
	what  string
	limit int64
	used  atomic.Int64
}

func (s *share) set(what string, limit int64) { s.what, s.limit = what, limit }

// take takes n bytes, or none and RESOURCE_EXHAUSTED. Part says how much of
// the whole may be taken then: all is 1, half is 2.
func (s *share) take(n, part int64) error {
	if used := s.used.Add(n); n > 0 && used > s.limit/part {
		s.used.Add(-n)
		return status.Errorf(codes.ResourceExhausted, "the switch has %v for %s, and %v more are too much: see --memory",
			vtime.Size(s.limit/part)*vtime.Byte, s.what, vtime.Size(n)*vtime.Byte)
	}
	return nil
}

func (s *share) give(n int64) { s.used.Add(-n) }

// What state takes in memory, about: structures, indices and what the garbage
// collector leaves lying about. Measured with 10^6 entries;
// TestStateTakesWhatItIsChargedFor measures entries of tables.
const (
	entryBytes   = 288
	extendBytes  = 384
	limbBytes    = 24
	memberBytes  = 256
	groupBytes   = 384
	replicaBytes = 96
	nameBytes    = 160
	valueBytes   = 96
)

// grow charges a device for state that it gets; negative gives it back.
func (d *device) grow(n int64) error {
	if err := d.s.budget.state.take(n, 1); err != nil {
		return err
	}
	d.charged += n
	return nil
}

// shrink gives back, or takes again what was there before.
func (d *device) shrink(n int64) {
	d.s.budget.state.give(n)
	d.charged -= n
}

// drop gives back all that a device has.
func (d *device) drop() {
	if d != nil {
		d.shrink(d.charged)
	}
}

// entryCost is what an entry takes.
func entryCost(limbs int, meta *entryMeta) int64 {
	n := int64(entryBytes + limbBytes*limbs)
	if meta != nil && (meta.cookie != 0 || meta.idle != 0 || len(meta.metadata) > 0 || meta.memberID != 0 || meta.groupID != 0 || meta.actionSet != nil) {
		n += extendBytes + int64(len(meta.metadata))
	}
	if meta != nil && meta.actionSet != nil {
		n += meta.setBytes
	}
	return n
}

// nameCost is what a string of a translated type takes.
func nameCost(name string) int64 { return nameBytes + 2*int64(len(name)) }

// setCost is what a one-shot set of actions takes: as it was written, and as
// the group that it stands for.
func setCost(set *p4v1.ActionProfileActionSet) int64 {
	return groupBytes + 4*int64(proto.Size(set)) + int64(len(set.GetActionProfileActions()))*2*memberBytes
}

// costOf is what an entry of a table takes.
func costOf(t *interp.Table, e *interp.Entry) int64 {
	m := t.Match(e)
	return entryCost(len(m.Value)+len(m.Mask)+len(t.Args(e)), metaOf(e))
}

// brief shortens a text that may have what a peer has sent in it.
func brief(text string) string {
	if len(text) <= maxErrorText {
		return text
	}
	return text[:maxErrorText] + "…"
}

// limited is a listener with a bound of connections: more are closed at once.
type limited struct {
	net.Listener
	most int64
	now  atomic.Int64
}

// Limit bounds the connections to a server by its memory.
func (s *Server) Limit(l net.Listener) net.Listener {
	return &limited{Listener: l, most: s.budget.conns}
}

func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.now.Add(1) <= l.most {
			return &counted{Conn: c, gone: sync.OnceFunc(func() { l.now.Add(-1) })}, nil
		}
		l.now.Add(-1)
		c.Close()
	}
}

// counted is a connection that is counted until it is closed.
type counted struct {
	net.Conn
	gone func()
}

func (c *counted) Close() error {
	c.gone()
	return c.Conn.Close()
}
