// SPDX-License-Identifier: Apache-2.0

import demo from '../../../cmd/pauseless/demo.yaml'; // the scenario of `pauseless demo`

/** The scenarios of the menu, by name. */
export const presets = {
	'incast on a small leaf-spine': `name: incast
summary: Web Search and incast on 2 leaves, 2 spines, 8 hosts at 40 Gb/s
network:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
profiles: [drill, rlb-drill]
paths: {h8: 1} # h8 is reached over the first of the two paths only
traffic:
- poisson: {sizes: websearch, load: 0.6, duration: 4ms, from: h1..h3, to: h5..h7}
- burst: {from: h4..h7, to: h8, flows: 8, size: 64KB, times: 4, interval: 1ms}
judge: [1] # metrics are of the Web Search flows, which the incast delays
until: 400ms
sample: 20us
`,
	'the demo': demo.replace(/^# SPDX.*\n/, ''),
	'a wider leaf-spine': `name: wider
summary: Web Search at 60 % load on 4 leaves, 4 spines, 16 hosts at 40 Gb/s
network:
  leaf_spine: {leaves: 4, spines: 4, hosts_per_leaf: 4, rate: 40Gbps, delay: 2us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
profiles: [ecmp, letflow, conga, rlb-letflow]
traffic:
- poisson: {sizes: websearch, load: 0.6, duration: 2ms}
- incast: {degree: 8, total: 2MB, times: 2, interval: 1ms}
until: 400ms
sample: 20us
`,
	'a fat-tree': `name: fat-tree
summary: Web Search at 50 % load on a fat-tree of 16 hosts at 40 Gb/s
network:
  fat_tree: {k: 4, rate: 40Gbps, delay: 1us}
  switch: {buffer: 9MB, pfc: {xoff: 256KB}}
profiles: [ecmp, rlb-ecmp]
traffic:
- poisson: {sizes: websearch, load: 0.5, duration: 2ms}
until: 400ms
sample: 20us
`,
};
