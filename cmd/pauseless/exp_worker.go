// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/outfile"
	"github.com/pauseless/pauseless/internal/tool"
	"github.com/pauseless/pauseless/testbed/exp"
	"github.com/pauseless/pauseless/testbed/exp/farm"
)

// keyName is the name of the key that `exp run` makes in the store.
const keyName = "farm.key"

// addServer adds the flags for the connection to a NATS server.
func addServer(cmd *cobra.Command, o *farm.Options, key *string, missing string) {
	fl := cmd.Flags()
	fl.StringVar(key, "key", "", "`FILE`: key that exp run and its workers share"+missing)
	fl.StringVar(&o.Credentials, "creds", "", "`FILE`: NATS credentials")
	fl.StringVar(&o.CA, "tls-ca", "", "`FILE`: certificates of authorities for TLS, PEM")
	fl.StringVar(&o.Cert, "tls-cert", "", "`FILE`: certificate of this client, PEM")
	fl.StringVar(&o.Key, "tls-key", "", "`FILE`: private key of the certificate, PEM")
	fl.DurationVar(&o.Lease, "lease", 30*time.Second, "time without a message from a worker after which its run is given to another")
}

func newExpWorkerCmd() *cobra.Command {
	var o farm.Options
	var w farm.Worker
	var key string
	cmd := &cobra.Command{
		Use:   "worker URL",
		Short: "Execute runs that `exp run --workers` offers on a NATS server",
		Long: `Take jobs from a NATS server with JetStream, execute the runs and return the
results. Any number of workers may start and stop at any time: every run counts
once. A worker must be the same build of the program as the exp run that offers the
jobs. Both need the key that exp run made in its store, and refuse messages that are
not signed with it: copy the file over a channel that others cannot read. A worker
reads no files of its machine for an experiment.`,
		Example: "  pauseless exp worker nats://10.0.0.1:4222 --key farm.key\n  pauseless exp worker tls://nats.example.org:4222 --key farm.key --creds worker.creds --idle 10m",
	}
	addServer(cmd, &o, &key, " (required)")
	fl := cmd.Flags()
	fl.IntVar(&w.Parallel, "parallel", runtime.GOMAXPROCS(0), "how many runs to execute at the same time; the default is the number of CPUs")
	fl.IntVar(&w.Threads, "threads", 1, "threads of each run; results do not depend on it")
	fl.IntVar(&w.Tries, "tries", 5, "how many workers get a run that none of them finishes, before it counts as failed")
	fl.DurationVar(&w.Idle, "idle", 0, "exit after this time without a job, as in 10m (default: never)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageErrorf(cmd, "expected the URL of a NATS server")
		}
		if w.Parallel < 1 || w.Parallel > maxParallel || w.Threads < 1 || w.Tries < 1 {
			return usageErrorf(cmd, "--parallel is from 1 to %d, --threads and --tries are at least 1", maxParallel)
		}
		if key == "" {
			return usageErrorf(cmd, "a worker needs --key FILE: the file that `exp run --workers` made, %s in its store", keyName)
		}
		var err error
		if o.Secret, err = farm.ReadKey(key); err != nil {
			return fmt.Errorf("--key: %w", err)
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

// maxParallel is the largest number of runs of a worker at a time.
const maxParallel = 1024

// manyJobs is the number of runs that are offered to workers at a time.
const manyJobs = 1000

// useWorkers sets up o so that workers execute the runs of an experiment. End
// closes the connection to the server.
func useWorkers(cmd *cobra.Command, s farm.Options, key, store string, o *exp.Options) (end func(), err error) {
	s.Stall = o.Stall
	if key == "" {
		key = filepath.Join(store, keyName)
	}
	if s.Secret, err = farm.MakeKey(key); err != nil {
		return nil, fmt.Errorf("--key: %w", err)
	}
	end = func() {}
	if s.URL == "local" {
		if s.URL, end, err = localServer(cmd, store, s.Secret); err != nil {
			return nil, err
		}
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
	fmt.Fprintf(cmd.ErrOrStderr(), "build %s offers jobs at %s; workers join with `pauseless exp worker %[2]s --key %s`\n", exp.Version(), s.URL, shellWord(key))
	stop := end
	return func() { f.Close(); stop() }, nil
}

// localServer runs a NATS server on a free port of loopback, with its files in the
// store. It asks for the token of the key. Its files are in a folder that only this
// user can read; the server writes its port there, so that no other program on some
// port is taken for it.
func localServer(cmd *cobra.Command, store string, key farm.Key) (url string, end func(), err error) {
	path, err := tool.Find("", "NATS_SERVER", "nats-server")
	if err != nil {
		return "", nil, fmt.Errorf("%w; install nats-server, or give the URL of one", err)
	}
	dir, err := filepath.Abs(filepath.Join(store, "nats"))
	if err != nil {
		return "", nil, err
	}
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.Chmod(dir, 0o700)); err != nil {
		return "", nil, err
	}
	old, err := filepath.Glob(filepath.Join(dir, "*_*.ports"))
	if err != nil {
		return "", nil, err
	}
	for _, name := range old { // NAME_PID.ports
		pid, err := strconv.Atoi(strings.TrimSuffix(name[strings.LastIndexByte(name, '_')+1:], ".ports"))
		if err == nil && syscall.Kill(pid, 0) != syscall.ESRCH {
			return "", nil, fmt.Errorf("process %d is a NATS server with files in %s already, of another exp run; give its URL, which is in %s, or another --store", pid, dir, name)
		}
		os.Remove(name)
	}
	config := filepath.Join(dir, "server.conf")
	text := fmt.Sprintf("host: 127.0.0.1\nport: -1\nports_file_dir: %q\njetstream {store_dir: %q}\nauthorization {token: %q}\n", dir, dir, key.Token())
	if err := outfile.Write(config, []byte(text), 0o600); err != nil {
		return "", nil, err
	}
	server := exec.CommandContext(cmd.Context(), path, "-c", config)
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		return "", nil, err
	}
	ports := filepath.Join(dir, fmt.Sprintf("%s_%d.ports", filepath.Base(path), server.Process.Pid))
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	stop := func() { server.Process.Signal(os.Interrupt); <-ended }
	for { // until it listens
		if text, err := infile.ReadUpTo(ports, 1<<16); err == nil {
			var at struct {
				NATS []string `json:"nats"`
			}
			if json.Unmarshal(text, &at) == nil && len(at.NATS) > 0 {
				return at.NATS[0], stop, nil
			}
		}
		select {
		case err := <-ended:
			return "", nil, fmt.Errorf("%s has ended: %w", path, cmp.Or(err, errors.New("no reason given")))
		case <-time.After(20 * time.Millisecond):
		}
	}
}
