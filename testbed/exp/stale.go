// SPDX-License-Identifier: Apache-2.0

package exp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pauseless/pauseless/fabric/roce"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/testbed/program"
	"github.com/pauseless/pauseless/testbed/result"
	"github.com/pauseless/pauseless/testbed/scenario"
)

// A Stale arm of an outcome was made with another program, or with hosts and a
// fabric that gave other results.
type Stale struct {
	Arm  string
	What string // program, or hosts and fabric
}

// Arms returns the arms of a scenario as an outcome of this build has them.
func Arms(s *scenario.Scenario) ([]result.Arm, error) {
	var sources []source
	for _, c := range s.Cases() {
		p4, m, err := c.Source()
		if err != nil {
			return nil, err
		}
		sources = append(sources, source{p4, m})
	}
	return armsOf(s, sources), nil
}

// StaleArms returns the arms of an outcome that this build would make in another way.
// An arm without hashes is not stale.
func StaleArms(o *result.Outcome, arms []result.Arm) (list []Stale) {
	for _, was := range o.Arms {
		i := slices.IndexFunc(arms, func(a result.Arm) bool { return a.Name == was.Name })
		switch {
		case i < 0:
		case was.Program != "" && was.Program != arms[i].Program:
			list = append(list, Stale{was.Name, "program"})
		case was.Hosts != "" && was.Hosts != arms[i].Hosts:
			list = append(list, Stale{was.Name, "hosts and fabric"})
		}
	}
	return list
}

// keepUnknown removes the hashes of arms that have none in an earlier outcome, if some of
// their runs are from there: it is not known what made these.
func keepUnknown(arms, earlier []result.Arm, runs []result.RunNote) {
	for i := range arms {
		a := &arms[i]
		was := slices.IndexFunc(earlier, func(e result.Arm) bool { return e.Name == a.Name })
		if was < 0 || !slices.ContainsFunc(runs, func(n result.RunNote) bool { return n.Earlier && n.Arm == a.Name }) {
			continue
		}
		if earlier[was].Program == "" {
			a.Program = ""
		}
		if earlier[was].Hosts == "" {
			a.Hosts = ""
		}
	}
}

// source is the program of a case.
type source struct {
	p4       []byte
	manifest *manifest.Manifest
}

// armsOf describes the arms of a scenario, given the programs of its cases.
func armsOf(s *scenario.Scenario, programs []source) (arms []result.Arm) {
	texts, hosts := make(map[string][]byte), make(map[string][]kind) // what is hashed, by arm
	for i, c := range s.Cases() {
		p := &programs[i]
		a := c.Describe(p.manifest)
		if texts[a.Name] == nil {
			arms = append(arms, a)
		}
		texts[a.Name] = append(texts[a.Name], p.essence()...)
		if h := (kind{c.HostsFor(p.manifest).Transport, a.CC, a.Recovery}); !slices.Contains(hosts[a.Name], h) {
			hosts[a.Name] = append(hosts[a.Name], h)
		}
	}
	for i := range arms {
		a := &arms[i]
		var stamps string
		for _, h := range hosts[a.Name] {
			stamps += hostStamp(h) + "\n"
		}
		a.Program, a.Hosts = sum(texts[a.Name])[:hashLength], sum([]byte(stamps))[:hashLength]
	}
	return arms
}

// hashLength is the number of hexadecimal digits of a hash in an arm.
const hashLength = 16

var (
	comments = regexp.MustCompile(`(?s)//[^\n]*|/\*.*?\*/|@brief\("[^"]*"\)`)
	unwarned = regexp.MustCompile(`@noWarn\("unused"\)`)
	spaces   = regexp.MustCompile(`\s+`)
)

// essence returns what the results of a program follow from: its text without comments
// and the layout of lines, and its manifest without what is written for readers. For
// v1model it lacks annotations against warnings, too; hashes for Tofino contain these.
func (p *source) essence() []byte {
	m := *p.manifest
	m.Summary, m.Notes = "", nil
	text, err := json.Marshal(&m)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	code := comments.ReplaceAll(p.p4, nil)
	if m.Target == "v1model" {
		code = unwarned.ReplaceAll(code, nil)
	}
	code = spaces.ReplaceAll(code, []byte(" "))
	return fmt.Appendf(nil, "%s %s\n", sum(code), sum(text))
}

// stampScenario is a small network with congestion, pauses and losses of order, for
// the stamp of hosts and fabric.
const stampScenario = `name: stamp
network:
  leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 3, rate: 40Gbps, delay: 2us}
  switch: {buffer: 1MB, pfc: {xoff: 60KB}}
profile: %s
hosts: {defaults: papers, %s, cc: {algorithm: %s}}
traffic:
- incast: {degree: 4, size: 200KB, to: h1, jitter: 1us}
- poisson: {sizes: websearch, load: 0.5, duration: 400us}
seeds: [1]
until: 3ms
`

// stampProfiles are the profiles whose switches tell a congestion control what it
// needs. Others are told by marks, or by nothing.
var stampProfiles = map[string]string{"hpcc": "hpcc", "hpcc_pint": "hpcc-pint", "pcn": "pcn", "qcn": "qcn"}

// stampMetrics are the metrics of a run that a stamp covers, beside its flows.
var stampMetrics = []string{"pause_frames", "paused_us", "out_of_order", "resent", "timeouts", "cnps", "dropped", "overflowed", "max_queue_bytes"}

var (
	stamps     sync.Map // of functions that return a stamp, by kind
	stampCache program.Cache
)

// A kind of hosts.
type kind struct {
	transport    roce.Transport
	cc, recovery string
}

// hostStamp returns a hash of the results of a small run with a kind of hosts. It changes
// only if these results do. For hosts that need settings of their own it is empty, and
// says nothing.
func hostStamp(k kind) string {
	once, _ := stamps.LoadOrStore(k, sync.OnceValue(func() string { return stamp(k) }))
	return once.(func() string)()
}

func stamp(k kind) string {
	hosts := "recovery: " + k.recovery
	if k.transport == roce.UET {
		hosts = "transport: uec"
	}
	profile := "drill" // packets are out of order
	if p, ok := stampProfiles[k.cc]; ok {
		profile = p
	}
	s, err := scenario.ParseAt("stamp.yaml", fmt.Appendf(nil, stampScenario, profile, hosts, k.cc), scenario.Paper)
	if err != nil {
		return ""
	}
	prog, err := s.Cases()[0].Build(&stampCache)
	if err != nil {
		return ""
	}
	run, err := s.Cases()[0].Run(context.Background(), prog, 1, scenario.Options{Threads: 1, Event: ignoreEvent})
	if err != nil {
		return ""
	}
	var b bytes.Buffer
	for i := range run.Flows {
		f := &run.Flows[i]
		fmt.Fprintln(&b, f.Src, f.Dst, f.Bytes, f.StartNS, f.FCTNS, f.OutOfOrder, f.Resent)
	}
	for _, name := range stampMetrics {
		fmt.Fprintln(&b, name, run.Metrics[name])
	}
	return sum(b.Bytes())[:hashLength]
}

// StaleText says which arms of an outcome are stale.
func StaleText(list []Stale) string {
	var parts []string
	for _, what := range []string{"program", "hosts and fabric"} {
		var names []string
		for _, s := range list {
			if s.What == what {
				names = append(names, s.Arm)
			}
		}
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf("another %s: %s", what, strings.Join(names, ", ")))
		}
	}
	return strings.Join(parts, "; ")
}
