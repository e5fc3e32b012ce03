// SPDX-License-Identifier: Apache-2.0

// Package pfc_emulated models a program that sends and obeys PFC frames (IEEE
// 802.1Qbb) on a target whose traffic manager does not.
package pfc_emulated

import "github.com/pauseless/pauseless/internal/model"

func init() {
	model.Add(model.Scheme{Name: "pfc_emulated",
		Registers: map[string]model.Register{"pausing_since": {Init: func(*model.Switch, int) int64 { return 0 }}},
		V1model:   model.Stages{model.Count: askToPause, model.Hold: hold, model.Rewrite: message, model.Left: resume}})
}

// Kinds of messages that the program sends.
const (
	pauseMessage = iota
	resumeMessage
)

// A Pauser is the receiving side of a link. It pauses its peer when the ingress
// queue exceeds XOFF, and resumes it when the queue falls to XON.
type Pauser struct {
	XOFF, XON model.Bytes
	Paused    bool       // the peer is paused
	Renewed   model.Time // when the last PAUSE was sent
	Refresh   model.Time // PAUSE is repeated after this time; 0: never
}

// A PFCFrame is the frame that a Pauser sends.
type PFCFrame int

// PFC frames.
const (
	NoFrame PFCFrame = iota
	PauseFrame
	ResumeFrame
)

// Arrive is called for each arriving packet, with the length of the ingress
// queue including it.
func (p *Pauser) Arrive(q model.Bytes, now model.Time) PFCFrame {
	if q <= p.XOFF || p.Paused && now-p.Renewed < p.Refresh {
		return NoFrame
	}
	p.Paused, p.Renewed = true, now
	return PauseFrame
}

// Depart is called for each departing packet, with the length of the queue
// after it.
func (p *Pauser) Depart(q model.Bytes) PFCFrame {
	if !p.Paused || q > p.XON {
		return NoFrame
	}
	p.Paused = false
	return ResumeFrame
}

// pauser reads the state of an ingress queue from the register: the time at
// which its peer was paused, 0 if it is not paused.
func pauser(s *model.Switch, i int) Pauser {
	since := *s.Cell("pausing_since", i)
	return Pauser{Paused: model.Mod32(since) != 0, Renewed: since}
}

func askToPause(s *model.Switch, p *model.Packet) {
	i := s.In(p)
	t, ok := s.Config.Tables["pfc_threshold"][i]
	if !ok {
		return
	}
	p.Keep["xon"] = t["xon"]
	x := pauser(s, i)
	x.XOFF, x.Refresh = t["xoff"], t["again"]
	// If the packet cannot be cloned, the next packet requests the frame again.
	if x.Arrive(p.QueueIn, p.Now) == PauseFrame && request(p, pauseMessage) {
		s.Note("pause")
		*s.Cell("pausing_since", i) = x.Renewed
	}
}

func request(p *model.Packet, kind int) bool {
	return p.Request(&model.Message{Of: "pfc_emulated", Kind: kind, Session: p.InPort, V: model.Fields{"class": int64(p.Class)}})
}

// hold recirculates a packet for a paused port, up to a number of passes.
func hold(s *model.Switch, p *model.Packet) {
	if s.Paused(s.Out(p), p.Now) && int64(p.Passes) < s.Setting("hold", "most") {
		s.Note("hold")
		p.Again = true
	}
	if s.Paused(s.Out(p), p.Now) {
		p.Keep["held_back"] = 1
	}
	if s.Is("egress_qlen") {
		countHeld(s, p)
	}
}

// countHeld counts a held packet in the queue of its port, where a target that obeys PFC
// has it, as long as it is held for that port.
func countHeld(s *model.Switch, p *model.Packet) {
	count := func(port int, bytes model.Bytes) {
		i := s.QueueCell(port, p.Class)
		for _, q := range []*model.Bytes{s.Cell("held_qlen", i), s.Cell("egress_qlen", i)} {
			*q = max(0, *q+bytes)
		}
	}
	if port := int(p.Keep["held_port"]); p.Keep["held"] != 0 && (!p.Again || port != p.OutPort) {
		count(port, -p.Keep["held"])
		p.Keep["held"] = 0
	}
	if !p.Again || p.Keep["held"] != 0 {
		return
	}
	at, held := s.Cell("held_at", s.Out(p)), s.Cell("held_qlen", s.Out(p))
	if model.Mod32(p.Now-*at) > s.Forget() {
		count(p.OutPort, -*held)
	}
	p.Keep["held"], p.Keep["held_port"], *at = p.Length, int64(p.OutPort), p.Now
	count(p.OutPort, p.Length)
}

func resume(s *model.Switch, p *model.Packet) {
	x := pauser(s, s.In(p))
	x.XON = p.Keep["xon"]
	if x.Depart(p.QueueIn) == ResumeFrame {
		s.Note("resume")
		*s.Cell("pausing_since", s.In(p)) = 0
		request(p, resumeMessage)
	}
}

func message(s *model.Switch, p *model.Packet) {
	m, class := p.Message, p.Message.V["class"]
	f := model.Fields{"opcode": 0x0101, "classes": 1 << class}
	if m.Kind == pauseMessage {
		f["pause"+string(rune('0'+class))] = 0xffff
	}
	rest := p.Rest
	if s.Is("aeth") && p.Syndrome() >= 0 {
		rest = rest[model.AETH:] // a header of the packet, which the frame does not have
	}
	p.Frame = &model.Frame{Dst: 0x0180c2000001, Src: p.Src, Type: model.TypePFC, PFC: f, Rest: rest}
	p.Limit = 60
}
