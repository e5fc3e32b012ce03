// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
)

// Headroom describes a link whose receiver pauses the sender, and what the receiver
// stores. Size computes the headroom from it, for every target. The sum is that of
// IEEE 802.1Q, annex O (delay value of PFC): frames that have begun, the PFC frame,
// twice the cable, and the sender's response. SONiC computes the same in
// buffer_headroom_barefoot.lua and buffer_headroom_mellanox.lua.
type Headroom struct {
	Rate  vtime.Rate // of the link, in both directions
	Delay vtime.Time // of the cable, one way; CableDelay computes it from a length
	// Response is the time from the end of the PFC frame at the sender until the
	// sender begins no other frame. ResponseTime is what the standard allows. It is
	// zero for the nodes of package fabric.
	Response vtime.Time
	// Frame is the length of the largest frame on the link, in bytes without
	// preamble and check sequence.
	Frame int
	// Added is the length of the headers that a switch adds before it stores a frame,
	// in bytes.
	Added int
	// Overhead is the number of bytes on the link beyond the frame: preamble, gap,
	// check sequence.
	Overhead int
	// Copies is how many clones of arriving frames the headroom takes when the shared
	// part of the buffer is full: messages to hosts and switches, such as postcards. The
	// switch drops others.
	Copies int
	// Cell is the unit in bytes in which the buffer is given to frames. Zero: a byte.
	Cell int
}

// Size returns the largest number of bytes that are stored after the receiver has
// decided to pause the sender. Those are the frame that exceeds the threshold, and all
// that arrives while the PFC frame waits for the end of another frame, is sent, crosses
// the link and takes effect, and while the frame that the sender began before then
// crosses the link. Frames smaller than the largest count if the buffer takes more
// bytes for them than the link.
func (h *Headroom) Size() vtime.Size {
	sizes := []int{h.Frame, smallestFrame}
	if h.Cell > 0 { // one byte more than cells
		n := (smallestFrame + h.Added + h.Cell - 1) / h.Cell
		sizes = append(sizes, n*h.Cell+1-h.Added)
	}
	most := vtime.Size(0)
	for _, n := range sizes {
		if n <= max(h.Frame, smallestFrame) {
			most = max(most, h.of(n))
		}
	}
	return most
}

// of returns the headroom if all frames but one in the opposite direction have n bytes.
func (h *Headroom) of(n int) vtime.Size {
	stored := int64(n + h.Added)
	if c := int64(h.Cell); c > 0 {
		stored = (stored + c - 1) / c * c
	}
	link := h.Rate.Bytes(2*h.Delay+h.Response) + int64(h.Frame+h.Added+h.Overhead) + pfcFrame
	if wire := int64(n + h.Overhead); stored > wire && wire > 0 {
		link = (link*stored + wire - 1) / wire
	}
	return vtime.Size(int64(2+h.Copies)*stored + link + 1) // one for the rounding of bytes on the link
}

// pfcFrame is the length of a PFC frame on a link: 64 bytes, preamble and gap.
const pfcFrame = 84

// smallestFrame is the length of a RoCE frame with one byte. Package fabric does not
// pad it.
const smallestFrame = 59

// CableDelay returns the one-way delay of a cable of a length in metres, with the
// velocity of propagation that SONiC uses, 0.66 of that of light.
func CableDelay(metres float64) vtime.Time {
	return vtime.Time(metres / 198e6 * float64(vtime.Second))
}

// ResponseTime returns how long a port may take to obey a PAUSE: the quanta of IEEE
// 802.3, 31B.3.7, as in SONiC's buffer_headroom_*.lua. A rate between two of the table
// has the quanta of the higher one.
func ResponseTime(r vtime.Rate) vtime.Time {
	quanta := uint16(905)
	for _, e := range responses {
		if r <= e.rate {
			quanta = e.quanta
			break
		}
	}
	return packet.PauseTime(quanta, r)
}

var responses = []struct {
	rate   vtime.Rate
	quanta uint16
}{
	{100 * vtime.Gbps / 1000, 1}, {vtime.Gbps, 2}, {10 * vtime.Gbps, 67}, {25 * vtime.Gbps, 80}, {40 * vtime.Gbps, 118}, {50 * vtime.Gbps, 147},
	{100 * vtime.Gbps, 394}, {200 * vtime.Gbps, 453}, {400 * vtime.Gbps, 905}, {800 * vtime.Gbps, 905},
}
