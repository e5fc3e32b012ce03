// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/port"
)

// switchFile is the YAML file that describes a switch. Flags override it.
type switchFile struct {
	Name     string       `yaml:"name"`
	DeviceID int          `yaml:"device_id" limits:"0.."`
	Program  string       `yaml:"program"`
	P4Info   string       `yaml:"p4info"`
	Entries  string       `yaml:"entries"`
	GRPC     string       `yaml:"grpc"`
	HTTP     string       `yaml:"http"`
	TLS      switchTLS    `yaml:"tls"`
	Ports    []switchPort `yaml:"ports"`
	CPUPort  int          `yaml:"cpu_port"`
	DropPort int          `yaml:"drop_port"`
	Seed     int          `yaml:"seed"`
	Passes   int          `yaml:"max_passes" limits:"0..65535"`
	Memory   vtime.Size   `yaml:"memory"`
	Share    float64      `yaml:"control_share"`
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
}

type switchTLS struct {
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	CA   string `yaml:"ca"`
}

type switchPort struct {
	Number   int              `yaml:"number"`
	Link     string           `yaml:"link"`
	Rate     vtime.Rate       `yaml:"rate"`
	Internal bool             `yaml:"internal"`
	Latency  vtime.Time       `yaml:"latency"`
	Own      bool             `yaml:"own_buffer"`
	Weights  []int            `yaml:"weights"`
	PFC      switchThresholds `yaml:"pfc"`
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
	Quanta     int              `yaml:"quanta" limits:"0..65535"`
	Copy       bool             `yaml:"copy_to_pipeline"`
	Classify   []dscpClass      `yaml:"classify"`
}

type dscpClass struct {
	DSCP  int `yaml:"dscp"`
	Class int `yaml:"class"`
}

// readSwitchFile reads a configuration and checks the values that package
// softswitch does not check with a line number.
func readSwitchFile(name string) (*switchFile, error) {
	c := &switchFile{}
	f, err := yamlfile.Read(name, c)
	if err != nil {
		return nil, err
	}
	for i, p := range c.Ports {
		if len(p.Weights) != 0 && (len(p.Weights) != packet.Classes || slices.Min(p.Weights) < 0) {
			f.Errorf(fmt.Sprintf("ports.%d.weights", i), "port %d has the weights %v, want one of at least 0 for each of %d queues", p.Number, p.Weights, packet.Classes)
		}
	}
	for i, class := range c.PFC.Lossless {
		if class < 0 || class >= packet.Classes {
			f.Errorf(fmt.Sprintf("pfc.lossless.%d", i), "class %d, want 0 to %d", class, packet.Classes-1)
		}
	}
	for i, m := range c.PFC.Classify {
		if m.DSCP < 0 || m.DSCP > 63 || m.Class < 0 || m.Class >= packet.Classes {
			f.Errorf(fmt.Sprintf("pfc.classify.%d", i), "DSCP %d to class %d: want 0 to 63 and 0 to %d", m.DSCP, m.Class, packet.Classes-1)
		}
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
	for _, class := range c.PFC.Lossless {
		cfg.PFC.Lossless |= 1 << class
	}
	if len(c.PFC.Classify) > 0 {
		cfg.PFC.Classify = &[64]uint8{}
		for _, m := range c.PFC.Classify {
			cfg.PFC.Classify[m.DSCP] = uint8(m.Class)
		}
	}
	var specs []port.Spec
	for _, p := range c.Ports {
		sp := softswitch.Port{Number: p.Number, Rate: p.Rate, Overhead: softswitch.EthernetOverhead, Internal: p.Internal, Latency: p.Latency, OwnBuffer: p.Own,
			PFC: p.PFC.thresholds(), MAC: packet.MAC{2, 0, 0, 0, byte(p.Number >> 8), byte(p.Number)}}
		copy(sp.Weights[:], p.Weights)
		cfg.Ports = append(cfg.Ports, sp)
		if p.Internal {
			continue
		}
		s, err := port.ParseSpec(strconv.Itoa(p.Number) + "@" + p.Link)
		if err != nil {
			return cfg, nil, err
		}
		specs = append(specs, s)
	}
	return cfg, specs, nil
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
