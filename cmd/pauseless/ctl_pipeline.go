// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/infocheck"
	"github.com/pauseless/pauseless/internal/outfile"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func newCtlPipelineCmd(c *ctl) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pipeline",
		Short: "Show, fetch, verify or set the program that switches run",
		Example: `  pauseless ctl --addr :9559 pipeline get
  pauseless ctl --addr :9559 pipeline set --p4info p.p4info.txtpb --config p.json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	var info, config string
	get := &cobra.Command{
		Use: "get", Short: "Show what the switches run, and save it",
		Example: `  pauseless ctl --addr :9559 pipeline get
  pauseless ctl --addr :9559 pipeline get --p4info p.p4info.txtpb --config p.json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.getPipeline(cmd, info, config) },
	}
	get.Flags().StringVar(&info, "p4info", "", "`FILE`: save the P4Info as text")
	get.Flags().StringVar(&config, "config", "", "`FILE`: save the device configuration (BMv2 JSON)")
	cmd.AddCommand(get, c.pushCmd("set", "Load a program into the switches; their tables become empty", (*controlplane.Session).SetPipeline),
		c.pushCmd("verify", "Check whether the switches could run a program, without loading it", (*controlplane.Session).VerifyPipeline))
	return cmd
}

func (c *ctl) pushCmd(verb, short string, push func(*controlplane.Session, context.Context, controlplane.Pipeline) error) *cobra.Command {
	var info, config string
	var cookie uint64
	cmd := &cobra.Command{
		Use: verb + " --p4info FILE --config FILE", Short: short,
		Example: fmt.Sprintf("  pauseless ctl --addr :9559 pipeline %s --p4info p.p4info.txtpb --config p.json", verb),
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if info == "" || config == "" {
				return usageErrorf(cmd, "give both --p4info and --config")
			}
			p, err := readPipeline(info, config)
			if err != nil {
				return err
			}
			p.Cookie = cookie
			return c.writeEach(cmd, func(ctx context.Context, s *controlplane.Session) error { return push(s, ctx, p) })
		},
	}
	cmd.Flags().StringVar(&info, "p4info", "", "`FILE`: P4Info, text or binary (required)")
	cmd.Flags().StringVar(&config, "config", "", "`FILE`: device configuration, for instance BMv2 JSON (required)")
	cmd.Flags().Uint64Var(&cookie, "cookie", 0, "`NUMBER`: identifies the program (default: a hash of it)")
	cmd.MarkFlagFilename("p4info")
	cmd.MarkFlagFilename("config")
	return cmd
}

// readPipeline reads a program from its two files.
func readPipeline(info, config string) (controlplane.Pipeline, error) {
	var p controlplane.Pipeline
	var err error
	if p.P4Info, err = readP4Info(info); err != nil {
		return p, err
	}
	if strings.HasSuffix(config, ".p4") {
		out := strings.TrimSuffix(config, ".p4")
		return p, fmt.Errorf("%s is P4 text; compile it, and give the output to --config: `pauseless compile %s -o %s.json --p4info %s.txtpb`", config, config, out, out)
	}
	p.Config, err = infile.Read(config)
	return p, err
}

// readP4Info reads a P4Info in the text format or, by the file's name, the
// binary one.
func readP4Info(file string) (*p4configv1.P4Info, error) {
	p := new(p4configv1.P4Info)
	text, err := infile.Read(file)
	if err != nil {
		return nil, err
	}
	// Text begins with a letter or a comment; in the binary format the first
	// byte is a tag.
	if strings.HasSuffix(file, ".bin") || strings.HasSuffix(file, ".pb") {
		err = proto.Unmarshal(text, p)
	} else {
		// p4c's P4Info for a Tofino has fields and messages of Barefoot's own,
		// which are ignored.
		if err = (prototext.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, p); err != nil {
			return nil, schema.ProtoError(file, "p4.config.v1.P4Info", err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a P4Info: %w", file, err)
	}
	if err := infocheck.Check(p); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

func (c *ctl) getPipeline(cmd *cobra.Command, info, config string) error {
	return c.reading(cmd, func(out *printer, f *controlplane.Fabric) error {
		if info != "" || config != "" {
			s, err := c.one(cmd, f)
			if err != nil {
				return err
			}
			p, err := s.FetchPipeline(cmd.Context())
			if err != nil {
				return err
			}
			return savePipeline(s.Name(), p, info, config)
		}
		list := out.table("", both("switch"), both("cookie"), both("arch"), both("tables"), both("registers"), both("digests"), inTable("config"), inJSON("config_bytes"))
		for _, s := range f.Sessions() {
			p, err := s.FetchPipeline(cmd.Context())
			if err != nil {
				return err
			}
			i, size := p.P4Info, len(p.Config)
			if err := list.add(s.Name(), fmt.Sprintf("%#x", p.Cookie), i.GetPkgInfo().GetArch(), len(i.GetTables()),
				len(i.GetRegisters()), len(i.GetDigests()), fmt.Sprintf("%d bytes", size), size); err != nil {
				return err
			}
		}
		list.end()
		return nil
	})
}

func savePipeline(name string, p controlplane.Pipeline, info, config string) error {
	if info != "" {
		text, err := prototext.MarshalOptions{Multiline: true}.Marshal(p.P4Info)
		if err != nil {
			return err
		}
		if err := outfile.Write(info, text, 0o644); err != nil {
			return err
		}
	}
	if config != "" {
		if len(p.Config) == 0 {
			return fmt.Errorf("%s does not return its device configuration; leave --config out", name)
		}
		return outfile.Write(config, p.Config, 0o644)
	}
	return nil
}
