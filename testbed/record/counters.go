// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/pauseless/pauseless/internal/packet"
)

// Counters are what there is of a switch beside its registers: from its
// metrics, or from the interfaces that it runs on. Ports are numbered from 1.
type Counters interface {
	Read(ctx context.Context, ports int) ([]PortCounters, error)
	// Pauses reports whether PAUSE and queues are counted, too.
	Pauses() bool
}

// PortCounters are those of one port. Counters go up, but for a switch that
// starts again.
type PortCounters struct {
	Sent, Received uint64 // bytes
	// Paused is how long the port was kept from sending, Pausing how long it
	// kept its peer from that, by class.
	Paused, Pausing [packet.Classes]time.Duration
	Queue           int64 // bytes that wait for the port now
}

// Metrics reads the Prometheus metrics of `pauseless switch --http`.
type Metrics struct {
	URL    string
	Client *http.Client
}

// NewMetrics returns the metrics at host:port or at a URL.
func NewMetrics(addr string, timeout time.Duration) *Metrics {
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr + "/metrics"
	}
	return &Metrics{addr, &http.Client{Timeout: timeout}}
}

// Pauses implements Counters.
func (*Metrics) Pauses() bool { return true }

// maxMetrics is how long a page of metrics may be: a switch of 256 ports has 1 MB.
const maxMetrics = 16 << 20

// Read implements Counters.
func (m *Metrics) Read(ctx context.Context, ports int) ([]PortCounters, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.URL, nil)
	if err != nil {
		return nil, err
	}
	resp, err := m.Client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s; the metrics of `pauseless switch --http HOST:PORT` are wanted", m.URL, resp.Status)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(io.LimitReader(resp.Body, maxMetrics))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.URL, err)
	}
	out := make([]PortCounters, ports)
	found := false
	each := func(name string, do func(p *PortCounters, class int, labels map[string]string, v float64)) {
		for _, metric := range families[name].GetMetric() {
			labels := make(map[string]string)
			for _, l := range metric.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			port, err := strconv.Atoi(labels["port"])
			class, cerr := strconv.Atoi(labels["class"])
			if err != nil || cerr != nil || port < 1 || port > ports || class < 0 || class >= packet.Classes {
				continue // the port of the controller has no number
			}
			found = true
			do(&out[port-1], class, labels, value(metric))
		}
	}
	each("softswitch_port_sent_bytes_total", func(p *PortCounters, _ int, _ map[string]string, v float64) { p.Sent += uint64(v) })
	each("softswitch_port_received_bytes_total", func(p *PortCounters, _ int, _ map[string]string, v float64) { p.Received += uint64(v) })
	each("softswitch_queue_bytes", func(p *PortCounters, _ int, _ map[string]string, v float64) { p.Queue += int64(v) })
	each("softswitch_pfc_paused_seconds_total", func(p *PortCounters, class int, labels map[string]string, v float64) {
		of := &p.Paused
		if labels["direction"] == "sent" {
			of = &p.Pausing
		}
		of[class] = time.Duration(v * float64(time.Second))
	})
	if !found {
		return nil, fmt.Errorf("%s has no metrics of a switch's ports; those of `pauseless switch --http HOST:PORT` are wanted", m.URL)
	}
	return out, nil
}

func value(m *dto.Metric) float64 {
	if c := m.GetCounter(); c != nil {
		return c.GetValue()
	}
	return m.GetGauge().GetValue()
}

// Interfaces reads what the network interfaces of this machine have counted, by
// port.
type Interfaces struct {
	Names []string
	// Root is where the system keeps them; empty is /sys/class/net.
	Root string
}

// Pauses implements Counters.
func (*Interfaces) Pauses() bool { return false }

// Read implements Counters.
func (f *Interfaces) Read(_ context.Context, ports int) ([]PortCounters, error) {
	root := f.Root
	if root == "" {
		root = "/sys/class/net"
	}
	out := make([]PortCounters, ports)
	for i, name := range f.Names[:min(ports, len(f.Names))] {
		for file, to := range map[string]*uint64{"tx_bytes": &out[i].Sent, "rx_bytes": &out[i].Received} {
			text, err := os.ReadFile(filepath.Join(root, name, "statistics", file))
			if err != nil {
				return nil, err
			}
			if *to, err = strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err != nil {
				return nil, fmt.Errorf("%s of %s: %w", file, name, err)
			}
		}
	}
	return out, nil
}
