// SPDX-License-Identifier: Apache-2.0

package topo

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile"
)

// Rate and delay of links for which the file gives none. In Mininet such links
// are as fast as the machine.
const (
	mininetRate  = 10 * vtime.Gbps
	mininetDelay = vtime.Microsecond
)

// mininetNet is a network for Mininet: a topology.json of p4lang's tutorials, or
// the value of "topology" in a p4app.json of p4-utils. Nodes, links and port
// numbers are used. The addresses of hosts and the files of switches are for programs
// of one's own: profiles have their own address plan.
type mininetNet struct {
	Others   yamlfile.Others
	Hosts    map[string]mininetHost   `yaml:"hosts"`
	Switches map[string]mininetSwitch `yaml:"switches"`
	Routers  yamlfile.Raw             `yaml:"routers"`
	Links    [][]yamlfile.Raw         `yaml:"links"`
	Default  yamlfile.Raw             `yaml:"default"`

	Assignment string       `yaml:"assignment_strategy"` // of addresses
	GatewayARP yamlfile.Raw `yaml:"auto_gw_arp"`
	ARPTables  yamlfile.Raw `yaml:"auto_arp_tables"`
}

type mininetHost struct {
	Others   yamlfile.Others
	IP       string   `yaml:"ip"`
	MAC      string   `yaml:"mac"`
	Commands []string `yaml:"commands"`

	Route     yamlfile.Raw `yaml:"defaultRoute"`
	DHCP      yamlfile.Raw `yaml:"dhcp"`
	Scheduler yamlfile.Raw `yaml:"scheduler"`
	Socket    yamlfile.Raw `yaml:"socket_path"`
	Log       yamlfile.Raw `yaml:"log_enabled"`
	LogDir    yamlfile.Raw `yaml:"log_dir"`
	Class     yamlfile.Raw `yaml:"host_node"`
}

type mininetSwitch struct {
	Others  yamlfile.Others
	Runtime string       `yaml:"runtime_json"`
	Program string       `yaml:"program"`
	Queues  yamlfile.Raw `yaml:"priority_queues"`
	CPUPort yamlfile.Raw `yaml:"cpu_port"`

	Source    string       `yaml:"p4_src"`
	CLI       string       `yaml:"cli_input"`
	QueuesNum yamlfile.Raw `yaml:"priority_queues_num"`
	Binary    yamlfile.Raw `yaml:"sw_bin"`
	Thrift    yamlfile.Raw `yaml:"thrift_port"`
	GRPC      yamlfile.Raw `yaml:"grpc_port"`
	Log       yamlfile.Raw `yaml:"log_enabled"`
	LogDir    yamlfile.Raw `yaml:"log_dir"`
	Pcap      yamlfile.Raw `yaml:"pcap_dump"`
	PcapDir   yamlfile.Raw `yaml:"pcap_dir"`
	Class     yamlfile.Raw `yaml:"switch_node"`
}

// mininetLink has the properties of a link; ports are 0 if the file gives none.
type mininetLink struct {
	ports  [2]int
	rate   vtime.Rate
	delay  vtime.Time
	loss   float64
	weight string
	ips    [2]netip.Prefix // of hosts, or none
	macs   [2]packet.MAC
}

// isMininet reports whether a file is a network for Mininet, and returns the path
// of the network in the file.
func isMininet(f *yamlfile.File) (path string, ok bool) {
	root := f.Raw("")
	if root.Has("topology") {
		return "topology", true
	}
	return "", root.Has("switches") && root.Has("links")
}

// mininetReader builds a network from such a file.
type mininetReader struct {
	*reporter
	net   mininetNet
	b     Builder
	nodes map[string]int // IDs by name
	names []string       // of all nodes

	module   string          // of p4-utils until 2021: AppTopo or AppTopoStrategies
	old      bool            // the tutorials' format until 2019: hosts is a list
	source   string          // the program of all switches
	others   yamlfile.Others // keys of links
	weighted bool            // links have different weights
}

// readMininet builds the network. It has the default flow control, and the default buffer
// beside the headroom that its links need.
func readMininet(f *yamlfile.File, path string) (*Topology, error) {
	f, old := named(f, path)
	r := &mininetReader{reporter: &reporter{f: f, path: path}, nodes: make(map[string]int), old: old}
	var app struct {
		Topology *mininetNet `yaml:"topology"`
		Source   string      `yaml:"p4_src"`
		Program  string      `yaml:"program"` // until 2021
		Tasks    string      `yaml:"tasks_file"`
		Scripts  []struct {
			Command string       `yaml:"cmd"`
			Reboot  yamlfile.Raw `yaml:"reboot_run"`
			Out     yamlfile.Raw `yaml:"out_file"`
		} `yaml:"exec_scripts"`
		Rest map[string]yamlfile.Raw `yaml:",inline"` // for p4-utils
	}
	if path == "" {
		f.Into(&r.net)
	} else {
		app.Topology, app.Rest = &r.net, otherKeys(f)
		f.Into(&app)
		r.module = f.Raw("topo_module").Text("object_name")
		r.source = cmp.Or(app.Source, app.Program)
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	if routers := f.Raw(join(path, "routers")).Keys(); len(routers) > 0 {
		r.errorf("routers", "%s is a router that runs FRRouting, which is not supported: only hosts and switches are", routers[0])
		return nil, f.Err()
	}
	for _, name := range f.Raw(join(path, "hosts")).Keys() {
		r.add(name, "hosts", r.b.AddHost)
	}
	for _, name := range f.Raw(join(path, "switches")).Keys() {
		r.add(name, "switches", func(name string) int { return r.b.AddSwitch(name, 0) })
	}
	r.given()
	r.cpus()
	r.links()
	r.gaps()
	switch {
	case r.failed:
	case r.old:
		r.numbered()
	case r.module == "AppTopo":
		r.assign("mixed")
	default:
		r.assign(r.net.Assignment)
	}
	for _, n := range r.b.t.Nodes {
		if n.Kind == Switch && len(n.Ports) == 0 && !r.failed {
			r.errorf("switches."+n.Name, "switch %s has no links", n.Name)
		}
	}
	if r.failed {
		return nil, f.Err()
	}
	sw := NewSpec().Switch
	sw.fill()
	t, err := r.b.Build("", sw)
	if err != nil {
		r.errorf("", "%v", err)
		return nil, f.Err()
	}
	for i := range t.Nodes {
		if apart := t.Switch.Buffer - t.Shared(&t.Nodes[i]); t.Nodes[i].Kind == Switch && apart > sw.Buffer/2 {
			t.Switch.Buffer = max(t.Switch.Buffer, sw.Buffer+apart)
		}
	}
	r.devices(t)
	t.Ignored = r.ignored()
	if path != "" {
		t.App = App{File: f.Name, Tasks: app.Tasks}
		for _, script := range app.Scripts {
			t.App.Scripts = append(t.App.Scripts, script.Command)
		}
	}
	t.Weighted = r.weighted
	return t, nil
}

// devices numbers the P4Runtime devices as controllers for these files expect them: the
// tutorials from 0 in the order of the file, p4-utils from 1 in the natural order of names.
func (r *mininetReader) devices(t *Topology) {
	var list []*Node
	for _, id := range t.Switches() {
		list = append(list, &t.Nodes[id])
	}
	first := uint64(0)
	if r.path != "" {
		slices.SortFunc(list, func(a, b *Node) int { return natural(a.Name, b.Name) })
		first = 1
	}
	for i, n := range list {
		n.DeviceID = first + uint64(i)
	}
}

// otherKeys returns the keys that are instructions to p4-utils only.
func otherKeys(f *yamlfile.File) map[string]yamlfile.Raw {
	keys := make(map[string]yamlfile.Raw)
	for _, key := range f.Raw("").Keys() {
		if !slices.Contains([]string{"topology", "p4_src", "program", "tasks_file", "exec_scripts"}, key) {
			keys[key] = yamlfile.Raw{}
		}
	}
	return keys
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (r *mininetReader) add(name, key string, add func(string) int) {
	if err := CheckName(name); err != nil {
		r.errorf(key, "%v", err)
	} else if _, twice := r.nodes[name]; twice {
		r.errorf(key, "two nodes are called %q", name)
	}
	r.nodes[name] = add(name)
	r.names = append(r.names, name)
}

// given reads what the file says about hosts and switches besides their links.
func (r *mininetReader) given() {
	for i := range r.b.t.Nodes {
		n := &r.b.t.Nodes[i]
		if n.Kind == Switch {
			s := r.net.Switches[n.Name]
			n.Given.At = r.f.Pos(join(r.path, "switches."+n.Name))
			n.Given.File, n.Given.Runtime, n.Given.CLI = r.f.Name, s.Runtime, s.CLI
			n.Given.Program, n.Given.Source = cmp.Or(s.Program, s.Source), r.source
			continue
		}
		h, at := r.net.Hosts[n.Name], "hosts."+n.Name
		n.Given.At = r.f.Pos(join(r.path, at))
		n.Given.ARP = r.path == "" || r.net.Default.Text("auto_arp_tables") == "false"
		n.Given.set(r.address(at+".ip", h.IP), r.mac(at+".mac", h.MAC))
		for _, c := range h.Commands {
			n.Given.Commands = append(n.Given.Commands, c)
			// arp -i eth0 -s 10.0.1.10 08:00:00:00:01:00
			if words := strings.Fields(c); len(words) > 2 && words[0] == "arp" {
				mac, _ := net.ParseMAC(words[len(words)-1]) // or there is none
				copy(n.Given.Gateway[:], mac)
			}
		}
	}
}

// address reads an IPv4 address; none if there is no text.
func (r *mininetReader) address(at, text string) (p netip.Prefix) {
	if text == "" {
		return p
	}
	whole := text
	if !strings.Contains(text, "/") {
		whole += "/24"
	}
	p, err := netip.ParsePrefix(whole)
	if err != nil || !p.Addr().Is4() {
		r.errorf(at, "ip is %q: write an IPv4 address and the length of its network, such as 10.0.1.1/24", text)
		return netip.Prefix{}
	}
	return p
}

// mac reads an Ethernet address; none if there is no text.
func (r *mininetReader) mac(at, text string) (m packet.MAC) {
	if text == "" {
		return m
	}
	mac, err := net.ParseMAC(text)
	if err != nil || copy(m[:], mac) != 6 || len(mac) != 6 {
		r.errorf(at, "mac is %q: write six bytes, such as 08:00:00:00:01:11", text)
	}
	return m
}

func (r *mininetReader) links() {
	usual := mininetLink{rate: mininetRate, delay: mininetDelay, weight: "1"}
	r.params("default", r.net.Default, &usual)
	weight := ""
	var list []mininetCable
	for i, l := range r.net.Links {
		at := fmt.Sprintf("links.%d", i)
		if len(l) < 2 {
			r.errorf(at, "a link is [NODE, NODE], with [NODE, NODE, LATENCY, BANDWIDTH] or [NODE, NODE, {...}] for more")
			continue
		}
		m, read := usual, 4
		var ends [2]int
		known := true
		for k := range ends {
			ends[k], m.ports[k] = r.end(fmt.Sprintf("%s.%d", at, k), l[k].Text(""))
			known = known && ends[k] >= 0
		}
		switch {
		case len(l) > 2 && (len(l[2].Keys()) > 0 || l[2].Text("") == ""):
			r.params(at+".2", l[2], &m)
			read = 3
		case len(l) > 2:
			r.latency(at+".2", l[2].Text(""), &m, "ms")
			if len(l) > 3 && l[3].Text("") != "null" {
				r.bandwidth(at+".3", l[3].Text(""), &m)
			}
		}
		if len(l) > read { // the tutorials' scripts and p4-utils do not read it either
			name := fmt.Sprintf("value %d of the link %s-%s", read+1, l[0].Text(""), l[1].Text(""))
			r.others = append(r.others, yamlfile.Other{Key: name, Pos: r.f.Pos(join(r.path, fmt.Sprintf("%s.%d", at, read)))})
		}
		if !known {
			continue
		}
		a, z := &r.b.t.Nodes[ends[0]], &r.b.t.Nodes[ends[1]]
		if a.Kind == Switch && z.Kind == Switch { // all ways of a host have its link
			if weight == "" {
				weight = m.weight
			}
			r.weighted = r.weighted || m.weight != weight
		}
		if r.path == "" && !r.old {
			r.connect(at, ends, &m)
			continue
		}
		list = append(list, mininetCable{at: at, ends: ends, mininetLink: m, a: min(a.Name, z.Name), z: max(a.Name, z.Name)})
	}
	for id := range r.b.t.Nodes {
		if n := &r.b.t.Nodes[id]; n.Stub == CPU {
			sw := &r.b.t.Nodes[n.Host]
			n.Host = id
			list = append(list, mininetCable{at: "switches." + sw.Name + ".cpu_port", ends: [2]int{sw.ID, id}, a: min(sw.Name, cpuSwitch), z: max(sw.Name, cpuSwitch),
				mininetLink: mininetLink{rate: mininetRate, delay: mininetDelay}})
		}
	}
	// p4-utils first gives the ports that the file names, and then the others in the order of
	// the links' names, or until 2021 in the order of the file.
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(x, y mininetCable) int {
		switch {
		case r.old:
			return strings.Compare(r.order(x), r.order(y))
		case r.module != "":
			return 0
		}
		return cmp.Or(natural(x.a, y.a), natural(x.z, y.z))
	})
	used := make(map[End]bool)
	for _, c := range list {
		for k, id := range c.ends {
			used[End{id, c.ports[k]}] = true
		}
	}
	ports := make(map[string][2]int)
	for _, c := range sorted {
		order := []int{0, 1}
		if r.b.t.Nodes[c.ends[0]].Name != c.a {
			order = []int{1, 0}
		}
		for _, k := range order {
			if c.ports[k] == 0 {
				for c.ports[k] = 1; used[End{c.ends[k], c.ports[k]}]; {
					c.ports[k]++
				}
				used[End{c.ends[k], c.ports[k]}] = true
			}
		}
		ports[c.at] = c.ports
	}
	for i := range list {
		c := &list[i]
		c.ports = ports[c.at]
		r.connect(c.at, c.ends, &c.mininetLink)
	}
}

// mininetCable is a link of p4-utils before it has its ports; a and z are the names of its
// ends, in order.
type mininetCable struct {
	mininetLink
	at   string
	ends [2]int
	a, z string
}

// end returns the node that a link's end names, −1 if there is none, and the
// port: "s1-p3" is port 3 of s1.
func (r *mininetReader) end(at, text string) (node, port int) {
	if id, ok := r.nodes[text]; ok {
		return id, 0
	}
	name, p, ok := cutLast(text, "-p")
	if n, err := strconv.Atoi(p); ok && err == nil {
		if id, known := r.nodes[name]; known {
			if n < 1 || n > maxPort {
				r.errorf(at, "port %d of %s: ports are numbered from 1 to %d", n, name, maxPort)
				return -1, 0
			}
			return id, n
		}
		text = name
	}
	r.errorf(at, "no node is called %q%s", text, diag.DidYouMean(text, r.names))
	return -1, 0
}

func cutLast(s, sep string) (before, after string, ok bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// linkParams are the properties of links in p4-utils. Links have no queues of their own
// here, so that max_queue_size has no effect: packets wait in the switches' buffers.
var linkParams = []string{"port1", "port2", "bw", "delay", "loss", "weight", "max_queue_size", "intfName1", "intfName2", "addr1", "addr2",
	"params1", "params2", "sw_ip1", "sw_ip2", "auto_arp_tables", "auto_gw_arp"}

// params reads the properties of a link, or of the default link.
func (r *mininetReader) params(at string, raw yamlfile.Raw, m *mininetLink) {
	if text := raw.Text(""); text != "" && text != "null" || raw.Items() != nil {
		r.errorf(at, "expected keys and values, such as {bw: 10}")
	}
	for _, key := range raw.Keys() {
		at, text := at+"."+key, raw.Text(key)
		if text == "null" {
			continue
		}
		switch key {
		case "bw":
			r.bandwidth(at, text, m)
		case "delay":
			r.latency(at, text, m, "")
		case "loss":
			percent, err := strconv.ParseFloat(text, 64)
			if err != nil || !(percent >= 0 && percent <= 100) { // nor is NaN
				r.errorf(at, "loss is %q, must be from 0 to 100 (percent)", text)
			}
			m.loss = percent / 100
		case "port1", "port2":
			n, err := strconv.Atoi(text)
			if err != nil || n < 0 || n > maxPort {
				r.errorf(at, "%s is %q, must be a number from 1 to %d", key, text, maxPort)
			}
			m.ports[key[4]-'1'] = n
		case "weight":
			m.weight = text
		case "addr1", "addr2":
			m.macs[key[4]-'1'] = r.mac(at, text)
		case "params1", "params2":
			m.ips[key[6]-'1'] = r.address(at+".ip", raw.Key(key).Text("ip"))
		default:
			if !slices.Contains(linkParams, key) {
				if hint := diag.DidYouMean(key, linkParams); hint != "" {
					r.errorf(at, "unknown key %q%s", key, hint)
				} else {
					r.others = append(r.others, yamlfile.Other{Key: key, Pos: r.f.Pos(join(r.path, at))})
				}
			}
		}
	}
}

// bandwidth reads Mbit/s.
func (r *mininetReader) bandwidth(at, text string, m *mininetLink) {
	mbps, err := strconv.ParseFloat(text, 64)
	if err != nil || !(mbps > 0 && mbps <= 1e6) { // nor is NaN
		r.errorf(at, "bandwidth is %q, must be above 0, up to 1e6 (Mbit/s)", text)
		return
	}
	m.rate = vtime.Rate(mbps * float64(vtime.Mbps))
}

// latency reads a delay such as "2ms". A number without a unit has the given
// unit. If unit is "", the unit is required, since netem assumes microseconds and
// p4-utils means milliseconds. Zero means the default.
func (r *mininetReader) latency(at, text string, m *mininetLink, unit string) {
	if text == "null" {
		return
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		if n == 0 {
			return
		}
		if unit == "" {
			r.errorf(at, "delay is %s without a unit: write \"%sms\"", text, text)
			return
		}
		text += unit
	}
	var d vtime.Time
	if err := d.UnmarshalText([]byte(text)); err != nil || d < 0 {
		r.errorf(at, "delay is %q: write a time, such as \"2ms\"", text)
	} else if d > 0 {
		m.delay = d
	}
}

// connect adds a link. If a switch's end has no port number, it gets the next one, as in
// Mininet.
func (r *mininetReader) connect(at string, ends [2]int, m *mininetLink) {
	if ends[0] == ends[1] {
		r.errorf(at, "%s is connected to itself", r.b.t.Nodes[ends[0]].Name)
		return
	}
	for k, id := range ends {
		if n := &r.b.t.Nodes[id]; n.Kind == Host && len(n.Ports) > 0 {
			id = r.adapter(id)
			ends[k] = id
		}
		n := &r.b.t.Nodes[id]
		if n.Kind == Host {
			n.Given.set(m.ips[k], m.macs[k])
		}
		if m.ports[k] == 0 || n.Kind == Host {
			m.ports[k] = len(n.Ports) + 1
		}
		for len(n.Ports) < m.ports[k] {
			n.Ports = append(n.Ports, Port{Link: -1})
		}
		if n.Ports[m.ports[k]-1].Link >= 0 {
			r.errorf(at, "port %d of %s has a link already", m.ports[k], n.Name)
			return
		}
	}
	a, z := End{ends[0], m.ports[0]}, End{ends[1], m.ports[1]}
	id := len(r.b.t.Links)
	r.b.t.Nodes[a.Node].Ports[a.Port-1] = Port{Link: id, Peer: z.Node, PeerPort: z.Port}
	r.b.t.Nodes[z.Node].Ports[z.Port-1] = Port{Link: id, Peer: a.Node, PeerPort: a.Port}
	r.b.t.Links = append(r.b.t.Links, Link{ID: id, A: a, B: z, Rate: m.rate, Delay: m.delay, Loss: m.loss})
	if r.b.t.Nodes[z.Node].Stub == CPU {
		r.b.t.Nodes[a.Node].Given.CPU = a.Port
	}
}

// adapter adds a further adapter of a host, for another link.
func (r *mininetReader) adapter(host int) int {
	for k := 2; ; k++ {
		name := fmt.Sprintf("%s.%d", r.b.t.Nodes[host].Name, k)
		if _, taken := r.nodes[name]; !taken {
			id := r.b.AddAdapter(host, name)
			r.nodes[name] = id
			return id
		}
	}
}

// gaps gives ports that the file leaves out, below others of their switch, an end that
// receives nothing.
func (r *mininetReader) gaps() {
	for id := range r.b.t.Nodes {
		for p := range r.b.t.Nodes[id].Ports {
			if r.b.t.Nodes[id].Ports[p].Link < 0 {
				stub := r.stub(fmt.Sprintf("%s-port%d", r.b.t.Nodes[id].Name, p+1), Nothing)
				r.connect("links", [2]int{id, stub}, &mininetLink{rate: mininetRate, delay: mininetDelay, ports: [2]int{p + 1, 1}})
			}
		}
	}
}

// cpuSwitch is the bridge to which p4-utils connects ports to the CPU. Its name decides their
// numbers.
const cpuSwitch = "sw-cpu"

// cpus reads which switches have a port to their CPU: with p4-utils a further port with an
// interface, and in the tutorials the number of the port of packet-ins.
func (r *mininetReader) cpus() {
	for id := range r.b.t.Nodes {
		name := r.b.t.Nodes[id].Name
		text := r.net.Switches[name].CPUPort.Text("")
		if r.b.t.Nodes[id].Kind != Switch || text == "" || text == "null" || text == "false" {
			continue
		}
		n, err := strconv.Atoi(text)
		switch {
		case err == nil && n == 0:
		case text != "true" && (err != nil || n < 0 || n > maxPort):
			r.errorf("switches."+name+".cpu_port", "cpu_port is %q: write true, or a number from 1 to %d", text, maxPort)
		case r.path != "":
			stub := r.stub(name+"-cpu", CPU)
			r.b.t.Nodes[stub].Host = id // until it has its link
		default:
			r.b.t.Nodes[id].Given.CPU = n
		}
	}
}

// stub adds the end of a port without a link.
func (r *mininetReader) stub(name string, s Stub) int {
	r.add(name, "switches", r.b.AddHost)
	id := r.nodes[name]
	r.b.t.Nodes[id].Stub = s
	return id
}

// maxPort is the highest number of a port in v1model, without that of dropped packets.
const maxPort = 510

// set sets addresses that a link gives for a host.
func (g *Given) set(ip netip.Prefix, mac packet.MAC) {
	if ip.IsValid() {
		g.IP = ip
	}
	if mac != (packet.MAC{}) {
		g.MAC = mac
	}
}
