// SPDX-License-Identifier: Apache-2.0

package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/prototext"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/topo"
	"github.com/pauseless/pauseless/internal/vtime"
)

// TopologyFile is the name of the file that p4-utils writes about a running network, and
// that its controllers read with load_topo.
const TopologyFile = "topology.json"

// graph is a graph as networkx writes it.
type graph struct {
	Directed   bool             `json:"directed"`
	Multigraph bool             `json:"multigraph"`
	Graph      struct{}         `json:"graph"`
	Nodes      []map[string]any `json:"nodes"`
	// Links and Edges are the same list: networkx reads edges since version 3.4.
	Links []map[string]any `json:"links"`
	Edges []map[string]any `json:"edges"`
}

// WriteP4Utils writes the network as p4-utils' topology.json into a folder, and the
// switches' programs, compiled, beside it. Of what p4-utils has there, queue lengths and
// addresses of links between switches are left out: the networks have none.
func (l *Lab) WriteP4Utils(dir string) error {
	t := l.Plan.Scaled
	var g graph
	for i := range l.Plan.Switches {
		s := &l.Plan.Switches[i]
		pipeline := l.Program.Of(s.Node).Pipeline()
		info, err := prototext.MarshalOptions{Multiline: true}.Marshal(pipeline.P4Info)
		if err != nil {
			return err
		}
		compiled, infoFile := filepath.Join(dir, s.Name+".bmv2.json"), filepath.Join(dir, s.Name+".p4info.txtpb")
		if err := errors.Join(outfile.Write(compiled, pipeline.Config, 0o644), outfile.Write(infoFile, info, 0o644)); err != nil {
			return err
		}
		n := map[string]any{
			"id": s.Name, "isSwitch": true, "isP4Switch": true, "isP4RuntimeSwitch": true, "cpu_port": false,
			"device_id": l.deviceID(s), "json_path": compiled, "p4rt_path": infoFile, "grpc_port": portOf(s.GRPC),
		}
		if s.Thrift != "" {
			n["thrift_port"] = portOf(s.Thrift)
		}
		for _, p := range s.Ports {
			if p.CPU != "" {
				n["cpu_port"], n["cpu_port_num"], n["cpu_intf"], n["cpu_ctl_intf"] = true, p.Number, p.Interface, p.CPU
			}
		}
		g.Nodes = append(g.Nodes, n)
	}
	adapters := make(map[int]Adapter)
	for i := range l.Plan.Hosts {
		h := &l.Plan.Hosts[i]
		for _, a := range h.Adapters() {
			adapters[a.Node] = a
		}
		g.Nodes = append(g.Nodes, map[string]any{"id": h.Name, "isHost": true, "isSwitch": false, "ip": h.Addr.String(), "mac": h.MAC.String()})
	}
	names := make(map[topo.End]string) // of the switches' interfaces
	for _, s := range l.Plan.Switches {
		for _, p := range s.Ports {
			names[topo.End{Node: s.Node, Port: p.Number}] = p.Interface
		}
	}
	for i := range t.Links {
		k := &t.Links[i]
		if t.Nodes[k.B.Node].Stub != topo.NoStub {
			break
		}
		e := map[string]any{
			"source": t.Nodes[t.Nodes[k.A.Node].Host].Name, "target": t.Nodes[t.Nodes[k.B.Node].Host].Name, "weight": 1,
			"bw": float64(k.Rate) / float64(vtime.Mbps), "delay": time.Duration(k.Delay.Nanoseconds()).String(),
		}
		for j, ends := range [2][2]topo.End{{k.A, k.B}, {k.B, k.A}} {
			end, other := ends[0], ends[1]
			n, number := &t.Nodes[end.Node], fmt.Sprint(j+1)
			e["node"+number] = t.Nodes[n.Host].Name
			if a, ok := adapters[end.Node]; ok {
				e["port"+number], e["intfName"+number], e["addr"+number] = t.Adapter(end.Node), a.Interface, a.MAC.String()
				if a.Addr.IsValid() {
					e["ip"+number] = a.Addr.String()
				}
				continue
			}
			mac := n.MAC
			if gateway := t.Nodes[other.Node].Given.Gateway; gateway != (packet.MAC{}) {
				mac = gateway // the host's
			}
			e["port"+number], e["intfName"+number], e["addr"+number] = end.Port, names[end], mac.String()
		}
		g.Links = append(g.Links, e)
	}
	g.Edges = g.Links
	text, err := json.MarshalIndent(g, "", " ")
	if err != nil {
		return err
	}
	return outfile.Write(filepath.Join(dir, TopologyFile), append(text, '\n'), 0o644)
}

// portOf returns the TCP port of an address.
func portOf(addr string) int {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	return n
}

// BesideApp returns the topology.json beside a p4app.json, where p4-utils writes it and
// controllers look for it, or "" for other networks. It returns an error if there is a file
// of that name that p4-utils has not written.
func (p *Plan) BesideApp() (string, error) {
	if p.Topology.App.File == "" {
		return "", nil
	}
	file, err := filepath.Abs(filepath.Join(filepath.Dir(p.Topology.App.File), TopologyFile))
	if err != nil {
		return "", err
	}
	text, err := infile.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return file, nil
	}
	if err != nil {
		return "", err
	}
	var have struct {
		Nodes      []any `json:"nodes"`
		Multigraph *bool `json:"multigraph"`
	}
	if json.Unmarshal(text, &have) != nil || have.Nodes == nil || have.Multigraph == nil {
		return "", fmt.Errorf("%s is not a file of p4-utils, which would write the network's nodes there for controllers: it is left as it is", file)
	}
	return file, nil
}
