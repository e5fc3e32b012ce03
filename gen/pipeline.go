// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"fmt"
	"strings"
	"unicode"
)

// Stages of ingress and egress by target, in order. Blocks apply their controls
// in stages.
var (
	ingressStages = map[string][]string{
		// start: every packet, before routing. arrive: routed packets. flow: packets
		// with several paths. choose: the same in the first pass, for the base load
		// balancer. rethink: the same, for the scheme applied after it. hold: routed
		// packets, except those that pass again. settle: packets with several paths,
		// except those. meet, leave: routed packets, except those; meet is before hold if
		// packets may be held. queue: the same, last.
		"v1model": {"start", "arrive", "flow", "choose", "rethink", "hold", "settle", "meet", "leave", "queue"},
		// start: every packet and all feedback. learn: the same, after routing. choose:
		// packets with several paths. settle: every packet and all feedback. leave: the
		// same, after the output port is set.
		"tna": {"start", "learn", "choose", "settle", "leave"},
	}
	egressStages = map[string][]string{
		// message: clones that become messages. depart: departing packets. calm: the
		// same, for messages that can be omitted.
		"v1model": {"message", "depart", "calm"},
		// arrive: every packet. message: copies that become messages. copy:HEADER:
		// copies that begin with a header of the block's own. depart: departing
		// packets.
		"tna": {"arrive", "message", "depart"},
	}
)

// instance is an instance of a control in a pipe.
type instance struct{ Control, Name string }

// pipe is an ingress or egress control: its instances and its apply block.
type pipe struct {
	Instances []instance
	Apply     string
}

// pipe returns the control of that name, "ingress" or "egress".
func (g *generator) pipe(name string) (pipe, error) {
	switch g.target + " " + name {
	case "v1model ingress":
		return g.ingress(), nil
	case "v1model egress":
		return g.egress(), nil
	case "tna ingress":
		return g.tnaIngress(), nil
	case "tna egress":
		return g.tnaEgress(), nil
	}
	return pipe{}, fmt.Errorf("%s has no pipe %q: use ingress or egress", g.target, name)
}

// ingress returns the ingress control on v1model.
func (g *generator) ingress() pipe {
	w := g.writer(ingressOf, "hdr, meta, standard_metadata")
	recirculates := g.needs["recirculation"]
	w.stage("start")
	w.use("Route")
	w.stage("arrive")
	w.open("if (meta.last_path > 0) {")
	w.stage("flow")
	switch {
	case recirculates && w.has("choose"):
		w.open("if (meta.passes == 0) {")
		w.stage("choose")
		w.orElse("")
		w.line("meta.path = meta.first_choice;")
		w.close()
	case recirculates:
		w.open("if (meta.passes > 0) {")
		w.line("meta.path = meta.first_choice;")
		w.close()
	default:
		w.stage("choose")
	}
	w.line("meta.out_port = meta.first_port + (port_t) meta.path;")
	w.stage("rethink")
	switch {
	case !recirculates:
		w.stage("settle")
		w.close()
		w.stage("meet")
		w.stage("leave")
		w.stage("queue")
	case w.has("hold"):
		w.close()
		if w.has("rethink") {
			w.open("if (!meta.recirculate) {")
			w.stage("meet")
			w.stage("hold")
			w.close()
		} else {
			w.stage("meet")
			w.stage("hold")
		}
		lastPass(w, true)
	default:
		lastPass(w, false)
	}
	w.use("Send")
	return w.pipe()
}

// lastPass writes the branch for a packet that may have to pass again: control
// ToRecirculation, or the stages of a departing packet.
func lastPass(w *writer, outside bool) {
	w.open("if (meta.recirculate) {")
	w.use("ToRecirculation")
	if outside || w.has("settle") {
		w.orElse("")
	}
	if outside {
		if w.has("settle") {
			w.open("if (meta.last_path > 0) {")
			w.stage("settle")
			w.close()
		}
		w.stage("leave")
		w.stage("queue")
		w.close()
		return
	}
	w.stage("settle")
	w.close()
	w.close()
	if w.has("meet") || w.has("leave") || w.has("queue") {
		w.open("if (!meta.recirculate) {")
		w.stage("meet")
		w.stage("leave")
		w.stage("queue")
		w.close()
	}
}

func (g *generator) egress() pipe {
	w := g.writer(egressOf, "hdr, meta, standard_metadata")
	depth := w.depth
	if g.needs["message"] {
		w.open("if (standard_metadata.instance_type == INGRESS_CLONE || standard_metadata.instance_type == EGRESS_CLONE) {")
		w.stage("message")
	}
	if g.needs["recirculation"] {
		const atPort = "if (standard_metadata.egress_port == RECIRCULATION_PORT)"
		if w.depth > depth {
			w.orElse(atPort)
		} else {
			w.open(atPort + " {")
		}
		w.use("Recirculation")
	}
	if w.depth > depth {
		w.orElse("")
	}
	w.stage("depart")
	w.stage("calm")
	if w.depth > depth {
		w.close()
	}
	return w.pipe()
}

// tnaIngress returns the ingress control on TNA.
func (g *generator) tnaIngress() pipe {
	w := g.writer(ingressOf, "hdr, meta, intrinsic, parsed, deparser, tm")
	w.use("Route")
	w.stage("start")
	w.stage("learn")
	switch {
	case g.needs["fabric"]:
		// A condition around several tables takes more stages of a Tofino, so that
		// controls with "always" have conditions of their own.
		first := "if (meta.choice == 1) {"
		if g.needs["recirculation"] {
			first = "if (meta.hop == HOP_CHOICE && meta.passes == 0) {"
		}
		for _, s := range w.steps["choose"] {
			if !s.always {
				w.open(first)
			}
			w.use(s.control)
			if !s.always {
				w.close()
			}
		}
	case w.has("choose"):
		w.open("if (meta.last_path > 0) {")
		w.stage("choose")
		if w.has("settle") {
			w.close()
		}
	}
	if g.needs["recirculation"] {
		w.stage("settle")
		w.use("Send")
		return w.pipe()
	}
	if w.has("settle") || !w.has("choose") {
		w.stage("settle")
		w.open("if (meta.last_path > 0) {")
	}
	w.line("meta.out_port = meta.first_port + meta.step;")
	if g.needs["egress_qlen"] {
		w.line("meta.path_out = (bit<8>) meta.path;")
	}
	if w.depth > 2 {
		w.close()
	}
	w.stage("leave")
	w.use("Send")
	return w.pipe()
}

func (g *generator) tnaEgress() pipe {
	w := g.writer(egressOf, "hdr, meta, intrinsic, parsed, deparser")
	w.stage("arrive")
	if !g.needs["mirror"] {
		w.stage("depart")
		return w.pipe()
	}
	w.open("if (hdr.bridge.isValid()) {")
	w.stage("depart")
	if w.has("message") {
		w.orElse("if (hdr.message.isValid())")
		w.stage("message")
	}
	for _, s := range w.order {
		if header, ok := strings.CutPrefix(s, "copy:"); ok {
			w.orElse("if (hdr." + header + ".isValid())")
			w.stage(s)
		}
	}
	w.close()
	return w.pipe()
}

func ingressOf(t *onTarget) []step { return t.Ingress }
func egressOf(t *onTarget) []step  { return t.Egress }

// snake converts RttSend to rtt_send.
func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// writer writes the apply block of a pipe.
type writer struct {
	text      strings.Builder
	depth     int
	order     []string
	steps     map[string][]*step
	instances []instance
	args      string // of every control
}

func (g *generator) writer(of func(*onTarget) []step, args string) *writer {
	order, steps := g.steps(of)
	return &writer{depth: 2, order: order, steps: steps, args: args}
}

func (w *writer) pipe() pipe { return pipe{w.instances, w.text.String()} }

func (w *writer) line(text string) {
	w.text.WriteString("\n" + strings.Repeat("    ", w.depth) + text)
}

// open starts a block of statements, close ends it.
func (w *writer) open(text string) { w.line(text); w.depth++ }
func (w *writer) close()           { w.depth--; w.line("}") }

// orElse closes a branch and opens the else branch, with a condition if one is
// given.
func (w *writer) orElse(condition string) {
	w.depth--
	w.open(strings.TrimSpace("} else "+condition) + " {")
}

func (w *writer) has(stage string) bool { return len(w.steps[stage]) > 0 }

// stage applies the controls of a stage.
func (w *writer) stage(stage string) {
	for _, s := range w.steps[stage] {
		w.use(s.control)
	}
}

// use applies a control.
func (w *writer) use(control string) {
	name := snake(control)
	w.instances = append(w.instances, instance{control, name})
	w.line(name + ".apply(" + w.args + ");")
}
