// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/netns"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/spf13/cobra"
)

// deployed describes a network that deploy has built, for ctl and live. It is
// stored in a file beside the network's logs.
type deployed struct {
	Name     string           `json:"name,omitempty"`  // of the network; earlier versions wrote none
	Topology string           `json:"topology"`        // file
	Scale    int64            `json:"scale,omitempty"` // factor by which links are slower
	Switches []deployedSwitch `json:"switches"`
	// Case and Seed name the run of an experiment that the network is for.
	Case string `json:"case,omitempty"`
	Seed uint64 `json:"seed,omitempty"`
}

type deployedSwitch struct {
	Name   string `json:"name"`
	Addr   string `json:"addr"`
	Device uint64 `json:"device"`
	Thrift string `json:"thrift,omitempty"`
	// Metrics is host:port; Interfaces are those of the ports, from 1.
	Metrics    string   `json:"metrics,omitempty"`
	Interfaces []string `json:"interfaces,omitempty"`
}

func deployedFile(name string) string { return filepath.Join(netns.Dir(name), "network.json") }

// note writes the file, and p4-utils' topology.json beside a p4app.json.
func (d *deployment) note(cmd *cobra.Command) error {
	file, err := filepath.Abs(d.file)
	if err != nil {
		return err
	}
	if err := noteNetwork(d.name, file, d.lab, "", 0); err != nil {
		return err
	}
	beside := d.besideApp(cmd)
	if beside == "" {
		return nil
	}
	text, err := infile.Read(filepath.Join(netns.Dir(d.name), local.TopologyFile))
	if err != nil {
		return err
	}
	return outfile.Write(beside, text, 0o644)
}

// besideApp returns where controllers of a p4app.json look for p4-utils' topology.json, or "".
func (d *deployment) besideApp(cmd *cobra.Command) string {
	file, err := d.lab.Plan.BesideApp()
	if err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning:", err)
	}
	return file
}

// noteScenario writes the file of a network that runs a scenario, whose text it keeps
// beside it, and of which it runs one case with a seed; "": several.
func noteScenario(name string, text []byte, lab *local.Lab, of string, seed uint64) error {
	file := filepath.Join(netns.Dir(name), "scenario.yaml")
	if err := outfile.Write(file, text, 0o644); err != nil {
		return err
	}
	return noteNetwork(name, file, lab, of, seed)
}

func noteNetwork(name, file string, lab *local.Lab, of string, seed uint64) error {
	n := deployed{Name: name, Topology: file, Scale: lab.Plan.Scale, Case: of, Seed: seed}
	for i, t := range lab.Targets() {
		s := deployedSwitch{Name: t.Name, Addr: t.Addr, Device: t.DeviceID, Thrift: t.Thrift, Metrics: lab.Plan.Switches[i].Metrics}
		for _, p := range lab.Plan.Switches[i].Ports {
			s.Interfaces = append(s.Interfaces, p.Interface)
		}
		n.Switches = append(n.Switches, s)
	}
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	if err := lab.WriteP4Utils(netns.Dir(name)); err != nil {
		return err
	}
	return outfile.Write(deployedFile(name), result.Seal(text), 0o644)
}

// deployedTargets returns the switches of a network by its name, and the file
// of its topology.
func deployedTargets(name string) ([]controlplane.Target, string, error) {
	n, err := readDeployed(name)
	if err != nil {
		return nil, "", err
	}
	var targets []controlplane.Target
	for _, s := range n.Switches {
		targets = append(targets, controlplane.Target{Name: s.Name, Addr: s.Addr, DeviceID: s.Device, Thrift: s.Thrift})
	}
	return targets, n.Topology, nil
}

// readDeployed reads the file of a network by its name.
func readDeployed(name string) (*deployed, error) {
	up, err := netns.List()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(up, name) {
		if len(up) == 0 {
			return nil, fmt.Errorf("network %s is not up, nor is another; `pauseless deploy netns` builds a network", name)
		}
		return nil, fmt.Errorf("no network %s is up%s", name, diag.OneOf(name, up))
	}
	text, err := infile.Read(deployedFile(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("network %s is not ready yet, or was built by a Mininet script: give --addr", name)
	}
	if err != nil {
		return nil, err
	}
	var n deployed
	if err := cmp.Or(result.CheckSeal(text), infile.JSON(text, &n)); err != nil {
		return nil, fmt.Errorf("%s: %w", deployedFile(name), err)
	}
	if n.Name != "" && n.Name != name {
		return nil, fmt.Errorf("%s describes network %s; move it to %s, or name switches with --addr", deployedFile(name), n.Name, netns.Dir(n.Name))
	}
	return &n, nil
}
