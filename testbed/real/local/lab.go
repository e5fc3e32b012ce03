// SPDX-License-Identifier: Apache-2.0

package local

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/intent"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/bmv2"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/testbed/program"

	"go.yaml.in/yaml/v3"
)

const recirculationRate = "rlb.recirculation_rate"

// Lab is a planned network and the program of its switches.
type Lab struct {
	Plan    *Plan
	Program *program.Program
	Paths   map[string]int // see intent.Options
	// Pauseless is the path of pauseless, whose command switch is the softswitch;
	// SimpleSwitch is the path of simple_switch_grpc.
	Pauseless, SimpleSwitch string
	// Trace makes each softswitch write what happens to each packet to NAME.trace, beside
	// its configuration file.
	Trace bool
}

// Build compiles a profile for a network, a kind of switch and a scale, as program.Slow
// changes it. It returns the errors of the profile and of the compiler.
func Build(p *gen.Profile, t *topo.Topology, kind Kind, scale int64) (*program.Program, error) {
	if err := program.Slow(p, t, kind == BMv2, scale); err != nil {
		return nil, err
	}
	return program.Build(p)
}

// Differences names what is not as in the topology, or returns "": times and rates
// that the profile sets, which the scale does not change, and settings that BMv2
// does not have.
func (l *Lab) Differences() string {
	text := l.given()
	if l.Plan.Topology.Switch.PFC.HostsOnly {
		text = strings.TrimSpace(text + "\nwarning: switch.pfc.hosts_only is ignored: these switches also pause each other")
	}
	if c := l.Plan.Topology.Switch.Recirculation; l.Plan.Kind == BMv2 && l.Program.Manifest.RecirculationPort != 0 && (c.Latency > 0 || c.OwnBuffer) {
		text = strings.TrimSpace(text + "\nwarning: BMv2 ignores switch.recirculation.latency and own_buffer; the queue of packets that recirculate is as long as the others")
	}
	return text
}

func (l *Lab) given() string {
	var list []string
	add := func(name, unit string, v float64) {
		switch unit {
		case "ns":
			list = append(list, name+" "+(vtime.Time(v)*vtime.Nanosecond).String())
		case "bps":
			list = append(list, name+" "+vtime.Rate(v).String())
		}
	}
	for _, p := range l.Program.Manifest.Parameters {
		if p.Given && (p.Name != recirculationRate || l.Plan.Topology.Switch.Recirculation.Rate == 0) {
			add(p.Name, p.Unit, p.Value)
		}
		for _, rate := range slices.Sorted(maps.Keys(p.ByRate)) {
			add(p.Name+"@"+rate, p.Unit, p.ByRate[rate])
		}
	}
	if list == nil || l.Plan.Scale == 1 {
		return ""
	}
	return "as the profile sets them, not slower: " + strings.Join(list, ", ")
}

// FindSimpleSwitch returns the path of simple_switch_grpc. Place is a path as
// for bmv2.Find, or empty.
func FindSimpleSwitch(place string) (string, error) {
	path, err := bmv2.Find(place, "simple_switch_grpc")
	if err != nil {
		return "", fmt.Errorf("%w: install BMv2 (package p4lang-bmv2), give its place with --bmv2, or use --switch softswitch, which needs nothing", err)
	}
	return path, nil
}

// CPUPort is BMv2's port to the controller.
const CPUPort = 510

// Command returns the program and arguments that start a switch. For the
// softswitch it writes a configuration file to dir.
func (l *Lab) Command(s *Switch, dir string) (string, []string, error) {
	if l.Plan.Kind == BMv2 {
		_, port, _ := strings.Cut(s.Thrift, ":")
		// Its default level is trace, whose lines it formats for each packet even where
		// nobody reads them.
		args := []string{"--no-p4", "--log-level", "off", "--device-id", fmt.Sprint(l.deviceID(s)), "--thrift-port", port}
		for _, p := range s.Ports {
			args = append(args, "-i", fmt.Sprintf("%d@%s", p.Number, p.Interface))
		}
		return l.SimpleSwitch, append(args, "--", "--grpc-server-addr", s.GRPC, "--cpu-port", fmt.Sprint(l.cpuPort(s)), "--priority-queues", "8"), nil
	}
	file := filepath.Join(dir, s.Name+".yaml")
	if err := outfile.Write(file, l.switchFile(s, dir), 0o644); err != nil {
		return "", nil, err
	}
	// The number may be 0, which is the default in a file.
	return l.Pauseless, []string{"switch", "--device-id", fmt.Sprint(l.deviceID(s)), "--config", file}, nil
}

// cpuPort returns the port of BMv2's packet-ins: that of the topology, unless it has an
// interface.
func (l *Lab) cpuPort(s *Switch) int {
	cpu := l.Plan.Topology.Nodes[s.Node].Given.CPU
	if cpu == 0 || !l.Program.Own() || slices.ContainsFunc(s.Ports, func(p Port) bool { return p.Number == cpu }) {
		return CPUPort
	}
	return cpu
}

// RelayCommand returns the program and arguments that carry the cables of a file.
func (l *Lab) RelayCommand(file string) (string, []string, error) {
	return l.Pauseless, []string{"deploy", "relay", file}, nil
}

func (l *Lab) deviceID(s *Switch) uint64 { return l.Plan.Topology.Nodes[s.Node].DeviceID }

// QueuePackets returns how many packets of ReferencePacket a switch's buffer
// holds. Each of BMv2's queues has this depth, since they share no buffer.
func (l *Lab) QueuePackets() int { return int(l.Plan.Topology.Switch.Buffer / ReferencePacket) }

// RecirculationPort returns the recirculation port, or 0, and its rate in packets per
// second: of the hosts' longest or, if they are not known, of ReferencePacket.
func (l *Lab) RecirculationPort() (port int, pps int64) {
	length := cmp.Or(int64(l.Plan.longest), int64(ReferencePacket/vtime.Byte))
	return l.Program.Manifest.RecirculationPort, max(1, int64(l.recirculation().Rate)/8/length)
}

func (l *Lab) recirculation() topo.Recirculation {
	return program.Recirculation(l.Program.Manifest, l.Plan.Topology.Switch.Recirculation, l.Plan.Scale)
}

// Targets returns the addresses of the switches' servers.
func (l *Lab) Targets() []controlplane.Target {
	var targets []controlplane.Target
	for i := range l.Plan.Switches {
		s := &l.Plan.Switches[i]
		targets = append(targets, controlplane.Target{Name: s.Name, Addr: s.GRPC, DeviceID: l.deviceID(s), Thrift: s.Thrift})
	}
	return targets
}

// Desired returns each switch's desired state by name, for the scaled topology.
func (l *Lab) Desired() (map[string]controlplane.Desired, error) {
	of, err := l.Program.Entities(l.Plan.Topology, intent.Options{Paths: l.Paths, Scale: l.Plan.Scale, NoCloneClass: l.Plan.Kind == BMv2})
	if err != nil {
		return nil, err
	}
	out := make(map[string]controlplane.Desired)
	for _, s := range l.Plan.Switches {
		entities, err := of(s.Node)
		if err != nil {
			return nil, err
		}
		out[s.Name] = controlplane.Desired{Pipeline: l.Program.Of(s.Node).Pipeline(), Entities: entities}
	}
	return out, nil
}

// watchdog returns the keys of the PFC watchdog that the topology gives.
func (l *Lab) watchdog() map[string]any {
	keys := map[string]any{}
	w := &l.Plan.Topology.Switch.PFC.Watchdog
	if w.Detection > 0 {
		keys["detection"] = w.Detection.String()
	}
	if w.Restoration > 0 {
		keys["restoration"] = w.Restoration.String()
	}
	if w.Action != "" {
		keys["action"] = w.Action
	}
	return keys
}

// switchFile returns the configuration file of a softswitch.
func (l *Lab) switchFile(s *Switch, dir string) []byte {
	type port struct {
		Number   int    `yaml:"number"`
		Link     string `yaml:"link,omitempty"`
		Rate     string `yaml:"rate"`
		Internal bool   `yaml:"internal,omitempty"`
		Latency  string `yaml:"latency,omitempty"`
		Own      bool   `yaml:"own_buffer,omitempty"`

		Watchdog map[string]any `yaml:"watchdog,omitempty"`
	}
	type class struct {
		DSCP  int `yaml:"dscp"`
		Class int `yaml:"class"`
	}
	t, m := l.Plan.Topology, l.Program.Of(s.Node).Manifest
	var ports []port
	for _, p := range s.Ports {
		q := port{Number: p.Number, Link: "if:" + p.Interface, Rate: p.Rate.String()}
		if t.Switch.PFC.Watchdog.Links != "" && !t.Watches(&t.Links[t.Nodes[s.Node].Ports[p.Number-1].Link]) {
			q.Watchdog = map[string]any{"action": "off"}
		}
		ports = append(ports, q)
	}
	if m.RecirculationPort != 0 {
		r := l.recirculation()
		ports = append(ports, port{Number: m.RecirculationPort, Internal: true, Rate: r.Rate.String(), Latency: r.Latency.String(), Own: r.OwnBuffer})
	}
	file := map[string]any{
		"name": s.Name, "grpc": s.GRPC, "http": s.Metrics, "ports": ports,
		"buffer": map[string]any{"size": t.Switch.Buffer.String()},
		"units":  map[string]any{"time": string(m.Units.Time), "depth": string(m.Units.Depth)},
	}
	if cpu := t.Nodes[s.Node].Given.CPU; cpu != 0 && l.Program.Own() {
		file["cpu_port"] = cpu
	}
	if l.Trace {
		file["trace"] = filepath.Join(dir, s.Name+".trace")
	}
	if n := program.MaxPasses(m); n > 0 {
		file["max_passes"] = n
	}
	// A program with emulated PFC runs without the switch's, as on BMv2.
	if c := t.Switch.PFC; !c.Off && !m.Has("pfc_emulated") {
		xon := c.XOFF - c.Resume
		if c.Resume == 0 {
			xon = c.XOFF - t.DefaultResume()
		}
		var classify []class
		for dscp := range 64 {
			classify = append(classify, class{dscp, dscp >> 3})
		}
		// Processes react after a time that does not follow from the links: the
		// switch has a default for the headroom.
		thresholds := map[string]any{"xoff": c.XOFF.String(), "xon": xon.String()}
		if c.Alpha > 0 {
			thresholds["alpha"] = c.Alpha
		}
		pfc := map[string]any{"lossless": []int{manifest.LosslessClass}, "thresholds": thresholds, "classify": classify}
		if m.Has("pfc") {
			pfc["copy_to_pipeline"] = true // the program reads PFC frames
		}
		if w := l.watchdog(); len(w) > 0 {
			pfc["watchdog"] = w
		}
		file["pfc"] = pfc
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		panic("BUG: a switch's configuration cannot be written: " + err.Error())
	}
	return append([]byte("# Written by pauseless deploy.\n"), text...)
}
