// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"math"

	"github.com/pauseless/pauseless/internal/vtime"
)

// Length returns the unit as a span of time.
func (u TimeUnit) Length() vtime.Time {
	if u == Nanoseconds {
		return vtime.Nanosecond
	}
	return vtime.Microsecond
}

// Name returns the unit's name in a sentence.
func (u TimeUnit) Name() string {
	if u == Nanoseconds {
		return "nanoseconds"
	}
	return "microseconds"
}

// Name returns the unit's name in a sentence.
func (u DepthUnit) Name() string {
	if u == Cells80 {
		return fmt.Sprintf("cells of %d bytes", CellBytes)
	}
	return string(u)
}

// Span converts a span of ns nanoseconds to the target's unit. A positive span is
// never rounded to zero.
func (u Units) Span(ns float64) uint64 {
	return atLeastOne(ns * float64(vtime.Nanosecond) / float64(u.Time.Length()))
}

// MaxSpan is the longest time that programs can use, in units of the target. Their
// clocks have 32 bits, they add two such times, and compare by the sign of a
// difference.
const MaxSpan = 1<<30 - 1

// Queue converts bytes to the target's unit of queue depth. If the unit is
// packets, each counts as mtu bytes.
func (u Units) Queue(bytes float64, mtu vtime.Size) uint64 {
	switch u.Depth {
	case Packets:
		bytes /= float64(mtu)
	case Cells80:
		bytes /= CellBytes
	}
	return atLeastOne(bytes)
}

func atLeastOne(x float64) uint64 {
	if x > 0 && x < 1 {
		return 1
	}
	return uint64(math.Round(x))
}

// byteTime returns the transmission time of n bytes in 1/1024 of the target's
// unit of time.
func (u Units) byteTime(n int, r vtime.Rate) uint64 {
	return atLeastOne(1024 * 8 * float64(n) * float64(vtime.Second) / float64(r) / float64(u.Time.Length()))
}

// byteRate returns the bytes that are sent in 1024 of the target's units of time.
func (u Units) byteRate(r float64) uint64 {
	return atLeastOne(r / 8 * float64(u.Time.Length()) / float64(vtime.Second) * 1024)
}

// LoadShift is the time constant of the estimator of a link's load as a power
// of two of the target's units, in a network that is slower by scale, rounded.
// LoadTime is that time without a scale, 131 or 128 µs.
func (u Units) LoadShift(scale int64) int {
	slower := int(math.Round(math.Log2(float64(max(1, scale)))))
	if u.Time == Nanoseconds {
		return 17 + slower
	}
	return 7 + slower
}

// SlotFraction is the number of fractional bits in the product of a time and the
// number of slots per unit, so that the product of 40 and 24 bits fits into 64.
func (u Units) SlotFraction() int {
	if u.Time == Nanoseconds {
		return 32
	}
	return 24
}

// LoadTime is the time constant of the estimator of a link's load.
func (u Units) LoadTime() vtime.Time { return u.Time.Length() << u.LoadShift(1) }

// FeedbackSession is the mirror session through which egress of TNA programs
// reports queue lengths to ingress: it leads to the recirculation port of each
// pipeline.
const FeedbackSession = 1000

// FeedbackInterval is the shortest time between two reports of a queue through that
// session, in ns. It is just above 1 µs: the recirculation port accepts about 150
// million packets a second, and two pipelines of 32 ports send at most 64 million.
const FeedbackInterval = 1000
