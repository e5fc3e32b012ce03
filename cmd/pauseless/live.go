// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/net/netutil"

	"github.com/pauseless/pauseless/controlplane"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
	"github.com/pauseless/pauseless/testbed/record"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
	"github.com/pauseless/pauseless/testbed/view"
)

// liveFlags are the flags of `live`.
type liveFlags struct {
	ctl                 // the switches to read, if any
	listen, html, trace string
	tlsCert, tlsKey     string
	tlsCA               string
	every               time.Duration
	threads             int
	metrics             []string
}

func newLiveCmd() *cobra.Command {
	f := &liveFlags{ctl: ctl{election: "1"}}
	cmd := &cobra.Command{
		Use:   "live [RECORDING | SCENARIO.yaml]",
		Short: "Show a network in the browser: a recording, a running simulation, or real switches",
		Long: `Serve a page with a map of the network: the utilisation of links, PAUSE on the
link and class that it stops, queues, warnings in flight, and the paths of flows,
with a time line to play, slow down and step through.

It shows a recording (of ` + "`pauseless fabric run --record` or `pauseless demo`" + `), a
scenario while it runs, or switches (--topology, --network), whose registers and
metrics (--metrics) it reads periodically. For a network of pauseless deploy,
--network finds all addresses, and counters of interfaces are read as well. This
never changes the network, and listens on the loopback interface by default.`,
		Example: `  pauseless live out/demo/replay.rec
  pauseless live scenario.yaml
  pauseless live --topology fabric.yaml --metrics l1=127.0.0.1:9100,s1=127.0.0.1:9101 --every 200ms
  pauseless live run.rec --html run.html    # one self-contained HTML file`,
	}
	fl := cmd.Flags()
	fl.StringVar(&f.listen, "listen", "127.0.0.1:9880", "`ADDRESS`: address of the page")
	fl.StringVar(&f.tlsCert, "tls-cert", "", "`FILE`: certificate of the page's server, PEM")
	fl.StringVar(&f.tlsKey, "tls-key", "", "`FILE`: private key of the certificate, PEM")
	fl.StringVar(&f.tlsCA, "tls-ca", "", "`FILE`: CA certificates, PEM; browsers need a certificate signed by one")
	fl.StringVar(&f.html, "html", "", "`FILE`: write the page with the recording instead of serving it")
	fl.StringVar(&f.trace, "trace", "", "`FILE`: write the recording as a trace for ui.perfetto.dev instead of serving it")
	threadsFlag(fl, &f.threads, "goroutines that run a scenario")
	fl.DurationVar(&f.every, "every", 500*time.Millisecond, "time between two readings of switches")
	fl.StringSliceVar(&f.addrs, "addr", nil, "`[NAME=]HOST:PORT[/DEVICE]`: P4Runtime server of a switch whose name is in --topology (repeatable)")
	fl.StringSliceVar(&f.thrift, "thrift", nil, "`[NAME=]HOST:PORT`: BMv2's Thrift server of a switch, for its registers (repeatable)")
	fl.StringSliceVar(&f.metrics, "metrics", nil, "`[NAME=]HOST:PORT`: pauseless switch --http of a switch, for utilisation of links, PAUSE and queues (repeatable)")
	fl.StringVar(&f.topology, "topology", "", "`FILE`: topology with the switches' addresses")
	fl.StringVar(&f.network, "network", "", "`NAME`: network that pauseless deploy has built")
	fl.DurationVar(&f.timeout, "timeout", 10*time.Second, "time limit of each call to a switch")
	fl.StringVar(&f.ca, "switch-tls-ca", "", "`FILE`: use TLS with switches and trust the certificates in this PEM file")
	fl.StringVar(&f.cert, "switch-tls-cert", "", "`FILE`: client certificate for switches, PEM")
	fl.StringVar(&f.key, "switch-tls-key", "", "`FILE`: private key of the certificate, PEM")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) }
	return cmd
}

func (f *liveFlags) run(cmd *cobra.Command, args []string) error {
	switches := f.topology != "" || f.network != "" || len(f.addrs) > 0
	switch {
	case len(args) == 1 && !switches:
	case len(args) == 0 && switches && f.html == "" && f.trace == "":
		return f.switches(cmd)
	case len(args) == 0 && switches:
		return usageErrorf(cmd, "--html and --trace need a recording or a scenario")
	default:
		return usageErrorf(cmd, "expected one recording or scenario, or switches given by --topology or --network")
	}
	if err := checkFiles(args, f.html, f.trace); err != nil {
		return err
	}
	switch filepath.Ext(args[0]) {
	case ".yaml", ".yml":
		return f.scenario(cmd, args[0])
	}
	runs, err := readRecording(args[0])
	if err != nil {
		return err
	}
	if f.html != "" || f.trace != "" {
		return f.write(cmd, runs)
	}
	return f.serve(cmd, cmp.Or(runs[0].Scenario, filepath.Base(args[0])), finished(runs), nil)
}

func readRecording(name string) ([]*record.Run, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	runs, err := record.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return runs, nil
}

// write writes the files that the flags name.
func (f *liveFlags) write(cmd *cobra.Command, runs []*record.Run) error {
	for _, file := range []struct {
		name string
		do   func(io.Writer) error
	}{
		{f.html, func(w io.Writer) error { return view.WritePage(w, runs[0].Scenario, runs) }},
		{f.trace, func(w io.Writer) error { return record.WriteTrace(w, runs, nil) }},
	} {
		if file.name == "" {
			continue
		}
		if err := writeFile(file.name, file.do); err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s: %d runs\n", file.name, len(runs))
	}
	return nil
}

// scenario runs a scenario while the page is served.
func (f *liveFlags) scenario(cmd *cobra.Command, name string) error {
	s, err := scenario.Read(name)
	if err != nil {
		return err
	}
	rec := &recording{running: true}
	work := func(ctx context.Context) error {
		runs, err := runScenario(ctx, s, scenario.Options{Threads: f.threads, Follow: rec.follow, Explain: true}, cmd.ErrOrStderr())
		rec.done()
		if len(runs) > 0 {
			result.Table(cmd.OutOrStdout(), runs)
		}
		return err
	}
	if f.html != "" || f.trace != "" {
		err := work(cmd.Context())
		if runs := rec.runs(); len(runs) > 0 {
			err = errors.Join(err, f.write(cmd, runs))
		}
		return err
	}
	return f.serve(cmd, cmp.Or(s.Name, filepath.Base(name)), rec, work)
}

// switches reads switches while the page is served.
func (f *liveFlags) switches(cmd *cobra.Command) error {
	if f.every == 0 {
		return usageErrorf(cmd, "--every must be above 0")
	}
	if f.topology == "" && f.network == "" {
		return usageErrorf(cmd, "a map needs the network: name its file with --topology")
	}
	now := &polled{}
	defer func() { now.end() }()
	if err := now.begin(f, cmd); err != nil {
		return err
	}
	return f.serve(cmd, f.net.Name, now, func(ctx context.Context) error {
		tick := time.NewTicker(f.every)
		defer tick.Stop()
		printed := ""
		for {
			err := now.look(ctx, f, cmd)
			if err != nil && ctx.Err() == nil && err.Error() != printed {
				printed = err.Error()
				fmt.Fprintf(cmd.ErrOrStderr(), "pauseless: %v; trying again every %v\n", err, f.every)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	})
}

// counters sets up the sources of counters besides registers: the servers of
// --metrics, or those of a network on this machine.
func (f *liveFlags) counters(cmd *cobra.Command, fabric *controlplane.Fabric, o *record.PollOptions) error {
	o.Counters = make(map[string]record.Counters)
	if f.network != "" {
		n, err := readDeployed(f.network)
		if err != nil {
			return err
		}
		o.Scale, o.Case, o.Seed = n.Scale, n.Case, n.Seed
		for _, s := range n.Switches {
			switch {
			case s.Metrics != "":
				o.Counters[s.Name] = &record.Metrics{Addr: s.Metrics, Timeout: f.timeout}
			case len(s.Interfaces) > 0:
				o.Counters[s.Name] = &record.Interfaces{Names: s.Interfaces}
			}
		}
	}
	sessions := fabric.Sessions()
	if len(f.metrics) > len(sessions) {
		return usageErrorf(cmd, "%d --metrics addresses for %d switches", len(f.metrics), len(sessions))
	}
	for i, text := range f.metrics {
		name, addr, named := strings.Cut(text, "=")
		if !named {
			name, addr = sessions[i].Name(), text
		}
		var names []string
		for _, s := range sessions {
			names = append(names, s.Name())
		}
		if !slices.Contains(names, name) {
			return usageErrorf(cmd, "--metrics: no switch is called %q%s", name, diag.OneOf(name, names))
		}
		o.Counters[name] = &record.Metrics{Addr: addr, Timeout: f.timeout}
	}
	return nil
}

// maxViewers is the greatest number of connections to the page's server; others wait.
const maxViewers = 256

// serve serves the page until Ctrl-C, and runs work at the same time.
func (f *liveFlags) serve(cmd *cobra.Command, title string, s view.Source, work func(context.Context) error) error {
	conf, err := f.pageTLS()
	if err != nil {
		return err
	}
	lis, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("the page's server: %w; use --listen 127.0.0.1:0 for any free port", err)
	}
	lis, scheme := netutil.LimitListener(lis, maxViewers), "http"
	if conf != nil {
		lis, scheme = tls.NewListener(lis, conf), "https"
	}
	if !p4rtserver.Loopback(f.listen) && f.tlsCA == "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "pauseless: anyone who can reach %s sees this network: use --tls-cert, --tls-key and --tls-ca\n", lis.Addr())
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s://%s shows %s; Ctrl-C ends it\n", scheme, lis.Addr(), title)
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	h := &http.Server{Handler: view.Handler(title, s), ReadTimeout: 5 * time.Second, WriteTimeout: time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	served := make(chan error, 1)
	go func() { served <- h.Serve(lis) }()
	worked := make(chan error, 1)
	if work != nil {
		go func() { worked <- work(ctx) }()
	}
	for {
		select {
		case <-cmd.Context().Done():
			cancel()
			h.Close()
			if work != nil {
				<-worked
			}
			return nil
		case err := <-served:
			return err
		case err := <-worked:
			work = nil
			if err != nil && !errors.Is(err, errInterrupted) {
				return err
			}
		}
	}
}

func (f *liveFlags) pageTLS() (*tls.Config, error) {
	if f.tlsCert == "" && f.tlsKey == "" {
		if f.tlsCA != "" {
			return nil, errors.New("--tls-ca needs --tls-cert and --tls-key")
		}
		return nil, nil
	}
	return infile.ServerTLS(f.tlsCert, f.tlsKey, f.tlsCA)
}

// finished is a view.Source of recordings that do not grow.
type finished []*record.Run

// Recordings implements view.Source.
func (f finished) Recordings() ([]view.Recording, bool) {
	var all []view.Recording
	for _, r := range f {
		all = append(all, record.Finished(r))
	}
	return all, false
}

// polled is a view.Source with the recordings of real switches: one, or one for each run
// of an experiment, which builds its network anew.
type polled struct {
	fabric *controlplane.Fabric // nil between two runs
	noted  string               // the file of the network with its time; "" without --network
	mu     sync.Mutex
	all    []*record.Poller
}

// begin connects to the switches, and adds a recording.
func (p *polled) begin(f *liveFlags, cmd *cobra.Command) error {
	noted, err := f.noted()
	if err != nil {
		return err
	}
	fabric, err := f.forReading(cmd)
	if err != nil {
		return err
	}
	o := record.PollOptions{Every: f.every, Limits: record.DefaultLimits}
	if f.net == nil {
		err = fmt.Errorf("the topology file of network %s does not exist any more; give --topology FILE", f.network)
	} else {
		err = f.counters(cmd, fabric, &o)
	}
	var poller *record.Poller
	if err == nil {
		poller, err = record.NewPoller(cmd.Context(), f.net, fabric, o)
	}
	if err != nil {
		fabric.Close()
		return err
	}
	p.fabric, p.noted = fabric, noted
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, poller)
	return nil
}

// look reads the switches. If the network has been built anew, it begins a recording;
// while there is no network it does nothing.
func (p *polled) look(ctx context.Context, f *liveFlags, cmd *cobra.Command) error {
	noted, err := f.noted()
	if err != nil || noted != p.noted {
		p.end()
	}
	if p.fabric == nil {
		if err != nil {
			return nil
		}
		if err := p.begin(f, cmd); err != nil {
			return err
		}
	}
	return p.all[len(p.all)-1].Look(ctx)
}

// end closes the connections to the switches.
func (p *polled) end() {
	if p.fabric != nil {
		p.fabric.Close()
		p.fabric = nil
		p.all[len(p.all)-1].End()
	}
}

// noted returns what the file of --network says, and when it was written.
func (f *liveFlags) noted() (string, error) {
	if f.network == "" {
		return "", nil
	}
	name := deployedFile(f.network)
	text, err := infile.Read(name)
	if err != nil {
		_, err = readDeployed(f.network) // says why
		return "", cmp.Or(err, errors.New("the network has just been built"))
	}
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s\n%s", info.ModTime(), text), nil
}

// Recordings implements view.Source.
func (p *polled) Recordings() (all []view.Recording, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.all {
		all = append(all, r)
	}
	return all, true
}
