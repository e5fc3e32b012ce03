// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"math"
	"strings"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Arg is an argument of an action, in the target's units.
type Arg struct {
	Name  string
	Value uint64
}

// scope returns the names of formulas about a network:
//
//	rate              C, in bit/s
//	delay             d, of one link, in ns
//	hops, fan_in      of the network
//	xoff, mtu         in bytes
//	in_flight         d·C, the bytes on a link
//	rtt, host_rtt     base round trip between leaves, and between hosts, in ns
//	alpha_shift       3 - log2(alpha)
//	shared, reserve   of the buffer, in bytes, for dynamic PFC thresholds
//	tx_time(bytes)    on the link, in ns
func (n Network) scope() *scope {
	alpha, shared := n.Alpha, float64(n.Shared)
	if alpha == 0 {
		alpha = 1.0 / 8
	}
	if shared == 0 {
		shared = min(math.Round(float64(n.XOFF)*(1+alpha)/alpha), float64(maxShared))
	}
	return &scope{
		values: map[string]float64{
			"rate": float64(n.Rate), "delay": ns(n.Delay), "hops": float64(n.Hops), "fan_in": float64(n.FanIn),
			"xoff": float64(n.XOFF), "mtu": float64(n.MTU), "in_flight": float64(n.Rate.Bytes(n.Delay)),
			"rtt": ns(n.RTT()), "host_rtt": ns(n.HostRTT()),
			"alpha_shift": 3 - math.Log2(alpha), "shared": shared, "reserve": float64(n.Reserve),
		},
		funcs: map[string]func([]float64) float64{
			"tx_time": func(x []float64) float64 { return ns(n.Rate.TxTime(int(x[0]))) },
		},
	}
}

// scope returns the names of formulas of arguments: those of the network that
// runs, and
//
//	rlb.warn          a parameter, in its own unit
//	bytes(x)          a size that is not rounded to zero
//	span(ns)          a time in the target's unit, not rounded to zero
//	depth(bytes)      in the target's unit of queue depth
//	byte_time(rate)   of one byte, in 1/1024 of the target's unit of time
//	byte_rate(rate)   bytes in 1024 units of time
//	quantum(rate)     512 bit times in 1/1024 of a unit of time
//	load_weight(rate) the load that a byte adds to a link, in 2^-16
//	load_bytes(rate)  bytes in the time over which loads are averaged
//	rate_code(rate)   the code of a rate in HPCC's telemetry
func (m *Manifest) scope(n Network, more map[string]float64) *scope {
	s := n.slower().scope()
	for name, v := range more {
		s.values[name] = v
	}
	s.params = func(name string) (float64, error) { return m.Value(name, n) }
	for name, f := range map[string]func(float64) uint64{
		"bytes":       atLeastOne,
		"span":        m.Units.Span,
		"depth":       func(x float64) uint64 { return m.Units.Queue(x, n.MTU) },
		"byte_time":   func(x float64) uint64 { return m.Units.byteTime(1, vtime.Rate(x)) },
		"byte_rate":   m.Units.byteRate,
		"quantum":     func(x float64) uint64 { return Quantum(m.Units, vtime.Rate(x)) },
		"load_weight": func(x float64) uint64 { return LoadWeight(m.loadTime(), vtime.Rate(x)) },
		"load_bytes":  func(x float64) uint64 { return uint64(vtime.Rate(x).Bytes(m.loadTime())) },
		"rate_code":   func(x float64) uint64 { return uint64(packet.INTRateCode(vtime.Mbps * vtime.Rate(math.Round(x/1e6)))) },
	} {
		s.funcs[name] = func(x []float64) float64 { return float64(f(x[0])) }
	}
	return s
}

func ns(t vtime.Time) float64 { return float64(t) / float64(vtime.Nanosecond) }

// RTT returns the base round-trip time between leaves: the measured one or, if there
// is none, that of a frame of the largest size and the answer in one of the smallest,
// each stored and forwarded on every hop.
func (n Network) RTT() vtime.Time {
	if n.Measured > 0 {
		return n.Measured
	}
	return vtime.Time(n.Hops) * n.hop()
}

func (n Network) hop() vtime.Time {
	const smallest = 64
	return 2*n.Delay + n.Rate.TxTime(int(n.MTU)) + n.Rate.TxTime(smallest)
}

// HostRTT returns the same between hosts, which are two links further apart.
func (n Network) HostRTT() vtime.Time { return n.RTT() + 2*n.hop() }

// LoadWeight returns the load that a byte adds to a link, in 2^-16, where 65536
// is the load of a full link: 2^32 divided by the bytes that the link sends in
// t, the estimator's time.
func LoadWeight(t vtime.Time, r vtime.Rate) uint64 {
	return min(uint64(math.Round(8*(1<<32)/(float64(r)*t.Seconds()))), 1<<32-1)
}

// loadTime is the time constant of the program's estimator of a link's load, which
// is compiled in.
func (m *Manifest) loadTime() vtime.Time {
	return m.Units.Time.Length() << m.Units.LoadShift(m.Network.Scale)
}

// Quantum returns 512 bit times of a link in 1/1024 of a unit of time.
func Quantum(u Units, r vtime.Rate) uint64 { return u.byteTime(packet.QuantumBits/8, r) }

// Table returns a table by name, or nil.
func (m *Manifest) Table(name string) *Table {
	for i := range m.Tables {
		if m.Tables[i].Name == name {
			return &m.Tables[i]
		}
	}
	return nil
}

// Args returns the arguments of a table's action for a link, or for the whole
// network if the table is not per port, in the order of the action's parameters.
// More has further values that formulas may name. Arguments without a formula
// are left out.
func (m *Manifest) Args(table string, n Network, more map[string]float64) ([]Arg, error) {
	t := m.Table(table)
	if t == nil || t.Action == "" {
		return nil, fmt.Errorf("table %s of %s holds no parameters", table, m.Program)
	}
	var args []Arg
	s := m.scope(n, more)
	for _, a := range t.Args {
		v, err := a.Value.eval(s)
		if err != nil {
			return nil, fmt.Errorf("table %s of %s, argument %s: %w", table, m.Program, a.Name, err)
		}
		if v < 0 || v >= 1<<63 {
			return nil, fmt.Errorf("table %s of %s, argument %s: %q is %v, which is not an argument of an action", table, m.Program, a.Name, a.Value, v)
		}
		if strings.HasPrefix(string(a.Value), "span(") && v > MaxSpan {
			rather := "or use microseconds, target: {time: us}"
			if m.Units.Time == Microseconds {
				rather = "or the scale of the network, by more packets per second"
			}
			return nil, fmt.Errorf("table %s of %s, argument %s: %s is %.0f %s, and the longest time of a program is %d: lower the parameter, %s", table, m.Program, a.Name, a.Value, v, m.Units.Time.Name(), MaxSpan, rather)
		}
		args = append(args, Arg{a.Name, uint64(v)})
	}
	return args, nil
}

// Whole returns the value of a formula that must be a whole number of at least zero.
func (m *Manifest) Whole(f Expr, n Network, more map[string]float64) (uint64, error) {
	v, err := f.eval(m.scope(n, more))
	if err == nil && (v < 0 || v >= 1<<53 || v != math.Trunc(v)) {
		err = fmt.Errorf("%q is %v, and no whole number", string(f), v)
	}
	return uint64(v), err
}

// Value returns a parameter in its own unit for a link of the network: the value
// in the profile, or the one that follows from the link, for the network that runs.
func (m *Manifest) Value(name string, n Network) (float64, error) {
	for i := range m.Parameters {
		p := &m.Parameters[i]
		if p.Name != name {
			continue
		}
		if v, ok := p.ByRate[n.Rate.String()]; ok {
			return v, nil
		}
		if p.Given {
			return p.Value, nil
		}
		return Derive(p.Default, p.Unit, n)
	}
	return 0, fmt.Errorf("program %s has no parameter %s", m.Program, name)
}

// Evaluate returns the value of a formula in the scope of an argument.
func (m *Manifest) Evaluate(e Expr, n Network, more map[string]float64) (float64, error) {
	return e.eval(m.scope(n, more))
}

// Derive returns the value of a default in its unit for the network that runs.
func Derive(e Expr, unit string, n Network) (float64, error) {
	v, err := e.eval(n.scope())
	switch unit {
	case "ns":
		v *= float64(n.factor())
	case "bps":
		v /= float64(n.factor())
	}
	return v, err
}
