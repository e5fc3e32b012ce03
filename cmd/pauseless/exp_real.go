// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/real/live"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/netns"
	"github.com/pauseless/pauseless/testbed/result"
)

// expReal are the flags of experiments on real switches.
type expReal struct {
	bmv2, prefix string
	tries        int
}

func (r *expReal) add(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&r.bmv2, "bmv2", os.Getenv("BMV2"), "`FILE`: with --on: simple_switch_grpc, or its folder (default: $BMV2, or PATH)")
	fl.StringVar(&r.prefix, "prefix", "", "`TEXT`: with --on netns: begins the names of the switches' interfaces")
	fl.IntVar(&r.tries, "tries", 3, "with --on: how often to repeat a run that this machine disturbs")
}

// onReal are the networks that --on names.
var onReal = []string{"netns", "mininet"}

// prepare has the plans made on real switches.
func (r *expReal) prepare(cmd *cobra.Command, on string, kind local.Kind, plans []*exp.Plan, o *exp.Options) error {
	if kind != local.BMv2 && kind != local.SoftSwitch {
		return usageErrorf(cmd, "--switch is softswitch or bmv2, not %q", kind)
	}
	if on == "mininet" && r.prefix != "" {
		return usageErrorf(cmd, "--prefix is for --on netns: in Mininet interfaces are called SWITCH-ethN")
	}
	if err := netns.Possible(); err != nil {
		return err
	}
	m := &live.Maker{Tries: r.tries, Options: live.Options{
		Local: local.Options{Kind: kind, Free: true, Prefix: r.prefix}, Mininet: on == "mininet",
		Say: func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) },
	}}
	var err error
	if m.Pauseless, err = os.Executable(); err != nil {
		return err
	}
	if kind == local.BMv2 {
		if m.SimpleSwitch, err = local.FindSimpleSwitch(r.bmv2); err != nil {
			return err
		}
	}
	for _, p := range plans {
		if err := m.Check(p.Scenario); err != nil {
			return fmt.Errorf("%s: %w", p.Scenario.Name, err)
		}
	}
	named := func(p *exp.Plan) string { return networkName(p.Scenario.Name, p.Scenario.Name) }
	m.Named = named
	m.Noted = func(p *exp.Plan, j exp.Job, lab *local.Lab) error {
		return noteScenario(named(p), p.Scenario.Text(), lab, p.Case(j).String(), j.Seed)
	}
	o.Maker, o.Parallel = m, 1
	return nil
}

// versions describes the tools of real runs.
func (r *expReal) versions(on string, kind local.Kind) string {
	place := map[string]string{"netns": "network namespaces", "mininet": "Mininet"}[on]
	what := "pauseless switch"
	if kind == local.BMv2 {
		what = "simple_switch_grpc"
		if path, err := local.FindSimpleSwitch(r.bmv2); err == nil {
			if out, err := exec.Command(path, "--version").Output(); err == nil {
				what += " " + strings.TrimSpace(string(out))
			}
		}
	}
	if on == "mininet" {
		if out, err := exec.Command("mn", "--version").CombinedOutput(); err == nil {
			place += " " + strings.TrimSpace(string(out))
		}
	}
	kernel, _ := infile.Read("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("on %s in %s, Linux %s, %d processors", what, place, strings.TrimSpace(string(kernel)), runtime.NumCPU())
}

// agreementFile has the comparison of an outcome with that of the fabric.
const agreementFile = "agreement.md"

// agree makes the runs of an outcome on real switches in virtual time, and compares both.
func agree(cmd *cobra.Command, p *exp.Plan, store *exp.Store, out *result.Outcome, o exp.Options) (*result.Agreement, error) {
	var seeds []uint64
	for _, c := range out.Cells {
		for _, s := range c.Seeds {
			if !slices.Contains(seeds, s) {
				seeds = append(seeds, s)
			}
		}
	}
	if len(seeds) == 0 {
		return nil, errors.New("no run was made on real switches")
	}
	slices.Sort(seeds)
	v, err := p.Seeded(seeds)
	if err != nil {
		return nil, err
	}
	same, err := exp.Run(cmd.Context(), v, store, exp.Options{Parallel: runtime.GOMAXPROCS(0), Threads: o.Threads})
	if err != nil {
		return nil, err
	}
	a := &result.Agreement{Real: out, Virtual: same}
	a.Registers, err = result.AgreeOn(p.Runs(store, out), v.Runs(store, same))
	return a, err
}

// writeAgreement prints the comparison, and writes it to a file in the outcome's folder.
func writeAgreement(w io.Writer, dir string, a *result.Agreement) error {
	fmt.Fprintln(w, "\nthe same runs in the fabric:")
	if err := a.Write(w); err != nil {
		return err
	}
	return writeFile(filepath.Join(dir, agreementFile), a.Write)
}
