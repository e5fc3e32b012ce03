// SPDX-License-Identifier: Apache-2.0

package live

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/testbed/real/local"
	"github.com/pauseless/pauseless/testbed/real/mininet"
	"github.com/pauseless/pauseless/testbed/real/netns"
)

// script is a running script of Mininet.
type script struct {
	dir   string // of the script and the switches' configurations
	cmd   *exec.Cmd
	stdin io.Closer
	says  *bytes.Buffer
	done  chan struct{}
}

// patience is how long Mininet may take to build or remove a network.
const patience = 2 * time.Minute

// upMininet has Mininet build the network, and controls its switches.
func upMininet(ctx context.Context, lab *local.Lab, o Options) (_ *network, err error) {
	dir, err := os.MkdirTemp("", "pauseless-mininet")
	if err != nil {
		return nil, err
	}
	s := &script{dir: dir, says: new(bytes.Buffer), done: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.end(nil))
			netns.Down(o.Name) // what the script has left, if anything
		}
	}()
	recirculation, pps := lab.RecirculationPort()
	relay := filepath.Join(netns.Dir(o.Name), "relay.json")
	program, args, err := lab.RelayCommand(relay)
	if err != nil {
		return nil, err
	}
	text, err := mininet.Script(mininet.Config{
		Name: o.Name, Plan: lab.Plan, Program: lab.Program.Name, QueuePackets: lab.QueuePackets(),
		Recirculation: recirculation, RecirculationPPS: pps,
		Command: func(sw *local.Switch) ([]string, error) {
			program, args, err := lab.Command(sw, dir)
			return append([]string{program}, args...), err
		},
		Relay: append([]string{program}, args...), Pauseless: o.Pauseless, RunDir: netns.Dir(o.Name),
	})
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, o.Name+".py")
	if err := outfile.Write(file, text, 0o755); err != nil {
		return nil, err
	}
	s.cmd = exec.Command(file, "--serve")
	s.cmd.Stderr = s.says
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	ready := make(chan bool, 1)
	go func() {
		for in := bufio.NewScanner(out); in.Scan(); {
			if strings.TrimSpace(in.Text()) == "ready" {
				ready <- true
			}
		}
		s.cmd.Wait()
		close(s.done)
	}()
	select {
	case <-ready:
	case <-s.done:
		return nil, fmt.Errorf("the script of Mininet ended: %s", tail(s.says.String()))
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(patience):
		return nil, fmt.Errorf("there is no network after %v: Mininet still builds it", patience)
	}
	nn, err := netns.Adopt(netns.Config{Name: o.Name, Plan: lab.Plan})
	if err != nil {
		return nil, err
	}
	n := &network{Network: Network{Network: nn}, lab: lab, script: s}
	for _, h := range lab.Plan.Hosts {
		if err := nn.WithinHost(h.Name, netns.DropRoCE); err != nil {
			return nil, err
		}
	}
	if err := n.control(ctx, o); err != nil {
		return nil, errors.Join(err, n.down())
	}
	return n, nil
}

// end ends the script, which removes the network, or removes it if the script does not.
func (s *script) end(n *netns.Network) error {
	defer os.RemoveAll(s.dir)
	if s.cmd == nil {
		return nil
	}
	s.stdin.Close()
	select {
	case <-s.done:
	case <-time.After(patience):
		s.cmd.Process.Kill()
		<-s.done
	}
	if n == nil {
		return nil
	}
	if _, err := os.Stat(netns.Dir(n.Name)); os.IsNotExist(err) {
		return nil // the script has removed it
	}
	return n.Down()
}

// tail returns the last lines of a text.
func tail(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-5):], "\n  ")
}
