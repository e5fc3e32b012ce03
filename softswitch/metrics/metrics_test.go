// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"github.com/pauseless/pauseless/internal/packet"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/softswitch"
	"github.com/pauseless/pauseless/softswitch/solo"
)

// program has one table, whose default action sends everything to port 2, in
// the queue that the first byte of the packet names.
const program = `{"header_types" : [
{"name" : "h_t", "id" : 0, "fields" : [["queue", 8, false]]},
{"name" : "std_t", "id" : 1, "fields" : [["egress_spec", 9, false], ["egress_port", 9, false], ["priority", 3, false], ["_pad", 3, false]]}],
"headers" : [{"name" : "h", "id" : 0, "header_type" : "h_t", "metadata" : false}, {"name" : "standard_metadata", "id" : 1, "header_type" : "std_t", "metadata" : true}],
"field_aliases" : [["intrinsic_metadata.priority", ["standard_metadata", "priority"]]],
"parsers" : [{"name" : "parser", "id" : 0, "init_state" : "start", "parse_states" : [{"name" : "start", "id" : 0,
"parser_ops" : [{"parameters" : [{"type" : "regular", "value" : "h"}], "op" : "extract"}], "transitions" : [], "transition_key" : []}]}],
"deparsers" : [{"name" : "deparser", "id" : 0, "order" : ["h"], "primitives" : []}],
"actions" : [{"name" : "send", "id" : 0, "runtime_data" : [], "primitives" : [
{"op" : "assign", "parameters" : [{"type" : "field", "value" : ["standard_metadata", "priority"]}, {"type" : "field", "value" : ["h", "queue"]}]},
{"op" : "assign", "parameters" : [{"type" : "field", "value" : ["standard_metadata", "egress_spec"]}, {"type" : "hexstr", "value" : "0x0002"}]}]}],
"pipelines" : [{"name" : "ingress", "id" : 0, "init_table" : "t", "tables" : [{"name" : "t", "id" : 0, "match_type" : "exact", "type" : "simple",
"key" : [{"match_type" : "exact", "target" : ["h", "queue"], "mask" : null}], "max_size" : 16, "action_ids" : [0], "actions" : ["send"], "base_default_next" : null,
"next_tables" : {"send" : null}, "default_entry" : {"action_id" : 0, "action_const" : false, "action_data" : [], "action_entry_const" : false}}],
"action_profiles" : [], "conditionals" : []}, {"name" : "egress", "id" : 1, "init_table" : null, "tables" : [], "action_profiles" : [], "conditionals" : []}]}`

// gather returns all samples by name and labels.
func gather(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	samples := map[string]float64{}
	for _, f := range families {
		if f.GetHelp() == "" {
			t.Errorf("%s has no help", f.GetName())
		}
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			name := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			switch {
			case m.Counter != nil:
				samples[name] = m.Counter.GetValue()
			case m.Gauge != nil:
				samples[name] = m.Gauge.GetValue()
			case m.Histogram != nil:
				samples[name] = float64(m.Histogram.GetSampleCount())
			}
		}
	}
	return samples
}

func TestCountersOfTheSwitch(t *testing.T) {
	p, err := softswitch.Compile("program.json", []byte(program))
	if err != nil {
		t.Fatal(err)
	}
	cfg := softswitch.Config{Ports: []softswitch.Port{{Number: 1, Rate: vtime.Gbps}, {Number: 2, Rate: vtime.Gbps}},
		PFC: softswitch.PFC{Lossless: 1 << 3, Thresholds: softswitch.Thresholds{XOFF: 1000, XON: 500}}, Buffer: softswitch.Buffer{QueuePackets: 2}}
	sw, err := softswitch.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	net := solo.New(sw)
	sw.Load(p)
	reg := prometheus.NewRegistry()
	reg.MustRegister(NewSwitch(sw))
	// Port 2 is paused in class 3. Its packets wait until port 1 must pause its
	// sender as well. Class 0 has room for two, and one is on the link.
	pause := net.Frames().Get()
	pause.Data = packet.AppendPFC(pause.Data, packet.MAC{}, 1<<3, 0xffff)
	sw.Receive(2, pause)
	for range 12 {
		net.Inject(1, []byte{3}, 99)
	}
	for range 5 {
		net.Inject(1, []byte{0}, 199)
	}
	net.RunUntil(10 * vtime.Millisecond)
	got := gather(t, reg)
	for name, want := range map[string]float64{
		`softswitch_received_packets_total{}`:                                               17,
		`softswitch_sent_packets_total{}`:                                                   3,
		`softswitch_ingress_passes_total{}`:                                                 17,
		`softswitch_dropped_packets_total{cause="queue full"}`:                              2,
		`softswitch_buffer_bytes{}`:                                                         1200,
		`softswitch_port_received_packets_total{class="0",port="1"}`:                        5,
		`softswitch_port_received_bytes_total{class="3",port="1"}`:                          1200,
		`softswitch_port_sent_packets_total{class="0",port="2"}`:                            3,
		`softswitch_port_sent_bytes_total{class="0",port="2"}`:                              600,
		`softswitch_queue_packets{class="3",port="2"}`:                                      12,
		`softswitch_queue_bytes{class="3",port="2"}`:                                        1200,
		`softswitch_queue_dropped_packets_total{class="0",port="2"}`:                        2,
		`softswitch_ingress_bytes{class="3",port="1"}`:                                      1200,
		`softswitch_pfc_frames_total{class="3",direction="received",kind="pause",port="2"}`: 1,
		`softswitch_pfc_frames_total{class="3",direction="sent",kind="pause",port="1"}`:     1,
		`softswitch_pfc_paused_seconds_total{class="3",direction="received",port="2"}`:      0.01,
		`softswitch_pfc_paused_seconds_total{class="3",direction="sent",port="1"}`:          0.01,
		`softswitch_table_entries{table="t"}`:                                               0,
		`softswitch_table_size{table="t"}`:                                                  16,
		`softswitch_table_lookups_total{table="t"}`:                                         17,
		`softswitch_table_hits_total{table="t"}`:                                            0,
		`softswitch_port_sent_packets_total{class="0",port="cpu"}`:                          0,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v (%v), want %v", name, v, ok, want)
		}
	}
}

func TestCalls(t *testing.T) {
	reg := prometheus.NewRegistry()
	c := NewCalls(reg)
	c.Ended("/p4.v1.P4Runtime/Write", codes.OK, time.Millisecond)
	c.Ended("/p4.v1.P4Runtime/Write", codes.Unknown, time.Millisecond)
	got := gather(t, reg)
	if got[`softswitch_grpc_calls_total{code="OK",method="/p4.v1.P4Runtime/Write"}`] != 1 ||
		got[`softswitch_grpc_calls_total{code="Unknown",method="/p4.v1.P4Runtime/Write"}`] != 1 ||
		got[`softswitch_grpc_call_seconds{method="/p4.v1.P4Runtime/Write"}`] != 2 {
		t.Errorf("gathered %v", got)
	}
}
