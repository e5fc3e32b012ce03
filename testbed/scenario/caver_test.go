// SPDX-License-Identifier: Apache-2.0

package scenario

import "testing"

// A link between a leaf and a spine has a tenth of the others' rate. Flows that begin
// after the first acknowledgements leave it out.
func TestCaverLeavesASlowPathOut(t *testing.T) {
	const text = `
name: slow-path
network:
  leaf_spine: {leaves: 2, spines: 4, hosts_per_leaf: 4, rate: 100Gbps, delay: 1us}
  switch: {buffer: 16MB, pfc: {xoff: 512KB}}
  change: [{link: l1-s1, rate: 10Gbps}]
hosts: {cc: {algorithm: none}}
profiles: [ecmp, caver, caver@tna]
traffic:
- poisson: {sizes: websearch, load: 0.3, other_leaf: true, from: h1..h4, to: h5..h8, flows: 60}
until: 100ms
`
	r := runSmall(t, text, Options{})
	ecmp := r[0].Summary
	for _, caver := range r[1:] {
		if caver.Summary.P99FCTUS > ecmp.P99FCTUS/2 {
			t.Errorf("%s: p99 FCT %.0f us; ecmp: %.0f us", caver.Arm, caver.Summary.P99FCTUS, ecmp.P99FCTUS)
		}
	}
}
