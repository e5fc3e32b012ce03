// SPDX-License-Identifier: Apache-2.0

package gen

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pauseless/pauseless/internal/diag"
	"github.com/pauseless/pauseless/internal/manifest"
	"github.com/pauseless/pauseless/internal/vtime"
	"github.com/pauseless/pauseless/internal/yamlfile"
)

// Profile selects the blocks of a program, its sizes, and the units of its
// target.
type Profile struct {
	Name    string `yaml:"name"`    // lower-case letters, digits and hyphens; prefix of the files' names
	Summary string `yaml:"summary"` // a phrase without a full stop
	// Base is the base load balancer, which selects one of several equal paths for
	// a packet.
	Base string `yaml:"base"`
	// Choices are the other choices by key, as in rlb: rlb_adaptive, pcn: on, ecn:
	// red or pfc: emulated. A block is picked by its key and value.
	Choices map[string]string `yaml:",inline"`

	Sizes   manifest.Sizes   `yaml:"sizes"`
	Units   manifest.Units   `yaml:"target"`
	Network manifest.Network `yaml:"network"`
	// Recirculation is the port whose packets pass the pipeline again.
	Recirculation int `yaml:"recirculation_port"`
	// Set sets parameters: name to text with unit, as in red.kmin: 160KB, or for
	// links of one rate, as in red.kmin@100Gbps: 400KB. The others have defaults
	// computed from the network.
	Set map[string]string `yaml:"set"`

	given  map[string]float64
	byRate map[string]map[string]float64 // by parameter and rate
}

// newNetwork is the default network of a profile.
func newNetwork() manifest.Network {
	return manifest.Network{Rate: 40 * vtime.Gbps, Delay: 2 * vtime.Microsecond, Hops: 2, FanIn: 3, XOFF: 256 * vtime.KB, MTU: 1100}
}

// newProfile returns a profile with all defaults.
func newProfile() *Profile {
	p := &Profile{
		Choices:       make(map[string]string),
		Sizes:         manifest.Sizes{Ports: 64, Paths: 8, Leaves: 64, Hosts: 1024, Priorities: 8, Flows: 4096, Coflows: 256},
		Units:         manifest.Units{Time: manifest.Nanoseconds, Depth: manifest.Cells80},
		Network:       newNetwork(),
		Recirculation: 509,
	}
	for key, c := range loaded().choices() {
		p.Choose(key, c.otherwise)
	}
	return p
}

// Choose sets a key to a value: "base", "rlb", "ecn" and so on.
func (p *Profile) Choose(key, value string) {
	switch {
	case key == "base":
		p.Base = value
		return
	case p.Choices == nil:
		p.Choices = make(map[string]string)
	}
	p.Choices[key] = value
}

// Choice returns the value of a key.
func (p *Profile) Choice(key string) string {
	if key == "base" {
		return p.Base
	}
	return p.Choices[key]
}

// picked returns the blocks that the profile picks.
func (p *Profile) picked() []*block {
	var list []*block
	all := loaded().choices()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if b := all[key].values[p.Choice(key)]; b != nil {
			list = append(list, b)
		}
	}
	return list
}

// Gaps returns the profile's gaps between flowlets, by the names of their parameters.
// Unless the profile derives them, they do not follow the network.
func (p *Profile) Gaps() map[string]vtime.Time {
	gaps := make(map[string]vtime.Time)
	for _, b := range p.picked() {
		for _, d := range b.Parameters {
			if name := b.Name + "." + d.Name; d.Name == "gap" && d.Unit == "ns" {
				gaps[name] = vtime.Time(p.valueOf(name, d, p.Network) * float64(vtime.Nanosecond))
			}
		}
	}
	return gaps
}

// closure returns the blocks of the profile's program on a target.
func (p *Profile) closure(target string) *closure { return loaded().close(p.picked(), target) }

// FollowThresholds selects dynamic PFC thresholds, which follow the free shared
// buffer, if the blocks of the profile support them. A program with emulated
// PFC keeps its own thresholds.
func (p *Profile) FollowThresholds() {
	const key = "thresholds"
	before := p.Choice(key)
	p.Choose(key, "dynamic")
	refused := false
	p.closure("").refused(func(string, string, ...any) { refused = true })
	if refused {
		p.Choose(key, before)
	}
}

// Read reads a profile file. An error is a diag.List, or reports that the file
// is missing.
func Read(name string) (*Profile, error) {
	p := newProfile()
	f, err := yamlfile.Read(name, p)
	if err != nil {
		return nil, err
	}
	return p.checked(f)
}

// Parse parses the text of a profile file; name is for messages.
func Parse(name string, data []byte) (*Profile, error) {
	p := newProfile()
	f, err := yamlfile.Parse(name, data, p)
	if err != nil {
		return nil, err
	}
	return p.checked(f)
}

func (p *Profile) checked(f *yamlfile.File) (*Profile, error) {
	p.check(f.Errorf)
	if f.Err() == nil {
		for _, key := range p.Unused() {
			f.Errorf("set."+key, "%s has no effect: the program has no parameter of this name", key)
		}
	}
	for _, bad := range p.outOfOrder(p.Network) {
		f.Errorf("set."+bad.key, "%s", bad.text)
	}
	if err := f.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

// Check completes a profile made or changed in Go, and returns an error if it
// is invalid: a diag.List, whose messages begin with the path of a key.
func (p *Profile) Check() error { return p.list(p.check) }

// list returns what check reports.
func (p *Profile) list(check func(errorf func(path, format string, args ...any))) error {
	var list diag.List
	file := diag.FilePos("profile " + p.Name)
	check(func(path, format string, args ...any) {
		list.Errorf(file, yamlfile.CodeInvalid, "%s: %s", path, fmt.Sprintf(format, args...))
	})
	return list.Err()
}

// check reports invalid values, each with the path of its key.
func (p *Profile) check(errorf func(path, format string, args ...any)) {
	if !nameOK(p.Name) {
		errorf("name", "name is %q: use lower-case letters, digits and hyphens", p.Name)
	}
	if p.Summary == "" {
		p.Summary = "no summary given"
	}
	all := loaded().choices()
	for _, key := range slices.Sorted(maps.Keys(all)) {
		c := all[key]
		if p.Choice(key) == "" {
			p.Choose(key, c.otherwise)
		}
		if p.Choice(key) == "true" && c.values["on"] != nil {
			p.Choose(key, "on")
		}
		if p.Choice(key) == "false" && c.otherwise == "off" {
			p.Choose(key, "off")
		}
		value := p.Choice(key)
		if values := slices.Sorted(maps.Keys(c.values)); value != c.otherwise && c.values[value] == nil {
			if !slices.Contains(values, c.otherwise) {
				values = append([]string{c.otherwise}, values...)
			}
			errorf(key, "%s is %q%s: use one of %s", key, value, diag.DidYouMean(value, values), strings.Join(values, ", "))
		}
	}
	bad := yamlfile.OutOfLimits(&p.Sizes)
	for _, name := range slices.Sorted(maps.Keys(bad)) {
		errorf("sizes."+name, "%s", bad[name])
	}
	if n := p.Sizes.Priorities; n != 1 && n != 8 {
		errorf("sizes.priorities", "priorities is %d, must be 1 or 8", n)
	}
	for _, c := range []struct {
		name string
		v    *int
	}{{"flows", &p.Sizes.Flows}, {"coflows", &p.Sizes.Coflows}} {
		if *c.v&(*c.v-1) != 0 {
			errorf("sizes."+c.name, "%s is %d, must be a power of two: it is a part of a hash", c.name, *c.v)
		}
	}
	if err := p.Units.Check(); err != nil {
		errorf("target", "%v", err)
	}
	if err := p.Network.Check(); err != nil {
		errorf("network", "%v", err)
	}
	if p.Recirculation < p.Sizes.Ports || p.Recirculation > 510 {
		errorf("recirculation_port", "recirculation_port is %d, must be above the %d ports and below the drop port 511", p.Recirculation, p.Sizes.Ports)
	}
	p.checkSet(errorf)
	together := p.closure("")
	together.refused(errorf)
	for _, b := range together.blocks {
		if want := b.Depth.Unit; want != "" && string(p.Units.Depth) != want {
			errorf("target.depth", "%s", b.Depth.Because)
		}
	}
}

// checkSet parses the parameters that the profile sets.
func (p *Profile) checkSet(errorf func(path, format string, args ...any)) {
	p.given = make(map[string]float64)
	p.byRate = make(map[string]map[string]float64)
	for _, key := range slices.Sorted(maps.Keys(p.Set)) {
		name, rate, hasRate := strings.Cut(key, "@")
		d, ok := loaded().define(name)
		if !ok {
			like := diag.DidYouMean(name, loaded().parameterNames())
			if like == "" {
				like = "; `pauseless gen --profile NAME --show` lists the parameters of a profile"
			}
			errorf("set."+key, "no parameter is called %q%s", name, like)
			continue
		}
		v, err := parseValue(p.Set[key], d.Unit)
		if err == nil && (v < d.Least || d.Most != 0 && v > d.Most) {
			err = fmt.Errorf("%s is out of bounds: from %g to %g, in %s", p.Set[key], d.Least, d.Most, d.Unit)
		}
		if most := float64(manifest.MaxSpan * p.Units.Time.Length() / vtime.Nanosecond); err == nil && d.Unit == "ns" && v > most {
			err = fmt.Errorf("%s is more than %s, the longest time of programs that count %s", p.Set[key], amount(most, d.Unit), p.Units.Time.Name())
		}
		if err != nil {
			errorf("set."+key, "%s: %v", key, err)
			continue
		}
		if !hasRate {
			p.given[name] = v
			continue
		}
		r, err := vtime.ParseRate(rate)
		if err == nil && r == 0 {
			err = errors.New("no link has a rate of zero")
		}
		if err != nil {
			errorf("set."+key, "%s: %v", key, err)
			continue
		}
		if p.byRate[name] == nil {
			p.byRate[name] = make(map[string]float64)
		}
		p.byRate[name][r.String()] = v
	}
}

// Unused returns the keys of Set whose parameters the program has on no target.
func (p *Profile) Unused() []string {
	if len(p.Set) == 0 {
		return nil
	}
	has := make(map[string]bool)
	for _, target := range Targets {
		all := p.closure(target)
		for _, b := range all.blocks {
			for _, d := range b.Parameters {
				has[b.Name+"."+d.Name] = has[b.Name+"."+d.Name] || d.With == "" || all.needs[d.With]
			}
		}
	}
	var list []string
	for _, key := range slices.Sorted(maps.Keys(p.Set)) {
		if name, _, _ := strings.Cut(key, "@"); !has[name] {
			list = append(list, key)
		}
	}
	return list
}

// CheckOn returns an error if a parameter of the profile is invalid on a
// network with the given XOFF: if it exceeds its upper bound, or is below a
// parameter that it bounds. Zero means an unknown XOFF, without an error.
func (p *Profile) CheckOn(xoff vtime.Size) error {
	n := p.Network
	n.XOFF = xoff
	if xoff == 0 {
		return nil
	}
	return p.list(func(errorf func(path, format string, args ...any)) {
		for _, bad := range p.outOfOrder(n) {
			errorf("set."+bad.key, "%s", bad.text)
		}
	})
}

// misfit is an invalid parameter of a profile: its key, and the message.
type misfit struct{ key, text string }

// outOfOrder returns the parameters set that exceed their upper bound, or are
// below a parameter that they bound.
func (p *Profile) outOfOrder(n manifest.Network) []misfit {
	var list []misfit
	for _, key := range slices.Sorted(maps.Keys(p.Set)) {
		name, text, _ := strings.Cut(key, "@")
		n := n
		if rate, err := vtime.ParseRate(text); err == nil {
			n.Rate = rate
		}
		for _, low := range loaded().parameterNames() {
			d, _ := loaded().define(low)
			high, ok := loaded().define(d.UpTo)
			if !ok || low != name && d.UpTo != name {
				continue
			}
			if v, most := p.valueOf(low, d, n), p.valueOf(d.UpTo, high, n); v > most {
				list = append(list, misfit{key, fmt.Sprintf("%s is %s, must be at most %s, which is %s", low, amount(v, d.Unit), d.UpTo, amount(most, high.Unit))})
			}
		}
	}
	return list
}

// valueOf returns a parameter for a network: the value in the profile, or its
// default.
func (p *Profile) valueOf(name string, d parameter, n manifest.Network) float64 {
	if v, ok := p.byRate[name][n.Rate.String()]; ok {
		return v
	}
	if v, ok := p.given[name]; ok {
		return v
	}
	v, _ := manifest.Derive(d.Default, d.Unit, n) // checked when the block was read
	return v
}

// amount formats a value as in a profile.
func amount(v float64, unit string) string {
	switch unit {
	case "bytes":
		return strconv.FormatFloat(v/1000, 'g', 4, 64) + "KB"
	case "ns":
		return vtime.Time(v * float64(vtime.Nanosecond)).String()
	case "bps":
		return vtime.Rate(v).String()
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// parseValue parses a value with its unit and returns it in the given unit.
func parseValue(text, unit string) (float64, error) {
	switch unit {
	case "bytes":
		v, err := vtime.ParseSize(text)
		return float64(v), err
	case "ns":
		v, err := vtime.ParseTime(text)
		return float64(v) / float64(vtime.Nanosecond), err
	case "bps":
		v, err := vtime.ParseRate(text)
		return float64(v), err
	case "fraction":
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v >= 0 && v <= 1) {
			return 0, fmt.Errorf("%q: write a fraction from 0 to 1", text)
		}
		return v, nil
	default: // a count
		v, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return 0, fmt.Errorf("%q: write a whole number of at least 0", text)
		}
		return float64(v), nil
	}
}

func nameOK(name string) bool {
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}
