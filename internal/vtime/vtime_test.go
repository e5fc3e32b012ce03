// SPDX-License-Identifier: Apache-2.0

package vtime

import "testing"

func TestParseAndPrintTime(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Time
		out  string
	}{
		{"2us", 2 * Microsecond, "2us"},
		{"5000ns", 5 * Microsecond, "5us"},
		{"1.5 ms", 1500 * Microsecond, "1.5ms"},
		{"0.001ns", 1, "1ps"},
		{"2µs", 2 * Microsecond, "2us"},
		{"0s", 0, "0s"},
	} {
		got, err := ParseTime(c.in)
		if err != nil || got != c.want || got.String() != c.out {
			t.Errorf("ParseTime(%q) = %d (%v), %v; want %d (%s)", c.in, got, got, err, c.want, c.out)
		}
	}
	for _, bad := range []string{"", "2", "us", "-1us", "2 parsecs", "0.0001ns", "99999999999s", "1.2.3us", ".s"} {
		if v, err := ParseTime(bad); err == nil {
			t.Errorf("ParseTime(%q) = %v, want an error", bad, v)
		}
	}
}

func TestTxTimeIsExactOrRoundedUp(t *testing.T) {
	for _, c := range []struct {
		rate Rate
		n    int
		want Time
	}{
		{40 * Gbps, 1048, 209600},
		{400 * Gbps, 1, 20},
		{3, 1, 2666666666667},
		{40 * Gbps, 0, 0},
		{0, 1, Never},
		{1, 1 << 40, Never},
		{40 * Gbps, 250_000_000, 50 * Millisecond},
	} {
		if got := c.rate.TxTime(c.n); got != c.want {
			t.Errorf("%v.TxTime(%d) = %d ps, want %d", c.rate, c.n, got, c.want)
		}
		if got := c.rate.PerByte(); got != 0 && c.want != Never && Time(c.n)*got != c.want {
			t.Errorf("%v.PerByte() = %d ps, but %d bytes take %d", c.rate, got, c.n, c.want)
		}
	}
	for rate, want := range map[Rate]Time{40 * Gbps: 200, 400 * Gbps: 20, 3: 0, 0: 0, 8 * Gbps: 1000, 7 * Gbps: 0} {
		if got := rate.PerByte(); got != want {
			t.Errorf("%v.PerByte() = %d ps, want %d", rate, got, want)
		}
	}
	if got := (40 * Gbps).Bytes(2 * Microsecond); got != 10_000 {
		t.Errorf("40 Gb/s for 2 µs = %d bytes, want 10000", got)
	}
}

func TestParseRateAndSize(t *testing.T) {
	for in, want := range map[string]Rate{"40Gbps": 40 * Gbps, "2.5 Gb/s": 2500 * Mbps, "100mbps": 100 * Mbps} {
		if got, err := ParseRate(in); err != nil || got != want {
			t.Errorf("ParseRate(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for in, want := range map[string]Size{"256KB": 256000, "9MB": 9000000, "4KiB": 4096, "1000 B": 1000} {
		if got, err := ParseSize(in); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	for _, bad := range []string{"40", "40Gb", "40GBps", "40GB/s", "fast"} {
		if v, err := ParseRate(bad); err == nil {
			t.Errorf("ParseRate(%q) = %v, want an error", bad, v)
		}
	}
}

func FuzzParseTime(f *testing.F) {
	for _, s := range []string{"2us", "1.5ms", "0.001ns", "9223372036854775807ps", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseTime(s)
		if err != nil || v == Never {
			return
		}
		if back, err := ParseTime(v.String()); err != nil || back != v {
			t.Errorf("ParseTime(%q) = %d, printed %q, read back %d, %v", s, v, v.String(), back, err)
		}
	})
}
