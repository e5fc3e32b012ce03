// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/internal/tool"
	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/exp/farm"
)

// addServer adds the flags for the connection to a NATS server.
func addServer(cmd *cobra.Command, o *farm.Options) {
	fl := cmd.Flags()
	fl.StringVar(&o.Credentials, "creds", "", "file with NATS credentials")
	fl.StringVar(&o.CA, "tls-ca", "", "file with certificates of authorities for TLS")
	fl.StringVar(&o.Cert, "tls-cert", "", "file with the certificate of this client")
	fl.StringVar(&o.Key, "tls-key", "", "file with the private key")
	fl.DurationVar(&o.Lease, "lease", 30*time.Second, "time without a message from a worker after which its run is given to another")
}

func newExpWorkerCmd() *cobra.Command {
	var o farm.Options
	var w farm.Worker
	cmd := &cobra.Command{
		Use:   "worker URL",
		Short: "Execute runs that `exp run --workers` offers on a NATS server",
		Long: `Takes jobs from a NATS server with JetStream, executes the runs and returns the
results. Any number of workers may start and stop at any time: every run counts
once. A worker must be the same build of the program as the one that offers the
jobs, and files that an experiment refers to must exist under the same names.`,
		Example: "  pauseless exp worker nats://10.0.0.1:4222\n  pauseless exp worker tls://nats.example.org:4222 --creds worker.creds --idle 10m",
	}
	addServer(cmd, &o)
	fl := cmd.Flags()
	fl.IntVar(&w.Parallel, "parallel", runtime.GOMAXPROCS(0), "how many runs to execute at the same time")
	fl.IntVar(&w.Threads, "threads", 1, "goroutines of each run")
	fl.DurationVar(&w.Idle, "idle", 0, "exit after this time without a job (default: never)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageErrorf(cmd, "want the URL of a NATS server")
		}
		if w.Parallel < 1 || w.Threads < 1 {
			return usageErrorf(cmd, "--parallel and --threads are at least 1")
		}
		o.URL = args[0]
		o.Log = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) }
		f, err := farm.Connect(cmd.Context(), o)
		if err != nil {
			return err
		}
		defer f.Close()
		fmt.Fprintf(cmd.ErrOrStderr(), "worker of build %s at %s, %d runs at a time\n", exp.Version(), o.URL, w.Parallel)
		return f.Work(cmd.Context(), w)
	}
	return cmd
}

// manyJobs is the number of runs that are offered to workers at a time.
const manyJobs = 1000

// useWorkers sets up o so that workers execute the runs of an experiment. End
// closes the connection to the server.
func useWorkers(cmd *cobra.Command, s farm.Options, store string, o *exp.Options) (end func(), err error) {
	end = func() {}
	if s.URL == "local" {
		if end, err = localServer(cmd, store); err != nil {
			return nil, err
		}
		s.URL = localURL
	}
	s.Log = newExpBar(cmd.ErrOrStderr()).interrupt
	f, err := farm.Connect(cmd.Context(), s)
	if err != nil {
		end()
		return nil, err
	}
	if err := f.Offer(cmd.Context()); err != nil {
		f.Close()
		end()
		return nil, err
	}
	o.Maker, o.Parallel = f, manyJobs
	fmt.Fprintf(cmd.ErrOrStderr(), "build %s offers jobs at %s; workers join with `pauseless exp worker %[2]s`\n", exp.Version(), s.URL)
	stop := end
	return func() { f.Close(); stop() }, nil
}

const (
	localAddress = "127.0.0.1:4222"
	localURL     = "nats://" + localAddress
)

// localServer runs a NATS server on loopback, with its files in the store.
func localServer(cmd *cobra.Command, store string) (end func(), err error) {
	path, err := tool.Find("", "NATS_SERVER", "nats-server")
	if err != nil {
		return nil, fmt.Errorf("%w; install nats-server, or give the URL of one", err)
	}
	server := exec.CommandContext(cmd.Context(), path, "-js", "-a", "127.0.0.1", "-p", "4222", "-sd", filepath.Join(store, "nats"))
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	for { // until it listens
		if c, err := net.Dial("tcp", localAddress); err == nil {
			c.Close()
			return func() { server.Process.Signal(os.Interrupt); <-ended }, nil
		}
		select {
		case err := <-ended:
			return nil, fmt.Errorf("%s has ended: %w", path, cmp.Or(err, errors.New("no reason given")))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
