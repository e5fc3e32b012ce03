// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"math/bits"

	"github.com/pauseless/pauseless/internal/vtime"
)

// Colours of a meter.
const (
	Green  = 0
	Yellow = 1
	Red    = 2
)

// MeterRates configures a meter, in packets or bytes per second. A burst is the
// depth of a bucket. The meter is a two-rate three-colour marker (RFC 2698) or,
// with Single, a single-rate one (RFC 2697): tokens beyond the committed bucket's
// depth go to the excess bucket.
type MeterRates struct {
	CIR, CBurst int64
	PIR, PBurst int64
	Single      bool
	EBurst      int64
}

// Colors counts the packets and bytes of each colour.
type Colors [3]Counter

// Meter is one meter. Without a configuration every packet keeps its colour.
type Meter struct {
	Configured bool
	Rates      MeterRates
	Colors     Colors
	// peak is the excess bucket of a single rate.
	committed, peak bucket
	last            vtime.Time
}

// bucket has whole tokens and a remainder, in picoseconds times tokens per
// second.
type bucket struct{ tokens, rest uint64 }

// Configure sets the rates and fills the buckets. It keeps the counts of
// colours.
func (m *Meter) Configure(r MeterRates, now vtime.Time) {
	*m = Meter{Configured: true, Rates: r, last: now, Colors: m.Colors}
	m.committed.tokens, m.peak.tokens = uint64(r.CBurst), uint64(r.PBurst)
	if r.Single {
		m.peak.tokens = uint64(r.EBurst)
	}
}

// Reset returns the meter to its state without configuration.
func (m *Meter) Reset() { *m = Meter{} }

// Execute takes n tokens at time now for a packet of the given bytes, and
// returns its colour. before is the colour that the packet has, which is green for
// a colour-blind meter.
func (m *Meter) Execute(n, bytes, before uint64, now vtime.Time) uint64 {
	c := m.colour(n, before, now)
	m.Colors[c].Packets++
	m.Colors[c].Bytes += bytes
	return c
}

func (m *Meter) colour(n, before uint64, now vtime.Time) uint64 {
	if !m.Configured {
		return before
	}
	passed := uint64(now - m.last)
	m.last = now
	over := m.committed.fill(passed, uint64(m.Rates.CIR), uint64(m.Rates.CBurst))
	if m.Rates.Single {
		m.peak.tokens = min(m.peak.tokens+min(over, uint64(m.Rates.EBurst)), uint64(m.Rates.EBurst))
		switch {
		case before == Green && m.committed.tokens >= n:
			m.committed.tokens -= n
			return Green
		case before != Red && m.peak.tokens >= n:
			m.peak.tokens -= n
			return Yellow
		}
		return Red
	}
	m.peak.fill(passed, uint64(m.Rates.PIR), uint64(m.Rates.PBurst))
	switch {
	case before == Red || m.peak.tokens < n:
		return Red
	case before == Yellow || m.committed.tokens < n:
		m.peak.tokens -= n
		return Yellow
	}
	m.peak.tokens -= n
	m.committed.tokens -= n
	return Green
}

// fill adds the tokens of passed picoseconds at rate tokens per second, up to
// burst, and returns the number beyond burst. It keeps the fraction of a token
// for the next call.
func (b *bucket) fill(passed, rate, burst uint64) (over uint64) {
	hi, lo := bits.Mul64(passed, rate)
	lo, carry := bits.Add64(lo, b.rest, 0)
	hi += carry
	if hi >= uint64(vtime.Second) {
		b.tokens, b.rest = burst, 0
		return 1 << 62
	}
	more, rest := bits.Div64(hi, lo, uint64(vtime.Second))
	b.rest = rest
	if room := burst - min(b.tokens, burst); more > room {
		b.tokens = burst
		return more - room
	}
	b.tokens += more
	return 0
}
