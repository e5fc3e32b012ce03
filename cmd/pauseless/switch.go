// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	p4configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"github.com/pauseless/pauseless/controlplane/schema"
	"github.com/pauseless/pauseless/internal/bmv2json"
	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/infocheck"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/interp"
	"github.com/pauseless/pauseless/softswitch/metrics"
	"github.com/pauseless/pauseless/softswitch/p4rtserver"
	"github.com/pauseless/pauseless/softswitch/port"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

func newSwitchCmd() *cobra.Command {
	var file, logLevel string
	var ports []string
	var flags switchFile
	var rates []string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "switch [PROGRAM.{p4,json}] --port NUMBER@KIND:ARGUMENT…",
		Short: "Run a v1model switch on real ports",
		Long: `Run a v1model switch on real ports, controlled over P4Runtime.

The program is P4_16, which is compiled, or BMv2 JSON (with --p4info, for
controllers). Without a program the switch waits for a controller to push one.
Ports are:

` + kindsHelp() + `
A YAML file (--config) can set everything that flags set, and more: rates, queues,
the buffer, flow control, units of metadata. Flags override it.

If all ports read from pcap files, the switch exits at the end of these files.`,
		Example: `  pauseless switch router.p4 --port 1@if:veth0 --port 2@if:veth2
  pauseless switch --port 1@if:veth0 --grpc 127.0.0.1:9559 --http 127.0.0.1:9100
  pauseless switch router.json --p4info router.p4info.txtpb --entries router.entries --port 1@pcap:in.pcap,out.pcap
  pauseless switch --config leaf1.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageErrorf(cmd, "expected one program, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			c := &switchFile{DeviceID: 1}
			if file != "" {
				var err error
				if c, err = readSwitchFile(file); err != nil {
					return err
				}
			}
			if len(args) == 1 {
				c.Program = args[0]
			}
			merge(cmd, c, &flags)
			for _, text := range ports {
				if err := c.addPort(text); err != nil {
					return usageErrorf(cmd, "%v", err)
				}
			}
			if err := c.setRates(rates); err != nil {
				return usageErrorf(cmd, "%v", err)
			}
			if len(c.Ports) == 0 {
				return usageErrorf(cmd, "a switch needs ports: --port 1@if:veth0")
			}
			var level slog.Level
			if err := level.UnmarshalText([]byte(logLevel)); err != nil {
				return usageErrorf(cmd, "--log is debug, info, warn or error, not %q", logLevel)
			}
			log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: level}))
			return runSwitch(cmd, c, log, verbose)
		},
	}
	f := cmd.Flags()
	f.StringVar(&file, "config", "", "`FILE`: YAML file that describes the switch; flags override it")
	f.StringArrayVarP(&ports, "port", "p", nil, "`NUMBER@KIND:ARGUMENT`: a port, as in 1@if:veth0, 2@pcap:in.pcap,out.pcap or 3@mem:NAME (repeatable; required unless --config has ports)")
	f.StringArrayVar(&rates, "rate", nil, "`NUMBER=RATE`: rate of a port, as in 1=10Gbps (repeatable; default: no limit)")
	f.IntVar(&flags.DeviceID, "device-id", 1, "P4Runtime device id")
	f.StringVar(&flags.P4Info, "p4info", "", "`FILE`: P4Info of a JSON program, in protobuf text format")
	f.StringVar(&flags.Entries, "entries", "", "`FILE`: entries to start with, in a format of pauseless ctl entries add --file; gen writes NAME.entries")
	f.StringVar(&flags.GRPC, "grpc", "127.0.0.1:9559", "`ADDRESS`: P4Runtime server; \"\" is none")
	f.StringVar(&flags.HTTP, "http", "", "`ADDRESS`: /metrics (Prometheus) and /healthz, with an index at / (default: none)")
	f.StringVar(&flags.TLS.Cert, "tls-cert", "", "`FILE`: certificate of the P4Runtime server, PEM")
	f.StringVar(&flags.TLS.Key, "tls-key", "", "`FILE`: private key of the certificate, PEM")
	f.StringVar(&flags.TLS.CA, "tls-ca", "", "`FILE`: CA certificates, PEM; controllers need a certificate signed by one")
	f.IntVar(&flags.CPUPort, "cpu-port", softswitch.DefaultCPUPort, "port of the controller")
	f.IntVar(&flags.DropPort, "drop-port", softswitch.DefaultDropPort, "egress_spec that drops a packet")
	f.IntVar(&flags.Seed, "seed", 0, "seed of P4's random numbers, which depend on nothing else (default 0)")
	flags.Memory = p4rtserver.DefaultMemory * vtime.Byte
	f.Var((*sizeFlag)(&flags.Memory), "memory", "`SIZE`: limit of the memory for tables, groups, packets, streams and digests; more is refused")
	f.Float64Var(&flags.Share, "control-share", p4rtserver.DefaultShare, "share of one CPU, from 0 to 1, that calls of controllers may use in the long run; 1 is no limit")
	f.StringVar(&flags.Trace, "trace", "", "`FILE`: write there what happens to each packet, as pauseless trace shows it; the switch is slower then")
	f.StringVar(&logLevel, "log", "info", "`LEVEL`: what to log: debug, info, warn or error")
	f.BoolVar(&verbose, "counters", false, "print the counters at the end")
	return cmd
}

func kindsHelp() string {
	var b strings.Builder
	for _, k := range port.Kinds {
		fmt.Fprintf(&b, "  %-18s %s\n", k.Name+":"+k.Arg, k.Does)
	}
	return b.String()
}

// merge sets in the configuration the values of flags that were given, and the
// defaults of those that neither the file nor the command line gives.
func merge(cmd *cobra.Command, c, flags *switchFile) {
	set := func(name string, empty bool, do func()) {
		if cmd.Flags().Changed(name) || empty {
			do()
		}
	}
	set("device-id", c.DeviceID == 0, func() { c.DeviceID = flags.DeviceID })
	set("p4info", c.P4Info == "", func() { c.P4Info = flags.P4Info })
	set("entries", c.Entries == "", func() { c.Entries = flags.Entries })
	set("grpc", c.GRPC == "", func() { c.GRPC = flags.GRPC })
	set("http", c.HTTP == "", func() { c.HTTP = flags.HTTP })
	set("tls-cert", c.TLS.Cert == "", func() { c.TLS.Cert = flags.TLS.Cert })
	set("tls-key", c.TLS.Key == "", func() { c.TLS.Key = flags.TLS.Key })
	set("tls-ca", c.TLS.CA == "", func() { c.TLS.CA = flags.TLS.CA })
	set("cpu-port", c.CPUPort == 0, func() { c.CPUPort = flags.CPUPort })
	set("drop-port", c.DropPort == 0, func() { c.DropPort = flags.DropPort })
	set("trace", c.Trace == "", func() { c.Trace = flags.Trace })
	set("memory", c.Memory == 0, func() { c.Memory = flags.Memory })
	set("control-share", c.Share == 0, func() { c.Share = flags.Share })
	set("seed", c.Seed == 0, func() { c.Seed = flags.Seed })
	if c.Buffer.Size == 0 {
		c.Buffer.Size = c.Memory / 16
	}
	if c.Name == "" {
		c.Name = fmt.Sprintf("switch%d", c.DeviceID)
	}
}

// setRates sets the speeds given as NUMBER=RATE.
func (c *switchFile) setRates(rates []string) error {
next:
	for _, text := range rates {
		number, rate, ok := strings.Cut(text, "=")
		if !ok {
			return fmt.Errorf("--rate %q: expected NUMBER=RATE, as in 1=10Gbps", text)
		}
		for i := range c.Ports {
			if fmt.Sprint(c.Ports[i].Number) == number {
				if err := c.Ports[i].Rate.UnmarshalText([]byte(rate)); err != nil {
					return fmt.Errorf("--rate %s: %w", text, err)
				}
				continue next
			}
		}
		return fmt.Errorf("--rate %s: there is no port %s", text, number)
	}
	return nil
}

// leastMemory is the memory that a switch with a small program needs.
const leastMemory = 64_000_000

// leastThreads is the least number of goroutines that may run at once.
const leastThreads = 8

// gcPercent has the garbage collector, which stops the world twice, run half as
// often as usual.
const gcPercent = 200

// sizeFlag is a vtime.Size as a flag.
type sizeFlag vtime.Size

func (s *sizeFlag) String() string        { return vtime.Size(*s).String() }
func (s *sizeFlag) Set(text string) error { return (*vtime.Size)(s).UnmarshalText([]byte(text)) }
func (s *sizeFlag) Type() string          { return "SIZE" }

func runSwitch(cmd *cobra.Command, c *switchFile, log *slog.Logger, counters bool) (err error) {
	memory := int64(c.Memory / vtime.Byte)
	if memory < leastMemory {
		return fmt.Errorf("--memory %v is less than the %v that a switch needs", c.Memory, leastMemory*vtime.Byte)
	}
	if !(c.Share > 0 && c.Share <= 1) { // NaN is no share, either
		return fmt.Errorf("--control-share %v is not a share of a processor: give a number above 0, up to 1 for no limit", c.Share)
	}
	debug.SetMemoryLimit(memory) // near it, the garbage collector runs more often
	// Go lets a goroutine run for up to 10 ms before another gets its thread. The
	// kernel wakes a thread that mostly waits at once. With spare threads, packets
	// do not wait for controllers.
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), leastThreads))
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	cfg, specs, err := c.config()
	if err != nil {
		return c.located(err)
	}
	sw, err := softswitch.New(cfg)
	if err != nil {
		return c.located(err)
	}
	links, err := port.Open(specs)
	if err != nil {
		return err
	}
	runner := port.NewRunner(sw, links)
	runner.Log = log
	sw.OnStorm(func(s softswitch.Storm) {
		at := []any{"port", s.Port, "class", s.Class, "action", softswitch.ActionName(s.Action)}
		if s.Over {
			log.Info("PFC storm is over", append(at, "dropped", s.Dropped, "sent", s.Sent, "time", s.Lasted)...)
		} else {
			log.Warn("PFC storm: the peer pauses the queue without end", at...)
		}
	})
	if c.Trace != "" {
		end, err := traceTo(sw, c.Trace)
		if err != nil {
			return errors.Join(err, closeAll(links))
		}
		defer end()
	}
	srv := p4rtserver.New(sw, p4rtserver.Options{Logger: log, Translations: c.Translations, Memory: memory, Share: c.Share, Compile: interp.Options{Trace: c.Trace != ""}})
	if err := preload(cmd, c, sw, srv); err != nil {
		return errors.Join(err, closeAll(links))
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	stop, err := serve(c, sw, srv, runner, log, cancel)
	if err != nil {
		return errors.Join(err, closeAll(links))
	}
	defer stop()
	log.Info("switch is running", "name", c.Name, "ports", len(cfg.Ports), "device", c.DeviceID)
	err = runner.Run(ctx)
	if counters {
		sw.Lock()
		printCounters(cmd.OutOrStdout(), sw)
		sw.Unlock()
	}
	if errors.Is(err, port.ErrDone) {
		return nil
	}
	return err
}

func closeAll(links map[int]port.Link) error {
	var err error
	for _, l := range links {
		err = errors.Join(err, l.Close())
	}
	return err
}

// preload loads the program and the entries that the switch starts with.
func preload(cmd *cobra.Command, c *switchFile, sw *softswitch.Switch, srv *p4rtserver.Server) error {
	if c.Program == "" {
		if c.Entries != "" || c.P4Info != "" {
			return usageErrorf(cmd, "--p4info and --entries need a program")
		}
		return nil
	}
	cfg := &p4v1.ForwardingPipelineConfig{}
	if strings.HasSuffix(c.Program, ".json") {
		var err error
		if cfg.P4DeviceConfig, err = infile.Read(c.Program); err != nil {
			return err
		}
		if c.P4Info == "" { // the program runs, but controllers have no ids to write to it
			if c.Entries != "" {
				return usageErrorf(cmd, "--entries for a JSON program need its --p4info")
			}
			if c.Trace != "" {
				return usageErrorf(cmd, "--trace of a JSON program needs its --p4info")
			}
			p, err := softswitch.Compile(c.Program, cfg.P4DeviceConfig)
			if err != nil {
				return err
			}
			sw.Lock()
			defer sw.Unlock()
			sw.Load(p)
			return nil
		}
		cfg.P4Info = &p4configv1.P4Info{}
		if err := readText(c.P4Info, cfg.P4Info); err != nil {
			return err
		}
		if err := infocheck.Check(cfg.P4Info); err != nil { // with the file's name
			return fmt.Errorf("%s: %w", c.P4Info, err)
		}
		if _, err := softswitch.Compile(c.Program, cfg.P4DeviceConfig); err != nil { // with the file's name
			return err
		}
	} else {
		r, err := compileQuietly(cmd, c.Program)
		if err != nil {
			return err
		}
		cfg.P4Info, cfg.P4DeviceConfig = r.P4Info, bmv2json.Encode(r.Program)
	}
	var updates []*p4v1.Update
	var at []diag.Pos
	if c.Entries != "" {
		text, err := infile.Read(c.Entries)
		if err != nil {
			return err
		}
		sch, err := schema.New(cfg.P4Info)
		if err != nil {
			return err
		}
		if updates, at, err = entriesIn(sch, c.Entries, text, p4v1.Update_UNSPECIFIED); err != nil {
			return err
		}
	}
	if err := srv.Preload(cfg, updates); err != nil {
		if bad := (*p4rtserver.UpdateError)(nil); errors.As(err, &bad) {
			var list diag.List
			list.Errorf(at[bad.Index], schema.CodeEntry, "%s", bad.Message)
			return list
		}
		what := status.Convert(err).Message()
		if c.Entries != "" {
			return fmt.Errorf("%s with %s: %s", c.Program, c.Entries, what)
		}
		return fmt.Errorf("%s: %s", c.Program, what)
	}
	return nil
}

// readText reads a protobuf message in text format.
func readText(name string, m proto.Message) error {
	text, err := infile.Read(name)
	if err != nil {
		return err
	}
	if err := prototext.Unmarshal(text, m); err != nil {
		return schema.ProtoError(name, string(m.ProtoReflect().Descriptor().FullName()), err)
	}
	return nil
}

// serve starts the servers and returns a function that stops them. If a server
// fails, it calls failed.
func serve(c *switchFile, sw *softswitch.Switch, srv *p4rtserver.Server, runner *port.Runner, log *slog.Logger, failed func()) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for _, s := range stops {
			s()
		}
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), metrics.NewSwitch(sw),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "softswitch_state_bytes", Help: "Memory charged for table entries, groups and other state, of a quarter of --memory."},
			func() float64 { return float64(srv.StateBytes()) }))
	if c.GRPC != "" {
		g, err := srv.GRPC(p4rtserver.GRPCConfig{Cert: c.TLS.Cert, Key: c.TLS.Key, CA: c.TLS.CA, Calls: metrics.NewCalls(reg).Ended, Log: log})
		if err != nil {
			return stop, err
		}
		// The kernel's keepalive also finds peers whose machine has vanished. Unlike
		// gRPC's, it does not depend on the wall clock.
		lc := net.ListenConfig{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: time.Second, Interval: time.Second, Count: 1}}
		l, err := lc.Listen(context.Background(), "tcp", c.GRPC)
		if err != nil {
			return stop, fmt.Errorf("P4Runtime server: %w", err)
		}
		if !p4rtserver.Loopback(c.GRPC) && c.TLS.CA == "" {
			log.Warn("anyone who can reach this address controls the switch: use --tls-cert, --tls-key and --tls-ca", "address", l.Addr())
		}
		log.Info("P4Runtime server", "address", l.Addr(), "tls", c.TLS.Cert != "")
		go func() {
			if err := g.Serve(srv.Limit(l)); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
				log.Error("P4Runtime server", "error", err)
				failed()
			}
		}()
		stops = append(stops, g.Stop)
	}
	if c.HTTP != "" {
		l, err := net.Listen("tcp", c.HTTP)
		if err != nil {
			stop()
			return func() {}, fmt.Errorf("metrics: %w", err)
		}
		h := metrics.NewServer(reg, metricsHelp, func() string { return health(runner) })
		log.Info("metrics", "address", l.Addr())
		go func() {
			if err := h.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
				log.Error("metrics", "error", err)
				failed()
			}
		}()
		stops = append(stops, func() { h.Close() })
	}
	return stop, nil
}

// health returns the text of /healthz: ok, or which ports are down and why. The
// switch runs in either case.
func health(r *port.Runner) string {
	down := r.Down()
	if len(down) == 0 {
		return "ok\n"
	}
	var b strings.Builder
	b.WriteString("degraded\n")
	for _, n := range slices.Sorted(maps.Keys(down)) {
		fmt.Fprintf(&b, "port %d is down: %v\n", n, down[n])
	}
	return b.String()
}

// metricsHelp is the page / of the metrics server.
const metricsHelp = `This is a pauseless switch.

/metrics   its counters, for Prometheus
/healthz   ok, or "degraded" and the ports whose interfaces have failed

docs/grafana/pauseless.json is a dashboard for Grafana;
docs/reference/switch-metrics.md describes the counters.
To see the network: pauseless live --topology FABRIC.yaml
`

// printCounters prints the counters of the switch and of each port.
func printCounters(w io.Writer, sw *softswitch.Switch) {
	st := sw.Stats()
	fmt.Fprintf(w, "received %d, sent %d, ingress passes %d\n", st.Received, st.Sent, st.Processed)
	for cause := range softswitch.DropCauses {
		if n := st.Drops[cause]; n > 0 {
			fmt.Fprintf(w, "dropped %d: %v\n", n, cause)
		}
	}
	for _, p := range sw.Config().Ports {
		ps := sw.Port(p.Number)
		var rx, tx, rxBytes, txBytes uint64
		for _, c := range ps.Class {
			rx, tx, rxBytes, txBytes = rx+c.RxPackets, tx+c.TxPackets, rxBytes+c.RxBytes, txBytes+c.TxBytes
		}
		fmt.Fprintf(w, "port %d: in %d packets, %d bytes; out %d packets, %d bytes\n", p.Number, rx, rxBytes, tx, txBytes)
	}
}
