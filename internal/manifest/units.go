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

// Span converts a span of ns nanoseconds to the target's unit. What is above
// zero stays so.
func (u Units) Span(ns float64) uint64 {
	return atLeastOne(ns * float64(vtime.Nanosecond) / float64(u.Time.Length()))
}

// Queue converts bytes to the target's unit of queue depth; n packets are
// taken to have mtu bytes each.
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

// byteTime is how many of the target's time units n bytes take, in 1/1024.
func (u Units) byteTime(n int, r vtime.Rate) uint64 {
	return atLeastOne(1024 * 8 * float64(n) * float64(vtime.Second) / float64(r) / float64(u.Time.Length()))
}

// byteRate is how many bytes pass in 1024 of the target's time units.
func (u Units) byteRate(r float64) uint64 {
	return atLeastOne(r / 8 * float64(u.Time.Length()) / float64(vtime.Second) * 1024)
}

// LoadShift is the time constant of the estimator of a link's load as a power
// of two of the target's units; LoadTime is that time, 131 or 128 µs.
func (u Units) LoadShift() int {
	if u.Time == Nanoseconds {
		return 17
	}
	return 7
}

// SlotFraction is how many bits of the product of a time and slots per unit
// are behind the point: the product of 40 and 24 bits shall fit into 64.
func (u Units) SlotFraction() int {
	if u.Time == Nanoseconds {
		return 32
	}
	return 24
}

// LoadTime is the time constant of the estimator of a link's load.
func (u Units) LoadTime() vtime.Time { return u.Time.Length() << u.LoadShift() }

// FeedbackSession is the mirror session of TNA programs by which egress tells
// ingress of queues: it leads to the recirculation port of each pipeline.
const FeedbackSession = 1000
