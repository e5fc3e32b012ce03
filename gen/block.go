// SPDX-License-Identifier: Apache-2.0

package gen

// A stage is a place in the pipeline where blocks apply their controls.
type stage int

// Stages of ingress, in order.
const (
	stageStart   stage = iota // every packet, before it is known where it goes
	stageArrive               // packets that have a way out
	stageFlow                 // packets with several ways: what the base scheme goes by
	stageChoose               // the same packets, the first time: the base scheme
	stageRethink              // the same packets: schemes on top of it
	stageHold                 // packets that have a port, unless they pass again
	stageSettle               // packets with several ways, unless they pass again
	stageLeave                // packets that have a port, unless they pass again
	stageQueue                // the same packets, at last
)

// Stages of egress, in order.
const (
	stageMessage stage = iota // clones that become messages
	stageDepart               // packets that leave
	stageCalm                 // the same packets: messages that may be left out
)

// A step applies a control of a block.
type step struct {
	stage   stage
	control string // its type; the instance is named after it
}

// A block is a feature of a program: its sections in the templates, called
// name/section, and the controls it applies.
type block struct {
	name    string
	ingress []step
	egress  []step
}

// blocks lists what a program is made of, in the order of its text. Where
// several blocks have controls in one stage, they apply in this order too.
func (p *Profile) blocks() []block {
	var list []block
	add := func(when bool, name string, ingress, egress []step) {
		if when {
			list = append(list, block{name, ingress, egress})
		}
	}
	again := p.recirculates()
	add(true, "base", nil, nil)
	add(p.needsTime(), "clock", unless(again, step{stageStart, "Clock"}), nil)
	add(p.needsInPort(), "in_port", unless(again, step{stageStart, "Arrive"}), nil)
	add(again || p.clones(), "keep", nil, nil)
	add(again, "recirculation", []step{{stageStart, "Arrive"}}, nil)
	add(p.clones(), "message", nil, nil)

	add(p.pfcBlock(), "pfc", []step{{stageStart, "ObservePauses"}}, nil)
	add(p.cnm() || p.tag() || p.plb(), "local", nil, nil)
	add(p.fabricHeader(), "neighbour", []step{{stageStart, "Neighbour"}}, nil)
	add(p.cnm(), "cnm", nil, nil)
	add(p.plb(), "kick", nil, nil)
	add(p.fabricHeader(), "fabric", []step{{stageArrive, "FabricReceive"}, {stageSettle, "FabricSend"}}, nil)
	add(p.tag(), "tag", []step{{stageArrive, "StripTag"}}, nil)
	add(p.l4(), "l4", nil, nil)
	add(p.udp(), "udp", nil, nil)
	add(p.rewrites(), "changed", nil, nil)

	add(p.hashes(), "hash", []step{{stageFlow, "FlowHash"}}, nil)
	add(p.measuresRTT(), "rtt", nil, nil)
	add(p.ingressQlen(), "ingress_qlen", nil, []step{{stageDepart, "Depart"}})
	add(p.egressQlen(), "egress_qlen", []step{{p.enqueueStage(), "Enqueue"}}, []step{{stageDepart, "Dequeue"}})
	add(p.dre(), "dre", nil, []step{{stageDepart, "Estimate"}})

	add(p.flowlets(), "flowlet", []step{{stageChoose, "Flowlet"}}, nil)
	list = append(list, p.baseBlock())
	add(p.adaptive(), "rlb_adaptive", []step{{stageRethink, "AvoidFaulty"}}, nil)
	add(p.rlb(), "rlb",
		[]step{{stageStart, "HearWarnings"}, {stageArrive, "Predict"}, {stageRethink, "Rlb"}},
		[]step{{stageMessage, "Warn"}, {stageCalm, "Calm"}})
	add(p.emulated(), "pfc_emulated",
		[]step{{stageArrive, "AskToPause"}, {stageHold, "Hold"}},
		[]step{{stageMessage, "PauseFrame"}, {stageDepart, "Resume"}})
	// Its header comes before those of PB-FS.
	add(bool(p.INT), "int", nil, []step{{stageDepart, "Telemetry"}})
	add(p.bth(), "bth", nil, nil)
	add(bool(p.PBFS), "pbfs", []step{{stageLeave, "FastStart"}}, []step{{stageMessage, "Postcard"}})
	add(bool(p.QCN), "qcn", []step{{stageLeave, "Sample"}}, []step{{stageMessage, "Feedback"}})
	add(p.ECN == "red", "red", nil, []step{{stageDepart, "Red"}})
	add(p.ECN == "np_ecn", "np_ecn", nil, []step{{stageDepart, "MarkNonPaused"}})
	add(true, "forward", nil, nil)
	return list
}

func unless(no bool, s step) []step {
	if no {
		return nil
	}
	return []step{s}
}

// baseBlock is the scheme that decides alone.
func (p *Profile) baseBlock() block {
	b := block{name: p.Base}
	switch p.Base {
	case "ecmp":
		b.ingress = []step{{stageChoose, "Ecmp"}}
	case "presto":
		b.ingress = []step{{stageChoose, "Presto"}}
	case "letflow":
		b.ingress = []step{{stageChoose, "Letflow"}}
	case "drill":
		// It draws again whenever a packet comes back, for RLB's next choice.
		b.ingress = []step{{stageFlow, "Drill"}}
	case "conga":
		b.ingress = []step{{stageChoose, "Conga"}}
		b.egress = []step{{stageDepart, "Congestion"}}
	case "hermes":
		b.ingress = []step{{stageChoose, "Hermes"}}
	case "clb":
		b.ingress = []step{{stageChoose, "Clb"}}
	case "plb":
		b.ingress = []step{{stageArrive, "HearKickOut"}, {stageChoose, "Plb"}, {stageLeave, "MeetPause"}, {stageLeave, "Probe"}}
		b.egress = []step{{stageMessage, "PathMessages"}, {stageDepart, "PayDelay"}}
	}
	return b
}

func (p *Profile) rlb() bool      { return p.RLB != "off" }
func (p *Profile) adaptive() bool { return p.RLB == "rlb_adaptive" }
func (p *Profile) plb() bool      { return p.Base == "plb" }
func (p *Profile) cnm() bool      { return p.rlb() }
func (p *Profile) emulated() bool { return p.PFC == "emulated" }

// pfcBlock says that the pipeline sees PFC frames.
func (p *Profile) pfcBlock() bool { return p.emulated() || p.plb() || bool(p.PCN) }

// recirculates says that packets may pass the pipeline again.
func (p *Profile) recirculates() bool { return p.rlb() || p.emulated() }

// clones says that clones of packets become messages.
func (p *Profile) clones() bool {
	return p.rlb() || p.emulated() || p.plb() || bool(p.PBFS) || bool(p.QCN)
}

// measuresRTT says that leaves measure the round-trip times of paths.
func (p *Profile) measuresRTT() bool { return p.rlb() || p.plb() }

// everyPacket says that all packets between leaves have the header.
func (p *Profile) everyPacket() bool { return p.Base == "conga" || p.plb() }

// fabricHeader says that leaves put a header before IP.
func (p *Profile) fabricHeader() bool { return p.measuresRTT() || p.everyPacket() }

// tag says that hosts may put a tag before IP.
func (p *Profile) tag() bool { return p.Base == "hermes" || p.Base == "clb" }

// needsTime, needsNow and needsInPort say that ingress asks for them; PB-FS has
// a clock of its own.
func (p *Profile) needsTime() bool { return p.needsNow() || bool(p.PBFS) }
func (p *Profile) needsNow() bool {
	return p.recirculates() || p.flowlets() || p.fabricHeader() || p.pfcBlock()
}
func (p *Profile) needsInPort() bool {
	return p.recirculates() || p.clones() || p.fabricHeader() || p.pfcBlock()
}

// flowlets says that the base scheme goes by flowlets, hashes that it tells
// flows apart.
func (p *Profile) flowlets() bool {
	return p.Base == "letflow" || p.Base == "conga" || p.Base == "clb" || p.Base == "plb"
}
func (p *Profile) hashes() bool { return p.Base != "drill" }

// l4 says that the parser looks at ports, udp that it goes on behind them, bth
// that it does so in RoCEv2.
func (p *Profile) l4() bool  { return p.hashes() || p.udp() }
func (p *Profile) udp() bool { return bool(p.INT) || p.bth() }
func (p *Profile) bth() bool { return bool(p.PBFS) || bool(p.QCN) }

// rewrites says that IP headers change on the way.
func (p *Profile) rewrites() bool { return p.ECN != "off" || bool(p.PBFS) || bool(p.QCN) }

// ingressQlen and egressQlen say that queue lengths are kept in registers;
// allPorts that those of ports without a choice are kept as well.
func (p *Profile) ingressQlen() bool { return p.rlb() || p.emulated() }
func (p *Profile) egressQlen() bool {
	return p.Base == "drill" || p.Base == "clb" || p.allPorts()
}
func (p *Profile) allPorts() bool { return p.plb() || bool(p.PBFS) || bool(p.QCN) }

func (p *Profile) enqueueStage() stage {
	if p.allPorts() {
		return stageQueue
	}
	return stageSettle
}

// dre says that the load of links is estimated.
func (p *Profile) dre() bool { return p.Base == "conga" || p.plb() }
