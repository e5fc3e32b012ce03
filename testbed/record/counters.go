// SPDX-License-Identifier: Apache-2.0

package record

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pauseless/pauseless/internal/infile"
	"github.com/pauseless/pauseless/internal/packet"
)

// Counters are a source of a switch's port counters: its metrics, or its
// interfaces.
type Counters interface {
	// Read returns the counters of ports 1 to ports.
	Read(ctx context.Context, ports int) ([]PortCounters, error)
	// Pauses reports whether the source has paused times and queues.
	Pauses() bool
}

// PortCounters are the counters of one port since the switch started.
type PortCounters struct {
	Sent, Received uint64 // bytes
	// Paused is how long the port was paused, Pausing how long it paused its
	// peer, by class.
	Paused, Pausing [packet.Classes]time.Duration
	Queue           int64 // egress queue in bytes
}

// Metrics reads the Prometheus metrics of `pauseless switch --http`.
type Metrics struct {
	Addr    string // host:port
	Timeout time.Duration
}

// Pauses implements Counters.
func (*Metrics) Pauses() bool { return true }

// maxMetrics is the size limit of a page of metrics in bytes: a switch of 256
// ports has 1 MB.
const maxMetrics = 16 << 20

// each calls f with the samples of ports. f reports whether it has used one.
func (m *Metrics) each(ctx context.Context, f func(name string, labels map[string]string, port int, v float64) bool) error {
	// Without http.Client, which is 0.4 MB of the binary.
	ctx, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", m.Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	req, err := http.NewRequest(http.MethodGet, "http://"+m.Addr+"/metrics", nil)
	if err != nil {
		return err
	}
	req.Close = true
	if err := req.Write(conn); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), req)
	if err != nil {
		return fmt.Errorf("%s: %w; give the address of `pauseless switch --http HOST:PORT`", m.Addr, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s; give the address of `pauseless switch --http HOST:PORT`", m.Addr, resp.Status)
	}
	found := false
	lines := bufio.NewScanner(io.LimitReader(resp.Body, maxMetrics))
	for lines.Scan() {
		name, labels, v, ok := sample(lines.Text())
		port, err := strconv.Atoi(labels["port"])
		if ok && err == nil && port >= 0 { // the controller's port has no number
			found = f(name, labels, port, v) || found
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", m.Addr, err)
	}
	if !found {
		return fmt.Errorf("%s has no metrics of a switch's ports; give the address of `pauseless switch --http HOST:PORT`", m.Addr)
	}
	return nil
}

// maxPort is the greatest number of a port of a switch.
const maxPort = 1<<16 - 1

// Up returns the ports by number: true if the port's link is up.
func (m *Metrics) Up(ctx context.Context) (map[int]bool, error) {
	up := make(map[int]bool)
	err := m.each(ctx, func(name string, _ map[string]string, port int, v float64) bool {
		if name != "softswitch_port_up" || port > maxPort {
			return false
		}
		up[port] = v != 0
		return true
	})
	return up, err
}

// Read implements Counters.
func (m *Metrics) Read(ctx context.Context, ports int) ([]PortCounters, error) {
	out := make([]PortCounters, ports)
	err := m.each(ctx, func(name string, labels map[string]string, port int, v float64) bool {
		class, err := strconv.Atoi(labels["class"])
		if err != nil || port < 1 || port > ports || class < 0 || class >= packet.Classes {
			return false
		}
		p := &out[port-1]
		switch name {
		case "softswitch_port_sent_bytes_total":
			p.Sent += uint64(v)
		case "softswitch_port_received_bytes_total":
			p.Received += uint64(v)
		case "softswitch_queue_bytes":
			p.Queue += int64(v)
		case "softswitch_pfc_paused_seconds_total":
			of := &p.Paused
			if labels["direction"] == "sent" {
				of = &p.Pausing
			}
			of[class] = time.Duration(v * float64(time.Second))
		default:
			return false
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// sample parses a line of Prometheus' text format as the softswitch writes it:
// NAME{LABEL="VALUE",…} NUMBER, without quotes in values of labels. The format's
// own parser is 0.7 MB of the binary.
func sample(line string) (name string, labels map[string]string, v float64, ok bool) {
	name, rest, ok := strings.Cut(line, "{")
	if !ok || !strings.HasPrefix(name, "softswitch_") {
		return "", nil, 0, false
	}
	text, number, ok := strings.Cut(rest, "} ")
	if !ok {
		return "", nil, 0, false
	}
	labels = make(map[string]string)
	for pair := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || len(value) < 2 {
			return "", nil, 0, false
		}
		labels[key] = strings.Trim(value, `"`)
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	return name, labels, v, err == nil && v >= 0
}

// Interfaces reads the counters of this machine's network interfaces.
type Interfaces struct {
	Names []string // by port
	// Root is the folder of the interfaces; empty is /sys/class/net.
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
			text, err := infile.Read(filepath.Join(root, name, "statistics", file))
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
