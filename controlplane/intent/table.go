// SPDX-License-Identifier: Apache-2.0

package intent

import (
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/manifest"
)

// tables adds the entries that the manifest requires. The program's annotations
// determine the ports and the arguments. No scheme has code here.
func (b *builder) tables() {
	for i := range b.manifest.Tables {
		t := &b.manifest.Tables[i]
		for _, of := range t.Sessions {
			b.sessionsOf(t.Name, of)
		}
		switch t.Entries {
		case "":
		case "switch":
			b.defaultEntry(t)
		case "leaf":
			if b.node.Leaf >= 0 {
				b.defaultEntry(t)
			}
		case "hosts":
			b.hostEntries(t)
		default:
			for _, p := range b.portsOf(t.Name, t.Entries) {
				b.portEntry(t, p)
			}
		}
	}
}

// portsOf returns the ports selected by an annotation.
func (b *builder) portsOf(table, which string) []int {
	switch which {
	case "all_ports":
		return b.allPorts()
	case "fabric_ports":
		return b.fabricPorts()
	}
	b.fail(fmt.Errorf("table %s: the manifest asks for entries of %q; it must name all_ports, fabric_ports, leaf or switch", table, which))
	return nil
}

// probeSessions is the offset of the clone sessions for a port's probes.
const probeSessions = 256

// sessionsOf adds a clone session for each selected port for messages. Sessions
// for probes of a leaf have the class that they measure.
func (b *builder) sessionsOf(table, which string) {
	if which != "probes" {
		for _, p := range b.portsOf(table, which) {
			b.session(p, p, messageClass)
		}
		return
	}
	if b.node.Leaf >= 0 {
		for _, p := range b.fabricPorts() {
			b.session(probeSessions+p, p, manifest.LosslessClass)
		}
	}
}

// defaultEntry sets a table's default entry from the network at the uplinks.
func (b *builder) defaultEntry(t *manifest.Table) {
	b.add(schema.Entry{Table: t.Name, Default: true, Action: t.Action, Args: b.arguments(t, b.uplink(), b.nodeValues())})
}

// portEntry adds the entry of a port. If the key has a class, it is the
// lossless class.
func (b *builder) portEntry(t *manifest.Table, port int) {
	in, err := b.schema.Table(t.Name)
	if err != nil {
		b.fail(err)
		return
	}
	var match []schema.Match
	for _, f := range in.Fields {
		if f.Name == "priority" {
			match = append(match, schema.Eq(f.Name, manifest.LosslessClass))
		} else {
			match = append(match, schema.Eq(f.Name, port))
		}
	}
	b.add(schema.Entry{Table: t.Name, Match: match, Action: t.Action, Args: b.portArguments(t, port)})
}

// portNetwork is what a table's arguments depend on, beside the switch.
type portNetwork struct {
	table       string
	network     manifest.Network
	path, relay int // of the port, if formulas use them
}

// portArguments returns the arguments for a port. Most ports of a switch have
// the same.
func (b *builder) portArguments(t *manifest.Table, port int) []schema.Arg {
	key := portNetwork{table: t.Name, network: b.port(port)}
	for _, a := range t.Args {
		if strings.Contains(string(a.Value), "port.path") {
			key.path = b.path(port)
		}
		if strings.Contains(string(a.Value), "port.relay") {
			key.relay = b.relay(port)
		}
	}
	args, ok := b.ofPorts[key]
	if !ok {
		values := b.nodeValues()
		values["port.path"], values["port.relay"] = float64(key.path), float64(key.relay)
		args = b.arguments(t, key.network, values)
		b.ofPorts[key] = args
	}
	return args
}

// nodeValues returns the switch's values for formulas. A warning from a leaf
// concerns packets to that leaf, and is relayed by as many switches as there
// are on the path to another leaf. Others concern all packets on the path. The number of
// paths is that to the leaf with most.
func (b *builder) nodeValues() map[string]float64 {
	const scopeAll = 0xffff
	scope, relays := scopeAll, 0
	if b.node.Leaf >= 0 {
		scope, relays = b.node.Leaf, max(2*(b.tiers-1)-1, 0)
	}
	paths := 0
	for _, h := range b.nextHops {
		paths = max(paths, h.count)
	}
	return map[string]float64{
		"node.paths": float64(paths),
		"node.id":    float64(b.node.DeviceID), "node.id12": float64(b.node.DeviceID & 0xfff), "node.mac": macValue(b.node.MAC),
		"node.leaf": float64(b.node.Leaf), "node.scope": float64(scope), "node.relays": float64(relays),
	}
}

// settings sets the parameters of the whole switch: the default entries of
// tables without a key.
func (b *builder) settings() {
	for i := range b.manifest.Tables {
		t := &b.manifest.Tables[i]
		in, err := b.schema.Table(t.Name)
		if err != nil {
			b.fail(fmt.Errorf("the manifest names a table that the program does not have: %w", err))
			continue
		}
		if t.Kind == "settings" && t.Action != "" && len(in.Fields) == 0 {
			b.defaultEntry(t)
		}
	}
}

// arguments returns the arguments of a table's action for a network.
func (b *builder) arguments(t *manifest.Table, n manifest.Network, values map[string]float64) []schema.Arg {
	if len(t.Args) == 0 {
		return nil
	}
	list, err := b.manifest.Args(t.Name, n, values)
	if err != nil {
		b.fail(err)
	}
	var args []schema.Arg
	for _, a := range list {
		args = append(args, schema.Arg{Name: a.Name, Value: a.Value})
	}
	return args
}
