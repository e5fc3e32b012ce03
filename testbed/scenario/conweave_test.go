// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"strings"
	"testing"

	"github.com/pauseless/pauseless/testbed/result"
)

// Two of four paths are slow, so that answers on them are late, and flows leave them.
const slowPaths = `
name: slow-paths
network:
  leaf_spine: {leaves: 2, spines: 4, hosts_per_leaf: 4, rate: 40Gbps, delay: 1us}
  change: [{link: l1-s1, rate: 20Gbps}, {link: l1-s2, delay: 6us}]
  switch: {buffer: 12MB, pfc: {xoff: 1MB}, recirculation: {rate: 12800Gbps, latency: 10ns}}
arms: [{name: conweave, profile: conweave, set: {conweave.extra: 2ms}}]
hosts: {defaults: papers, recovery: go-back-n, cc: {algorithm: dcqcn}}
traffic:
- poisson: {sizes: websearch, load: 0.5, other_leaf: true, flows: 30}
until: 40ms
watch: {registers: [reroutes, held_packets], every: 10ms}
`

// sums are the sums of the registers at the end.
func sums(r *result.Run) map[string]uint64 {
	last := map[string]int64{}
	for _, x := range r.Registers {
		last[x.Name] = max(last[x.Name], x.TNS)
	}
	sum := map[string]uint64{}
	for _, x := range r.Registers {
		if x.TNS == last[x.Name] {
			for _, v := range x.Values {
				sum[x.Name] += v
			}
		}
	}
	return sum
}

// Flows that change their paths under late answers arrive in order at the hosts.
func TestConWeaveKeepsTheOrder(t *testing.T) {
	for _, seed := range []string{"1", "2", "3"} {
		r := runSmall(t, slowPaths+"seeds: ["+seed+"]\n", Options{})[0]
		n := sums(r)
		t.Logf("seed %s: %d reroutes, %d packets waited", seed, n["reroutes"], n["held_packets"])
		if n["reroutes"] < 10 || n["held_packets"] < 100 {
			t.Errorf("seed %s: few flows left their path, or few packets waited: %d, %d", seed, n["reroutes"], n["held_packets"])
		}
		if s := r.Summary; s.OutOfOrder != 0 || s.Finished != s.Flows {
			t.Errorf("seed %s: %d packets out of order, %d of %d flows ended", seed, s.OutOfOrder, s.Finished, s.Flows)
		}
	}
}

// TAIL comes two milliseconds late, in which a packet passes the recirculation port of
// 10 ns more than 65,536 times. None is dropped for that.
func TestConWeaveWaitsForAnyNumberOfPasses(t *testing.T) {
	text := strings.NewReplacer("delay: 6us", "delay: 2ms", "buffer: 12MB", "buffer: 30MB").Replace(slowPaths)
	i, j := strings.Index(text, "traffic:"), strings.Index(text, "until:")
	text = text[:i] + "traffic: [{incast: {degree: 1, size: 100KB, to: h1, start: 0s, times: 6, interval: 5ms}}]\n" + text[j:]
	r := runSmall(t, text, Options{})[0]
	n := sums(r)
	t.Logf("%d reroutes, %d packets waited", n["reroutes"], n["held_packets"])
	if n["held_packets"] == 0 {
		t.Error("no packet waited")
	}
	if s := r.Summary; s.Dropped != 0 || s.OutOfOrder != 0 || s.Finished != s.Flows {
		t.Errorf("%d packets dropped, %d out of order, %d of %d flows ended", s.Dropped, s.OutOfOrder, s.Finished, s.Flows)
	}
}

// With a loss on the links, TAIL packets are lost too, and packets that wait. The flows
// end all the same: timers and lost tickets release what waits.
func TestConWeaveReleasesPacketsWithoutTAIL(t *testing.T) {
	text := strings.Replace(slowPaths, "rate: 20Gbps}", "rate: 20Gbps, loss: 0.005}", 1)
	r := runSmall(t, text, Options{})[0]
	n := sums(r)
	if s := r.Summary; n["reroutes"] == 0 || s.Finished != s.Flows {
		t.Errorf("%d reroutes, %d of %d flows ended", n["reroutes"], s.Finished, s.Flows)
	}
}
