// SPDX-License-Identifier: Apache-2.0

// Package vtime is the clock of everything that forwards packets: integer
// picoseconds, so that one byte at 400 Gb/s (20 ps) is exact and sums never
// round. Code that holds a Scheduler runs unchanged under virtual time (the
// fabric's event engine) and under wall time (a switch on real ports).
package vtime

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Time is a point on a clock, counted from its start, or a span between two
// such points, in picoseconds. An int64 of them lasts 106 days.
type Time int64

// Spans of time, to multiply with.
const (
	Picosecond  Time = 1
	Nanosecond       = 1000 * Picosecond
	Microsecond      = 1000 * Nanosecond
	Millisecond      = 1000 * Microsecond
	Second           = 1000 * Millisecond
)

// Never is later than every event.
const Never Time = math.MaxInt64

// Nanoseconds returns t in whole nanoseconds, rounded down.
func (t Time) Nanoseconds() int64 { return int64(t / Nanosecond) }

// Microseconds returns t in microseconds.
func (t Time) Microseconds() float64 { return float64(t) / float64(Microsecond) }

// Seconds returns t in seconds.
func (t Time) Seconds() float64 { return float64(t) / float64(Second) }

var timeUnits = []struct {
	name string
	unit Time
}{{"s", Second}, {"ms", Millisecond}, {"us", Microsecond}, {"ns", Nanosecond}, {"ps", Picosecond}}

// String returns t exactly, in the largest unit of which it is at least one:
// "2us", "1.5ms", "0s".
func (t Time) String() string {
	switch t {
	case 0:
		return "0s"
	case Never:
		return "never"
	}
	for _, u := range timeUnits {
		if t >= u.unit || t <= -u.unit {
			whole, rest := t/u.unit, t%u.unit
			if rest == 0 {
				return fmt.Sprintf("%d%s", whole, u.name)
			}
			sign := ""
			if t < 0 {
				sign, whole, rest = "-", -whole, -rest
			}
			digits := len(strconv.FormatInt(int64(u.unit), 10)) - 1
			frac := strings.TrimRight(fmt.Sprintf("%0*d", digits, rest), "0")
			return fmt.Sprintf("%s%d.%s%s", sign, whole, frac, u.name)
		}
	}
	return fmt.Sprintf("%dps", int64(t))
}

// ParseTime reads a span such as "2us", "1.5 ms" or "5000ns". The unit is
// one of s, ms, us (or µs), ns and ps, and is never left out.
func ParseTime(s string) (Time, error) {
	num, unit := splitUnit(s)
	unit = strings.Replace(unit, "µ", "u", 1)
	for _, u := range timeUnits {
		if u.name == unit {
			v, err := scale(num, int64(u.unit))
			if err != nil {
				return 0, fmt.Errorf("time %q: %w", s, err)
			}
			return Time(v), nil
		}
	}
	return 0, fmt.Errorf("time %q: write a number and one of s, ms, us, ns, ps, as in \"2us\"", s)
}

// UnmarshalText reads what ParseTime reads.
func (t *Time) UnmarshalText(text []byte) (err error) {
	*t, err = ParseTime(string(text))
	return err
}

// MarshalText writes what String writes.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// An Event is called at a scheduled time. The argument is the one given to
// Scheduler.At, so that one long-lived Event (a port, a flow) can be scheduled
// many times without allocations.
type Event interface {
	Fire(now Time, arg uint64)
}

// A Scheduler is a clock that calls events in the order of their times and, within
// one instant, in the order in which they were scheduled. It belongs to one node,
// and only that node's own calls use it.
type Scheduler interface {
	// Now returns the time of the event being handled.
	Now() Time
	// At schedules a call of ev with arg at time t, which must not be before Now.
	At(t Time, ev Event, arg uint64)
}

// Rate is a bit rate, in bits per second.
type Rate int64

// Rates, to multiply with.
const (
	BitPerSecond Rate = 1
	Kbps              = 1000 * BitPerSecond
	Mbps              = 1000 * Kbps
	Gbps              = 1000 * Mbps
)

// TxTime returns the transmission time of n bytes at rate r, rounded up to a
// picosecond. If the rate is zero or less, it returns Never.
func (r Rate) TxTime(n int) Time {
	if r <= 0 {
		return Never
	}
	if n <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(n)*8, uint64(Second))
	if hi >= uint64(r) {
		return Never
	}
	q, rem := bits.Div64(hi, lo, uint64(r))
	if rem != 0 {
		q++
	}
	if q > uint64(Never) {
		return Never
	}
	return Time(q)
}

// PerByte returns the transmission time of a byte at rate r, or zero if that is
// not a whole number of picoseconds. It saves a division per packet.
func (r Rate) PerByte() Time {
	if byteTime := 8 * int64(Second); r > 0 && byteTime%int64(r) == 0 {
		return Time(byteTime / int64(r))
	}
	return 0
}

// Bytes returns the number of whole bytes sent at rate r during t.
func (r Rate) Bytes(t Time) int64 {
	if r <= 0 || t <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(r), uint64(t))
	if hi >= 8*uint64(Second) {
		return math.MaxInt64
	}
	q, _ := bits.Div64(hi, lo, 8*uint64(Second))
	if q > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(q)
}

var rateUnits = []struct {
	name string
	unit Rate
}{{"Gbps", Gbps}, {"Mbps", Mbps}, {"Kbps", Kbps}, {"bps", BitPerSecond}}

// String returns r in the largest unit that divides it: "40Gbps".
func (r Rate) String() string {
	for _, u := range rateUnits {
		if r != 0 && r%u.unit == 0 {
			return fmt.Sprintf("%d%s", r/u.unit, u.name)
		}
	}
	return "0bps"
}

// ParseRate reads a rate such as "40Gbps", "2.5 Gb/s" or "100Mbps". A B is an error:
// it would be read as bytes.
func ParseRate(s string) (Rate, error) {
	num, unit := splitUnit(s)
	unit = strings.ToLower(strings.Replace(unit, "b/s", "bps", 1))
	for _, u := range rateUnits {
		if strings.ToLower(u.name) == unit && !strings.Contains(s, "B") {
			v, err := scale(num, int64(u.unit))
			if err != nil {
				return 0, fmt.Errorf("rate %q: %w", s, err)
			}
			return Rate(v), nil
		}
	}
	return 0, fmt.Errorf("rate %q: write a number and one of Gbps, Mbps, Kbps, bps, as in \"40Gbps\"", s)
}

// UnmarshalText reads what ParseRate reads.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRate(string(text))
	return err
}

// MarshalText writes what String writes.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Size is an amount of memory or data, in bytes.
type Size int64

// Sizes, to multiply with. KB and MB are decimal, as the papers use them.
const (
	Byte Size = 1
	KB        = 1000 * Byte
	MB        = 1000 * KB
	GB        = 1000 * MB
	KiB       = 1024 * Byte
	MiB       = 1024 * KiB
)

var sizeUnits = []struct {
	name string
	unit Size
}{{"GB", GB}, {"MB", MB}, {"KB", KB}, {"MiB", MiB}, {"KiB", KiB}, {"B", Byte}}

// String returns s in the largest decimal unit that divides it: "256KB".
func (s Size) String() string {
	for _, u := range sizeUnits {
		if s != 0 && s%u.unit == 0 && !strings.Contains(u.name, "i") {
			return fmt.Sprintf("%d%s", s/u.unit, u.name)
		}
	}
	return "0B"
}

// ParseSize reads a size such as "9MB", "256KB", "4KiB" or "1000 B".
func ParseSize(s string) (Size, error) {
	num, unit := splitUnit(s)
	for _, u := range sizeUnits {
		if u.name == unit {
			v, err := scale(num, int64(u.unit))
			if err != nil {
				return 0, fmt.Errorf("size %q: %w", s, err)
			}
			return Size(v), nil
		}
	}
	return 0, fmt.Errorf("size %q: write a number and one of B, KB, MB, GB, KiB, MiB, as in \"256KB\"", s)
}

// UnmarshalText reads what ParseSize reads.
func (s *Size) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSize(string(text))
	return err
}

// MarshalText writes what String writes.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func splitUnit(s string) (num, unit string) {
	s = strings.TrimSpace(s)
	i := strings.IndexFunc(s, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	if i < 0 {
		return s, ""
	}
	return s[:i], strings.TrimSpace(s[i:])
}

// scale returns num×unit exactly, for a decimal number with an optional fraction.
// It returns an error if the product is not a whole number.
func scale(num string, unit int64) (int64, error) {
	whole, frac, _ := strings.Cut(num, ".")
	if whole == "" && frac == "" {
		return 0, fmt.Errorf("no number")
	}
	var v int64
	if whole != "" {
		w, err := strconv.ParseInt(whole, 10, 64)
		if err != nil || w > math.MaxInt64/unit {
			return 0, fmt.Errorf("number out of range")
		}
		v = w * unit
	}
	for i := 0; i < len(frac); i++ {
		if frac[i] < '0' || frac[i] > '9' {
			return 0, fmt.Errorf("not a number")
		}
		if unit%10 != 0 {
			if frac[i] == '0' {
				continue
			}
			return 0, fmt.Errorf("finer than the smallest unit")
		}
		unit /= 10
		add := int64(frac[i]-'0') * unit
		if v > math.MaxInt64-add {
			return 0, fmt.Errorf("number out of range")
		}
		v += add
	}
	return v, nil
}
