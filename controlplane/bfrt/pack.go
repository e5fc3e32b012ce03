// SPDX-License-Identifier: Apache-2.0

package bfrt

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/pauseless/pauseless/controlplane/bfrt/bfrtpb"
	"github.com/pauseless/pauseless/internal/infile"
	"google.golang.org/protobuf/proto"
)

// Program is the compiler's output for a program.
type Program struct {
	Name    string
	Info    []byte // bfrt.json
	Context []byte // pipe/context.json
	Binary  []byte // pipe/tofino.bin
	Pipes   []uint32
}

// ReadProgram reads a program from p4c-barefoot's output folder, for the given
// pipelines.
func ReadProgram(name, dir string, pipes ...uint32) (*Program, error) {
	if len(pipes) == 0 {
		return nil, fmt.Errorf("program %s: which pipelines?", name)
	}
	p := &Program{Name: name, Pipes: pipes}
	for i, to := range []*[]byte{&p.Info, &p.Context, &p.Binary} {
		data, err := infile.Read(filepath.Join(dir, []string{"bfrt.json", "pipe/context.json", "pipe/tofino.bin"}[i]))
		if err != nil {
			return nil, fmt.Errorf("program %s: %w; `pauseless tofino build` writes this file", name, err)
		}
		*to = data
	}
	info, err := ParseInfo(p.Info)
	if err == nil && len(info.tables) == 0 {
		err = errors.New("bfrt.json: it has no tables")
	}
	if err != nil {
		return nil, fmt.Errorf("program %s, in %s: %w; `pauseless tofino build` makes it again", name, dir, err)
	}
	return p, nil
}

func (p *Program) config() *bfrtpb.ForwardingPipelineConfig {
	return &bfrtpb.ForwardingPipelineConfig{P4Name: p.Name, BfruntimeInfo: p.Info, Profiles: []*bfrtpb.ForwardingPipelineConfig_Profile{
		{ProfileName: "pipe", Context: p.Context, Binary: p.Binary, PipeScope: p.Pipes},
	}}
}

// Pack returns the program in the form that Stratum requires in P4Runtime's
// p4_device_config: a BfPipelineConfig (stratum/hal/lib/barefoot/bf.proto),
// whose fields equal those of BF Runtime's own message.
func (p *Program) Pack() ([]byte, error) {
	return proto.MarshalOptions{Deterministic: true}.Marshal(p.config())
}
