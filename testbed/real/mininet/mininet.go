// SPDX-License-Identifier: Apache-2.0

// Package mininet writes a Mininet script for a planned network: one Python
// file that runs with Debian's mininet and can be edited.
package mininet

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"strconv"
	"strings"
	"text/template"

	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/relay"
)

//go:embed script.py.tmpl
var scriptText string

var script = template.Must(template.New("script.py").Funcs(template.FuncMap{"py": quote, "list": list}).Parse(scriptText))

// Config has the contents of a script.
type Config struct {
	Name    string
	Plan    *local.Plan
	Program string // name of the switches' program, for a comment
	// Command returns the command line that starts a switch.
	Command func(s *local.Switch) ([]string, error)
	// QueuePackets is how many packets each egress queue of BMv2 holds.
	QueuePackets int
	// Recirculation is BMv2's recirculation port, or 0, and RecirculationPPS its
	// rate in packets per second.
	Recirculation    int
	RecirculationPPS int64
	// Apply is the command line that establishes the desired state of all
	// switches; Pauseless is the program that sets BMv2's queues.
	Apply     []string
	Pauseless string
	// Relay is the command line of the process that carries the plan's cables; its last
	// word is the file that describes them, which the script writes.
	Relay []string
	// P4Utils is p4-utils' topology.json, which the script copies to P4UtilsTo while the
	// network is up.
	P4Utils   string
	P4UtilsTo []string
	// RunDir is the script's directory for its journal and logs. The journal has
	// package netns's format, so that netns.Down removes the network.
	RunDir string
}

type switchLine struct {
	Name, GRPC, Thrift string
	Device             uint64
	Command            []string
	Rates              [][2]int64 // port, packets per second
}

type hostLine struct{ Name, IP, MAC, Switch, Port, Interface string }

type commandLine struct {
	Host       string
	Words      []string
	Background bool
}

type linkLine struct {
	A     string
	APort int
	B     string
	BPort int
}

// Script returns the text of the script. It returns an error of c.Command.
func Script(c Config) ([]byte, error) {
	data := struct {
		Config
		Scale    string
		Switches []switchLine
		CPUs     [][2]string // pairs of interfaces: of a switch, and of its controllers
		Hosts    []hostLine
		More     []hostLine // further links of hosts
		Links    []linkLine
		MTU      int // of interfaces of switches
		HostMTU  int
		Cables   string // the file for the relay

		Commands  []commandLine
		StaticARP bool
	}{Config: c, Scale: c.Plan.ScaleText(), MTU: c.Plan.SwitchMTU(), HostMTU: c.Plan.HostMTU}
	t := c.Plan.Topology
	if len(c.Plan.Cables) > 0 {
		file, err := json.Marshal(relay.Config{Cables: c.Plan.Cables, Control: path.Join(c.RunDir, "relay.sock")})
		if err != nil {
			return nil, err
		}
		data.Cables = string(file)
	} else {
		data.Relay = nil
	}
	for i := range c.Plan.Switches {
		s := &c.Plan.Switches[i]
		command, err := c.Command(s)
		if err != nil {
			return nil, err
		}
		line := switchLine{Name: s.Name, GRPC: s.GRPC, Thrift: s.Thrift, Device: t.Nodes[s.Node].DeviceID, Command: command}
		for _, p := range s.Ports {
			line.Rates = append(line.Rates, [2]int64{int64(p.Number), p.PPS})
			if p.CPU != "" {
				data.CPUs = append(data.CPUs, [2]string{p.Interface, p.CPU})
			}
			up := t.Nodes[s.Node].Ports[p.Number-1]
			if p.Peer != "" && (up.Peer > s.Node || up.Peer == s.Node && up.PeerPort > p.Number) {
				data.Links = append(data.Links, linkLine{s.Name, p.Number, t.Nodes[up.Peer].Name, up.PeerPort})
			}
		}
		if c.Recirculation != 0 {
			line.Rates = append(line.Rates, [2]int64{int64(c.Recirculation), c.RecirculationPPS})
		}
		data.Switches = append(data.Switches, line)
	}
	data.StaticARP = true
	for _, command := range c.Plan.Scripts {
		data.Commands = append(data.Commands, commandLine{"", command.Words, true})
	}
	for _, h := range c.Plan.Hosts {
		data.StaticARP = data.StaticARP && !h.ARP
		for _, command := range h.Commands {
			data.Commands = append(data.Commands, commandLine{h.Name, command.Words, command.Background})
		}
		for _, a := range h.Adapters() {
			up := t.Nodes[a.Node].Ports[0]
			addr := ""
			if a.Addr.IsValid() {
				addr = a.Addr.String()
			}
			line := hostLine{h.Name, addr, a.MAC.String(), t.Nodes[up.Peer].Name, fmt.Sprint(up.PeerPort), a.Interface}
			if a.Node == h.Node {
				data.Hosts = append(data.Hosts, line)
			} else {
				data.More = append(data.More, line)
			}
		}
	}
	var b bytes.Buffer
	if err := script.Execute(&b, data); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// quote writes a Python string. Go's escapes are valid in Python.
func quote(s string) string { return strconv.QuoteToASCII(s) }

// list writes a Python list of strings.
func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
