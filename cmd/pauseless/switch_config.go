// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"math/bits"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/port"
)

// switchFile is the YAML file that describes a switch. Flags override it.
type switchFile struct {
	Name     string       `yaml:"name"`
	DeviceID int          `yaml:"device_id" limits:"1.."`
	Program  string       `yaml:"program"`
	P4Info   string       `yaml:"p4info"`
	Entries  string       `yaml:"entries"`
	Trace    string       `yaml:"trace"`
	GRPC     string       `yaml:"grpc"`
	HTTP     string       `yaml:"http"`
	TLS      switchTLS    `yaml:"tls"`
	Ports    []switchPort `yaml:"ports"`
	CPUPort  int          `yaml:"cpu_port" limits:"1..65535"`
	DropPort int          `yaml:"drop_port" limits:"1..65535"`
	Seed     int          `yaml:"seed"`
	Passes   int          `yaml:"max_passes" limits:"1..65535"`
	Memory   vtime.Size   `yaml:"memory"`
	Share    float64      `yaml:"control_share" limits:"0..1"`
	Buffer   struct {
		Size         vtime.Size `yaml:"size"`
		QueueBytes   vtime.Size `yaml:"queue_bytes"`
		QueuePackets int        `yaml:"queue_packets" limits:"0.."`
	} `yaml:"buffer"`
	PFC   switchPFC `yaml:"pfc"`
	Units struct {
		Time  string `yaml:"time"`
		Depth string `yaml:"depth"`
	} `yaml:"units"`
	// Translations maps the controller's values of translated types to numbers.
	// Its keys are the types' URIs.
	Translations map[string]map[string]uint64 `yaml:"translations"`

	file string // its name; "" if flags alone describe the switch
}

// located returns an error about the whole configuration, with the name of its file.
func (c *switchFile) located(err error) error {
	if c.file == "" {
		return err
	}
	return fmt.Errorf("%s: %w", c.file, err)
}

type switchTLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	CA   string `yaml:"ca"`
}

type switchPort struct {
	Number   int              `yaml:"number" limits:"0..65535"`
	Link     string           `yaml:"link"`
	Rate     vtime.Rate       `yaml:"rate"`
	Internal bool             `yaml:"internal"`
	Latency  vtime.Time       `yaml:"latency"`
	Own      bool             `yaml:"own_buffer"`
	Weights  []int            `yaml:"weights"`
	PFC      switchThresholds `yaml:"pfc"`
	Watchdog switchWatchdog   `yaml:"watchdog"`
}

// spec returns the port's link.
func (p *switchPort) spec() (port.Spec, error) {
	return port.ParseSpec(strconv.Itoa(p.Number) + "@" + p.Link)
}

type switchWatchdog struct {
	Detection   vtime.Time `yaml:"detection"`
	Restoration vtime.Time `yaml:"restoration"`
	Action      string     `yaml:"action"`
	Classes     []int      `yaml:"classes"`
}

func (w switchWatchdog) watchdog() softswitch.Watchdog {
	return softswitch.Watchdog{Detection: w.Detection, Restoration: w.Restoration, Action: w.Action, Classes: classSet(w.Classes)}
}

// classSet returns the set of classes.
func classSet(classes []int) (set uint8) {
	for _, c := range classes {
		set |= 1 << c
	}
	return set
}

type switchThresholds struct {
	XOFF     vtime.Size `yaml:"xoff"`
	XON      vtime.Size `yaml:"xon"`
	Alpha    float64    `yaml:"alpha" limits:"0.."`
	Reserve  vtime.Size `yaml:"reserve"`
	Headroom vtime.Size `yaml:"headroom"`
}

func (t switchThresholds) thresholds() softswitch.Thresholds {
	return softswitch.Thresholds{XOFF: t.XOFF, XON: t.XON, Alpha: t.Alpha, Reserve: t.Reserve, Headroom: t.Headroom}
}

type switchPFC struct {
	Lossless   []int            `yaml:"lossless"`
	Thresholds switchThresholds `yaml:"thresholds"`
	Quanta     int              `yaml:"quanta" limits:"1..65535"`
	Copy       bool             `yaml:"copy_to_pipeline"`
	Classify   []dscpClass      `yaml:"classify"`
	Watchdog   switchWatchdog   `yaml:"watchdog"`
}

type dscpClass struct {
	DSCP  int `yaml:"dscp" limits:"0..63"`
	Class int `yaml:"class" limits:"0..7"`
}

// readSwitchFile reads a configuration and checks the values that package
// softswitch does not check with a line number.
func readSwitchFile(name string) (*switchFile, error) {
	c := &switchFile{file: name}
	f, err := yamlfile.Read(name, c)
	if err != nil {
		return nil, err
	}
	for i, p := range c.Ports {
		if len(p.Weights) != 0 && (len(p.Weights) != packet.Classes || slices.Min(p.Weights) < 0) {
			f.Errorf(fmt.Sprintf("ports.%d.weights", i), "port %d has the weights %v, expected one of at least 0 for each of %d queues", p.Number, p.Weights, packet.Classes)
		}
	}
	classes := func(key string, list []int) {
		for i, class := range list {
			if class < 0 || class >= packet.Classes {
				f.Errorf(fmt.Sprintf("%s.%d", key, i), "class %d, expected 0 to %d", class, packet.Classes-1)
			}
		}
	}
	classes("pfc.lossless", c.PFC.Lossless)
	watchdog := func(key string, w *switchWatchdog) {
		classes(key+".classes", w.Classes)
		for i, class := range w.Classes {
			if !slices.Contains(c.PFC.Lossless, class) {
				f.Errorf(fmt.Sprintf("%s.classes.%d", key, i), "the watchdog's classes have class %d, which is not lossless; pfc.lossless has %v", class, c.PFC.Lossless)
			}
		}
		if w.Action != "" && !slices.Contains(topo.Actions, w.Action) {
			f.Errorf(key+".action", "no action is called %q%s; there are %s", w.Action, diag.DidYouMean(w.Action, topo.Actions), strings.Join(topo.Actions, ", "))
		}
	}
	watchdog("pfc.watchdog", &c.PFC.Watchdog)
	for i := range c.Ports {
		p := &c.Ports[i]
		watchdog(fmt.Sprintf("ports.%d.watchdog", i), &p.Watchdog)
		if j := slices.IndexFunc(c.Ports[:i], func(q switchPort) bool { return q.Number == p.Number }); j >= 0 {
			f.Errorf(fmt.Sprintf("ports.%d.number", i), "number %d is also the number of the port in line %d", p.Number, f.Pos(fmt.Sprintf("ports.%d", j)).Line)
		}
		if p.Internal {
			if p.Link != "" {
				f.Errorf(fmt.Sprintf("ports.%d.link", i), "an internal port has no link")
			}
		} else if p.Link == "" {
			f.Errorf(fmt.Sprintf("ports.%d.link", i), "port %d has no link: give link, as in \"if:veth0\", or internal: true", p.Number)
		} else if _, err := p.spec(); err != nil {
			f.Errorf(fmt.Sprintf("ports.%d.link", i), "link: %v", err)
		}
	}
	thresholds := func(key string, t, all switchThresholds) {
		xoff, xon := cmp.Or(t.XOFF, all.XOFF), cmp.Or(t.XON, all.XON)
		if xoff != 0 && xon > xoff {
			f.Errorf(key+".xon", "xon is %v: sending cannot resume above the %v of xoff, at which it is paused", xon, xoff)
		}
	}
	thresholds("pfc.thresholds", c.PFC.Thresholds, switchThresholds{})
	for i, p := range c.Ports {
		thresholds(fmt.Sprintf("ports.%d.pfc", i), p.PFC, c.PFC.Thresholds)
		if t := p.PFC; len(c.PFC.Lossless) > 0 && !p.Internal && cmp.Or(t.XOFF, c.PFC.Thresholds.XOFF) == 0 && cmp.Or(t.Alpha, c.PFC.Thresholds.Alpha) == 0 {
			f.Errorf("pfc.thresholds", "port %d has lossless classes and no thresholds: give xoff or alpha", p.Number)
		}
	}
	units := softswitch.Units{Time: c.Units.Time}
	if err := units.Check(); err != nil {
		f.Errorf("units.time", "%v", err)
	}
	units = softswitch.Units{Depth: c.Units.Depth}
	if err := units.Check(); err != nil {
		f.Errorf("units.depth", "%v", err)
	}
	if f.Has("memory") && c.Memory < leastMemory*vtime.Byte {
		f.Errorf("memory", "memory is %v, less than the %v that a switch needs", c.Memory, leastMemory*vtime.Byte)
	}
	if f.Has("control_share") && c.Share == 0 {
		f.Errorf("control_share", "control_share is 0: calls of controllers need a share of a processor, above 0 and up to 1 for no limit")
	}
	if f.Has("buffer.size") && c.Buffer.Size == 0 {
		f.Errorf("buffer.size", "size is 0: a buffer needs bytes; without this key it has a sixteenth of memory")
	}
	return c, f.Err()
}

// config returns the switch's own configuration, with the links of its ports.
func (c *switchFile) config() (softswitch.Config, []port.Spec, error) {
	cfg := softswitch.Config{
		Name: c.Name, DeviceID: uint64(c.DeviceID), CPUPort: c.CPUPort, DropPort: c.DropPort, Seed: uint64(c.Seed), MaxPasses: c.Passes,
		Buffer: softswitch.Buffer{Size: c.Buffer.Size, QueueBytes: c.Buffer.QueueBytes, QueuePackets: c.Buffer.QueuePackets},
		PFC:    softswitch.PFC{Thresholds: c.PFC.Thresholds.thresholds(), Quanta: uint16(c.PFC.Quanta), CopyToPipeline: c.PFC.Copy},
		Units:  softswitch.Units{Time: c.Units.Time, Depth: c.Units.Depth},
	}
	cfg.PFC.Lossless, cfg.PFC.Watchdog = classSet(c.PFC.Lossless), c.PFC.Watchdog.watchdog()
	cfg.PFC.Watchdog.Detection = cmp.Or(cfg.PFC.Watchdog.Detection, softswitch.DefaultWatchdog.Detection)
	if len(c.PFC.Classify) > 0 {
		cfg.PFC.Classify = &[64]uint8{}
		for _, m := range c.PFC.Classify {
			cfg.PFC.Classify[m.DSCP] = uint8(m.Class)
		}
	}
	var specs []port.Spec
	for _, p := range c.Ports {
		sp := softswitch.Port{Number: p.Number, Rate: p.Rate, Overhead: softswitch.EthernetOverhead, Internal: p.Internal, Latency: p.Latency, OwnBuffer: p.Own,
			PFC: p.PFC.thresholds(), Watchdog: p.Watchdog.watchdog(), MAC: packet.MAC{2, 0, 0, 0, byte(p.Number >> 8), byte(p.Number)}}
		copy(sp.Weights[:], p.Weights)
		cfg.Ports = append(cfg.Ports, sp)
		if p.Internal {
			continue
		}
		s, err := p.spec()
		if err != nil {
			return cfg, nil, err
		}
		specs = append(specs, s)
	}
	if cfg.PFC.Lossless != 0 {
		setHeadroom(&cfg, specs)
	}
	return cfg, specs, nil
}

// responseOfPeers is the time that the peer of a real port may take to obey a PAUSE,
// beyond what the standard allows: it can be a process that waits for a processor.
const responseOfPeers = 100 * vtime.Millisecond

// cableMetres is the assumed length of the cables of real ports, the longest of
// SONiC's defaults (5, 40 and 300 m).
const cableMetres = 300

// setHeadroom sets the headroom of the ports for which none is configured: what a peer
// needs that takes responseOfPeers, but for all ports together at most half of the
// buffer, so that a sender that ignores PAUSE does not fill it.
func setHeadroom(cfg *softswitch.Config, specs []port.Spec) {
	lossless := vtime.Size(bits.OnesCount8(cfg.PFC.Lossless))
	rest := cfg.Buffer.Size
	var open []int // without a configured headroom
	for i := range cfg.Ports {
		p := &cfg.Ports[i]
		if p.Internal {
			continue
		}
		rest -= lossless * (cmp.Or(p.PFC.Reserve, cfg.PFC.Reserve) + cmp.Or(p.PFC.Headroom, cfg.PFC.Headroom))
		if cmp.Or(p.PFC.Headroom, cfg.PFC.Headroom) == 0 {
			open = append(open, i)
		}
	}
	if len(open) == 0 || rest <= 0 {
		return // New reports a buffer that is too small
	}
	most := max(1, rest/2/vtime.Size(len(open))/lossless)
	for _, i := range open {
		p := &cfg.Ports[i]
		p.PFC.Headroom = most
		if p.Rate > 0 {
			h := topo.Headroom{Rate: p.Rate, Delay: topo.CableDelay(cableMetres), Response: topo.ResponseTime(p.Rate) + responseOfPeers,
				Frame: largestFrame(specs, p.Number), Overhead: p.Overhead, Copies: 1}
			p.PFC.Headroom = min(most, h.Size())
		}
	}
}

// largestFrame returns the length of the largest frame that a port receives: that of
// its interface's MTU, or a standard one.
func largestFrame(specs []port.Spec, number int) int {
	i := slices.IndexFunc(specs, func(s port.Spec) bool { return s.Number == number })
	if i < 0 || specs[i].Kind != "if" {
		return topo.StandardFrame
	}
	ifi, err := net.InterfaceByName(specs[i].Arg)
	if err != nil {
		return topo.StandardFrame // port.Open reports the error
	}
	return ifi.MTU + packet.EthernetLen
}

// addPort adds a port given as a flag: NUMBER@KIND:ARGUMENT[,rate=RATE].
func (c *switchFile) addPort(text string) error {
	s, err := port.ParseSpec(text)
	if err != nil {
		return err
	}
	for _, p := range c.Ports {
		if p.Number == s.Number {
			return fmt.Errorf("port %d is given twice", s.Number)
		}
	}
	c.Ports = append(c.Ports, switchPort{Number: s.Number, Link: s.Kind + ":" + s.Arg})
	return nil
}
