// SPDX-License-Identifier: Apache-2.0

// Package metrics exports the counters of a switch and of its gRPC server to
// Prometheus.
package metrics

import (
	"slices"
	"strconv"
	"time"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
)

// Switch collects the counters of a switch. A scrape holds the switch's lock
// while it copies them.
type Switch struct {
	sw    *softswitch.Switch
	ports []string
	nums  []int
	// watched has the classes of each port that the PFC watchdog watches.
	watched []uint8
}

// NewSwitch returns a collector for a switch.
func NewSwitch(sw *softswitch.Switch) *Switch {
	c := &Switch{sw: sw}
	for _, p := range sw.Config().Ports {
		c.nums = append(c.nums, p.Number)
		c.ports = append(c.ports, strconv.Itoa(p.Number))
		c.watched = append(c.watched, sw.Watched(p.Number))
	}
	if !slices.Contains(c.nums, sw.Config().CPUPort) {
		c.watched = append(c.watched, 0)
		c.nums = append(c.nums, sw.Config().CPUPort)
		c.ports = append(c.ports, "cpu")
	}
	return c
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("softswitch_"+name, help, labels, nil)
}

var (
	received     = desc("received_packets_total", "Frames taken in, PFC frames not included.")
	sent         = desc("sent_packets_total", "Frames sent out, PFC frames not included.")
	processed    = desc("ingress_passes_total", "Passes of packets through ingress.")
	recirculated = desc("recirculated_packets_total", "Packets recirculated.")
	resubmitted  = desc("resubmitted_packets_total", "Packets resubmitted.")
	cloned       = desc("cloned_packets_total", "Copies made by clone.")
	replicated   = desc("replicated_packets_total", "Copies made by multicast.")
	digests      = desc("digests_total", "Digests made by the program.")
	dropped      = desc("dropped_packets_total", "Packets dropped.", "cause")
	buffer       = desc("buffer_bytes", "Bytes in the packet buffer.")
	bufferMax    = desc("buffer_max_bytes", "The most bytes that were ever in the packet buffer.")

	portUp      = desc("port_up", "1 if the port's link is up, 0 if it is down.", "port")
	portRx      = desc("port_received_packets_total", "Packets charged to a class of an ingress port.", "port", "class")
	portRxBytes = desc("port_received_bytes_total", "Their bytes.", "port", "class")
	portTx      = desc("port_sent_packets_total", "Packets sent from a queue.", "port", "class")
	portTxBytes = desc("port_sent_bytes_total", "Their bytes.", "port", "class")
	queueDrops  = desc("queue_dropped_packets_total", "Packets that a queue did not take.", "port", "class")
	queueBytes  = desc("queue_bytes", "Bytes in a queue.", "port", "class")
	queueLen    = desc("queue_packets", "Packets in a queue.", "port", "class")
	ingress     = desc("ingress_bytes", "Bytes in the buffer on the account of an ingress port and class.", "port", "class")
	pauses      = desc("pfc_frames_total", "PFC frames by class.", "port", "class", "direction", "kind")
	paused      = desc("pfc_paused_seconds_total", "Time that a queue was paused by its peer, or a peer by this port.", "port", "class", "direction")
	storm       = desc("pfc_storm", "1 while the PFC watchdog finds a queue in a storm.", "port", "class")
	storms      = desc("pfc_storms_total", "PFC storms by what happened: detected, restored.", "port", "class", "event")
	stormDrops  = desc("pfc_storm_dropped_packets_total", "Packets of a queue that the PFC watchdog dropped.", "port", "class")
	stormSent   = desc("pfc_storm_sent_packets_total", "Packets sent from a queue in a PFC storm.", "port", "class")
	stormTime   = desc("pfc_storm_seconds_total", "Time that a queue was in a PFC storm.", "port", "class")

	tableEntries = desc("table_entries", "Entries in a table.", "table")
	tableSize    = desc("table_size", "Entries that a table has room for.", "table")
	tableLookups = desc("table_lookups_total", "Applications of a table.", "table")
	tableHits    = desc("table_hits_total", "Applications of a table that found an entry.", "table")

	registerSum = desc("register_sum", "Sum of the cells of a register array, of those that are small.", "register")
)

// Describe implements prometheus.Collector. The collector is unchecked, because
// the program determines its metrics.
func (c *Switch) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *Switch) Collect(out chan<- prometheus.Metric) {
	type table struct {
		name          string
		size, entries int
		lookups, hits uint64
	}
	type array struct {
		name string
		sum  uint64
	}
	var tables []table
	var arrays []array
	release := c.sw.Hold()
	st := c.sw.Stats()
	ports := make([]softswitch.PortStats, len(c.nums))
	up := make([]int64, len(c.nums))
	for i, n := range c.nums {
		ports[i] = c.sw.Port(n)
		if c.sw.LinkUp(n) {
			up[i] = 1
		}
	}
	if s := c.sw.State(); s != nil {
		for _, t := range s.Tables {
			if len(t.Info.Key) > 0 { // the compiler's own tables have no key
				tables = append(tables, table{t.Info.Name, t.Info.Size, t.Len(), t.Lookups, t.Hits})
			}
		}
		for _, r := range s.Registers {
			// Wide cells are not numbers, and large arrays have a cell per flow.
			if r.Info.Size > maxCells || r.Limbs() > 1 {
				continue
			}
			a := array{name: r.Info.Name}
			for i := range r.Info.Size {
				a.sum += r.Cell(i)[0]
			}
			arrays = append(arrays, a)
		}
	}
	release()

	counter := func(d *prometheus.Desc, v uint64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(d *prometheus.Desc, v int64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	counter(received, st.Received)
	counter(sent, st.Sent)
	counter(processed, st.Processed)
	counter(recirculated, st.Recirculated)
	counter(resubmitted, st.Resubmitted)
	counter(cloned, st.Cloned)
	counter(replicated, st.Replicated)
	counter(digests, st.Digests)
	for cause := range softswitch.DropCauses {
		counter(dropped, st.Drops[cause], cause.String())
	}
	gauge(buffer, st.BufferBytes)
	gauge(bufferMax, st.MaxBufferBytes)
	for i := range ports {
		gauge(portUp, up[i], c.ports[i])
		for class := range packet.Classes {
			k, port, label := &ports[i].Class[class], c.ports[i], strconv.Itoa(class)
			counter(portRx, k.RxPackets, port, label)
			counter(portRxBytes, k.RxBytes, port, label)
			counter(portTx, k.TxPackets, port, label)
			counter(portTxBytes, k.TxBytes, port, label)
			counter(queueDrops, k.Drops, port, label)
			gauge(queueBytes, k.QueueBytes, port, label)
			gauge(queueLen, int64(k.QueuePackets), port, label)
			gauge(ingress, k.IngressBytes, port, label)
			counter(pauses, k.PauseReceived, port, label, "received", "pause")
			counter(pauses, k.PauseSent, port, label, "sent", "pause")
			counter(pauses, k.ResumeReceived, port, label, "received", "resume")
			counter(pauses, k.ResumeSent, port, label, "sent", "resume")
			out <- prometheus.MustNewConstMetric(paused, prometheus.CounterValue, k.PausedTime.Seconds(), port, label, "received")
			out <- prometheus.MustNewConstMetric(paused, prometheus.CounterValue, k.PausingTime.Seconds(), port, label, "sent")
			if c.watched[i]&(1<<class) == 0 {
				continue
			}
			on := int64(0)
			if k.Storm {
				on = 1
			}
			gauge(storm, on, port, label)
			counter(storms, k.Storms, port, label, "detected")
			counter(storms, k.Restored, port, label, "restored")
			counter(stormDrops, k.StormDrops, port, label)
			counter(stormSent, k.StormSent, port, label)
			out <- prometheus.MustNewConstMetric(stormTime, prometheus.CounterValue, k.StormTime.Seconds(), port, label)
		}
	}
	for _, a := range arrays {
		out <- prometheus.MustNewConstMetric(registerSum, prometheus.GaugeValue, float64(a.sum), a.name)
	}
	for _, t := range tables {
		gauge(tableEntries, int64(t.entries), t.name)
		gauge(tableSize, int64(t.size), t.name)
		counter(tableLookups, t.lookups, t.name)
		counter(tableHits, t.hits, t.name)
	}
}

// maxCells is the size of the largest register arrays that are summed.
const maxCells = 256

// Calls counts gRPC calls.
type Calls struct {
	total   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

// NewCalls returns counters of gRPC calls, registered at reg.
func NewCalls(reg prometheus.Registerer) *Calls {
	c := &Calls{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "softswitch_grpc_calls_total", Help: "gRPC calls that have ended."},
			[]string{"method", "code"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "softswitch_grpc_call_seconds", Help: "Duration of gRPC calls.",
			Buckets: prometheus.ExponentialBuckets(100e-6, 4, 8)}, []string{"method"}),
	}
	reg.MustRegister(c.total, c.seconds)
	return c
}

// Ended records a call. It has the form of GRPCConfig.Calls.
func (c *Calls) Ended(method string, code codes.Code, took time.Duration) {
	c.total.WithLabelValues(method, code.String()).Inc()
	c.seconds.WithLabelValues(method).Observe(took.Seconds())
}
