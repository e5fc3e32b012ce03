// SPDX-License-Identifier: Apache-2.0

// Package program generates and compiles a profile's program: P4_16 text, BMv2
// JSON, P4Info, and the manifest.
package program

import (
	"errors"
	"fmt"
	"io/fs"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/gen"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/topo"
)

// Program is a profile's program, generated and compiled.
type Program struct {
	Name     string
	P4       []byte
	Manifest *manifest.Manifest
	JSON     []byte // for BMv2 and softswitch; for TNA only softswitch
	P4Info   *p4configv1.P4Info
	Growth   Growth // of frames

	own    *own   // nil for generated programs
	cookie uint64 // of its pipeline, so that it is hashed once and not for every switch
}

// Load returns the built-in profile of a name or, if there is none, reads the file
// of that name.
func Load(name string) (*gen.Profile, error) { return LoadWith(name, infile.Read) }

// LoadWith is Load with a function that reads the file.
func LoadWith(name string, read func(name string) ([]byte, error)) (*gen.Profile, error) {
	for _, n := range gen.Names() {
		if n == name {
			return gen.Builtin(name)
		}
	}
	data, err := read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no profile is called %q%s, and there is no such file; see `pauseless gen --list`", name, diag.DidYouMean(name, gen.Names()))
	}
	if err != nil {
		return nil, err
	}
	return gen.Parse(name, data)
}

// Fit enlarges a profile's sizes for a network, and makes its program follow the
// PFC thresholds if they are dynamic there. It never reduces a size.
func Fit(p *gen.Profile, t *topo.Topology) {
	leaves, ports, hosts := 0, 0, 0
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Kind == topo.Host {
			hosts++
			continue
		}
		ports = max(ports, len(n.Ports))
		leaves = max(leaves, n.Leaf+1)
	}
	grow := func(size *int, need int) {
		for *size < need {
			*size *= 2
		}
	}
	grow(&p.Sizes.Ports, ports+1)
	grow(&p.Sizes.Leaves, leaves)
	grow(&p.Sizes.Hosts, hosts+leaves)
	grow(&p.Sizes.Paths, paths(t))
	if pfc := t.Switch.PFC; pfc.Alpha > 0 && !pfc.Off {
		p.FollowThresholds()
	}
}

// paths returns the greatest number of a switch's uplinks.
func paths(t *topo.Topology) int {
	most := 0
	for i := range t.Nodes {
		up := 0
		for _, p := range t.Nodes[i].Ports {
			if t.Nodes[i].Kind == topo.Switch && t.Nodes[p.Peer].Tier > t.Nodes[i].Tier {
				up++
			}
		}
		most = max(most, up)
	}
	return most
}

// Targets that programs are built for.
const (
	V1Model = "v1model"
	TNA     = "tna"
)

// Build generates a profile's v1model program and compiles it.
func Build(p *gen.Profile) (*Program, error) { return BuildFor(p, V1Model) }

// BuildFor is Build for a target.
func BuildFor(p *gen.Profile, target string) (*Program, error) { return new(Cache).BuildFor(p, target) }

// Pipeline returns the pipeline that a controller sets.
func (p *Program) Pipeline() controlplane.Pipeline {
	return controlplane.Pipeline{P4Info: p.P4Info, Config: p.JSON, Cookie: p.cookie}
}
