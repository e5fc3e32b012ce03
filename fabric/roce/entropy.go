// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Spraying is how a sender of transport uec chooses the entropy of a packet, its UDP
// source port, from which switches hash its path.
type Spraying string

// Kinds of spraying. Oblivious, Bitmap and Mixed are those of the public simulator of
// Ultra Ethernet (ultraethernet/uet-htsim, uec_mp.cpp).
const (
	// Oblivious takes all entropies in turn, in an order that changes in each round.
	Oblivious Spraying = "oblivious"
	// Bitmap leaves out, for some rounds, those of packets that were marked or trimmed.
	Bitmap Spraying = "bitmap"
	// REPS takes the entropies of packets that arrived without a mark again, and others
	// at random (Bonato et al., REPS, EuroSys 2026). After a timeout it only uses such
	// ones for 10 ms.
	REPS Spraying = "reps"
	// Mixed is REPS without a limit of what it remembers, and Bitmap where nothing is
	// remembered.
	Mixed Spraying = "mixed"
)

var sprayings = []Spraying{Oblivious, Bitmap, REPS, Mixed}

func (s Spraying) check() error {
	if slices.Contains(sprayings, s) {
		return nil
	}
	var names []string
	for _, k := range sprayings {
		names = append(names, string(k))
	}
	return fmt.Errorf("spraying is %q%s, must be one of %s", s, diag.DidYouMean(string(s), names), strings.Join(names, ", "))
}

// verdict is what the answer to a packet says about its path.
type verdict uint8

const (
	pathGood verdict = iota
	pathMarked
	pathTrimmed
	pathTimedOut
)

// penalties are the rounds for which Bitmap leaves an entropy out.
var penalties = [...]uint8{pathGood: 0, pathMarked: 1, pathTrimmed: 4, pathTimedOut: mostPenalty}

const mostPenalty = 15

// Sizes and times of REPS (section 3.4 of the paper, and the public simulator).
const (
	repsBuffer  = 8 // entropies
	repsFrozen  = 10 * vtime.Millisecond
	repsExplore = 16 // packets
)

// entropies chooses the entropies of a flow.
type entropies struct {
	kind Spraying
	mask uint16 // of the bits that change
	rng  uint64

	index, xor uint16
	skip       []uint8 // rounds, of Bitmap and Mixed

	recycled []uint16 // of Mixed: a queue
	taken    int      // of these

	// The buffer of REPS: the place of the next one, the number of those stored and of
	// those that were not taken yet.
	buffer             [repsBuffer]uint16
	fresh              [repsBuffer]bool
	head, count, valid int
	frozen             bool
	frozenAt           int // the next one to take while frozen
	thaw               vtime.Time
	explore            int
}

// newEntropies returns the choice among so many entropies, a power of two.
func newEntropies(kind Spraying, paths int, seed uint64) *entropies {
	e := &entropies{kind: kind, mask: uint16(paths - 1), rng: seed*0x9e3779b97f4a7c15 + 1}
	if kind == Bitmap || kind == Mixed {
		e.skip = make([]uint8, paths)
	}
	e.xor = e.random()
	return e
}

// random returns a random entropy (splitmix64).
func (e *entropies) random() uint16 {
	e.rng += 0x9e3779b97f4a7c15
	z := e.rng
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return uint16(z>>32) & e.mask
}

// next returns the entropy of the next packet.
func (e *entropies) next() uint16 {
	if e.mask == 0 {
		return 0
	}
	switch e.kind {
	case REPS:
		return e.reps()
	case Mixed:
		if e.taken < len(e.recycled) {
			v := e.recycled[e.taken]
			if e.taken++; e.taken == len(e.recycled) {
				e.recycled, e.taken = e.recycled[:0], 0
			} else if e.taken >= 64 && e.taken > len(e.recycled)/2 {
				e.recycled, e.taken = e.recycled[:copy(e.recycled, e.recycled[e.taken:])], 0
			}
			return v
		}
	}
	v := e.turn()
	if e.skip == nil || e.skip[v] == 0 {
		return v
	}
	// Of a row of entropies to be left out, the first one serves a round of its penalty.
	e.skip[v]--
	for range int(e.mask) + 1 {
		if v = e.turn(); e.skip[v] == 0 {
			break
		}
	}
	return v
}

// turn returns the next entropy in turn. Each round has an order of its own.
func (e *entropies) turn() uint16 {
	v := (e.index ^ e.xor) & e.mask
	if e.index++; e.index > e.mask {
		e.index, e.xor = 0, e.random()
	}
	return v
}

// reps returns the next entropy of REPS.
func (e *entropies) reps() uint16 {
	switch {
	case e.explore > 0:
		e.explore--
		return e.random()
	case e.frozen && e.count > 0:
		v := e.buffer[e.frozenAt]
		e.take(e.frozenAt)
		e.frozenAt = (e.frozenAt + 1) % e.count
		return v
	case e.frozen || e.valid == 0:
		return e.random()
	}
	i := (e.head - e.valid + repsBuffer) % repsBuffer
	e.take(i)
	return e.buffer[i]
}

func (e *entropies) take(i int) {
	if e.fresh[i] {
		e.fresh[i] = false
		e.valid--
	}
}

// heard learns from the answer to a packet.
func (e *entropies) heard(now vtime.Time, v uint16, what verdict) {
	v &= e.mask
	if e.skip != nil {
		e.skip[v] = min(e.skip[v]+penalties[what], mostPenalty)
	}
	switch {
	case e.kind == Mixed && what == pathGood && e.mask > 0:
		e.recycled = append(e.recycled, v)
	case e.kind == REPS:
		if what == pathTimedOut && !e.frozen && e.explore == 0 {
			e.frozen, e.thaw = true, now+repsFrozen
		}
		if e.frozen && now > e.thaw {
			e.frozen, e.head, e.count, e.valid, e.frozenAt = false, 0, 0, 0, 0
			e.fresh = [repsBuffer]bool{}
			e.explore = repsExplore
		}
		if what == pathGood {
			if !e.fresh[e.head] {
				e.fresh[e.head] = true
				e.valid++
			}
			e.buffer[e.head] = v
			e.head = (e.head + 1) % repsBuffer
			e.count = min(e.count+1, repsBuffer)
		}
	}
}
