// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// Target is the address of a switch.
type Target struct {
	Name       string     // in messages; the address if empty
	Addr       string     // host:port of its P4Runtime server
	DeviceID   uint64     // of the switch at that address; BMv2's default is 0
	ElectionID ElectionID // zero means 1
	Role       string     // empty: full access
	// TLS is the client's configuration; nil means no encryption.
	TLS *tls.Config
	// Thrift is host:port of BMv2's Thrift server, which gives access to
	// registers. Empty means that there is none.
	Thrift string
}

func (t Target) withDefaults() Target {
	if t.Name == "" {
		t.Name = t.Addr
	}
	if t.ElectionID == (ElectionID{}) {
		t.ElectionID.Low = 1
	}
	return t
}

// ElectionID ranks controllers: of those connected, the one with the highest ID is
// the primary (P4Runtime specification, Client Arbitration). A standby that takes
// over raises High and keeps Low, so each controller needs a different Low.
type ElectionID struct{ High, Low uint64 }

// ParseElectionID reads "5", or "1:5" for {1, 5}.
func ParseElectionID(text string) (ElectionID, error) {
	high, low, ok := strings.Cut(text, ":")
	if !ok {
		high, low = "0", text
	}
	h, err1 := strconv.ParseUint(high, 0, 64)
	l, err2 := strconv.ParseUint(low, 0, 64)
	if err := cmp.Or(err1, err2); err != nil || h == 0 && l == 0 {
		return ElectionID{}, fmt.Errorf("election id %q is neither a number above 0 nor two numbers as in 1:5", text)
	}
	return ElectionID{h, l}, nil
}

func (id ElectionID) String() string {
	if id.High == 0 {
		return strconv.FormatUint(id.Low, 10)
	}
	return fmt.Sprintf("%d:%d", id.High, id.Low)
}

// Compare orders election IDs.
func (id ElectionID) Compare(o ElectionID) int {
	return cmp.Or(cmp.Compare(id.High, o.High), cmp.Compare(id.Low, o.Low))
}

// highestID is the highest election ID.
var highestID = ElectionID{math.MaxUint64, math.MaxUint64}

// next returns the ID that follows, or highestID if none does.
func (id ElectionID) next() ElectionID {
	if id == highestID {
		return id
	}
	if id.Low++; id.Low == 0 {
		id.High++
	}
	return id
}

// above returns the lowest ID above o with id's Low, which no other controller
// chooses, or the one that follows o if there is none.
func (id ElectionID) above(o ElectionID) ElectionID {
	switch {
	case id.Low > o.Low:
		return ElectionID{o.High, id.Low}
	case o.High == math.MaxUint64:
		return o.next()
	}
	return ElectionID{o.High + 1, id.Low}
}

func (id ElectionID) proto() *p4v1.Uint128 { return &p4v1.Uint128{High: id.High, Low: id.Low} }

func electionID(u *p4v1.Uint128) ElectionID { return ElectionID{u.GetHigh(), u.GetLow()} }

// Policy is the behaviour of a session in an election.
type Policy uint8

// Policies.
const (
	// MustWin takes part with the target's election ID; not being primary is
	// an error of Connect.
	MustWin Policy = iota
	// AdoptOrphans is MustWin, except that it raises the ID until it is accepted if
	// there is no primary: the switch may have seen higher IDs before.
	AdoptOrphans
	// TakeOver raises the ID until it is the primary. After that it is MustWin:
	// another controller can take over.
	TakeOver
	// Standby accepts being a backup, and takes over when there is no primary.
	Standby
	// Observe takes part without an election ID: it is notified of the primary
	// and never becomes one. BMv2 treats it as the lowest ID, so there it is the
	// primary while no other controller is connected.
	Observe
)

// Options are the same for all sessions of a program. The zero value is
// ready to use.
type Options struct {
	// Event is called for every change that concerns an operator. It is
	// called from the sessions' goroutines, several at once if there are
	// several sessions, and must not wait for its session.
	// Nil means that events go to slog's default logger.
	Event func(Event)
	// Policy is the behaviour if another controller is the primary.
	Policy Policy
	// ReadOnly sessions have no stream and take no part in elections: they
	// read, but cannot write or see packets and digests.
	ReadOnly bool
	// Timeout is the limit of a single call, and of the first connection.
	// Zero means 10 s.
	Timeout time.Duration
	// Probe is the interval between probes of a connected switch. A switch that
	// does not answer three probes counts as lost. Zero means 1 s, below zero
	// means no probes.
	Probe time.Duration
	// MinBackoff and MaxBackoff bound the pause between attempts to connect
	// again, which doubles from one to the other. Zero means 50 ms and 2 s.
	MinBackoff, MaxBackoff time.Duration
	// Dial connects to an address; nil means TCP.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Batch is the maximum number of updates in a single write. Zero means 1000.
	Batch int
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&o.Timeout, 10*time.Second)
	def(&o.Probe, time.Second)
	def(&o.MinBackoff, 50*time.Millisecond)
	def(&o.MaxBackoff, 2*time.Second)
	if o.Batch == 0 {
		o.Batch = 1000
	}
	if o.Event == nil {
		o.Event = func(e Event) { slog.Warn(e.Text, "switch", e.Switch, "event", e.Kind.String()) }
	}
	return o
}
