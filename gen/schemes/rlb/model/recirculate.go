// SPDX-License-Identifier: Apache-2.0

package rlb

import "github.com/pauseless/pauseless/internal/model"

// RLB, section IV: over-recirculation prevention under switch failures.

// TRC is the recirculation delay: the queueing delay of the recirculation queue
// (section V), with byteTime for a byte, and the time of a pass without a queue.
func TRC(queue model.Bytes, byteTime model.Ratio, passThrough model.Time) model.Time {
	return byteTime.Times(queue) + passThrough
}

// Eq5 is the number of recirculations that the switch may do within the next
// t_rc: ⌊(Q_PFC − q − inflow) / MTU⌋, where inflow is Σ∫v_i − t_rc·v_r with
// every rate at most the link's: n·C·t_rc − C·t_rc.
//
// Reading: the paper divides bytes by the time t_rc; the number of packets that fit
// into the free buffer is bytes divided by packet size. The queue q, which Eq. 4
// limits, is already in the buffer.
func Eq5(qPFC, q, inflow, mtu model.Bytes) int64 { return max(0, qPFC-q-inflow) / mtu }

// Eq6 reports whether a packet that has been recirculated for accumulated
// time may be once more: Σ t_rc[i] + t_rc[n−1] ≤ p_s.t_RTT − p.t_RTT.
func Eq6(accumulated, lastTRC, diff model.Time) bool {
	return accumulated+lastTRC <= diff
}

// A Window is one t_rc[i], and the recirculations in it. The first packet that would
// recirculate after the end of a window opens the next one, of the length of t_rc at
// that time.
type Window struct {
	Start, Length model.Time
	Budget        int64 // N_rc, computed when the window was opened
	// Packets that were recirculated in the window, and the sum of their
	// counts: how often each had been recirculated, this time included.
	Packets, Passes int64
	PerPort         map[int]int64 // recirculations by egress port
}

// FailureDetector is Algorithm 2.
type FailureDetector struct {
	// NRCNum/NRCDen is the threshold N_RC of the average count, as a fraction.
	NRCNum, NRCDen int64
	// Potential is the port that had the highest count in the window before
	// the running one, with count(potential_port) = 1; 0 for none.
	Potential int
}

// Close ends a window. adjacent is true if the next one follows at once: in a t_rc
// without a recirculation there is nothing to average, and line 12 clears the counts.
// Close reports the faulty port, if there is one.
//
// Readings: the average is over the packets that were recirculated. A port is
// faulty when it has the highest count in two consecutive windows ("if this port
// remains the one with the highest packet recirculation count"). Another port in
// between restarts the count. Of ports with the same count, the one with the lowest
// number is identified.
func (f *FailureDetector) Close(w *Window, adjacent bool) (faulty int, found bool) {
	if w.Passes*f.NRCDen <= f.NRCNum*w.Packets { // line 3: Rc_avg > N_rc, else line 12
		f.Potential = 0 // lines 13, 14
		return 0, false
	}
	port := w.Top()              // lines 4, 5
	again := port == f.Potential // lines 6, 7
	f.Potential = port
	if again || !adjacent {
		f.Potential = 0
	}
	return port, again // line 8
}

// Top is the port with the most recirculations.
func (w *Window) Top() int {
	port, most := 0, int64(0)
	for p, n := range w.PerPort {
		if n > most || n == most && p < port {
			port, most = p, n
		}
	}
	return port
}

// Recirculated records that a packet headed for port is recirculated, for the
// pass-th time.
func (w *Window) Recirculated(port int, pass int64) {
	if w.PerPort == nil {
		w.PerPort = map[int]int64{}
	}
	w.Packets++
	w.Passes += pass
	w.PerPort[port]++
}
