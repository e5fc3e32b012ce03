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

// DefaultMemory is the default of Options.Memory, in bytes.
const DefaultMemory = 4_000_000_000

// callPlaces is the number of long calls that run concurrently, including
// decoding: one processor is left for the data path.
var callPlaces = max(1, min(runtime.NumCPU()-1, 4))

// Every size that a peer controls is limited. docs/reference/limits.md has this table.
const (
	maxRoleName   = 256     // bytes
	maxName       = 1 << 12 // bytes of a string of a translated type
	maxRoleConfig = 1 << 16 // bytes
	maxRoles      = 64      // roles in memory
	maxClients    = 1024    // streams in all roles, and in none
	maxDetails    = 1 << 16 // elements of a batch whose errors are reported one by one
	maxTexts      = 1 << 20 // bytes of text in these errors
	maxErrorText  = 1 << 10 // bytes of one error, to the log or to a peer
	maxEcho       = 1 << 16 // bytes of a message that an error on the stream repeats
)

// budget has the memory limits of a server's parts: shares of Options.Memory. A
// quarter each is for arriving messages, for decoded messages, and for the
// state of the switch; a sixteenth each for unread answers, streams, digests,
// and packets (the switch's own Buffer).
type budget struct {
	message int64 // one message as it arrives: up to slots of them at once
	decoded share
	state   share
	answers share
	digests share
	stream  int64 // messages waiting for one stream
	conns   int64
}

// slots is the number of possibly large messages that arrive concurrently.
// reserved of them are only for primaries.
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

// take takes n bytes, or none and returns RESOURCE_EXHAUSTED. It uses at most
// 1/part of the limit.
func (s *share) take(n, part int64) error {
	if used := s.used.Add(n); n > 0 && used > s.limit/part {
		s.used.Add(-n)
		return status.Errorf(codes.ResourceExhausted, "the switch has %v for %s, and %v more are too much: see --memory",
			vtime.Size(s.limit/part)*vtime.Byte, s.what, vtime.Size(n)*vtime.Byte)
	}
	return nil
}

func (s *share) give(n int64) { s.used.Add(-n) }

// Approximate memory of the state: structures, indices and the garbage
// collector's overhead. Measured with 10^6 entries.
// TestChargeCoversHeapGrowth measures entries of tables.
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

// StateBytes returns the memory in bytes that is charged for entries, groups and other
// state: of a quarter of Options.Memory.
func (s *Server) StateBytes() int64 { return s.budget.state.used.Load() }

// grow charges a device for new state. A negative n releases memory.
func (d *device) grow(n int64) error {
	if err := d.s.budget.state.take(n, 1); err != nil {
		return err
	}
	d.charged += n
	return nil
}

// shrink releases memory, or charges memory that it released before.
func (d *device) shrink(n int64) {
	d.s.budget.state.give(n)
	d.charged -= n
}

// drop releases all memory of a device.
func (d *device) drop() {
	if d != nil {
		d.shrink(d.charged)
	}
}

// entryCost is the memory of an entry in bytes.
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

// nameCost is the memory of a translated type's string in bytes.
func nameCost(name string) int64 { return nameBytes + 2*int64(len(name)) }

// setCost is the memory of a one-shot action set in bytes: the message and the
// group made from it.
func setCost(set *p4v1.ActionProfileActionSet) int64 {
	return groupBytes + 4*int64(proto.Size(set)) + int64(len(set.GetActionProfileActions()))*2*memberBytes
}

// costOf is the memory of an existing table entry in bytes.
func costOf(t *interp.Table, e *interp.Entry) int64 {
	m := t.Match(e)
	return entryCost(len(m.Value)+len(m.Mask)+len(t.Args(e)), metaOf(e))
}

// brief shortens a text that may contain a peer's data.
func brief(text string) string {
	if len(text) <= maxErrorText {
		return text
	}
	return text[:maxErrorText] + "…"
}

// limited is a listener with a limit of connections: it closes further ones
// immediately.
type limited struct {
	net.Listener
	most int64
	now  atomic.Int64
}

// Limit limits the connections to a server in accordance with its memory.
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

// counted is a connection that counts until it is closed.
type counted struct {
	net.Conn
	gone func()
}

func (c *counted) Close() error {
	c.gone()
	return c.Conn.Close()
}
