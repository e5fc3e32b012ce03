// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/mininet"
	"github.com/pauseless/pauseless/testbed/real/netns"
	"github.com/spf13/cobra"
)

func newDeployMininetCmd() *cobra.Command {
	d := &deployment{}
	var down, write, test bool
	var dir string
	cmd := &cobra.Command{
		Use:   "mininet TOPOLOGY --switch softswitch|bmv2 --profile NAME | --p4 FILE",
		Short: "Build a topology in Mininet, by a script that you can read and change",
		Long: `Write a Python script for Debian's mininet and run it as root. The
script starts the switches, writes their entries and opens Mininet's command line.
With --script it only writes the script, which needs neither root nor Mininet.
--down removes a network, given by its name or its topology file, also after a
crash. With --p4 the switches run a program of your own, as with deploy netns.`,
		Example: `  sudo pauseless deploy mininet fabric.yaml --switch bmv2 --profile drill
  pauseless deploy mininet fabric.yaml --switch bmv2 --profile drill --script --dir out
  sudo out/fabric.py --test
  sudo pauseless deploy mininet pod-topo/topology.json --p4 basic.p4
  sudo pauseless deploy mininet --down fabric`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if down {
				return takeDown(cmd, args)
			}
			if err := d.read(cmd, args); err != nil {
				return err
			}
			if !write && os.Geteuid() != 0 {
				return fmt.Errorf("%w; --script writes the script without running it", netns.ErrRoot)
			}
			if err := netns.CheckName(d.name); err != nil {
				return err
			}
			file, err := d.writeScript(cmd, dir)
			if err != nil {
				return err
			}
			if write {
				fmt.Fprintf(cmd.OutOrStdout(), "%s\nrun it with: sudo %s\n", d.scale(), file)
				return nil
			}
			fmt.Fprintln(cmd.ErrOrStderr(), d.scale())
			defer untilGone(cmd)()
			run := exec.CommandContext(cmd.Context(), file)
			if test {
				run.Args = append(run.Args, "--test")
			}
			run.Stdin, run.Stdout, run.Stderr = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
			return run.Run()
		},
	}
	d.flags(cmd)
	cmd.Flags().BoolVar(&down, "down", false, "remove a network, by its name or its topology file")
	cmd.Flags().BoolVar(&write, "script", false, "write the script without running it")
	cmd.Flags().BoolVar(&test, "test", false, "ping between all hosts, and exit")
	cmd.Flags().StringVar(&dir, "dir", ".", "`FOLDER`: where to write the script and the switches' configurations")
	return cmd
}

// writeScript writes the script and the files that it needs to dir, and returns
// the script's path.
func (d *deployment) writeScript(cmd *cobra.Command, dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	topology, err := filepath.Abs(d.file)
	if err != nil {
		return "", err
	}
	run := filepath.Join(netns.RunDir, d.name)
	described := filepath.Join(dir, d.name+".p4utils")
	if err := errors.Join(os.MkdirAll(described, 0o755), d.lab.WriteP4Utils(described)); err != nil {
		return "", err
	}
	to := []string{filepath.Join(run, local.TopologyFile)}
	if beside := d.besideApp(cmd); beside != "" {
		to = append(to, beside)
	}
	recirculation, pps := d.lab.RecirculationPort()
	text, err := mininet.Script(mininet.Config{
		Recirculation: recirculation, RecirculationPPS: pps,
		Name: d.name, Plan: d.lab.Plan, Program: d.lab.Program.Name, QueuePackets: d.lab.QueuePackets(),
		Command: func(s *local.Switch) ([]string, error) {
			program, args, err := d.lab.Command(s, dir)
			return append([]string{program}, args...), err
		},
		Apply: append([]string{self}, d.applyArgs(topology)...), Pauseless: self,
		Relay:   []string{self, "deploy", "relay", filepath.Join(run, "relay.json")},
		P4Utils: filepath.Join(described, local.TopologyFile), P4UtilsTo: to, RunDir: run,
	})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, d.name+".py")
	return file, outfile.Write(file, text, 0o755)
}
