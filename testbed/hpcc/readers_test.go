// SPDX-License-Identifier: Apache-2.0

package hpcc

import (
	"github.com/pauseless/pauseless/fabric"
	"github.com/pauseless/pauseless/internal/topo"
)

func parseTopology(name, text string, sw topo.SwitchConfig) (*topo.Topology, error) {
	return newReader(name, text).topologyFor(sw, nil)
}

func parseFlows(name, text string, t *topo.Topology) ([]fabric.Flow, Dialect, error) {
	return newReader(name, text).flows(t)
}
